"""Wordings of a rubric that the judge proposes, the examples it is shown, and what it says by the candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from bedside.judges.ask_settings import Order
from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, NotAskable, Prompt, Question, transcript_digest, turns_shown
from bedside.judges.questions import QuestionGroup
from bedside.judges.rubrics.linter import check
from bedside.judges.rubrics.rubric import RatedExample, Rubric, as_data, read
from bedside.ratings.names import TRANSCRIPT, turn_index
from bedside.stats.arrays import Array
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit

# -- Wordings of a rubric that the judge itself proposes ------------------------------------------------

#: What the rubric of a proposal is called in a run's judgements.
PROPOSAL = "wording_proposal"
#: Units that a proposal is shown, and most characters of each.
MOST_SHOWN, MOST_CHARACTERS = 6, 2500
#: A text of a wording is no longer, and repeats no so many words of a conversation.
_LONGEST, _COPIED_WORDS = 1500, 8
#: What each proposal is to look at, in turn.
_AIMS = (
    "Say in the instructions how the doubtful cases are decided on which the judge went wrong.",
    "Say in the level descriptions what sets each level apart from its neighbours, in what can be seen or heard.",
    "Say in the definition and the instructions what must not count, though it looks like what is rated.",
    "Make the question and the instructions shorter and plainer, with only what decides.",
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A unit on which the judge and people differ.

    Attributes:
        conversation: what was rated; case: its case.
        people, judge: the levels.
        people_reasons, judge_reason: why, in their words.
    """

    conversation: str
    case: str
    people: float
    judge: float
    people_reasons: str
    judge_reason: str


def proposal_rubric(rubric: Rubric, number: int) -> Rubric:
    """What the judge is asked for one proposal, as a rubric whose answer is a list of parts with their new texts."""
    parts = _parts(rubric)
    return read(
        {
            "name": PROPOSAL,
            "title": "A clearer wording of a rubric",
            "construct": "Proposed wording",
            "definition": (
                "How should this rubric be worded so that a judge who follows it gives the levels that people gave? "
                "The current wording is in the {current_wording}; the {disagreements} show where a judge who followed "
                "it gave another level than people did. What is measured, the scale and the meaning of its levels stay "
                "as they are: people go on rating by them."
            ),
            "unit": "transcript",
            "kind": "list",
            "direction": "none",
            "transcript": False,
            "inputs": [
                {"name": "current_wording", "description": "The parts of the rubric as they are worded now."},
                {"name": "disagreements", "description": "Conversations that the judge and people rated differently."},
            ],
            "instructions": (
                f"{_AIMS[number % len(_AIMS)]} Leave out the parts that stay as they are. State rules that hold for "
                "other conversations too: neither quote nor retell those shown, and name no person, place or date in "
                "them. Do not name numbers of levels in the definition or the instructions, nor speak of people, "
                "judges or disagreements. Write in the language of the current wording."
            ),
            "answer": [
                {
                    "name": "wording",
                    "type": "list",
                    "descriptor": "The parts that are worded anew, each once.",
                    "items": [
                        {
                            "name": "part",
                            "type": "label",
                            "descriptor": "Which part.",
                            "labels": [
                                {"label": part, "descriptor": f"The {part} of the rubric in its new wording."}
                                for part in parts
                            ],
                        },
                        {"name": "text", "type": "text", "descriptor": "Its whole new text."},
                    ],
                }
            ],
            "source": "bedside",
        }
    )


def proposal_transcript(rubric: Rubric, number: int, shown: Sequence[Disagreement]) -> Transcript:
    """What the proposal is made from, as the reference of a transcript without turns."""
    return Transcript(
        id=f"wording {number + 1} of {rubric.key}",
        turns=(),
        reference={
            "current_wording": [{"part": part, "text": text} for part, text in _parts(rubric).items()],
            "disagreements": [
                {
                    "conversation": case.conversation,
                    "level that people gave": f"{case.people:g}",
                    "what people wrote": case.people_reasons or "nothing",
                    "level that the judge gave": f"{case.judge:g}",
                    "what the judge wrote": case.judge_reason,
                }
                for case in shown
            ],
        },
    )


