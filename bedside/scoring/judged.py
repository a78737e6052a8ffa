"""Judging a run: language models rate its transcripts by rubrics, or code their turns, and the ratings join the run.

Where the rubrics asked belong to a protocol (:mod:`bedside.scoring.pipeline`), what is asked about another rubric's
answers waits for these, and the protocol's metrics follow from the answers, pass by pass.

Instead of asking at once, the calls can be written to files for a service that answers many together, and its answers
read later (:mod:`bedside.llm.batch_files`): what was to be asked is kept in the run's manifest.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from bedside.analysis.ratings_view import own_rubrics
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, JudgingSummary, Tally
from bedside.judges.driver import JudgingStage, ask_judge
from bedside.judges.prompt import ITEMS_PER_CALL, Conversation, Prompt, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup, QuestionSet
from bedside.judges.raters import rater_of
from bedside.judges.rating_rows import RatingRows
from bedside.judges.rubric_ratings import asked_with, ratings_of
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements, stored_keys
from bedside.judges.turn_codes import code_transcripts, plan_coding
from bedside.judges.wordless import check_wordless
from bedside.llm.batch_files import BatchClient, check_batchable, writing
from bedside.llm.endpoints import model_name, named_models
from bedside.llm.model_names import ModelName
from bedside.llm.prices import Price
from bedside.llm.protocol import Client
from bedside.metrics import FAMILIES
from bedside.ratings.run import Run
from bedside.ratings.table import KEY, missing_counts
from bedside.ratings.table_writer import rating_writer
from bedside.rubrics.code_rubrics import CODEBOOK
from bedside.rubrics.rubric import Rubric, as_data
from bedside.rubrics.rubric_files import RUBRICS, rubrics_with
from bedside.scoring.pipeline import LaterQuestion, Pipeline, later_questions, pipelines_for
from bedside.scoring.versions import run_versions
from bedside.support.errors import DataError, InputError, RegistryError
from bedside.transcripts import Reading, ReadOptions, Transcript

if TYPE_CHECKING:
    from bedside.llm.batch_files import Answers, BatchFile

STORE = "judgements.sqlite"
#: Follows a rubric's name in a plan where its calls can't be known before others are answered.
ESTIMATED = " (estimated)"

#: What a judge rates of a transcript it rates whole: what was missing for all turns may now be there for each.
_WHOLE = tuple(column for column in KEY if column != "unit")
#: Calls looked up or written between two looks at the store.
_AT_ONCE = 64

Transcripts = Callable[[], Iterator[Transcript]]


@dataclass(frozen=True, slots=True)
class Work:
    """What a judge is asked about a run.

    Attributes:
        rubrics: to rate by.
        codes: behaviour codes to give, in place of rubrics; names of :data:`bedside.transcripts.transcript.CODES`.
        suite: name of the suite that names the rubrics, for the manifest.
    """

    rubrics: tuple[Rubric, ...] = ()
    codes: tuple[str, ...] = ()
    suite: str | None = None


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


# -- asking at once ---------------------------------------------------------------------------------


def judge_run(
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    work: Work,
    *,
    options: ReadOptions | None = None,
    asking: JudgeSettings | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
) -> tuple[JudgingSummary, ...]:
    """Have judges rate the transcripts of a run and add their ratings to it, and the metrics that follow from them.

    Every judgement is kept in the run as soon as it is made: the same call after a stop asks only what is missing.
    Metrics have the parameters that the run was last scored with.

    Args:
        run: the run.
        paths: the files that the run was scored from.
        judges: models, see :mod:`bedside.llm.client`; addresses that serve the same model are one judge.
        work: what is asked.
        options: how to read the files.
        asking: passes, limits and the like.
        progress: called with the judge and how far it is.

    Raises:
        JudgeError: a judge can't be asked; what was finished is kept in the run's store.
    """
    files, made = list(paths), []
    transcripts = _the_same(run, lambda: iter(Reading(files, options)))
    with run.locked():
        for name in named_models(judges):
            with working(run, transcripts, name, work, asking or JudgeSettings(), progress=progress) as done:
                done.add(run)
            made.append(done.judged)
    return tuple(made)


def plan_run(
    out: Path,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    work: Work,
    *,
    options: ReadOptions | None = None,
    asking: JudgeSettings | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_run` would send; nothing is sent or written.

    What waits for answers that aren't there yet is estimated, and its plan's rubric ends in :data:`ESTIMATED`.
    """
    how, files = asking or JudgeSettings(), list(paths)
    plans: list[RubricPlan] = []
    for name in named_models(judges):
        if work.codes:
            plans += plan_coding(
                Reading(files, options), name, store_path=out / STORE, codes=work.codes, settings=how
            )
        else:
            plans += _Planning(out / STORE, name, work.rubrics, how).plans(
                lambda: iter(Reading(files, options))
            )
    return tuple(plans)


