"""People's ratings are split by case, seeded, and refused where they are too few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.learnt_units import unit_digests
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.tuning.label_split import LabelSplit, split_labels


def view_of(cases: int, per_case: int = 2, people: int = 2, *, drawn: bool = False, level: int = 0) -> RatingsView:
    """Ratings of ``cases × per_case`` transcripts on a scale of 1 to 5."""
    random = np.random.default_rng(5)
    rows, chances = [], []
    for case in range(cases):
        for number in range(per_case):
            for person in range(people):
                value = float(level or random.integers(1, 6))
                name = f"t{case:02}{number}"
                rows.append((name, "s", f"c{case:02}", "transcript", "empathy", f"human:{person}", 0, value,
                             None, f"because {value:g}", None))  # fmt: skip
                chances.append(0.5 if number else 0.25)
    ratings = frame_of(rows, "a round", chances if drawn else None)
    return RatingsView(ratings, {"empathy": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)}, None, "a file")


def names(split: LabelSplit) -> tuple[list[str], list[str]]:
    return [unit.transcript for unit in split.training], [unit.transcript for unit in split.held_out]


def test_no_case_is_in_both_parts_and_nothing_is_lost() -> None:
    split = split_labels(view_of(20), "empathy", share=0.4, seed=3)
    training, held_out = ({unit.case for unit in part} for part in (split.training, split.held_out))
    assert not training & held_out
    assert (len(training), len(held_out)) == (8, 12)
    assert len(split.training) + len(split.held_out) == 40


def test_the_seed_decides_and_the_order_of_rows_does_not() -> None:
    view = view_of(20)
    shuffled = replace(view, ratings=view.ratings.sample(fraction=1.0, shuffle=True, seed=1))
    orders = ((view, 1), (shuffled, 1), (view, 2))
    first, same, other = (names(split_labels(ratings, "empathy", seed=seed)) for ratings, seed in orders)
    assert first == same != other


def test_a_transcript_without_a_case_is_its_own() -> None:
    view = view_of(15)
    caseless = replace(view, ratings=view.ratings.with_columns(pl.lit(None, pl.String()).alias("case_id")))
    split = split_labels(caseless, "empathy")
    assert (len(split.training), len(split.held_out)) == (15, 15)
    assert set(split.digests()) == set(unit_digests((unit.transcript, None) for unit in split.training))


def test_the_consensus_is_the_median_and_reasons_are_kept() -> None:
    view = view_of(20, people=3)
    for unit in split_labels(view, "empathy").training:
        values = sorted(float(value) for value in unit.ratings.values())
        assert unit.consensus == values[1]
        assert unit.reasons[next(iter(unit.ratings))].startswith("because")


def test_weights_are_one_over_unequal_chances() -> None:
    split = split_labels(view_of(20, drawn=True), "empathy")
    assert split.chances == "unequal"
    for unit in (*split.training, *split.held_out):
        assert unit.weight == (2.0 if unit.transcript.endswith("1") else 4.0)


def test_what_was_learnt_from_before_is_never_held_out() -> None:
    view = view_of(30)
    before = split_labels(view, "empathy", share=0.3, seed=0)
    again = split_labels(view, "empathy", share=0.5, seed=7, learnt=before.digests())
    assert {unit.case for unit in before.training} <= {unit.case for unit in again.training}
    assert again.earlier == 9
