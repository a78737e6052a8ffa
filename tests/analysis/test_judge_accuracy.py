"""A judge told from the rest, level by level, and its expected levels: against values from the numbers themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import bedside
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.validation import Validation, validate
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.reports.validation import validation_tables
from bedside.stats.alternative_annotator import alternative_annotator
from tests.analysis.builders import definite

YES = Scale((0.0, 1.0), True)
JUDGE = "judge:m"


def view_of(
    judge: np.ndarray,
    people: np.ndarray,
    *,
    scale: Scale = YES,
    transcripts: Any = None,
    drawn: Any = None,
    expected: Any = None,
) -> RatingsView:
    """Ratings of units × people and of a judge on the metric ``danger``; turns of transcripts where these are named."""
    rows: list[tuple[Any, ...]] = []
    chances: list[float | None] = []

    def add(unit: int, metric: str, rater: str, value: float) -> None:
        turn = "transcript" if transcripts is None else f"turn:{unit}"
        name = f"t{unit}" if transcripts is None else f"t{transcripts[unit]}"
        rows.append((name, "A", None, turn, metric, rater, 0, float(value), None, None, None))
        chances.append(None if drawn is None or not rater.startswith("human") else drawn[unit])

    for unit, value in enumerate(judge):
        add(unit, "danger", JUDGE, value)
        if expected is not None:
            add(unit, "danger.expected", JUDGE, expected[unit])
        for column, said in enumerate(people[unit]):
            if not np.isnan(said):
                add(unit, "danger", f"human:{'abcde'[column]}", said)
    return RatingsView(frame_of(rows, drawn=chances), {"danger": scale}, None, "ratings")


def validation_of(view: RatingsView, **options: Any) -> Validation:
    (card,) = validate(view, metrics=["danger"], **options)
    return card.validations[0]


def danger(units: int, seed: int, prevalence: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """The truth, and three people who miss or flag a twentieth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(units) < prevalence).astype(float)
    people = np.where(rng.random((units, 3)) < 0.05, 1 - truth[:, None], truth[:, None])
    return truth, people


def test_a_judge_that_never_flags_is_not_let_in() -> None:
    """It wins the alternative annotator test: nine in ten units are no danger."""
    _, people = danger(200, 0)
    checked = validation_of(view_of(np.zeros(200), people))
    assert definite(checked.alternative).winning_rate == 1
    assert (checked.stands_in, checked.verdict) == (False, "not shown: it gives every unit the same, 0")
    assert definite(checked.rarest).level == 1
    assert definite(checked.rarest).judge.sensitivity.estimate == 0
    assert definite(checked.rarest).judge.specificity.estimate == 1


def test_a_judge_that_flags_at_random_is_not_let_in() -> None:
    _, people = danger(200, 1)
    at_random = np.zeros(200)
    at_random[np.random.default_rng(3).choice(200, 6, replace=False)] = 1
    checked = validation_of(view_of(at_random, people))
    assert definite(checked.alternative).replaceable
    assert checked.stands_in is False
    assert checked.verdict == (
        "not shown: its agreement with people may be no more than chance: the interval includes 0"
    )


def test_a_level_that_people_use_and_the_judge_never_gives() -> None:
    rng = np.random.default_rng(4)
    truth = np.repeat([1.0, 2.0, 3.0], [8, 96, 96])
    people = np.where(rng.random((200, 3)) < 0.1, rng.integers(1, 4, (200, 3)), truth[:, None]).astype(float)
    scale = Scale((1.0, 2.0, 3.0, 4.0), True)
    judge = np.maximum(truth, 2)
    checked = validation_of(view_of(judge, people, scale=scale))
    assert checked.stands_in is False
    given = int((people == 1).any(axis=1).sum())
    assert checked.verdict == f"not shown: it never gives 1, which people gave to {given} units"
    assert validation_of(view_of(truth, people, scale=scale)).stands_in is True


def test_a_judge_as_good_as_a_person_is_let_in() -> None:
    truth, people = danger(300, 5, prevalence=0.3)
    judge = np.where(np.random.default_rng(6).random(300) < 0.05, 1 - truth, truth)
    checked = validation_of(view_of(judge, people))
    assert (checked.stands_in, checked.verdict) == (True, "may stand in for one of these people")
    assert (checked.with_people, checked.cases) == (300, 300)


