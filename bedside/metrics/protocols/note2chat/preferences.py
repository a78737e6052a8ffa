"""Preference pairs from rewarded dialogues, in TRL's conversational preference format.

There are two rules. ``paper``: the reward of the publication, and dialogues far above its mean paired with those far
below. ``code``: what the released code does, recall times the diagnosis's place, and one pair a case, drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bedside.core.errors import InputError
from bedside.metrics.protocols.label_files import Measured
from bedside.metrics.protocols.note2chat.history import History, K, history
from bedside.metrics.protocols.note2chat.labels import label_raters, rater_labels
from bedside.transcripts.transcript import Role, Transcript

# -- The reward of a whole dialogue among the candidate dialogues of its case ---------------------------

#: What becomes 0 where the true diagnosis is not among the first K: the whole reward, or its middle term.
Outside = Literal["reward", "term"]


def dialogue_reward(
    recall: float,
    best_recall: float,
    rank: int | None,
    messages: int,
    *,
    alpha: float,
    k: int = K,
    outside: Outside = "reward",
) -> Measured:
    """``recall + (recall / best_recall) · (1 − rank / k) − alpha · messages / 2``.

    Args:
        recall: of this dialogue, 0 to 1.
        best_recall: the highest recall among the case's candidate dialogues.
        rank: position of the true diagnosis among the candidates, from 0; None where it is not among them.
        messages: number of messages.
        alpha: price of an exchange; it must be given, since the source's value is not part of this package.
        k: candidates that count.
        outside: where the diagnosis is not among the first ``k``, ``"reward"`` makes the whole reward 0 (the
            source's sentence), ``"term"`` only the middle term (the other reading).

    Missing where every candidate's recall is 0 and the ratio to the best is needed.
    """
    if rank is None or rank >= k:
        return Measured(0.0 if outside == "reward" else recall - alpha * messages / 2)
    if best_recall == 0:
        return Measured(missing="no candidate dialogue elicits a finding")
    return Measured(recall + recall / best_recall * (1 - rank / k) - alpha * messages / 2)


def dialogue_rewards(
    candidates: Sequence[History], *, alpha: float, k: int = K, outside: Outside = "reward"
) -> tuple[Measured, ...]:
    """The rewards of the candidate dialogues of one case, in their order.

    Missing for a dialogue without recall or without a judged rank; the best recall is that of the others.
    """
    recalls = [case.recall.value for case in candidates]
    best = max((recall for recall in recalls if recall is not None), default=0.0)
    rewards = []
    for case, recall in zip(candidates, recalls, strict=True):
        if recall is None:
            rewards.append(Measured(missing=case.recall.missing))
        elif not case.ranked:
            rewards.append(Measured(missing="no label of the diagnosis's rank"))
        else:
            rewards.append(dialogue_reward(recall, best, case.rank, case.messages, alpha=alpha, k=k, outside=outside))
    return tuple(rewards)


def ranked_recalls(candidates: Sequence[History], *, k: int = K) -> tuple[Measured, ...]:
    """``recall · (k − rank) / k`` of each dialogue, 0 where the diagnosis is not among the first ``k``.

    It is how the released code rewards dialogues: without the price of an exchange, and without a comparison with the
    best. Missing for a dialogue without recall or without a judged rank.
    """
    rewards = []
    for case in candidates:
        if case.recall.value is None:
            rewards.append(Measured(missing=case.recall.missing))
        elif not case.ranked:
            rewards.append(Measured(missing="no label of the diagnosis's rank"))
        else:
            within = case.rank is not None and case.rank < k
            rewards.append(Measured(case.recall.value * (k - (case.rank or 0)) / k if within else 0.0))
    return tuple(rewards)


# -- The best of several interviews of a case -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BestRollouts:
    """The best interview of each case.

    Attributes:
        best: one of each case that has any, in the order of the cases.
        left_out: (case or transcript, reason) of what gave none.
    """

    best: tuple[Transcript, ...]
    left_out: tuple[tuple[str, str], ...]


def best_rollouts(
    transcripts: Iterable[Transcript], *, require_correct: bool = True, rater: str | None = None
) -> BestRollouts:
    """The interview of each case with the highest recall, less 1 where the true diagnosis is not among its candidates.

    Of equal ones the first. The released code takes an interview without the true diagnosis where every one of a case
    is; the publication takes correct ones only.

    Args:
        transcripts: labelled ones, several of a case.
        require_correct: whether only those with the true diagnosis among the first five candidates can be best.
        rater: whose labels count; the only rater of each transcript unless named.
    """
    best: dict[str, tuple[float, Transcript] | None] = {}
    left_out: list[tuple[str, str]] = []
    for transcript in transcripts:
        if transcript.case_id is None:
            left_out.append((transcript.id, "no case"))
            continue
        best.setdefault(transcript.case_id, None)
        score = _score(transcript, rater)
        if isinstance(score, str):
            left_out.append((transcript.id, score))
            continue
        recall, correct = score
        if require_correct and not correct:
            continue
        value = recall - (0.0 if correct else 1.0)
        leader = best[transcript.case_id]
        if leader is None or value > leader[0]:
            best[transcript.case_id] = (value, transcript)
    reason = "no interview names the true diagnosis" if require_correct else "no interview can be judged"
    left_out += [(case, reason) for case, leader in best.items() if leader is None]
    return BestRollouts(tuple(leader[1] for leader in best.values() if leader is not None), tuple(left_out))


def _score(transcript: Transcript, rater: str | None) -> tuple[float, bool] | str:
    """Recall, and whether the true diagnosis is among the candidates; or why that isn't known."""
    raters = [name for name in label_raters(transcript) if rater in (None, name)]
    if len(raters) != 1:
        return f"{len(raters)} raters' labels, one is needed"
    outcome = history(transcript, rater_labels(transcript, raters[0]))
    if isinstance(outcome, str):
        return outcome
    if outcome.recall.value is None:
        return outcome.recall.missing or "no recall"
    if not outcome.ranked:
        return "no label of the diagnosis's rank"
    return outcome.recall.value, outcome.rank is not None and outcome.rank < K


# -- Preference pairs from rewarded dialogues -----------------------------------------------------------

#: Low dialogues paired with each high one, at most.
LOWS = 2
#: Where rewards and pairs come from: the publication, or the code that was released with it.
Rule = Literal["paper", "code"]
RULES: tuple[Rule, ...] = get_args(Rule)

_TRL_ROLES: Mapping[Role, str] = {"clinician": "assistant", "patient": "user", "other": "system"}

#: A message as TRL has it: role (system, user, assistant) and content.
Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One dialogue of a case with its reward; None where it is missing."""

    transcript: Transcript
    reward: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A dialogue preferred to another of the same case.

    Attributes:
        case: the case's id.
        chosen_id, rejected_id: the transcripts.
        chosen_reward, rejected_reward: their rewards.
        prompt: the messages both begin with, up to a message of the patient.
        chosen, rejected: the messages that follow it in each.
    """

    case: str
    chosen_id: str
    rejected_id: str
    chosen_reward: float
    rejected_reward: float
    prompt: tuple[Message, ...]
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Preferences:
    """All pairs, and what gave none.

    Attributes:
        pairs: in the order of the cases and of the dialogues in them.
        left_out: (case, reason) of cases and pairs that gave nothing.
    """

    pairs: tuple[Pair, ...]
    left_out: tuple[tuple[str, str], ...]


def rewarded(
    transcripts: Iterable[Transcript],
    *,
    alpha: float | None = None,
    rater: str | None = None,
    outside: Outside | None = None,
    rule: Rule = "paper",
) -> tuple[dict[str, list[Candidate]], tuple[tuple[str, str], ...]]:
    """Candidate dialogues by case, each with its reward by one rater's labels.

    Args:
        transcripts: labelled ones; those of one ``case_id`` are candidates of each other.
        alpha, outside: see :func:`dialogue_rewards`; of the rule ``paper``, which needs the first, and takes
            ``"reward"`` as the second unless it is named.
        rater: whose labels count; the only rater of each transcript unless named.
        rule: ``paper`` for :func:`dialogue_rewards`, ``code`` for :func:`ranked_recalls`.

    Returns:
        The candidates, and (transcript, reason) of those that have none.

    Raises:
        InputError: the rule wants ``alpha``, or doesn't know what is named.
    """
    if rule == "code":
        for name, value in (("alpha", alpha), ("outside", outside)):
            if value is not None:
                raise InputError(
                    "the rule code doesn't know it", where=f"`{name}`", todo="leave it out, or use the rule paper"
                )
    if rule == "paper" and alpha is None:
        raise InputError(
            "the rule paper needs the price of an exchange", where="`alpha`", todo="name it, or use the rule code"
        )
    by_case: dict[str, list[tuple[Transcript, History]]] = {}
    left_out: list[tuple[str, str]] = []
    for transcript in transcripts:
        raters = [name for name in label_raters(transcript) if rater in (None, name)]
        if transcript.case_id is None or len(raters) != 1:
            reason = "no case" if transcript.case_id is None else f"{len(raters)} raters' labels, one is needed"
            left_out.append((transcript.id, reason))
            continue
        outcome = history(transcript, rater_labels(transcript, raters[0]))
        if isinstance(outcome, str):
            left_out.append((transcript.id, outcome))
        else:
            by_case.setdefault(transcript.case_id, []).append((transcript, outcome))
    candidates: dict[str, list[Candidate]] = {}
    for case, members in by_case.items():
        outcomes = [outcome for _, outcome in members]
        rewards = (
            ranked_recalls(outcomes)
            if alpha is None
            else dialogue_rewards(outcomes, alpha=alpha, outside=outside or "reward")
        )
        candidates[case] = []
        for (transcript, _), reward in zip(members, rewards, strict=True):
            candidates[case].append(Candidate(transcript, reward.value))
            if reward.value is None:
                left_out.append((transcript.id, reward.missing or "no reward"))
    return candidates, tuple(left_out)


def preference_pairs(
    cases: Mapping[str, Sequence[Candidate]],
    *,
    seed: int | np.random.Generator,
    lows: int = LOWS,
    rule: Rule = "paper",
    margin: float = 0.0,
) -> Preferences:
    """Pairs of a better and a worse dialogue of the same case.

    By the rule ``paper``, high is a reward over mean + standard deviation of the case's rewards, low one under mean −
    standard deviation (the sample's, with n − 1), and each high dialogue is paired with up to ``lows`` low ones, drawn
    without replacement. By the rule ``code``, one of all pairs of different rewards is drawn. A dialogue is never
    paired with one that says the same.

    Args:
        cases: the candidate dialogues of each case; those without a reward don't count.
        seed: seed or generator of the draw.
        lows: low dialogues for each high one, by the rule ``paper``.
        rule: which.
        margin: a pair counts where the rewards differ by more.

    Raises:
        InputError: the margin is below 0.
    """
    if not margin >= 0:
        raise InputError(f"`margin` must be 0 or more, and is {margin!r}")
    draw = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    pairs: list[Pair] = []
    left_out: list[tuple[str, str]] = []
    for case, candidates in cases.items():
        rewarded = [
            (candidate.transcript, candidate.reward) for candidate in candidates if candidate.reward is not None
        ]
        if len(rewarded) < 2:
            left_out.append((case, f"{len(rewarded)} dialogues with a reward; two are needed"))
            continue
        matched = _apart(rewarded, draw, lows) if rule == "paper" else _drawn(rewarded, draw, margin)
        if isinstance(matched, str):
            left_out.append((case, matched))
            continue
        for better, worse in matched:
            pair = _pair(case, better, worse, margin)
            if isinstance(pair, str):
                left_out.append((case, pair))
            else:
                pairs.append(pair)
    return Preferences(tuple(pairs), tuple(left_out))


#: A dialogue with its reward.
_Rewarded = tuple[Transcript, float]


def _apart(
    rewarded: Sequence[_Rewarded], draw: np.random.Generator, lows: int
) -> list[tuple[_Rewarded, _Rewarded]] | str:
    """High dialogues with low ones; or why there are none."""
    rewards = np.array([reward for _, reward in rewarded])
    middle, deviation = float(rewards.mean()), float(rewards.std(ddof=1))
    high = [(talk, reward) for talk, reward in rewarded if reward > middle + deviation]
    low = [(talk, reward) for talk, reward in rewarded if reward < middle - deviation]
    if not high or not low:
        return f"no dialogue is {'high' if not high else 'low'} enough"
    return [
        (better, low[place])
        for better in high
        for place in sorted(draw.choice(len(low), size=min(lows, len(low)), replace=False).tolist())
    ]


def _drawn(
    rewarded: Sequence[_Rewarded], draw: np.random.Generator, margin: float
) -> list[tuple[_Rewarded, _Rewarded]] | str:
    """One of all pairs whose rewards differ enough; or why there is none."""
    ordered = [(better, worse) for better in rewarded for worse in rewarded if better[1] - worse[1] > margin]
    if not ordered:
        return "no two dialogues differ enough in their reward"
    return [ordered[int(draw.integers(len(ordered)))]]


def _pair(case: str, better: _Rewarded, worse: _Rewarded, margin: float) -> Pair | str:
    """Two dialogues as a pair; or why they are none."""
    names = f"{better[0].id} and {worse[0].id}"
    if better[1] - worse[1] <= margin:
        return f"the rewards of {names} differ by no more than {margin:g}"
    parts = _parts(_messages(better[0]), _messages(worse[0]))
    if parts is None:
        return f"{names} don't begin with the same message of the patient"
    if parts[1] == parts[2]:
        return f"{names} say the same"
    return Pair(case, better[0].id, worse[0].id, better[1], worse[1], *parts)


def _messages(transcript: Transcript) -> tuple[Message, ...]:
    return tuple({"role": _TRL_ROLES[turn.role], "content": turn.text} for turn in transcript.turns)


def _parts(
    better: tuple[Message, ...], worse: tuple[Message, ...]
) -> tuple[tuple[Message, ...], tuple[Message, ...], tuple[Message, ...]] | None:
    """The longest common beginning that ends with the patient and leaves both something, and the two rests."""
    common = 0
    for first, second in zip(better, worse, strict=False):
        if first != second:
            break
        common += 1
    common = min(common, len(better) - 1, len(worse) - 1)
    while common > 0 and better[common - 1]["role"] != "user":
        common -= 1
    return (better[:common], better[common:], worse[common:]) if common > 0 else None


def pair_record(pair: Pair) -> dict[str, Any]:
    """A pair as an object for TRL, with the margin of the rewards and the ids beside."""
    return {
        "prompt": pair.prompt,
        "chosen": pair.chosen,
        "rejected": pair.rejected,
        "margin": pair.chosen_reward - pair.rejected_reward,
        "case": pair.case,
        "chosen_id": pair.chosen_id,
        "rejected_id": pair.rejected_id,
    }
