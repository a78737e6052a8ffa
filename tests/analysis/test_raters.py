"""Who is severe, who rated which system, and to whom a comparison by people generalises."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
import statsmodels.formula.api as smf
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.analysis import rater_effects
from bedside.analysis.agreement import retests
from bedside.analysis.comparison import compare, ordered_effects
from bedside.analysis.evaluator_agreement import evaluator_agreements
from bedside.analysis.leaderboard import standings
from bedside.analysis.rater_effects import (
    RaterDesign,
    confounding_in_words,
    generalities,
    rater_design,
    rater_severities,
    scope_in_words,
)
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import NothingError
from bedside.analysis.self_preference import makers, self_preferences
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labels import FEATURES
from bedside.ratings.names import human_rater
from bedside.ratings.scales import Scale, parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.comparison_notes import RATERS_APART, design_notes, with_people_notes
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables.agreement import generality_table
from bedside.reports.tables.comparison import comparison_table, ordered_table, overall_table
from bedside.reports.tables.raters import severity_table
from bedside.reports.tables.retest import TABLE
from bedside.reports.validation import self_preference_table, self_preference_words
from bedside.scoring.score import score
from bedside.stats import crossed_raters
from bedside.stats.ordinal_mixed import odds_ratio
from bedside.stats.reliability import icc
from tests.analysis.builders import definite, ends, has_note, rating
from tests.analysis.ratings_rows import Row, view
from tests.conftest import conversation
from tests.soak import budget
from tests.stats.test_mixed_models import SHROUT

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
PEOPLE = ("anna", "ben", "cleo")


def rows(system: str, person: str, values: Array, *, first: int = 0) -> list[Row]:
    return [
        (f"{system}{case + first}", system, f"c{case + first}", "empathy", human_rater(person), float(value))
        for case, value in enumerate(values)
        if not np.isnan(value)
    ]


def crossed(x: Array, y: Array, *, apart: int = 0) -> list[Row]:
    """Both systems rated by the same people; the second system's cases have other numbers where ``apart``."""
    return [
        row
        for position, person in enumerate(PEOPLE[: x.shape[1]])
        for row in rows("A", person, x[:, position]) + rows("B", person, y[:, position], first=apart)
    ]


def design(table: list[Row], paired: bool | None = None) -> RaterDesign:
    result = definite(rater_design(view(table), "empathy", ("A", "B"), paired=paired))
    return result


X, Y = RNG.normal(3, 1, (20, 3)), RNG.normal(3, 1, (20, 3))


def test_severity_is_the_deviation_from_the_others() -> None:
    severities = rater_severities(view(crossed(X, Y)), ["empathy"])
    for position, severity in enumerate(severities):
        deviations = [table[:, position] - np.delete(table, position, axis=1).mean(axis=1) for table in (X, Y)]
        assert severity.deviation.estimate == pytest.approx(np.mean(deviations))
        assert (severity.ratings, severity.shared, severity.deviation.n) == ((("A", 20), ("B", 20)), 40, 20)
    text = str(severity_table(severities))
    assert "anna" in text
    assert "A 20, B 20" in text


def test_severity_is_that_of_a_mixed_model() -> None:
    """Six cases of one system, and of two: lme4's rater effects and their errors, with three ratings missing."""
    first = SHROUT.reshape(6, 4).copy()
    second = np.concatenate([SHROUT[4:], SHROUT[:4]]) - 0.5 * (np.arange(1, 25) % 3)
    first[[0, 1, 3], [1, 2, 3]] = np.nan
    table = [
        row
        for system, values in (("A", first), ("B", second.reshape(6, 4)))
        for at, person in enumerate("abcd")
        for row in rows(system, person, values[:, at])
    ]
    # lmer(y ~ 0 + rater + (1 | case)); lmer(y ~ 0 + rater + system + (1 | unit) + (1 | case) + (1 | case:rater))
    of_one = [(3.181707, 0.4551414), (-3.271595, 0.4954202), (-1.560751, 0.4954202), (1.650639, 0.4954202)]
    of_both = [(3.170633, 0.3622797), (-3.533988, 0.3765085), (-1.393176, 0.3765085), (1.756530, 0.3765085)]
    for ratings, expected in (([row for row in table if row[1] == "A"], of_one), (table, of_both)):
        severities = rater_severities(view(ratings), ["empathy"])
        for severity, (deviation, error) in zip(severities, expected, strict=True):
            assert severity.deviation.estimate == pytest.approx(deviation, rel=1e-4)
            assert severity.deviation.standard_error == pytest.approx(error, rel=1e-4)
            half = scipy.stats.t.ppf(0.975, severity.deviation.n - 1) * error
            assert ends(severity.deviation.interval) == pytest.approx((deviation - half, deviation + half), rel=1e-4)


