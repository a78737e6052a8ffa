"""The conversations of a run that were simulated: failed ones, missing ones, and the spread between repeats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError, quality_metrics
from bedside.analysis.study_parts import SIMULATED, SYNTHETIC
from bedside.core.errors import DataError
from bedside.core.json_shape import INTEGER, TEXT, ObjectOf, OrNull, misfit
from bedside.ratings.run import RunSimulation, run_simulations
from bedside.stats.matched_shares import SharesTest, shares_test
from bedside.stats.variance_components import Cells, RepeatsNeeded, RepeatSpread, repeat_spread, repeats_needed
from bedside.transcripts.simulation_folder import REVIEW
from bedside.transcripts.transcript import CLINICIAN_FAILURES, clinician_failure

# -- The conversations of a run that were simulated -----------------------------------------------------

#: Reasons of earlier simulations that say what an agent did; what can't be reached is not among them.
_BROKEN = {
    "agent": re.compile(
        r"the agent (?:raised (?!Connection\w*Error$|BrokenPipeError$)\w+|returned .+|gave no answer .+)"
    ),
    "webhook": re.compile(r"the webhook (?:returned .+|answered with .+|answered 500|refused the request)"),
}
#: What is read of what a transcript says of its simulation.
_PROVENANCE = {
    "stop": OrNull(TEXT),
    "flags": OrNull(ObjectOf(INTEGER)),
    "actors": OrNull(ObjectOf(TEXT)),
    "toys": OrNull([TEXT]),
    "review": OrNull(REVIEW),
}


@dataclass(frozen=True, slots=True)
class SimulatedTalk:
    """One conversation of a simulation.

    Attributes:
        id: its transcript's, if it has one.
        system: the clinician under test.
        case, persona, setting: what it is of; persona and setting are empty where they aren't known.
        situation: all that it is of but the system and the repeat: what conversations of other systems have too.
        repeat: its number.
        state: ``finished``, ``failed`` or ``unfinished``.
        completed: whether it ended as the protocol means conversations to end.
        whose, reason: why it has no transcript.
        failed: how the clinician failed it; empty where it didn't. It is rated, at the worst, and not missing.
        stop: why it ended; empty where that isn't known.
        flags: what was flagged in it, with counts; None where that isn't known, as in a run without texts.
        messages: how many it has.
        provenance: what the transcript says of its simulation; None as for flags.
    """

    id: str
    system: str
    case: str
    persona: str
    setting: str
    situation: str
    repeat: str
    state: str
    completed: bool = False
    whose: str = ""
    reason: str = ""
    failed: str = ""
    stop: str = ""
    flags: Mapping[str, int] | None = None
    messages: int = 0
    provenance: Mapping[str, Any] | None = None

    @property
    def lost(self) -> bool:
        """Whether it is missing: it has no transcript, by no doing of the clinician."""
        return self.state != "finished" and not self.failed


@dataclass(frozen=True, slots=True)
class Loss:
    """How much of what was planned has no transcript, by the levels of something.

    Attributes:
        by: ``system``, ``persona`` or ``setting``.
        levels: in order.
        lost, planned: conversations of each level.
        test: whether the shares differ.
    """

    by: str
    levels: tuple[str, ...]
    lost: tuple[int, ...]
    planned: tuple[int, ...]
    test: SharesTest

    @property
    def differs(self) -> bool:
        """Whether any level lost another share than the others."""
        shares = {round(lost / planned, 12) for lost, planned in zip(self.lost, self.planned, strict=True)}
        return len(shares) > 1


@dataclass(frozen=True, slots=True)
class SimulatedTalks:
    """All simulated conversations that a view is about.

    Attributes:
        talks: those with a transcript and those without.
        simulations: what they come from; empty where the run knows only the transcripts, and not what failed.
        others: how many transcripts were not simulated.
        not_begun: how many more were planned, of which nothing is known; 0 where a part of the study was chosen.
    """

    talks: tuple[SimulatedTalk, ...]
    simulations: tuple[RunSimulation, ...]
    others: int = 0
    not_begun: int = 0
    systems: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", tuple(sorted({talk.system for talk in self.talks})))

    @property
    def finished(self) -> tuple[SimulatedTalk, ...]:
        """Those with a transcript."""
        return tuple(talk for talk in self.talks if talk.state == "finished")

    @property
    def protocols(self) -> list[str]:
        """Protocol and version, as the transcripts state them."""
        return list(
            dict.fromkeys(
                f"{talk.provenance.get('protocol')}, version {talk.provenance.get('version')}"
                for talk in self.finished
                if talk.provenance
            )
        )

    def loss(self, by: str, *, seed: int = 0) -> Loss | None:
        """What was lost by system, persona or setting; None where there is one level only, or it isn't known.

        Systems are compared within cases; personas and settings within cases too.
        """
        if not self.simulations:
            return None
        levels = tuple(sorted({getattr(talk, by) for talk in self.talks}))
        cases = sorted({talk.case for talk in self.talks})
        if len(levels) < 2 or "" in levels:
            return None
        planned = Counter((talk.case, getattr(talk, by)) for talk in self.talks)
        lost = Counter((talk.case, getattr(talk, by)) for talk in self.talks if talk.lost)
        tables = [[[counts[case, level] for level in levels] for case in cases] for counts in (lost, planned)]
        return Loss(
            by,
            levels,
            tuple(sum(lost[case, level] for case in cases) for level in levels),
            tuple(sum(planned[case, level] for case in cases) for level in levels),
            shares_test(*tables, seed=seed),
        )

    def complete_situations(self) -> frozenset[str]:
        """Situations in which every system has all its conversations.

        Raises:
            DataError: what failed isn't known, or there is no such situation.
        """
        if not self.simulations:
            raise DataError(
                "the run doesn't know which conversations failed",
                todo="score the folder of the simulation, and not its transcripts alone",
            )
        lost = {talk.situation for talk in self.talks if talk.state != "finished"}
        by_situation: dict[str, set[str]] = {}
        for talk in self.talks:
            by_situation.setdefault(talk.situation, set()).add(talk.system)
        complete = frozenset(
            situation
            for situation, systems in by_situation.items()
            if situation not in lost and systems == set(self.systems)
        )
        if not complete:
            raise DataError("no case is complete for all systems", todo="simulate again, to have what failed")
        return complete


def simulated_talks(view: RatingsView, *, read: bool = True) -> SimulatedTalks | None:
    """The simulated conversations of a view; None where there are none.

    Args:
        view: the ratings.
        read: whether to read the transcripts too, for how each ended, its flags and where it comes from.

    Raises:
        RunError: what the run keeps of its simulations is damaged.
        DataError: what a transcript says of its simulation is not of its form.
    """
    return view.once(("simulated talks", read), lambda: _talks(view, read))


def with_complete_cases(view: RatingsView) -> RatingsView:
    """The view of those conversations whose case, persona, setting and length every system has in all repeats.

    Raises:
        DataError: there are no simulated conversations, what failed isn't known, or none is complete.
    """
    talks = simulated_talks(view, read=False)
    if talks is None or view.factors is None:
        raise DataError("no transcript was simulated", where=view.name)
    complete = talks.complete_situations()
    kept = [talk.id for talk in talks.finished if talk.situation in complete]
    chosen = pl.col("transcript_id").is_in(kept)
    part = replace(view.part, complete=(len(complete), len({talk.situation for talk in talks.talks})))
    return replace(view, ratings=view.ratings.filter(chosen), factors=view.factors.filter(chosen), part=part)


def _talks(view: RatingsView, read: bool) -> SimulatedTalks | None:
    if view.run is None or view.factors is None:
        return None
    simulations = run_simulations(view.run.path)
    if SYNTHETIC not in view.factors.columns and not simulations:
        return None
    finished, others = _finished(view, read)
    lines = {str(line.get("id", "")): line for simulation in simulations for line in simulation.failures}
    by_clinician = {name: line for name, line in lines.items() if line.get("whose") == "clinician"}
    finished = [
        replace(talk, failed=str(by_clinician[talk.id].get("reason"))) if talk.id in by_clinician else talk
        for talk in finished
    ]
    with_transcript = set(view.run.index["id"])
    failed = [
        _failed(line, simulation.manifest)
        for simulation in simulations
        for line in simulation.failures
        if line.get("id") not in with_transcript
    ]
    cases = frozenset(view.run.index["case_id"].drop_nulls())
    chosen = [talk for talk in failed if _in_part(talk, view.part.where, finished, cases)]
    if view.part.complete is not None:
        chosen = []
    if not finished and not chosen:
        return None
    whole = not view.part.where and view.part.complete is None
    planned = sum(_planned(simulation) for simulation in simulations) if whole else 0
    return SimulatedTalks((*finished, *chosen), simulations, others, max(0, planned - len(finished) - len(chosen)))


def _planned(simulation: RunSimulation) -> int:
    counts = simulation.manifest.get("conversations")
    planned = counts.get("planned") if isinstance(counts, Mapping) else 0
    return planned if isinstance(planned, int) else 0


def _finished(view: RatingsView, read: bool) -> tuple[list[SimulatedTalk], int]:
    assert view.run is not None
    assert view.factors is not None
    factors = {row["transcript_id"]: row for row in view.factors.iter_rows(named=True)}
    said = _said(view) if read and view.run.keeps_text else {}
    finished, others = [], 0
    columns = ("id", "system", "case_id", "turns")
    for name, system, case, turns in view.run.index.select(columns).iter_rows():
        own = factors.get(name)
        if own is None:
            continue
        if own.get(SYNTHETIC) != SIMULATED:
            others += 1
            continue
        provenance = said.get(name)
        finished.append(
            _talk(
                name,
                {**own, "system": system or "", "case": case or ""},
                state="finished",
                completed=own.get("completed") == "True",
                stop=(provenance or {}).get("stop") or "",
                failed=clinician_failure({"simulation": provenance}),
                flags=None if provenance is None else dict(provenance.get("flags") or {}),
                messages=turns,
                provenance=provenance,
            )
        )
    return finished, others


def _said(view: RatingsView) -> dict[str, Mapping[str, Any]]:
    """What each transcript says of its simulation.

    Raises:
        DataError: it is not of the form that simulations write.
    """
    assert view.run is not None
    said = {}
    for transcript in view.run.transcripts():
        provenance = transcript.reference.get("simulation")
        if not isinstance(provenance, Mapping):
            continue
        wrong = misfit(provenance, _PROVENANCE)
        if wrong is not None:
            raise DataError(
                f"transcript {transcript.id!r} says of its simulation what no simulation says (simulation.{wrong})",
                where=transcript.source,
                todo="correct its `reference`, or call that part of it otherwise",
            )
        said[transcript.id] = provenance
    return said


def _failed(line: Mapping[str, Any], manifest: Mapping[str, Any]) -> SimulatedTalk:
    whose, reason = str(line.get("whose", "")), str(line.get("reason", ""))
    by_clinician = whose == "clinician" or (whose == "infrastructure" and _broke(reason, manifest))
    return _talk(
        str(line.get("id", "")),
        line,
        state=str(line.get("state", "failed")),
        whose=whose,
        reason=reason,
        failed=CLINICIAN_FAILURES.get(reason, reason) if by_clinician else "",
    )


def _broke(reason: str, manifest: Mapping[str, Any]) -> bool:
    """Whether an agent under test broke, which simulations once took for the infrastructure's doing.

    That is known where no other side was an agent of the same kind.
    """
    kind = next((kind for kind, pattern in _BROKEN.items() if pattern.fullmatch(reason)), None)
    others = [str(manifest.get(role) or "") for role in ("patient", "evaluator", "ranker")]
    return kind is not None and not any(_agent_kind(name) == kind for name in others)


def _agent_kind(identity: str) -> str:
    """What kind of agent a name is, as reasons call it; empty for all that are none."""
    beginning = identity.partition(":")[0] if ":" in identity else ""
    if beginning == "webhook":
        return "webhook"
    return "" if beginning in ("", "script", "human", "likelihood", "http", "https") else "agent"


def _talk(name: str, about: Mapping[str, Any], **known: Any) -> SimulatedTalk:
    """A conversation; its id is ``PROTOCOL/SYSTEM/CASE/PERSONA/SETTING/LENGTH/REPEAT``, without what isn't there."""
    system, case = str(about["system"]), str(about.get("case", ""))
    persona = "" if about.get("persona") is None else str(about["persona"])
    rest = name.partition("/")[2].removeprefix(f"{system}/")
    situation, _, repeat = rest.rpartition("/")
    setting = situation.removeprefix(f"{case}/")
    setting = setting.removeprefix(f"{persona}/") if persona else setting
    return SimulatedTalk(name, system, case, persona, setting.partition("/")[0], situation, repeat, **known)