def _the_same(run: Run, source: Transcripts) -> Transcripts:
    """The transcripts, each of them checked to be the run's."""
    known = dict(run.index.select("id", "hash").iter_rows())

    def transcripts() -> Iterator[Transcript]:
        for transcript in source():
            if known.get(transcript.id) != transcript.content_hash():
                raise InputError(
                    f"transcript {transcript.id!r} is not the one in the run",
                    where=transcript.source,
                    todo="judge the files that the run was scored from",
                )
            yield transcript

    return transcripts


@dataclass(frozen=True, slots=True)
class Done:
    """One judge's work on a run, before it is added to it."""

    judge: ModelName
    work: Work
    how: JudgeSettings
    judged: JudgingSummary
    ratings: pl.LazyFrame
    metrics: list[str]
    parameters: dict[str, Any]

    def add(self, run: Run, *, batch: bool = False) -> None:
        """Add the ratings to the run, and to its manifest what was asked."""
        entry = {
            "suite": self.work.suite,
            "metrics": self.metrics,
            "parameters": self.parameters,
            "seed": self.how.seed,
            "judges": {self.judged.rater: self._asked(batch)},
            **run_versions(),
            "ratings": self.judged.ratings,
            "raters": [self.judged.rater],
            "missing": missing_counts(self.ratings),
        }
        manifest = {**run.manifest, "scorings": [*run.manifest["scorings"], entry]}
        own = {rubric.name: as_data(rubric) for rubric in self.work.rubrics if rubric.name not in RUBRICS}
        if own:
            manifest["rubrics"] = {**run.manifest.get("rubrics", {}), **own}
        run.add(self.ratings, manifest, key=_WHOLE)

    def _asked(self, batch: bool) -> dict[str, Any]:
        """All that it takes to do the same again, and what it took."""
        judged = self.judged
        endpoints = [{"address": each.name.text, "weight": each.weight} for each in self.judge.endpoints]
        return {
            "model": self.judge.text,
            **({"endpoints": endpoints} if endpoints else {}),
            **judged.parameters,
            "max_prompt_tokens": self.how.max_prompt_tokens,
            "price": None if self.how.price is None else asdict(self.how.price),
            "passes": judged.passes,
            "codes": list(self.work.codes),
            "batch": batch,
            "complete": judged.complete,
            "prompts": {count.rubric: count.version for count in judged.rubrics},
            "rubrics": [asdict(count) for count in judged.rubrics],
        }


@contextmanager
def working(
    run: Run,
    transcripts: Transcripts,
    judge: ModelName,
    work: Work,
    how: JudgeSettings,
    *,
    client: Callable[[], Client] | None = None,
    store: Path | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
) -> Iterator[Done]:
    """Have one judge do some work on a run that is locked; the ratings are there as long as the block lasts.

    With a ``store``, that is used in place of the run's, and by nobody else.
    """
    if not run.manifest["transcripts"]["text"]:
        check_work_wordless(work)
    given: dict[str, Any] = {
        "text": bool(run.manifest["transcripts"]["text"]),
        "progress": None if progress is None else partial(progress, judge.shown),
        "client": client,
        "alone": store is not None,
    }
    store = store or run.path / STORE
    with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        ratings = rating_writer(Path(folder))
        if work.codes:
            judged = code_transcripts(
                transcripts(),
                judge,
                store_path=store,
                add=ratings.add,
                codes=work.codes,
                settings=how,
                **given,
            )
            yield Done(judge, work, how, judged, ratings.result(), list(work.codes), {})
            return
        judging = _Judging(judge, work.rubrics, how, Path(folder), ratings.add)
        settings = {pipeline.name: _settings(run, pipeline) for pipeline in judging.pipelines}
        judged = judging.judge(store, transcripts, settings, **given)
        metrics = [*(rubric.name for rubric in work.rubrics), *judging.metrics]
        parameters = {
            pipeline.family: settings[pipeline.name]
            for pipeline in judging.pipelines
            if settings[pipeline.name]
        }
        yield Done(judge, work, how, judged, ratings.result(), metrics, parameters)


