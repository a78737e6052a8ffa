"""The two sentences that the vignette patient has for what it doesn't know and for what it was asked before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bedside.metrics.protocols.note2chat.labels import says
from bedside.simulation.simulators.contract import SimulatorOption


@dataclass(frozen=True, slots=True)
class FixedSentences:
    """What the patient says word for word.

    Attributes:
        dont_know: where the vignette doesn't answer the question.
        already_asked: where the question was answered before.
    """

    dont_know: str
    already_asked: str

    def holds(self, text: str) -> bool:
        """Whether a text is one of the two."""
        return says(text, self.dont_know) or says(text, self.already_asked)


#: What they are where nobody sets them, by language.
SENTENCES: Mapping[str, FixedSentences] = {
    "en": FixedSentences("Sorry, I don't know.", "Sorry, you've already asked this question."),
    "zh": FixedSentences("抱歉，我不知道。", "抱歉，这个问题您已经问过了。"),
}
_ABOUT = {
    "dont_know": "What the patient says where the vignette doesn't answer the question",
    "already_asked": "What the patient says where the question was answered before",
}
_LANGUAGES = {"en": "English", "zh": "Chinese"}

#: An option for each sentence and language.
OPTIONS: tuple[SimulatorOption, ...] = tuple(
    SimulatorOption(
        f"{name}_{language}",
        getattr(fixed, name),
        f"{about}, in {_LANGUAGES[language]}.",
        own=language != "en",
    )
    for language, fixed in SENTENCES.items()
    for name, about in _ABOUT.items()
)


def fixed_sentences(options: Mapping[str, Any], language: str) -> FixedSentences:
    """The two sentences of a conversation."""
    return FixedSentences(**{name: str(options[f"{name}_{language}"]) for name in _ABOUT})
