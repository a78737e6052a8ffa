"""Conversations made by a protocol's simulator, and the check of its patients."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError, RunError
from bedside.core.question_settings import HOW, JUDGES, OUTPUT, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import Requests
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine
    from bedside.judges.llm.prices import Price
    from bedside.ratings.run import Run
    from bedside.reports.table import Tables
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.call_preview import SimulationPreview
    from bedside.simulation.conversation_pool import SimulationProgress
    from bedside.simulation.patient_quality import QualityMeasure
    from bedside.simulation.requested_plan import ActorInput, CaseInput, PersonaInput
    from bedside.simulation.simulate import SimulationSummary
    from bedside.simulation.simulation_plan import SimulationPlan
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.reading import Paths
    from bedside.transcripts.transcript import Transcript


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


def simulate(
    cases: CaseInput | None,
    protocol: str,
    out: str | os.PathLike[str],
    *,
    clinician: ActorInput,
    patient: Named = "rules",
    evaluator: Named | None = None,
    ranker: Named | None = None,
    personas: PersonaInput | None = None,
    settings: Names = (),
    lengths: int | Sequence[int] = (),
    repeats: int = 1,
    sample: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    time_limit: float = 120.0,
    minutes: float | None = None,
    replay: bool = False,
    engine: Engine | None = None,
    batch_out: str | os.PathLike[str] | None = None,
    batch_in: Paths = (),
    progress: Callable[[SimulationProgress], None] | None = None,
) -> Simulation:
    """Have conversations of clinicians with a protocol's simulated patients, or go on with them.

    What was replied is kept in ``out``: the same call goes on where it was ended, and asks nothing twice.

    Args:
        cases: files or folders of cases, or :class:`~bedside.simulation.simulators.case.Case` objects; None for the
            protocol's own, all invented.
        protocol: the simulator's name, equal to its suite's.
        out: the folder that conversations go into: new, or that of an earlier simulation.
        clinician: who is tested, one or several: a model as judges are named, ``package.module:function``,
            ``webhook:URL``, ``human:NAME``, ``script:FILE``, ``rules``, or a function itself.
        patient: who plays the patient, likewise.
        evaluator: who labels turns and does all else that is neither side's part; the patient's actor unless named,
            and to be named where that is a person.
        ranker: who ranks candidates for a message, where the protocol has any: ``likelihood:MODEL`` with a causal
            language model of this computer, ``none`` for the first, a model, or a function; a toy unless named.
        personas: a file of personas, or :class:`~bedside.simulation.simulators.case.Persona` objects; the protocol's
            own unless given.
        settings: names of the protocol's settings; its first unless named.
        lengths: target lengths, where the protocol has them.
        repeats: how often each conversation is had.
        sample: how many of the cases are drawn; None for all.
        seed: of all chance but the models'; it is sent to models whose temperature is set.
        options: values of the protocol's options by name, and for each role ``ROLE_temperature`` and
            ``ROLE_max_tokens``.
        max_concurrency: most calls under way at once to a model or agent, or to each address that serves it.
        max_calls: most requests to send; what is left is had when the same call is made again.
        max_cost: US dollars after which nothing more is sent, likewise.
        prices: US dollars for a million tokens in and out, by model, where bedside doesn't know them.
        time_limit: seconds until a request counts as unanswered.
        minutes: how long a person may talk in a conversation; None for no limit.
        replay: whether nobody is asked, and all replies come from ``out``.
        engine: whose workers have the conversations, from :func:`bedside.core.engines.contract.open_engine`; this
            process unless given. Workers share the folder ``out``, and each has ``max_concurrency`` for itself.
        batch_out: a JSONL file to write the calls to language models to that are open, in place of asking: all
            conversations go as far as the log does, and wait. ``max_calls`` is then how many are written.
        batch_in: file or files that a service answered such calls with; with ``batch_out`` too, what is open then is
            the next wave. The same call does so until nothing is open.
        progress: called whenever a conversation ends, or a part of them by a worker.

    Raises:
        BedsideError: a name that is none, a file that can't be read, or an actor that can't be asked; what was replied
            before is kept.
    """
    from bedside.simulation.simulate import SimulationSettings, simulate_plan

    asked = SimulationSettings(
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        prices=_prices(prices or {}),
        minutes=minutes,
        replay=replay,
        batch_out=None if batch_out is None else Path(batch_out),
        batch_in=tuple(map(Path, [batch_in] if isinstance(batch_in, str | os.PathLike) else batch_in)),
    )
    plan = _plan(
        cases,
        protocol,
        clinician,
        patient=patient,
        evaluator=evaluator,
        ranker=ranker,
        personas=personas,
        settings=settings,
        lengths=lengths,
        repeats=repeats,
        sample=sample,
        seed=seed,
        options=options,
        time_limit=time_limit,
    )
    if minutes is not None and not plan.has_people():
        raise InputError("nobody sits at the keyboard", where="`minutes`", todo="leave it out, or name human:NAME")
    folder = Path(out)
    if engine is None:
        return Simulation(folder, simulate_plan(plan, folder, asked, progress))
    from bedside.simulation.spread_talks import simulate_apart

    return Simulation(folder, simulate_apart(plan, folder, asked, engine, progress))


def preview_simulation(
    cases: CaseInput | None,
    protocol: str,
    *,
    clinician: ActorInput,
    patient: Named = "rules",
    evaluator: Named | None = None,
    ranker: Named | None = None,
    personas: PersonaInput | None = None,
    settings: Names = (),
    lengths: int | Sequence[int] = (),
    repeats: int = 1,
    sample: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
) -> SimulationPreview:
    """What :func:`simulate` with the same arguments would ask: calls, tokens, dollars. Nothing is asked or written.

    Calls are counted in conversations that the protocol's ``rules`` actors have with each other: a model's may be
    longer. How many there can be at most is said beside.

    Args:
        cases, protocol, clinician, patient, evaluator, ranker, personas, settings, lengths, repeats, sample, seed,
            options, prices: as for :func:`simulate`.

    Raises:
        BedsideError: a name that is none, or a file that can't be read.
    """
    from bedside.simulation.call_preview import preview_plan
    from bedside.simulation.simulate import SimulationSettings

    plan = _plan(
        cases,
        protocol,
        clinician,
        patient=patient,
        evaluator=evaluator,
        ranker=ranker,
        personas=personas,
        settings=settings,
        lengths=lengths,
        repeats=repeats,
        sample=sample,
        seed=seed,
        options=options,
    )
    return preview_plan(plan, SimulationSettings(prices=_prices(prices or {})))


def _plan(
    cases: CaseInput | None,
    protocol: str,
    clinician: ActorInput,
    *,
    settings: Names,
    lengths: int | Sequence[int],
    options: Mapping[str, Any] | None,
    **rest: Any,
) -> SimulationPlan:
    from bedside.simulation.requested_plan import SimulationRequest

    return SimulationRequest(
        protocol,
        clinician,
        cases=cases,
        settings=listed(settings, "settings"),
        lengths=(lengths,) if isinstance(lengths, int) else tuple(lengths),
        options=options or {},
        **rest,
    ).plan()


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
        $ bedside simulation quality talks --out quality
        $ bedside simulation quality talks --judge openai/gpt-5-mini --reference sessions/ --out quality
    """

    out: str | os.PathLike[str] = option(
        "Folder of the run that the ratings go into; that of a reference corpus to be scored stands beside it, with "
        "-reference after its name.",
        "--out", "-o", default=Path("quality"), heading=OUTPUT, metavar="RUN", kw_only=False,
    )  # fmt: skip
    judges: Names = option(
        "Language models that rate contradictions, inventions and the trait that stands out.",
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
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(QualitySettings)
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
    from bedside.reports.tables.simulation_quality import quality_table
    from bedside.scoring.score import score
    from bedside.simulation.patient_quality import patient_quality
    from bedside.transcripts.simulation_folder import simulation_manifest

    if simulation_manifest(talks) is None:
        raise RunError(
            "this is not the folder of a simulation",
            where=str(talks),
            todo="name a folder that bedside simulate made",
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
    return Tables([table], measures)


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