def check_work_wordless(work: Work) -> None:
    """Refuse what can't be done for a run that keeps no text.

    Raises:
        InputError: metrics follow from a judge's words.
    """
    pipelines = pipelines_for({rubric.name for rubric in work.rubrics})
    check_wordless(work.rubrics, frozenset[str]().union(*(pipeline.rubrics for pipeline in pipelines)))


def _settings(run: Run, pipeline: Pipeline) -> dict[str, Any]:
    """All parameters of a pipeline's metric family: its own, or those that the run was last scored with."""
    given = pipeline.settings
    if given is None:
        scorings = (entry["parameters"] for entry in reversed(run.manifest["scorings"]))
        given = next((found[pipeline.family] for found in scorings if pipeline.family in found), {})
    return FAMILIES.load(pipeline.family).settings(given)


# -- by batch files ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batched:
    """What reading a batch's answers and writing its calls did.

    Attributes:
        judged: what each work came to.
        files: the files of calls that were written.
        lines: lines of answers and errors that were read.
        taken: answers that were taken.
        errors: lines that hold an error in place of an answer.
        there: answers to what was judged already.
        foreign: answers and errors to nothing that this run asks.
        twice: lines whose call an earlier line answers.
        unreadable: lines that are no answers, such as one that is cut off.
        first_unreadable: where the first of these is.
    """

    judged: tuple[JudgingSummary, ...]
    files: tuple[BatchFile, ...]
    lines: int = 0
    taken: int = 0
    errors: int = 0
    there: int = 0
    foreign: int = 0
    twice: int = 0
    unreadable: int = 0
    first_unreadable: str | None = None

    @property
    def unusable(self) -> int:
        """Judgements that came to nothing however often they were asked."""
        return sum(count.unusable for one in self.judged for count in one.rubrics)

    @property
    def open(self) -> int:
        """Judgements that are to be asked still, or again."""
        return sum(count.failed + count.not_asked for one in self.judged for count in one.rubrics)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Rubrics that can be asked about only when answers to others are there."""
        return tuple(dict.fromkeys(name for one in self.judged for name in one.waiting))


def batch_out(
    run: Run,
    judges: Sequence[str],
    work: Work,
    out: Path,
    *,
    asking: JudgeSettings | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
) -> Batched:
    """Write the calls that judging a run would make to files, and note in the run what they are for.

    What is judged already is rated as by :func:`judge_run`; what isn't is missing, and says that it waits.

    Args:
        run: the run.
        judges: models that are asked in OpenAI's form.
        work: what is asked.
        out: the file; there may be several, see :class:`bedside.llm.batch_files.CallWriter`.
        asking: passes and the like; the limit of calls is that of calls written.
        progress: called with the judge and how far it is.

    Raises:
        InputError: a model is not asked in OpenAI's form.
        RunError: the files can't be written.
    """
    how = asking or JudgeSettings()
    orders = [Order(name, work, how) for name in named_models(judges)]
    return _batch(run, orders, None, out, how.max_calls, progress)


def batch_again(
    run: Run,
    answers: Sequence[Path] = (),
    out: Path | None = None,
    *,
    progress: Callable[[str, JudgingProgress], None] | None = None,
) -> Batched:
    """Read a batch's answers into a run, as if they had been had at once, and write the calls that remain.

    What :func:`batch_out` was told is not told again. Replies that can't be used are asked for again in the next file,
    as often as in a live run; calls that ended in an error are in it too, and the questions that follow from answers.

    Args:
        run: the run.
        answers: files that the service gave; their order doesn't matter, and they may be read again.
        out: the file of calls to be made next; None for none.
        progress: called with the judge and how far it is.

    Raises:
        InputError: nothing was exported from this run, or the answers are to another's calls.
    """
    from bedside.llm.batch_files import Answers

    orders = orders_of(run)
    if not orders:
        raise InputError(
            "no calls were exported from this run",
            where=str(run.path),
            todo="bedside score FILES --judge MODEL --batch-out FILE",
        )
    return _batch(run, orders, Answers(answers) if answers else None, out, None, progress)


@dataclass(frozen=True, slots=True)
class Order:
    judge: ModelName
    work: Work
    how: JudgeSettings


def _batch(
    run: Run,
    orders: Sequence[Order],
    answers: Answers | None,
    out: Path | None,
    max_calls: int | None,
    progress: Callable[[str, JudgingProgress], None] | None,
) -> Batched:
    for order in orders:
        check_batchable(order.judge)
    transcripts = transcripts_of(run)
    with run.locked(), writing(out, max_calls) as writer, ExitStack() as stack:
        works = [
            stack.enter_context(
                working(
                    run,
                    transcripts,
                    order.judge,
                    order.work,
                    replace(order.how, max_concurrency=_AT_ONCE, max_calls=None),
                    client=partial(BatchClient, order.judge, order.how.sampling(), answers, writer),
                    progress=progress,
                )
            )
            for order in orders
        ]
        counts = {} if answers is None else _counts(run, answers)
        for done in works:
            done.add(run, batch=True)
        files = () if writer is None else writer.finish()
    return Batched(tuple(done.judged for done in works), files, **counts)


def _counts(run: Run, answers: Answers) -> dict[str, Any]:
    """What became of a batch's answers, once all that are wanted were taken.

    Raises:
        InputError: none of them is to a call of this run.
    """
    from bedside.llm.batch_files import KEY_DIGITS, key_of

    known = {key[:KEY_DIGITS] for key in stored_keys(run.path / STORE, failed=True)}
    left = answers.left
    there = sum(key_of(custom_id) in known for custom_id in left)
    if left and len(left) - there == answers.ids:
        raise InputError(
            f"none of the {answers.ids} answers is to a call of this run",
            where=str(run.path),
            todo="name the run that the calls were exported from",
        )
    return {
        "lines": answers.lines,
        "taken": answers.taken,
        "errors": answers.errors,
        "there": there,
        "foreign": len(left) - there,
        "twice": answers.twice,
        "unreadable": answers.unreadable,
        "first_unreadable": answers.first_unreadable,
    }


def orders_of(run: Run) -> list[Order]:
    """What was exported from a run; of what was exported twice, the later, and not what has another wording since.

    Raises:
        InputError: all of it has.
    """
    orders = [order_of(run, entry, told) for _, entry, told in told_of(run, batch=True)]
    kept = [order for order in orders if order is not None]
    if orders and not kept:
        raise InputError(
            "the rubrics have another wording than when their calls were exported",
            where=str(run.path),
            todo="export anew: bedside score FILES --judge MODEL --batch-out FILE",
        )
    return kept


def told_of(run: Run, *, batch: bool = False) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Who was asked, and the manifest's entries of it; of what was asked twice of a judge, the later.

    With ``batch``, what was exported only.
    """
    found: dict[tuple[str, frozenset[str]], tuple[str, dict[str, Any], dict[str, Any]]] = {}
    for entry in run.manifest["scorings"]:
        for rater, told in entry.get("judges", {}).items():
            if batch and not told.get("batch"):
                continue
            key = rater, frozenset(told["prompts"])
            found.pop(key, None)
            found[key] = (rater, entry, told)
    return list(found.values())


