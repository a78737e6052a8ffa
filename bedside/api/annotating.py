"""What people are to rate: the plan of a sample, drawn from a run, handed out, brought back and settled."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from bedside.annotation.plan_choices import MODES, Aim, Focus, SampledMode
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import BedsideError, InputError, one_of
from bedside.core.question_settings import (
    ARGUMENTS,
    OPTIONS,
    OUTPUT,
    PageServing,
    Seeded,
    option,
    question,
    settings_class,
)
from bedside.core.words import Names, counted, listed
from bedside.ratings.run_folder import is_run
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from decimal import Decimal

    from bedside.annotation.adjudication import Adjudication
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_revisions import RevisionHistory
    from bedside.annotation.answer_store import StoreSummary
    from bedside.annotation.assignment_by_need import WorkDone
    from bedside.annotation.label_studio_client import LabelStudioClient, TaskProgress
    from bedside.annotation.label_studio_projects import PullSummary, PushSummary
    from bedside.annotation.label_studio_server import OwnServer
    from bedside.annotation.plan_progress import PlanProgress
    from bedside.annotation.proposals import Proposals
    from bedside.annotation.rating_page.page_folder import PageFolder
    from bedside.annotation.rating_page.study_people import RaterRow
    from bedside.annotation.reassignment import Decision, Reassignment
    from bedside.annotation.study_file import StudyFile
    from bedside.annotation.training_cases import TrainingCase
    from bedside.annotation.withdrawal import Withdrawal
    from bedside.core.page_serving import PagePlace
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.ratings.run import Run
    from bedside.reports.table import Table
    from bedside.transcripts.reading import Paths

_WHO, _WHAT = "Who rates what", "Which transcripts"
#: How often a server is asked that is watched.
WATCH_SECONDS = 30.0
Results = TypeVar("Results")

# -- The plan of a sample -------------------------------------------------------------------------------


def _users(users: Mapping[str, str] | None) -> Mapping[str, str]:
    """Rater by user of the server.

    Raises:
        InputError: it is no mapping.
    """
    if users is not None and not isinstance(users, Mapping):
        raise InputError(
            f"{users!r:.40} doesn't say who is whom", where="`users`", todo="give a dict, such as {'3': 'anna'}"
        )
    return users or {}


@settings_class
class SampleSettings(Seeded):
    """Draw what people are to rate, and who rates what: a plan.

    The plan holds the map from opaque ids to transcripts: keep it, and don't give it to raters.

    Examples:
        $ bedside sample run --raters anna,ben --rubrics empathy --by system --per 4
        $ bedside sample run --raters 3 --mode codes --rubrics question,reflection
        $ bedside sample run --raters 3 --mode pairs --rubrics empathy --per 20
    """

    raters: int | Names = option(
        "Names of the raters, such as anna,ben, or how many.",
        default=2, heading=_WHO, metavar="A,B", form="count_or_names",
    )  # fmt: skip
    mode: SampledMode = option(
        "What raters do. rate: rate by rubrics without seeing system or judge; audit: agree or disagree with a "
        "judge's scores; findings: list what the patient revealed; codes: code each turn; pairs: say which of two "
        "conversations on one case is better.",
        default="rate", heading=_WHO, metavar="NAME",
    )  # fmt: skip
    rubrics: Names | None = option(
        "Rubrics to rate by; in mode codes, the codes. Without it, the rubrics that judges rated by, but for those "
        "that need what the transcripts lack.",
        "--rubrics", "--rubric", default=None, heading=_WHO, metavar="A,B", form="names", offers="rubrics",
    )  # fmt: skip
    show: Names = option(
        "Show raters system messages, or calls of tools, too. Without it nobody who rates sees them; the report says "
        "so where they do.",
        default=(), heading=_WHO, metavar="system,tools", form="names",
    )  # fmt: skip
    overlap: int = option("How many raters rate each transcript.", default=2, heading=_WHO, metavar="NUMBER")
    shared: int = option(
        "How many transcripts everyone rates; --overlap holds for the others.",
        default=0, heading=_WHO, metavar="NUMBER",
    )  # fmt: skip
    training: int | str | os.PathLike[str] | None = option(
        "Transcripts with known answers that raters see first: a file, or a number of the run's transcripts that "
        "people agree on.",
        default=None, heading=_WHO, metavar="FILE", form="count_or_word",
    )  # fmt: skip
    training_kappa: float | None = option(
        "The kappa with the known answers that a rater must reach in training, such as .6. Without it, everybody goes "
        "on.",
        default=None, heading=_WHO, metavar="KAPPA",
    )  # fmt: skip
    training_again: str | os.PathLike[str] | None = option(
        "A second training set, for who doesn't reach --training-kappa in the first.",
        default=None, heading=_WHO, metavar="FILE", form="path",
    )  # fmt: skip
    gold: str | os.PathLike[str] | None = option(
        "Transcripts with known answers that are hidden among the others, to see how raters keep up. They are never "
        "counted as ratings.",
        default=None, heading=_WHO, metavar="FILE", form="path",
    )  # fmt: skip
    gold_share: float = option(
        "Share of what a rater is shown that comes from --gold.",
        default=0.1, heading=_WHO, metavar="SHARE", form="share",
    )  # fmt: skip
    judge: str | None = option(
        "In mode audit: the judge whose scores raters are shown.",
        default=None, heading=_WHO, metavar="RATER", offers="one_rater",
    )  # fmt: skip
    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=OPTIONS, metavar="FOLDER", form="path"
    )
    language: str | None = option(
        "Language in which people rate: en, de or zh. Every page, form and file made of the plan is in it.",
        default=None, heading=OPTIONS, metavar="LANGUAGE",
    )  # fmt: skip
    by: Names = option(
        "Draw the same number from each group: by system, case_id, language or factors of the transcripts. By system, "
        "the same cases of each are drawn.",
        default=(), heading=_WHAT, metavar="A,B", form="names",
    )  # fmt: skip
    per: int | None = option(
        "How many transcripts to draw from each group, or turns where the rubrics are about turns; in mode pairs, how "
        "many pairs of every two systems. Without it, all of them.",
        default=None, heading=_WHAT, metavar="NUMBER",
    )  # fmt: skip
    each: int | None = option(
        "How many transcripts or turns a rater's share holds, in the place of --per: as many are drawn as fill all "
        "shares. All of a case go to the same raters; what doesn't come out even is not drawn.",
        default=None, heading=_WHAT, metavar="NUMBER",
    )  # fmt: skip
    cascade: str | None = option(
        "Draw all that this cascade leaves to people, and --per of what its judges settle: estimate corrects by both.",
        default=None, heading=_WHAT, metavar="NAME",
    )  # fmt: skip
    systems: Names | None = option(
        "In mode pairs: systems whose conversations are compared; all of the run's unless named.",
        default=None, heading=_WHAT, metavar="A,B", form="names",
    )  # fmt: skip
    focus: Focus = option(
        "What is drawn first: random; disagreement (where judges, or passes of one judge, differ); uncertain (where a "
        "judge was uncertain).",
        default="random", heading=_WHAT, metavar="NAME",
    )  # fmt: skip
    random_share: float = option(
        "Share that is drawn at random where --focus is not random, from 0 to 1.",
        "--random", default=0.0, heading=_WHAT, metavar="SHARE",
    )  # fmt: skip
    repeat: float = option(
        "Share of the transcripts that each rater is shown a second time, such as 10%, to see how well they agree with "
        "themselves; pairs come the other way round.",
        default=0.0, heading=_WHO, metavar="SHARE", form="share",
    )  # fmt: skip
    round: str = option(
        "Name of the round of annotation, such as pilot. Ratings of two rounds stand side by side; without a name the "
        "plan is a round of its own.",
        default="", heading=_WHO, metavar="NAME",
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "File to write the plan to.",
        "--out", "-o", default=Path("plan.json"), heading=OUTPUT, metavar="FILE", form="path", kw_only=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """What people are to rate.

    Attributes:
        plan: who rates what; it holds the map from opaque ids to transcripts.
        file: where it was written.
        tables: what was drawn, and which differences it can show.
        left_out: rubrics that judges rated by and people can't, with the reason.
        named: systems and assistants whose names raters will read, with the turns that say them.
    """

    plan: AnnotationPlan
    file: Path
    tables: tuple[Table, ...]
    left_out: dict[str, str]
    named: dict[str, tuple[str, ...]]


@question(SampleSettings, "The run, or its folder.")
def sample(run: RunOrFolder, settings: SampleSettings) -> DrawnSample:
    """The run keeps the text of its transcripts.

    Raises:
        BedsideError: no such run, rubric, factor or rater, too little to draw from, or a file that can't be written.
    """
    from bedside.annotation.items import named_systems
    from bedside.annotation.plan_power import shown_differences
    from bedside.annotation.sampling import make_plan, rater_slots
    from bedside.reports.annotation import plan_tables

    one_of(settings.mode, MODES, "choice", InputError, where="`mode`")
    opened = open_run(run)
    rubrics, left_out = _rubrics(opened, settings)
    parts = [part for rubric in rubrics for part in rubric.question_rubrics]
    walked = {part.name for rubric in rubrics if rubric.questions for part in rubric.question_rubrics}
    raters, out = settings.raters, Path(settings.out)
    by = [*listed(settings.by, "by")]
    if settings.cascade is not None:
        from bedside.tuning.cascade import keep_routes

        by.append(keep_routes(opened, settings.cascade, parts))
    plan = make_plan(
        opened,
        mode=settings.mode,
        rubrics=rubrics,
        raters=rater_slots(raters) if isinstance(raters, int) else tuple(listed(raters, "raters")),
        by=by,
        per=settings.per,
        systems=listed(settings.systems, "systems"),
        overlap=settings.overlap,
        shared=settings.shared,
        focus=settings.focus,
        random_share=settings.random_share,
        judge=settings.judge,
        repeat=settings.repeat,
        training=_training(opened, settings, parts, walked),
        training_kappa=settings.training_kappa,
        training_again=_known(settings, parts, walked, "training_again"),
        share_size=settings.each,
        gold=_known(settings, parts, walked, "gold"),
        gold_share=settings.gold_share,
        round=settings.round,
        seed=settings.seed,
    )
    keep_plan(plan, opened, out)
    tables = tuple(plan_tables(plan, shown_differences(opened, plan)))
    return DrawnSample(plan, out, tables, left_out, named_systems(plan, opened))


def keep_plan(plan: AnnotationPlan, run: Run, out: Path) -> None:
    """Write a plan where the user said and, so that it can't be lost, into its run.

    Raises:
        InputError: the file holds another plan.
    """
    from bedside.annotation.annotation_plan import plan_hash
    from bedside.annotation.answer_store import current_plan, plan_folder
    from bedside.annotation.plan_file import read_plan, write_plan
    from bedside.core.files import make_folder, saying_where

    if out.exists() and plan_hash(read_plan(out)) != plan_hash(plan):
        raise InputError("the file holds another plan", where=str(out), todo="choose another file with `out`")
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    plan = current_plan(run, plan)
    write_plan(plan, folder / "plan.json")
    place = os.path.relpath(run.path.resolve(), out.resolve().parent).encode("utf-8", "replace").decode()
    write_plan(plan.model_copy(update={"folder": place}), out)


def _training(run: Run, settings: SampleSettings, rubrics: list[Rubric], walked: set[str]) -> Sequence[TrainingCase]:
    """The training set: of a file, or of what people agree on in the run."""
    from bedside.annotation.training_cases import training_from_run

    if isinstance(settings.training, int) and settings.mode != "pairs":
        return training_from_run(run, settings.mode, rubrics, settings.training, settings.seed)
    return _known(settings, rubrics, walked, "training")


def _known(settings: SampleSettings, rubrics: list[Rubric], walked: set[str], name: str) -> Sequence[TrainingCase]:
    """The units with known answers of the file that an argument names: gold items, or a training set."""
    from bedside.annotation.training_cases import read_training

    file = getattr(settings, name)
    if file is None:
        return ()
    if settings.mode == "pairs":
        what = "pairs have no gold items" if name == "gold" else "pairs have no training set"
        raise InputError(what, where=f"`{name}`", todo="leave it out")
    return read_training(file, settings.mode, rubrics, where=f"`{name}`", walked=walked)


def _rubrics(run: Run, settings: SampleSettings) -> tuple[list[Rubric], dict[str, str]]:
    """The rubrics that are named, or those of the mode: all codes, the findings, or what judges rated by.

    Beside them: those that people can't answer, with the reason.
    """
    from bedside.judges.rubrics.rubric_files import CODEBOOK, rubrics_with
    from bedside.scoring.judging_orders import rubrics_of

    names = listed(settings.rubrics, "rubrics")
    left_out: dict[str, str] = {}
    if settings.mode == "codes":
        if settings.language not in (None, "en"):
            raise InputError(
                "behaviour codes have English texts only", where="`language`", todo="leave it out, or rate by rubrics"
            )
        registry = rubrics_with(None if settings.rubric_folder is None else Path(settings.rubric_folder))
        codes = names if names is not None else [name for name in CODEBOOK.names() if name != "main_behaviour"]
        rubrics = [CODEBOOK.load(name) if name in CODEBOOK else registry.find(name) for name in codes]
    else:
        chosen: Sequence[str | Rubric] | None = names
        if chosen is None:
            chosen = ["finding_extraction"]
            if settings.mode != "findings":
                chosen, left_out = _judged_rubrics(run, settings)
        by_name = rubrics_of(chosen, run, folder=settings.rubric_folder, language=settings.language)
        rubrics = list(by_name)
    if settings.show:
        rubrics = list(rubrics_of(rubrics, folder=settings.rubric_folder, shows=settings.show))
    return rubrics, left_out


def _judged_rubrics(run: Run, settings: SampleSettings) -> tuple[list[Rubric], dict[str, str]]:
    """The rubrics by which judges rated the run's transcripts, as far as the mode and people can answer them.

    Those of several ratings are told by what the run keeps.
    """
    import polars as pl

    from bedside.annotation.annotation_plan import KINDS
    from bedside.annotation.items import answerable_rubrics
    from bedside.judges.rubrics.answer_form import LINKED_KINDS
    from bedside.judges.rubrics.rubric_files import incomparable, own_rubrics, rubrics_with
    from bedside.ratings.names import TRANSCRIPT, rated_by_judges, rates_pair
    from bedside.ratings.rubric_metrics import preferred_by

    registry = rubrics_with(None if settings.rubric_folder is None else Path(settings.rubric_folder))
    units = pl.col("unit") == TRANSCRIPT
    judged = run.ratings.filter(rated_by_judges(), units | rates_pair() if settings.mode == "pairs" else units)
    names = sorted({preferred_by(metric) for metric in judged["metric"].unique()})
    rubrics = [registry.find_in(name, settings.language) for name in names if name in registry]
    several = [rubric for rubric in own_rubrics(run).values() if rubric.measures or rubric.points]
    of_metric = {metric: rubric for rubric in several for metric in rubric.metrics}
    whole = {of_metric[name].name: of_metric[name] for name in names if name in of_metric and name not in registry}
    for rubric in whole.values():
        rubrics += [rubric] if settings.mode == "rate" or not rubric.criteria else rubric.question_rubrics
    fitting = [
        rubric for rubric in rubrics
        # Links are asked for where they are named: what else is rated has training sets, and a column each.
        if all(part.kind in KINDS[settings.mode] and part.kind not in LINKED_KINDS for part in rubric.question_rubrics)
        and (settings.mode == "rate" or not rubric.questions)
    ]  # fmt: skip
    if settings.mode == "pairs":
        fitting = [rubric for rubric in fitting if incomparable(rubric) is None]
    if not fitting:
        what = "no judge has rated the run by rubrics"
        if rubrics:
            what = f"none of the rubrics that a judge rated by fits `mode` {settings.mode}"
        own = f", such as {next(iter(run.manifest['rubrics']))}" if run.manifest.get("rubrics") else ""
        raise InputError(what, where=str(run.path), todo=f"name others with `rubrics`{own}")
    kept, left_out = answerable_rubrics(run, fitting)
    return kept, dict(left_out)


# -- A plan and its run ---------------------------------------------------------------------------------

#: A plan, or its file; a plan that isn't in a file needs its run named.
PlanOrFile: TypeAlias = "AnnotationPlan | str | os.PathLike[str]"
_PLAN = "The plan's file; or the plan, with its `run`."


@dataclass(frozen=True, slots=True)
class PlanOutcome(Generic[Results]):
    """What was done with a plan.

    Attributes:
        plan: as it is assigned now.
        run: its run.
        results: what came of it.
    """

    plan: AnnotationPlan
    run: Run
    results: Results


@settings_class
class OfPlan:
    """Where a plan's run is."""

    run: RunOrFolder | None = option(
        "The run of the plan. Without it, the one that it was drawn from, or ./run.",
        default=None, heading=OPTIONS, metavar="RUN", form="path",
    )  # fmt: skip

    def opened(self, plan: PlanOrFile) -> tuple[AnnotationPlan, Run]:
        """A plan as it is assigned now, and its run.

        The run is the one named, where the plan looks for it, the plan's folder, or ``run`` beside it or here.

        Raises:
            BedsideError: the plan can't be read, or its run isn't found.
        """
        from bedside.annotation.annotation_plan import AnnotationPlan, run_identity
        from bedside.annotation.answer_store import current_plan
        from bedside.annotation.plan_file import PlanError, check_run, read_plan, run_places
        from bedside.annotation.reassignment import as_assigned

        if self.run is not None:
            opened = open_run(self.run)
            read = plan if isinstance(plan, AnnotationPlan) else read_plan(plan)
            check_run(current_plan(opened, read), opened, "`plan`" if read is plan else str(plan))
            return as_assigned(opened, read), opened
        if isinstance(plan, AnnotationPlan):
            raise PlanError("a plan that isn't in a file doesn't say where its run is", todo="name it with `run`")
        path, read = Path(plan), read_plan(plan)
        for folder in run_places(path, read):
            if is_run(folder):
                try:
                    candidate = open_run(folder)
                    # As the run holds the plan: transcripts may have been removed since.
                    is_its_run = run_identity(candidate) == current_plan(candidate, read).run
                except BedsideError:
                    continue  # some other folder with a manifest
                if is_its_run:
                    return as_assigned(candidate, read), candidate
        drawn = f", nor at {run_places(path, read)[0]}, where the plan looks for it" if read.folder else ""
        raise PlanError(f"the run of the plan is not beside it{drawn}", where=str(plan), todo="name the run with `run`")


