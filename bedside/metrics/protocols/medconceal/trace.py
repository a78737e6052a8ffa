"""The trace: from labelled turns to which concerns are revealed and whether the primary one is addressed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from bedside.core.errors import DataError
from bedside.core.records import file_records
from bedside.metrics.protocols.label_files import Bit, Index, Share, Strict, Text
from bedside.metrics.protocols.medconceal.labels import (
    Category,
    CategoryName,
    Concern,
    ConcernTurnLabels,
    Features,
    Intent,
    concerns_of,
    primary_of,
    rater_labels,
    simulation_of,
    turn_rater,
)
from bedside.metrics.protocols.medconceal.policy import (
    Parameters,
    Policy,
    Step,
    TurnTopic,
    address_probability,
    content,
    is_blocked,
    overlap,
    reveal_probability,
    turn_step,
)
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Transcript

# -- The trace ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnState:
    """How things stand after a clinician turn.

    Attributes:
        number: number of the clinician turn, from 1.
        step: what the turn brought.
        evidence: E of each concern, in the concerns' order.
        revealed: ids of the concerns revealed at this turn.
        address_evidence: A.
        hit: whether the turn addresses the primary concern well enough to count.
        addressed: whether the primary concern is addressed, at this turn or before.
        about: ids of the concerns that the turn counted for.
    """

    number: int
    step: Step
    evidence: tuple[float, ...]
    revealed: tuple[str, ...]
    address_evidence: float
    hit: bool
    addressed: bool
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The course of one conversation.

    Attributes:
        concerns: ids of the hidden concerns.
        primary: id of the primary concern; None where the case doesn't say which it is.
        revealed_at: concern → number of the clinician turn (from 1) that revealed it; the others stayed hidden.
        addressed_at: number of the clinician turn at which the primary concern was addressed; None if it never was.
        history: the state after each clinician turn.
    """

    concerns: tuple[str, ...]
    primary: str | None
    revealed_at: Mapping[str, int]
    addressed_at: int | None
    history: tuple[TurnState, ...]

    @property
    def turns(self) -> int:
        """Number of clinician turns."""
        return len(self.history)

    @property
    def blocked(self) -> int:
        """Number of blocked turns."""
        return sum(state.step.blocked for state in self.history)

    def revealed_by(self, number: int) -> int:
        """Number of concerns revealed by a clinician turn (from 1), or by the end where that is earlier."""
        return sum(at <= number for at in self.revealed_at.values())


def replay(steps: Sequence[Step], concerns: Sequence[str], primary: str | None, parameters: Parameters) -> Trace:
    """Run the latent policy over the turns: :meth:`Policy.step`, one after the other.

    Args:
        steps: the clinician turns in order.
        concerns: ids, in the order of each step's ``reveal``.
        primary: id of the concern that can be addressed; without one none is.
        parameters: thresholds and decays.
    """
    policy = Policy(parameters, tuple(concerns), primary)
    state = policy.start()
    history = []
    for step in steps:
        state = policy.step(state, step)
        history.append(
            TurnState(
                state.number,
                step,
                tuple(state.evidence),
                state.revealed_now,
                state.address_evidence,
                not step.blocked and state.hits > 0,
                state.addressed_at is not None,
                () if step.blocked else tuple(state.about),
            )
        )
    return Trace(policy.concerns, primary, state.revealed_at, state.addressed_at, tuple(history))


def trace(
    transcript: Transcript, concerns: Sequence[Concern], labels: Mapping[int, ConcernTurnLabels], parameters: Parameters
) -> Trace:
    """The trace of a labelled conversation.

    Args:
        transcript: the conversation.
        concerns: its hidden concerns.
        labels: by turn index, of every clinician turn.
        parameters: weights and thresholds.

    Raises:
        DataError: there is no clinician turn, one without labels (a trace can't skip a turn), or turns count for
            what they are about, and the language isn't English.
    """
    turns = list(transcript.of("clinician"))
    if not turns:
        raise DataError("no clinician turn")
    lacking = [turn.index for turn in turns if turn.index not in labels]
    if lacking:
        some = ", ".join(map(str, lacking[:3])) + (", …" if len(lacking) > 3 else "")
        raise DataError(f"no labels of {len(lacking)} of the {len(turns)} clinician turns ({some})")
    texts = [turn.text for turn in turns]
    why = not_english(" ".join(texts), transcript.language) if parameters.reveal.credit is not None else None
    if why is not None:
        raise DataError(f"what a turn is about is told by words {why}")
    steps = [
        turn_step(turn.index, turn.text, labels[turn.index], texts[:place], concerns=concerns, parameters=parameters)
        for place, turn in enumerate(turns)
    ]
    return replay(steps, [concern.id for concern in concerns], primary_of(concerns), parameters)


