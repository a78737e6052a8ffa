"""MedConceal: hidden concerns, whether they are found, revealed and addressed (Han et al. 2026, arXiv 2604.08788).

Everything here is arithmetic on labels: which findings are said to be which concerns, and the features of each
clinician turn. Who gives the labels, a judge or people, makes no difference.
"""

from bedside.metrics.protocols.contract import Protocol
from bedside.metrics.protocols.medconceal.labels import LABELS

PROTOCOL = Protocol("MedConceal", family="hidden_concerns", labels=LABELS)
