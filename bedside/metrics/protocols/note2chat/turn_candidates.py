"""Single messages that a doctor could have said next, their rewards, and pairs of a better and a worse one.

An asking message has the reward 1 or 0, a diagnosing one ``(5 − rank) / 5 · recall / generated recall``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import Field

from bedside.core.errors import InputError
from bedside.metrics.protocols.label_files import Measured, Strict
from bedside.metrics.protocols.note2chat.history import K
from bedside.metrics.protocols.note2chat.preferences import Pair

#: What an asking message is rewarded for: that its answer tells a new finding, or that it was not answered before and
#: the note answers it.
TurnReward = Literal["finding", "answerable"]
TURN_REWARDS: tuple[TurnReward, ...] = get_args(TurnReward)
#: Pairs of one turn at most: the best candidate with the worst diagnosing and with the worst asking one.
MOST_PAIRS = 2


class TurnCandidate(Strict):
    """One message that was written for a turn, and what was found of it.

    Attributes:
        number: of the candidate, from 1.
        message, thought: what was written; a model that doesn't think aloud has no thought.
        kind: whether it asks or gives the diagnosis; None where that isn't known.
        reward: None where it isn't known.
        missing: why it isn't.
        answer, findings: what the patient replies, and the findings that this tells for the first time.
        answered, answerable: whether the question was answered before, and whether the note answers it.
        diagnoses, rank: the ranking, and the true diagnosis's position in it, from 0; None where it isn't in it.
        flags: what is wrong with the message.
    """

    number: int
    message: str
    thought: str = ""
    kind: Literal["asking", "diagnosing"] | None = None
    reward: float | None = None
    missing: str = ""
    answer: str = ""
    findings: tuple[str, ...] = ()
    answered: bool | None = None
    answerable: bool | None = None
    diagnoses: tuple[str, ...] = ()
    rank: int | None = None
    flags: tuple[str, ...] = ()


class CandidateTurn(Strict):
    """A turn of the doctor with its candidates.

    Attributes:
        turn: index of the message in the interview, which the candidates stand in for.
        prompt: what the doctor was asked, as messages of role and content.
        recall: share of the findings that count which were told before the turn, 0 to 1; None where none count.
        candidates: what was written.
    """

    turn: int
    prompt: tuple[dict[str, str], ...]
    recall: float | None
    candidates: tuple[TurnCandidate, ...]


class CandidateInterview(Strict):
    """The turns of an interview with their candidates.

    Attributes:
        id, case, language: of the interview.
        reward: what asking messages were rewarded for.
        generated_recall: recall of the interview that was written from the case's note, 0 to 1; None where it isn't
            known.
        origin, licence: of the note.
        turns: those that candidates were written for.
    """

    id: str
    case: str
    language: str
    reward: TurnReward
    generated_recall: float | None
    origin: str = ""
    licence: str = ""
    turns: tuple[CandidateTurn, ...] = Field(default=())


def written_message(thought: str, message: str) -> str:
    """A message of the doctor as models are trained to write it: the thought in its marks, and the words."""
    return f"<think>\n{thought.strip()}\n</think>\n\n{message}" if thought.strip() else message


def diagnosing_reward(
    rank: int | None, recall: float | None, generated_recall: float | None, *, k: int = K
) -> Measured:
    """``(k − rank) / k · recall / generated_recall``, 0 where the true diagnosis is not among the first ``k``.

    It is above 1 where more was told before the turn than in the interview that was written from the note.

    Args:
        rank: position of the true diagnosis in the ranking, from 0; None where it is not in it.
        recall: share of the findings that were told before, 0 to 1.
        generated_recall: recall of the interview that was written from the note, 0 to 1.
        k: candidates that count.

    Missing where a recall isn't known, or that of the written interview is 0.
    """
    if rank is None or rank >= k:
        return Measured(0.0)
    if recall is None:
        return Measured(missing="no finding counts")
    if generated_recall is None:
        return Measured(missing="the recall of the interview written from the case's note is not known")
    if generated_recall == 0:
        return Measured(missing="the interview written from the case's note elicits no finding")
    return Measured((k - rank) / k * recall / generated_recall)


def turn_pairs(
    interview: CandidateInterview, *, seed: int, margin: float = 0.0, most: int = MOST_PAIRS
) -> tuple[tuple[Pair, ...], tuple[tuple[str, str], ...]]:
    """Pairs of candidates of the same turn: the best with the worst diagnosing and with the worst asking one.

    Of candidates with equal rewards one is drawn. A turn whose best reward is 0 gives none, and a text is never paired
    with itself.

    Args:
        interview: the candidates with their rewards; those without one don't count.
        seed: of the draws; what is drawn for a turn doesn't depend on other turns.
        margin: a pair counts where the rewards differ by more.
        most: pairs of one turn at most; of two pairs one is drawn where it is 1.

    Returns:
        The pairs, and (turn, reason) of turns that give none.

    Raises:
        InputError: a number is out of range.
    """
    if not margin >= 0:
        raise InputError(f"`margin` must be 0 or more, and is {margin!r}")
    if isinstance(most, bool) or most not in range(1, MOST_PAIRS + 1):
        raise InputError(f"`max_pairs_per_turn` must be 1 to {MOST_PAIRS}, and is {most!r}")
    pairs: list[Pair] = []
    left_out: list[tuple[str, str]] = []
    for turn in interview.turns:
        name = f"{interview.id}, turn {turn.turn}"
        matched = _matched(turn.candidates, random.Random(f"{seed}\n{name}"), margin, most)
        if isinstance(matched, str):
            left_out.append((name, matched))
        else:
            pairs += (_pair(interview, turn, better, worse) for better, worse in matched)
    return tuple(pairs), tuple(left_out)


#: A candidate with its reward.
_Rewarded = tuple[TurnCandidate, float]


def _matched(
    candidates: Sequence[TurnCandidate], draw: random.Random, margin: float, most: int
) -> list[tuple[_Rewarded, _Rewarded]] | str:
    """The best candidate with the worst ones; or why there is no pair."""
    rewarded = [(entry, entry.reward) for entry in candidates if entry.reward is not None]
    if len(rewarded) < 2:
        return f"{len(rewarded)} candidates with a reward; two are needed"
    top = max(reward for _, reward in rewarded)
    if top <= 0:
        return "no candidate has a reward above 0"
    best = draw.choice([entry for entry in rewarded if entry[1] == top])
    pairs = []
    for kind in ("diagnosing", "asking"):
        others = [entry for entry in rewarded if entry[0].kind == kind and _said(entry[0]) != _said(best[0])]
        bottom = min((reward for _, reward in others), default=top)
        if top - bottom > margin:
            pairs.append((best, draw.choice([entry for entry in others if entry[1] == bottom])))
    if not pairs:
        return "no two candidates differ enough in their reward"
    return pairs if len(pairs) <= most else [draw.choice(pairs)]


def _said(candidate: TurnCandidate) -> str:
    return " ".join(candidate.message.split())


def _pair(interview: CandidateInterview, turn: CandidateTurn, better: _Rewarded, worse: _Rewarded) -> Pair:
    chosen, rejected = (
        ({"role": "assistant", "content": written_message(entry.thought, entry.message)},)
        for entry, _ in (better, worse)
    )
    return Pair(
        case=interview.case,
        chosen_id=f"{interview.id}#{turn.turn}.{better[0].number}",
        rejected_id=f"{interview.id}#{turn.turn}.{worse[0].number}",
        chosen_reward=better[1],
        rejected_reward=worse[1],
        prompt=turn.prompt,
        chosen=chosen,
        rejected=rejected,
    )
