"""What a study needs: against published sizes and by doing the study."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon as scipy_wilcoxon
from statsmodels.stats.power import TTestPower

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.study_size import pilot_differences, sizes_for_difference, sizes_for_kappa
from bedside.ratings.table import frame_of
from bedside.reports.study_size import difference_table, kappa_table
from bedside.scoring.score import score
from bedside.stats import sample_size as planning
from tests.analysis.builders import definite, rating
from tests.conftest import conversation, exit_code


@pytest.mark.slow
def test_more_raters_need_fewer_transcripts() -> None:
    table = kappa_table(sizes_for_kappa(0.6, 0.15, shares=[0.2] * 5, raters=[2, 3, 5], seed=0))
    for disagreement in ("near", "guessing"):
        records = [record for record in table.records if record["disagreement"] == disagreement]
        sizes = [record["items"] for record in records]
        assert sizes == sorted(sizes, reverse=True)
        assert records[0]["items_formula"] == pytest.approx(sizes[0], rel=0.1)
        for record in records:
            assert record["half_width_reached"] == pytest.approx(0.15, abs=0.01)


@pytest.mark.slow
def test_raters_of_ordered_levels_need_fewer_transcripts_than_raters_who_guess() -> None:
    shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    sizes = sizes_for_kappa(0.6, 0.1, shares=shares, raters=[2]).by_raters
    assert [size.disagreement for size in sizes] == ["near", "guessing"]
    near, guessing = (size.simulation.n or 0 for size in sizes)
    assert near == pytest.approx(160, rel=0.05)
    assert guessing == pytest.approx(343, rel=0.02)
    table = kappa_table(sizes_for_kappa(0.6, 0.2, shares=shares, raters=[2]))
    assert {row.group for row in table.rows} == {
        "Raters who miss by a level or so", "Raters who guess where they disagree",
    }  # fmt: skip
    # Without an order of levels there is no near miss.
    for weights, levels in (("none", 3), ("quadratic", 2)):
        sizes = sizes_for_kappa(0.6, 0.2, shares=[1 / levels] * levels, raters=[2], weights=weights).by_raters
        assert [size.disagreement for size in sizes] == ["guessing"]


def test_every_pair_of_simulated_raters_has_the_kappa_asked_for() -> None:
    """A study of that size with that many raters reaches the half-width, by another seed."""
    plan = planning.simulated_items_for_kappa(0.7, 0.12, shares=[0.3, 0.7], raters=3, simulations=100, seed=1)
    again = planning.simulated_half_width(definite(plan.n), 0.7, shares=[0.3, 0.7], raters=3, simulations=200, seed=9)
    assert again.reached == pytest.approx(0.12, abs=0.01)


def test_pairs_for_a_difference_are_those_of_the_noncentral_t() -> None:
    table = difference_table(sizes_for_difference(0.3, sd=0.8, power=0.8, tests=3))
    expected = TTestPower().solve_power(effect_size=0.3 / 0.8, alpha=0.05 / 3, power=0.8)
    assert table.records[0]["pairs"] == int(np.ceil(expected))


def test_the_power_of_few_cases_is_that_of_the_exact_test() -> None:
    """Where the formula says 6 cases and .80, the test finds the difference in .63 of the studies."""
    sizes = sizes_for_difference(1.5, sd=1)
    cases = sizes.by_test[1].cases
    rng = np.random.default_rng(11)
    studies = rng.normal(1.5, 1, size=(1500, definite(cases.n)))
    by_hand, of_fewer = (
        float((scipy_wilcoxon(studies[:, :n], axis=1, method="exact").pvalue <= 0.05).mean())
        for n in (definite(cases.n), definite(cases.n) - 1)
    )
    assert definite(cases.reached) == pytest.approx(by_hand, abs=0.035)
    assert by_hand > 0.8 - 0.035
    assert of_fewer < 0.7


def test_fewer_cases_than_can_be_significant_are_never_planned() -> None:
    sizes = sizes_for_difference(3, sd=1, tests=10)
    size = sizes.by_test[1]
    # Of 8 cases, all to one side, p is 2/2^8 = .0078 and not below .005.
    assert size.fewest == 9
    assert (size.cases.n or 0) >= 9
    assert "fewer than 9 cases" in " ".join(difference_table(sizes).notes)


def test_a_pilot_gives_the_spread(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(3.4, 1, 40), rng.normal(3, 1, 40)
    rows = [f"{s}{i},{s},{i},anna,{v}" for s, values in (("A", a), ("B", b)) for i, v in enumerate(values)]
    path = tmp_path / "pilot.csv"
    path.write_text("item,system,case,rater,value\n" + "\n".join(rows) + "\n")
    pilot = pilot_differences(open_ratings_view(path), "rating", ["A", "B"])
    assert pilot.raters == "people"
    assert sorted(pilot.differences) == pytest.approx(sorted(a - b))
    table = difference_table(sizes_for_difference(0.5, pilot=pilot, power=0.8))
    assert table.records[0]["power_on_pilot"] == pytest.approx(0.8, abs=0.05)


def test_a_pilot_can_be_one_part_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings of a pilot spread differently; `--where` takes the one that is planned."""
    rng = np.random.default_rng(3)
    talks, rows = [], []
    for setting, sd in (("8", 0.2), ("16", 2.0)):
        for case in range(12):
            for system in "AB":
                name = f"{system}-{setting}-{case}"
                talks.append(
                    conversation(
                        ("patient", "x"), ("clinician", "y"), id=name, system=system, case_id=f"{setting}-{case}",
                        factors={"setting": setting},
                    )
                )  # fmt: skip
                rows.append(
                    rating(name, system, f"{setting}-{case}", "warmth", "judge:m", float(rng.normal(3, sd)))
                )  # fmt: skip
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    run = score([path], tmp_path / "run", metrics=["structure"]).run
    run.add(frame_of(rows).lazy(), run.manifest)
    sizes = []
    for where in ([], ["--where", "setting=8"]):
        asked = ("--difference", ".5", "--pilot", run.path, "--metric", "warmth", "--systems", "A,B", *where)
        exit_code("plan", "difference", *asked, "--json")
        sizes.append(json.loads(capsys.readouterr().out)[0]["rows"][0]["pairs"])
    assert 3 * sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "kappa", "--shares", "a,b"], "--shares: 'a,b' is not a list of numbers"),
        (["plan", "kappa", "--shares", ".5,.6"], "sum to 1"),
        (["plan", "kappa", "--kappa", "1.5"], "must lie from 0 to below 1"),
        (["plan", "difference", "--difference", "1"], "give --sd, or --pilot"),
        (["plan", "difference", "--difference", "1", "--sd", "0"], "standard deviation must be above 0"),
        (["plan", "difference", "--difference", "1", "--sd", "1", "--tests", "0"], "at least one test"),
    ],
)
def test_impossible_plans_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*arguments) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code("plan", "difference", "--difference", "1", "--sd", "1", "--json")
    assert json.loads(capsys.readouterr().out)[0]["rows"][0]["pairs"] == 10


