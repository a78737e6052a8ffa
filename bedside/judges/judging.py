"""Judging: transcripts and rubrics go in, a language model rates, ratings come out in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bedside.errors import InputError
from bedside.judges.client import Client, JudgeName, Price, Sampling, judge_name, known_price, open_client
from bedside.judges.engine import Answer, Engine, Group, Patience, Progress, Tally
from bedside.judges.prompt import ITEMS_PER_CALL, Conversation, Order, Prompt, Question
from bedside.judges.rubric import Part, Rubric
from bedside.judges.store import Store, judgement_key, stored_keys
from bedside.transcripts.model import Transcript

#: A rating as a judge's answer gives it: unit, metric, value, label, reason, error.
Unpacked = tuple[str, str, float | None, str | None, str | None, str | None]
#: Makes ratings of all answers of one pass of a rubric over a transcript.
Unpack = Callable[[Rubric, Transcript, Sequence[Answer]], Iterable[Unpacked]]


@dataclass(frozen=True, slots=True)
class RubricCount:
    """What judging by one rubric took.

    Attributes:
        rubric: its name.
        version: the hash of its wording.
        judgements, stored, answered, unusable, failed, not_asked, not_askable, calls, input_tokens, output_tokens,
            cost: see :class:`~bedside.judges.engine.Tally`.
    """

    rubric: str
    version: str
    judgements: int
    stored: int
    answered: int
    unusable: int
    failed: int
    not_asked: int
    not_askable: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judging did.

    Attributes:
        rater: the judge's name in the ratings table.
        parameters: what the model was asked with: temperature, limit of tokens, order and the like.
        passes: how often each thing was asked.
        rubrics: counts of each rubric.
        ratings: how many ratings were made.
        calls: requests sent.
    """

    rater: str
    parameters: Mapping[str, Any]
    passes: int
    rubrics: tuple[RubricCount, ...]
    ratings: int
    calls: int

    @property
    def complete(self) -> bool:
        """Whether the same command again would ask nothing more."""
        return not any(count.failed or count.not_asked for count in self.rubrics)


@dataclass(frozen=True, slots=True)
class RubricPlan:
    """What judging by one rubric would take.

    Attributes:
        rubric: its name.
        judge: the rater.
        calls: requests, if every reply can be used at once.
        stored: judgements that are there already and cost nothing.
        not_askable: what can't be asked, as for a missing input.
        input_tokens: of the prompts, estimated.
        output_tokens: of the replies, estimated roughly.
        cost: in US dollars, of the estimates; None where the price isn't known.
    """

    rubric: str
    judge: str
    calls: int
    stored: int
    not_askable: int
    input_tokens: int
    output_tokens: int
    cost: float | None


