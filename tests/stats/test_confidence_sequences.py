"""Intervals that hold at every look: against other code and closed forms; how often they ever leave out the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import betaln
from scipy.stats import nct, norm, t as student

from bedside.core.errors import DataError
from bedside.stats.confidence_sequences import any_estimate, bounded_mean, error_with_unseen
from tests.soak import budget
from tests.stats.results import ends, interval_of

#: n ρ² where the sequence at 95 % is narrowest.
NARROWEST = minimize_scalar(lambda r: (1 + 1 / r) * np.log((1 + r) / 0.05**2), bounds=(1, 50), method="bounded").x
DIFFERENCES = [0, 0, 1, 0, -1, 2, 0, 0, 3, 0, 1, 1, 0, 2, -1, 0, 0, 1]


@pytest.mark.parametrize(("ones", "n"), [(0, 10), (7, 30), (3, 200)])
def test_of_zeros_and_ones_bets_are_the_beta_binomial_mixture(ones: int, n: int) -> None:
    for null in (0.02, 0.2, 0.5):
        log_wealth = betaln(0.5 + ones, 0.5 + n - ones) - betaln(0.5, 0.5)
        log_wealth -= ones * np.log(null) + (n - ones) * np.log(1 - null)
        result = bounded_mean([1] * ones + [0] * (n - ones), low=0, high=1, null=null)
        assert result.p == pytest.approx(min(1.0, np.exp(-log_wealth)), rel=1e-9)


def test_bets_are_those_of_confseq() -> None:
    """Version 0.0.11: the mean of ``betting_mart`` over 200 fixed bets by Cover's weights, and its roots."""
    result = bounded_mean(DIFFERENCES, low=-4, high=4)
    assert result.p == pytest.approx(0.5342117852282933, rel=1e-12)
    assert ends(result) == pytest.approx((-0.5763518419725, 1.4018076771148), abs=1e-8)


@pytest.mark.parametrize(
    ("n", "level", "bound"),
    [(10, 0.95, 14.9221351514), (50, 0.95, 23.08203979), (200, 0.95, 42.9243371883), (50, 0.99, 27.8360132624)],
)
def test_without_degrees_of_freedom_it_is_confseqs_normal_mixture(n: int, level: float, bound: float) -> None:
    """Version 0.0.11, ``normal_mixture_bound(n, 1 − level, v_opt=200)``, whose ρ is by a formula of its own."""
    own_rho = 200 / (2 * np.log(20) + np.log(1 + 2 * np.log(20)))
    result = any_estimate(3.0, n**-0.5, cases=n, planned=own_rho * NARROWEST, level=level)
    assert ends(result) == pytest.approx((3 - bound / n, 3 + bound / n), rel=1e-6)


def test_it_is_narrowest_at_the_planned_number() -> None:
    def width(planned: float) -> float:
        low, high = ends(any_estimate(0.0, 0.1, cases=100, planned=planned))
        return high - low

    assert width(100) < min(width(80), width(125))


def test_of_t_the_p_value_is_one_over_the_bayes_factor() -> None:
    """Of noncentral t with normally distributed effects against t, integrated by another routine."""
    n, planned, statistic = 12, 40, 2.9
    spread = np.sqrt(n * NARROWEST / planned)
    factor = quad(lambda shift: nct.pdf(statistic, n - 1, shift) * norm.pdf(shift, scale=spread), -15, 15)[0]
    result = any_estimate(statistic, 1.0, cases=n, planned=planned, df=n - 1)
    assert result.p == pytest.approx(student.pdf(statistic, n - 1) / factor, rel=1e-5)


def test_an_interval_leaves_out_what_p_rejects() -> None:
    """Whatever the level is: what is corrected over many tests is claimed as the intervals say it."""
    for level in (0.9, 0.95, 0.995):
        by_bets = bounded_mean(DIFFERENCES, low=-4, high=4, level=level)
        by_error = any_estimate(1.3, 0.4, cases=30, planned=60, df=29, level=level)
        for at_end in (
            bounded_mean(DIFFERENCES, low=-4, high=4, null=ends(by_bets)[0]),
            any_estimate(1.3, 0.4, cases=30, planned=60, df=29, null=ends(by_error)[1]),
        ):
            assert at_end.p == pytest.approx(1 - level, rel=1e-6)


