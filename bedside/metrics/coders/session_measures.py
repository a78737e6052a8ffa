"""What is counted over the coded turns of a session: one place for the metric family and the evaluation of coders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bedside.transcripts.transcript import CODE_ROLES, Role

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

    def of(self, labels_and_turns: Iterable[tuple[Labels, int]]) -> tuple[int, float | None]:
        """How many turns have all the codes needed, of labels with their numbers of turns, and the ratio over these
        turns; None where its denominator is 0."""
        needed = frozenset(self.codes)
        coded = counted = among = 0
        for labels, turns in labels_and_turns:
            if labels.keys() >= needed:
                coded += turns
                counted += turns * self.counted(labels)
                among += turns * self.among(labels)
        return coded, self.scale * counted / among if among else None


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