def judge_transcripts(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str,
    *,
    store_path: Path,
    add: Callable[[tuple[Any, ...]], object],
    passes: int = 1,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    temperature: float | None = 0.0,
    max_tokens: int = 4096,
    seed: int = 0,
    order: Order = "transcript-first",
    timeout: float = 120.0,
    max_prompt_tokens: int | None = None,
    items_per_call: int = ITEMS_PER_CALL,
    expected: bool = False,
    price: Price | None = None,
    patience: Patience | None = None,
    text: bool = True,
    unpack: Mapping[str, Unpack] | None = None,
    progress: Callable[[Progress], None] | None = None,
    client: Client | None = None,
) -> Judged:
    """Have a language model rate transcripts.

    Ratings are given to ``add`` as rows in the order of :data:`bedside.ratings.COLUMNS`: by transcript, rubric, pass
    and unit. Judgements that the store holds are not asked again; each new one is on disk before its place is taken by
    another. What can't be had is a rating without value that says why.

    Args:
        transcripts: any number of them; they are taken as they are needed.
        rubrics: what is asked about each.
        judge: the model, see :mod:`bedside.judges.client`.
        store_path: the file that keeps judgements; made if it isn't there.
        add: called with each row.
        passes: how often each thing is asked; the pass is the rating's replicate.
        max_concurrency: requests under way at once.
        max_calls: requests sent at most, repeated ones included; the rest is left missing and isn't kept, so that the
            same command asks it the next time.
        temperature: 0 to 2; None leaves it to the provider, for models that refuse one.
        max_tokens: limit of a reply's tokens.
        seed: of random waits, and of sampling where the temperature isn't 0: each pass has its own.
        order: whether a prompt begins with the transcript (a server's prefix cache then serves all rubrics) or with
            the rubric.
        timeout: seconds until a request counts as unanswered.
        max_prompt_tokens: what is estimated to be longer is not sent, and its rating says so.
        items_per_call: how many items or turns one call asks about, for rubrics that ask about each.
        expected: also ask for token probabilities, and rate ``<rubric>.expected`` where a rubric has levels.
        price: of the model, where deepeval's tables don't know it.
        patience: how hard to try.
        text: whether the store keeps prompts; replies are kept always.
        unpack: how the answers of a rubric become ratings, by the rubric's name, in place of :func:`ratings_of`.
        progress: called whenever a judgement is done.
        client: a model that is open already, in place of the one that ``judge`` names.

    Raises:
        RegistryError: the judge's name is none.
        MissingExtraError: the libraries for it aren't installed.
        JudgeError: the judge can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: an argument is out of range.
    """
    name = judge_name(judge) if client is None else JudgeName(judge, None, None)
    sampling = Sampling(temperature, max_tokens, expected, seed, timeout, max_prompt_tokens)
    _check(
        passes=passes, max_concurrency=max_concurrency, max_tokens=max_tokens, items_per_call=items_per_call
    )
    questions = [Question(rubric, items_per_call) for rubric in rubrics]
    tallies = [Tally() for _ in questions]
    rows = _Rows(name.rater, unpack or {}, add)

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
        RubricCount(
            question.rubric.name,
            question.version,
            tally.judgements,
            tally.stored,
            tally.answered,
            tally.unusable,
            tally.failed,
            tally.not_asked,
            tally.not_askable,
            tally.calls,
            tally.input_tokens,
            tally.output_tokens,
            tally.cost,
        )
        for question, tally in zip(questions, tallies, strict=True)
    )
    parameters = {**sampling.parameters(), "order": order, "items_per_call": items_per_call}
    return Judged(name.rater, parameters, passes, counts, rows.count, calls)


