"""Who is severe, who rated which system, and to whom a comparison by people generalises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
import statsmodels.formula.api as smf
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.analysis.comparison import compare
from bedside.analysis.evaluator_agreement import evaluator_agreements
from bedside.analysis.rater_effects import (
    RaterDesign,
    confounding_in_words,
    rater_design,
    rater_severities,
    scope_in_words,
)
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.retest import retests
from bedside.analysis.selection import NothingError
from bedside.analysis.self_preference import makers, self_preferences
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal import FEATURES
from bedside.ratings.names import human_rater
from bedside.ratings.scales import Scale, parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.rater_effects import RATERS_APART, design_notes, severity_table, with_people_notes
from bedside.reports.renderers.markdown import markdown
from bedside.reports.self_preference import self_preference_table, self_preference_words
from bedside.reports.tables.comparison import comparison_table, overall_table
from bedside.reports.tables.retest import TABLE
from bedside.scoring.score import score
from bedside.stats import crossed_raters
from bedside.stats.reliability import icc
from tests.analysis.builders import definite
from tests.analysis.ratings_rows import Row, view
from tests.conftest import conversation
from tests.soak import budget

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


# -- people beside themselves ----------------------------------------------------------------------------


SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)


def study(units: int = 60, round: str = "main") -> tuple[RatingsView, dict[str, np.ndarray]]:
    """Anna rates 60 transcripts twice, ben all once and 20 twice; labels of turns are anna's alone."""
    rng = np.random.default_rng(4)
    first = rng.integers(1, 6, units)
    second = np.clip(first + rng.choice((-1, 0, 0, 0, 1), units), 1, 5)
    labels = rng.choice(("open", "closed"), (2, units))
    rows = []
    for unit in range(units):
        origin = (f"t{unit}", "a", None)
        rows += [(*origin, "transcript", "empathy", "human:anna", place, float(values[unit]), None, None, None)
                 for place, values in enumerate((first, second))]  # fmt: skip
        rows.append((*origin, "transcript", "empathy", "human:ben", 0, float(first[unit]), None, None, None))
        if unit < 20:
            rows.append(
                (*origin, "transcript", "empathy", "human:ben", 1, float(second[unit]), None, None, None)
            )
        rows += [(f"t{unit // 5}", "a", None, f"turn:{unit % 5}", "question", "human:anna", place, None,
                  str(labels[place, unit]), None, None) for place in (0, 1)]  # fmt: skip
        rows += [
            (*origin, "transcript", "empathy", "judge:m", place, 3.0, None, None, None) for place in (0, 1)
        ]
    view = RatingsView(frame_of(rows, round), {"empathy": SCALE}, None, "ratings")
    return view, {"first": first, "second": second, "labels": labels}


def test_first_and_second_ratings_are_compared() -> None:
    view, given = study()
    by_rater = {(retest.metric, retest.rater): retest for retest in retests(view)}
    assert set(by_rater) == {("empathy", "human:anna"), ("empathy", "human:ben"), ("question", "human:anna")}
    anna = by_rater["empathy", "human:anna"]
    assert (anna.units, anna.transcripts) == (60, 60)
    assert anna.kappa.estimate == pytest.approx(
        cohen_kappa_score(given["first"], given["second"], weights="quadratic", labels=range(1, 6))
    )
    assert anna.same.estimate == pytest.approx((given["first"] == given["second"]).mean())
    assert definite(anna.shift).estimate == pytest.approx((given["second"] - given["first"]).mean())
    ben = by_rater["empathy", "human:ben"]
    assert (ben.units, ben.kappa.n) == (20, 20)
    question = by_rater["question", "human:anna"]
    assert (question.units, question.transcripts, question.shift) == (60, 12, None)
    assert question.kappa.estimate == pytest.approx(cohen_kappa_score(*given["labels"]))


def test_two_rounds_are_no_retest_of_one() -> None:
    pilot, main = (study(round=name)[0].ratings for name in ("pilot", "main"))
    once = [part.filter(part["replicate"] == 0) for part in (pilot, main)]
    both = RatingsView(once[0].vstack(once[1]), {"empathy": SCALE}, None, "ratings")
    with pytest.raises(NothingError, match="nobody rated a unit twice"):
        retests(both)
    assert TABLE.make(both) is None


def test_the_table_says_who_agrees_with_themselves() -> None:
    table = definite(TABLE.make(study()[0]))
    text = markdown(table)
    assert "| anna | 60 |" in text
    assert "shown twice without being told" in text
    assert [record["units"] for record in table.records] == [60, 20, 60]


