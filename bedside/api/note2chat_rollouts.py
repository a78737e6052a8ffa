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
from bedside.support.errors import InputError

if TYPE_CHECKING:
    from bedside.protocols.note2chat.case_split import CaseSplit
    from bedside.protocols.note2chat.rollouts import BestRollouts
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.record_making import MadeRecord
    from bedside.simulation.simulate import SimulationSummary
    from bedside.simulators.calls import Exchange
    from bedside.simulators.case import Case
    from bedside.simulators.case_records import PathOrPaths
    from bedside.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Interviews of a model with each case's patient, several of each, labelled.

    Attributes:
        talks: what the simulation did.
        checked: what the check of its interviews did.
        best: the best of each case, see :func:`bedside.protocols.note2chat.rollouts.best_rollouts`.
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
        asking: who looks for the findings in the interviews.
        clinician, patient: the actors, as for :func:`bedside.simulate`; the evaluator of the interview is ``asking``'s.
        repeats: interviews of each case.
        setting, options: of the simulation.
        split: cases that are kept for testing are not rolled out.
        require_correct: whether only interviews that name the true diagnosis can be best.

    Raises:
        BedsideError: as :func:`bedside.simulate`.
    """
    from bedside.api.simulating import simulate
    from bedside.simulation.simulate import SimulationSettings

    settings = asking.settings or SimulationSettings()
    used = [case for case in usable_cases(cases) if split is None or split.side(case.id) == "train"]
    if not used:
        raise InputError("no case is left to train on", where="`cases`", todo="check the lists of cases")
    simulation = simulate(
        used,
        "note2chat",
        out / "talks",
        clinician=clinician,
        patient=patient,
        evaluator=asking.evaluator,
        settings=() if setting is None else (setting,),
        repeats=repeats,
        seed=asking.seed,
        options=options,
        max_concurrency=settings.max_concurrency,
        max_calls=settings.max_calls,
        time_limit=asking.time_limit,
        replay=settings.replay,
        progress=asking.progress,
    )
    left = None if settings.max_calls is None else settings.max_calls - simulation.summary.requests
    rest = replace(asking, settings=replace(settings, max_calls=left))
    checked = _check(simulation.transcripts(), {case.id: case for case in used}, out / "checked", rest)
    return Rollouts(simulation.summary, checked, _write_best(out, require_correct))


def _write_best(out: Path, require_correct: bool) -> BestRollouts:
    from bedside.protocols.note2chat.rollouts import best_rollouts
    from bedside.support.files import write_text

    best = best_rollouts(read_talks(out / "checked" / "transcripts.jsonl"), require_correct=require_correct)
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
    return asking.make("checked interviews", tasks, out, {}, "transcripts.jsonl")


def _checking(talk: Transcript, case: Case, rater: str) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulators.calls import together
        from bedside.simulators.note2chat.finding_places import diagnosis_rank, finding_places

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