def test_units_and_order_do_not_matter() -> None:
    there = ends(bounded_mean(DIFFERENCES, low=-4, high=4))
    back = ends(bounded_mean([10 - 2.5 * value for value in DIFFERENCES[::-1]], low=0, high=20))
    assert sorted(10 - 2.5 * end for end in there) == pytest.approx(back)
    low, high = ends(any_estimate(1.0, 0.5, cases=20, df=19))
    assert ends(any_estimate(-3.0, 1.5, cases=20, df=19)) == pytest.approx((-3 * high, -3 * low))


def test_what_cannot_be_told() -> None:
    assert bounded_mean([], low=0, high=1).missing == "no values"
    one = bounded_mean([1.0, None], low=0, high=1)
    assert (ends(one)[1], one.dropped) == (1.0, 1)
    assert ends(one)[0] == pytest.approx(0.05 / 2)
    with pytest.raises(DataError, match=r"values go from 0 to 6, beyond 1 to 5"):
        bounded_mean([0, 6], low=1, high=5)
    few = any_estimate(2.0, 0.1, cases=3, planned=100, df=2)
    assert few.interval is None
    assert few.missing == "no interval: cases are too few for one that holds at every look"
    assert few.p is not None
    assert few.p > 0.05
    low, high = ends(any_estimate(0.9, 0.1, cases=50, df=49))
    assert high > 1
    assert ends(any_estimate(0.9, 0.1, cases=50, df=49, ends=(0, 1))) == (low, 1)


def test_unseen_cases_stand_at_the_ends_of_the_scale() -> None:
    """As much as two more values would add to the sum of squares, over those that are there and one more."""
    values = np.array([1.0, 1, 1, 2, 1])
    whole = np.concatenate([values, [1, 5]])
    squares = ((whole - values.mean()) ** 2).sum() - ((values - values.mean()) ** 2).sum()
    assert error_with_unseen(None, [1.2], [5], (1, 5)) ** 2 == pytest.approx(squares / (5 * 6))
    assert error_with_unseen(0.3, [1.2, 1.2], [5, 5], (1, 5)) ** 2 == pytest.approx(0.09 + 2 * squares / (5 * 6))
    assert error_with_unseen(0.3, [1.2], [5], None) == pytest.approx(0.3)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["normal", "levels", "rare"])
def test_five_in_a_hundred_studies_ever_leave_out_the_truth(kind: str) -> None:
    """A look after every tenth case; of intervals for one look, 20 of 100 or more would."""
    rng, wrong, studies = np.random.default_rng(5), 0, budget(60, 1000)
    for _ in range(studies):
        values = {
            "normal": rng.normal(size=100),
            "levels": rng.choice(np.arange(-4.0, 5.0), 100, p=[0.02, 0.06, 0.12, 0.18, 0.24, 0.18, 0.12, 0.06, 0.02]),
            "rare": rng.choice([-1.0, 0, 1], 100, p=[0.03, 0.94, 0.03]),
        }[kind]
        for n in range(5, 101, 10):
            if kind == "normal":
                error = values[:n].std(ddof=1) / n**0.5
                result = any_estimate(values[:n].mean(), error, cases=n, planned=100, df=n - 1)
            else:
                span = 4 if kind == "levels" else 1
                result = bounded_mean(values[:n], low=-span, high=span)
            if result.p is not None and result.p < 0.05:
                wrong += 1
                break
    assert wrong <= 0.05 * studies + 2 * (0.05 * 0.95 * studies) ** 0.5


def test_at_the_planned_number_it_is_about_half_as_wide_again() -> None:
    rng = np.random.default_rng(6)
    values = rng.choice(np.arange(-2.0, 3.0), 100, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    plain = 2 * student.ppf(0.975, 99) * values.std(ddof=1) / 10
    by_error = interval_of(any_estimate(values.mean(), values.std(ddof=1) / 10, cases=100, planned=100, df=99))
    by_bets = interval_of(bounded_mean(values, low=-4, high=4))
    assert (by_error.high - by_error.low) / plain == pytest.approx(1.58, abs=0.02)
    assert (by_bets.high - by_bets.low) / plain == pytest.approx(1.5, abs=0.15)
