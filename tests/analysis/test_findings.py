"""Findings say the true thing, by their error rates on studies of a known truth; and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.agreement import agree, rated_apart
from bedside.analysis.comparison import compare
from bedside.analysis.deviation import deviation
from bedside.analysis.drift import drift
from bedside.analysis.estimation import estimate
from bedside.analysis.findings import (
    SHOWN,
    Finding,
    MeasureFinding,
    OtherRaters,
    agreement_findings,
    comparison_findings,
    deviation_findings,
    drift_findings,
    estimate_findings,
    gate_findings,
    margin_findings,
    preference_findings,
    trend_findings,
    validation_findings,
    with_look,
)
from bedside.analysis.gate import gate
from bedside.analysis.non_inferiority import margins_of, within_margins
from bedside.analysis.pair_preferences import system_preferences
from bedside.analysis.trend import trend
from bedside.analysis.validation import validate
from bedside.ratings.scales import Scale
from bedside.reports.finding_words import in_past, sentences
from bedside.reports.tables.agreement import agreement_table
from bedside.reports.tables.comparison import comparison_table
from tests.analysis.builders import has_note
from tests.analysis.preference_study import Chooser, simulated_study
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


@pytest.mark.slow
def test_looked_at_again_and_again_a_difference_that_is_not_there_is_seldom_claimed() -> None:
    """Four looks at two systems on two measures; tests for one look claim a difference more often."""
    rng, claims, studies = np.random.default_rng(8), np.zeros(2), 30
    for _ in range(studies):
        rows = [
            row for metric in METRICS[:2] for system in "ab"
            for row in _rows(system, metric, rng.integers(1, 6, 40).astype(float), "human:anna")
        ]  # fmt: skip
        scales = dict.fromkeys(METRICS[:2], Scale((1.0, 2.0, 3.0, 4.0, 5.0), True))
        ever = np.zeros(2, bool)
        for cases in (10, 20, 30, 40):
            seen = replace(view([row for row in rows if int(str(row[2])[1:]) < cases]), scales=scales)
            for position, looks in enumerate((None, ())):
                findings = comparison_findings(compare(seen, metrics=list(METRICS[:2]), looks=looks))
                ever[position] |= any(finding.kind in SHOWN for finding in findings)
        claims += ever
    assert claims[1] <= 0.05 * studies < claims[0]


def test_at_every_look_what_is_there_is_claimed_of_many_systems() -> None:
    rng = np.random.default_rng(9)
    rows = [
        row for system, above in zip("abc", (2, 0, 0), strict=True)
        for row in _rows(system, "empathy", np.minimum(rng.integers(1, 4, 60) + above, 5).astype(float), "human:anna")
    ]  # fmt: skip
    seen = replace(view(rows), scales={"empathy": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)})
    findings = comparison_findings(compare(seen, metrics=["empathy"], looks=()))
    assert [(finding.kind, finding.systems) for finding in findings] == [
        ("leads", ("a",)), ("pairs differ", ("a", "b", "c"))
    ]  # fmt: skip
    few = comparison_findings(compare(view(rows[:3] + rows[60:63]), metrics=["empathy"], looks=()))
    assert sentences(few) == ["Whether a and b differ on empathy is not known: 3 cases are too few."]


def test_it_is_said_whom_a_difference_is_about_and_on_how_many_cases_each_pair_rests() -> None:
    """Two people's values are about these two; three pairs of unequal systems rest on 30 to 80 cases."""
    rng = np.random.default_rng(9)
    by_two_people = [
        row for system, above in zip("ab", (2, 0), strict=True) for rater in ("human:anna", "human:ben")
        for row in _rows(system, "empathy", rng.integers(1, 4, 20) + above + 0.0, rater)
    ]  # fmt: skip
    (finding,) = comparison_findings(compare(view(by_two_people), metrics=["empathy"]))
    assert (finding.kind, [own.people for own in finding.measures]) == ("better", [2])
    unequal: list[Row] = [
        (f"{system}{case}", system, f"{system}{case}", "empathy", "judge:m", rng.integers(1, 4) + 2.0 * (system == "a"))
        for system, size in zip("abc", (10, 60, 20), strict=True) for case in range(size)
    ]  # fmt: skip
    compared = compare(view(unequal), metrics=["empathy"])
    (differ,) = [finding for finding in comparison_findings(compared) if finding.kind == "pairs differ"]
    assert differ.cases == tuple(sorted(pair.cases_a + pair.cases_b for pair in compared.pairs)) == (30, 70, 80)
    assert [own.people for own in differ.measures] == [0]


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


