"""What a probe states about itself: how it changes what a judge is shown, and what the judge's level should do then.

A probe that ships with bedside is one file in ``bedside/tuning/probes/shipped``; it sets ``PROBE`` to a :class:`Probe`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bedside.core.registry import Registry
from bedside.judges.rubrics.rubric import Rubric
from bedside.transcripts.transcript import Transcript

#: What a level should do when a conversation is changed so: stay where it is, or move.
Expectation = Literal["stays", "moves"]
#: What a change needs that nobody wrote beforehand: the conversation in another language, or the rubric in other words.
Need = Literal["translation", "paraphrase"]


@dataclass(frozen=True, slots=True)
class ProbeMaterial:
    """What a probe changes, and what it may take for that.

    Attributes:
        transcript: the conversation.
        rubric: what it is rated by.
        language: of the probe's own texts, one of :data:`bedside.tuning.probes.turn_texts.LANGUAGES`.
        seed: of what is drawn at random.
        translation: the conversation in another language, where the variant needs one.
        paraphrase: the rubric in other words, where the variant needs one.
    """

    transcript: Transcript
    rubric: Rubric
    language: str
    seed: int = 0
    translation: Transcript | None = None
    paraphrase: Rubric | None = None

    def random(self) -> random.Random:
        """Draws that depend on the seed and the transcript alone."""
        return random.Random(f"{self.seed}/{self.transcript.id}")


@dataclass(frozen=True, slots=True)
class Altered:
    """What the judge is shown in place of a transcript and a rubric.

    Attributes:
        transcript: the conversation, changed or not.
        rubric: the rubric, changed or not; its levels are the same numbers.
        reword: makes the prompt of the finished prompt; None where it stays.
        level: the level of the original rubric that an answered level stands for; None where it is the same.
        added: words (of Chinese, characters) that were added to the conversation.
    """

    transcript: Transcript
    rubric: Rubric
    reword: Callable[[str], str] | None = None
    level: Callable[[float], float] | None = None
    added: int = 0


@dataclass(frozen=True, slots=True)
class Unalterable:
    """That a change can't be made to a transcript or rubric, and why, as a phrase."""

    reason: str


Alteration = Callable[[ProbeMaterial], Altered | Unalterable]


@dataclass(frozen=True, slots=True)
class Variant:
    """One form or amount of a probe's change.

    Attributes:
        name: short, of lower-case letters, digits and hyphens; unique within the probe.
        title: the change in a few words, as in a table's row.
        alter: makes the change.
        against: what the changed conversation is held against; None for the original.
        needs: what :class:`ProbeMaterial` must bring along; None where nothing.
        again: whether nothing is changed and the same prompt is asked in further passes: the base line.
    """

    name: str
    title: str
    alter: Alteration
    against: Alteration | None = None
    needs: Need | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to probe a judge.

    Attributes:
        name: equal to the file's name.
        title: what is changed, in a few words.
        description: what is changed, why a level should stay or move, and what the change can't show; a short
            paragraph of plain English.
        expects: what a level should do.
        variants: forms or amounts of the change.
    """

    name: str
    title: str
    description: str
    expects: Expectation
    variants: tuple[Variant, ...]


#: The probes by file name; other packages add theirs through the entry-point group ``bedside.probes``.
PROBES: Registry[Probe] = Registry("bedside.tuning.probes.shipped", "PROBE", "probe", Probe, group="bedside.probes")
#: The probe that is the base line of all others: the same prompt asked again.
BASE_LINE = "repetition"
