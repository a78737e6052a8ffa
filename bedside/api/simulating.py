"""Conversations made by a protocol's simulator, and the check of its patients."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError, RunError
from bedside.core.question_settings import HOW, JUDGES, OPTIONS, OUTPUT, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import Requests
from bedside.ratings.run_folder import is_run
from bedside.simulation.talk_settings import Batched, Replaying, TalkLimits, TalkSettings

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine
    from bedside.judges.llm.prices import Price
    from bedside.ratings.run import Run
    from bedside.reports.table import Tables
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.simulation.call_preview import SimulationPreview
    from bedside.simulation.logged_actors import SimulationProgress
    from bedside.simulation.patient_quality import QualityMeasure
    from bedside.simulation.simulate import SimulationSummary
    from bedside.simulation.simulation_plan import CaseInput, SimulationPlan
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.transcript import Transcript


_CASES = (
    "Files or folders of cases, bundled:full or bundled:quick for the protocol's own many or twelve of them, "
    "bundled:risk for people at risk, or cases themselves; None for a few of its own. Those of the protocol are "
    "invented."
)

# -- Having conversations made by a protocol's simulator ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Simulation:
    """Conversations that were simulated.

    Attributes:
        folder: where they are; :func:`bedside.score` takes it.
        summary: what this run did, and how many conversations there are.
    """

    folder: Path
    summary: SimulationSummary

    def transcripts(self) -> Iterator[Transcript]:
        """The conversations, in the order of their cases."""
        from bedside.transcripts.reading import read_transcripts
        from bedside.transcripts.simulation_folder import TRANSCRIPTS

        path = self.folder / TRANSCRIPTS
        return iter(read_transcripts(path)) if path.stat().st_size else iter(())

    def failed(self) -> list[dict[str, Any]]:
        """Why the other conversations can't be used, an object each."""
        from bedside.simulation.talks_folder import read_failures

        return list(read_failures(self.folder))


@settings_class
class PreviewedTalks(TalkSettings):
    """What a simulation would take: calls, tokens, dollars. Nothing is asked or written.

    Calls are counted in conversations that the protocol's ``rules`` actors have with each other: a model's may be
    longer. How many there can be at most is said beside.
    """

    protocol: str = option(
        "Protocol that the conversations follow: bedside list protocols names them. Or a protocol file of your own, "
        "such as ./protocol.yaml.",
        "--protocol", heading=OPTIONS, metavar="NAME", offers="simulators", kw_only=False,
    )  # fmt: skip