@pytest.mark.parametrize(("of_a", "of_b", "could_show"), [(2, 3, False), (3, 3, False), (2, 4, True), (4, 4, True)])
def test_of_too_few_unpaired_cases_nothing_can_be_known(of_a: int, of_b: int, could_show: bool) -> None:
    """The least mid-p of splits is half of one in all that there are, of arms as large one in all."""
    rng = np.random.default_rng(4)
    for apart in (0.0, 50.0):
        rows: list[Row] = [
            (f"{system}{case}", system, f"{system}{case}", "empathy", "human:anna", float(rng.normal(mean)))
            for system, cases, mean in (("a", of_a, apart), ("b", of_b, 0.0)) for case in range(cases)
        ]  # fmt: skip
        (finding,) = comparison_findings(compare(view(rows), metrics=["empathy"]))
        if not could_show:
            assert finding.kind == "difference not known"
        elif apart:
            assert finding.kind in ("better", "no difference shown")
        else:
            assert finding.kind == "no difference shown"


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


def lenient(rng: np.random.Generator) -> list[Row]:
    """No difference of two systems; ben is lenient by 1.7 and rated the first alone."""
    rows: list[Row] = []
    for system in "ab":
        truth = rng.normal(3, 0.8, 24)
        rows += _rows(system, "empathy", truth + rng.normal(0, 0.3, 24), "judge:m")
        rows += _rows(system, "empathy", truth + rng.normal(0, 0.3, 24), "human:anna")
        if system == "a":
            rows += _rows(system, "empathy", truth + 1.7 + rng.normal(0, 0.3, 24), "human:ben")
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_leniency_of_those_who_rated_one_system_alone_is_warned_of_and_claims_nothing(seed: int) -> None:
    """Where raters' levels are known, and a difference vanishes without them, nothing is claimed of the systems."""
    every = lenient(np.random.default_rng(seed))
    people = view([row for row in every if row[4] != "judge:m"])
    margin = margins_of({"empathy": "0.3:higher"})
    for findings in (
        comparison_findings(compare(people)),
        estimate_findings(estimate(view(every), judge="judge:m")),
        margin_findings(within_margins(people, margin)),
        gate_findings(gate(people, baseline="b", margins=margin)),
    ):
        assert findings
        assert all(finding.kind not in (*SHOWN, "no worse", "alike", "passes") for finding in findings)
        assert {finding.warning for finding in findings} == {"other raters"}
        assert sentences(findings)[-1].startswith("ben rated only a on empathy; that alone adds 0.")


def test_raters_of_both_systems_who_rated_them_in_other_shares_are_warned_of_by_the_share() -> None:
    others = OtherRaters("Empathy", ("a", "b"), ((), ()), 0.25, None, 3)
    *_, warning = sentences([Finding("no difference shown", systems=("a", "b"), measures=(_measure("Empathy", 0.0),),
                                     of=1, tests=1, warning="other raters", other_raters=others)])  # fmt: skip
    assert warning.startswith("25 % of the ratings are not by the same people on empathy; how much that matters can't")


@pytest.mark.slow
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


def test_raters_who_give_one_level_only_leave_agreement_unknown() -> None:
    rows: list[Row] = [
        (f"t{n}", "a", f"c{n}", metric, rater, 3.0 + (n % 3) * (metric == "warmth"))
        for n in range(9)
        for metric in ("empathy", "warmth")
        for rater in PEOPLE
    ]
    said = sentences(agreement_findings(agree(view(rows))))
    assert "How well people agree on empathy is not known: all ratings are equal." in said


def test_the_better_system_is_that_of_the_test() -> None:
    """A few large differences turn the mean the other way: both are said."""
    rows: list[Row] = []
    for case in range(34):
        a, b = (5.0, 4.0) if case < 30 else (1.0, 9.0)
        rows += [(f"{s}{case}", s, f"c{case}", "empathy", "judge:m", v) for s, v in (("A", a), ("B", b))]
    (finding,) = comparison_findings(compare(view(rows), metrics=["empathy"], test="wilcoxon"))
    assert finding.kind == "mixed"
    assert "means and the test point different ways" in sentences([finding])[0]


