"""MedConceal (Han et al., COLM 2026): a reserved patient says what weighs on them once asked and listened to."""

from __future__ import annotations

from bedside.simulation.simulators.contract import Simulator, SimulatorOption, SimulatorSetting
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

_DESCRIPTIONS = {
    "confirmation-8": "The clinician has 8 messages to find as many of the patient's concerns as it can.",
    "confirmation-adaptive": "The same with up to 20 messages; from the fifth on the clinician decides whether it has "
    "heard enough.",
    "intervention-8": "The clinician has 8 messages to find the key concern, address it and guide the patient to a "
    "plan.",
    "intervention-20": "The same with up to 20 messages.",
}


SIMULATOR = Simulator(
    name="medconceal",
    title="MedConceal's reserved patient",
    version=1,
    source="Han et al., MedConceal, COLM 2026 (arXiv 2604.08788)",
    languages=("en",),
    settings=tuple(SimulatorSetting(name, task.title, _DESCRIPTIONS[name]) for name, task in TASKS.items()),
    cases=FOLDER / "cases.yaml",
    scripts=FOLDER / "scripts",
    options=(
        SimulatorOption(
            "stop_when_addressed",
            True,
            "Whether an intervention ends with the turn that addresses the concern; without it, it goes on to its "
            "last turn, and what happens afterwards is measured.",
            own=True,
        ),
        SimulatorOption(
            "cues",
            False,
            "Whether a patient who is close to telling may hint that something is on their mind.",
            own=True,
        ),
        SimulatorOption(
            "parameters", "default", "The policy's parameters: a shipped set such as guarded, or a file.", own=True
        ),
    ),
    check_case=problems,
    case_needs=("chart", "patient.facts", "patient.deflections", "hidden.concerns", "intervention"),
    briefs=lambda case, setting: clinician_brief(case, TASKS[setting]).brief,
    converse=Consultation.converse,
    rules=RULES,
    most_calls=most_calls,
    early_form=early_findings,
    takes_personas=True,
    parameters=(
        "The policy's weights and thresholds: none is published.",
        "The clinician speaks first; a turn is a clinician's message with the patient's reply to it.",
        "The patient's stance and what its prompt holds follow from the policy's state; a concern that is hidden is in "
        "no prompt.",
        "A reply is checked for what it gives away and for what it must tell, by shared words; after three tries a "
        "line of the case's own is said, and the third such line ends the conversation as missing.",
        "A reply has at most three sentences and 60 words, two and 30 more for each further concern that comes out.",
        "A blocked turn freezes the address and its lag, too.",
        "Three messages in a row in which the clinician repeats itself end the consultation.",
        "The evaluator's intents other than probing for categories, and its window of three clinician turns.",
        "The prompts are bedside's own.",
    ),
)
