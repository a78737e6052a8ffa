"""MDD-5k (Yin et al., AAAI 2025): a psychiatric interview that follows a tree of topics, with a fictitious past."""

from __future__ import annotations

from bedside.simulation.simulators.contract import Simulator, SimulatorOption, SimulatorSetting
from bedside.simulation.simulators.mdd5k.case_fields import BUNDLED, FOLDER, PsychiatricRecord, patient_lines, problems
from bedside.simulation.simulators.mdd5k.doctor import FREE, GUIDED, brief_text
from bedside.simulation.simulators.mdd5k.interview import TopicInterview, most_calls
from bedside.simulation.simulators.mdd5k.toy_replies import RULES

SIMULATOR = Simulator(
    name="mdd5k",
    title="MDD-5k's diagnostic interview",
    version=1,
    source="Yin et al., MDD-5k, AAAI 2025",
    languages=("en", "zh"),
    settings=(
        SimulatorSetting(
            GUIDED,
            "guided by the tree",
            "The clinician is given one topic after the other from a tree, and plays one of five doctors.",
        ),
        SimulatorSetting(
            FREE,
            "direct role-play",
            "The clinician gets no topics and decides itself what to ask; the evaluator says when it is enough, after "
            "12 exchanges at the latest. The source's baseline, and the setting for an agent of its own mind.",
        ),
    ),
    cases=FOLDER / "cases.yaml",
    scripts=FOLDER / "scripts",
    options=(
        SimulatorOption(
            "tree",
            "corrected",
            "How topics follow each other: as the paper means it, or as the released code does it.",
            ("corrected", "released"),
            own=True,
        ),
        SimulatorOption(
            "closing",
            "drop",
            "How an interview ends: without closing words, as the released dialogues; with the case's own diagnosis "
            "and advice; or with a diagnosis that the clinician infers.",
            ("drop", "case", "inferred"),
            own=True,
        ),
        SimulatorOption(
            "knows_diagnosis",
            False,
            "Whether the patient knows the diagnosis, as the source's does; told it, patients say it.",
            (False, True),
            own=True,
        ),
        SimulatorOption(
            "unknown",
            "deny",
            "What the patient does with questions that its record says nothing of; the source's improvises.",
            ("deny", "dont_know", "improvise"),
            own=True,
        ),
        SimulatorOption(
            "trees",
            BUNDLED,
            "The trees of topics: those that come with bedside, or a folder with female_teen.json, female_adult.json, "
            "male_teen.json and male_adult.json.",
            own=True,
        ),
        SimulatorOption(
            "graphs",
            BUNDLED,
            "The graphs that stories are drawn from: those that come with bedside, or a file.",
            own=True,
        ),
        SimulatorOption(
            "doctors",
            BUNDLED,
            "The doctors that the clinician plays, one drawn for each case and repeat: those that come with bedside, "
            "or a file.",
            own=True,
        ),
    ),
    check_case=problems,
    case_fields=PsychiatricRecord,
    case_needs=("extra.mdd5k", "hidden.diagnosis"),
    briefs=brief_text,
    converse=TopicInterview.converse,
    rules=RULES,
    most_calls=most_calls,
    patient_facts=patient_lines,
    parameters=(
        "Topic order, doctor and story are drawn for each case and repeat, and are the same for every clinician.",
        "At most two more questions on a topic, six angles in two generations, 60 exchanges; when those are short, "
        "every topic that remains is asked once.",
        "A topic is left out only where the patient's own words, quoted, have answered it, or where an angle means the "
        "same; self-harm and illness in the family are never left out for an angle.",
        "A story with a name, an impossible age, a recovery or a doctor's advice is asked for three times; then the "
        "interview runs without one.",
        "Both sides see the whole interview; the released code shows the doctor its last 6 lines and the patient the "
        "last 8.",
        "The evaluator's verdicts are fields of structured replies; the released code looks for a character in words.",
        "Three messages in a row in which the clinician repeats itself end the interview.",
        "Trees, graphs, doctors and prompts are bedside's own. How models sample is their provider's choice unless it "
        "is set.",
    ),
)
