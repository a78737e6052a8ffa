"""Note2Chat: history taking, findings elicited and diagnosis ranked (Zhou et al., AAAI 2026).

Everything here is arithmetic on labels: which message conveys each finding of the note, and where the true diagnosis
stands in the ranking. Who gives the labels, a judge or people, makes no difference.
"""

from bedside.metrics.protocols.contract import Protocol
from bedside.metrics.protocols.note2chat.labels import LABELS

PROTOCOL = Protocol("Note2Chat", family="history_taking", labels=LABELS)