def by_two(**means: tuple[tuple[float, float], tuple[float, float]]) -> list[Row]:
    """Ratings of A and B by a person and by a judge, around the means of each."""
    rng = np.random.default_rng(8)
    return [
        row
        for metric, of_raters in means.items() for rater, own in zip(("human:anna", "judge:m"), of_raters, strict=True)
        for system, mean in zip("AB", own, strict=True)
        for row in _rows(system, metric, mean + rng.normal(0, 0.3, 30), rater)
    ]  # fmt: skip


def test_people_and_a_judge_rate_one_measure_and_it_is_said_where_they_disagree() -> None:
    rows = by_two(
        empathy=((4.0, 2.0), (4.0, 2.0)), partnership=((4.0, 2.0), (3.0, 3.0)), goal_alignment=((2.0, 4.0), (4.0, 2.0)),
    )  # fmt: skip
    better, disputed = comparison_findings(compare(view(rows), metrics=["empathy", "partnership", "goal_alignment"]))
    assert sentences([better, disputed]) == [
        "A is better than B on empathy and partnership (by people), 2 of 3 tested measures (30 cases; by people, for "
        "this rater; p corrected over 6 tests).",
        "Raters disagree on goal alignment: by m A is better, by people B.",
    ]
    assert [(own.metric, own.raters) for own in better.measures] == [
        ("empathy", "people"), ("empathy", "judge:m"), ("partnership", "people"),
    ]  # fmt: skip
    assert (better.of, better.disputed, disputed.measures[0].raters, disputed.against[0].raters) == (
        3, 1, "judge:m", "people",
    )  # fmt: skip
    # All figures are those of the first system minus the second, also where the second is better.
    assert [round(own.estimate or 0.0) for own in (*disputed.measures, *disputed.against)] == [2, -2]


@pytest.mark.parametrize("systems", ["AB", "BA"])
def test_a_finding_has_the_figure_of_the_table(systems: str) -> None:
    """Whole numbers, of which the shift of ranks is another number than the difference of means."""
    rng = np.random.default_rng(9)
    rows: list[Row] = []
    for system, above in zip(systems, (1.2, 0.0), strict=True):
        rows += _rows(system, "empathy", np.clip(np.round(rng.normal(3 + above, 0.8, 30)), 1, 5), "judge:m")
    compared = compare(view(rows), metrics=["empathy"])
    (finding,) = comparison_findings(compared)
    (row,), (measure,) = comparison_table(compared.pairs).rows, finding.measures
    assert finding.systems == tuple(systems)
    sign = 1 if systems == "AB" else -1
    low, high = sorted(sign * (end or 0.0) for end in (measure.low, measure.high))
    printed = f"{sign * (measure.estimate or 0.0):.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
    assert (row.cells[3].text, measure.figure) == (printed, "difference")


@pytest.mark.parametrize("names", ["AB", "ABC"])
def test_what_a_system_lacks_and_what_all_score_the_same_is_said(names: str) -> None:
    rng = np.random.default_rng(10)
    rows: list[Row] = []
    for system in names:
        rows += _rows(system, "empathy", rng.normal(4 if system == "A" else 2, 0.3, 30), "judge:m")
        rows += _rows(system, "partnership", np.full(30, 5.0), "judge:m")
        if system == "A":
            rows += _rows(system, "autonomy", rng.normal(3, 1, 30), "judge:m")
    findings = comparison_findings(compare(view(rows), metrics=["empathy", "partnership", "autonomy"]))
    said = sentences(findings)
    lacking = {"AB": "B has", "ABC": "B and C have"}[names]
    who = {"AB": "A and B", "ABC": "All 3 systems"}[names]
    assert f"{lacking} no rating of autonomy." in said
    assert f"{lacking.replace('has', 'had').replace('have', 'had')} no rating of autonomy." in in_past(findings)
    assert f"{who} score the same on partnership: nothing to test." in said
    assert {finding.of for finding in findings if finding.kind in ("better", "systems differ", "leads")} == {1}


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