def test_people_agree_with_each_other_by_their_first_ratings() -> None:
    """Ben gave what anna gave first; her second thoughts stand in a table of their own."""
    view, _ = study()
    tables = bedside.agree(view.ratings, metrics="empathy", raters="human:*", scales="empathy=1-5")
    assert [table.name for table in tables] == ["agreement", "retest"]
    (people,) = (agreement for agreement in tables.results if agreement.kind == "people")
    assert people.statistics["kappa"].estimate == 1.0
    assert [record["rater"] for record in tables["retest"].records] == ["human:anna", "human:ben"]


def test_transcripts_of_one_case_are_drawn_together() -> None:
    """Twelve cases whose five transcripts are rated alike twice: as sure as twelve transcripts, not as sixty."""
    rng = np.random.default_rng(7)
    first = rng.integers(1, 6, 12)
    second = np.clip(first + rng.choice((-1, 0, 0, 1), 12), 1, 5)

    def view(transcripts: int) -> RatingsView:
        rows = [
            (f"t{case}-{place}", "a", f"c{case}", "transcript", "empathy", "human:anna", replicate,
             float(values[case]), None, None, None)
            for case in range(12) for place in range(transcripts) for replicate, values in enumerate((first, second))
        ]  # fmt: skip
        return RatingsView(frame_of(rows, "main"), {"empathy": SCALE}, None, "ratings")

    (many,), (single,) = (retests(view(transcripts)) for transcripts in (5, 1))
    assert (many.units, many.transcripts, many.cases) == (60, 60, 12)
    for mine, theirs in ((many.kappa, single.kappa), (many.shift, single.shift)):
        assert mine is not None
        assert theirs is not None
        assert definite(mine.interval).low == pytest.approx(definite(theirs.interval).low, abs=1e-9)
        assert definite(mine.interval).high == pytest.approx(definite(theirs.interval).high, abs=1e-9)


def test_the_shift_stands_with_its_interval() -> None:
    ratings, _ = study()
    (table, found) = TABLE.make(ratings), retests(ratings, metrics=["empathy"])
    shift = definite(found[0].shift)
    text = f"{shift.estimate:+.2f} [{definite(shift.interval).low:.2f}, {definite(shift.interval).high:.2f}]".replace(
        "-", "−"
    )
    assert definite(table).rows[0].cells[-1].text == text


# -- a simulation's evaluator ----------------------------------------------------------------------------


EVALUATOR, SECOND = "judge:lab/evaluator", "judge:lab/second"
CASES, TURNS = 6, 4


def talks(folder: Path, noise: np.ndarray, intents: np.ndarray | None = None) -> Path:
    """Simulated conversations whose turns have labels; the first feature, and the intents, are of known value."""
    path = folder / "talks.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for case in range(CASES):
            turns: list[dict[str, Any]] = []
            for place in range(TURNS):
                z = dict.fromkeys(FEATURES, 0.5) | {FEATURES[0]: float(noise[case, place])}
                labels = {"z": z} if intents is None else {"z": z, "intent": str(intents[case, place])}
                turns.append(
                    {
                        "role": "clinician",
                        "text": f"Go on {place}.",
                        "meta": {"medconceal": {EVALUATOR: labels}},
                    }
                )
                turns.append({"role": "patient", "text": "Well."})
            talk = {
                "id": f"t{case}", "case_id": f"c{case}", "turns": turns, "factors": {"synthetic": True},
                "reference": {"simulation": {"turn_rater": EVALUATOR}},
            }  # fmt: skip
            file.write(json.dumps(talk) + "\n")
    return path


def with_second_rater(view: RatingsView, values: np.ndarray, metric: str) -> RatingsView:
    """The view with a second rater's ratings of the clinician turns."""
    rows = [
        {
            "transcript_id": f"t{case}", "case_id": f"c{case}", "unit": f"turn:{2 * place}", "metric": metric,
            "rater": SECOND, "replicate": replicate, "value": float(values[case, place]) + shift,
        }
        for case in range(CASES)
        for place in range(TURNS)
        for replicate, shift in ((0, -0.05), (1, 0.05))
    ]  # fmt: skip
    more = pl.DataFrame(rows).with_columns(pl.col("replicate").cast(view.ratings.schema["replicate"]))
    return replace(view, ratings=pl.concat([view.ratings, more], how="diagonal"))