def test_agree_says_whether_other_people_would_say_the_same() -> None:
    """Shrout and Fleiss's four raters: Φ is their ICC(2, ·) and G their ICC(3, ·)."""
    table = [row for at, person in enumerate("abcd") for row in rows("A", person, SHROUT.reshape(6, 4)[:, at])]
    told, untold = generalities(view(table), ["empathy"])
    assert (told[0].usual, untold) == (4, {})
    shown = generality_table(told, untold)
    (record,) = shown.records
    assert (record["phi"], record["phi_of_mean"]) == pytest.approx((0.290, 0.620), abs=5e-4)
    assert (record["g"], record["g_of_mean"]) == pytest.approx((0.715, 0.909), abs=5e-4)
    # Spearman and Brown: .8 / .2 · .71 / .29 raters.
    assert (record["raters_needed"], record["raters_needed_relative"]) == (10, 2)
    assert "29 / 59 / 12" in str(shown)
    alone, why = generalities(view([*rows("A", "anna", X[:, 0]), *rows("B", "ben", Y[:, 0])]), ["empathy"])
    assert (alone, why) == ([], {"empathy": "some raters share no case with the others"})


def test_who_gives_one_level_to_all_still_deviates() -> None:
    """anna gives 3 to everything and ben 4: he is one above her, and nothing is left to doubt."""
    study = rows("A", "anna", np.full(12, 3.0)) + rows("A", "ben", np.full(12, 4.0))
    severe = {each.rater: each.deviation for each in rater_severities(view(study), ["empathy"])}
    assert {name: deviation.estimate for name, deviation in severe.items()} == pytest.approx(
        {human_rater("anna"): -1.0, human_rater("ben"): 1.0}
    )
    assert all(deviation.interval is None and deviation.missing for deviation in severe.values())


def test_who_shares_nothing_has_no_severity() -> None:
    table = rows("A", "anna", X[:, 0]) + rows("A", "ben", X[:, 1]) + rows("B", "cleo", Y[:, 2])
    severities = {severity.rater: severity for severity in rater_severities(view(table), ["empathy"])}
    assert severities["human:cleo"].deviation.estimate is None
    assert severities["human:anna"].deviation.n == 20
    assert not rater_severities(view(rows("A", "anna", X[:, 0])), ["empathy"])


def test_three_people_on_the_same_cases_speak_for_raters_like_them() -> None:
    result = design(crossed(X, Y))
    expected = crossed_raters.paired_difference(X, Y)
    assert definite(result.difference).p == pytest.approx(expected.p)
    assert definite(result.difference).estimate == pytest.approx((X - Y).mean())
    assert scope_in_words(result) == "raters like these 3"
    assert not result.is_confounded
    assert "raters like these 3" in design_notes([result])[0]
    # Cases of their own are crossed with raters, too.
    apart = design(crossed(X, Y, apart=100)).difference
    assert definite(apart).p == pytest.approx(crossed_raters.unpaired_difference(X, Y).p)
    little = design([row for row in crossed(X, Y) if (row[4], row[0]) != ("human:anna", "A3")])
    assert 0 < little.imbalance < 0.1
    assert not little.is_confounded


def test_ordered_scales_have_an_odds_ratio_of_two_systems() -> None:
    x, y = (np.clip(np.round(values), 1, 5) for values in (X, Y + 0.5))
    table = [row for row in crossed(x, y) if row[3] == "empathy"]
    whole = replace(view(table), scales={"empathy": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)})
    pairs = compare(whole).pairs
    (effect,) = ordered_effects(whole, pairs)
    first, case, rater = (
        np.repeat([True, False], 60),
        np.tile(np.repeat(np.arange(20), 3), 2),
        np.tile(np.arange(3), 40),
    )
    expected = odds_ratio(np.concatenate([x.ravel(), y.ravel()]), first, case, rater)
    assert effect.odds_ratio.estimate == pytest.approx(expected.estimate, rel=1e-4)
    assert effect.odds_ratio.p == pytest.approx(expected.p, abs=1e-4)
    assert (effect.cases, effect.people, effect.odds_ratio.n) == (20, 3, 120)
    shown = ordered_table([effect], whole.order)
    assert [cell.text for cell in shown.rows[0].cells][:4] == ["A − B", "20", "3", "120"]
    assert shown.records[0]["odds_ratio"] == effect.odds_ratio.estimate
    assert shown.records[0]["sd_cases"] == effect.spread("cases")
    assert not has_note(with_people_notes(shown, whole), "not what other raters would")
    # Neither a scale of many levels, nor one rating a case, nor numbers without a scale have one.
    many = replace(whole, scales={"empathy": Scale(tuple(map(float, range(1, 9))), True)})
    once = replace(whole, ratings=whole.ratings.filter(pl.col("rater") == "human:anna"))
    for other in (many, once, view(table)):
        assert not ordered_effects(other, pairs)