# -- Labelled turns of conversations --------------------------------------------------------------------


class LabelledTurn(Strict):
    """What a clinician turn did for one hidden concern."""

    case: Text = Field(description="The conversation; its rows are kept together in cross-validation.")
    turn: Index = Field(description="Position of the clinician turn; rows of a case are put in this order.")
    concern: Text = Field(description="Id of the concern.")
    category: Category = Field(description="The concern's category.")
    z: Features = Field(description="The turn's ten features.")
    o: Share = Field(description="The turn's overlap with the concern.")
    intent: Intent | None = Field(None, description="The turn's intent; meta_probe blocks the turn.")
    counts: Bit = Field(1, description="1 where the turn is about the concern, so that its evidence counts, else 0.")
    revealed: Bit = Field(description="1 where the patient discloses the concern in reply to this turn, else 0.")
    addressed: Bit | None = Field(
        None,
        description="Of the primary concern: 1 where it is addressed with this turn, else 0. Left out for other "
        "concerns.",
    )


def read_turns(path: str | os.PathLike[str]) -> tuple[LabelledTurn, ...]:
    """Read labelled turns from JSON lines or a JSON array.

    Raises:
        InputError: a row is not of the form of :class:`LabelledTurn`; file, line and key are named.
    """
    rows = file_records(Path(path), "file of labelled turns")
    return tuple(row.to_model(LabelledTurn, "see docs/suites/medconceal.md") for row in rows)


class LabelledCourse:
    """One case: its rows as a table of turns by concerns.

    Raises:
        DataError: the rows don't fit together.
    """

    def __init__(self, case: str, rows: Sequence[LabelledTurn]) -> None:
        self.case = case
        self.concerns: list[str] = list(dict.fromkeys(row.concern for row in rows))
        self.turns: list[int] = sorted({row.turn for row in rows})
        table = {(row.turn, row.concern): row for row in rows}
        if len(table) < len(rows):
            raise DataError(
                "there are two rows of one turn and concern", where=f"case {case!r}", todo="keep one of them"
            )
        if len(table) < len(self.turns) * len(self.concerns):
            raise DataError(
                "not every concern has a row for every turn", where=f"case {case!r}", todo="give all turns of a case"
            )
        self.rows: list[list[LabelledTurn]] = [
            [table[turn, concern] for concern in self.concerns] for turn in self.turns
        ]
        for turn, row in zip(self.turns, self.rows, strict=True):
            if any((label.z, label.intent) != (row[0].z, row[0].intent) for label in row):
                raise DataError(
                    f"turn {turn} has different features or intents for different concerns",
                    where=f"case {case!r}",
                    todo="a turn has one z",
                )
        marked = {row.concern for row in rows if row.addressed is not None}
        if len(marked) > 1:
            raise DataError(
                "two concerns have 'addressed' labels", where=f"case {case!r}", todo="label the primary concern only"
            )
        self.primary: str | None = marked.pop() if marked else None

    @property
    def primary_category(self) -> CategoryName | None:
        """The category of the primary concern; None where no concern is marked by labels of its address."""
        if self.primary is None:
            return None
        return self.rows[0][self.concerns.index(self.primary)].category

    def blocked(self, place: int, parameters: Parameters) -> bool:
        """Whether a turn, by its place, is blocked."""
        row = self.rows[place][0]
        return is_blocked(row.z, row.intent, parameters)

    def revealed_at(self, concern: str) -> int:
        """Number of the turn (from 1) labelled as disclosing the concern; one after the last where none is."""
        place = self.concerns.index(concern)
        return next(
            (number for number, row in enumerate(self.rows, start=1) if row[place].revealed), len(self.turns) + 1
        )

    def addressed_at(self) -> int:
        """The same of the turn labelled as addressing the primary concern."""
        assert self.primary is not None
        place = self.concerns.index(self.primary)
        return next(
            (number for number, row in enumerate(self.rows, start=1) if row[place].addressed), len(self.turns) + 1
        )

    def reveal_errors(self, trace: Trace) -> list[int]:
        """For each concern the difference in turns between trace and labels."""
        late = len(self.turns) + 1
        return [abs(trace.revealed_at.get(concern, late) - self.revealed_at(concern)) for concern in self.concerns]

    def address_errors(self, trace: Trace) -> list[int]:
        """The same for the address of the primary concern."""
        late = len(self.turns) + 1
        return [abs((late if trace.addressed_at is None else trace.addressed_at) - self.addressed_at())]

    def steps(self, parameters: Parameters) -> list[Step]:
        """What the turns bring to a policy with these weights."""
        return [
            Step(
                turn,
                self.blocked(place, parameters),
                tuple(reveal_probability(feature_values(each), each.o, each.category, parameters) for each in row),
                address_probability(feature_values(row[0]), self.primary_category, parameters),
                None if parameters.reveal.credit is None else _labelled_topic(row),
            )
            for place, (turn, row) in enumerate(zip(self.turns, self.rows, strict=True))
        ]

    def replayed(self, steps: Sequence[Step], parameters: Parameters) -> Trace:
        """The trace of these steps under a policy's thresholds."""
        return replay(steps, self.concerns, self.primary, parameters)


