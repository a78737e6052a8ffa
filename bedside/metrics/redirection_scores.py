"""Redirection and likelihood of a session's turns under a language model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bedside.metrics.models.dialogue import LABELS, SEPARATOR, Speech, speeches
from bedside.transcripts.transcript import Role, Transcript

if TYPE_CHECKING:
    from bedside.metrics.models.likelihood import Likelihood


def redirection_score(after_turn: float, after_previous: float) -> float:
    """The score, of the log-probabilities of the patient's answer after the turn and after the previous one."""
    return log_odds(after_turn) - log_odds(after_previous)


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """A clinician's speech with its score.

    Attributes:
        speech: the speech; the last of its turns carries the score.
        answer: what the patient says after it.
        score: the redirection.
        remark: what was cut to fit the model's window; None where nothing was.
    """

    speech: Speech
    answer: Speech
    score: float
    remark: str | None = None

    @property
    def turn(self) -> int:
        return self.speech.turns[-1]


@dataclass(slots=True)
class SessionRedirections:
    """The scores of a session in order, and for the other clinician turns why there is none."""

    scored: list[ScoredTurn] = field(default_factory=list)
    without: dict[int, str] = field(default_factory=dict)


def score_turns(transcript: Transcript, likelihood: Likelihood, window: int) -> SessionRedirections:
    """The redirection of each clinician turn.

    Turns that follow one another are scored as one, at the last of them. Where the three turns are more than the
    window, the patient's earlier turn is cut from the left, alike in both contexts; where the rest alone is more, there
    is no score.

    Args:
        transcript: the session.
        likelihood: the model.
        window: the most tokens that the model is given at once.
    """
    from bedside.metrics.models.likelihood import Continuation

    redirections = SessionRedirections()
    all_speeches = speeches(transcript)
    for turn in transcript.of("clinician"):
        if not turn.text.strip():
            redirections.without[turn.index] = "the turn is empty"
    scored_speeches: list[tuple[Speech, Speech, str | None]] = []
    groups: list[tuple[Continuation, Continuation]] = []
    tokens = [likelihood.encode(speech.line + SEPARATOR) for speech in all_speeches]
    for place, speech in enumerate(all_speeches):
        if speech.role != "clinician":
            continue
        *first, last = speech.turns
        redirections.without |= dict.fromkeys(first, f"said in one go with turn {last}, which has the score")
        if place + 1 == len(all_speeches):
            redirections.without[last] = "no patient turn follows"
        elif place < 2:
            redirections.without[last] = "no clinician turn and patient turn before it"
        else:
            answer = likelihood.encode(all_speeches[place + 1].line)
            room = window - len(likelihood.start) - len(answer)
            room -= max(len(tokens[place]), len(tokens[place - 2]))
            before, remark = tokens[place - 1], None
            if room < 0:
                need = window - room
                redirections.without[last] = (
                    f"{need} tokens, more than the {window} that the model is given at once"
                )
                continue
            if len(before) > room:
                remark = (
                    f"of the patient turn before it the first {len(before) - room} of {len(before)} tokens were "
                    "cut"
                )
                before = before[len(before) - room :]
            stem = [*likelihood.start, *before]
            scored_speeches.append((speech, all_speeches[place + 1], remark))
            groups.append(
                (
                    Continuation([*stem, *tokens[place]], answer),
                    Continuation([*stem, *tokens[place - 2]], answer),
                )
            )
    for (speech, after, remark), pair in zip(scored_speeches, likelihood.weigh(groups), strict=True):
        score = redirection_score(*(float(values.sum()) for values in pair))
        redirections.scored.append(ScoredTurn(speech, after, score, remark))
    return redirections


def turn_likelihoods(
    transcript: Transcript, likelihood: Likelihood, window: int
) -> tuple[dict[Role, tuple[float, int]], str | None]:
    """The sum of the log-probabilities of each role's tokens, their number, and a remark on long sessions.

    Speakers' labels and what ends a turn are not counted. In a session of more tokens than the window, every token is
    weighed after at least half a window of what came before.
    """
    from bedside.metrics.models.likelihood import Continuation, common

    tokens: list[int] = []
    counted: list[Role | None] = []
    for speech in speeches(transcript):
        line = likelihood.encode(speech.line)
        whole = likelihood.encode(speech.line + SEPARATOR)
        label = common([likelihood.encode(LABELS[speech.role]), line])
        tokens += whole
        counted += [speech.role if label <= place < len(line) else None for place in range(len(whole))]
    if not tokens:
        return {}, None
    room = window - len(likelihood.start)
    # Without a start token nothing stands before the first token, which belongs to a label.
    weighed, start = (0, 0) if likelihood.start else (1, 0)
    groups = []
    while weighed < len(tokens):
        end = min(start + room, len(tokens))
        groups.append([Continuation([*likelihood.start, *tokens[start:weighed]], tokens[weighed:end])])
        weighed, start = end, end - room // 2
    skipped = 0 if likelihood.start else 1
    totals: dict[Role, tuple[float, int]] = {}
    values = (value for (part,) in likelihood.weigh(groups) for value in part)
    for role, value in zip(counted[skipped:], values, strict=True):
        if role is not None:
            total, count = totals.get(role, (0.0, 0))
            totals[role] = (total + float(value), count + 1)
    remark = None
    if len(tokens) > room:
        remark = (
            f"{len(tokens)} tokens; after the first {room} each is seen after at least {room // 2} others"
        )
    return totals, remark


#: A probability nearer to 1 than this can't be told from 1 with numbers of 32 bits.
_NEAR = 2.0**-23


def log_odds(log_probability: float) -> float:
    """The natural logarithm of p / (1 − p), of a probability given as log p.

    Worked out in log space: neither a p that is too small to be a number nor one next to 1 overflows. A p nearer to 1
    than 2⁻²³ is taken to be that near.
    """
    bounded = min(log_probability, -_NEAR)
    # log(1 − p), by whichever of the two forms keeps its digits.
    log_complement = (
        math.log(-math.expm1(bounded)) if bounded > -math.log(2) else math.log1p(-math.exp(bounded))
    )
    return bounded - log_complement
