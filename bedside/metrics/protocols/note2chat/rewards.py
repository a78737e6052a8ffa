"""The reward of a whole dialogue among the candidate dialogues of its case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bedside.metrics.protocols.contract import Measured
from bedside.metrics.protocols.note2chat.history import History, K

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
            rewards.append(
                dialogue_reward(recall, best, case.rank, case.messages, alpha=alpha, k=k, outside=outside)
            )
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