@settings_class
class OwnRubrics:
    """The rubrics that a plan must still have."""

    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=OPTIONS, metavar="FOLDER", form="path"
    )

    def check_current(self, read: AnnotationPlan, plan: PlanOrFile) -> None:
        """Refuse a plan whose rubrics are no longer those of their name.

        Raises:
            PlanError: they differ.
        """
        from bedside.annotation.annotation_plan import AnnotationPlan
        from bedside.annotation.plan_file import check_current
        from bedside.judges.rubrics.rubric_files import CODEBOOK, rubrics_with

        registry = rubrics_with(None if self.rubric_folder is None else Path(self.rubric_folder))
        own = [planned.rubric for planned in (*read.rubrics, *read.wholes)]
        if read.mode == "codes":
            rubrics = [CODEBOOK.load(rubric.name) for rubric in own if rubric.name in CODEBOOK]
        else:
            known = [rubric for rubric in own if rubric.name in registry and not rubric.tuned]
            rubrics = [registry.find_in(rubric.name, rubric.language) for rubric in known]
        check_current(read, rubrics, "`plan`" if isinstance(plan, AnnotationPlan) else str(plan))


@settings_class
class ByNeed:
    """Until when people rate."""

    until: str | None = option(
        "Targets, such as kappa±.1,mean±.2: raters get a few items at a time, until their numbers are as precise. The "
        "plan remembers them.",
        default=None, heading=OPTIONS, metavar="TARGETS",
    )  # fmt: skip
    idle: float = option(
        "With --until: hours after which what a rater hasn't handed in goes to somebody else.",
        default=24.0, heading=OPTIONS, metavar="HOURS",
    )  # fmt: skip

    def begun(self, read: AnnotationPlan, run: Run, work: Callable[[], WorkDone] | None = None) -> AnnotationPlan:
        """The plan as it is assigned now, handed out by need where targets are named.

        Args:
            read: the plan.
            run: its run.
            work: what raters have done besides what is in the run.

        Raises:
            BedsideError: what is named are no targets, or who rates what can't be written.
        """
        if self.until is None:
            return read
        from bedside.annotation.assignment_by_need import begin, stored_work
        from bedside.annotation.reassignment import as_assigned
        from bedside.annotation.study_targets import read_targets, target_states

        # Targets that the plan can't have are said before it begins.
        target_states(run, read, read_targets(self.until))
        done = stored_work(run, read)
        if work is not None:
            more = work()
            done = replace(more, answered=more.answered | done.answered)
        begin(run, read, self.until, self.idle, done)
        return as_assigned(run, read)


