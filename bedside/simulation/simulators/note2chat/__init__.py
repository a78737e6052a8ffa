"""Note2Chat (Zhou et al., AAAI 2026): a patient made of a note is interviewed until five diagnoses are named."""

from __future__ import annotations

from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, SimulatorOption, SimulatorSetting
from bedside.simulation.simulators.note2chat.episode import CAPS, NoteInterview, clinician_prompts, most_calls, problems
from bedside.simulation.simulators.note2chat.rule_actors import RULES
from bedside.simulation.simulators.note2chat.vignette import FOLDER, OPTIONS, SENTENCES


def _brief(case: Case, setting: str) -> str:
    start, form = clinician_prompts(case.language, "general", structured=True)
    return f"{start.brief}\n\n{form.instruction}"


SIMULATOR = Simulator(
    name="note2chat",
    title="Note2Chat's interview",
    version=1,
    source="Zhou et al., Note2Chat, AAAI 2026",
    languages=tuple(SENTENCES),
    settings=tuple(
        SimulatorSetting(
            name,
            f"at most {cap} messages",
            f"The clinician has {cap // 2} messages and must give its diagnosis in the last of them.",
        )
        for name, cap in CAPS.items()
    ),
    cases=FOLDER / "cases.yaml",
    scripts=FOLDER / "scripts",
    options=(
        SimulatorOption(
            "brief",
            "general",
            "What the clinician is told at the start: the words for any model, or those for models tuned for it.",
            ("general", "tuned"),
        ),
        SimulatorOption(
            "decision",
            "clinician",
            "Who says whether a message is the final diagnosis: the clinician, beside its words or in a call after "
            "them, or the evaluator, which reads every message.",
            ("clinician", "evaluator"),
            own=True,
        ),
        SimulatorOption(
            "strict",
            "rules",
            "What is checked of the patient's replies beside their form: their length, or by the evaluator also "
            "whether they tell more than was asked or contradict the vignette.",
            ("rules", "judge", "off"),
            own=True,
        ),
        *OPTIONS,
    ),
    check_case=problems,
    case_needs=("note.vignette", "note.findings", "hidden.diagnosis"),
    briefs=_brief,
    converse=NoteInterview.converse,
    rules=RULES,
    most_calls=most_calls,
    parameters=(
        "The cap of 26 messages is that of the released code; the published means of 27 to 32 messages are above it.",
        "Whether a message is the diagnosis is a field beside its words, not brackets or a heading in them.",
        "At the cap every clinician gets the same request for five diagnoses; no reply is begun for it.",
        "A reply of the patient that is too long, repeats itself, tells more than was asked or contradicts the "
        "vignette is asked for three times and then kept and flagged.",
        "Three messages in a row in which the clinician repeats itself end the interview.",
        "The prompts are bedside's own. How models sample is their provider's choice unless it is set; the source's "
        "patient wrote at temperature .7 with top-p .8 and at most 150 tokens.",
    ),
)
