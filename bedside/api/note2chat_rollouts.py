"""Rollouts: a model interviews each training case's patient several times, and the best interview of each is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bedside.api.note2chat_training import (
    Asking,
    place_labels,
    read_talks,
    source_digest,
    spoken_lines,
    usable_cases,
)
from bedside.core.errors import InputError
from bedside.simulation.simulators.calls import ACTOR_ROLES
from bedside.transcripts.simulation_folder import TRANSCRIPTS

if TYPE_CHECKING:
    from bedside.core.records import PathOrPaths
    from bedside.metrics.protocols.note2chat.case_split import CaseSplit
    from bedside.metrics.protocols.note2chat.rollouts import BestRollouts
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.call_preview import SimulationPreview
    from bedside.simulation.record_making import MadeRecord
    from bedside.simulation.record_preview import RecordPreview
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary
    from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
    from bedside.simulation.simulators.calls import Exchange
    from bedside.simulation.simulators.case import Case
    from bedside.transcripts import Transcript

#: What is made of the interviews, in the folder's words.
_CHECKED = "checked interviews"


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Interviews of a model with each case's patient, several of each, labelled.

    Attributes:
        talks: what the simulation did.
        checked: what the check of its interviews did.
        best: the best of each case, see :func:`bedside.metrics.protocols.note2chat.rollouts.best_rollouts`.
    """

    talks: SimulationSummary
    checked: SimulationSummary
    best: BestRollouts


def roll_out(
    cases: PathOrPaths,
    out: Path,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int = 15,
    setting: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: CaseSplit | None = None,
    require_correct: bool = True,
) -> Rollouts:
    """Have a model interview the patient of each training case several times, and find the best of each case.

    The simulation goes into ``talks``, its interviews with labels of findings and rank into ``checked``, the best of
    them into ``best.jsonl``.

    Args:
        cases: files or folders of cases.
        out: the folder; the same call goes on where it was stopped.
        asking: who looks for the findings in the interviews. Its temperature, time limit, seed and settings are the
            interviews' too; its limits of calls and costs are for both together.
        clinician, patient: the actors, as for :func:`bedside.simulate`; the evaluator of the interview is ``asking``'s.
        repeats: interviews of each case.
        setting, options: of the simulation; ``options`` go before ``asking``'s temperature.
        split: cases that are kept for testing are not rolled out.
        require_correct: whether only interviews that name the true diagnosis can be best.

    Raises:
        BedsideError: as :func:`bedside.simulate`.
    """
    from bedside.simulation.simulate import SimulationSettings, simulate_plan

    settings = asking.settings or SimulationSettings()
    if settings.by_batch:
        raise InputError(
            "interviews and their check are two simulations, and a batch file is of one",
            where="`batch_out`",
            todo="have the interviews by bedside simulate with batch files, or leave it out",
        )
    plan = _talk_plan(
        cases,
        asking,
        clinician=clinician,
        patient=patient,
        repeats=repeats,
        setting=setting,
        options=options,
        split=split,
    )
    talks = simulate_plan(plan, out / "talks", settings, asking.progress)
    checked = _check(
        read_talks(out / "talks" / TRANSCRIPTS),
        {case.id: case for case in plan.cases},
        out / "checked",
        _with_the_rest(asking, settings, talks),
    )
    return Rollouts(talks, checked, _write_best(out, require_correct))


def preview_rollouts(
    cases: PathOrPaths,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int = 15,
    setting: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: CaseSplit | None = None,
) -> tuple[SimulationPreview, RecordPreview]:
    """What :func:`roll_out` with the same arguments would ask: for the interviews, and for their check.

    The check is counted on interviews of toys. Nothing is asked or written.

    Raises:
        BedsideError: as :func:`bedside.api.simulating.preview_simulation`.
    """
    from bedside.simulation.call_preview import preview_plan
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.record_preview import preview_records
    from bedside.simulation.simulate import SimulationSettings

    settings = asking.settings or SimulationSettings()
    plan = _talk_plan(
        cases,
        asking,
        clinician=clinician,
        patient=patient,
        repeats=repeats,
        setting=setting,
        options=options,
        split=split,
    )
    rater = asking.rater()
    tasks = [
        RecordTask(
            planned.id,
            planned.case.id,
            planned.case.language,
            planned.case.digest(),
            _checking_a_toy(plan, planned, rater),
        )
        for planned in plan.conversations()
    ]
    checks = asking.plan(_CHECKED, tasks, {}, TRANSCRIPTS)
    return preview_plan(plan, settings), preview_records(checks, settings)