def reworded(rubric: Rubric, answer: Mapping[str, Any], shown: Sequence[Disagreement]) -> Rubric | str:
    """The rubric in the wording that was proposed, or why it can't be used."""
    parts = _parts(rubric)
    texts: dict[str, str] = {}
    for entry in answer["wording"]:
        text = " ".join(str(entry["text"]).split())
        if entry["part"] in texts:
            return f"it words the {entry['part']} twice"
        if len(text) > _LONGEST:
            return f"its {entry['part']} is longer than {_LONGEST} characters"
        if any(_copies(text, case.conversation) for case in shown):
            return f"its {entry['part']} repeats words of a conversation"
        if text:
            texts[entry["part"]] = text
    data = as_data(rubric)
    for key in ("definition", "instructions"):
        if key in texts:
            data[key] = texts[key]
    data["scale"] = [
        {**level, "descriptor": texts.get(_level_part(level["value"]), level["descriptor"])} for level in data["scale"]
    ]
    try:
        proposed = read(data)
    except ValidationError as error:
        return f"it is no rubric ({error.errors()[0]['msg']})"
    known = {str(remark) for remark in check(rubric)}
    faults = [str(remark) for remark in check(proposed) if str(remark) not in known]
    if faults:
        return f"the linter objects ({faults[0]})"
    if proposed.version == rubric.version or texts.keys() <= {part for part in texts if texts[part] == parts[part]}:
        return "it changes nothing"
    return proposed


def _parts(rubric: Rubric) -> dict[str, str]:
    """The parts of a rubric's wording that can be worded anew, with their texts."""
    levels = {_level_part(level.value): level.descriptor for level in rubric.scale}
    return {"definition": rubric.definition, "instructions": rubric.instructions or "", **levels}


def _level_part(value: float) -> str:
    return f"level {value:g}"


def _copies(text: str, conversation: str) -> bool:
    """Whether a text repeats a run of words of a conversation."""
    said = " ".join(_words(conversation))
    words = _words(text)
    return any(" ".join(words[at : at + _COPIED_WORDS]) in said for at in range(len(words) - _COPIED_WORDS + 1))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# -- Examples for a judge -------------------------------------------------------------------------------

#: Most characters of an example's conversation, and of a person's reason.
MOST_SHOWN_CHARACTERS, MOST_OF_REASON = 4000, 500
#: How many examples are kept ready beyond those shown: what shares a case with what is rated has one in its place.
SPARE = 3


def excerpt(rubric: Rubric, transcript: Transcript, unit: str, most: int = MOST_SHOWN_CHARACTERS) -> str:
    """What a rubric shows of a unit, a line a turn; of what is too long the beginning and the end, or of a turn what
    came just before it."""
    turn = None if unit == TRANSCRIPT else transcript.turns[turn_index(unit)]
    conversation = Conversation(transcript)
    lines = [conversation.lines([shown]).text for shown in turns_shown(rubric, transcript, turn)]
    inputs = [
        _shortened([f"{name.replace('_', ' ')}: {_plain(transcript.known(name))}"], most, tail=False)
        for name in rubric.references
        if transcript.known(name) is not None
    ]
    return "\n".join([*inputs, _shortened(lines, most, tail=turn is not None)])


def _plain(value: object) -> str:
    return "; ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _shortened(lines: Sequence[str], most: int, *, tail: bool) -> str:
    """Lines within a number of characters: the last ones, or as many from either end."""
    if sum(len(line) + 1 for line in lines) <= most:
        return "\n".join(lines)
    first, last, room = 0, len(lines), most
    while first < last:
        from_end = tail or (first > len(lines) - last)
        line = lines[last - 1] if from_end else lines[first]
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        first, last = (first, last - 1) if from_end else (first + 1, last)
    if first == 0 and last == len(lines):
        return lines[-1][:most] if tail else lines[0][:most]
    gap = "[…] (turns are left out here)"
    return "\n".join([*lines[:first], gap, *lines[last:]])


def example_pool(
    rubric: Rubric, units: Sequence[LabelledUnit], transcripts: Mapping[str, Transcript], number: int, *, seed: int
) -> tuple[tuple[str, RatedExample], ...]:
    """Examples in the order in which they are shown, each with its case: the levels by turns, each case once.

    Of a level, those come first on which people agree most, then those that are short. A consensus that lies between
    two levels is no example.
    """
    levels = [level.value for level in rubric.scale]
    order = np.random.default_rng(seed).permutation(len(units))
    by_level: dict[float, list[tuple[float, float, int, LabelledUnit]]] = {}
    for place, unit in enumerate(units):
        if unit.consensus in levels:
            values = [float(value) for value in unit.ratings.values()]
            length = min(len(excerpt(rubric, transcripts[unit.transcript], unit.unit)) / MOST_SHOWN_CHARACTERS, 1.0)
            key = (float(np.std(values)) - 0.01 * len(values), round(length, 1), int(order[place]), unit)
            by_level.setdefault(float(unit.consensus), []).append(key)
    queues = {level: sorted(rated, key=lambda key: key[:3]) for level, rated in by_level.items()}
    pool: list[tuple[str, RatedExample]] = []
    used: set[str] = set()
    while len(pool) < number + SPARE and any(queues.values()):
        for level in _ends_first(sorted(queues)):
            queue = queues[level]
            while queue and queue[0][3].case in used:
                queue.pop(0)
            if queue and len(pool) < number + SPARE:
                unit = queue.pop(0)[3]
                used.add(unit.case)
                pool.append((unit.case, _example(rubric, unit, transcripts[unit.transcript])))
    return tuple(pool)


