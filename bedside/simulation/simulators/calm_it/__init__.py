"""CALM-IT (Nguyen et al.): long sessions of motivational interviewing between two sides that each have a state."""

from __future__ import annotations

from bedside.simulation.simulators.calm_it.client_fields import CalmItFields, client_facts, fields_of, problems
from bedside.simulation.simulators.calm_it.session import FREE, CalmItSession, free_brief, most_calls, scaffold_brief
from bedside.simulation.simulators.calm_it.state_calls import FOLDER
from bedside.simulation.simulators.calm_it.toy_session import RULES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, facts_in


def _brief(case: Case, setting: str) -> str:
    brief = free_brief if setting == FREE else scaffold_brief
    return brief(fields_of(case), case.language).brief


SIMULATOR = Simulator(
    **facts_in(FOLDER),
    check_case=lambda case: problems(case),
    case_fields=CalmItFields,
    patient_facts=client_facts,
    briefs=_brief,
    converse=CalmItSession.converse,
    rules=RULES,
    most_calls=most_calls,
)
