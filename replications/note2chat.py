"""Note2Chat (Zhou et al., AAAI 2026): F1 is averaged over cases, and how its reward falls with rank and length."""

from __future__ import annotations

from bedside.metrics.protocols.note2chat.preferences import dialogue_reward
from replications._figures import Figure

SOURCE = "The formula of the dialogue reward, worked out by hand; its tables need its dialogues."


def figures() -> list[Figure]:
    """The figures."""

    def reward(rank: int | None) -> float | None:
        return dialogue_reward(recall=0.6, best_recall=0.8, rank=rank, messages=20, alpha=0.01).value

    return [
        Figure("reward, recall .6 of at most .8, first rank, 20 messages, α = .01: .6 + .75 − .1", "1.25", reward(0)),
        Figure("the same, third rank: .6 + .75 · .6 − .1", ".95", reward(2)),
        Figure("the same, not among the first five", "0", reward(None)),
    ]