def test_alpha_speaks_where_pairs_of_people_share_few_units() -> None:
    """Each of twenty people rated half of thirty units: the mean of pairs' kappas is too low."""
    rng = np.random.default_rng(3)
    seen = np.sqrt(0.7) * rng.normal(size=(30, 1)) + np.sqrt(0.3) * rng.normal(size=(30, 20))
    rows: list[Row] = [
        (f"t{unit}", "a", f"c{unit}", "empathy", f"human:r{person}", float(np.clip(round(3 + value), 1, 5)))
        for unit, own in enumerate(seen) for person, value in enumerate(own) if rng.random() < 0.5
    ]  # fmt: skip
    scales = {"empathy": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)}
    agreements = agree(replace(view(rows), scales=scales))
    assert sentences(agreement_findings(agreements))[0].startswith("People agree at least moderately on empathy (α .6")
    assert has_note(agreement_table(agreements), "κ is too low where two raters share few units")


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
            "People agree fairly at best on client talk (1 of 3 measures; κ .21 [.11, .31]). Fewer than 10 cases "
            "enter: the intervals are rough.",
        ),
        (
            Finding("agree", "judge:gpt", measures=(_measure("Empathy", 0.85),), of=1),
            "gpt agrees with people at least moderately on empathy (κ .85 [.75, .95]).",
        ),
        (
            Finding("better", "", ("steady", "brisk"), (_measure("Empathy", 2.0),), (_measure("SMOG", 1.0),), 9, 27),
            "steady is better than brisk on empathy, 1 of 9 tested measures, and worse on SMOG (12 cases; p corrected "
            "over 27 tests).",
        ),
        (
            Finding("no difference shown", "", ("a", "b"), (_measure("Empathy", 0.0),), (), 1, 1),
            "No difference between a and b is shown on empathy (12 cases).",
        ),
        (
            Finding("may not stand in", "judge:gpt", measures=(_measure("Danger", 0.3, why="it never gives 1"),), of=4),
            "gpt may not stand in for one of these people on danger: it never gives 1.",
        ),
        (
            Finding("corrected difference", "", ("a", "b"), (_measure("Empathy", 0.5),), (), 1),
            "Corrected by people, a is above b on empathy (by 0.50 [0.40, 0.60]).",
        ),
        (
            with_look((), 24, 60, "one look")[0],
            "A look at a running study: 24 of 60 planned answers are in; intervals hold for one look. Add --looks.",
        ),
        (
            with_look((), 24, 60, "every look")[0],
            "A look at a running study: 24 of 60 planned answers are in; intervals hold at every look, for these "
            "raters.",
        ),
        (
            with_look((), 0, None, "every look", 12)[0],
            "Intervals hold at every look, for these raters. Fewer raters than others: 12 transcripts; a later look "
            "may move them.",
        ),
    ],
)
def test_words(finding: Finding, words: str) -> None:
    assert " ".join(sentences([finding])) == words


# -- The other questions, each on studies in which the truth is one number: how far the first system is off ------------

THREE = METRICS[:3]
Study = Callable[[np.random.Generator, float, int], tuple[Finding, ...]]


def paired_rows(rng: np.random.Generator, systems: dict[str, float], cases: int, metrics: tuple[str, ...]) -> list[Row]:
    """Systems on the same cases, each above the mean of them by so much; values of a case differ by less than cases."""
    rows: list[Row] = []
    for metric in metrics:
        of_case = rng.normal(0, 1, cases)
        for system, above in systems.items():
            rows += _rows(system, metric, of_case + rng.normal(0, 0.5, cases) + above, "judge:m")
    return rows