def pilot_sheet(path: Path, *, passes: int = 1, raters: str = "abcde", cases: int = 30) -> Path:
    """Ratings of two systems from 1 to 5; half of the variance is of cases, the mean of A half a level higher."""
    rng = np.random.default_rng(12)
    case, rater = rng.normal(size=cases), 0.15 * rng.normal(size=len(raters))
    rows = [
        f"{system}{i},{system},{i},{name},warmth,"
        f"{np.clip(round(3 + own + case[i] + rater[j] + rng.normal() * 0.8), 1, 5)},{often}"
        for system, own in (("A", 0.5), ("B", 0.0)) for i in range(cases) for j, name in enumerate(raters)
        for often in range(passes)
    ]  # fmt: skip
    path.write_text("item,system,case,rater,metric,value,replicate\n" + "\n".join(rows) + "\n")
    return path


def test_a_plan_after_a_pilot(tmp_path: Path) -> None:
    """The cheapest design that reaches it comes first, and reaches it with the chance asked for."""
    sheet = pilot_sheet(tmp_path / "pilot.csv", passes=2)
    tables = bedside.plan_raters(sheet, systems="A", scales="1-5")
    first, *others = tables[0].records
    study = tables.results.study
    assert study.of_repeats is not None
    assert first["reaches"]
    assert first["ratings"] == min(record["ratings"] for record in tables[0].records if record["reaches"])
    assert all(record["ratings"] >= first["ratings"] for record in others if record["reaches"])
    parts, n, k = study.parts, first["raters"], first["passes"]
    assert first["coefficient"] == pytest.approx(parts[0] / (parts[0] + (parts[1] + parts[2] + parts[3] / k) / n))
    assert tables[0].title.startswith("3 raters, 2 times each, reach Φ .80 on Warmth (A) with a chance of ")
    assert (n, k) == (3, 2)
    # By hand: the share of draws in which the coefficient is .80.
    drawn = study.drawn
    share = drawn[0] / (drawn[0] + (drawn[1] + drawn[2] + drawn[3] / k) / n)
    assert first["chance"] == pytest.approx(float((share >= 0.8).mean()))
    found = bedside.plan_raters(sheet, systems=("A", "B"), difference=0.5, scales="1-5", raters=[3, 6], passes=[1])
    (record, *_) = found[0].records
    assert record["ratings"] == 2 * record["cases"] * record["raters"]
    assert found.results.levels is not None
    assert found.results.study.cases == 30
    assert record["chance"] >= 0.79