def _talk_plan(
    cases: PathOrPaths,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int,
    setting: str | None,
    options: Mapping[str, Any] | None,
    split: CaseSplit | None,
) -> SimulationPlan:
    from bedside.simulation.requested_plan import SimulationRequest

    used = [case for case in usable_cases(cases) if split is None or split.side(case.id) == "train"]
    if not used:
        raise InputError("no case is left to train on", where="`cases`", todo="check the lists of cases")
    return SimulationRequest(
        "note2chat",
        clinician,
        patient=patient,
        evaluator=asking.evaluator,
        cases=used,
        settings=() if setting is None else (setting,),
        repeats=repeats,
        options={**_temperatures(asking), **(options or {})},
        seed=asking.seed,
        time_limit=asking.time_limit,
    ).plan()


def _checking_a_toy(
    plan: SimulationPlan, planned: PlannedConversation, rater: str
) -> Callable[[], Exchange[MadeRecord]]:
    """The check of an interview that toys have."""

    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.call_preview import played
        from bedside.simulation.simulators.contract import UnusableConversationError
        from bedside.transcripts import Transcript, Turn

        _, outcome = played(plan.simulator.converse(plan.situation(planned)), plan.simulator.rules)
        if outcome is None:
            raise UnusableConversationError("material", "the toys' interview can't be used")
        turns = tuple(
            Turn(number, turn.role, turn.role, turn.text, {}) for number, turn in enumerate(outcome.turns)
        )
        talk = Transcript(planned.id, turns, case_id=planned.case.id, reference=dict(outcome.reference))
        return (yield from _checking(talk, planned.case, rater)())

    return make


def _temperatures(asking: Asking) -> dict[str, float]:
    """The temperature of all models, as an option of each role."""
    if asking.temperature is None:
        return {}
    return {f"{role}_temperature": asking.temperature for role in ACTOR_ROLES}


def _with_the_rest(asking: Asking, settings: SimulationSettings, spent: SimulationSummary) -> Asking:
    """Who is asked after something was spent: limits are of what is left, prices of those who are still asked."""
    calls = None if settings.max_calls is None else settings.max_calls - spent.requests
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost
    if cost is not None and cost <= 0:
        calls, cost = 0, None
    names = {text for name in asking.cast().values() for text in (name.text, name.identity)}
    prices = {text: price for text, price in settings.prices.items() if text in names}
    return replace(asking, settings=replace(settings, max_calls=calls, max_cost=cost, prices=prices))


def _write_best(out: Path, require_correct: bool) -> BestRollouts:
    from bedside.core.files import write_text
    from bedside.metrics.protocols.note2chat.rollouts import best_rollouts

    best = best_rollouts(read_talks(out / "checked" / TRANSCRIPTS), require_correct=require_correct)
    write_text(out / "best.jsonl", "".join(talk.to_json().decode() + "\n" for talk in best.best))
    return best


def _check(
    transcripts: Iterable[Transcript], cases: Mapping[str, Case], out: Path, asking: Asking
) -> SimulationSummary:
    """Label interviews with where they convey the findings, and with the diagnosis's rank."""
    from bedside.simulation.record_making import RecordTask

    rater = asking.rater()
    tasks = [
        RecordTask(
            talk.id,
            case.id,
            case.language,
            source_digest([talk.content_hash(), case.digest()]),
            _checking(talk, case, rater),
        )
        for talk in transcripts
        for case in (cases[talk.case_id or ""],)
    ]
    return asking.carry_out(asking.plan(_CHECKED, tasks, {}, TRANSCRIPTS), out)


def _checking(talk: Transcript, case: Case, rater: str) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.calls import together
        from bedside.simulation.simulators.note2chat.finding_places import diagnosis_rank, finding_places

        findings = [finding.text for finding in (case.note.findings if case.note else ())]
        places, rank = yield from together(
            finding_places(spoken_lines(talk), findings, case.language),
            diagnosis_rank(
                case.hidden.diagnosis or "", talk.reference.get("ranked_diagnoses", ()), case.language
            ),
        )
        reference = {
            **talk.reference,
            "origin": case.origin,
            "licence": case.licence,
            "note2chat": {rater: place_labels(case, places, rank)},
        }
        return MadeRecord(orjson.loads(replace(talk, reference=reference).to_json()))

    return make