def many_systems(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    metrics = ("empathy", "partnership")
    rows = paired_rows(rng, {"a": off, "b": 0.0, "c": 0.0}, cases, metrics)
    return comparison_findings(compare(view(rows), metrics=list(metrics)))


def margins(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    rows = paired_rows(rng, {"a": off, "b": 0.0}, cases, THREE)
    return margin_findings(within_margins(view(rows), margins_of(dict.fromkeys(THREE, "0.5:higher"))))


def gates(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    rows = paired_rows(rng, {"a": off, "b": 0.0}, cases, THREE)
    return gate_findings(gate(view(rows), baseline="b", margins=margins_of(dict.fromkeys(THREE, "0.5:higher"))))


def drifts(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    rows: list[Row] = []
    for metric in THREE:
        of_case = rng.normal(5, 1, cases)
        for length, above in ((20, 0.0), (80, off)):
            values = of_case + rng.normal(0, 0.7, cases) + above
            rows += [(f"{case}-{length}", "a", f"c{case}", metric, "judge:m", v) for case, v in enumerate(values)]
    lengths = {f"{case}-{length}": length for case in range(cases) for length in (20, 80)}
    followed = drift(view(rows, lengths), "target_length", metrics=list(THREE))
    return drift_findings(followed)


def trends(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    messages = rng.integers(10, 80, cases).astype(float)
    rows = list(_rows("a", "turns", messages, "algorithm:r@1"))
    for metric in THREE:
        rows += _rows("a", metric, rng.normal(0, 1, cases) + off * messages / 20, "judge:m")
    return trend_findings(trend(view(rows), metrics=list(THREE)))


def deviations(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    rows: list[Row] = []
    for system, above in (("a", off), ("corpus", 0.0)):
        for metric in THREE:
            values = rng.normal(above, 1, cases)
            rows += [(f"{system}{n}", system, f"{system}{n}", metric, "judge:m", v) for n, v in enumerate(values)]
    return deviation_findings(deviation(view(rows), "corpus", metrics=list(THREE)), "corpus")


def preferences(rng: np.random.Generator, off: float, cases: int) -> tuple[Finding, ...]:
    raters = [Chooser("judge:m", place=0.5), Chooser("human:anna", both_orders=False)]
    study = simulated_study({"a": off, "b": 0.0}, raters, cases=cases, seed=int(rng.integers(2**30)))
    return preference_findings(system_preferences(study.view()))


#: Of each question: a study, what is off where nothing may be claimed and where it must be, what is claimed, and what
#: is said of too few cases.
QUESTIONS: dict[str, tuple[Study, float, float, tuple[str, ...], str]] = {
    "many systems": (many_systems, 0.0, 2.5, ("leads", "last", "better"), "pairs differ"),
    "no worse": (margins, -0.5, 0.0, ("no worse", "alike"), "margin not known"),
    "worse": (margins, -0.5, -1.5, ("worse by margin",), "margin not known"),
    "passes": (gates, -0.5, 0.0, ("passes",), "passing not known"),
    "fails": (gates, -0.5, -1.5, ("fails",), "passing not known"),
    "drift": (drifts, 0.0, -2.5, ("rises", "falls"), "change not known"),
    "trend": (trends, 0.0, 1.0, ("rises", "falls"), "change not known"),
    "deviation": (deviations, 0.0, 2.0, ("above reference", "below reference"), "deviation not known"),
    "preferences": (preferences, 0.0, 3.0, ("preferred",), "preference not known"),
}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_not_there_is_seldom_claimed(question: str) -> None:
    study, off, _, claims, _ = QUESTIONS[question]
    rng = np.random.default_rng(9)
    # At most 5 %: of 60 studies 8 or more would come about in 1 of 100 at 5 %.
    assert false_share(claims, [study(rng, off, 20) for _ in range(60)]) < 8 / 60


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_there_is_said(question: str) -> None:
    study, _, off, claims, _ = QUESTIONS[question]
    rng = np.random.default_rng(10)
    for _ in range(3):
        findings = study(rng, off, 40)
        assert findings[0].kind in (*claims, "systems differ")
        shown = next(finding for finding in findings if finding.kind in claims)
        assert shown.systems[0] == "a"
        assert {measure.metric for measure in shown.measures} <= {*THREE, "empathy", "partnership"}
        assert all(len(sentence.split()) <= 60 for sentence in sentences(findings))


@pytest.mark.parametrize("question", QUESTIONS)
def test_too_few_cases_are_not_known(question: str) -> None:
    study, off, _, claims, unknown = QUESTIONS[question]
    findings = [study(np.random.default_rng(seed), off, 3) for seed in range(3)]
    assert false_share(claims, findings) == 0
    assert all(unknown in {finding.kind for finding in own} for own in findings)
    assert question not in ("many systems", "preferences") or "are too few" in sentences(findings[0])[-1]


def test_who_leads_and_who_is_last_is_said_once() -> None:
    rows = paired_rows(np.random.default_rng(11), {"a": 3.0, "b": 0.0, "c": -3.0}, 30, ("empathy", "partnership"))
    findings = comparison_findings(compare(view(rows), metrics=["empathy", "partnership"]))
    assert [finding.kind for finding in findings] == ["systems differ", "leads", "last", "pairs differ"]
    assert findings[-1].pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert sentences(findings)[1] == "a leads all others on empathy and partnership."


def test_a_transcript_that_fails_is_said_first() -> None:
    rows = paired_rows(np.random.default_rng(12), {"a": 0.0, "b": 0.0}, 20, ("code_0",))
    rows += [(f"a{case}", "a", f"c{case}", "leaks", "human:anna", float(case == 3)) for case in range(19)]
    ratings = replace(view(rows), scales={"leaks": Scale((0.0, 1.0), True)})
    held = gate(ratings, baseline="b", margins=margins_of({"code_0": "0.5:higher"}), safety={"leaks": 1})
    said = sentences(gate_findings(held))
    assert said[0] == "a does not pass: 1 of 19 transcripts fails on leaks (a3)."
    assert said[-1] == "a can't pass yet: 1 of 20 transcripts have no rating of leaks."


def test_of_many_systems_it_is_said_early_where_raters_disagree() -> None:
    rows: list[Row] = [
        (f"{system}{case}", system, f"c{case}", "empathy", rater, level + case % 2)
        for rater, order in (("human:anna", "abc"), ("judge:m", "cba"))
        for level, system in enumerate(order)
        for case in range(14)
    ]
    first, second, *_ = sentences(comparison_findings(compare(view(rows))))
    assert first.startswith("The 3 systems differ on empathy")
    assert second == "Raters disagree on empathy about which system is better or higher, in 3 of 3 pairs."


def test_what_three_cases_can_never_show_is_no_finding() -> None:
    rows: list[Row] = [
        (f"{system}{case}", system, f"c{case}", metric, "human:anna", level + case / 9)
        for metric in ("empathy", "warmth", "clarity")
        for level, system in enumerate("abcd")
        for case in range(3)
    ]
    said = sentences(comparison_findings(compare(view(rows))))
    assert said == ["Which of the 4 systems differ is not known: 3 cases are too few; 18 tests need at least 9."]


def test_systems_score_the_same_only_where_they_are_rated() -> None:
    rows: list[Row] = [
        (f"{system}{case}", system, f"c{case}", metric, "human:anna", 2.0 + case % 3 * (metric == "empathy"))
        for metric in ("empathy", "harm")
        for system in "abc"
        for case in range(9)
        if (metric, system) != ("harm", "b")
    ]
    said = sentences(comparison_findings(compare(view(rows))))
    assert "a and c score the same on harm: nothing to test." in said
    assert "b has no rating of harm." in said


def test_a_judge_of_zeros_and_ones_without_a_scale_is_not_believed() -> None:
    counts = {(0, 0, 0): 67, (0, 1, 0): 5, (0, 0, 1): 3, (1, 1, 1): 2, (0, 1, 1): 2, (1, 0, 0): 1}
    units = [told for told, count in counts.items() for _ in range(count)]
    rows: list[Row] = [
        (f"t{number}", "a", f"c{number}", "risk", rater, float(value))
        for number, told in enumerate(units)
        for rater, value in zip((*PEOPLE, "judge:m"), told, strict=True)
    ]
    (finding,) = validation_findings(validate(view(rows), judges=["judge:m"]))
    assert finding.kind == "stand-in not known"
    (measure,) = finding.measures
    assert "6 cases in effect, fewer than 20" in measure.why
    assert measure.needed is not None
    assert measure.needed > 200
    (said,) = sentences([finding])
    assert said == (
        "Whether m may stand in is not known on risk: its sensitivity for level 1 is .17 better than one person's "
        "(90 % interval [.00, .59] of the difference, which must lie above −.17), but it rests on 6 cases in effect, "
        f"fewer than 20; about {measure.needed} cases could show it, were it as good as one person."
    )


def test_agreement_without_any_difference_on_few_cases_says_why_it_is_not_known(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = [f"t{case},c{case},{rater},{4 if case else 3}" for case in range(10) for rater in ("anna", "ben")]
    sheet.write_text("\n".join(["item,case,rater,empathy", *rows]), "utf-8")
    (said,) = bedside.agree(sheet, scales=["1-5"]).sentences()
    assert said.endswith("they never differ, but 10 cases can't rule out less than .40.")
