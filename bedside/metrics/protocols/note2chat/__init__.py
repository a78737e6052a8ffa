"""Note2Chat: history taking, findings elicited and diagnosis ranked (Zhou et al., AAAI 2026).

Everything here is arithmetic on labels: which message conveys each finding of the note, and where the true diagnosis
stands in the ranking. Who gives the labels, a judge or people, makes no difference.
"""

from bedside.metrics.protocols.contract import Protocol
from bedside.metrics.protocols.note2chat.history import (
    History,
    dont_know_and_repeats,
    history,
    recall_by_category,
    summarise,
    turn_rewards,
)
from bedside.metrics.protocols.note2chat.labels import (
    CATEGORIES,
    LABELS,
    REPLIES,
    ClinicalFinding,
    HistoryLabels,
    HistoryTurnLabels,
    label_raters,
    rater_labels,
    reply_kind,
    with_labels,
)
from bedside.metrics.protocols.note2chat.preferences import (
    Candidate,
    Pair,
    Preferences,
    dialogue_reward,
    dialogue_rewards,
    preference_pairs,
    rewarded,
    write_preferences,
)

PROTOCOL = Protocol("Note2Chat", family="history_taking", labels=LABELS)

__all__ = [
    "PROTOCOL",
    "CATEGORIES",
    "Candidate",
    "ClinicalFinding",
    "History",
    "HistoryLabels",
    "Pair",
    "Preferences",
    "REPLIES",
    "HistoryTurnLabels",
    "dialogue_reward",
    "dialogue_rewards",
    "dont_know_and_repeats",
    "history",
    "label_raters",
    "preference_pairs",
    "rater_labels",
    "recall_by_category",
    "reply_kind",
    "rewarded",
    "summarise",
    "turn_rewards",
    "with_labels",
    "write_preferences",
]