def test_the_second_raters_passes_are_averaged_and_held_against_the_evaluator(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    own = random.uniform(0.2, 0.8, (CASES, TURNS)).round(3)
    theirs = (own + random.normal(0.1, 0.05, own.shape)).round(3)
    run = bedside.score(talks(tmp_path, own), tmp_path / "run", metrics=["structure"]).run
    metric = f"turn_evaluator.{FEATURES[0]}"
    view = with_second_rater(open_ratings_view(run), theirs, metric)
    (agreement,) = evaluator_agreements(view)
    assert (agreement.evaluator, agreement.rater, agreement.metric) == (EVALUATOR, SECOND, metric)
    assert (agreement.turns, agreement.cases) == (CASES * TURNS, CASES)
    assert agreement.means == pytest.approx((own.mean(), theirs.mean()))
    assert agreement.difference.estimate == pytest.approx(own.mean() - theirs.mean())
    by_hand = icc(np.column_stack([own.ravel(), theirs.ravel()]), clusters=np.repeat(np.arange(CASES), TURNS))
    assert agreement.agreement.estimate == pytest.approx(by_hand.estimate)
    assert definite(agreement.agreement.interval).low == pytest.approx(definite(by_hand.interval).low)
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert table.rows[0].group == "lab/evaluator and lab/second"
    assert [cell.text for cell in table.rows[0].cells][1:3] == ["24", "6"]


def with_intents(view: RatingsView, *passes: np.ndarray) -> RatingsView:
    """The view with a second rater's intents of the clinician turns."""
    rows = [
        {
            "transcript_id": f"t{case}", "case_id": f"c{case}", "unit": f"turn:{2 * place}",
            "metric": "turn_evaluator.intent_probabilities", "rater": SECOND, "replicate": replicate,
            "label": str(intents[case, place]),
        }
        for replicate, intents in enumerate(passes)
        for case in range(CASES)
        for place in range(TURNS)
    ]  # fmt: skip
    more = pl.DataFrame(rows).with_columns(pl.col("replicate").cast(view.ratings.schema["replicate"]))
    return replace(view, ratings=pl.concat([view.ratings, more], how="diagonal"))


def test_agreement_on_intents_is_kappa(tmp_path: Path) -> None:
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(7)
    own = random.choice(["plan", "explain", "meta_probe"], (CASES, TURNS))
    theirs = np.where(random.random(own.shape) < 0.7, own, random.choice(["plan", "other"], own.shape))
    # The first two of three passes are right: the most frequent counts.
    passes = (theirs, theirs, np.full_like(theirs, "other"))
    noise = np.full((CASES, TURNS), 0.5)
    run = bedside.score(talks(tmp_path, noise, own), tmp_path / "run", metrics=["structure"]).run
    view = with_intents(open_ratings_view(run), *passes)
    (agreement,) = evaluator_agreements(view)
    assert (agreement.part, agreement.evaluator, agreement.rater) == ("intent", EVALUATOR, SECOND)
    assert (agreement.turns, agreement.cases, agreement.passes) == (CASES * TURNS, CASES, 3)
    assert (agreement.means, agreement.difference) == (None, None)
    pooled = cohen_kappa_score(own.ravel(), theirs.ravel())
    assert agreement.agreement.estimate == pytest.approx(pooled)
    # The interval leaves out whole cases; its standard error is carried to Fisher's scale.
    left_out = np.array(
        [
            cohen_kappa_score(np.delete(own, case, axis=0).ravel(), np.delete(theirs, case, axis=0).ravel())
            for case in range(CASES)
        ]
    )
    error = np.sqrt((CASES - 1) / CASES * ((left_out - left_out.mean()) ** 2).sum()) / (1 - pooled**2)
    half = student.ppf(0.975, CASES - 1) * error
    low, high = definite(agreement.agreement.interval).low, definite(agreement.agreement.interval).high
    assert (low, high) == pytest.approx(
        (np.tanh(np.arctanh(pooled) - half), np.tanh(np.arctanh(pooled) + half))
    )
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert any("Cohen's kappa" in note for note in table.notes)
    assert any("Of several passes" in note for note in table.notes)


def test_a_label_that_is_no_intent_is_refused(tmp_path: Path) -> None:
    own = np.full((CASES, TURNS), "plan")
    run = bedside.score(
        talks(tmp_path, np.full((CASES, TURNS), 0.5), own), tmp_path / "run", metrics=["structure"]
    ).run
    view = with_intents(open_ratings_view(run), np.full((CASES, TURNS), "Plan"))
    with pytest.raises(
        DataError, match=r"gives a turn the intent 'Plan'.*write one of gather_data"
    ) as caught:
        evaluator_agreements(view)
    assert "transcript t0, turn:0" in str(caught.value)


def test_without_a_second_rater_there_is_nothing(tmp_path: Path) -> None:
    own = np.full((CASES, TURNS), 0.5)
    run = bedside.score(talks(tmp_path, own), tmp_path / "run", metrics=["structure"]).run
    assert evaluator_agreements(open_ratings_view(run)) == ()


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
                (f"{system}{case}", system, f"c{case}", rater, round(UNIT * value))
                for rater, value in seen.items()
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
    with pytest.raises(DataError, match="no system is called 'D'"):
        makers(view, {"D": "m"})


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
    assert str(facts["Self-preference, Empathy"]).startswith(
        "own systems (A) minus others, each beside people: "
    )
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
