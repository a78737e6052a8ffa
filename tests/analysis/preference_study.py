"""A study in which raters choose between two conversations, made with known strengths, taste for a place and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import pair_unit, rates_pair
from bedside.ratings.rubric_metrics import SHARES, preference_metric
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of

SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)
LABEL_OF = {share: label for label, share in SHARES.items()}


@dataclass(frozen=True)
class Chooser:
    """A rater: its taste for the first place (log-odds), how many ties, passes, one order or both, levels or not."""

    name: str
    place: float = 0.0
    ties: float = 0.2
    passes: int = 1
    both_orders: bool = True
    levels: bool = True


@dataclass
class PreferenceStudy:
    """Rows of a ratings table, gathered."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def level(self, name: str, system: str, case: str, rater: str, value: float) -> None:
        self.rows.append((name, system, case, "transcript", "empathy", rater, 0, value, None, None, None))

    def tell(self, name: str, system: str, case: str | None) -> None:
        """Whose a conversation is that is never shown first: a run knows it, ratings alone by a rating of it."""
        self.rows.append((name, system, case, "transcript", "smog", "algorithm:r@1", 0, 9.0, None, None, None))

    def prefer(
        self, first: tuple[str, str, str | None], second: str, rater: str, share: float | None, replicate: int = 0,
        rubric: str = "empathy",
    ) -> None:  # fmt: skip
        """A preference; ``first`` is (transcript, system, case)."""
        label = None if share is None else LABEL_OF[share]
        error = None if share is not None else "no reply"
        metric = preference_metric(rubric)
        self.rows.append((*first, pair_unit(second), metric, rater, replicate, share, label, None, error))

    def view(self, scale: Scale | None = SCALE) -> RatingsView:
        table = frame_of(self.rows)
        of_pairs = table.select(rates_pair()).to_series()
        scales = {} if scale is None else {"empathy": scale}
        return RatingsView(table.filter(~of_pairs), scales, None, "the run", preferences=table.filter(of_pairs))


def simulated_study(
    strengths: Mapping[str, float], raters: Sequence[Chooser], *, cases: int = 24, spread: float = 0.5, seed: int = 0
) -> PreferenceStudy:  # fmt: skip
    """Each rater compares the conversations of each two systems on each case."""
    rng = np.random.default_rng(seed)
    study = PreferenceStudy()
    for case in range(cases):
        quality = {system: strength + rng.normal(0, spread) for system, strength in strengths.items()}
        for rater in raters:
            if rater.levels:
                for system, value in quality.items():
                    level = float(np.clip(round(3 + value + rng.normal(0, 0.3)), 1, 5))
                    study.level(f"{system}-{case}", system, f"case {case}", rater.name, level)
            for a in strengths:
                for b in strengths:
                    if a == b or (not rater.both_orders and (a > b) == (case % 2 == 0)):
                        continue
                    for replicate in range(rater.passes):
                        tie = rng.random() < rater.ties
                        won = float(rng.random() < expit(quality[a] - quality[b] + rater.place))
                        study.prefer(
                            (f"{a}-{case}", a, f"case {case}"), f"{b}-{case}", rater.name,
                            0.5 if tie else won, replicate,
                        )  # fmt: skip
    return study
