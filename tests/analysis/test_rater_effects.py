"""Who is severe, who rated which system, and to whom a comparison by people generalises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import statsmodels.formula.api as smf

from bedside.analysis.comparison import compare
from bedside.analysis.rater_effects import (
    RaterDesign,
    confounding_in_words,
    rater_design,
    rater_severities,
    scope_in_words,
)
from bedside.ratings.names import human_rater
from bedside.reports.build import build_tables
from bedside.reports.rater_effects import RATERS_APART, design_notes, severity_table, with_people_notes
from bedside.reports.tables.comparison import comparison_table, overall_table
from bedside.stats import crossed_raters
from tests.analysis.builders import definite
from tests.analysis.ratings_rows import Row, view

RNG = np.random.default_rng(5)
PEOPLE = ("anna", "ben", "cleo")


def rows(system: str, person: str, values: np.ndarray, *, first: int = 0) -> list[Row]:
    return [
        (f"{system}{case + first}", system, f"c{case + first}", "empathy", human_rater(person), float(value))
        for case, value in enumerate(values)
        if not np.isnan(value)
    ]


def crossed(x: np.ndarray, y: np.ndarray, *, apart: int = 0) -> list[Row]:
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


def test_severity_is_the_deviation_from_the_others_by_case() -> None:
    severities = rater_severities(view(crossed(X, Y)), ["empathy"])
    for position, severity in enumerate(severities):
        deviations = [
            table[:, position] - np.delete(table, position, axis=1).mean(axis=1) for table in (X, Y)
        ]
        by_case = np.mean(deviations, axis=0)
        expected = scipy.stats.ttest_1samp(by_case, 0)
        assert severity.deviation.estimate == pytest.approx(by_case.mean())
        interval = definite(severity.deviation.interval)
        assert interval.low == pytest.approx(expected.confidence_interval().low)
        assert (severity.ratings, severity.shared, severity.deviation.n) == ((("A", 20), ("B", 20)), 40, 20)
    text = str(severity_table(severities))
    assert "anna" in text
    assert "A 20, B 20" in text


def test_who_shares_nothing_has_no_severity() -> None:
    table = rows("A", "anna", X[:, 0]) + rows("A", "ben", X[:, 1]) + rows("B", "cleo", Y[:, 2])
    severities = {severity.rater: severity for severity in rater_severities(view(table), ["empathy"])}
    assert severities["human:cleo"].deviation.estimate is None
    assert severities["human:anna"].deviation.n == 20
    assert not rater_severities(view(rows("A", "anna", X[:, 0])), ["empathy"])


def test_three_people_on_the_same_cases_speak_for_raters_like_them() -> None:
    found = design(crossed(X, Y))
    expected = crossed_raters.paired_difference(X, Y)
    assert definite(found.difference).p == pytest.approx(expected.p)
    assert definite(found.difference).estimate == pytest.approx((X - Y).mean())
    assert scope_in_words(found) == "raters like these 3"
    assert not found.is_confounded
    assert "raters like these 3" in design_notes([found])[0]


def test_cases_of_their_own_are_crossed_with_raters_too() -> None:
    found = design(crossed(X, Y, apart=100))
    assert definite(found.difference).p == pytest.approx(crossed_raters.unpaired_difference(X, Y).p)


def test_two_people_speak_for_themselves() -> None:
    found = design(crossed(X[:, :2], Y[:, :2]))
    assert found.difference is None
    assert scope_in_words(found) == (
        "these 2 raters only: 2 people rated, and raters like them need three or more"
    )


def test_a_few_gaps_are_left_out_and_many_end_it() -> None:
    holed = X.copy()
    holed[:3, 1] = np.nan
    found = design(crossed(holed, Y))
    assert (definite(found.difference).n, definite(found.difference).dropped) == (17, 3)
    assert "left out (at most 3)" in design_notes([found])[0]
    holed[:10, 1] = np.nan
    found = design(crossed(holed, Y))
    assert definite(found.difference) is None
    assert found.why == "all 3 people rated only 10 of 20 cases"


def lenient_pairs(lenience: float) -> list[Row]:
    """Two lenient people on A, two others on B, the same cases."""
    table = []
    for system, people, shift in (("A", ("anna", "ben"), lenience), ("B", ("cleo", "dora"), 0.0)):
        own = RNG.normal(3, 0.5, 20)
        for person in people:
            table += rows(system, person, own + shift + RNG.normal(0, 0.3, 20))
    return table


def test_people_who_rated_one_system_only_are_a_warning() -> None:
    found = design(lenient_pairs(0.5))
    assert (found.only_a, found.only_b, found.imbalance) == (
        ("human:anna", "human:ben"), ("human:cleo", "human:dora"), 1.0,
    )  # fmt: skip
    assert found.shift is None
    words = confounding_in_words(found)
    assert "only A was rated by anna and ben, only B was rated by cleo and dora" in words
    assert "share no ratings that tell how much it does" in words
    assert words in design_notes([found])


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
    by_rater = {"human:anna": 0.0} | {
        name: levels[f"C(rater)[T.{name}]"] for name in ("human:ben", "human:cleo")
    }
    # The mean of each transcript moves by the mean of its raters' levels.
    frame["level"] = frame["rater"].map(by_rater)
    moved = frame.groupby("unit")["level"].mean()
    by_system = [moved[[name.startswith(system) for name in moved.index]].mean() for system in "AB"]
    assert found.shift == pytest.approx(by_system[0] - by_system[1])
    assert "that alone makes a difference of +" in confounding_in_words(found)


def test_sets_that_differ_a_little_are_no_warning() -> None:
    table = crossed(X, Y)
    found = design([row for row in table if not (row[4] == "human:anna" and row[0] == "A3")])
    assert 0 < found.imbalance < 0.1
    assert not found.is_confounded


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
    assert pair.test.p == pytest.approx(expected.p)
    assert pair.difference.estimate == pytest.approx(expected.estimate)
    assert pair.paired
    notes = " ".join(comparison_table([pair]).notes)
    assert "quasi-F of cases × raters" in notes
    assert "the answer is about raters like these 3" in notes
    assert RATERS_APART in notes
    (asked,) = compare(study, test="t").pairs
    assert asked.test.p == pytest.approx(scipy.stats.ttest_rel(X.mean(1), Y.mean(1)).pvalue)
    assert "these 3 raters only: the test that was asked for averages raters first" in " ".join(
        comparison_table([asked]).notes
    )
    (one_sided,) = compare(study, alternative="greater").pairs
    assert one_sided.test.p == pytest.approx(crossed_raters.asked_for(expected, alternative="greater").p)
    (apart,) = compare(view(crossed(X, Y, apart=100))).pairs
    assert not apart.paired
    assert apart.test.p == pytest.approx(crossed_raters.unpaired_difference(X, Y).p)
    (two,) = compare(view(crossed(X[:, :2], Y[:, :2]))).pairs
    assert "signed-rank" in two.test.method


def test_comparisons_warn_of_confounded_raters() -> None:
    (pair,) = compare(view(lenient_pairs(0.5))).pairs
    assert any(
        "Raters and systems are confounded, A − B on Empathy" in n for n in comparison_table([pair]).notes
    )


def test_every_table_on_peoples_ratings_says_whom_it_is_about() -> None:
    for table in build_tables(view(lenient_pairs(0.5)), ["results", "raters"]):
        if table.name == "results":
            assert any("about these 4 raters (anna, ben, cleo and dora)" in note for note in table.notes)
            assert any("only A was rated by anna and ben" in note for note in table.notes)
        else:
            assert [record["deviation"] is None for record in table.records] == [False] * 4
    judged = [(name, s, c, m, "judge:m", value) for name, s, c, m, _, value in crossed(X, Y)[:40]]
    (results,) = build_tables(view(judged), ["results"])
    assert not any("raters" in note for note in results.notes)


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
    noted = with_people_notes(overall_table([overall]), study)
    assert "People (Empathy): the answer is about raters like these 3." in " ".join(noted.notes)
    assert "not what other raters would" not in " ".join(noted.notes)
    # Who asks for Friedman's test has it, about these people.
    (asked,) = compare(study, test="friedman").overall
    assert (asked.raters_like, asked.test.name) == (0, "Kendall's W")
    assert "not what other raters would" in " ".join(with_people_notes(overall_table([asked]), study).notes)


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