# -- Label Studio ---------------------------------------------------------------------------------------

_KEY_ENV: Any = option(
    "Name of the environment variable that holds the API key.",
    default="LABEL_STUDIO_API_KEY", heading=OPTIONS, metavar="VARIABLE",
)  # fmt: skip
_TEXT: Any = option(
    "Markdown file that raters are shown first: instructions, consent, training.",
    default=None, heading=OPTIONS, metavar="FILE", form="path",
)  # fmt: skip
_PROJECT: Any = option(
    "Number of the Label Studio project that holds the plan's tasks, where it isn't found by itself.",
    default=None, heading=OPTIONS, metavar="ID",
)  # fmt: skip
_TASKS: Any = option("Called with how many tasks are done, and of how many.", default=None, heading=None)


def _label_studio(url: str, key_env: str) -> LabelStudioClient:
    """A Label Studio, entered with the key that an environment variable holds."""
    from bedside.annotation.label_studio_client import LabelStudioClient

    key = os.environ.get(key_env, "").strip()
    if not key:
        raise InputError(
            "the environment variable of the server's key is not set",
            where=key_env,
            todo=f"export {key_env}=… (bedside annotate serve prints the command), or name another variable with "
            "`key_env`",
        )
    return LabelStudioClient(url, key)


def _words_of(text: str | os.PathLike[str] | None) -> str:
    """What raters are shown first, from its file."""
    from bedside.core.files import read_text

    return "" if text is None else read_text(Path(text))


