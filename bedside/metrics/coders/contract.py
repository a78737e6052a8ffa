"""What a coder states about itself, and what it returns.

A coder reads a transcript and gives behaviour codes to its turns. A coder that ships with bedside is one file in
``bedside/metrics/coders/shipped``; it sets ``CODER`` to a :class:`Coder`. People's codes need no coder: they stand in
the turns (``meta["codes"]``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bedside.core.registry import Registry
from bedside.ratings.names import algorithm_rater
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

# -- What a coder states about itself -------------------------------------------------------------------

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


# -- People's codes -------------------------------------------------------------------------------------


def people_codes(transcript: Transcript) -> dict[str, dict[int, dict[str, str]]]:
    """Coder → turn index → code → label, sorted by coder.

    Known codes on turns of the role they belong to; the labels are as written, see :func:`proper`.
    """
    result: dict[str, dict[int, dict[str, str]]] = {}
    for turn in transcript.turns:
        for coder, given in turn.meta.get("codes", {}).items() if turn.meta else ():
            labels = {code: given[code] for code, role in CODE_ROLES.items() if role == turn.role and code in given}
            if labels:
                result.setdefault(coder, {})[turn.index] = labels
    return dict(sorted(result.items()))


def proper(labels: Mapping[str, str]) -> dict[str, str]:
    """Those labels of a turn that are labels of their code."""
    return {code: label for code, label in labels.items() if label in CODES[code]}


def majority(labels: Iterable[str]) -> str | None:
    """The label most people gave; None where no single label is most frequent."""
    first = Counter(labels).most_common(2)
    if not first or (len(first) == 2 and first[0][1] == first[1][1]):
        return None
    return first[0][0]


# -- What is counted over the coded turns of a session --------------------------------------------------

#: The codes of one turn: code → label.
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SessionMeasure:
    """A ratio of two counts of turns.

    Attributes:
        name: the metric's name.
        codes: the codes it needs, all of turns of one role.
        counted: whether a turn is in the numerator; turns are counted only once.
        among: whether a turn is in the denominator.
        empty: what to say where the denominator is 0.
        scale: factor on the ratio; 100 for per cent.
        early: whether only the first turns of the role are taken.
    """

    name: str
    codes: tuple[str, ...]
    counted: Callable[[Labels], bool]
    among: Callable[[Labels], bool]
    empty: str
    scale: float = 1.0
    early: bool = False

    @property
    def role(self) -> Role:
        """Whose turns it is about."""
        return CODE_ROLES[self.codes[0]]

    def coded(self, turns: Sequence[Labels]) -> list[Labels]:
        """Those of ``turns`` that have all the codes needed."""
        return [labels for labels in turns if all(code in labels for code in self.codes)]

    def value(self, coded: Sequence[Labels]) -> float | None:
        """The ratio over coded turns; None where its denominator is 0."""
        among = sum(map(self.among, coded))
        return self.scale * sum(map(self.counted, coded)) / among if among else None


def _is(code: str, *labels: str) -> Callable[[Labels], bool]:
    return lambda turn: turn[code] in labels


def _exists(code: str) -> Callable[[Labels], bool]:
    return lambda turn: turn[code] != "none"


def _every(_: Labels) -> bool:
    return True


_NO_TURNS = "no clinician turn"

MEASURES: tuple[SessionMeasure, ...] = (
    SessionMeasure(
        "percent_open_questions",
        ("question",),
        _is("question", "open"),
        _exists("question"),
        "no question",
        scale=100.0,
    ),
    SessionMeasure(
        "reflection_to_question_ratio",
        ("reflection", "question"),
        _exists("reflection"),
        _exists("question"),
        "no question",
    ),
    SessionMeasure(
        "percent_complex_reflections",
        ("reflection",),
        _is("reflection", "complex"),
        _exists("reflection"),
        "no reflection",
        scale=100.0,
    ),
    SessionMeasure(
        "percent_change_talk",
        ("client_talk",),
        _is("client_talk", "change"),
        _is("client_talk", "change", "sustain"),
        "neither change nor sustain talk",
        scale=100.0,
    ),
    SessionMeasure("questions_per_turn", ("question",), _exists("question"), _every, _NO_TURNS),
    SessionMeasure("inputs_per_turn", ("therapist_input",), _exists("therapist_input"), _every, _NO_TURNS),
    SessionMeasure("open_question_ratio", ("question",), _is("question", "open"), _every, _NO_TURNS),
    SessionMeasure("early_open_question_ratio", ("question",), _is("question", "open"), _every, _NO_TURNS, early=True),
)
EARLY_TURNS = 5
