"""Coding by a judge: a language model gives behaviour codes to turns, some turns a call, by a codebook of examples.

Each code is a rubric of its own that asks about every turn of a role, so that a code can be added later and only its
calls are paid for. A call shows the turns it asks about, those between them and a few before; what is asked, kept and
asked again is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bedside.coders._measures import EARLY_TURNS, MEASURES
from bedside.coders._people import people_codes
from bedside.coders.evaluation import CoderEvaluation, GivenCodes, evaluate
from bedside.errors import InputError, RegistryError
from bedside.judges.client import Client, JudgeName, Price, Sampling, judge_name, known_price, open_client
from bedside.judges.engine import Engine, Group, Patience, Progress, Tally
from bedside.judges.judging import Judged, RubricCount, RubricPlan, _check, _run, ratings_of
from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, Question
from bedside.judges.rubric import Rubric
from bedside.judges.rubric_files import SUFFIX, _examine, _load
from bedside.judges.store import Store, judgement_key, stored_keys
from bedside.metrics import Value
from bedside.metrics.behaviour import FAMILY
from bedside.registry import DataRegistry, nearest
from bedside.transcripts.model import CODE_ROLES, CODES, Role, Transcript

TURNS_PER_CALL = 12
CONTEXT = 3

_WINDOW = (
    "Of a long conversation only a part is shown; turns not asked about are there to understand the others."
)
_EXAMPLES = "Examples, made up for this rubric and no part of the conversation:"


# -- the codebook -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Example:
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


_EXAMPLE_LIST = TypeAdapter(tuple[Example, ...])
_OTHER: Mapping[Role, Role] = {"clinician": "patient", "patient": "clinician"}


def _parse(path: Path) -> Rubric:
    """The rubric of a code from its file: the keys of a rubric without those that are the same for all codes, and
    ``examples``.

    Raises:
        RegistryError: the file is no such rubric, or its labels aren't the code's.
    """
    data = _load(path)
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


def _shown(examples: Sequence[Example], role: Role) -> str:
    lines = [_EXAMPLES]
    for example in examples:
        label = orjson.dumps(example.label).decode()
        lines.append(f"- {_OTHER[role]}: {example.before} / {role}: {example.turn}")
        lines.append(f"  {label}: {example.reason}")
    return "\n".join(lines)


#: The rubrics by which a judge gives codes, by the code.
CODEBOOK: DataRegistry[Rubric] = DataRegistry("bedside.judges.codebook", SUFFIX, "code", Rubric, _parse)


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
    judge: str,
    *,
    store_path: Path,
    add: Callable[[tuple[Any, ...]], object],
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    passes: int = 1,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    temperature: float | None = 0.0,
    max_tokens: int = 4096,
    seed: int = 0,
    order: Order = "transcript-first",
    timeout: float = 120.0,
    max_prompt_tokens: int | None = None,
    price: Price | None = None,
    patience: Patience | None = None,
    text: bool = True,
    progress: Callable[[Progress], None] | None = None,
    client: Client | None = None,
) -> Judged:
    """Have a language model give behaviour codes to turns.

    Ratings are given to ``add`` as rows in the order of :data:`bedside.ratings.COLUMNS`: by transcript and pass, the
    codes of its turns (``question`` and so on, with the judge's reason, or missing with the cause) and then the
    session measures of :mod:`bedside.metrics.behaviour` that these codes allow, taken over the turns that were coded.
    The rater of all of them is ``judge:<model>``.

    Args:
        transcripts: any number of them; they are taken as they are needed.
        judge: the model, see :mod:`bedside.judges.client`.
        store_path: the file that keeps judgements; made if it isn't there.
        add: called with each row.
        codes: which codes; each is asked about on its own.
        turns_per_call: how many turns one call asks about.
        context: how many turns, of whatever role, are shown before the first of them.
        passes, max_concurrency, max_calls, temperature, max_tokens, seed, order, timeout, max_prompt_tokens, price,
            patience, text, progress, client: as for :func:`bedside.judges.judging.judge_transcripts`.

    Raises:
        RegistryError: the judge's name is none, or there is no such code.
        MissingExtraError: the libraries for it aren't installed.
        JudgeError: the judge can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: an argument is out of range.
    """
    questions = _questions(codes, turns_per_call, context)
    _check(passes=passes, max_concurrency=max_concurrency, max_tokens=max_tokens)
    name = judge_name(judge) if client is None else JudgeName(judge, None, None)
    sampling = Sampling(temperature, max_tokens, False, seed, timeout, max_prompt_tokens)
    tallies = [Tally() for _ in questions]
    rows = _Rows(name.rater, questions, add)

    async def run() -> int:
        model = client or open_client(name, sampling)
        try:
            store = Store(store_path, text=text)
            try:
                engine = Engine(
                    model,
                    name,
                    store,
                    sampling,
                    rows.emit,
                    patience=patience or Patience(),
                    max_concurrency=max_concurrency,
                    max_calls=max_calls,
                    max_prompt_tokens=max_prompt_tokens,
                    order=order,
                    price=price or known_price(name),
                    progress=progress,
                )
                await engine.run(_groups(transcripts, questions, tallies, passes))
                return engine.calls
            finally:
                store.close()
        finally:
            await model.close()

    calls = _run(run)
    counts = tuple(
        RubricCount(question.rubric.name, question.version, **asdict(tally))
        for question, tally in zip(questions, tallies, strict=True)
    )
    parameters = {
        **sampling.parameters(),
        "order": order,
        "turns_per_call": turns_per_call,
        "context": context,
    }
    return Judged(name.rater, parameters, passes, counts, rows.count, calls)


def plan_coding(
    transcripts: Iterable[Transcript],
    judge: str,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    turns_per_call: int = TURNS_PER_CALL,
    context: int = CONTEXT,
    passes: int = 1,
    temperature: float | None = 0.0,
    max_tokens: int = 4096,
    seed: int = 0,
    order: Order = "transcript-first",
    max_prompt_tokens: int | None = None,
    price: Price | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`code_transcripts` with the same arguments would send; nothing is sent, and no key is needed."""
    questions = _questions(codes, turns_per_call, context)
    _check(passes=passes)
    name = judge_name(judge)
    parameters = orjson.dumps(
        Sampling(temperature, max_tokens, False, seed).parameters(), option=orjson.OPT_SORT_KEYS
    ).decode()
    price = price or known_price(name)
    known = stored_keys(store_path)
    tallies = [Tally() for _ in questions]
    for group in _groups(transcripts, questions, tallies, passes):
        tally = group.tally
        for prompt in group.question.prompts(group.conversation, order):
            if isinstance(prompt, NotAskable) or (
                max_prompt_tokens is not None and prompt.tokens > max_prompt_tokens
            ):
                tally.not_askable += 1
                continue
            key = judgement_key(name.identity, parameters, prompt.digest(), group.number)
            if key in known:
                tally.stored += 1
                continue
            known.add(key)
            tally.calls += 1
            tally.input_tokens += prompt.tokens
            tally.output_tokens += prompt.reply_tokens
    return tuple(
        RubricPlan(
            question.rubric.name,
            name.rater,
            tally.calls,
            tally.stored,
            tally.not_askable,
            tally.input_tokens,
            tally.output_tokens,
            None if price is None else price.of(tally.input_tokens, tally.output_tokens),
        )
        for question, tally in zip(questions, tallies, strict=True)
    )


def _questions(codes: Sequence[str], turns_per_call: int, context: int) -> list[Batches]:
    _check(turns_per_call=turns_per_call)
    if context < 0:
        raise InputError(f"context is {context}", todo="give a number from 0")
    if not codes:
        raise InputError("no codes are named", todo=f"name some of {', '.join(CODES)}")
    return [Batches(CODEBOOK.load(code), turns_per_call, context) for code in dict.fromkeys(codes)]


def _groups(
    transcripts: Iterable[Transcript], questions: Sequence[Batches], tallies: Sequence[Tally], passes: int
) -> Iterator[Group]:
    for transcript in transcripts:
        conversation = Conversation(transcript)
        for number in range(passes):
            for question, tally in zip(questions, tallies, strict=True):
                yield Group(conversation, question, number, tally)


class _Rows:
    """Makes rows of the groups that come out: of each the codes, and after a pass's last code the measures."""

    def __init__(
        self, rater: str, questions: Sequence[Batches], add: Callable[[tuple[Any, ...]], object]
    ) -> None:
        self.count = 0
        self._rater = rater
        self._last = questions[-1]
        self._add = add
        codes = {question.rubric.name for question in questions}
        self._measures = frozenset(measure.name for measure in MEASURES if codes.issuperset(measure.codes))
        #: Of the transcript and pass at hand: turn index → code → label.
        self._codes: dict[int, dict[str, str]] = {}

    def emit(self, group: Group) -> None:
        transcript = group.transcript
        for unit, metric, _, label, reason, error in ratings_of(
            group.question.rubric, transcript, group.answers
        ):
            self._row(group, unit, metric, None, label, reason, error)
            if label is not None:
                self._codes.setdefault(turn_of(unit), {})[metric] = label
        if group.question is self._last:
            for value in _measured(transcript, self._codes, self._measures):
                self._row(group, "transcript", value.metric, value.value, None, value.reason, value.error)
            self._codes = {}

    def _row(self, group: Group, unit: str, metric: str, *cells: Any) -> None:
        transcript = group.transcript
        self._add(
            (
                transcript.id,
                transcript.system,
                transcript.case_id,
                unit,
                metric,
                self._rater,
                group.number,
                *cells,
            )
        )
        self.count += 1


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
    judge: str,
    *,
    store_path: Path,
    codes: Sequence[str] = tuple(CODES),
    **options: Any,
) -> tuple[CoderEvaluation, Judged]:
    """A judge's codes against people's, as :func:`bedside.coders.evaluation.evaluate` of any coder.

    Only transcripts that people coded are sent; what people said of them is not.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; they are kept in memory.
        judge: the model.
        store_path: the file that keeps judgements; the same call again asks only what is missing.
        codes: which codes.
        options: further arguments of :func:`code_transcripts`, but ``add`` and ``passes``.

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
        coded_by_people(kept, codes), judge, store_path=store_path, add=take, codes=codes, passes=1, **options
    )
    return evaluate(kept, GivenCodes(judged.rater, tuple(codes), given, causes)), judged
