"""Margins: the tests are those of the statistics on case means, and each verdict is what its interval says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from bedside.analysis.gate import gate
from bedside.analysis.non_inferiority import Margin, MarginTest, margins_of, within_margins
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.ratings.scales import parse_scale
from bedside.reports.comparison_notes import RATERS_APART
from bedside.reports.equivalence import gate_table, margin_table
from bedside.stats import crossed_raters, equivalence
from bedside.stats.equivalence import NOT_BELOW
from tests.analysis.builders import has_note
from tests.analysis.ratings_rows import Row, view
from tests.soak import budget

JUDGE = "judge:m"


def rows(
    system: str,
    values: list[float] | np.ndarray[Any, Any],
    *,
    metric: str = "warmth",
    rater: str = JUDGE,
    shift: int = 0,
    transcript: str = "",
) -> list[Row]:
    return [
        (f"{system}{case}{transcript}", system, f"c{case + shift}", metric, rater, float(value))
        for case, value in enumerate(values)
    ]


def held(a: list[float], b: list[float], margin: str = "0.3:higher", **more: object) -> MarginTest:
    (test,) = within_margins(
        view(rows("A", a, **more) + rows("B", b, **more)),  # type: ignore[arg-type]
        {"warmth": margins_of(margin)[None]},
    )
    return test


RNG = np.random.default_rng(1)
BASE = np.round(RNG.normal(3, 0.8, 40), 2)
NOISE = np.round(RNG.normal(0, 0.3, 40), 2)
NOISE = NOISE - NOISE.mean().round(2)


@pytest.mark.parametrize(
    ("shift", "better", "verdict"),
    [
        (0.0, "higher", "equivalent"), (0.5, "higher", "not inferior"), (-0.5, "higher", "inferior"),
        (0.5, "lower", "inferior"), (-0.5, "lower", "not inferior"), (-0.27, "higher", "not shown"),
        (0.27, "lower", "not shown"),
    ],
)  # fmt: skip
def test_the_verdict_is_what_the_interval_says(shift: float, better: str, verdict: str) -> None:
    test = held((BASE + NOISE + shift).tolist(), BASE.tolist(), f"0.3:{better}")
    assert test.verdict == verdict
    p, below, _ = ttost_paired(BASE + NOISE + shift, BASE, -0.3, 0.3)
    assert test.test.p == pytest.approx(p)
    assert test.test.details[NOT_BELOW] == pytest.approx(below[1])
    assert test.is_shown == (verdict in ("equivalent", "not inferior"))


def test_without_a_direction_systems_are_alike_or_different() -> None:
    assert held((BASE + NOISE).tolist(), BASE.tolist(), "0.3:higher").better == "higher"
    nameless = [(n, s, c, "length", r, v) for n, s, c, _, r, v in rows("A", BASE + NOISE + 1) + rows("B", BASE)]
    (test,) = within_margins(view(nameless), margins_of(0.3), metrics=["length"])
    assert (test.better, test.verdict) == ("none", "different")


def test_too_few_cases_say_how_many_would_do() -> None:
    test = held((BASE + 4 * NOISE)[:8].tolist(), BASE[:8].tolist())
    assert test.verdict == "too few cases"
    assert (test.chance or 1) < 0.5
    text = str(margin_table([test]))
    needed = int(test.test.details[equivalence.CASES_ONE_SIDED] or 0)
    assert "too few cases" in text
    assert f" {needed} " in text.replace("|", " ")
    # As many cases with the same spread would show it.
    spread = float(np.std(4 * NOISE[:8], ddof=1))
    studies = np.random.default_rng(2).normal(0, spread, (needed, 3000))
    below = ttost_paired(studies, np.zeros_like(studies), -0.3, 0.3)[1]
    assert np.mean(below[1] < 0.05) == pytest.approx(0.8, abs=0.03)


def test_transcripts_of_a_case_are_one_value() -> None:
    """Five transcripts a case that are the same five times show no more than one."""
    once = held((BASE + 4 * NOISE)[:8].tolist(), BASE[:8].tolist())
    many = [
        row
        for copy in range(5)
        for row in rows("A", (BASE + 4 * NOISE)[:8], transcript=f"-{copy}") + rows("B", BASE[:8], transcript=f"-{copy}")
    ]
    (test,) = within_margins(view(many), {"warmth": margins_of("0.3:higher")[None]})
    assert (test.n_a, test.n_b) == (8, 8)
    assert test.test.p == pytest.approx(once.test.p)


def test_cases_that_do_not_pair_are_two_groups() -> None:
    other = view(rows("A", BASE[:20] + 0.1) + rows("B", BASE[20:], shift=100))
    (test,) = within_margins(other, {"warmth": margins_of("0.5:higher")[None]})
    assert (test.shared, test.n_a, test.n_b, test.left_out) == (0, 20, 20, 0)
    assert test.test.p == pytest.approx(ttost_ind(BASE[:20] + 0.1, BASE[20:], -0.5, 0.5, usevar="unequal")[0])


def test_cases_without_a_partner_are_left_out_and_counted() -> None:
    some = view(rows("A", BASE) + rows("B", (BASE - NOISE)[:30]))
    (test,) = within_margins(some, {"warmth": margins_of("0.3:higher")[None]})
    assert (test.n_a, test.n_b, test.shared, test.left_out) == (30, 30, 30, 10)
    assert "10 cases had no partner" in str(margin_table([test]))


def test_settings_that_the_other_system_lacks_are_left_out_and_counted() -> None:
    both = rows("A", BASE) + rows("B", BASE - NOISE)
    more = rows("A", BASE[:4] - 2, transcript="-long")
    lengths = {name: "8" for name, *_ in both} | {name: "16" for name, *_ in more}
    (test,) = within_margins(view(both + more, lengths), {"warmth": margins_of("0.3:higher")[None]})
    (alone,) = within_margins(view(both, lengths), {"warmth": margins_of("0.3:higher")[None]})
    assert (test.test, test.unmatched, alone.unmatched) == (alone.test, 4, 0)
    words = "4 values of transcripts in settings that the other system doesn't have there were left out."
    assert words in margin_table([test]).notes
    assert not has_note(margin_table([alone]), "settings")


def test_transcripts_without_a_case_are_counted() -> None:
    caseless: list[Row] = [(*row[:2], None, *row[3:]) for row in rows("A", BASE) + rows("B", BASE - NOISE)]
    (test,) = within_margins(view(caseless), {"warmth": margins_of("0.5:higher")[None]})
    assert (test.shared, test.caseless) == (0, 80)
    assert "80 transcripts without a case count as cases of their own." in margin_table([test]).notes


def test_a_few_shared_cases_count_as_pairs_and_others_too() -> None:
    some = view(rows("A", BASE[:20]) + rows("B", BASE[15:35], shift=15))
    (test,) = within_margins(some, {"warmth": margins_of("0.5:higher")[None]})
    assert (test.n_a, test.n_b, test.shared) == (20, 20, 5)
    assert "partially overlapping" in test.test.method


def test_zeros_and_ones_are_proportions() -> None:
    a, b = [1.0] * 18 + [0.0] * 2, [1.0] * 15 + [0.0] * 5
    assert held(a, b).test.method.startswith("Tango")
    unpaired = view(rows("A", a) + rows("B", b, shift=50))
    (test,) = within_margins(unpaired, {"warmth": margins_of("0.3:higher")[None]})
    assert test.test.method.startswith("Miettinen")


def test_the_same_values_are_equivalent_where_the_scale_is_known() -> None:
    same = view(rows("A", [4.0] * 50) + rows("B", [4.0] * 50))
    margins: dict[str | None, Margin] = {"warmth": margins_of("0.3:higher")[None]}
    (unknown,) = within_margins(RatingsView(same.ratings, {}, None, "file"), margins)
    assert (unknown.verdict, "ends are not known" in (unknown.test.missing or "")) == ("not shown", True)
    (test,) = within_margins(replace(same, scales={"warmth": parse_scale("1-5")}), margins)
    assert test.verdict == "equivalent"


def test_three_people_on_the_same_cases_answer_for_raters_like_them() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(3, 0.5, (20, 3)), rng.normal(3, 0.5, (20, 3))
    table = [
        row
        for position, name in enumerate(("anna", "ben", "cleo"))
        for row in rows("A", x[:, position], rater=f"human:{name}", transcript="")
        + rows("B", y[:, position], rater=f"human:{name}")
    ]
    (test,) = within_margins(view(table), {"warmth": margins_of("0.5:higher")[None]})
    quasi = crossed_raters.paired_difference(x, y)
    assert test.test.estimate == pytest.approx(quasi.estimate)
    assert test.test.p == pytest.approx(equivalence.mean_difference(quasi, margin=0.5).p)
    assert "the answer is about raters like these 3" in str(margin_table([test]))
    assert RATERS_APART in margin_table([test]).notes
    (two,) = within_margins(
        view([row for row in table if row[4] != "human:cleo"]), {"warmth": margins_of("0.5:higher")[None]}
    )
    assert "these 2 raters only" in str(margin_table([two]))
    assert RATERS_APART not in margin_table([two]).notes


def test_margins_are_read_as_they_are_typed() -> None:
    assert margins_of(0.3)[None].width == 0.3
    assert margins_of({"a": "2:lower"})["a"].better == "lower"
    for wrong in ("-1", "0", "nan", "inf", "much", "1:up"):
        with pytest.raises(DataError, match="`margin`"):
            margins_of(wrong)
    study = view(rows("A", BASE, metric="empathy") + rows("B", BASE, metric="empathy"))
    with pytest.raises(DataError, match=r"`margin`: .*higher"):
        within_margins(study, margins_of({"empathy": "0.3:lower"}))
    with pytest.raises(DataError, match="'warmth'"):
        within_margins(study, margins_of({"warmth": 0.3}))
    with pytest.raises(DataError, match="'C'"):
        within_margins(study, margins_of(0.3), reference="C")


# -- the gate --------------------------------------------------------------------------------------------


GATE_BASE = np.round(np.random.default_rng(1).normal(3, 0.8, 40), 2)
WOBBLE = np.tile((0.2, -0.2), 20)
MARGIN = margins_of({"empathy": 0.3})


def rated(system: str, values: np.ndarray[Any, Any], metric: str = "empathy", rater: str = "judge:m") -> list[Row]:
    return [(f"{system}{i}", system, f"c{i}", metric, rater, float(value)) for i, value in enumerate(values)]


def safe(system: str, failing: tuple[int, ...] = (), rater: str = "judge:m") -> list[Row]:
    """Ratings by the shipped rubric of safety, by which 1 is a leak."""
    return rated(system, np.array([1.0 if i in failing else 0.0 for i in range(40)]), "safety", rater)


GOOD = rated("A", GATE_BASE) + rated("B", GATE_BASE + WOBBLE)


def test_a_system_that_is_no_worse_passes() -> None:
    held = gate(view(GOOD + safe("A") + safe("B")), baseline="A", margins=MARGIN)
    assert (held.system, held.passed) == ("B", True)
    (check,) = held.safety
    assert (check.level, check.better, check.passed) == (1, "lower", True)
    assert "B against A: passed" in str(gate_table(held))


@pytest.mark.parametrize("shift", [-0.25, -0.6])
def test_a_system_that_may_be_worse_does_not_pass(shift: float) -> None:
    held = gate(view(rated("A", GATE_BASE) + rated("B", GATE_BASE + WOBBLE + shift)), baseline="A", margins=MARGIN)
    assert not held.passed
    assert "nothing is said of safety" in str(gate_table(held))


def test_one_margin_of_two_is_not_enough() -> None:
    table = GOOD + rated("A", GATE_BASE, "warmth") + rated("B", GATE_BASE - 0.5 + WOBBLE, "warmth")
    held = gate(view(table), baseline="A", margins=margins_of({"empathy": 0.3, "warmth": "0.3:higher"}))
    assert [test.is_shown for test in held.margins] == [True, False]
    assert not held.passed


def test_one_failure_of_safety_by_any_rater_stops_it() -> None:
    table = GOOD + safe("A", (1, 2)) + safe("B") + safe("B", (7,), rater="judge:other")
    held = gate(view(table), baseline="A", margins=MARGIN)
    (check,) = held.safety
    assert (check.failed, check.failed_before, held.passed) == (("B7",), 2, False)
    assert "1 transcript failed: B7" in str(gate_table(held))


def test_of_safety_everybodys_ratings_count() -> None:
    """Whose ratings the margins rest on decides nothing of safety, nor of which transcripts there are."""
    table = GOOD + safe("A") + safe("B", (4,), rater="human:anna")[:5] + safe("B")
    held = gate(view(table), baseline="A", margins=MARGIN, raters=["judge:*"])
    (check,) = held.safety
    assert (check.failed, check.rated, check.unrated) == (("B4",), 40, 0)


def test_a_transcript_without_a_rating_of_safety_stops_it() -> None:
    held = gate(view(GOOD + safe("A") + safe("B")[:-3]), baseline="A", margins=MARGIN)
    (check,) = held.safety
    assert (check.rated, check.unrated, held.passed) == (37, 3, False)
    assert "3 transcripts not rated" in str(gate_table(held))


def test_other_metrics_of_safety_are_named_with_the_level_at_which_they_fail() -> None:
    ratings = view(GOOD + rated("A", np.zeros(40), "harm") + rated("B", np.eye(40)[3] * 2, "harm"))
    study = replace(ratings, scales={"harm": parse_scale("0-2")})
    held = gate(study, baseline="A", margins=MARGIN, safety={"harm": 2})
    assert held.safety[0].failed == ("B3",)
    with pytest.raises(DataError, match=r"`safety`: .*harm"):
        gate(study, baseline="A", margins=MARGIN, safety={"harm": 1})


def test_too_few_cases_are_said() -> None:
    few = [row for row in GOOD if int(row[2][1:]) < 4]  # type: ignore[index]
    held = gate(view(few), baseline="A", margins=margins_of({"empathy": 0.1}))
    assert not held.passed
    assert "too few cases" in str(gate_table(held))


@pytest.mark.slow
@pytest.mark.soak
def test_a_worse_system_passes_in_five_of_a_hundred() -> None:
    """Worse by the margin on one metric of two: studies of 20 cases."""
    rng = np.random.default_rng(6)
    passed, studies = 0, budget(100, 1000)
    for _ in range(studies):
        base, other = rng.normal(3, 0.8, (2, 20))
        table = [
            *rated("A", base), *rated("B", base - 0.3 + rng.normal(0, 0.5, 20)),
            *rated("A", other, "warmth"), *rated("B", other + rng.normal(0, 0.5, 20), "warmth"),
        ]  # fmt: skip
        margins = margins_of({"empathy": 0.3, "warmth": "0.5:higher"})
        passed += gate(view(table), baseline="A", margins=margins).passed
    assert passed / studies < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / studies)
