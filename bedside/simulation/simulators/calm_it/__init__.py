"""CALM-IT (Nguyen et al.): long sessions of motivational interviewing between two sides that each have a state."""

from __future__ import annotations

from bedside.simulation.simulators.calm_it.client_fields import CalmItFields, client_facts, fields_of, problems
from bedside.simulation.simulators.calm_it.session import (
    FREE,
    SCAFFOLD,
    CalmItSession,
    free_brief,
    most_calls,
    scaffold_brief,
)
from bedside.simulation.simulators.calm_it.state_calls import FOLDER
from bedside.simulation.simulators.calm_it.toy_session import RULES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Simulator, SimulatorOption, SimulatorSetting


def _brief(case: Case, setting: str) -> str:
    brief = free_brief if setting == FREE else scaffold_brief
    return brief(fields_of(case), case.language).brief


SIMULATOR = Simulator(
    name="calm-it",
    title="CALM-IT's long motivational interviews",
    version=1,
    source="Nguyen et al., CALM-IT",
    languages=("en",),
    settings=(
        SimulatorSetting(
            SCAFFOLD,
            "scaffolded therapist",
            "The therapist's picture of the client, its strategy and its course are kept for it by the evaluator; the "
            "clinician writes three candidates for each message, of which the likeliest is said.",
        ),
        SimulatorSetting(
            FREE,
            "free therapist",
            "The clinician just talks, one message at a time, with a client that has its state: for any agent, and for "
            "people.",
        ),
    ),
    lengths=(30, 50, 100),
    cases=FOLDER / "cases.yaml",
    scripts=FOLDER / "scripts",
    options=(
        SimulatorOption(
            "dynamics", True, "Whether the sides have states, and the session is watched for going in circles."
        ),
        SimulatorOption("therapist_state", True, "Whether the therapist keeps a picture of the client.", own=True),
        SimulatorOption("client_state", True, "Whether the client's state changes as it is talked to.", own=True),
        SimulatorOption(
            "appraisal",
            "drawn",
            "Whether the client appraises a message: drawn with probability one half, always, or never.",
            choices=("drawn", "always", "never"),
        ),
        SimulatorOption(
            "ranking", True, "Whether three candidates are ranked for each message; without it, one is asked for."
        ),
        SimulatorOption(
            "rank",
            "mean",
            "What a likelihood of a candidate is: the mean of its tokens' log-probabilities, or their sum.",
            choices=("mean", "sum"),
            own=True,
        ),
        SimulatorOption("rank_messages", 6, "After how many messages a candidate is weighed.", own=True),
        SimulatorOption(
            "strategy_use",
            "first",
            "Which of the three strategies the candidates carry out: the first, or each its own.",
            choices=("first", "each"),
            own=True,
        ),
        SimulatorOption(
            "repetition",
            "rules",
            "How it is found that the session goes in circles: by rules, or by the evaluator in one more call.",
            choices=("rules", "model"),
            own=True,
        ),
        SimulatorOption(
            "clinician_temperature",
            0.7,
            "Temperature that the clinician's model writes with, from 0 to 2; none leaves it to the provider.",
            own=True,
        ),
        SimulatorOption(
            "patient_temperature",
            0.7,
            "Temperature that the patient's model writes with, from 0 to 2; none leaves it to the provider.",
            own=True,
        ),
        SimulatorOption(
            "evaluator_temperature",
            0.0,
            "Temperature of the calls about the sides, from 0 to 2; none leaves it to the provider.",
            own=True,
        ),
    ),
    check_case=lambda case: problems(case),
    case_fields=CalmItFields,
    case_needs=("extra.calm-it",),
    patient_facts=client_facts,
    briefs=_brief,
    converse=CalmItSession.converse,
    rules=RULES,
    most_calls=most_calls,
    parameters=(
        "The target length counts messages; the therapist speaks the first, and the client the last.",
        "Greeting and farewell are fixed sentences of bedside's own.",
        "Up to ten messages at the end are kept for closing, in short sessions half of them.",
        "Planning, as a process and as a client's action, begins at four tenths of the target length.",
        "The client begins in contemplation, with rapport 0 and the session goal, unless the case says otherwise.",
        "A client's stage moves forward by one at most.",
        "A reply may ask for a step of rapport down to -0.20; it is clamped to -0.10, and counted.",
        "How long a message is to be is drawn: very short, short or medium, with bedside's own weights. A client's "
        "message is too long above 70 words.",
        "Calls about a side see the last six messages beside the summary.",
        "All 17 strategies and all 14 actions can be chosen, each with bedside's own definition.",
        "The session goes in circles where the therapist's last message shares half of its word triples with one of "
        "the three before it, or the client does the same four times running.",
        "Three candidates are asked for in three calls.",
        "A candidate is weighed by the mean log-probability of its tokens after the last six messages.",
        "Models write with temperature 0.7, and label states with temperature 0; nothing is said of top-p.",
        "The prompts are bedside's own.",
    ),
)