def test_where_no_plan_reaches_a_coefficient_the_answer_says_what_it_takes(tmp_path: Path) -> None:
    """The raters by Spearman and Brown from Φ of one; that too many are needed; that a second pass is not known."""
    sheet = pilot_sheet(tmp_path / "pilot.csv", passes=2)
    tables = bedside.plan_raters(sheet, systems="A", scales="1-5", raters=[1, 2], passes=[1])
    one = tables.results.study.coefficient("absolute", raters=1, repeats=1).estimate
    assert one is not None
    needed = math.ceil(0.8 / 0.2 * (1 - one) / one)
    said = f"Φ .80 on Warmth (A) needs {needed} raters or more by the pilot's estimates, and the plans have at most 2"
    assert tables[0].title == said
    (table,) = bedside.plan_raters(sheet, systems="A", scales="1-5", dependability=0.9999, passes=[2])
    assert "needs more than 1,000 raters, 2 times each, by the pilot's estimates" in table.title
    few = pilot_sheet(tmp_path / "few.csv", raters="abc", cases=6)
    (table,) = bedside.plan_raters(few, scales="1-5", passes=[2])
    assert table.title == "How many raters reach Φ .80 on Warmth is not known: nobody rated anything twice"


@pytest.mark.slow
def test_what_a_pilot_does_not_tell_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = pilot_sheet(tmp_path / "pilot.csv", raters="abc", cases=6)
    (table,) = bedside.plan_raters(
        sheet, systems=("A", "B"), difference=0.3, scales="1-5", raters=[2, 4], passes=[1, 2]
    )
    assert "is not known: the pilot is too small to tell. A pilot of" in table.title
    assert {record["missing"] for record in table.records} == {
        "raters like these need 3 or more", "nobody rated anything twice", "the pilot is too small to tell",
    }  # fmt: skip
    notes = " ".join(table.notes)
    assert "what a second pass of the same rater brings is not known" in notes
    assert "what a second transcript of a case brings is not known" in notes
    for arguments, words in (
        (["--half-width", ".3"], "--systems: these aren't systems"),
        (["--difference", "9", "--systems", "A,B", "--scale", "1-5"], "--difference: means around"),
        (["--dependability", "1"], "--dependability: it must lie above 0 and below 1"),
        (["--dependability", ".7", "--half-width", ".3"], "--dependability and --half-width: each is a"),
        (["--raters", "0"], "--raters and --passes: a study has at least one rater"),
    ):
        assert exit_code("plan", "raters", "--pilot", str(sheet), *arguments) == 2, words
        assert words in capsys.readouterr().err
    alone = pilot_sheet(tmp_path / "alone.csv", raters="a")
    assert exit_code("plan", "raters", "--pilot", str(alone)) == 2
    assert (
        "is not known: fewer than two cases or raters; let 3 raters or more rate the same cases"
        in capsys.readouterr().err
    )