def examples_shown(
    pool: Sequence[tuple[str, RatedExample]], number: int, case: str | None = None
) -> tuple[RatedExample, ...]:
    """The examples shown with what is of a case: the first ones that are of other cases."""
    return tuple(example for own, example in pool if own != case)[:number]


def _ends_first(levels: Sequence[float]) -> list[float]:
    """Levels from both ends of the scale to its middle: where few are shown, they say how far it reaches."""
    ordered = list(levels)
    chosen: list[float] = []
    while ordered:
        chosen.append(ordered.pop(0 if len(chosen) % 2 else -1))
    return chosen


def _example(rubric: Rubric, unit: LabelledUnit, transcript: Transcript) -> RatedExample:
    assert not isinstance(unit.consensus, str)
    assert unit.consensus is not None
    said = [reason for rater, reason in unit.reasons.items() if unit.ratings.get(rater) == unit.consensus]
    reason = min(said, key=len)[:MOST_OF_REASON].strip() if said else ""
    return RatedExample(
        conversation=excerpt(rubric, transcript, unit.unit),
        level=next(level.value for level in rubric.scale if level.value == unit.consensus),
        reason=reason or None,
        transcript=transcript_digest(transcript),
    )


# -- What a judge says of labelled units by the candidates of a tuning ----------------------------------


class UnitGroup(QuestionGroup):
    """What a rubric asks about some units of a transcript: those that people rated.

    Args:
        conversation, question, tally: as for :class:`bedside.judges.questions.QuestionGroup`.
        units: the units.
        ratings: what takes the answers.
    """

    def __init__(
        self,
        conversation: Conversation,
        question: Question,
        tally: Tally,
        *,
        units: Collection[str],
        ratings: TrialRatings,
    ) -> None:
        super().__init__(conversation, question, 0, tally)
        self.ratings = ratings
        self._units = frozenset(units)

    def prompts(self, order: Order) -> Iterator[Prompt | NotAskable]:
        """The calls about these units."""
        return (prompt for prompt in super().prompts(order) if prompt.unit in self._units)


class TrialRatings:
    """The judge's levels and reasons by one candidate.

    Args:
        question: the rubric to ask about what is of a case; the same for all unless it has examples.
        tally: where requests are counted.
    """

    def __init__(self, question: Callable[[str], Question], tally: Tally) -> None:
        self._question = question
        self._tally = tally
        self.levels: dict[tuple[str, str], float] = {}
        self.reasons: dict[tuple[str, str], str] = {}

    def groups(self, units: Sequence[LabelledUnit], transcripts: Mapping[str, Transcript]) -> Iterator[UnitGroup]:
        """What is asked about units, a group a transcript."""
        by_transcript: dict[str, list[LabelledUnit]] = {}
        for unit in units:
            by_transcript.setdefault(unit.transcript, []).append(unit)
        for name, of_transcript in by_transcript.items():
            question = self._question(of_transcript[0].case)
            names = [unit.unit for unit in of_transcript]
            yield UnitGroup(Conversation(transcripts[name]), question, self._tally, units=names, ratings=self)

    def take(self, group: QuestionGroup) -> None:
        """Take the answers of a group that is done; those that are none are missing."""
        for answer in group.answers:
            if answer.answer is not None and answer.answer.get("score") is not None:
                key = group.transcript.id, answer.unit
                self.levels[key] = float(answer.answer["score"])
                self.reasons[key] = str(answer.answer["reason"])

    def array(self, units: Sequence[LabelledUnit]) -> Array:
        """The level of each unit; NaN where there is none."""
        return np.array([self.levels.get(unit.key, np.nan) for unit in units], dtype=np.float64)


def one_question(rubric: Rubric) -> Callable[[str], Question]:
    """The same question about every case."""
    question = Question(rubric)
    return lambda case: question