def plan_judging(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str,
    *,
    store_path: Path,
    passes: int = 1,
    temperature: float | None = 0.0,
    max_tokens: int = 4096,
    seed: int = 0,
    order: Order = "transcript-first",
    max_prompt_tokens: int | None = None,
    items_per_call: int = ITEMS_PER_CALL,
    expected: bool = False,
    price: Price | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_transcripts` with the same arguments would send; nothing is sent, and no key is needed."""
    name = judge_name(judge)
    sampling = Sampling(temperature, max_tokens, expected, seed)
    _check(passes=passes, items_per_call=items_per_call)
    parameters = orjson.dumps(sampling.parameters(), option=orjson.OPT_SORT_KEYS).decode()
    price = price or known_price(name)
    known = stored_keys(store_path)
    questions = [Question(rubric, items_per_call) for rubric in rubrics]
    tallies = [Tally() for _ in questions]
    for group in _groups(transcripts, questions, tallies, passes):
        tally = group.tally
        for prompt in group.question.prompts(group.conversation, order):
            too_long = (
                isinstance(prompt, Prompt)
                and max_prompt_tokens is not None
                and prompt.tokens > max_prompt_tokens
            )
            if not isinstance(prompt, Prompt) or too_long:
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


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise InputError(f"{name.replace('_', ' ')} is {number}", todo="give a number from 1")


def _run(work: Callable[[], Any]) -> Any:
    """Run a coroutine to its end, also where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    result: list[Any] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            result.append(asyncio.run(work()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return result[0]


def _groups(
    transcripts: Iterable[Transcript], questions: Sequence[Question], tallies: Sequence[Tally], passes: int
) -> Iterator[Group]:
    for transcript in transcripts:
        conversation = Conversation(transcript)
        for question, tally in zip(questions, tallies, strict=True):
            for number in range(passes):
                yield Group(conversation, question, number, tally)


class _Rows:
    """Makes rows of the groups that come out."""

    def __init__(
        self, rater: str, unpack: Mapping[str, Unpack], add: Callable[[tuple[Any, ...]], object]
    ) -> None:
        self.count = 0
        self._rater = rater
        self._unpack = unpack
        self._add = add

    def emit(self, group: Group) -> None:
        transcript, rubric = group.transcript, group.question.rubric
        unpack = self._unpack.get(rubric.name, ratings_of)
        for unit, metric, value, label, reason, error in unpack(rubric, transcript, group.answers):
            self._add(
                (
                    transcript.id,
                    transcript.system,
                    transcript.case_id,
                    unit,
                    metric,
                    self._rater,
                    group.number,
                    value,
                    label,
                    reason,
                    error,
                )
            )
            self.count += 1


# -- from answers to ratings ------------------------------------------------------------------------

NOT_APPLICABLE = "the judge says that no answer can be given"


def ratings_of(rubric: Rubric, transcript: Transcript, answers: Sequence[Answer]) -> Iterator[Unpacked]:
    """The ratings that the answers to a rubric give.

    A level is a value and a label a label, of the unit that was asked about; so are the parts of a vector, each as
    ``<rubric>.<part>``. A set's value is the number of its labels, which begin the reason. Of an index, the value is
    the number; of pairs and lists, and where every item of an input was asked about, how many there are (of items, how
    many have an index), and the reason is the answer as JSON.
    """
    if rubric.each is not None and rubric.each != "turns":
        yield from _over_items(rubric, answers)
        return
    for given in answers:
        if rubric.each == "turns":
            yield from _over_turns(rubric, given)
        else:
            yield from _single(rubric, given)


def _single(rubric: Rubric, given: Answer) -> Iterator[Unpacked]:
    if given.answer is None:
        for metric in _metrics(rubric):
            yield given.unit, metric, None, None, None, given.error
    else:
        yield from _ratings(rubric, given.unit, given.answer)
    if rubric.kind == "level" and (given.expected is not None or given.expected_note is not None):
        yield given.unit, f"{rubric.name}.expected", given.expected, None, None, given.expected_note


def _over_turns(rubric: Rubric, given: Answer) -> Iterator[Unpacked]:
    if given.answer is None:
        units = ["transcript"] if not given.items else [f"turn:{index}" for index in given.items]
        for unit in units:
            for metric in _metrics(rubric):
                yield unit, metric, None, None, None, given.error
        return
    for entry in sorted(given.answer["answers"], key=lambda entry: entry["item"]):
        yield from _ratings(rubric, f"turn:{int(entry['item'])}", entry)


def _over_items(rubric: Rubric, answers: Sequence[Answer]) -> Iterator[Unpacked]:
    """One rating of each unit for all items: missing where a part of them is."""
    by_unit: dict[str, list[Answer]] = {}
    for given in answers:
        by_unit.setdefault(given.unit, []).append(given)
    for unit, parts in by_unit.items():
        error = next((given.error for given in parts if given.answer is None), None)
        if error is not None:
            yield unit, rubric.name, None, None, None, error
            continue
        entries = [entry for given in parts if given.answer for entry in given.answer["answers"]]
        entries.sort(key=lambda entry: entry["item"])
        main = next((part.name for part in rubric.parts if part.type == "index"), None)
        count = sum(main is None or entry[main] is not None for entry in entries)
        yield unit, rubric.name, float(count), None, _json(entries), None


def _metrics(rubric: Rubric) -> list[str]:
    if rubric.kind == "vector":
        return [f"{rubric.name}.{part.name}" for part in rubric.parts if part.type in _RATED]
    return [rubric.name]


def _ratings(rubric: Rubric, unit: str, answer: Mapping[str, Any]) -> Iterator[Unpacked]:
    reason = answer["reason"]
    if rubric.kind == "vector":
        for part in rubric.parts:
            if part.type in _RATED:
                value, label = _rated(part, answer[part.name])
                missing = None if value is not None or label is not None else NOT_APPLICABLE
                yield unit, f"{rubric.name}.{part.name}", value, label, reason, missing
        return
    main = next((part for part in rubric.parts if part.type == "index"), rubric.parts[0])
    found = answer[main.name]
    if rubric.kind == "set":
        labels = ", ".join(sorted(found)) or "none"
        yield unit, rubric.name, float(len(found)), None, f"{labels}: {reason}", None
    elif rubric.kind in ("pairs", "list"):
        yield unit, rubric.name, float(len(found)), None, _json(answer), None
    elif found is None:
        error = NOT_APPLICABLE if rubric.kind != "index" else f"the judge found no {main.name}"
        yield unit, rubric.name, None, None, reason, error
    else:
        value, label = _rated(main, found)
        yield unit, rubric.name, value, label, reason, None


#: Parts of an answer that are a rating each.
_RATED = ("number", "boolean", "level", "label", "probabilities", "index")


def _rated(part: Part, found: Any) -> tuple[float | None, str | None]:
    if found is None:
        return None, None
    if part.type == "label":
        return None, str(found)
    if part.type == "probabilities":
        # The first of equals in the rubric's order, so that the same reply gives the same label.
        return None, max((label.label for label in part.labels), key=lambda label: float(found[label]))
    return float(found), None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