def test_two_people_speak_for_themselves() -> None:
    result = design(crossed(X[:, :2], Y[:, :2]))
    assert result.difference is None
    assert "these 2 raters only" in scope_in_words(result)


def test_a_few_gaps_are_left_out_and_many_are_modelled() -> None:
    holed = X.copy()
    holed[:3, 1] = np.nan
    found = design(crossed(holed, Y))
    assert (definite(found.difference).n, definite(found.difference).dropped) == (17, 3)
    assert "left out (at most 3)" in design_notes([found])[0]
    holed[:10, 1] = np.nan
    found = design(crossed(holed, Y))
    assert found.has_gaps
    assert (definite(found.difference).n, definite(found.difference).dropped) == (20, 0)
    assert scope_in_words(found) == "raters like these 3"
    assert "drawn (mixed model)" in design_notes([found])[0]
    # Cases that each has rated alone tell nothing of how people differ.
    alone = [row for row in crossed(X, Y) if int((row[2] or "")[1:]) % 3 == ("anna", "ben", "cleo").index(row[4][6:])]
    assert design(alone).why == "some raters share no case with the others"


def lenient_pairs(lenience: float) -> list[Row]:
    """Two lenient people on A, two others on B, the same cases."""
    table = []
    for system, people, shift in (("A", ("anna", "ben"), lenience), ("B", ("cleo", "dora"), 0.0)):
        own = RNG.normal(3, 0.5, 20)
        for person in people:
            table += rows(system, person, own + shift + RNG.normal(0, 0.3, 20))
    return table


def test_people_who_rated_one_system_only_are_a_warning() -> None:
    result = design(lenient_pairs(0.5))
    assert (result.only_a, result.only_b) == (("human:anna", "human:ben"), ("human:cleo", "human:dora"))
    assert (result.imbalance, result.shift) == (1.0, None)
    words = confounding_in_words(result)
    assert "only A was rated by anna and ben, only B was rated by cleo and dora" in words
    assert words in design_notes([result])
    (pair,) = compare(view(lenient_pairs(0.5))).pairs
    assert has_note(comparison_table([pair]), "confounded, A − B on Empathy")


def test_letters_tell_no_systems_apart_whose_difference_may_be_their_raters() -> None:
    study = view(lenient_pairs(2.0))
    (pair,) = compare(study).pairs
    assert definite(pair.test.p_adjusted) < 0.001
    assert [standing.letters for standing in standings(study, "empathy")[0].systems] == ["a", "a"]
    same = [(*row[:4], row[4].replace("cleo", "anna").replace("dora", "ben"), row[5]) for row in lenient_pairs(2.0)]
    assert [standing.letters for standing in standings(view(same), "empathy")[0].systems] == ["a", "b"]


def test_what_other_people_do_to_a_difference_is_told_where_they_share_ratings() -> None:
    """anna is lenient by 1 and rated more of A: least squares of ratings on units and raters say what that does."""
    pandas = pytest.importorskip("pandas")
    units = RNG.normal(3, 0.5, 40)
    table = []
    for person, lenience, cases_a, cases_b in (
        ("anna", 1.0, range(20), range(5)), ("ben", 0.0, range(5), range(20)), ("cleo", 0.2, range(3, 9), range(3, 9)),
    ):  # fmt: skip
        for system, cases, offset in (("A", cases_a, 0), ("B", cases_b, 20)):
            values = np.full(20, np.nan)
            values[list(cases)] = units[[case + offset for case in cases]] + lenience
            table += rows(system, person, values)
    found = design(table)
    assert found.is_confounded
    frame = pandas.DataFrame([(row[0], row[4], row[5]) for row in table], columns=["unit", "rater", "value"])
    levels = smf.ols("value ~ C(unit) + C(rater)", frame).fit().params
    by_rater = {"human:anna": 0.0} | {name: levels[f"C(rater)[T.{name}]"] for name in ("human:ben", "human:cleo")}
    # The mean of each transcript moves by the mean of its raters' levels.
    frame["level"] = frame["rater"].map(by_rater)
    moved = frame.groupby("unit")["level"].mean()
    by_system = [moved[[name.startswith(system) for name in moved.index]].mean() for system in "AB"]
    assert found.shift == pytest.approx(by_system[0] - by_system[1])
    assert "that alone makes a difference of +" in confounding_in_words(found)