def test_people_who_all_say_the_same_check_nothing() -> None:
    checked = validation_of(view_of(np.arange(60) % 2, np.zeros((60, 2))))
    assert (checked.stands_in, checked.verdict) == (None, "can't be said: people gave every unit the same")


def test_turns_of_three_transcripts_are_no_120_units() -> None:
    truth, people = danger(120, 7, prevalence=0.4)
    checked = validation_of(view_of(truth, people, transcripts=np.repeat(np.arange(3), 40)))
    assert checked.stands_in is None
    assert checked.verdict == "can't be said: 120 units of 3 cases, fewer than 10 cases"
    spread = validation_of(view_of(truth, people, transcripts=np.repeat(np.arange(12), 10)))
    assert spread.stands_in is True


def test_sensitivity_is_against_each_person_with_one_vote_a_unit() -> None:
    truth, people = danger(80, 8, prevalence=0.3)
    people[::3, 2] = np.nan
    judge = np.where(np.random.default_rng(9).random(80) < 0.15, 1 - truth, truth)
    checked = validation_of(view_of(judge, people))
    share = np.nanmean(people, axis=1)
    found = definite(checked.accuracy).judge
    assert found.sensitivity.estimate == pytest.approx((share * judge).sum() / share.sum())
    assert found.specificity.estimate == pytest.approx(((1 - share) * (1 - judge)).sum() / (1 - share).sum())
    assert found.positive_predictive_value.estimate == pytest.approx(share[judge == 1].mean())
    assert found.prevalence.estimate == pytest.approx(share.mean())
    # Among people: each against each other one, in each unit with one vote.
    among = definite(definite(checked.accuracy).people)
    both, yes = 0.0, 0.0
    for row in people:
        said = row[~np.isnan(row)]
        pairs = len(said) * (len(said) - 1)
        both += sum(x * y for i, x in enumerate(said) for j, y in enumerate(said) if i != j) / pairs
        yes += said.mean()
    assert among.sensitivity.estimate == pytest.approx(both / yes)
    assert among.sensitivity.estimate == pytest.approx(among.positive_predictive_value.estimate)


def test_of_one_person_and_units_apart_the_interval_is_wilsons() -> None:
    truth, _ = danger(80, 10, prevalence=0.4)
    judge = np.where(np.random.default_rng(11).random(80) < 0.2, 1 - truth, truth)
    checked = validation_of(view_of(judge, truth[:, None]))
    found = definite(checked.accuracy).judge.sensitivity.interval
    hits, yes = int((truth * judge).sum()), int(truth.sum())
    wilson = stats.binomtest(hits, yes).proportion_ci(method="wilson")
    assert (found.low, definite(found).high) == pytest.approx((wilson.low, wilson.high))
    assert definite(checked.accuracy).people is None


@pytest.mark.slow
def test_units_drawn_with_chances_that_differ_weigh_one_over_them() -> None:
    """Half of the flagged were drawn, a tenth of the rest: what the judge misses weighs ten times as much."""
    truth, people = danger(90, 12, prevalence=0.4)
    judge = np.where(np.random.default_rng(13).random(90) < 0.2, 1 - truth, truth)
    drawn = np.where(judge == 1, 0.5, 0.1)
    checked = validation_of(view_of(judge, people, drawn=drawn))
    assert checked.chances == "unequal"
    share, weights = people.mean(axis=1), 1 / drawn
    found = definite(checked.accuracy).judge.sensitivity.estimate
    assert found == pytest.approx((weights * share * judge).sum() / (weights * share).sum())
    assert definite(checked.bias).estimate == pytest.approx(np.average(judge - share, weights=weights))
    expected = alternative_annotator(judge, people, epsilon=0.2, score="distance", weights=weights)
    assert definite(checked.alternative).advantage == pytest.approx(expected.advantage)
    notes = " ".join(validation_tables(validate(view_of(judge, people, drawn=drawn)))[1].notes)
    assert "weigh each unit by one over its chance" in notes
    alike = validation_of(view_of(judge, people, drawn=np.full(90, 0.3)))
    assert alike.chances == "equal"
    assert alike.accuracy == validation_of(view_of(judge, people)).accuracy
    rounds = view_of(judge, people, drawn=drawn)
    named = pl.when(pl.col("rater") == "human:a").then(pl.lit("pilot")).otherwise("round").alias("round")
    assert validation_of(replace(rounds, ratings=rounds.ratings.with_columns(named))).chances == "unknown"


