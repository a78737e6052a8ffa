"""Wordings of a rubric that the judge itself proposes, from where it disagreed with people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bedside.judges.rubrics.linter import check
from bedside.judges.rubrics.rubric import Rubric, as_data, read
from bedside.transcripts.transcript import Transcript

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
                {
                    "name": "disagreements",
                    "description": "Conversations that the judge and people rated differently.",
                },
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
        {**level, "descriptor": texts.get(_level_part(level["value"]), level["descriptor"])}
        for level in data["scale"]
    ]
    try:
        proposed = read(data)
    except ValidationError as error:
        return f"it is no rubric ({error.errors()[0]['msg']})"
    known = {str(remark) for remark in check(rubric)}
    faults = [str(remark) for remark in check(proposed) if str(remark) not in known]
    if faults:
        return f"the linter objects ({faults[0]})"
    if proposed.version == rubric.version or texts.keys() <= {
        part for part in texts if texts[part] == parts[part]
    }:
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
    return any(
        " ".join(words[at : at + _COPIED_WORDS]) in said for at in range(len(words) - _COPIED_WORDS + 1)
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
