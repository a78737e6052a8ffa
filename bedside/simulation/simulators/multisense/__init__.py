"""MultiSenseEval's MedAgent (Chandra et al., ACL 2026): a patient and a model that helps them make sense of it."""

from __future__ import annotations

from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, SimulatorOption, SimulatorSetting
from bedside.simulation.simulators.multisense.conversation import SensemakingCase, chart_lines, known_facts, problems
from bedside.simulation.simulators.multisense.sensemaker import (
    FREE,
    OBJECTS,
    SCAFFOLD,
    converse,
    most_calls,
    plain_brief,
    scaffold_brief,
)
from bedside.simulation.simulators.multisense.stages import FOLDER
from bedside.simulation.simulators.multisense.toy_speakers import RULES


def _brief(case: Case, setting: str) -> str:
    if setting == FREE:
        return plain_brief(case.language, chart_lines(case)).brief
    return scaffold_brief(case.language, chart_lines(case))


SIMULATOR = Simulator(
    name="multisense",
    title="MultiSenseEval's MedAgent",
    version=1,
    source="Chandra et al., Reasoning Is Not All You Need, ACL 2026",
    languages=("en",),
    settings=(
        SimulatorSetting(
            SCAFFOLD,
            "in the scaffold",
            "The clinician decides on stages and writes three candidates a message; a helper keeps facts and sorts out "
            "what was said before. It must reply with objects: for models.",
            objects=OBJECTS,
        ),
        SimulatorSetting(
            FREE,
            "asked plainly (not comparable with the publication)",
            "Any agent, asked for its next message only; a moderator says which stage it belongs to. The publication's "
            "models talk inside the scaffold.",
        ),
    ),
    cases=FOLDER / "cases.yaml",
    personas=FOLDER / "personas.yaml",
    scripts=FOLDER / "scripts",
    options=(
        SimulatorOption(
            "risk_line",
            False,
            "Whether the message that names the condition is to say how severe it is and what it puts the person at "
            "risk of: the released code asks for that, the publication's table doesn't.",
        ),
        SimulatorOption(
            "clinician_max_tokens", 15000, "Most tokens of a reply of the clinician's model, its thoughts among them."
        ),
    ),
    check_case=problems,
    case_fields=SensemakingCase,
    briefs=_brief,
    converse=converse,
    rules=RULES,
    most_calls=most_calls,
    patient_facts=known_facts,
    parameters=(
        "What can't be read as a decision on the stage is one to stay; the cap moves all the same.",
        "A stage in which all candidates are redundant is left at once, but never the one in which information is "
        "provided: there three more are asked for, and then the one least like what was said is taken and marked as "
        "forced. Leaving a stage so sets the count of its decisions to nought.",
        "The chart, where a case has one, is known from the start, as the vital signs of a case study are.",
        "The reply to the message that provides information is searched for facts like any other.",
        "From the stage of decisions on the patient may speak freely of feelings and plans, but makes up no history.",
        "The setting free as a whole, with its moderator and its end after 21 messages: its figures are comparable "
        "with no published ones.",
        "The prompts are bedside's own.",
    ),
)
