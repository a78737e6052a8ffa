"""Coding by a judge: a language model gives behaviour codes to turns, some turns a call, by a codebook of examples.

Each code is a rubric of its own that asks about every turn of a role, so that a code can be added later and only its
calls are paid for. A call shows the turns it asks about, those between them and a few before; what is asked, kept and
asked again is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bedside.coders.people import people_codes
from bedside.coders.session_measures import EARLY_TURNS, MEASURES
from bedside.coders.testing import CoderEvaluation, GivenCodes, evaluate
from bedside.judges.judgement_queue import JudgingProgress, QuestionGroup
from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, Question
from bedside.judges.questioning import (
    Asking,
    Judged,
    Planner,
    Questions,
    Rows,
    RubricPlan,
    ask,
    check_numbers,
)
from bedside.judges.rubric_ratings import ratings_of
from bedside.llm.client import Client, JudgeName, judge_name
from bedside.metrics.families.behaviour import FAMILY
from bedside.ratings.values import Value
from bedside.rubrics.files import SUFFIX, _examine
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import InputError, RegistryError
from bedside.support.registry import DataRegistry, nearest
from bedside.support.yaml_files import keys_and_values
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

TURNS_PER_CALL = 12
CONTEXT = 3

_WINDOW = (
    "Of a long conversation only a part is shown; turns not asked about are there to understand the others."
)
_EXAMPLES = "Examples, made up for this rubric and no part of the conversation:"


# -- the codebook -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CodeExample:
    """A turn with its label, to show what is meant.

    Attributes:
        before: what the other of clinician and patient said just before.
        turn: the turn.
        label: its label.
        reason: why.
    """

    before: str
    turn: str
    label: str
    reason: str


_EXAMPLE_LIST = TypeAdapter(tuple[CodeExample, ...])
_OTHER: Mapping[Role, Role] = {"clinician": "patient", "patient": "clinician"}


def _parse(path: Path) -> Rubric:
    """The rubric of a code from its file: the keys of a rubric without those that are the same for all codes, and
    ``examples``.

    Raises:
        RegistryError: the file is no such rubric, or its labels aren't the code's.
    """
    data = keys_and_values(path, "rubric file", "the docs on rubrics")
    code = path.stem
    if code not in CODES:
        raise RegistryError(f"there is no code {code}", where=str(path), todo=nearest(code, CODES))
    role = CODE_ROLES[code]
    same = {"unit": "turn", "kind": "label", "role": role, "direction": "none", "each": "turns"}
    doubled = sorted(same.keys() & data.keys())
    try:
        examples = _EXAMPLE_LIST.validate_python(data.pop("examples", ()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, ("examples", *first["loc"])))
        raise RegistryError(f"{place}: {first['msg']}", where=str(path)) from error
    instructions = f"{data.pop('instructions', '')} {_WINDOW}\n{_shown(examples, role)}"
    rubric, remarks = _examine({**data, **same, "instructions": instructions}, path)
    problems = [f"{key}: the same for every code, and not stated" for key in doubled]
    problems += [f"{remark.key}: {remark.text}" for remark in remarks if remark.severity == "error"]
    if rubric is not None and tuple(label.label for label in rubric.labels) != CODES[code]:
        problems.append(f"labels: those of {code} are {', '.join(CODES[code])}, in this order")
    problems += [
        f"examples: {code} has no label {example.label}"
        for example in examples
        if example.label not in CODES[code]
    ]
    if rubric is None or problems:
        raise RegistryError(problems[0], where=str(path))
    return rubric


def _shown(examples: Sequence[CodeExample], role: Role) -> str:
    lines = [_EXAMPLES]
    for example in examples:
        label = orjson.dumps(example.label).decode()
        lines.append(f"- {_OTHER[role]}: {example.before} / {role}: {example.turn}")
        lines.append(f"  {label}: {example.reason}")
    return "\n".join(lines)


#: The rubrics by which a judge gives codes, by the code.
CODEBOOK: DataRegistry[Rubric] = DataRegistry("bedside.rubrics.codebook", SUFFIX, "code", Rubric, _parse)


# -- prompts ----------------------------------------------------------------------------------------


class Batches(Question):
    """A code made ready for prompts that ask about some turns and show few others.

    Args:
        rubric: the code's.
        turns_per_call: how many turns one call asks about.
        context: how many turns are shown before the first of them.
    """

    def __init__(self, rubric: Rubric, turns_per_call: int, context: int) -> None:
        super().__init__(rubric, turns_per_call)
        self.context = context

    def prompts(
        self, conversation: Conversation, order: Order = "transcript-first"
    ) -> Iterator[Prompt | NotAskable]:
        """The calls that this code takes for a transcript, in the order of its turns."""
        transcript = conversation.transcript
        turns = [turn for turn in transcript.turns if turn.role == self.rubric.role]
        problem = self._problem(transcript, turns)
        if problem is not None:
            yield NotAskable("transcript", None, problem)
            return
        for at in range(0, len(turns), self.items_per_call):
            asked = tuple(turn.index for turn in turns[at : at + self.items_per_call])
            part = transcript.turns[max(0, asked[0] - self.context) : asked[-1] + 1]
            yield self._prompt(
                Conversation(replace(transcript, turns=part)), None, "transcript", asked, order
            )


# -- coding -----------------------------------------------------------------------------------------


def code_transcripts(
    transcripts: Iterable[Transcript],
    judge: str | JudgeName,
    *,
    store_path: Path,
    add: Callable[[tuple[Any, ...]], object],
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    asking: Asking | None = None,
    text: bool = True,
    progress: Callable[[JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
) -> Judged:
    """Have a language model give behaviour codes to turns.

    Ratings are given to ``add`` as rows in the order of :data:`bedside.ratings.run.COLUMNS`: by transcript and pass, the
    codes of its turns (``question`` and so on, with the judge's reason, or missing with the cause) and then the
    session measures of :mod:`bedside.metrics.families.behaviour` that these codes allow, taken over the turns that were coded.
    The rater of all of them is ``judge:<model>+codebook``.

    Args:
        transcripts: any number of them; they are taken as they are needed.
        judge: the model, see :mod:`bedside.llm.client`.
        store_path: the file that keeps judgements; made if it isn't there.
        add: called with each row.
        codes: which codes; each is asked about on its own.
        turns_per_call: how many turns one call asks about.
        context: how many turns, of whatever role, are shown before the first of them.
        asking: passes, limits and the like.
        text, progress, client, alone: as for :func:`bedside.judges.questioning.ask`.

    Raises:
        RegistryError: the judge's name is none, or there is no such code.
        MissingExtraError: the libraries for it aren't installed.
        JudgeError: the judge can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: an argument is out of range.
    """
    name, how = judge_name(judge), asking or Asking()
    questions = _questions(codes, turns_per_call, context, how)
    rows = _Rows(coding_rater(name), questions, add)
    stage = (lambda: questions.groups(transcripts, by_pass=True), rows.emit)
    given: dict[str, Any] = {"text": text, "progress": progress, "client": client, "alone": alone}
    calls = ask(name, how, store_path, [stage], **given)
    parameters = {
        **how.sampling().parameters(),
        "order": how.order,
        "turns_per_call": turns_per_call,
        "context": context,
    }
    return Judged(coding_rater(name), parameters, how.passes, questions.counts(), rows.count, calls)


def plan_coding(
    transcripts: Iterable[Transcript],
    judge: str | JudgeName,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    asking: Asking | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`code_transcripts` with the same arguments would send; nothing is sent, and no key is needed."""
    name, how = judge_name(judge), asking or Asking()
    questions = _questions(codes, turns_per_call, context, how)
    plans = Planner(name, how, store_path).plans(questions, transcripts)
    return tuple(replace(plan, judge=coding_rater(name)) for plan in plans)


def coding_rater(name: JudgeName) -> str:
    """Who gave the codes: a model by this codebook, which is another rater than the model by other rubrics."""
    return f"{name.rater}+codebook"


def _questions(codes: Sequence[str], turns_per_call: int, context: int, how: Asking) -> Questions:
    check_numbers(turns_per_call=turns_per_call)
    if context < 0:
        raise InputError(f"context is {context}", todo="give a number from 0")
    if not codes:
        raise InputError("no codes are named", todo=f"name some of {', '.join(CODES)}")
    wanted = dict.fromkeys(codes)
    return Questions((Batches(CODEBOOK.load(code), turns_per_call, context) for code in wanted), how.passes)


class _Rows(Rows):
    """Makes rows of the groups that come out: of each the codes, and after a pass's last code the measures."""

    def __init__(self, rater: str, questions: Questions, add: Callable[[tuple[Any, ...]], object]) -> None:
        super().__init__(rater, add)
        codes = list(questions.questions)
        self._last = codes[-1]
        self._measures = frozenset(measure.name for measure in MEASURES if {*codes} >= {*measure.codes})
        #: Of the transcript and pass at hand: turn index → code → label.
        self._codes: dict[int, dict[str, str]] = {}

    def emit(self, group: QuestionGroup) -> None:
        transcript, rubric = group.transcript, group.question.rubric
        for unit, metric, _, label, reason, error in ratings_of(rubric, transcript, group.answers):
            self.add(transcript, group.number, unit, metric, None, label, reason, error)
            if label is not None:
                self._codes.setdefault(turn_of(unit), {})[metric] = label
        if rubric.name == self._last:
            for value in _measured(transcript, self._codes, self._measures):
                cells = (value.value, None, value.reason, value.error)
                self.add(transcript, group.number, "transcript", value.metric, *cells)
            self._codes = {}


def turn_of(unit: str) -> int:
    """The index in a unit ``turn:<index>``."""
    return int(unit.removeprefix("turn:"))


def _measured(
    transcript: Transcript, codes: Mapping[int, Mapping[str, str]], wanted: frozenset[str]
) -> Iterable[Value]:
    """The measures of behaviour from these codes: they are put where a person's would stand."""
    turns = tuple(
        replace(turn, meta={"codes": {"judge": codes[turn.index]}} if turn.index in codes else {})
        for turn in transcript.turns
    )
    settings = FAMILY.settings({"coders": "human", "early_turns": EARLY_TURNS})
    return FAMILY.compute(replace(transcript, turns=turns), wanted, **settings)


# -- evaluation -------------------------------------------------------------------------------------


def coded_by_people(transcripts: Iterable[Transcript], codes: Sequence[str]) -> Iterator[Transcript]:
    """Those transcripts in which somebody gave one of the codes to a turn."""
    for transcript in transcripts:
        given = (labels for turns in people_codes(transcript).values() for labels in turns.values())
        if any(code in labels for labels in given for code in codes):
            yield transcript


def evaluate_judge(
    transcripts: Iterable[Transcript],
    judge: str | JudgeName,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    asking: Asking | None = None,
    **options: Any,
) -> tuple[CoderEvaluation, Judged]:
    """A judge's codes against people's, as :func:`bedside.coders.testing.evaluate` of any coder.

    Only transcripts that people coded are sent; what people said of them is not.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; they are kept in memory.
        judge: the model.
        store_path: the file that keeps judgements; the same call again asks only what is missing.
        codes: which codes.
        asking: limits and the like; it is asked once.
        options: further arguments of :func:`code_transcripts`, but ``add``.

    Raises:
        DataError: no transcript has people's codes, or the judge coded nothing.
        BedsideError: as :func:`code_transcripts` does.
    """
    kept = list(transcripts)
    given: dict[str, dict[int, dict[str, str]]] = {transcript.id: {} for transcript in kept}
    causes: dict[str, str] = {}

    def take(row: tuple[Any, ...]) -> None:
        transcript, unit, metric, label, error = row[0], row[3], row[4], row[8], row[10]
        if label is not None:
            given[transcript].setdefault(turn_of(unit), {})[metric] = label
        elif metric in CODES:
            causes.setdefault(transcript, error)

    judged = code_transcripts(
        coded_by_people(kept, codes),
        judge,
        store_path=store_path,
        add=take,
        codes=codes,
        asking=replace(asking or Asking(), passes=1),
        **options,
    )
    return evaluate(kept, GivenCodes(judged.rater, tuple(codes), given, causes)), judged