@pytest.mark.slow
def test_null_data_with_raters_of_their_own_taste() -> None:
    """Three people, rater × system SD .3 of the scale of 0 to 1: 42 % of tests over cases find a difference."""
    rng = np.random.default_rng(9)
    quasi = over_cases = 0
    for _ in range(150):
        taste = rng.normal(0, 0.3, (2, 3))
        cases = rng.normal(0, 0.3, (2, 40, 1)) + rng.normal(0, 0.4, (2, 40, 3)) + taste[:, None, :]
        found = design(crossed(cases[0], cases[1]))
        quasi += definite(found.difference).p < 0.05  # type: ignore[operator]
        over_cases += scipy.stats.ttest_rel(cases[0].mean(1), cases[1].mean(1)).pvalue < 0.05
    assert over_cases / 150 > 0.3
    assert quasi / 150 < 0.065 + 2.5 * np.sqrt(0.065 * 0.935 / 150)


def test_compare_takes_what_the_design_allows() -> None:
    study = view(crossed(X, Y))
    (pair,) = compare(study).pairs
    expected = crossed_raters.paired_difference(X, Y)
    assert (pair.test.p, pair.difference.estimate) == pytest.approx((expected.p, expected.estimate))
    assert pair.paired
    table = comparison_table([pair])
    for words in ("quasi-F of cases × raters", "raters like these 3", RATERS_APART):
        assert has_note(table, words)
    (by_t,) = compare(study, test="t").pairs
    assert by_t.test.p == pytest.approx(scipy.stats.ttest_rel(X.mean(1), Y.mean(1)).pvalue)
    assert has_note(comparison_table([by_t]), "these 3 raters only")
    (one_sided,) = compare(study, alternative="greater").pairs
    assert one_sided.test.p == pytest.approx(crossed_raters.asked_for(expected, alternative="greater").p)
    (apart,) = compare(view(crossed(X, Y, apart=100))).pairs
    assert not apart.paired
    assert apart.test.p == pytest.approx(crossed_raters.unpaired_difference(X, Y).p)
    (two,) = compare(view(crossed(X[:, :2], Y[:, :2]))).pairs
    assert "permutation" in two.test.method


def test_every_table_on_peoples_ratings_says_whom_it_is_about() -> None:
    for table in build_tables(view(lenient_pairs(0.5)), ["results", "raters"]):
        if table.name == "results":
            assert has_note(table, "about these 4 raters (anna, ben, cleo and dora)")
            assert has_note(table, "only A was rated by anna and ben")
        else:
            assert [record["deviation"] is None for record in table.records] == [False] * 4
    judged = [(name, s, c, m, "judge:m", value) for name, s, c, m, _, value in crossed(X, Y)[:40]]
    (results,) = build_tables(view(judged), ["results"])
    assert not has_note(results, "raters")


def three_systems(taste: float, rng: np.random.Generator) -> list[Row]:
    """Three systems without a difference: the same 20 cases, rated by the same three people, who have tastes."""
    cases = rng.normal(3, 0.5, (20, 1))
    return [
        row
        for system in ("A", "B", "C")
        for position, values in enumerate((cases + rng.normal(0, taste, 3) + rng.normal(0, 0.5, (20, 3))).T)
        for row in rows(system, PEOPLE[position], values)
    ]


def test_all_systems_at_once_are_for_raters_like_these_where_the_pairs_are() -> None:
    """Friedman's test of means over three people was about these people, beside pairs that were not."""
    study = view(three_systems(0.3, np.random.default_rng(1)))
    comparisons = compare(study)
    (overall,) = comparisons.overall
    smallest = min(pair.test.p or 0.0 for pair in comparisons.pairs)
    assert overall.test.p == pytest.approx(min(1.0, 3 * smallest))
    assert "quasi-F of cases × raters" in overall.test.method
    assert overall.raters_like == 3
    table = with_people_notes(overall_table([overall]), study)
    assert has_note(table, "raters like these 3")
    assert not has_note(table, "not what other raters would")
    # Who asks for Friedman's test has it, about these people.
    (friedman,) = compare(study, test="friedman").overall
    assert (friedman.raters_like, friedman.test.name) == (0, "Kendall's W")
    assert has_note(with_people_notes(overall_table([friedman]), study), "not what other raters would")


@pytest.mark.slow
def test_three_systems_and_few_raters_are_rejected_in_five_of_a_hundred() -> None:
    rng = np.random.default_rng(4)
    some = friedman = 0
    for _ in range(60):
        study = view(three_systems(0.4, rng))
        some += (compare(study).overall[0].test.p or 0) <= 0.05
        friedman += (compare(study, test="friedman").overall[0].test.p or 0) <= 0.05
    assert some <= 7
    assert friedman >= 20


