"""Note2Chat (Zhou et al., AAAI 2026): a patient made of a note is interviewed until five diagnoses are named."""

from __future__ import annotations

from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, facts_in
from bedside.simulation.simulators.note2chat.episode import NoteInterview, clinician_prompts, most_calls, problems
from bedside.simulation.simulators.note2chat.rule_actors import RULES
from bedside.simulation.simulators.note2chat.vignette import FOLDER


def _brief(case: Case, setting: str) -> str:
    start, form = clinician_prompts(case.language, "general", structured=True)
    return f"{start.brief}\n\n{form.instruction}"


SIMULATOR = Simulator(
    **facts_in(FOLDER),
    check_case=problems,
    briefs=_brief,
    converse=NoteInterview.converse,
    rules=RULES,
    most_calls=most_calls,
)