@settings_class
class SimulateSettings(PreviewedTalks, TalkLimits, Replaying, Batched):
    """Have clinicians talk with a protocol's simulated patients.

    Clinicians and patients can be models, agents, people, scripts or the protocol's own toys.

    Every reply is kept at once, so the same command goes on where it was stopped and pays for nothing twice. What each
    side is told goes to whoever plays it, and nowhere else.

    Examples:
        $ bedside simulate --protocol note2chat --clinician script:good --clinician script:brisk --out talks
        $ bedside simulate cases/ --protocol medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --dry-run
        $ bedside simulate --protocol note2chat --clinician mypackage.agent:reply --patient openai/gpt-5 --out talks
        $ bedside simulate --protocol medconceal --clinician human:anna --minutes 10
        $ bedside simulate --protocol medconceal --clinician human:anna --clinician human:ben --page
    """

    out: str | os.PathLike[str] = option(
        "Folder of the simulation; the same command goes on where it was stopped.",
        "--out", "-o", heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    engine: Engine | None = option(
        "Whose workers have the conversations; they share the folder, and each has max_concurrency for itself.",
        default=None, heading=None,
    )  # fmt: skip
    progress: Callable[[SimulationProgress], None] | None = option(
        "Called whenever a conversation ends, or a part of them by a worker.", default=None, heading=None
    )


@question(SimulateSettings, _CASES)
def simulate(cases: CaseInput | None, settings: SimulateSettings) -> Simulation:
    """Without cases, the protocol's own are taken, which are invented. A clinician, patient or evaluator may be a
    function, too. With ``batch_out``, all conversations go as far as the log does, and wait; ``max_calls`` is then how
    many calls are written. With ``batch_in`` too, what is open then is the next wave.

    Raises:
        BedsideError: a name that is none, a file that can't be read, or an actor that can't be asked; what was replied
            before is kept.
    """
    from bedside.simulation.simulate import SimulationSettings, simulate_plan

    answers, minutes = settings.batch_in, settings.minutes
    asked = SimulationSettings(
        max_concurrency=settings.max_concurrency,
        max_calls=settings.max_calls,
        max_cost=settings.max_cost,
        prices=_prices(settings.prices or {}),
        minutes=minutes,
        page=settings.talk_page(Path(settings.out)),
        replay=settings.replay,
        batch_out=None if settings.batch_out is None else Path(settings.batch_out),
        batch_in=tuple(map(Path, [answers] if isinstance(answers, str | os.PathLike) else answers)),
    )
    plan = _planned(settings, cases, time_limit=settings.time_limit)
    for name, given in (("minutes", minutes is not None), ("page", settings.page)):
        if given and not plan.has_people():
            raise InputError("no person takes part", where=f"`{name}`", todo="leave it out, or name human:NAME")
    folder = Path(settings.out)
    if settings.engine is None:
        return Simulation(folder, simulate_plan(plan, folder, asked, settings.progress))
    from bedside.simulation.spread_talks import simulate_apart

    return Simulation(folder, simulate_apart(plan, folder, asked, settings.engine, settings.progress))


@question(PreviewedTalks, _CASES)
def preview_simulation(cases: CaseInput | None, settings: PreviewedTalks) -> SimulationPreview:
    """Raises:
    BedsideError: a name that is none, or a file that can't be read.
    """
    from bedside.simulation.call_preview import preview_plan
    from bedside.simulation.simulate import SimulationSettings

    return preview_plan(_planned(settings, cases), SimulationSettings(prices=_prices(settings.prices or {})))


def _planned(settings: PreviewedTalks, cases: CaseInput | None, **more: Any) -> SimulationPlan:
    """The conversations; a suite that a protocol file names is checked before anything is asked."""
    from bedside.reports.contents import checked_suite

    plan = settings.request(settings.protocol, cases, **more).plan()
    if plan.simulator.made_of is not None and plan.simulator.made_of.suite:
        checked_suite(plan.simulator.made_of.suite)
    return plan


def _prices(prices: Mapping[str, tuple[float, float]]) -> dict[str, Price]:
    from bedside.judges.llm.prices import Price

    read = {}
    for name, price in prices.items():
        try:
            read[name] = Price(*map(float, price))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{price!r:.40} is not a price of {name}",
                where="`prices`",
                todo="give dollars for tokens in and out: (0.25, 2)",
            ) from error
    return read


# -- Checking the patients of a simulation --------------------------------------------------------------

#: The suite that patients are checked by.
SUITE = "simulated-patient"