def order_of(run: Run, entry: Mapping[str, Any], told: Mapping[str, Any]) -> Order | None:
    """What was asked of a judge, to be asked again; None where the rubrics have another wording since."""
    codes = tuple(told["codes"])
    own = own_rubrics(run)
    rubrics = [
        CODEBOOK.load(name) if codes else own[name] if name in own else RUBRICS.find(name)
        for name in told["prompts"]
    ]
    if any(rubric.version != told["prompts"][rubric.name] for rubric in rubrics):
        return None
    how = JudgeSettings(
        passes=told["passes"],
        temperature=told["temperature"],
        max_prompt_tokens=told["max_prompt_tokens"],
        order=told["order"],
        expected=told["probabilities"],
        price=None if told["price"] is None else Price(**told["price"]),
        seed=entry["seed"],
        max_tokens=told["max_tokens"],
    )
    return Order(model_name(told["model"]), Work(() if codes else tuple(rubrics), codes, entry["suite"]), how)


def transcripts_of(run: Run) -> Transcripts:
    """The transcripts of a run.

    What it keeps is read faster than the files it was made of, and is there when these are not.
    """
    return run.transcripts if run.manifest["transcripts"]["text"] else _the_same(run, _read_again(run))


def _read_again(run: Run) -> Transcripts:
    """The transcripts of a run that keeps no text, from the files that it was scored from."""
    told = run.manifest["transcripts"]
    if told["options"]["roles"] is None:
        raise InputError(
            "the files can't be read again: a run without text keeps no names of speakers",
            where=str(run.path),
            todo="have the judge asked at once, or score without --no-text",
        )
    paths = [file["path"] for file in told["inputs"]]
    return lambda: iter(Reading(paths, ReadOptions(**told["options"])))


