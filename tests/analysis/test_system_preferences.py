"""Preferences: counted by hand, agreement against scikit-learn, and what was put in comes out."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import logit
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.pair_preferences import (
    FAILED,
    ONE_SYSTEM,
    OTHER_CASES,
    UNKNOWN,
    chosen_preferences,
    position_bias,
    preference_agreement,
    preference_levels,
    preference_rows,
    system_preferences,
)
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.ratings.names import second_id
from tests.analysis.builders import definite, ends, rating
from tests.analysis.preference_study import Chooser, PreferenceStudy, simulated_study

TRUE = {"A": 0.8, "B": 0.3, "C": -0.2, "D": -0.9}
RATERS = (
    Chooser("judge:m", float(logit(0.65)), passes=2),
    Chooser("human:anna", both_orders=False),
    Chooser("human:ben", both_orders=False),
)


@pytest.fixture(scope="module")
def study() -> RatingsView:
    return simulated_study(TRUE, RATERS, seed=1).view()


def small() -> PreferenceStudy:
    """One judge, two systems: a better in both orders, a reversal, a tie twice, a tie once, and one order alone."""
    study = PreferenceStudy()
    for case, (first, second) in enumerate([(1.0, 0.0), (1.0, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, None)]):
        study.prefer((f"a{case}", "a", f"c{case}"), f"b{case}", "judge:m", first)
        study.tell(f"b{case}", "b", f"c{case}")
        if second is not None:
            study.prefer((f"b{case}", "b", f"c{case}"), f"a{case}", "judge:m", second)
    return study


def verdicts_of(study: RatingsView) -> dict[str, dict[tuple[str, str], float]]:
    """By rater and pair in order, whether the first of the two is preferred: 1, the second: −1, or neither: 0."""
    shares: dict[str, dict[tuple[str, str], list[float]]] = {}
    for row in study.preferences.iter_rows(named=True):
        first, second = row["transcript_id"], second_id(row["unit"])
        pair = (min(first, second), max(first, second))
        share = row["value"] if first < second else 1 - row["value"]
        shares.setdefault(row["rater"], {}).setdefault(pair, []).append(share)
    return {
        rater: {pair: float(np.sign(np.mean(own) - 0.5)) for pair, own in pairs.items()}
        for rater, pairs in shares.items()
    }


def test_verdicts_on_two_systems_by_hand() -> None:
    (shown,) = system_preferences(small().view())
    (pair,) = shown.pairs
    assert {pair.a, pair.b} == {"a", "b"}
    better, worse = (pair.better, pair.worse) if pair.a == "a" else (pair.worse, pair.better)
    # The case asked in one order alone has that order's verdict: b.
    assert (better, worse, pair.ties, pair.unsettled, pair.one_order) == (1, 1, 1, 2, 1)
    wins = pair.wins.estimate if pair.a == "a" else 1 - (pair.wins.estimate or 0)
    assert wins == pytest.approx(np.mean([1.0, 0.5, 0.5, 0.75, 0.0]))
    assert (shown.comparisons, shown.cases) == (9, 5)


def test_the_place_by_hand() -> None:
    (bias,) = position_bias(small().view(), "judge:m")
    # Of the pairs in both orders: first, second; first, first; two ties; first, tie.
    assert bias.first.estimate == pytest.approx(4 / 5)
    assert bias.balanced
    assert (bias.comparisons, bias.ties, bias.one_order) == (9, 3, 1)
    assert bias.orders is not None
    assert bias.orders.same.estimate == 0.5
    assert bias.orders.reversed.estimate == 0.25
    assert (bias.orders.to_first, bias.orders.to_second, bias.orders.with_tie) == (1, 0, 1)
    assert bias.passes is None
    assert position_bias(small().view(), "judge:other") == ()


def test_a_pair_that_is_shown_again_the_other_way_round_is_in_both_orders() -> None:
    study = PreferenceStudy()
    study.prefer(("a0", "a", "c0"), "b0", "human:x", 1.0)
    study.prefer(("b0", "b", "c0"), "a0", "human:x", 1.0, replicate=1)
    study.prefer(("a1", "a", "c1"), "b1", "human:x", 1.0)
    study.tell("b1", "b", "c1")
    (shown,) = system_preferences(study.view())
    assert (definite(shown.position.orders).reversed.estimate, definite(shown.position.orders).to_first) == (1.0, 1)
    assert shown.position.one_order == 1


def test_what_was_put_in_comes_out(study: RatingsView) -> None:
    people, judge = system_preferences(study)
    assert (people.raters, judge.raters) == ("people", "judge:m")
    best, worst = judge.systems[0], judge.systems[-1]
    assert (best.system, worst.system, best.ranks, worst.ranks) == ("A", "D", (1, 1), (4, 4))
    # A taste of .65 for the first of two equals moves less where they aren't equal.
    assert 0.5 < ends(judge.position.first.interval)[0] < 0.65
    assert definite(judge.position.first.p) < 0.001
    assert 0 < ends(definite(judge.position_effect).interval)[0] < logit(0.65)
    assert judge.position.passes is not None
    assert people.position.orders is None
    assert not people.position.balanced
    low, high = ends(definite(people.position_effect).interval)
    assert low < 0 < high


def test_letters_and_ranks_are_those_of_the_tests(study: RatingsView) -> None:
    for shown in system_preferences(study):
        by_name = {system.system: system for system in shown.systems}
        for pair in shown.pairs:
            told_apart = pair.difference.p_adjusted is not None and pair.difference.p_adjusted < 0.05
            shared = set(by_name[pair.a].letters) & set(by_name[pair.b].letters)
            assert told_apart == (not shared)
        assert [(pair.a, pair.b) for pair in shown.pairs] == list(
            combinations([system.system for system in shown.systems], 2)
        )


def test_agreement_is_scikit_learn_s_of_both_ways_round(study: RatingsView) -> None:
    among, beside = preference_agreement(study)
    assert (among.raters, among.others, beside.raters, beside.others) == ("people", "people", "judge:m", "people")
    signs = verdicts_of(study)
    duos = [("human:anna", "human:ben")], [("judge:m", "human:anna"), ("judge:m", "human:ben")]
    for agreement, raters in zip((among, beside), duos, strict=True):
        ours = np.array([signs[one][pair] for one, other in raters for pair in signs[other]])
        theirs = np.array([signs[other][pair] for _, other in raters for pair in signs[other]])
        assert agreement.verdicts == len(ours)
        assert agreement.same.estimate == pytest.approx((ours == theirs).mean())
        doubled = [np.concatenate([values, -values]) for values in (ours, theirs)]
        assert agreement.kappa.estimate == pytest.approx(cohen_kappa_score(*doubled))
        decided = (ours != 0) & (theirs != 0)
        assert agreement.decided.estimate == pytest.approx((ours == theirs)[decided].mean())


def test_levels_beside_preferences(study: RatingsView) -> None:
    people, judge = preference_levels(study)
    of_judge = study.ratings.filter(pl.col("rater") == "judge:m")
    levels = dict(of_judge.select("transcript_id", "value").iter_rows())
    signs = [
        (verdict, np.sign(levels[low] - levels[high])) for (low, high), verdict in verdicts_of(study)["judge:m"].items()
    ]
    settled = [verdict == level for verdict, level in signs if verdict and level]
    assert judge.agreeing.estimate == pytest.approx(np.mean(settled))
    assert judge.level_ties == sum(bool(verdict) and not level for verdict, level in signs)
    assert judge.verdict_ties == sum(bool(level) and not verdict for verdict, level in signs)
    ties = judge.level_ties + judge.verdict_ties + judge.both_ties
    assert judge.pairs == len(signs) == judge.agreeing.n + ties
    strengths = {system.system: system.strength.estimate for system in system_preferences(study)[1].systems}
    means = [np.mean([level for name, level in levels.items() if name.startswith(s)]) for s in strengths]
    assert judge.correlation == pytest.approx(kendalltau(list(strengths.values()), means).statistic)
    assert people.raters == "people"


def test_levels_are_those_of_the_people_who_compared() -> None:
    study = PreferenceStudy()
    for case in range(6):
        study.prefer((f"a{case}", "a", f"c{case}"), f"b{case}", "human:anna", 1.0)
        study.prefer((f"a{case}", "a", f"c{case}"), f"b{case}", "human:ben", 0.0)
        for system, levels in (("a", (4, 1, 1)), ("b", (3, 5, 5))):
            for rater, level in zip(("anna", "ben", "cleo"), levels, strict=True):
                study.level(f"{system}{case}", system, f"c{case}", f"human:{rater}", level)
    view = study.view()
    # Anna prefers a and gave it the higher level; Cleo, who compared nothing, gave b the higher one.
    (anna,) = preference_levels(chosen_preferences(view, raters=["human:anna"]))
    assert anna.agreeing.estimate == 1
    assert anna.means == {}
    without_cleo = replace(view, ratings=view.ratings.filter(pl.col("rater") != "human:cleo"))
    assert preference_levels(view) == preference_levels(without_cleo)


def test_where_lower_is_better_the_lower_level_agrees() -> None:
    study = PreferenceStudy()
    for case in range(6):
        study.prefer((f"a{case}", "a", f"c{case}"), f"b{case}", "judge:m", 1.0, rubric="burnout")
        for system, level in (("a", 1.0), ("b", 4.0)):
            study.rows.append(rating(f"{system}{case}", system, f"c{case}", "burnout", "judge:m", level))
    view = study.view()
    (plain,) = preference_levels(view)
    assert plain.agreeing.estimate == 0
    facts = RatingsView.facts

    class LowerView(RatingsView):
        def facts(self, name: str) -> MetricFacts:
            return replace(facts(self, name), direction="lower" if name == "burnout" else "none")

    turned = LowerView(view.ratings, view.scales, None, view.name, preferences=view.preferences)
    assert preference_levels(turned)[0].agreeing.estimate == 1


def test_what_is_not_counted_is_told() -> None:
    study = small()
    study.prefer(("a0", "a", "c0"), "b9", "judge:m", 1.0)
    study.prefer(("a0", "a", "c0"), "a1", "judge:m", 1.0)
    study.prefer(("a0", "a", "c0"), "b1", "judge:m", 1.0)
    study.prefer(("a4", "a", "c4"), "b4", "judge:m", None, replicate=1)
    (rows,) = preference_rows(study.view())
    assert rows.left_out == {UNKNOWN: 1, ONE_SYSTEM: 1, OTHER_CASES: 1, FAILED: 1}
    assert rows.rows.height == 9


def test_people_are_averaged_before_cases_count() -> None:
    study = PreferenceStudy()
    for rater, share in (("human:x", 1.0), ("human:y", 1.0), ("human:z", 0.0)):
        study.prefer(("a0", "a", "c0"), "b0", rater, share)
    study.prefer(("a1", "a", "c1"), "b1", "human:x", 0.0)
    study.tell("b0", "b", "c0")
    study.tell("b1", "b", "c1")
    (rows,) = preference_rows(study.view())
    assert sorted(rows.shares()[:, 0, 1]) == pytest.approx([0.0, 2 / 3])


def test_names_choose_what_counts(study: RatingsView) -> None:
    chosen = chosen_preferences(study, rubrics=["empathy.preference"], raters=["human:*"], systems=["A", "D"])
    (rows,) = preference_rows(chosen)
    assert rows.systems == ("A", "D")
    assert set(rows.rows["rater"]) == {"human:anna", "human:ben"}


@pytest.mark.parametrize("question", [system_preferences, preference_agreement, preference_levels])
def test_nothing_compared_is_said(question: Any) -> None:
    with pytest.raises(NothingError):
        question(PreferenceStudy().view())
