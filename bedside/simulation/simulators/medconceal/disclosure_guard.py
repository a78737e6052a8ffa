"""The guard: whether a patient's reply gives away what is still hidden, or leaves out what it is to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bedside.metrics.protocols.medconceal.matching import bare, normalise, occurs
from bedside.metrics.protocols.medconceal.policy import GuardThresholds, content, overlap
from bedside.simulation.simulators.asking import Fault
from bedside.simulation.simulators.case import HiddenConcern

#: Reasons of faults, as they are counted.
LEAK, SILENCE = "reveals what is hidden", "leaves out what it is to say"


def gives_away(text: str, concern: HiddenConcern, known: frozenset[str], thresholds: GuardThresholds) -> bool:
    """Whether a text says a concern, or enough of its distinctive words.

    Distinctive are the concern's content words that are not ``known``: n of them are in the text, and of all of them
    the share n / all; it gives the concern away where both reach their thresholds, or where one of the sentences that
    voice the concern occurs.

    Args:
        text: what is said.
        concern: a hidden one.
        known: content words that say nothing of it, because they stand in the open.
        thresholds: least share and number.
    """
    if _voices(text, concern):
        return True
    distinctive = content(concern.text) - known
    shared = len(content(text) & distinctive)
    return shared >= thresholds.leak_words and shared >= thresholds.leak_share * len(distinctive)


def says(text: str, concern: HiddenConcern, thresholds: GuardThresholds) -> bool:
    """Whether a text says a concern: enough of its words, or of one of the sentences that voice it."""
    words = content(text)
    return any(
        overlap(words, content(wording)) >= thresholds.disclosure_share
        for wording in (concern.text, *concern.voiced)
    ) or _voices(text, concern)


def _voices(text: str, concern: HiddenConcern) -> bool:
    spoken = normalise(text)
    return any(occurs(bare(sentence), spoken) for sentence in concern.voiced)


@dataclass(frozen=True, slots=True)
class DisclosureGuard:
    """What a reply may and must say, at one turn.

    Attributes:
        hidden: the concerns that are still hidden.
        due: those that the reply is to say.
        known: content words that stand in the open: in the chart, in what the patient is told, in concerns that are
            out, in what was said.
        thresholds: of the policy's parameters.
    """

    hidden: Sequence[HiddenConcern]
    due: Sequence[HiddenConcern]
    known: frozenset[str]
    thresholds: GuardThresholds

    def fault(self, text: str) -> Fault | None:
        """What is wrong with a reply; the objection repeats nothing of what leaked."""
        if any(gives_away(text, concern, self.known, self.thresholds) for concern in self.hidden):
            return Fault(
                LEAK,
                "Your last reply told something that you keep to yourself for now. Answer without it: say only what "
                "you were told that you may say.",
            )
        if not all(says(text, concern, self.thresholds) for concern in self.due):
            return Fault(
                SILENCE,
                "Your last reply left out what you are to tell now. Tell it in this reply, in your own plain words.",
            )
        return None


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The content words of all these texts."""
    return frozenset[str]().union(*map(content, texts))
