"""Judging a run: language models rate its transcripts by rubrics, and the ratings join the run.

Where the rubrics asked belong to a protocol (:mod:`bedside.protocols.judged`), what is asked about another rubric's
answers waits for these, and the protocol's metrics follow from the answers, pass by pass.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.errors import DataError, InputError, RegistryError
from bedside.judges import Rubric, rubrics_with
from bedside.judges.client import Price, Sampling, judge_name, known_price, open_client
from bedside.judges.coding import code_transcripts, plan_coding
from bedside.judges.engine import Answer, Engine, Group, Patience, Progress, Tally
from bedside.judges.judging import Judged, RubricCount, RubricPlan, _check, _run, plan_judging, ratings_of
from bedside.judges.prompt import ITEMS_PER_CALL, Conversation, Order, Prompt, Question
from bedside.judges.store import Store, judgement_key, read_judgements
from bedside.metrics import FAMILIES
from bedside.protocols.judged import Later, Pipeline, later_of, pipelines_for
from bedside.ratings import Run, missing_counts, rating_writer
from bedside.scoring import run_versions
from bedside.transcripts import Reading, ReadOptions, Transcript

STORE = "judgements.sqlite"
#: Follows a rubric's name in a plan where its calls can't be known before others are answered.
ESTIMATED = " (estimated)"


@dataclass(frozen=True, slots=True)
class Asking:
    """How judges are asked.

    Attributes:
        passes: how often each thing is asked.
        temperature: 0 to 2; None leaves it to the provider.
        max_concurrency: requests under way at once.
        max_calls: requests sent at most; None for no limit.
        max_prompt_tokens: what is estimated to be longer is not sent.
        order: whether a prompt begins with the transcript or with the rubric.
        expected: whether to ask for token probabilities and rate expected scores too.
        price: US dollars per million tokens, where it isn't known.
        seed: of random waits and sampling.
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

    def sampling(self) -> Sampling:
        """How a model is asked to write."""
        return Sampling(
            temperature=self.temperature,
            probabilities=self.expected,
            seed=self.seed,
            max_prompt_tokens=self.max_prompt_tokens,
        )


def chosen_rubrics(names: Iterable[str], folder: Path | None = None) -> tuple[Rubric, ...]:
    """The rubrics of these names, from the user's ``folder`` too.

    Raises:
        RegistryError: there is none of a name, or none is named at all.
    """
    registry = rubrics_with(folder)
    found = tuple(registry.find(name) for name in names)
    if not found:
        raise RegistryError("the suite has no rubrics for a judge", todo="name some with --rubrics")
    return found