# -- people beside themselves ----------------------------------------------------------------------------


SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)


def study(units: int = 60, round: str = "main") -> tuple[RatingsView, dict[str, Array]]:
    """Anna rates 60 transcripts twice, ben all once and 20 twice; labels of turns are anna's alone."""
    rng = np.random.default_rng(4)
    first = rng.integers(1, 6, units)
    second = np.clip(first + rng.choice((-1, 0, 0, 0, 1), units), 1, 5)
    labels = rng.choice(("open", "closed"), (2, units))
    rows = []
    for unit in range(units):
        for place, values in enumerate((first, second)):
            people = ("human:anna", "human:ben") if place == 0 or unit < 20 else ("human:anna",)
            for rater, value in (*((person, float(values[unit])) for person in people), ("judge:m", 3.0)):
                rows.append(rating(f"t{unit}", "a", None, "empathy", rater, value, replicate=place))
            rows.append(rating(
                f"t{unit // 5}", "a", None, "question", "human:anna", None,
                unit=f"turn:{unit % 5}", replicate=place, label=str(labels[place, unit]),
            ))  # fmt: skip
    view = RatingsView(frame_of(rows, round), {"empathy": SCALE}, None, "ratings")
    return view, {"first": first, "second": second, "labels": labels}


def test_first_and_second_ratings_are_compared() -> None:
    view, given = study()
    by_rater = {(retest.metric, retest.rater): retest for retest in retests(view)}
    assert set(by_rater) == {("empathy", "human:anna"), ("empathy", "human:ben"), ("question", "human:anna")}
    anna = by_rater["empathy", "human:anna"]
    first, second = given["first"], given["second"]
    assert (anna.units, anna.transcripts) == (60, 60)
    expected = cohen_kappa_score(first, second, weights="quadratic", labels=range(1, 6))
    assert anna.kappa.estimate == pytest.approx(expected)
    assert anna.same.estimate == pytest.approx((first == second).mean())
    assert definite(anna.shift).estimate == pytest.approx((second - first).mean())
    ben, question = by_rater["empathy", "human:ben"], by_rater["question", "human:anna"]
    assert (ben.units, ben.kappa.n) == (20, 20)
    assert (question.units, question.transcripts, question.shift) == (60, 12, None)
    assert question.kappa.estimate == pytest.approx(cohen_kappa_score(*given["labels"]))
    table = definite(TABLE.make(view))
    assert "| anna | 60 |" in markdown(table)
    assert [record["units"] for record in table.records] == [60, 20, 60]
    low, high = ends(definite(anna.shift).interval)
    shift = f"{definite(definite(anna.shift).estimate):+.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
    assert table.rows[0].cells[-1].text == shift


def test_two_rounds_are_no_retest_of_one() -> None:
    pilot, main = (study(round=name)[0].ratings for name in ("pilot", "main"))
    once = [part.filter(part["replicate"] == 0) for part in (pilot, main)]
    both = RatingsView(once[0].vstack(once[1]), {"empathy": SCALE}, None, "ratings")
    with pytest.raises(NothingError):
        retests(both)
    assert TABLE.make(both) is None


def test_people_agree_with_each_other_by_their_first_ratings() -> None:
    """Ben gave what anna gave first; her second thoughts stand in a table of their own."""
    view, _ = study()
    tables = bedside.agree(view.ratings, metrics="empathy", raters="human:*", scales="empathy=1-5")
    assert [table.name for table in tables] == ["agreement", "generalisability", "retest"]
    (people,) = (agreement for agreement in tables.results if agreement.kind == "people")
    assert people.statistics["kappa"].estimate == 1.0
    assert [record["rater"] for record in tables["retest"].records] == ["human:anna", "human:ben"]


def test_transcripts_of_one_case_are_drawn_together() -> None:
    """Twelve cases whose five transcripts are rated alike twice: as sure as twelve transcripts, not as sixty."""
    rng = np.random.default_rng(7)
    first = rng.integers(1, 6, 12)
    second = np.clip(first + rng.choice((-1, 0, 0, 1), 12), 1, 5)

    def repeated(transcripts: int) -> RatingsView:
        rows = [
            rating(f"t{case}-{n}", "a", f"c{case}", "empathy", "human:anna", float(values[case]), replicate=place)
            for case in range(12) for n in range(transcripts) for place, values in enumerate((first, second))
        ]  # fmt: skip
        return RatingsView(frame_of(rows, "main"), {"empathy": SCALE}, None, "ratings")

    (many,), (single,) = (retests(repeated(transcripts)) for transcripts in (5, 1))
    assert (many.units, many.transcripts, many.cases) == (60, 60, 12)
    for mine, theirs in ((many.kappa, single.kappa), (many.shift, single.shift)):
        assert ends(definite(mine).interval) == pytest.approx(ends(definite(theirs).interval), abs=1e-9)