@settings_class
class ServeSettings:
    """Start a Label Studio of your own on this machine, with a login for each rater.

    Where one runs already, its address and logins are printed.

    Examples:
        $ bedside annotate serve run --raters anna,ben
        $ bedside annotate serve run --stop
    """

    raters: Names = option(
        "Raters who may log in, such as anna,ben; more can be added later.",
        default=(), heading=OPTIONS, metavar="A,B", form="names",
    )  # fmt: skip
    port: int | None = option(
        "Port on this machine. Without it, 8085.", default=None, heading=OPTIONS, metavar="NUMBER"
    )
    environment: str | os.PathLike[str] | None = option(
        "Virtual environment that has Label Studio; the variable BEDSIDE_LABEL_STUDIO can name it too.",
        default=None, heading=OPTIONS, metavar="FOLDER", form="path",
    )  # fmt: skip
    stop: bool = option("Stop the server and keep its data.", default=False, heading=OPTIONS)
    status: bool = option("Say whether the server runs.", default=False, heading=OPTIONS)
    say: Callable[[str], None] | None = option("Called with lines about what takes long.", default=None, heading=None)


@dataclass(frozen=True, slots=True)
class OwnLabelStudio:
    """A Label Studio of this machine.

    Attributes:
        folder: where it keeps its data.
        server: the server; None where none runs.
        stopped: whether this call stopped it.
    """

    folder: Path
    server: OwnServer | None
    stopped: bool = False


@question(ServeSettings, "Folder in which the server keeps its data. If you name a run, RUN-label-studio beside it.")
def serve_label_studio(folder: str | os.PathLike[str], settings: ServeSettings) -> OwnLabelStudio:
    """Raises:
    LabelStudioError: the port is taken, a name can't be one, or the server doesn't start.
    """
    from bedside.annotation import label_studio_server as servers

    # A run can be copied and sent on; passwords must not go with it.
    place = Path(folder)
    if is_run(place):
        place = place.absolute().with_name(f"{place.absolute().name}-label-studio")
    if settings.stop:
        return OwnLabelStudio(place, None, stopped=servers.stop_server(place))
    if settings.status:
        return OwnLabelStudio(place, servers.running_server(place))
    server = servers.serve(
        place,
        raters=listed(settings.raters, "raters"),
        port=settings.port,
        environment=None if settings.environment is None else Path(settings.environment),
        say=settings.say or (lambda line: None),
    )
    return OwnLabelStudio(place, server)


@settings_class
class PushSettings(OfPlan, OwnRubrics, ByNeed):
    """Put a plan's tasks on a Label Studio server.

    It is safe to repeat: tasks that are on the server are not sent again. With --until each push sends the next batch
    that is needed, and nothing once the targets are reached: pull before it.

    Examples:
        $ bedside annotate push plan.json --url http://127.0.0.1:8085
        $ bedside annotate push plan.json --url http://127.0.0.1:8085 --until kappa±.1
    """

    url: str = option(
        "Address of Label Studio, as bedside annotate serve prints it.", heading=OPTIONS, metavar="URL", kw_only=False
    )
    key_env: str = _KEY_ENV
    strict: bool | None = option(
        "--strict makes a project for each rater, with that rater's items in their order; --pool makes one for all, in "
        "which whoever comes first rates an item, whatever the plan assigns. Without either, it is --pool where every "
        "rater rates every item, else --strict.",
        "--strict/--pool", default=None, heading=OPTIONS,
    )  # fmt: skip
    text: str | os.PathLike[str] | None = _TEXT
    project: int | None = _PROJECT
    progress: TaskProgress | None = _TASKS


@question(PushSettings, _PLAN)
def push(plan: PlanOrFile, settings: PushSettings) -> PlanOutcome[PushSummary]:
    """Raises:
    BedsideError: a plan that can't be read, or whose rubrics were changed, no key, or a server that can't be reached,
        refuses, or has the plan in the other form, or other tasks in the project.
    """
    from bedside.annotation.assignment_by_need import next_batch
    from bedside.annotation.label_studio_projects import push as push_tasks
    from bedside.annotation.reassignment import need_of

    read, run = settings.opened(plan)
    settings.check_current(read, plan)
    read = settings.begun(read, run)
    strict = settings.strict
    if need_of(run, read) is not None:
        if strict is False:
            raise InputError("items go to raters by need", where="`strict`", todo="leave `pool` out")
        strict, read = True, next_batch(run, read)
    text = _words_of(settings.text)
    server = _label_studio(settings.url, settings.key_env)
    progress = settings.progress or (lambda done, total: None)
    how: dict[str, Any] = {"strict": strict, "text": text, "project": settings.project}
    return PlanOutcome(read, run, push_tasks(read, run, server, **how, progress=progress))


@settings_class
class PullSettings(OfPlan):
    """Bring what raters answered on a Label Studio server into the run.

    It is safe to repeat: no answer is added twice, and none is lost.

    Examples:
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085
        $ bedside annotate pull plan.json --url http://127.0.0.1:8085 --watch
    """

    url: str = option(
        "Address of Label Studio, as bedside annotate serve prints it.", heading=OPTIONS, metavar="URL", kw_only=False
    )
    key_env: str = _KEY_ENV
    users: Mapping[str, str] | None = option(
        "Raters by their e-mail addresses, such as a@b.org=anna; needed where an address doesn't begin with the name.",
        default=None, heading=OPTIONS, metavar="ADDRESS=NAME,…", form="pairs",
    )  # fmt: skip
    project: int | None = _PROJECT
    watch: bool = option(
        "Pull again every half minute until Ctrl-C, and say what came.", default=False, heading=OPTIONS
    )
    progress: TaskProgress | None = _TASKS
    say: Callable[[str], None] | None = option(
        "Called, while it watches, with a line about what came.", default=None, heading=None
    )


@question(PullSettings, _PLAN)
def pull(plan: PlanOrFile, settings: PullSettings) -> PlanOutcome[PullSummary]:
    """With ``watch``, it comes back when it was stopped by Ctrl-C.

    Raises:
        BedsideError: a plan that can't be read, no key, or a server that can't be reached, has no project of the plan,
            or a page that was changed. Nothing is changed then.
    """
    from contextlib import suppress

    from bedside.annotation.assignment_by_need import stop_if_reached
    from bedside.annotation.label_studio_client import UnreachableError

    def pull_once() -> PlanOutcome[PullSummary]:
        # Other commands may have changed the run, and who rates what.
        read, run = settings.opened(plan)
        pulled = PlanOutcome(read, run, _pulled(read, run, settings, settings.project))
        stop_if_reached(run, read)
        return pulled

    outcome = pull_once()
    line, said = _came(outcome), ""
    with suppress(KeyboardInterrupt):
        while settings.watch:
            if line != said and settings.say is not None:
                settings.say(line)
            said = line
            time.sleep(WATCH_SECONDS)
            try:
                outcome = pull_once()
                line, said = _came(outcome), ""
            except UnreachableError as error:
                line = str(error)
    return outcome


