"""Asking a judge, whatever it is asked: how it is asked, what is sent and in what order, and what that took.

Rubrics (:mod:`bedside.judges.rubric_ratings`), behaviour codes (:mod:`bedside.judges.turn_codes`) and the protocols of a run
(:mod:`bedside.scoring.judged`) make groups of questions; here they are put to a model, or counted before they are.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bedside.judges.judgement_queue import JudgementQueue, JudgingProgress, Patience, QuestionGroup, Tally
from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, Question
from bedside.judges.store import Store, judgement_key, parameters_text, stored_keys
from bedside.llm.client import Client, JudgeName, Price, Sampling, Sharing, known_price, open_client
from bedside.llm.endpoints import rooms
from bedside.support.errors import InputError
from bedside.transcripts.transcript import Transcript

#: Of calls that wait for one of several endpoints, as many as they take at once, times this.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Asking:
    """How judges are asked.

    Attributes:
        passes: how often each thing is asked; the pass is the rating's replicate.
        temperature: 0 to 2; None leaves it to the provider, for models that refuse one.
        max_concurrency: requests under way at once; where several endpoints serve a judge, at that of the largest
            weight.
        max_calls: requests sent at most, repeated ones included; the rest is left missing and isn't kept, so that the
            same call asks it the next time. None for no limit.
        max_prompt_tokens: what is estimated to be longer is not sent, and its rating says so.
        order: whether a prompt begins with the transcript (a server's prefix cache then serves all rubrics) or with
            the rubric.
        expected: also ask for token probabilities, and rate ``<rubric>.expected`` where a rubric has levels.
        price: of the model, where deepeval's tables don't know it.
        seed: of random waits, and of sampling where the temperature isn't 0: each pass has its own.
        max_tokens: limit of a reply's tokens.
        timeout: seconds until a request counts as unanswered.
        patience: how hard to try.

    Raises:
        InputError: a number is out of range.
    """

    passes: int = 1
    temperature: float | None = 0.0
    max_concurrency: int = 8
    max_calls: int | None = None
    max_prompt_tokens: int | None = None
    order: Order = "transcript-first"
    expected: bool = False
    price: Price | None = None
    seed: int = 0
    max_tokens: int = 4096
    timeout: float = 120.0
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        check_numbers(passes=self.passes, max_concurrency=self.max_concurrency, max_tokens=self.max_tokens)

    def sampling(self) -> Sampling:
        """How a model is asked to write."""
        return Sampling(
            self.temperature, self.max_tokens, self.expected, self.seed, self.timeout, self.max_prompt_tokens
        )


def check_numbers(**numbers: int) -> None:
    """Refuse numbers that must be 1 or more.

    Raises:
        InputError: one is less.
    """
    for name, number in numbers.items():
        if number < 1:
            raise InputError(f"{name.replace('_', ' ')} is {number}", todo="give a number from 1")


# -- what it took, and what it would take -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RubricCount:
    """What judging by one rubric took.

    Attributes:
        rubric: its name.
        version: the hash of its wording.
        judgements, stored, answered, unusable, failed, not_asked, not_askable, calls, input_tokens, output_tokens,
            cost: see :class:`~bedside.judges.judgement_queue.Tally`.
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
        waiting: rubrics that can be asked about only when answers to others are there.
    """

    rater: str
    parameters: Mapping[str, Any]
    passes: int
    rubrics: tuple[RubricCount, ...]
    ratings: int
    calls: int
    waiting: tuple[str, ...] = ()

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


class Questions:
    """The questions put to one judge, each with its counts.

    Args:
        questions: rubrics made ready for prompts.
        passes: how often each is asked.
    """

    def __init__(self, questions: Iterable[Question], passes: int) -> None:
        self.questions = {question.rubric.name: question for question in questions}
        self.tallies = {name: Tally() for name in self.questions}
        self.passes = passes

    def group(self, conversation: Conversation, rubric: str, number: int) -> QuestionGroup:
        """What one pass of a rubric asks about a transcript."""
        return QuestionGroup(conversation, self.questions[rubric], number, self.tallies[rubric])

    def groups(
        self, transcripts: Iterable[Transcript], names: Iterable[str] | None = None, *, by_pass: bool = False
    ) -> Iterator[QuestionGroup]:
        """All that is asked about transcripts: of each one rubric after the other, or one pass after the other.

        Args:
            transcripts: they are taken as they are needed.
            names: the rubrics; all by default.
            by_pass: whether all rubrics of a pass come before the next pass.
        """
        asked = list(self.questions if names is None else names)
        numbers = range(self.passes)
        if by_pass:
            order = [(name, number) for number in numbers for name in asked]
        else:
            order = [(name, number) for name in asked for number in numbers]
        for transcript in transcripts:
            conversation = Conversation(transcript)
            for name, number in order:
                yield self.group(conversation, name, number)

    def counts(self) -> tuple[RubricCount, ...]:
        """What it took."""
        return tuple(
            RubricCount(name, question.version, **asdict(self.tallies[name]))
            for name, question in self.questions.items()
        )


class Rows:
    """Makes rows of the ratings table, and counts them.

    Args:
        rater: whose ratings they are.
        add: called with each row, its cells in the order of :data:`bedside.ratings.run.COLUMNS`.
    """

    def __init__(self, rater: str, add: Callable[[tuple[Any, ...]], object]) -> None:
        self.rater = rater
        self.count = 0
        self._add = add

    def add(
        self,
        transcript: Transcript,
        number: int,
        unit: str,
        metric: str,
        *cells: Any,
        rater: str | None = None,
    ) -> None:
        """Add a rating; ``cells`` are its value, label, reason and error."""
        head = (transcript.id, transcript.system, transcript.case_id)
        self._add((*head, unit, metric, rater or self.rater, number, *cells))
        self.count += 1


# -- asking -----------------------------------------------------------------------------------------

#: Groups to ask, made when their turn comes, and what is called with each that is done, in order.
Stage = tuple[Callable[[], Iterator[QuestionGroup]], Callable[[QuestionGroup], None]]


def ask(
    name: JudgeName,
    how: Asking,
    store_path: Path,
    stages: Sequence[Stage],
    *,
    text: bool = True,
    progress: Callable[[JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
) -> int:
    """Put questions to a judge, one stage after the other; returns how many requests were sent.

    Args:
        name: the judge's.
        how: passes, limits and the like; the limit of calls is that of all stages together.
        store_path: the file that keeps judgements; made if it isn't there.
        stages: what is asked.
        text: whether the store keeps prompts and a judge's words; without them, numbers and labels are kept.
        progress: called whenever a judgement is done.
        client: opens what is asked in place of the model that ``name`` names.
        alone: as for :class:`bedside.judges.store.Store`.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        JudgeError: it can't be asked. What was finished is kept.
        RunError: the store can't be used.
    """
    sampling = how.sampling()
    patience = how.patience
    sharing = Sharing(how.max_concurrency, patience.first_wait, patience.longest_wait)
    served = name.endpoints if client is None else ()
    width = sum(rooms(served, how.max_concurrency)) if served else how.max_concurrency

    async def run() -> int:
        calls = 0
        model = client() if client is not None else open_client(name, sampling, sharing)
        try:
            store = Store(store_path, text=text, alone=alone)
            try:
                before = JudgingProgress(0, 0, 0, 0)
                for groups, emit in stages:
                    watch = _Watch(before, progress)
                    engine = JudgementQueue(
                        model,
                        name,
                        store,
                        sampling,
                        emit,
                        patience=patience,
                        max_concurrency=width,
                        ahead=_AHEAD * width if len(served) > 1 else 0,
                        max_calls=how.max_calls,
                        max_prompt_tokens=how.max_prompt_tokens,
                        order=how.order,
                        price=how.price or known_price(name),
                        progress=watch,
                    )
                    engine.calls = calls
                    await engine.run(groups())
                    calls, before = engine.calls, watch.last
            finally:
                store.close()
        finally:
            await model.close()
        return calls

    calls: int = _to_the_end(run)
    return calls


class _Watch:
    """Adds what one stage does to what was done before it."""

    def __init__(self, before: JudgingProgress, progress: Callable[[JudgingProgress], None] | None) -> None:
        self.last = self._before = before
        self._progress = progress

    def __call__(self, state: JudgingProgress) -> None:
        before = self._before
        self.last = JudgingProgress(
            before.done + state.done,
            before.stored + state.stored,
            before.missing + state.missing,
            state.calls,
        )
        if self._progress is not None:
            self._progress(self.last)


def _to_the_end(work: Callable[[], Any]) -> Any:
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


# -- planning ---------------------------------------------------------------------------------------


class Planner:
    """Counts what would be sent to a judge, beside what a store holds. Nothing is sent, and no key is needed.

    Args:
        name: the judge's.
        how: how it would be asked.
        store_path: the store; it need not be there.
    """

    def __init__(self, name: JudgeName, how: Asking, store_path: Path) -> None:
        self._name = name
        self._how = how
        self._parameters = parameters_text(how.sampling())
        self._price = how.price or known_price(name)
        self._known = stored_keys(store_path)

    def key(self, prompt: Prompt, number: int) -> str:
        """The key of a judgement."""
        return judgement_key(self._name.identity, self._parameters, prompt.digest(), number)

    def askable(self, prompt: Prompt | NotAskable) -> bool:
        """Whether it would be sent."""
        limit = self._how.max_prompt_tokens
        return isinstance(prompt, Prompt) and (limit is None or prompt.tokens <= limit)

    def count(self, group: QuestionGroup, tally: Tally | None = None) -> None:
        """Count what a group asks, in its own tally or another."""
        tally = group.tally if tally is None else tally
        for prompt in group.question.prompts(group.conversation, self._how.order):
            if not isinstance(prompt, Prompt) or not self.askable(prompt):
                tally.not_askable += 1
                continue
            key = self.key(prompt, group.number)
            if key in self._known:
                tally.stored += 1
                continue
            self._known.add(key)
            tally.calls += 1
            tally.input_tokens += prompt.tokens
            tally.output_tokens += prompt.reply_tokens

    def plan(self, rubric: str, tally: Tally) -> RubricPlan:
        """What a rubric's counts come to."""
        return RubricPlan(
            rubric,
            self._name.rater,
            tally.calls,
            tally.stored,
            tally.not_askable,
            tally.input_tokens,
            tally.output_tokens,
            None if self._price is None else self._price.of(tally.input_tokens, tally.output_tokens),
        )

    def plans(
        self,
        questions: Questions,
        transcripts: Iterable[Transcript],
        names: Iterable[str] | None = None,
    ) -> tuple[RubricPlan, ...]:
        """What asking about transcripts would take, by rubric; arguments as for :meth:`Questions.groups`."""
        asked = tuple(questions.questions if names is None else names)
        for group in questions.groups(transcripts, asked):
            self.count(group)
        return tuple(self.plan(name, questions.tallies[name]) for name in asked)
