"""Findings say the true thing, by their error rates on studies of a known truth; and their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.agreement import agree, rated_apart
from bedside.analysis.comparison import compare
from bedside.analysis.estimation import estimate
from bedside.analysis.findings import (
    Finding,
    MeasureFinding,
    agreement_findings,
    comparison_findings,
    estimate_findings,
)
from bedside.ratings.scales import Scale
from bedside.reports.finding_words import sentences
from tests.analysis.ratings_rows import Row, view

PEOPLE = ("human:anna", "human:ben")
METRICS = tuple(f"code_{number}" for number in range(5))
CASES = 24


def compared(rng: np.random.Generator, differences: dict[str, float]) -> tuple[Finding, ...]:
    """A study of two systems on the same cases, the first above the second by so many standard deviations."""
    rows: list[Row] = []
    for metric, difference in differences.items():
        of_case = rng.normal(0, 1, CASES)
        for system, above in (("a", difference), ("b", 0.0)):
            values = of_case + rng.normal(0, 1, CASES) + above
            rows += _rows(system, metric, values, "judge:m")
    return comparison_findings(compare(view(rows), metrics=list(differences)))


def _rows(system: str, metric: str, values: np.ndarray[Any, Any], rater: str) -> Iterator[Row]:
    for case, value in enumerate(values):
        yield (f"{system}{case}", system, f"c{case}", metric, rater, float(value))


def agreed(rng: np.random.Generator, kappa: float, metrics: int = 5, units: int = 60) -> tuple[Finding, ...]:
    """Two people who give labels of two levels, as likely one as the other, with this kappa in the population."""
    rows: list[Row] = []
    for metric in METRICS[:metrics]:
        first = rng.random(units) < 0.5
        second = np.where(rng.random(units) < (1 + kappa) / 2, first, ~first)
        for rater, said in (("human:anna", first), ("human:ben", second)):
            rows += _rows("a", metric, said.astype(float), rater)
    scales = dict.fromkeys(METRICS, Scale((0.0, 1.0), True))
    return agreement_findings(agree(replace(view(rows), scales=scales), metrics=list(METRICS[:metrics])))


def false_share(kinds: tuple[str, ...], studies: list[tuple[Finding, ...]]) -> float:
    return float(np.mean([any(finding.kind in kinds for finding in findings) for findings in studies]))


@pytest.mark.slow
def test_a_difference_that_is_not_there_is_seldom_claimed() -> None:
    rng = np.random.default_rng(1)
    studies = [compared(rng, dict.fromkeys(METRICS, 0.0)) for _ in range(200)]
    # At most 5 %: of 200 studies 17 or more would come about in 1 of 50 at 5 %.
    assert false_share(("better", "differ"), studies) < 17 / 200
    assert {finding.kind for findings in studies for finding in findings} >= {"no difference shown"}


def test_a_difference_that_is_there_is_claimed_of_the_right_system() -> None:
    rng = np.random.default_rng(2)
    studies = [compared(rng, {"empathy": -3.0, "partnership": 0.0}) for _ in range(50)]
    better = [finding for findings in studies for finding in findings if finding.kind in ("better", "differ")]
    assert len(better) == len(studies)
    shown = [{measure.metric for measure in (*finding.measures, *finding.against)} for finding in better]
    assert all("empathy" in metrics for metrics in shown)
    assert np.mean(["partnership" in metrics for metrics in shown]) <= 0.16
    assert all(
        finding.systems == ("b", "a") or len(finding.against) == 1 for finding in better if finding.kind == "better"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kappa", "wrong"), [(0.35, "agree"), (0.45, "agree barely")])
def test_agreement_near_the_boundary_is_seldom_claimed_to_lie_beyond_it(kappa: float, wrong: str) -> None:
    rng = np.random.default_rng(3)
    studies = [agreed(rng, kappa) for _ in range(100)]
    assert false_share((wrong,), studies) <= 0.09
    assert false_share(("agreement not known",), studies) > 0.9


def test_agreement_far_from_it_is_claimed() -> None:
    rng = np.random.default_rng(4)
    high = [agreed(rng, 0.92) for _ in range(30)]
    assert np.mean([len(findings[0].measures) == 5 for findings in high]) >= 0.8
    assert all(findings[0].kind == "agree" for findings in high)
    none = [agreed(rng, 0.0, metrics=1) for _ in range(30)]
    assert false_share(("agree barely",), none) > 0.9


def test_few_units_are_not_known() -> None:
    rng = np.random.default_rng(5)
    studies = [agreed(rng, 0.6, units=8) for _ in range(30)]
    assert false_share(("agree", "agree barely"), studies) < 0.2


def corrected(rng: np.random.Generator, bias: float, difference: float) -> tuple[Finding, ...]:
    """People rate a third of what a judge rates, who favours the first system."""
    rows: list[Row] = []
    for system, above, favour in (("a", difference, bias), ("b", 0.0, 0.0)):
        truth = rng.normal(3 + above, 1, 60)
        rows += _rows(system, "empathy", truth + rng.normal(favour, 0.5, 60), "judge:m")
        rows += _rows(system, "empathy", truth[:20] + rng.normal(0, 0.3, 20), "human:anna")
    return estimate_findings(estimate(view(rows), judge="judge:m"))


def test_a_judges_favour_is_no_finding_once_it_is_corrected() -> None:
    rng = np.random.default_rng(6)
    studies = [corrected(rng, bias=1.0, difference=0.0) for _ in range(100)]
    assert false_share(("corrected difference",), studies) <= 0.1
    real = [corrected(rng, bias=0.0, difference=2.5) for _ in range(20)]
    assert all(findings[0].systems == ("a", "b") for findings in real)


def test_the_answer_has_them_and_says_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    tables = bedside.agree(bedside.EXAMPLES / "ratings.csv", scales=["1-5"])
    assert tables.findings
    assert tables.sentences() == sentences(tables.findings)
    assert tables._repr_html_().startswith(f"<p>{tables.sentences()[0]}")


def test_what_nobody_rated_twice_is_said() -> None:
    rows: list[Row] = [(f"t{n}", "a", f"c{n}", "empathy", rater, 1.0 + n % 3) for n in range(9) for rater in PEOPLE]
    rows += [(f"t{n}", "a", f"c{n}", "safe", "human:anna", 1.0) for n in range(9)]
    ratings = view(rows)
    agreements = agree(ratings)
    findings = agreement_findings(agreements, rated_apart(ratings, agreements))
    assert sentences(findings)[-1] == "Agreement on safe is not known: no two people rated the same."


def test_the_better_system_is_that_of_the_test() -> None:
    """A few large differences turn the mean the other way: both are said."""
    rows: list[Row] = []
    for case in range(34):
        a, b = (5.0, 4.0) if case < 30 else (1.0, 9.0)
        rows += [(f"{s}{case}", s, f"c{case}", "empathy", "judge:m", v) for s, v in (("A", a), ("B", b))]
    (finding,) = comparison_findings(compare(view(rows), metrics=["empathy"]))
    assert finding.kind == "mixed"
    assert "means and the test point different ways" in sentences([finding])[0]


def test_people_and_a_judge_who_disagree_are_two_measures() -> None:
    rng = np.random.default_rng(8)
    rows: list[Row] = []
    for rater, a, b in (("human:anna", 2.5, 4.5), ("judge:m", 3.5, 1.5)):
        rows += _rows("A", "empathy", a + rng.normal(0, 0.3, 30), rater)
        rows += _rows("B", "empathy", b + rng.normal(0, 0.3, 30), rater)
    words = " ".join(sentences(comparison_findings(compare(view(rows), metrics=["empathy"]))))
    assert "empathy (people)" in words
    assert "empathy (m)" in words


def test_a_one_sided_test_says_what_it_asked() -> None:
    rows: list[Row] = []
    for case in range(30):
        rows += [(f"{s}{case}", s, f"c{case}", "empathy", "judge:m", v) for s, v in (("A", 2.0), ("B", 4.0 + case % 2))]
    compared = compare(view(rows), metrics=["empathy"], alternative="greater")
    assert sentences(comparison_findings(compared))[0].startswith("That A is above B is not shown on empathy")


def test_nothing_is_claimed_from_few_cases() -> None:
    rows: list[Row] = [
        (f"t{n}", "a", f"c{n % 3}", "empathy", rater, 1.0 + n % 3) for n in range(30) for rater in PEOPLE
    ]
    (finding,) = agreement_findings(agree(view(rows)))
    assert finding.kind == "too few cases"


def test_people_who_never_differ() -> None:
    rows: list[Row] = [(f"t{n}", "a", f"c{n}", "empathy", rater, 1.0 + n % 3) for n in range(30) for rater in PEOPLE]
    assert sentences(agreement_findings(agree(view(rows)))) == [
        "People never differ on empathy; how far that holds in general is not known."
    ]


def _measure(title: str, estimate: float | None = None, n: int = 12, why: str = "") -> MeasureFinding:
    low, high = (None, None) if estimate is None else (estimate - 0.1, estimate + 0.1)
    return MeasureFinding(title.lower(), title, estimate, low, high, n, n, why, "κ")


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (
            Finding("agree", measures=(_measure("Empathy", 0.85), _measure("SMOG", 0.71)), of=3),
            "People agree at least moderately on empathy and SMOG (2 of 3 measures; κ .71 to .85).",
        ),
        (
            Finding("agree barely", measures=(_measure("Client talk", 0.21),), of=3, warning="few cases"),
            "People agree fairly at best on client talk (1 of 3 measures; κ .21 [.11, .31]). There are few cases: the "
            "intervals are rough.",
        ),
        (
            Finding("agree", "judge:gpt", measures=(_measure("Empathy", 0.85),), of=1),
            "gpt agrees with people at least moderately on empathy (κ .85 [.75, .95]).",
        ),
        (
            Finding("better", "", ("steady", "brisk"), (_measure("Empathy", 2.0),), (_measure("SMOG", 1.0),), 9, 27),
            "steady is better than brisk on empathy, 1 of 9 measures, and worse on SMOG (12 cases; p corrected over 27 "
            "tests).",
        ),
        (
            Finding("no difference shown", "", ("a", "b"), (_measure("Empathy", 0.0),), (), 1, 1),
            "No difference between a and b is shown on empathy (12 cases; p corrected over 1 test).",
        ),
        (
            Finding("may not stand in", "judge:gpt", measures=(_measure("Danger", 0.3, why="it never gives 1"),), of=4),
            "gpt is not shown to be able to stand in on danger: it never gives 1.",
        ),
        (
            Finding("corrected difference", "", ("a", "b"), (_measure("Empathy", 0.5),), (), 1),
            "Corrected by people, a is above b on empathy (by 0.50).",
        ),
    ],
)
def test_words(finding: Finding, words: str) -> None:
    assert " ".join(sentences([finding])) == words