def _came(outcome: PlanOutcome[PullSummary]) -> str:
    """What a pull brought, in a line; nothing where nothing came."""
    kept = outcome.results.stored
    parts = [f"{counted(count, 'new answer')} of {rater}" for rater, count in kept.came.items()]
    parts += [counted(kept.revised, "correction")] if kept.revised else []
    expected = sum(map(len, outcome.plan.assignment.values()))
    return f"{', '.join(parts)}; {kept.submitted + kept.skipped:,} of {expected:,} expected." if parts else ""


def _pulled(
    plan: AnnotationPlan, run: Run, settings: PullSettings | StatusSettings, project: int | None = None
) -> PullSummary:
    from bedside.annotation.label_studio_projects import pull as pull_tasks

    server = _label_studio(settings.url or "", settings.key_env)
    progress = settings.progress or (lambda done, total: None)
    return pull_tasks(plan, run, server, users=_users(settings.users), project=project, progress=progress)


# -- Files for raters -----------------------------------------------------------------------------------


@settings_class
class ExportTasksSettings(OfPlan, OwnRubrics):
    """Write a file for each rater to fill in, where no server is wanted.

    Examples:
        $ bedside annotate export plan.json --out to-rate
        $ bedside annotate export plan.json --format argilla --out to-rate
    """

    form: str = option(
        "Form of the files: xlsx, csv, label-studio (JSON to import there by hand), or a folder for each rater in the "
        "form of another tool: argilla, doccano, potato or prodigy.",
        "--format", default="xlsx", heading=OPTIONS, metavar="NAME", offers="task_forms",
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "Folder to write the files to.",
        "--out", "-o", default=Path("to-rate"), heading=OPTIONS, metavar="FOLDER", form="path",
    )  # fmt: skip


@question(ExportTasksSettings, _PLAN)
def export_tasks(plan: PlanOrFile, settings: ExportTasksSettings) -> PlanOutcome[tuple[Path, ...]]:
    """Raises:
    BedsideError: a plan that can't be read, or whose rubrics were changed, no such form, or a folder that can't be
        written.
    """
    from bedside.annotation.offline_files import export_files

    read, run = settings.opened(plan)
    settings.check_current(read, plan)
    return PlanOutcome(read, run, tuple(export_files(read, run, settings.form, Path(settings.out))))