def _in_part(
    talk: SimulatedTalk, where: Mapping[str, Sequence[str]], finished: Sequence[SimulatedTalk], cases: AbstractSet[str]
) -> bool:
    """Whether a conversation without a transcript is of the part that was chosen.

    Its factors aren't written down: those of its case are taken from the case's other conversations. Of a case without
    any, it is counted.

    Args:
        talk: the conversation.
        where: the levels chosen, by factor.
        finished: the conversations with a transcript, of the part.
        cases: of all conversations with a transcript.
    """
    if not where:
        return True
    known = {"persona": talk.persona, "repeat": talk.repeat, SYNTHETIC: SIMULATED}
    if any(factor in known and known[factor] not in levels for factor, levels in where.items()):
        return False
    # The factor is a setting's title, and the conversation's the setting's name.
    if "setting" in where and talk.setting not in {each.setting for each in finished}:
        return False
    return talk.case not in cases or talk.case in {each.case for each in finished}


def reasons_of(talks: Iterable[SimulatedTalk]) -> dict[str, int]:
    """Why conversations are missing, with counts, most frequent first."""
    counts = Counter(
        f"{talk.whose}: {talk.reason}" if talk.state == "failed" else "not finished" for talk in talks if talk.lost
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# -- How far values vary between repeats of a simulated conversation ------------------------------------


@dataclass(frozen=True, slots=True)
class SystemSpread(MetricRatings):
    """The spread of one system's values on a metric.

    Attributes:
        raters: who gave them.
        system: whose they are.
        spread: between repeats and cases.
    """

    raters: str
    system: str
    spread: RepeatSpread


@dataclass(frozen=True, slots=True)
class PairRepeats(MetricRatings):
    """How many repeats the difference of two systems on a metric needs.

    Attributes:
        raters: who gave the values.
        a, b: the systems.
        needed: what their difference needs.
    """

    raters: str
    a: str
    b: str
    needed: RepeatsNeeded


def simulated_spreads(
    view: RatingsView, metrics: Sequence[str] | None = None
) -> tuple[tuple[SystemSpread, ...], tuple[PairRepeats, ...]]:
    """The spread of each system on each metric, and the repeats that each pair's difference needs.

    Args:
        view: the ratings.
        metrics: metrics or patterns; those that say something of quality unless named.

    Raises:
        NothingError: no conversation was simulated more than once.
    """
    talks = simulated_talks(view, read=False)
    if talks is None or all(talk.repeat in ("", "1") for talk in talks.finished):
        raise NothingError("no conversation was simulated more than once", where=view.name)
    names = quality_metrics(view) if metrics is None else view.metrics(metrics)
    known = {talk.id: talk for talk in talks.finished}
    values = view.transcript_values(names).filter(
        pl.col("value").is_not_null(), pl.col("transcript_id").is_in(list(known))
    )
    cells: dict[tuple[str, str], dict[str, dict[tuple[str, str], list[float]]]] = {}
    for name, metric, raters, value in values.select("transcript_id", "metric", "group", "value").iter_rows():
        talk = known[name]
        of_metric = cells.setdefault((metric, raters), {})
        of_system = of_metric.setdefault(talk.system, {})
        of_system.setdefault((talk.case, talk.situation), []).append(float(value))
    order = {name: position for position, name in enumerate(names)}
    spreads, pairs = [], []
    for (metric, raters), by_system in sorted(cells.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        facts = view.facts(metric)
        spreads += [
            SystemSpread(facts, raters, system, repeat_spread(by_system[system])) for system in sorted(by_system)
        ]
        pairs += [
            PairRepeats(facts, raters, a, b, repeats_needed(by_system[a], by_system[b]))
            for a, b in combinations(sorted(by_system), 2)
            if _shared(by_system[a], by_system[b])
        ]
    if not spreads:
        raise NothingError("nothing is rated of simulated conversations", where=view.name)
    return tuple(spreads), tuple(pairs)


def _shared(a: Cells, b: Cells) -> bool:
    return bool(a.keys() & b.keys())