def judge_run(
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    rubrics: Sequence[Rubric],
    *,
    suite: str | None = None,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> tuple[Judged, ...]:
    """Have judges rate the transcripts of a run and add their ratings to it, and the metrics that follow from them.

    Every judgement is kept in the run as soon as it is made: the same call after a stop asks only what is missing.
    Metrics have the parameters that the run was last scored with.

    Args:
        run: the run.
        paths: the files that the run was scored from.
        judges: models, see :mod:`bedside.judges.client`.
        rubrics: what is asked.
        suite: name of the suite, for the manifest.
        options: how to read the files.
        asking: passes, limits and the like.
        progress: called with the judge and how far it is.

    Raises:
        JudgeError: a judge can't be asked; what was finished is kept in the run's store.
    """
    how = asking or Asking()
    _check(passes=how.passes, max_concurrency=how.max_concurrency)
    files = list(paths)
    known = dict(run.index.select("id", "hash").iter_rows())
    made = []
    with run.locked():
        for judge in judges:
            with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
                ratings = rating_writer(Path(folder))
                judging = _Judging(judge, rubrics, how, Path(folder), ratings.add)
                settings = {pipeline.name: _settings(run, pipeline) for pipeline in judging.pipelines}

                def transcripts() -> Iterator[Transcript]:
                    return _same(Reading(files, options), known)

                judging.ask(run, transcripts, None if progress is None else _named(progress, judge))
                judging.derive(transcripts, settings)
                judged = judging.judged()
                table = ratings.result()
                names = [*(rubric.name for rubric in rubrics), *judging.metrics]
                parameters = {
                    pipeline.family: settings[pipeline.name]
                    for pipeline in judging.pipelines
                    if settings[pipeline.name]
                }
                _add(run, table, judge, judged, names, suite=suite, parameters=parameters, seed=how.seed)
            made.append(judged)
    return tuple(made)


def code_run(
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    codes: Sequence[str],
    *,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> tuple[Judged, ...]:
    """Have judges give behaviour codes to the turns of a run, and add codes and session measures to it.

    Arguments and errors as for :func:`judge_run`; ``codes`` are names of :data:`bedside.transcripts.model.CODES`.
    """
    how = asking or Asking()
    files = list(paths)
    known = dict(run.index.select("id", "hash").iter_rows())
    made = []
    with run.locked():
        for judge in judges:
            with tempfile.TemporaryDirectory(prefix=".coding.", dir=run.path) as folder:
                ratings = rating_writer(Path(folder))
                judged = code_transcripts(
                    _same(Reading(files, options), known),
                    judge,
                    store_path=run.path / STORE,
                    add=ratings.add,
                    codes=codes,
                    passes=how.passes,
                    max_concurrency=how.max_concurrency,
                    max_calls=how.max_calls,
                    temperature=how.temperature,
                    seed=how.seed,
                    order=how.order,
                    max_prompt_tokens=how.max_prompt_tokens,
                    price=how.price,
                    text=bool(run.manifest["transcripts"]["text"]),
                    progress=None if progress is None else _named(progress, judge),
                )
                table = ratings.result()
                _add(run, table, judge, judged, list(codes), suite=None, parameters={}, seed=how.seed)
            made.append(judged)
    return tuple(made)


def plan_codes(
    out: Path,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    codes: Sequence[str],
    *,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`code_run` would send; nothing is sent or written."""
    how = asking or Asking()
    files = list(paths)
    plans: list[RubricPlan] = []
    for judge in judges:
        plans += plan_coding(
            Reading(files, options),
            judge,
            store_path=out / STORE,
            codes=codes,
            passes=how.passes,
            temperature=how.temperature,
            seed=how.seed,
            order=how.order,
            max_prompt_tokens=how.max_prompt_tokens,
            price=how.price,
        )
    return tuple(plans)


def _add(
    run: Run,
    table: pl.LazyFrame,
    judge: str,
    judged: Judged,
    metrics: Sequence[str],
    *,
    suite: str | None,
    parameters: Mapping[str, Any],
    seed: int,
) -> None:
    """Add a judge's ratings to a run, and what it was asked to the manifest."""
    entry = {
        "suite": suite,
        "metrics": list(metrics),
        "parameters": dict(parameters),
        "seed": seed,
        "judges": {
            judged.rater: {
                "model": judge,
                **judged.parameters,
                "passes": judged.passes,
                "complete": judged.complete,
                "prompts": {count.rubric: count.version for count in judged.rubrics},
                "rubrics": [asdict(count) for count in judged.rubrics],
            }
        },
        **run_versions(),
        "ratings": judged.ratings,
        "raters": [judged.rater],
        "missing": missing_counts(table),
    }
    run.add(table, {**run.manifest, "scorings": [*run.manifest["scorings"], entry]})


def plan_run(
    out: Path,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    rubrics: Sequence[Rubric],
    *,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_run` would send; nothing is sent or written.

    What waits for answers that aren't there yet is estimated, and its plan's rubric ends in :data:`ESTIMATED`.
    """
    how = asking or Asking()
    files = list(paths)
    asked = {rubric.name for rubric in rubrics}
    later = later_of(pipelines_for(asked), asked)
    at_once = [rubric for rubric in rubrics if rubric.name not in later]
    plans: list[RubricPlan] = []
    for judge in judges:
        plans += plan_judging(
            Reading(files, options),
            at_once,
            judge,
            store_path=out / STORE,
            passes=how.passes,
            temperature=how.temperature,
            seed=how.seed,
            order=how.order,
            max_prompt_tokens=how.max_prompt_tokens,
            expected=how.expected,
            price=how.price,
        )
        if later:
            planning = _Planning(out / STORE, judge, rubrics, later.values(), how)
            for waiting in later.values():
                plans += planning.plans(Reading(files, options), waiting)
    return tuple(plans)


def _settings(run: Run, pipeline: Pipeline) -> dict[str, Any]:
    """All parameters of a pipeline's metric family: its own, or those that the run was last scored with."""
    given = pipeline.settings
    if given is None:
        scorings = (entry["parameters"] for entry in reversed(run.manifest["scorings"]))
        given = next((found[pipeline.family] for found in scorings if pipeline.family in found), {})
    return FAMILIES.load(pipeline.family).settings(given)


def _same(reading: Reading, known: Mapping[str, str]) -> Iterator[Transcript]:
    """The transcripts, each of them checked to be the run's."""
    for transcript in reading:
        if known.get(transcript.id) != transcript.content_hash():
            raise InputError(
                f"transcript {transcript.id!r} is not the one in the run",
                where=transcript.source,
                todo="judge the files that the run was scored from",
            )
        yield transcript


def _named(progress: Callable[[str, Progress], None], judge: str) -> Callable[[Progress], None]:
    return lambda state: progress(judge, state)


# -- one judge --------------------------------------------------------------------------------------


class _Spool:
    """What a judge said, on disk in the order of the transcripts: memory holds one transcript's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, group: Group) -> None:
        answers = [(given.unit, given.items, given.answer, given.error) for given in group.answers]
        line = (group.transcript.id, group.number, group.question.rubric.name, answers)
        self._file.write(orjson.dumps(line) + b"\n")

    def close(self) -> None:
        self._file.close()

    def of(self) -> Callable[[str], dict[int, dict[str, list[Answer]]]]:
        """A function that says what was said of a transcript, by pass and rubric; to be asked in order."""
        found = groupby(self._lines(), key=lambda line: line[0])
        ahead = next(found, None)

        def take(transcript: str) -> dict[int, dict[str, list[Answer]]]:
            nonlocal ahead
            said: dict[int, dict[str, list[Answer]]] = {}
            if ahead is not None and ahead[0] == transcript:
                for _, number, rubric, answers in ahead[1]:
                    said.setdefault(number, {})[rubric] = [_answer(*given) for given in answers]
                ahead = next(found, None)
            return said

        return take

    def _lines(self) -> Iterator[tuple[str, int, str, list[Any]]]:
        with self._path.open("rb") as file:
            for line in file:
                yield orjson.loads(line)


def _answer(unit: str, items: list[int] | None, answer: dict[str, Any] | None, error: str | None) -> Answer:
    return Answer(unit, None if items is None else tuple(items), answer, error)


class _Judging:
    """One judge's rating of a run: what is asked at once, what waits for that, and what follows."""

    def __init__(
        self,
        judge: str,
        rubrics: Sequence[Rubric],
        how: Asking,
        folder: Path,
        add: Callable[[tuple[Any, ...]], object],
    ) -> None:
        asked = {rubric.name for rubric in rubrics}
        self.pipelines = pipelines_for(asked)
        self._metrics = {pipeline.name: pipeline.metrics(asked) for pipeline in self.pipelines}
        self._later = later_of(self.pipelines, asked)
        self._followed = frozenset[str]().union(*(pipeline.rubrics for pipeline in self.pipelines))
        self._name = judge_name(judge)
        self._how = how
        self._sampling = how.sampling()
        self._questions = {rubric.name: Question(rubric) for rubric in rubrics}
        self._tallies = {rubric.name: Tally() for rubric in rubrics}
        self._spools = [_Spool(folder / f"said-{stage}") for stage in range(2 if self._later else 1)]
        self._add = add
        self._count = 0
        self._calls = 0

    @property
    def metrics(self) -> list[str]:
        """The metrics that follow from the answers."""
        return [name for found in self._metrics.values() for name in sorted(found)]

    def judged(self) -> Judged:
        """What the judging did."""
        counts = tuple(
            RubricCount(name, question.version, **asdict(self._tallies[name]))
            for name, question in self._questions.items()
        )
        parameters = {
            **self._sampling.parameters(),
            "order": self._how.order,
            "items_per_call": ITEMS_PER_CALL,
        }
        return Judged(self._name.rater, parameters, self._how.passes, counts, self._count, self._calls)

    # -- asking --------------------------------------------------------------------------------------

    def ask(
        self,
        run: Run,
        transcripts: Callable[[], Iterator[Transcript]],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """Ask everything, and rate what is answered."""
        text = bool(run.manifest["transcripts"]["text"])

        async def ask() -> None:
            model = open_client(self._name, self._sampling)
            try:
                store = Store(run.path / STORE, text=text)
                try:
                    before = Progress(0, 0, 0, 0)
                    for stage, spool in enumerate(self._spools):
                        watch = _Watch(before, progress)
                        engine = Engine(
                            model,
                            self._name,
                            store,
                            self._sampling,
                            partial(self._emit, spool),
                            patience=Patience(),
                            max_concurrency=self._how.max_concurrency,
                            max_calls=self._how.max_calls,
                            max_prompt_tokens=self._how.max_prompt_tokens,
                            order=self._how.order,
                            price=self._how.price or known_price(self._name),
                            progress=watch,
                        )
                        # The limit of calls is that of all stages together.
                        engine.calls = self._calls
                        await engine.run(
                            self._at_once(transcripts()) if stage == 0 else self._after(transcripts())
                        )
                        self._calls = engine.calls
                        before = watch.last
                        spool.close()
                finally:
                    store.close()
            finally:
                await model.close()

        try:
            _run(ask)
        finally:
            for spool in self._spools:
                spool.close()

    def _at_once(self, transcripts: Iterable[Transcript]) -> Iterator[Group]:
        for transcript in transcripts:
            conversation = Conversation(transcript)
            for name, question in self._questions.items():
                if name not in self._later:
                    for number in range(self._how.passes):
                        yield Group(conversation, question, number, self._tallies[name])

    def _after(self, transcripts: Iterable[Transcript]) -> Iterator[Group]:
        said = self._spools[0].of()
        for transcript in transcripts:
            passes = said(transcript.id)
            for name, later in self._later.items():
                tally = self._tallies[name]
                for number in range(self._how.passes):
                    try:
                        asked = _with_input(transcript, later, later.find(transcript, passes[number]))
                    except DataError:  # what it says is rated when metrics are made
                        tally.judgements += 1
                        tally.not_askable += 1
                        continue
                    yield Group(Conversation(asked), self._questions[name], number, tally)

    def _emit(self, spool: _Spool, group: Group) -> None:
        rubric = group.question.rubric
        self._rate(group.transcript, rubric, group.number, group.answers)
        if rubric.name in self._followed:
            spool.add(group)

    def _rate(self, transcript: Transcript, rubric: Rubric, number: int, answers: Sequence[Answer]) -> None:
        for unit, metric, *cells in ratings_of(rubric, transcript, answers):
            self._row(transcript, unit, metric, self._name.rater, number, *cells)

    def _row(self, transcript: Transcript, *cells: Any) -> None:
        self._add((transcript.id, transcript.system, transcript.case_id, *cells))
        self._count += 1

    # -- what follows --------------------------------------------------------------------------------

    def derive(
        self, transcripts: Callable[[], Iterator[Transcript]], settings: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Make the metrics that follow from what was answered.

        Args:
            transcripts: those that were asked about.
            settings: parameters of each pipeline's metric family.
        """
        if not self.pipelines:
            return
        readers = [spool.of() for spool in self._spools]
        for transcript in transcripts():
            passes = [reader(transcript.id) for reader in readers]
            for number in range(self._how.passes):
                said = {rubric: given for stage in passes for rubric, given in stage.get(number, {}).items()}
                for name, later in self._later.items():
                    if name not in said:
                        said[name] = [_not_asked(transcript, later, said)]
                        self._rate(transcript, self._questions[name].rubric, number, said[name])
                for pipeline in self.pipelines:
                    for value in pipeline.values(
                        transcript,
                        self._name.rater,
                        said,
                        self._metrics[pipeline.name],
                        settings[pipeline.name],
                    ):
                        self._row(
                            transcript,
                            "transcript" if value.turn is None else f"turn:{value.turn}",
                            value.metric if value.role is None else f"{value.metric}.{value.role}",
                            value.rater,
                            number,
                            value.value,
                            value.label,
                            value.reason,
                            value.error,
                        )


def _with_input(transcript: Transcript, later: Later, value: Any) -> Transcript:
    return replace(transcript, reference={**transcript.reference, later.input: value})


def _not_asked(transcript: Transcript, later: Later, said: Mapping[str, Sequence[Answer]]) -> Answer:
    """The answer to a rubric that had nothing to be asked about: why."""
    try:
        later.find(transcript, said)
    except DataError as error:
        return Answer("transcript", None, None, str(error))
    raise AssertionError("it could have been asked")


class _Watch:
    """Adds what one stage does to what was done before it."""

    def __init__(self, before: Progress, progress: Callable[[Progress], None] | None) -> None:
        self.last = self._before = before
        self._progress = progress

    def __call__(self, state: Progress) -> None:
        before = self._before
        self.last = Progress(
            before.done + state.done,
            before.stored + state.stored,
            before.missing + state.missing,
            state.calls,
        )
        if self._progress is not None:
            self._progress(self.last)


# -- planning ---------------------------------------------------------------------------------------


class _Planning:
    """Plans what waits for answers: exactly where these are kept already, else with a stand-in for them."""

    def __init__(
        self, store: Path, judge: str, rubrics: Sequence[Rubric], later: Iterable[Later], how: Asking
    ) -> None:
        involved = {name for waiting in later for name in (waiting.rubric, waiting.after)}
        self._name = judge_name(judge)
        self._how = how
        self._parameters = orjson.dumps(how.sampling().parameters(), option=orjson.OPT_SORT_KEYS).decode()
        self._questions = {rubric.name: Question(rubric) for rubric in rubrics if rubric.name in involved}
        self._price = how.price or known_price(self._name)
        self._kept = {
            judgement.key: Answer(judgement.unit, judgement.items, judgement.answer, judgement.error)
            for judgement in read_judgements(store)
            if judgement.state != "failed" and judgement.rubric in involved
        }

    def plans(self, transcripts: Iterable[Transcript], later: Later) -> list[RubricPlan]:
        """The plan of what is known and of what is estimated, if there is any of it."""
        known, estimated = Tally(), Tally()
        for transcript in transcripts:
            conversation = Conversation(transcript)
            for number in range(self._how.passes):
                said = self._said(conversation, later.after, number)
                tally = known
                try:
                    value = later.find(transcript, said or {})
                except DataError:
                    if said is not None:
                        known.not_askable += 1
                        continue
                    tally, value = estimated, later.expect(transcript)
                asked = Conversation(_with_input(transcript, later, value))
                for prompt in self._questions[later.rubric].prompts(asked, self._how.order):
                    self._count(tally, prompt, number)
        return [
            RubricPlan(
                later.rubric + ending,
                self._name.rater,
                tally.calls,
                tally.stored,
                tally.not_askable,
                tally.input_tokens,
                tally.output_tokens,
                None if self._price is None else self._price.of(tally.input_tokens, tally.output_tokens),
            )
            for tally, ending in ((known, ""), (estimated, ESTIMATED))
            if tally != Tally()
        ]

    def _said(self, conversation: Conversation, rubric: str, number: int) -> dict[str, list[Answer]] | None:
        """What is kept of a rubric's answers; None where some is to be asked still."""
        found = []
        for prompt in self._questions[rubric].prompts(conversation, self._how.order):
            answer: Answer | None
            if isinstance(prompt, Prompt) and not self._too_long(prompt):
                answer = self._kept.get(self._key(prompt, number))
            else:
                answer = Answer(prompt.unit, prompt.asked, None, "it can't be asked")
            if answer is None:
                return None
            found.append(answer)
        return {rubric: found}

    def _count(self, tally: Tally, prompt: Any, number: int) -> None:
        if not isinstance(prompt, Prompt) or self._too_long(prompt):
            tally.not_askable += 1
        elif self._key(prompt, number) in self._kept:
            tally.stored += 1
        else:
            tally.calls += 1
            tally.input_tokens += prompt.tokens
            tally.output_tokens += prompt.reply_tokens

    def _too_long(self, prompt: Prompt) -> bool:
        return self._how.max_prompt_tokens is not None and prompt.tokens > self._how.max_prompt_tokens

    def _key(self, prompt: Prompt, number: int) -> str:
        return judgement_key(self._name.identity, self._parameters, prompt.digest(), number)