@settings_class
class ImportAnswersSettings(OfPlan):
    """Read what raters filled in and add their ratings to the run.

    It is safe to repeat: no answer is added twice, and none is lost.

    Examples:
        $ bedside annotate import plan.json to-rate/*.xlsx
    """

    files: Paths = option(
        "Files that raters filled in (XLSX, CSV) or saved on the rating page, or exports of Label Studio, Argilla, "
        "doccano, potato or Prodigy.",
        heading=ARGUMENTS, metavar="FILES", form="repeated", kw_only=False,
    )  # fmt: skip
    rater: str | None = option(
        "The rater who answered, where the file names only a tool's user, or somebody else.",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    users: Mapping[str, str] | None = option(
        "The raters who answered, by their user ids in Label Studio or Argilla, such as 3=anna,4=ben.",
        default=None, heading=OPTIONS, metavar="ID=NAME,…", form="pairs",
    )  # fmt: skip


@question(ImportAnswersSettings, _PLAN)
def import_answers(plan: PlanOrFile, settings: ImportAnswersSettings) -> PlanOutcome[PullSummary]:
    """Raises:
    BedsideError: a plan or file that can't be read, or one that isn't of the plan.
    """
    from bedside.annotation.answer_store import keep_answers
    from bedside.annotation.assignment_by_need import entering
    from bedside.annotation.label_studio_projects import PullSummary
    from bedside.annotation.offline_files import read_files
    from bedside.annotation.rating_page.page_collection import is_saved, read_saved
    from bedside.annotation.rating_page.page_folder import page_folder

    read, run = settings.opened(plan)
    files = [settings.files] if isinstance(settings.files, str | os.PathLike) else settings.files
    # Label Studio's ids are numbers, those of others aren't.
    users = {int(user) if user.isdigit() else user: name for user, name in _users(settings.users).items()}
    saved = [path for path in map(Path, files) if is_saved(path)]
    others = [path for path in files if Path(path) not in saved]
    collected = read_files(read, run, others, rater=settings.rater, users=users)
    for own in [read_saved(page_folder(run, read), run, read, path) for path in saved]:
        aside = (*collected.set_aside, *own.set_aside)
        collected = replace(collected, answers=(*collected.answers, *own.answers), set_aside=aside)
    answers = entering(run, read, collected.answers)
    return PlanOutcome(read, run, PullSummary(collected, keep_answers(run, read, answers)))


# -- Bedside's own rating page --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatingPage:
    """Bedside's own rating page of a plan.

    Attributes:
        plan: the plan.
        run: its run.
        folder: where the page keeps what raters typed.
        place: where it is served.
        links: each rater's and adjudicator's link, which is a password; none where answers are put into the run only.
        researcher: the link of the page that shows how the study goes.
        stored: what became of what raters handed in; None where nothing was put into the run.
        trouble: why what they handed in could not be put there; it is kept.
        enrolment: the link by which people enrol, where the page has a study.
    """

    plan: AnnotationPlan
    run: Run
    folder: PageFolder
    place: PagePlace
    links: Mapping[str, str]
    researcher: str = ""
    stored: StoreSummary | None = None
    trouble: BedsideError | None = None
    enrolment: str | None = None


@settings_class
class SettlingSettings(Seeded):
    """By which rule what raters differ on is settled."""

    rubrics: Names | None = option(
        "Rubrics, sheets and flows of the plan by which disagreements are settled; all that can be unless named.",
        "--rubrics", "--rubric", default=None, heading=OPTIONS, metavar="A,B", form="names", offers="rubrics",
    )  # fmt: skip
    beyond: int = option(
        "Settle only where raters are more than this many levels apart. Without it, wherever they differ.",
        default=0, heading=OPTIONS, metavar="LEVELS",
    )  # fmt: skip


@settings_class
class PageSettings(OfPlan, OwnRubrics, ByNeed, SettlingSettings, PageServing):
    """Serve bedside's own rating page: each rater sees their share of a plan, and nothing else.

    Each rater has a link, and you have one that shows how the study goes. What they type is kept as they type it; what
    they hand in goes into the run. Ctrl-C ends it, and the same command goes on.

    Examples:
        $ bedside annotate page plan.json
        $ bedside annotate page plan.json --study study.yaml
        $ bedside annotate page plan.json --links
        $ bedside annotate page plan.json --until kappa±.1,mean±.2
        $ bedside annotate page plan.json --adjudicator dora
    """

    adjudicators: Names = option(
        "Who settles meanwhile what all raters of an item answered and differ on, such as dora, who rates nothing.",
        "--adjudicators", "--adjudicator", default=(), heading=OPTIONS, metavar="A,B", form="names",
    )  # fmt: skip

    address: str | None = option(
        "Address that raters use, where it is another, as behind a proxy.",
        default=None, heading=OPTIONS, metavar="URL",
    )  # fmt: skip
    text: str | os.PathLike[str] | None = _TEXT
    help_text: str | os.PathLike[str] | None = option(
        "Markdown file that says whom to turn to in distress: raters see it wherever they rate. Without it, the study "
        "file's help or, where risk is rated, a text that holds anywhere.",
        default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip
    study: str | os.PathLike[str] | None = option(
        "Study file: people enrol by one link, and shares rater-1, rater-2 … wait for them.",
        default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip
    links: bool = option("Print each rater's link and end; new raters get one.", default=False, heading=OPTIONS)
    collect: bool = option(
        "Put what raters handed in into the run and end, without serving.", default=False, heading=OPTIONS
    )
    started: Callable[[RatingPage], None] | None = option("Called when it is served.", default=None, heading=None)
    say: Callable[[str], None] | None = option("Called with lines while it is served.", default=None, heading=None)

    def __post_init__(self) -> None:
        if self.until is not None and (self.links or self.collect):
            raise InputError("nothing is served", where="`until`", todo="leave it out")
        if not self.adjudicators and (self.rubrics is not None or self.beyond):
            raise InputError(
                "nobody settles anything",
                where="`rubrics`" if self.rubrics is not None else "`beyond`",
                todo="name who does with `adjudicators`, or leave it out",
            )


@question(PageSettings, _PLAN)
def rating_page(plan: PlanOrFile, settings: PageSettings) -> RatingPage:
    """It comes back when it was stopped by Ctrl-C, when what was handed in is in the run.

    Raises:
        BedsideError: a plan that can't be read, or whose rubrics were changed, or a place where nothing can be served.
    """
    from contextlib import closing

    from bedside.annotation.rating_page.adjudication_queue import collect_queued
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.annotation.rating_page.page_database import PageDatabase
    from bedside.annotation.rating_page.page_folder import page_folder
    from bedside.annotation.rating_page.study_people import recruitment_of
    from bedside.annotation.reassignment import as_assigned, need_of
    from bedside.annotation.study_file import read_study
    from bedside.ratings.run import Run

    read, run = settings.opened(plan)
    folder = page_folder(run, read)
    folder.make()
    place = settings.place(settings.address)
    page = partial(RatingPage, read, run, folder, place)
    study = None if settings.study is None else read_study(settings.study, read)
    with recruitment_of(run, read, folder) as known:
        if study is None and not settings.collect and known is not None and known.people.serves():
            raise InputError("people enrol in this plan", where="`study`", todo="name its study file")
        if study is not None and known is not None and known.people.persons():
            before = known.people.study().parameters
            if before != study.parameters:
                todo = f"set it back to [{', '.join(before)}]"
                raise InputError("people enrolled by others, and wouldn't be known", where="`parameters`", todo=todo)
    text, _ = map(_words_of, (settings.text, settings.help_text))  # a file that can't be read is refused at once
    if settings.links:
        return page(**_links(folder, folder.address() or place.address, read, settings, study))
    if settings.collect:
        collect_queued(run, read)
        return page({}, stored=collect(folder, Run(run.path), read))
    settings.check_current(read, plan)
    with folder.serving():
        with closing(PageDatabase(folder.database, read)) as database:
            read = settings.begun(read, run, database.work)
        need = need_of(run, read)
        if study is not None and study.hours is None and need is not None:
            # Otherwise the places of those who never come back would be nobody's.
            study = study.model_copy(update={"hours": need.idle})
        page = partial(RatingPage, read, run, folder, place)
        links = _serve(page, text, settings, study)
        try:
            collect_queued(run, read)
            return page(**links, stored=collect(folder, Run(run.path), as_assigned(run, read)))
        except BedsideError as error:
            return page(**links, trouble=error)


def _links(
    folder: PageFolder, address: str, plan: AnnotationPlan, settings: PageSettings, study: StudyFile | None
) -> dict[str, Any]:
    """The links of raters and adjudicators, the researcher's, and the one by which people enrol, who have the raters'
    then; as :class:`RatingPage` takes them."""
    from bedside.annotation.rating_page.page_folder import RESEARCHER
    from bedside.annotation.rating_page.recruited_page import ENROLMENT
    from bedside.annotation.study_file import slots_of

    slots = () if study is None else slots_of(plan.raters)
    raters = [rater for rater in plan.people if rater not in slots]
    researcher = folder.links.links(f"{address}/files/study.html", [RESEARCHER])[RESEARCHER].replace("/#", "#")
    links = folder.links.links(address, [*raters, *(listed(settings.adjudicators, "adjudicators") or ())])
    enrolment = None if study is None else study.enrolment_link(folder.links.links(address, [ENROLMENT])[ENROLMENT])
    return {"links": links, "researcher": researcher, "enrolment": enrolment}


def _serve(
    page: Callable[..., RatingPage], text: str, settings: PageSettings, study: StudyFile | None
) -> dict[str, Any]:
    """Serve until Ctrl-C; the links, as :func:`_links` has them."""
    from contextlib import closing, nullcontext, suppress

    from bedside.annotation.rating_page.adjudication_queue import AdjudicationQueue
    from bedside.annotation.rating_page.page_folder import RESEARCHER
    from bedside.annotation.rating_page.page_server import serve_page
    from bedside.annotation.rating_page.page_state import PageState
    from bedside.annotation.rating_page.recruited_page import RecruitedPage
    from bedside.annotation.reassignment import as_assigned
    from bedside.core.stopping import run_coroutine
    from bedside.ratings.run import Run
    from bedside.reports.annotation import StudyPage

    served, help_text = page({}), None if study is None else study.help
    if settings.help_text is not None:
        help_text = _words_of(settings.help_text)
    plan, run, folder = served.plan, served.run, served.folder
    adjudicators = tuple(listed(settings.adjudicators, "adjudicators") or ())
    queue = None
    if adjudicators:
        rubrics = listed(settings.rubrics, "rubrics")
        rule = {"rubrics": rubrics, "beyond": settings.beyond, "seed": settings.seed}
        queue = AdjudicationQueue(plan, run, adjudicators, text, help_text, **rule)
    others = (*adjudicators, RESEARCHER)
    if study is None:
        state = PageState(plan, run, folder, text, others, help_text)
    else:
        state = RecruitedPage(plan, run, folder, text, study, others, help_text)
    links: dict[str, Any] = {"links": {}}

    def started() -> None:
        folder.remember_address(served.place.address)
        links.update(_links(folder, served.place.address, plan, settings, study))
        if settings.started is not None:
            settings.started(page(**links))

    def say(line: str) -> None:
        shown_study.keep_line(line)
        if settings.say is not None:
            settings.say(line)

    def tables() -> Tables[Any]:
        return annotation_status(plan, run=Run(run.path), seed=settings.seed)

    shown_study = StudyPage(run, folder, lambda: as_assigned(run, plan), tables)
    with closing(state), nullcontext() if queue is None else closing(queue), suppress(KeyboardInterrupt):
        shown = serve_page(state, served.place, folder, run, started=started, say=say, study=shown_study, queue=queue)
        run_coroutine(shown)
    return links


# -- Who takes part -------------------------------------------------------------------------------------


@settings_class
class PeopleSettings(OfPlan):
    """Show who takes part and how far they are, and decide about somebody.

    It holds for raters who were invited, too. A page that is served follows at once.

    Examples:
        $ bedside annotate people plan.json
        $ bedside annotate people plan.json --let-in p-7
        $ bedside annotate people plan.json --payment payment.csv
    """

    let_in: str | None = option(
        "Have a rater go on who didn't pass the training.", default=None, heading=OPTIONS, metavar="NAME"
    )
    retrain: str | None = option(
        "Have a rater do the second training set or, where they did, the last one again.",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    exclude: str | None = option(
        "Ask a rater nothing more. What they said is kept and doesn't count; their share waits for somebody else.",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    withdraw: str | None = option(
        "Remove all data of a rater, everywhere; it can't be undone.", default=None, heading=OPTIONS, metavar="NAME"
    )
    payment: str | os.PathLike[str] | None = option(
        "File to write to what everybody is paid, as CSV, with the ids that people came with.",
        default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StudyPeople:
    """Who takes part in a plan.

    Attributes:
        rows: a row for each.
        waiting: shares that nobody has.
        withdrawn: how many withdrew.
        paid: the sum of the payment sheet; None where none was written.
        trouble: why the run doesn't follow a decision yet; the page's server, or ``page --collect``, brings it there.
    """

    rows: tuple[RaterRow, ...]
    waiting: int
    withdrawn: int
    paid: Decimal | None = None
    trouble: BedsideError | None = None


@question(PeopleSettings, _PLAN)
def study_people(plan: PlanOrFile, settings: PeopleSettings) -> Tables[StudyPeople]:
    """Raises:
    BedsideError: a plan that can't be read, no such rater, nothing to decide, or a file that can't be written.
    """
    from bedside.annotation.annotation_plan import rater_of
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.annotation.rating_page.page_folder import page_folder
    from bedside.annotation.rating_page.study_people import payment_sheet, rater_rows, recruitment_of
    from bedside.annotation.reassignment import as_assigned
    from bedside.core.files import write_text
    from bedside.ratings.run import Run
    from bedside.reports.annotation import people_table

    named: dict[Decision, str | None] = {
        "let in": settings.let_in, "retrain": settings.retrain, "exclude": settings.exclude,
    }  # fmt: skip
    decisions = [(decision, rater) for decision, rater in named.items() if rater is not None]
    if len(decisions) + (settings.withdraw is not None) > 1:
        raise InputError("one thing is decided at a time", where="`let_in`", todo="name one rater and decision")
    read, run = settings.opened(plan)
    folder, trouble, paid = page_folder(run, read), None, None
    with recruitment_of(run, read, folder, changing=bool(decisions)) as recruitment:
        if recruitment is not None:
            for decision, rater in decisions:
                recruitment.decide(rater, decision)
        if settings.withdraw is not None:
            rater = rater_of(read, settings.withdraw, "`withdraw`")
            if recruitment is not None:
                recruitment.begin_withdrawal(rater)
            withdraw.with_settings(plan, WithdrawSettings(rater, run=settings.run))
        if decisions:
            try:
                collect(folder, Run(run.path), as_assigned(run, read))
            except BedsideError as error:
                trouble = error
        if settings.payment is not None:
            if recruitment is None:
                raise InputError("nobody has enrolled", where="`payment`", todo="serve the page with `study` first")
            target = Path(settings.payment)
            if target.resolve().is_relative_to(run.path.resolve()):
                raise InputError("ids of people don't go into a run", where=str(target), todo="choose another folder")
            sheet, paid = payment_sheet(recruitment)
            write_text(target, sheet)
        now = as_assigned(run, read)
        rows = rater_rows(Run(run.path), now, recruitment)
        waiting = 0 if recruitment is None else recruitment.waiting()
        withdrawn = 0 if recruitment is None else recruitment.people.withdrawn()
    people = StudyPeople(rows, waiting, withdrawn, paid, trouble)
    return Tables([people_table(rows, waiting, withdrawn)], people)


# -- Where raters are, and what they are asked next -----------------------------------------------------


@settings_class
class StatusSettings(OfPlan, Seeded):
    """Show how much each rater has done, how they keep up, and how well they agree so far.

    Examples:
        $ bedside annotate status plan.json
        $ bedside annotate status plan.json --live --url http://127.0.0.1:8085
    """

    live: bool = option(
        "Bring in first what was answered since: from the Label Studio at --url, else from the plan's rating page.",
        default=False, heading=OPTIONS,
    )  # fmt: skip
    url: str | None = option("With --live: address of Label Studio.", default=None, heading=OPTIONS, metavar="URL")
    key_env: str = _KEY_ENV
    users: Mapping[str, str] | None = option(
        "With --live: raters by their e-mail addresses, as pull takes them.",
        default=None, heading=OPTIONS, metavar="ADDRESS=NAME,…", form="pairs",
    )  # fmt: skip
    pulled: Callable[[PullSummary], None] | None = option(
        "Called with what was brought in, of each plan.", default=None, heading=None
    )
    progress: TaskProgress | None = _TASKS

    def __post_init__(self) -> None:
        if not self.live and (self.url is not None or self.users):
            raise InputError(
                "nothing is brought in unless it is asked for",
                where="`url`" if self.url is not None else "`users`",
                todo="add `live`, or leave it out",
            )


@question(StatusSettings, "The plan or its file, or a run whose plans are all shown.")
def annotation_status(
    source: RunOrFolder | AnnotationPlan, settings: StatusSettings
) -> Tables[tuple[PlanOutcome[PlanProgress], ...]]:
    """Raises:
    BedsideError: a plan that can't be read, a run without one, or a server that can't be reached.
    """
    from bedside.annotation.plan_progress import plan_progress
    from bedside.annotation.reassignment import need_of
    from bedside.annotation.study_targets import read_targets, target_states
    from bedside.ratings.run import Run
    from bedside.reports.annotation import status_tables, targets_table

    tables: list[Table] = []
    progress = []
    for plan, run in _plans_of(source, settings):
        if settings.live:
            _bring_in(run, plan, settings)
        current = Run(run.path) if settings.live else run
        progress.append(PlanOutcome(plan, current, plan_progress(current, plan, seed=settings.seed)))
        tables += status_tables(plan, progress[-1].results)
        need = need_of(current, plan)
        if need is not None:
            states = target_states(current, plan, read_targets(need.until), seed=settings.seed)
            tables.append(targets_table(states, need.stopped))
    return Tables(tables, tuple(progress))


def _plans_of(source: RunOrFolder | AnnotationPlan, settings: OfPlan) -> list[tuple[AnnotationPlan, Run]]:
    """The plan that is named, or all of a run."""
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.answer_store import FOLDER
    from bedside.ratings.run import Run

    if isinstance(source, AnnotationPlan):
        return [settings.opened(source)]
    folder = source.path if isinstance(source, Run) else Path(source)
    if not folder.is_dir():
        return [settings.opened(folder)]
    plans = sorted((folder / FOLDER).glob("*/plan.json"))
    if not plans:
        raise InputError("the run has no annotation plan", where=str(folder), todo="make one with bedside sample")
    return [OfPlan(run=source).opened(path) for path in plans]


def _bring_in(run: Run, plan: AnnotationPlan, settings: StatusSettings) -> None:
    """Put into a run what was answered since."""
    from bedside.annotation.answers import CollectedAnswers
    from bedside.annotation.label_studio_projects import PullSummary
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.annotation.rating_page.page_folder import page_folder

    if settings.url is not None:
        pulled = _pulled(plan, run, settings)
    else:
        folder = page_folder(run, plan)
        if not folder.database.is_file():
            raise InputError(
                "the plan has no rating page of bedside's own, and no server is named",
                where="`live`",
                todo="name the Label Studio with `url`, or leave `live` out",
            )
        pulled = PullSummary(CollectedAnswers(()), collect(folder, run, plan))
    if settings.pulled is not None:
        settings.pulled(pulled)


@settings_class
class ReassignSettings(OfPlan):
    """Give what a rater hasn't answered to others.

    The plan stays as it was drawn, and answers given count as before. Pull from Label Studio before it; what was handed
    in on the rating page is brought in.

    Examples:
        $ bedside annotate reassign plan.json --rater ben
        $ bedside annotate reassign plan.json --rater ben --to dora
    """

    rater: str = option("The rater who drops out.", heading=OPTIONS, metavar="NAME", kw_only=False)
    to: Names = option(
        "Who takes over, new raters too. Without it, all other raters of the plan.",
        default=(), heading=OPTIONS, metavar="A,B", form="names",
    )  # fmt: skip


@question(ReassignSettings, _PLAN)
def reassign(plan: PlanOrFile, settings: ReassignSettings) -> PlanOutcome[Reassignment]:
    """Raises:
    BedsideError: a plan that can't be read, or names that aren't of its raters.
    """
    from bedside.annotation.rating_page.page_collection import collect
    from bedside.annotation.rating_page.page_folder import page_folder
    from bedside.annotation.rating_page.study_people import recruitment_of
    from bedside.annotation.reassignment import reassign as reassign_items
    from bedside.ratings.run import Run

    read, run = settings.opened(plan)
    if page_folder(run, read).database.is_file():
        collect(page_folder(run, read), Run(run.path), read)
    with recruitment_of(run, read, page_folder(run, read)) as recruitment:
        away = () if recruitment is None else recruitment.away()
        return PlanOutcome(read, run, reassign_items(run, read, settings.rater, listed(settings.to, "to"), away))


@settings_class
class WithdrawSettings(OfPlan):
    """Remove all of a rater's data: from the run, all its plans and the rating page.

    What is kept says that a rater's data were removed, and when; answers of theirs that come later are left out. Their
    items are open again.
    """

    rater: str = option("The rater who withdraws.", heading=OPTIONS, metavar="NAME", kw_only=False)
    by: str = option("Who removes it, for the record.", default="", heading=OPTIONS, metavar="NAME")


@question(WithdrawSettings, _PLAN)
def withdraw(plan: PlanOrFile, settings: WithdrawSettings) -> PlanOutcome[Withdrawal]:
    """The plan's file goes on without the rater's name.

    Raises:
        BedsideError: a plan that can't be read, or a name that isn't of its raters.
    """
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.rating_page.page_folder import page_folder
    from bedside.annotation.withdrawal import withdraw as remove_data

    read, run = settings.opened(plan)
    done = remove_data(run, read, page_folder(run, read), settings.rater, by=settings.by)
    if not isinstance(plan, AnnotationPlan):
        write_current_plan(run, plan)
    return PlanOutcome(done.plan, run, done)


def write_current_plan(run: Run, path: str | os.PathLike[str]) -> bool:
    """Write a plan's file anew as the run holds the plan, without what was removed; whether it had items of that."""
    from bedside.annotation.answer_store import PLAN, plan_path
    from bedside.annotation.plan_file import read_plan, write_plan

    named = read_plan(path)
    now = read_plan(plan_path(run, named, PLAN))
    write_plan(now.model_copy(update={"folder": named.folder}), path)
    return now.by_id.keys() != named.by_id.keys()


@settings_class
class RevisionsSettings(OfPlan):
    """Show the answers that were changed, by whom and to what; let an earlier one count again.

    Examples:
        $ bedside annotate revisions plan.json
        $ bedside annotate revisions plan.json --restore 12
    """

    restore: int | None = option(
        "A revision that is to count, until its rater says something else.",
        default=None, heading=OPTIONS, metavar="NO.",
    )  # fmt: skip


@question(RevisionsSettings, _PLAN)
def answer_revisions(plan: PlanOrFile, settings: RevisionsSettings) -> Tables[RevisionHistory]:
    """Raises:
    BedsideError: a plan that can't be read, or no such revision.
    """
    from bedside.annotation.answer_store import read_store, restore_answer
    from bedside.reports.annotation import revisions_table

    read, run = settings.opened(plan)
    if settings.restore is not None:
        restore_answer(run, read, settings.restore)
    history = read_store(run, read)
    return Tables([revisions_table(read, history)], history)


@settings_class
class NextSettings(OfPlan, Seeded):
    """Propose what people should rate next, and say what it would bring.

    Examples:
        $ bedside annotate next plan.json --aim kappa --count 20 --out more.json
    """

    aim: Aim = option(
        "What the ratings are to bring: kappa (a narrower interval) or disagreement (cases to settle).",
        default="kappa", heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    count: int = option("How many transcripts or turns to propose.", default=10, heading=OPTIONS, metavar="NUMBER")
    judge: str | None = option(
        "The judge whose ratings are looked at, where the run has several.",
        default=None, heading=OPTIONS, metavar="RATER", offers="one_rater",
    )  # fmt: skip
    out: str | os.PathLike[str] | None = option(
        "File to write a plan of the proposal to, for the same raters.",
        "--out", "-o", default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip


@question(NextSettings, _PLAN)
def propose_next(plan: PlanOrFile, settings: NextSettings) -> Tables[Proposals]:
    """Raises:
    BedsideError: a plan that can't be read, nothing left to rate, or a file that holds another plan.
    """
    from bedside.annotation.proposals import follow_up_plan, propose
    from bedside.reports.annotation import plan_tables, proposal_tables

    read, run = settings.opened(plan)
    proposals = propose(run, read, aim=settings.aim, count=settings.count, judge=settings.judge, seed=settings.seed)
    tables = proposal_tables(proposals)
    if settings.out is not None:
        follow_up = follow_up_plan(run, read, proposals, settings.seed)
        keep_plan(follow_up, run, Path(settings.out))
        tables += plan_tables(follow_up)
    return Tables(tables, proposals)


@settings_class
class AdjudicateSettings(OfPlan, SettlingSettings):
    """Have somebody settle what the raters of a plan differ on, without seeing who said what.

    Use the plan that it writes like any other: push and pull, page, or export and import. Its answers become
    final labels, which stand for what people say together; agreement stays that of the raters.

    Examples:
        $ bedside annotate adjudicate plan.json --adjudicator dora --out adjudication.json
        $ bedside annotate adjudicate plan.json --adjudicator dora --rubrics empathy --beyond 1
    """

    adjudicators: Names = option(
        "Who settles, such as dora; nobody settles what they rated themselves.",
        "--adjudicators", "--adjudicator", heading=OPTIONS, metavar="A,B", form="names", kw_only=False,
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "File to write the plan to.",
        "--out", "-o", default=Path("adjudication.json"), heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip


@question(AdjudicateSettings, _PLAN)
def adjudicate(plan: PlanOrFile, settings: AdjudicateSettings) -> Tables[PlanOutcome[Adjudication]]:
    """Raises:
    BedsideError: a plan that can't be read, nothing to settle, or a file that holds another plan.
    """
    from bedside.annotation.adjudication import adjudicate as settle
    from bedside.reports.annotation import adjudication_tables

    read, run = settings.opened(plan)
    settled = settle(
        run,
        read,
        listed(settings.adjudicators, "adjudicators") or (),
        rubrics=listed(settings.rubrics, "rubrics"),
        beyond=settings.beyond,
        seed=settings.seed,
    )
    keep_plan(settled.plan, run, Path(settings.out))
    return Tables(adjudication_tables(settled), PlanOutcome(read, run, settled))