@settings_class
class QualitySettings(Requests):
    """Check whether the simulated patients are any good.

    Do they keep to their case, give nothing away, show their persona, differ from one another, and resemble people in
    real sessions? Algorithms look at what they can; a judge is asked only where you name one.

    Examples:
        $ bedside simulate quality talks --out quality
        $ bedside simulate quality talks --judge openai/gpt-5-mini --reference sessions/ --out quality
    """

    out: str | os.PathLike[str] = option(
        "Folder of the run that the ratings go into; that of a reference corpus to be scored stands beside it, with "
        "-reference after its name.",
        "--out", "-o", default=Path("quality"), heading=OUTPUT, metavar="RUN", kw_only=False,
    )  # fmt: skip
    judges: Names = option(
        "Language models that rate contradictions, inventions and the trait that stands out: openai/MODEL, "
        "http://host:port/v1#MODEL …, or YAML files of addresses.",
        "--judge", default=(), heading=JUDGES, metavar="MODEL", form="repeated", offers="judges",
    )  # fmt: skip
    nli: str = option(
        "Classifier for natural-language inference that holds what patients say against their cases: its folder, or "
        "its name on the Hugging Face hub.",
        default="", heading=HOW, metavar="MODEL",
    )  # fmt: skip
    embeddings: str | None = option(
        "Model of sentence embeddings: its folder, or a package that ships one.",
        default=None, heading=HOW, metavar="MODEL",
    )  # fmt: skip
    reference: Run | TranscriptInput | None = option(
        "Real sessions to hold the patients against: a run, or transcripts.",
        default=None, heading=HOW, metavar="SESSIONS", form="repeated",
    )  # fmt: skip
    margin: float = option(
        "Standard deviations of the real sessions within which a mean counts as alike.",
        default=0.5, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(QualitySettings, "The folder of a simulation.")
def simulation_quality(talks: str | os.PathLike[str], settings: QualitySettings) -> Tables[tuple[QualityMeasure, ...]]:
    """The conversations are scored by the suite ``simulated-patient`` into a run of their own, which people can rate
    too: their ratings stand in the table then. The same call again asks a judge only what it hasn't answered.

    Raises:
        BedsideError: the folder is no simulation's, or a name is none.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.api.judging import judge
    from bedside.reports.table import Tables
    from bedside.reports.table_notes import BY_REPORT, with_averaging_notes
    from bedside.reports.tables.simulation_quality import likeness_table, quality_table
    from bedside.scoring.score import score
    from bedside.simulation.likeness import likeness
    from bedside.simulation.patient_quality import patient_quality
    from bedside.transcripts.simulation_folder import simulation_manifest

    if simulation_manifest(talks) is None:
        raise RunError(
            "this is not the folder of a simulation", where=str(talks), todo="name a folder that bedside simulate made"
        )
    encode = _encoder(settings.embeddings)
    parameters = {"case_fidelity": {"model": settings.nli}} if settings.nli else {}
    names = listed(settings.judges, "judges")
    if names:
        requests = {each.name: getattr(settings, each.name) for each in fields(Requests)}
        run = judge(
            os.fspath(talks),
            names,
            out=settings.out,
            suite=SUITE,
            rubrics=_rubrics(talks),
            parameters=parameters,
            progress=settings.progress,
            **requests,
        ).run
    else:
        run = score([os.fspath(talks)], settings.out, suite=SUITE, parameters=parameters, seed=settings.seed).run
    view = open_ratings_view(run)
    corpus = _reference(settings.reference, Path(settings.out), parameters)
    if corpus is not None:
        view = replace(view, reference=open_ratings_view(corpus))
    measures = patient_quality(view, encode=encode, seed=settings.seed)
    table = with_averaging_notes(quality_table(view, measures), view, shown=BY_REPORT)
    alike = likeness(view, encode=encode, margin=settings.margin, seed=settings.seed)
    return Tables([table, *([likeness_table(alike)] if alike else [])], measures)


def _rubrics(talks: str | os.PathLike[str]) -> list[str]:
    """The suite's rubrics; that of the trait only where personas have one of its traits."""
    from bedside.judges.rubrics.rubric_files import RUBRICS
    from bedside.ratings.suites import SUITES
    from bedside.simulation.patient_quality import PERSONA, TRAIT
    from bedside.transcripts.reading import read_transcripts

    rubrics = list(SUITES.load(SUITE).rubrics)
    traits = {label.label for label in RUBRICS.load(TRAIT).labels}
    if not any(transcript.factors.get(PERSONA) in traits for transcript in read_transcripts([talks])):
        rubrics.remove(TRAIT)
    return rubrics


def _encoder(embeddings: str | None) -> Any:
    if embeddings is None:
        return None
    from bedside.metrics.coders.learned.embeddings import Embeddings

    return Embeddings(embeddings).encode


def _reference(
    reference: Run | TranscriptInput | None, out: Path, parameters: Mapping[str, Mapping[str, Any]]
) -> Run | None:
    """The run of the reference corpus, scored where it isn't one yet."""
    from bedside.ratings.run import Run
    from bedside.scoring.score import score

    if isinstance(reference, list) and len(reference) == 1:
        (reference,) = reference
    if reference is None or isinstance(reference, Run):
        return reference
    if isinstance(reference, str | os.PathLike) and is_run(Path(reference)):
        return Run(Path(reference))
    folder = out.with_name(f"{out.name}-reference")
    metrics = ("structure", "readability")
    return score(reference, folder, suite=SUITE, metrics=metrics, parameters=parameters).run