def _labelled_topic(row: Sequence[LabelledTurn]) -> TurnTopic:
    named = tuple(bool(label.counts) for label in row)
    return TurnTopic(named, open=False, void="" if any(named) else "asks for nothing")


def feature_values(row: LabelledTurn) -> tuple[float, ...]:
    """The ten features of a turn, in order."""
    return tuple(row.z.model_dump().values())


def labelled_courses(rows: Iterable[LabelledTurn]) -> list[LabelledCourse]:
    """The cases that rows are of, in the order of their first rows.

    Raises:
        DataError: rows of a case don't fit together.
    """
    by_case: dict[str, list[LabelledTurn]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    return [LabelledCourse(case, case_rows) for case, case_rows in by_case.items()]


def turn_rows(transcript: Transcript, parameters: Parameters) -> Iterator[LabelledTurn]:
    """A row for each clinician turn and hidden concern of a simulated conversation.

    Features and overlap are those that the patient went by; ``revealed`` and ``addressed`` are what the policy made of
    them, for somebody who reads the conversation to correct.

    Args:
        transcript: a conversation with the labels by which it was simulated.
        parameters: those that the patient went by.

    Raises:
        DataError: it was not simulated by labels of its turns or not with these parameters, or the labels are not
            there.
    """
    rater = turn_rater(transcript)
    if rater is None:
        raise DataError(
            f"conversation {transcript.id!r} was not simulated by labels of its turns",
            todo="name a simulation of medconceal",
        )
    simulated = simulation_of(transcript).get("parameters")
    if isinstance(simulated, Mapping) and simulated.get("sha256") != parameters.digest():
        raise DataError(
            f"in conversation {transcript.id!r} the patient went by the parameters {simulated.get('name')}, and these "
            f"are {parameters.name}, or another state of them",
            todo="name the patient's with `parameters`",
        )
    concerns = concerns_of(transcript)
    labels = rater_labels(transcript, rater).turns
    course = trace(transcript, concerns, labels, parameters)
    for state in course.history:
        turn = transcript.turns[state.step.turn]
        words = content(turn.text)
        for concern in concerns:
            addressed = None
            if concern.id == course.primary:
                addressed = int(course.addressed_at == state.number)
            yield LabelledTurn(
                case=transcript.id,
                turn=turn.index,
                concern=concern.id,
                category=concern.category,
                z=labels[turn.index].z,
                o=overlap(words, content(concern.text)),
                intent=labels[turn.index].intent,
                counts=int(concern.id in state.about),
                revealed=int(course.revealed_at.get(concern.id) == state.number),
                addressed=addressed,
            )
