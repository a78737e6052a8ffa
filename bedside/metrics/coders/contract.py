"""What a coder states about itself, and what it returns.

A coder reads a transcript and gives behaviour codes to its turns. A coder that ships with bedside is one file in
``bedside/metrics/coders/shipped``; it sets ``CODER`` to a :class:`Coder`. People's codes need no coder: they stand in
the turns (``meta["codes"]``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bedside.core.registry import Registry
from bedside.ratings.names import algorithm_rater
from bedside.transcripts.transcript import Transcript

#: What a coder gives: turn index → code → label. A turn or code that is absent was not coded.
TurnCodes = Mapping[int, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Coder:
    """A way to give behaviour codes to turns.

    Attributes:
        name: equal to the file's name.
        title: what it is, in a few words.
        description: a short paragraph of Markdown for the docs.
        version: changes when its codes change; it stands in the rater's name.
        codes: names of the codes it can give, of :data:`bedside.transcripts.transcript.CODES`.
        source: citation.
        code: ``code(transcript)`` gives codes to all turns of the role each code belongs to.
        refuses: ``refuses(transcript)`` is why the coder can't code this transcript, or None where it can.
        languages: tags of the languages it is made for, such as ``en``; empty where it doesn't say.
        confidence: ``confidence(transcript)`` gives the probability (0–1) of each label of ``code``; None where the
            coder knows none.
    """

    name: str
    title: str
    description: str
    version: str
    codes: tuple[str, ...]
    source: str
    code: Callable[[Transcript], TurnCodes]
    refuses: Callable[[Transcript], str | None]
    languages: tuple[str, ...] = ()
    confidence: Callable[[Transcript], Mapping[int, Mapping[str, float]]] | None = None

    @property
    def rater(self) -> str:
        """The rater's name in a ratings table: ``algorithm:NAME@VERSION``."""
        return algorithm_rater(self.name, self.version)


#: The coders by file name; other packages add theirs through the entry-point group ``bedside.coders``.
CODERS: Registry[Coder] = Registry("bedside.metrics.coders.shipped", "CODER", "coder", Coder, group="bedside.coders")


class CodeSource(Protocol):
    """What can be evaluated: a :class:`~bedside.metrics.coders.Coder`, or :class:`ExistingCodes`."""

    @property
    def rater(self) -> str:
        """Its name in a ratings table."""
        ...

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it gives."""
        ...

    @property
    def code(self) -> Callable[[Transcript], TurnCodes]:
        """Gives the codes of a transcript."""
        ...

    @property
    def refuses(self) -> Callable[[Transcript], str | None]:
        """Says why a transcript can't be coded; None where it can."""
        ...