# -- one judge --------------------------------------------------------------------------------------


class _Spool:
    """What a judge said, on disk in the order of the transcripts: memory holds one transcript's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, group: QuestionGroup) -> None:
        answers = [(given.unit, given.items, given.answer, given.error) for given in group.answers]
        line = (group.transcript.id, group.number, group.question.rubric.name, answers)
        self._file.write(orjson.dumps(line) + b"\n")

    def close(self) -> None:
        self._file.close()

    def of(self) -> Callable[[str], dict[int, dict[str, list[JudgeAnswer]]]]:
        """A function that says what was said of a transcript, by pass and rubric; to be asked in order."""
        found = groupby(self._lines(), key=lambda line: line[0])
        ahead = next(found, None)

        def take(transcript: str) -> dict[int, dict[str, list[JudgeAnswer]]]:
            nonlocal ahead
            said: dict[int, dict[str, list[JudgeAnswer]]] = {}
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


def _answer(
    unit: str, items: list[int] | None, answer: dict[str, Any] | None, error: str | None
) -> JudgeAnswer:
    return JudgeAnswer(unit, None if items is None else tuple(items), answer, error)


class _Judging:
    """One judge's rating of a run: what is asked at once, what waits for that, and what follows."""

    def __init__(
        self,
        name: ModelName,
        rubrics: Sequence[Rubric],
        how: JudgeSettings,
        folder: Path,
        add: Callable[[tuple[Any, ...]], object],
    ) -> None:
        asked = {rubric.name for rubric in rubrics}
        self.pipelines = pipelines_for(asked)
        self._metrics = {pipeline.name: pipeline.metrics(asked) for pipeline in self.pipelines}
        self._later = later_questions(self.pipelines, asked)
        self._followed = frozenset[str]().union(*(pipeline.rubrics for pipeline in self.pipelines))
        self._name = name
        self._how = how
        self._questions = QuestionSet(map(Question, rubrics), how.passes)
        self._spools = [_Spool(folder / f"said-{stage}") for stage in range(2 if self._later else 1)]
        self._rows = RatingRows(rater_of(self._name), add)

    @property
    def metrics(self) -> list[str]:
        """The metrics that follow from the answers."""
        return [name for found in self._metrics.values() for name in sorted(found)]

    def judge(
        self,
        store: Path,
        transcripts: Transcripts,
        settings: Mapping[str, Mapping[str, Any]],
        **given: Any,
    ) -> JudgingSummary:
        """Ask everything, rate what is answered, and make the metrics that follow.

        Args:
            store: where judgements are kept.
            transcripts: what is asked about.
            settings: parameters of each pipeline's metric family.
            given: further arguments of :func:`bedside.judges.driver.ask_judge`.
        """
        at_once = [name for name in self._questions.questions if name not in self._later]
        stages: list[JudgingStage] = [
            JudgingStage(
                lambda: self._questions.groups(transcripts(), at_once), partial(self._emit, self._spools[0])
            )
        ]
        if self._later:
            stages.append(
                JudgingStage(lambda: self._after(transcripts()), partial(self._emit, self._spools[1]))
            )
        try:
            calls = ask_judge(self._name, self._how, store, stages, **given)
        finally:
            for spool in self._spools:
                spool.close()
        self._derive(transcripts, settings)
        tallies = self._questions.tallies
        waiting = tuple(
            name
            for name, later in self._later.items()
            if tallies[later.after].not_asked or tallies[later.after].failed
        )
        return JudgingSummary(
            rater_of(self._name),
            asked_with(self._how, ITEMS_PER_CALL),
            self._how.passes,
            self._questions.counts(),
            self._rows.count,
            calls,
            waiting,
        )

    def _after(self, transcripts: Iterable[Transcript]) -> Iterator[QuestionGroup]:
        self._spools[0].close()
        said = self._spools[0].of()
        for transcript in transcripts:
            passes = said(transcript.id)
            for name, later in self._later.items():
                for number in range(self._how.passes):
                    try:
                        asked = _with_input(transcript, later, later.find(transcript, passes[number]))
                    except DataError:  # what it says is rated when metrics are made
                        tally = self._questions.tallies[name]
                        tally.judgements += 1
                        tally.not_askable += 1
                        continue
                    yield self._questions.group(Conversation(asked), name, number)

    def _emit(self, spool: _Spool, group: QuestionGroup) -> None:
        rubric = group.question.rubric
        self._rate(group.transcript, rubric, group.number, group.answers)
        if rubric.name in self._followed:
            spool.add(group)

    def _rate(
        self, transcript: Transcript, rubric: Rubric, number: int, answers: Sequence[JudgeAnswer]
    ) -> None:
        for rating in ratings_of(rubric, transcript, answers):
            self._rows.add(transcript, number, *rating)

    def _derive(self, transcripts: Transcripts, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Make the metrics that follow from what was answered."""
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
                        self._rate(transcript, self._questions.questions[name].rubric, number, said[name])
                for pipeline in self.pipelines:
                    for value in pipeline.values(
                        transcript,
                        rater_of(self._name),
                        said,
                        self._metrics[pipeline.name],
                        settings[pipeline.name],
                    ):
                        self._rows.add(
                            transcript,
                            number,
                            "transcript" if value.turn is None else f"turn:{value.turn}",
                            value.metric if value.role is None else f"{value.metric}.{value.role}",
                            value.value,
                            value.label,
                            value.reason,
                            value.error,
                            rater=value.rater,
                        )


def _with_input(transcript: Transcript, later: LaterQuestion, value: Any) -> Transcript:
    return replace(transcript, reference={**transcript.reference, later.input: value})


def _not_asked(
    transcript: Transcript, later: LaterQuestion, said: Mapping[str, Sequence[JudgeAnswer]]
) -> JudgeAnswer:
    """The answer to a rubric that had nothing to be asked about: why."""
    try:
        later.find(transcript, said)
    except DataError as error:
        return JudgeAnswer("transcript", None, None, str(error))
    raise AssertionError("it could have been asked")


# -- planning ---------------------------------------------------------------------------------------


class _Planning:
    """Plans a judge's rating of a run.

    What waits for answers is planned exactly where these are kept already, else with a stand-in for them.
    """

    def __init__(self, store: Path, name: ModelName, rubrics: Sequence[Rubric], how: JudgeSettings) -> None:
        asked = {rubric.name for rubric in rubrics}
        self._later = later_questions(pipelines_for(asked), asked)
        self._how = how
        self._questions = QuestionSet(map(Question, rubrics), how.passes)
        self._planner = CallPlanner(name, how, store)
        followed = {later.after for later in self._later.values()}
        self._kept = {
            judgement.key: JudgeAnswer(judgement.unit, judgement.items, judgement.answer, judgement.error)
            for judgement in (read_judgements(store) if followed else ())
            if judgement.state != "failed" and judgement.rubric in followed
        }

    def plans(self, transcripts: Transcripts) -> list[RubricPlan]:
        """The plan of each rubric; of one that waits, that of what is known and that of what is estimated."""
        at_once = [name for name in self._questions.questions if name not in self._later]
        made = [*self._planner.plans(self._questions, transcripts(), at_once)]
        for later in self._later.values():
            made += self._waiting(transcripts(), later)
        return made

    def _waiting(self, transcripts: Iterable[Transcript], later: LaterQuestion) -> list[RubricPlan]:
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
                self._planner.count(self._questions.group(asked, later.rubric, number), tally)
        return [
            self._planner.plan(later.rubric + ending, tally)
            for tally, ending in ((known, ""), (estimated, ESTIMATED))
            if tally != Tally()
        ]

    def _said(
        self, conversation: Conversation, rubric: str, number: int
    ) -> dict[str, list[JudgeAnswer]] | None:
        """What is kept of a rubric's answers; None where some is to be asked still."""
        found = []
        for prompt in self._questions.questions[rubric].prompts(conversation, self._how.order):
            answer: JudgeAnswer | None
            if isinstance(prompt, Prompt) and self._planner.askable(prompt):
                answer = self._kept.get(self._planner.key(prompt, number))
            else:
                answer = JudgeAnswer(prompt.unit, prompt.asked, None, "it can't be asked")
            if answer is None:
                return None
            found.append(answer)
        return {rubric: found}