# -- a simulation's evaluator ----------------------------------------------------------------------------


EVALUATOR, SECOND = "judge:lab/evaluator", "judge:lab/second"
CASES, TURNS = 6, 4


def talks(folder: Path, noise: Array, intents: Array | None = None) -> Path:
    """Simulated conversations whose turns have labels; the first feature, and the intents, are of known value."""
    lines = []
    for case in range(CASES):
        turns: list[dict[str, Any]] = []
        for place in range(TURNS):
            labels: dict[str, Any] = {"z": dict.fromkeys(FEATURES, 0.5) | {FEATURES[0]: float(noise[case, place])}}
            if intents is not None:
                labels["intent"] = str(intents[case, place])
            meta = {"medconceal": {EVALUATOR: labels}}
            turns += [
                {"role": "clinician", "text": f"Go on {place}.", "meta": meta},
                {"role": "patient", "text": "Well."},
            ]
        lines.append(json.dumps({
            "id": f"t{case}", "case_id": f"c{case}", "turns": turns, "factors": {"synthetic": True},
            "reference": {"simulation": {"turn_rater": EVALUATOR}},
        }))  # fmt: skip
    (folder / "talks.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder / "talks.jsonl"


def evaluated(folder: Path, noise: Array, intents: Array | None = None) -> RatingsView:
    return open_ratings_view(bedside.score(talks(folder, noise, intents), folder / "run", metrics=["structure"]).run)


def beside(view: RatingsView, metric: str, *passes: Array) -> RatingsView:
    """The view with a second rater's ratings, or labels, of the clinician turns."""
    rows = [
        {
            "transcript_id": f"t{case}", "case_id": f"c{case}", "unit": f"turn:{2 * place}", "metric": metric,
            "rater": SECOND, "replicate": replicate,
            "value" if values.dtype.kind == "f" else "label": values[case, place].item(),
        }
        for replicate, values in enumerate(passes) for case in range(CASES) for place in range(TURNS)
    ]  # fmt: skip
    more = pl.DataFrame(rows).with_columns(pl.col("replicate").cast(view.ratings.schema["replicate"]))
    return replace(view, ratings=pl.concat([view.ratings, more], how="diagonal"))


INTENT = "turn_evaluator.intent_probabilities"


FLAT = np.full((CASES, TURNS), 0.5)


def test_the_second_raters_passes_are_averaged_and_held_against_the_evaluator(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    own = random.uniform(0.2, 0.8, (CASES, TURNS)).round(3)
    theirs = (own + random.normal(0.1, 0.05, own.shape)).round(3)
    metric = f"turn_evaluator.{FEATURES[0]}"
    view = beside(evaluated(tmp_path, own), metric, theirs - 0.05, theirs + 0.05)
    (agreement,) = evaluator_agreements(view)
    assert (agreement.evaluator, agreement.rater, agreement.metric) == (EVALUATOR, SECOND, metric)
    assert (agreement.turns, agreement.cases) == (CASES * TURNS, CASES)
    assert agreement.means == pytest.approx((own.mean(), theirs.mean()))
    assert definite(agreement.difference).estimate == pytest.approx(own.mean() - theirs.mean())
    by_hand = icc(np.column_stack([own.ravel(), theirs.ravel()]), clusters=np.repeat(np.arange(CASES), TURNS))
    assert agreement.agreement.estimate == pytest.approx(by_hand.estimate)
    assert ends(agreement.agreement.interval) == pytest.approx(ends(by_hand.interval))
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert table.rows[0].group == "lab/evaluator and lab/second"
    assert [cell.text for cell in table.rows[0].cells][1:3] == ["24", "6"]


def test_agreement_on_intents_is_kappa(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    own = random.choice(["plan", "explain", "meta_probe"], (CASES, TURNS))
    theirs = np.where(random.random(own.shape) < 0.7, own, random.choice(["plan", "other"], own.shape))
    # The first two of three passes are right: the most frequent counts.
    view = beside(evaluated(tmp_path, FLAT, own), INTENT, theirs, theirs, np.full_like(theirs, "other"))
    (agreement,) = evaluator_agreements(view)
    assert (agreement.part, agreement.evaluator, agreement.rater) == ("intent", EVALUATOR, SECOND)
    assert (agreement.turns, agreement.cases, agreement.passes) == (CASES * TURNS, CASES, 3)
    assert (agreement.means, agreement.difference) == (None, None)
    pooled = cohen_kappa_score(own.ravel(), theirs.ravel())
    assert agreement.agreement.estimate == pytest.approx(pooled)
    # The interval leaves out whole cases; its standard error is carried to Fisher's scale.
    left_out = np.array([
        cohen_kappa_score(np.delete(own, case, axis=0).ravel(), np.delete(theirs, case, axis=0).ravel())
        for case in range(CASES)
    ])  # fmt: skip
    error = np.sqrt((CASES - 1) / CASES * ((left_out - left_out.mean()) ** 2).sum()) / (1 - pooled**2)
    half = scipy.stats.t.ppf(0.975, CASES - 1) * error
    expected = (np.tanh(np.arctanh(pooled) - half), np.tanh(np.arctanh(pooled) + half))
    assert ends(agreement.agreement.interval) == pytest.approx(expected)
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert has_note(table, "Cohen's kappa")
    assert has_note(table, "Of several passes")


def test_a_label_that_is_no_intent_is_refused(tmp_path: Path) -> None:
    view = beside(evaluated(tmp_path, FLAT, np.full((CASES, TURNS), "plan")), INTENT, np.full((CASES, TURNS), "Plan"))
    with pytest.raises(DataError, match=r"transcript t0, turn:0.*'Plan'.*gather_data"):
        evaluator_agreements(view)


def test_without_a_second_rater_there_is_nothing(tmp_path: Path) -> None:
    assert evaluator_agreements(evaluated(tmp_path, FLAT)) == ()


# -- judges and their own model --------------------------------------------------------------------------


#: Ratings are whole numbers, and one of what is simulated is so many of them.
UNIT = 4
WIDE = "empathy=0-60"
MADE_BY = {"A": "openai/gpt-5-mini", "B": "http://localhost:1/v1#qwen"}


def own_study(
    rng: np.random.Generator,
    *,
    cases: int = 15,
    preference: float = 0.0,
    people: bool = True,
    nested: bool = False,
    partial: bool = False,
) -> RatingsView:
    """Three systems; the judge that is A's model sees A's conversations higher, and all half a level higher."""
    rows: list[tuple[str, str, str, str, int]] = []
    for case in range(cases):
        of_case = rng.normal(0, 0.5)
        for place, system in enumerate("ABC"):
            if nested and case % 3 != place:
                continue
            true = 4 + of_case + 0.3 * place + rng.normal(0, 0.4)
            liked = rng.normal(preference, 0.2) if system == "A" else 0.0
            seen = {"judge:openai/gpt-5-mini": true + 0.5 + liked + rng.normal(0, 0.4)}
            if people:
                seen |= {f"human:{name}": true + rng.normal(0, 0.5) for name in ("anna", "ben")}
            else:
                seen["judge:other/model"] = true - 0.3 + rng.normal(0, 0.4)
            if partial:
                seen["judge:qwen"] = true + 5 * (system == "B")
            rows += [
                (f"{system}{case}", system, f"c{case}", rater, round(UNIT * value)) for rater, value in seen.items()
            ]
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "value"], orient="row")
    return open_ratings_view(frame, metric="empathy", scales=parse_scales([WIDE]))


def test_by_hand() -> None:
    """Judge minus people: own 1 and 2 in two cases, others 0 and 1; the preference is their mean difference."""
    rows = [
        ("A1", "A", "1", "judge:m", 4), ("A1", "A", "1", "human:a", 3), ("A2", "A", "2", "judge:m", 5),
        ("A2", "A", "2", "human:a", 3), ("B1", "B", "1", "judge:m", 3), ("B1", "B", "1", "human:a", 3),
        ("B2", "B", "2", "judge:m", 4), ("B2", "B", "2", "human:a", 3),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "value"], orient="row")
    view = open_ratings_view(frame, metric="empathy", scales=parse_scales([WIDE]))
    (found,) = self_preferences(view, "judge:m", {"A": "m"})
    assert (found.of_own, found.of_others, found.cases, found.paired) == (1.5, 0.5, 2, True)
    assert found.preference.estimate == 1
    assert found.own == ("A",)
    assert "own systems (A) minus others, each beside people: 1.00" in self_preference_words(found)


