"""MedConceal: hidden concerns, whether they are found, revealed and addressed (Han et al. 2026, arXiv 2604.08788).

Everything here is arithmetic on labels: which findings are said to be which concerns, and the features of each
clinician turn. Who gives the labels, a judge or people, makes no difference.
"""

from bedside.metrics.protocols.contract import Protocol
from bedside.metrics.protocols.medconceal.fitting import Fit, fit
from bedside.metrics.protocols.medconceal.labels import (
    CATEGORIES,
    FEATURES,
    INTENTS,
    LABELS,
    Concern,
    ConcernLabels,
    ConcernTurnLabels,
    Features,
    MatchProposal,
    SubmittedFinding,
    concerns_of,
    evaluated_turn,
    label_raters,
    primary_of,
    rater_labels,
    simulated_turns,
    turn_rater,
    with_labels,
)
from bedside.metrics.protocols.medconceal.matching import CaseScore, case_level, micro, score_case
from bedside.metrics.protocols.medconceal.measures import CaseTrace, measure, summarise
from bedside.metrics.protocols.medconceal.policy import (
    PARAMETERS,
    Parameters,
    Policy,
    PolicyState,
    Step,
    challenge_cues,
    turn_step,
    write_parameters,
)
from bedside.metrics.protocols.medconceal.trace import LabelledTurn, Trace, read_turns, replay, trace, turn_rows

PROTOCOL = Protocol("MedConceal", family="hidden_concerns", labels=LABELS)

__all__ = [
    "PROTOCOL",
    "CATEGORIES",
    "CaseScore",
    "CaseTrace",
    "Concern",
    "FEATURES",
    "Features",
    "SubmittedFinding",
    "Fit",
    "INTENTS",
    "LabelledTurn",
    "ConcernLabels",
    "PARAMETERS",
    "Parameters",
    "Policy",
    "PolicyState",
    "Step",
    "MatchProposal",
    "Trace",
    "ConcernTurnLabels",
    "case_level",
    "challenge_cues",
    "evaluated_turn",
    "concerns_of",
    "fit",
    "label_raters",
    "measure",
    "micro",
    "primary_of",
    "rater_labels",
    "read_turns",
    "replay",
    "score_case",
    "summarise",
    "simulated_turns",
    "trace",
    "turn_rater",
    "turn_rows",
    "turn_step",
    "with_labels",
    "write_parameters",
]