@pytest.mark.slow
def test_weighted_sensitivity_is_the_populations() -> None:
    """Oversampling what the judge flags makes its sensitivity look better; weights undo that."""
    rng = np.random.default_rng(14)
    weighted, plain = [], []
    for _ in range(40):
        truth = (rng.random(1500) < 0.2).astype(float)
        judge = np.where(rng.random(1500) < np.where(truth == 1, 0.4, 0.1), 1 - truth, truth)
        chance = np.where(judge == 1, 0.5, 0.1)
        taken = rng.random(1500) < chance
        checked = validation_of(view_of(judge[taken], truth[taken, None], drawn=chance[taken]))
        unknown = validation_of(view_of(judge[taken], truth[taken, None]))
        weighted.append(definite(checked.accuracy).judge.sensitivity.estimate)
        plain.append(definite(unknown.accuracy).judge.sensitivity.estimate)
    assert np.mean(weighted) == pytest.approx(0.6, abs=0.03)
    assert np.mean(plain) > 0.8


def test_what_was_picked_is_left_out_and_counted() -> None:
    truth, people = danger(100, 15, prevalence=0.4)
    judge = truth.copy()
    judge[:20] = 1 - truth[:20]
    drawn = np.where(np.arange(100) < 20, 0.0, 0.5)
    checked = validation_of(view_of(judge, people, drawn=drawn))
    assert (checked.picked, checked.with_people, checked.chances) == (20, 80, "equal")
    rest = validation_of(view_of(judge[20:], people[20:], drawn=drawn[20:]))
    assert definite(checked.accuracy).judge.sensitivity.estimate == pytest.approx(
        definite(rest.accuracy).judge.sensitivity.estimate
    )
    assert definite(checked.accuracy).judge.counts == pytest.approx(definite(rest.accuracy).judge.counts)
    assert definite(checked.mean).units == 80
    notes = " ".join(validation_tables(validate(view_of(judge, people, drawn=drawn)))[1].notes)
    assert "Danger: 20 units that people rated, picked for what they are" in notes
    only = validation_of(view_of(judge, people, drawn=np.zeros(100)))
    assert (only.stands_in, only.picked, only.with_people) == (None, 0, 100)
    assert only.verdict.startswith("can't be said: every unit that people rated was picked")


def test_probabilities_are_checked_against_people() -> None:
    rng = np.random.default_rng(16)
    expected = rng.beta(0.6, 1, 150).round(3)
    people = (rng.random((150, 2)) < expected[:, None]).astype(float)
    view = view_of((expected > 0.5).astype(float), people, expected=expected)
    checked = validation_of(view)
    calibration = definite(checked.calibration)
    assert calibration.units == 150
    rows = roc_auc_score(people.ravel(), np.repeat(expected, 2))
    assert definite(calibration.area).estimate == pytest.approx(rows)
    assert calibration.curve.surplus.estimate == pytest.approx((expected - people.mean(axis=1)).mean())
    tables = {table.name: table for table in validation_tables(validate(view, metrics=["danger"]))}
    (record,) = tables["calibration_1"].records
    assert record["auc_low"] < record["auc"] < record["auc_high"]
    assert record["points"].count("→") == len(calibration.curve.points)
    assert validation_of(view_of((expected > 0.5).astype(float), people)).calibration is None


def test_expected_levels_of_passes_are_averaged() -> None:
    rng = np.random.default_rng(17)
    level = rng.integers(1, 6, 60).astype(float)
    view = view_of(level, level[:, None], scale=Scale((1.0, 2.0, 3.0, 4.0, 5.0), True), expected=level - 0.2)
    second = view.ratings.filter(pl.col("metric") == "danger.expected").with_columns(
        pl.lit(1, dtype=pl.Int32()).cast(view.ratings.schema["replicate"]).alias("replicate"),
        pl.col("value") + 0.6,
    )
    both = replace(view, ratings=pl.concat([view.ratings, second]))
    calibration = definite(validation_of(both).calibration)
    assert calibration.area is None
    assert calibration.curve.surplus.estimate == pytest.approx(0.1)


