"""MDD-5k (Yin et al., AAAI 2025): a psychiatric interview that follows a tree of topics, with a fictitious past."""

from __future__ import annotations

from bedside.simulation.simulators.contract import Simulator, facts_in
from bedside.simulation.simulators.mdd5k.case_fields import FOLDER, PsychiatricRecord, patient_lines, problems
from bedside.simulation.simulators.mdd5k.doctor import brief_text
from bedside.simulation.simulators.mdd5k.interview import TopicInterview, most_calls
from bedside.simulation.simulators.mdd5k.toy_replies import RULES

SIMULATOR = Simulator(
    **facts_in(FOLDER),
    check_case=problems,
    case_fields=PsychiatricRecord,
    briefs=brief_text,
    converse=TopicInterview.converse,
    rules=RULES,
    most_calls=most_calls,
    patient_facts=patient_lines,
)