def test_nothing_where_it_cannot_be_known() -> None:
    view = own_study(np.random.default_rng(0))
    judge = "judge:openai/gpt-5-mini"
    assert self_preferences(view, judge) == ()
    assert self_preferences(view, judge, {"A": "another/model"}) == ()
    assert self_preferences(view, judge, dict.fromkeys("ABC", "openai/gpt-5-mini")) == ()
    assert self_preferences(view, "human:anna", MADE_BY) == ()
    assert self_preference_table(()) is None


def test_what_is_known_of_who_made_a_system(tmp_path: Path) -> None:
    """A factor names the model where all of a system's transcripts agree; a simulated system is its model."""
    factors: dict[str, list[dict[str, object]]] = {
        "A": [{"model": "m1"}, {"model": "m1"}], "B": [{"model": "m1"}, {"model": "m2"}], "C": [{"synthetic": True}],
    }  # fmt: skip
    talks = [
        conversation(("clinician", "Hello."), id=f"{system}{number}", system=system, factors=own)
        for system, several in factors.items()
        for number, own in enumerate(several)
    ]
    run = score(talks, tmp_path / "run", suite="default", metrics=["turns"]).run
    view = open_ratings_view(run, one_kind=False)
    assert makers(view) == {"A": "m1", "C": "C"}
    assert makers(view, {"B": "http://localhost/v1#m3", "A": "m4"}) == {"A": "m4", "B": "m3", "C": "C"}


