"""MultiSenseEval's MedAgent (Chandra et al., ACL 2026): a patient and a model that helps them make sense of it."""

from __future__ import annotations

from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, facts_in
from bedside.simulation.simulators.multisense.conversation import SensemakingCase, chart_lines, known_facts, problems
from bedside.simulation.simulators.multisense.sensemaker import FREE, converse, most_calls, plain_brief, scaffold_brief
from bedside.simulation.simulators.multisense.stages import FOLDER
from bedside.simulation.simulators.multisense.toy_speakers import RULES


def _brief(case: Case, setting: str) -> str:
    if setting == FREE:
        return plain_brief(case.language, chart_lines(case)).brief
    return scaffold_brief(case.language, chart_lines(case))


SIMULATOR = Simulator(
    **facts_in(FOLDER),
    check_case=problems,
    case_fields=SensemakingCase,
    briefs=_brief,
    converse=converse,
    rules=RULES,
    most_calls=most_calls,
    patient_facts=known_facts,
)
