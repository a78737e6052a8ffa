"""MedConceal (Han et al., COLM 2026): a reserved patient says what weighs on them once asked and listened to."""

from __future__ import annotations

from bedside.simulation.simulators.contract import Simulator, facts_in
from bedside.simulation.simulators.medconceal.consultation import (
    TASKS,
    Consultation,
    clinician_brief,
    early_findings,
    most_calls,
    problems,
)
from bedside.simulation.simulators.medconceal.reserved_patient import FOLDER
from bedside.simulation.simulators.medconceal.toy_actors import RULES

SIMULATOR = Simulator(
    **facts_in(FOLDER),
    check_case=problems,
    briefs=lambda case, setting: clinician_brief(case, TASKS[setting]).brief,
    converse=Consultation.converse,
    rules=RULES,
    most_calls=most_calls,
    early_form=early_findings,
)