@pytest.mark.slow
def test_the_figure_of_calibration(tmp_path: Path) -> None:
    rng = np.random.default_rng(18)
    expected = rng.random(80).round(3)
    people = (rng.random((80, 2)) < expected[:, None]).astype(float)
    view = view_of((expected > 0.5).astype(float), people, expected=expected)
    drawing = bedside.figure(view.ratings, "calibration", scales=["danger=0,1"])
    text = drawing.svg()
    assert "expected by m" in text
    assert "n = 80" in text
    without = view.ratings.filter(pl.col("metric") == "danger")
    with pytest.raises(bedside.BedsideError, match="nothing for the figure"):
        bedside.figure(without, "calibration", scales=["danger=0,1"])


def test_units_that_nobody_shares_say_nothing() -> None:
    """People and judge rated different units, on a metric with a scale and on one without."""
    people = np.column_stack([np.arange(40) % 2, np.arange(40) % 2]).astype(float)
    view = view_of(np.arange(40) % 2, people)
    first = pl.col("transcript_id").is_in([f"t{unit}" for unit in range(20)])
    apart = view.ratings.filter(first == (pl.col("rater") == JUDGE))
    for scales in ({"danger": YES}, {}):
        checked = validation_of(replace(view, ratings=apart, scales=scales))
        assert (checked.with_people, checked.cases, checked.rated) == (0, 0, 20)
        assert (checked.stands_in, checked.verdict) == (None, "can't be said: 0 units, fewer than 30")
        assert (checked.accuracy, checked.rarest, checked.bias) == (None, None, None)


def test_numbers_on_no_scale_are_checked_by_alpha() -> None:
    rng = np.random.default_rng(19)
    truth = rng.normal(50, 10, 120)
    people = truth[:, None] + rng.normal(0, 3, (120, 3))
    seen = replace(view_of(truth + rng.normal(0, 3, 120), people), scales={})
    assert validation_of(seen, epsilon=0.5).stands_in is True
    blind = replace(view_of(rng.permutation(truth), people), scales={})
    assert validation_of(blind, epsilon=0.99).verdict == (
        "not shown: its agreement with people may be no more than chance: the interval includes 0"
    )


def test_labels_are_checked_by_the_rarer_of_two() -> None:
    truth, people = danger(120, 20, prevalence=0.2)
    view = view_of(truth, people)
    words = pl.when(pl.col("value") == 1).then(pl.lit("open")).otherwise(pl.lit("closed")).alias("label")
    ratings = view.ratings.with_columns(words).with_columns(pl.lit(None, dtype=pl.Float64()).alias("value"))
    checked = validation_of(replace(view, ratings=ratings, scales={}))
    numbers = validation_of(view)
    assert definite(checked.accuracy).level == "open"
    assert definite(checked.accuracy).judge == definite(numbers.accuracy).judge
    assert checked.stands_in is True
    assert checked.bias is None


def test_chances_in_a_file_of_ratings_count(tmp_path: Path) -> None:
    """A file's column says with what chance each unit was drawn."""
    truth, people = danger(90, 12, prevalence=0.4)
    judge = np.where(np.random.default_rng(13).random(90) < 0.2, 1 - truth, truth)
    drawn = np.where(judge == 1, 0.5, 0.1)
    lines = ["item,rater,metric,value,drawn"]
    for unit in range(90):
        lines.append(f"t{unit},judge:m,danger,{judge[unit]:g},")
        lines += [f"t{unit},{'abc'[k]},danger,{people[unit, k]:g},{drawn[unit]}" for k in range(3)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    (card,) = bedside.validate(path, scales=["danger=0,1"]).results
    expected = validation_of(view_of(judge, people, drawn=drawn))
    assert card.validations[0].chances == "unequal"
    found = definite(card.validations[0].accuracy).judge
    assert found.sensitivity.estimate == pytest.approx(definite(expected.accuracy).judge.sensitivity.estimate)