def test_other_judges_stand_in_but_not_those_with_a_stake() -> None:
    view = own_study(np.random.default_rng(0), people=False, partial=True, cases=40)
    (found,) = self_preferences(view, "judge:openai/gpt-5-mini", MADE_BY)
    assert (found.beside, found.others) == ("judges", ("judge:other/model",))
    assert found.preference.estimate == pytest.approx(0, abs=0.35 * UNIT)
    table = definite(self_preference_table([found]))
    assert "not which of them is right" in " ".join(table.notes)


@pytest.mark.slow
def test_in_the_judge_card() -> None:
    view = own_study(np.random.default_rng(0), preference=1.0)
    frame = view.ratings.rename({"transcript_id": "item", "case_id": "case"}).select(
        "item", "system", "case", "rater", "metric", "value"
    )
    tables = bedside.validate(frame, scales=WIDE, made_by=MADE_BY)
    facts = {record["what"]: record["value"] for record in tables[0].records}
    assert str(facts["Self-preference, Empathy"]).startswith("own systems (A) minus others, each beside people: ")
    without = bedside.validate(frame, scales=WIDE)
    assert "Self-preference, Empathy" not in {record["what"] for record in without[0].records}


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("preference", [0.0, 0.6])
def test_coverage(preference: float, nested: bool) -> None:
    rng = np.random.default_rng(3)
    runs = budget(30, 1500)
    covered = 0
    for _ in range(runs):
        view = own_study(rng, preference=preference, nested=nested, cases=30 if nested else 15)
        (found,) = self_preferences(view, "judge:openai/gpt-5-mini", MADE_BY)
        assert found.paired != nested
        bounds = definite(found.preference.interval)
        covered += bounds.low <= UNIT * preference <= bounds.high
    slack = 3 * np.sqrt(0.05 * 0.95 / runs)
    assert 0.93 - slack <= covered / runs <= 0.97 + slack


def test_two_systems_among_many_are_as_alone_and_are_not_asked_for_pair_by_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(5)
    keys = [(system, case, rater) for system in "abcde" for case in range(12) for rater in ("r1", "r2", "r3", "r4")]
    rows = [(*key, float(draw.integers(1, 6))) for key in keys if draw.random() < 0.7]
    frame = pl.DataFrame(
        {
            "transcript_id": [f"{system}{case}" for system, case, *_ in rows],
            "system": [system for system, *_ in rows],
            "case_id": [f"case {case}" for _, case, *_ in rows],
            "rater": [f"human:{rater}" for *_, rater, _ in rows],
            "metric": ["empathy"] * len(rows),
            "value": [value for *_, value in rows],
        }
    )
    read: list[str] = []
    plain = rater_effects._case_means_by_rater

    def counting(view: RatingsView, rated: pl.DataFrame, systems: tuple[str, ...]) -> pl.DataFrame:
        read.append("cells")
        return plain(view, rated, systems)

    monkeypatch.setattr(rater_effects, "_case_means_by_rater", counting)
    together = open_ratings_view(frame)
    designs = {duo: rater_effects.rater_design(together, "empathy", duo) for duo in combinations("abcde", 2)}
    assert len(read) == 1
    for (a, b), design in designs.items():
        alone = open_ratings_view(frame.filter(pl.col("system").is_in([a, b])))
        expected = rater_effects.rater_design(alone, "empathy", (a, b))
        assert design is not None
        assert expected is not None
        assert len(expected.raters) == 4
        # How raters differ is told by what they rated of the other systems, too.
        assert replace(design, shift=None, shift_reach=0.0) == replace(expected, shift=None, shift_reach=0.0)
