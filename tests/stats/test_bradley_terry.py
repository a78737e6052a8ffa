"""Strengths against Agresti's published baseball example, Stigler's journals, choix, statsmodels and simulations."""

from __future__ import annotations

import warnings
from itertools import permutations

import choix
import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from scipy.stats import norm

from bedside.stats.arrays import Array
from bedside.stats.bradley_terry import Strengths, _PairRegression, strengths
from tests.soak import budget
from tests.stats.results import ends, interval_of

#: Home team, visitor, games that each won: American League, Eastern Division, 1987 (Agresti 2002, Categorical Data
#: Analysis, 2nd edition, Table 10.11).
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
GAMES = """
    ... 4-3 4-2 4-3 6-1 4-2 6-0
    3-3 ... 4-2 4-3 6-0 6-1 4-3
    2-5 4-3 ... 2-4 4-3 4-2 6-0
    3-3 5-1 2-5 ... 4-3 4-2 6-1
    5-1 2-5 3-3 4-2 ... 5-2 6-0
    2-5 3-3 3-4 4-3 4-2 ... 2-4
    2-5 1-5 1-6 2-4 1-6 3-4 ...
"""
#: Citations between four journals, cited by row, citing by column (Stigler 1994, Statist. Sci. 9, 94–108).
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITED = np.array([[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]])


def table(comparisons: list[tuple[int, int, int, float]], systems: int) -> Array:
    """Cases × systems × systems from (case, first, second, share of the first)."""
    cases = 1 + max(case for case, *_ in comparisons)
    shares = np.full((cases, systems, systems), np.nan)
    for case, first, second, share in comparisons:
        shares[case, first, second] = share
    return shares


def baseball() -> Array:
    """Each game as a case of its own; the home team is shown first."""
    games = []
    for home, line in enumerate(GAMES.split("\n")[1:-1]):
        for visitor, score in enumerate(line.split()):
            if score != "...":
                won, lost = map(int, score.split("-"))
                games += [(home, visitor, 1.0)] * won + [(home, visitor, 0.0)] * lost
    return table([(case, *game) for case, game in enumerate(games)], len(TEAMS))


def estimates(fitted: Strengths) -> Array:
    return np.array([np.nan if own.estimate is None else own.estimate for own in fitted.strengths])


def simulated(
    rng: np.random.Generator, cases: int, true: Array, *, place: float = float(logit(0.6)), ties: float = 0.2,
    spread: float = 0.6, compared: float = 1.0, orders: str = "both",
) -> Array:  # fmt: skip
    """Comparisons of every two systems whose qualities vary by case, and so does how much the place counts."""
    count = true.size
    quality = true + rng.normal(0, spread, (cases, count))
    place_of = place + rng.normal(0, 0.3, cases)
    shares = np.full((cases, count, count), np.nan)
    for first, second in permutations(range(count), 2):
        if orders == "one" and first > second:
            continue
        chance = expit(quality[:, first] - quality[:, second] + place_of)
        shares[:, first, second] = np.where(rng.random(cases) < ties, 0.5, rng.random(cases) < chance)
    kept = np.triu(rng.random((cases, count, count)) < compared)
    shares[~(kept | kept.transpose(0, 2, 1))] = np.nan
    return shares


def test_baseball_is_as_published() -> None:
    """Agresti's Table 10.11, with the advantage of the home team: chances that sum to 1, and .302 for the home team."""
    fitted = strengths(baseball(), TEAMS, flips=9)
    abilities = np.exp(estimates(fitted))
    assert np.sort(abilities / abilities.sum()).round(3).tolist() == [
        0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220,
    ]  # fmt: skip
    assert fitted.position is not None
    assert fitted.position.estimate == pytest.approx(0.302, abs=5e-4)
    # The published standard error of .131 is the model's own; the jackknife's is close where games are independent.
    assert fitted.position.standard_error == pytest.approx(0.131, abs=0.005)


def test_baseball_without_the_place_is_as_published() -> None:
    """Each game shown both ways round: the place then has no effect, and strengths are those of the simple model."""
    games = baseball()
    both = np.concatenate([games, 1 - games.transpose(0, 2, 1)])
    fitted = strengths(both, TEAMS, flips=9)
    beside_last = estimates(fitted) - estimates(fitted)[-1]
    assert np.sort(beside_last)[1:].round(2).tolist() == [0.68, 1.11, 1.25, 1.29, 1.44, 1.58]
    assert fitted.position is not None
    assert fitted.position.estimate == pytest.approx(0, abs=1e-8)


@pytest.mark.slow
def test_journals_are_as_choix_and_as_published() -> None:
    """R's BradleyTerry2 (vignette, ``citeModel``) gives −2.9491, −.4796 and .2690 beside Biometrika."""
    wins = [pair for pair in permutations(range(4), 2) for _ in range(int(CITED[pair]))]
    shares = table([(case, *pair, 1.0) for case, pair in enumerate(wins)], 4)
    both = np.concatenate([shares, 1 - shares.transpose(0, 2, 1)])
    fitted = estimates(strengths(both, JOURNALS, flips=9))
    assert (fitted - fitted[0])[1:].round(4).tolist() == [-2.9491, -0.4796, 0.2690]
    assert fitted == pytest.approx(choix.ilsr_pairwise_dense(CITED, alpha=0.0), abs=1e-6)


def test_ties_and_incomplete_comparisons_are_as_statsmodels_and_choix() -> None:
    rng = np.random.default_rng(3)
    shares = simulated(rng, 30, np.array([0.8, 0.2, -0.3, -0.7]), compared=0.4)
    fitted = strengths(shares, "abcd", flips=9)
    rows, wins, losses = [], [], []
    for first, second in permutations(range(4), 2):
        row = np.zeros(4)
        if first:
            row[first - 1] = 1
        if second:
            row[second - 1] = -1
        row[3] = 1
        rows.append(row)
        wins.append(np.nansum(shares[:, first, second]))
        losses.append(np.nansum(1 - shares[:, first, second]))
    model = sm.GLM(np.column_stack([wins, losses]), np.array(rows), family=sm.families.Binomial()).fit(tol=1e-12)
    levels = np.concatenate([[0.0], model.params[:3]])
    assert estimates(fitted) == pytest.approx(levels - levels.mean(), abs=1e-7)
    assert fitted.position is not None
    assert fitted.position.estimate == pytest.approx(model.params[3], abs=1e-7)
    both = np.concatenate([shares, 1 - shares.transpose(0, 2, 1)])
    won = np.nansum(both, axis=0)
    assert estimates(strengths(both, "abcd", flips=9)) == pytest.approx(
        choix.ilsr_pairwise_dense(won, alpha=0.0), abs=1e-6
    )


@pytest.mark.slow
def test_the_jackknife_is_close_to_leaving_out_each_case_and_to_a_sandwich() -> None:
    shares = simulated(np.random.default_rng(5), 20, np.array([0.6, 0.0, -0.6]))
    fitted = strengths(shares, "abc", flips=9)
    without = np.array([estimates(strengths(np.delete(shares, case, 0), "abc", flips=9)) for case in range(20)])
    slow = np.sqrt(19 / 20 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    fast = [own.standard_error for own in fitted.strengths]
    assert fast == pytest.approx(slow, rel=0.02)
    case, first, second = np.nonzero(~np.isnan(shares))
    design = np.zeros((case.size, 3))
    rows = np.arange(case.size)
    for system in (1, 2):
        design[rows, system - 1] = (first == system).astype(float) - (second == system)
    design[:, 2] = 1
    model = sm.GLM(shares[case, first, second], design, family=sm.families.Binomial())
    robust = model.fit(cov_type="cluster", cov_kwds={"groups": case})
    assert fitted.position is not None
    assert fitted.position.standard_error == pytest.approx(robust.bse[2], rel=0.1)


def test_the_interval_and_the_chance() -> None:
    fitted = strengths(simulated(np.random.default_rng(6), 30, np.array([0.5, -0.5])), "ab")
    own, chance = fitted.strengths[0], fitted.chances[0]
    assert sum(estimates(fitted)) == pytest.approx(0)
    assert own.estimate is not None
    assert chance.estimate == pytest.approx(expit(own.estimate))
    assert ends(chance) == pytest.approx(tuple(expit(ends(own))))
    difference = fitted.differences[0, 1]
    assert difference.estimate == pytest.approx(2 * own.estimate)
    assert fitted.expected[0, 1] == pytest.approx(expit(2 * own.estimate))


def test_equal_strengths_of_two_systems_are_tested_by_each_case_s_balance() -> None:
    """With two systems and both orders the score is what a case's shares are above one half: sign flips by hand."""
    shares = simulated(np.random.default_rng(8), 10, np.array([0.8, -0.8]))
    fitted = strengths(shares, "ab")
    balance = (shares[:, 0, 1] - shares[:, 1, 0]) / 2
    signs = np.where((np.arange(1024)[:, None] >> np.arange(10)) & 1, -1, 1)
    p = (np.abs(signs @ balance) >= abs(balance.sum()) - 1e-12).mean()
    difference = fitted.differences[0, 1]
    assert difference.p == pytest.approx(p)
    assert difference.statistic == pytest.approx(balance.sum() / np.sqrt(balance @ balance))
    assert "all there are" in difference.method


def test_a_system_that_won_everything_is_told_and_still_tested() -> None:
    rng = np.random.default_rng(1)
    shares = simulated(rng, 12, np.zeros(4))
    shares[:, 0, 1:], shares[:, 1:, 0] = 1.0, 0.0
    fitted = strengths(shares, ["A", "B", "C", "D"])
    assert fitted.on_scale == (1, 2, 3)
    assert fitted.strengths[0].estimate is None
    assert fitted.strengths[0].missing == "A won every comparison, so that its strength has no finite value"
    alone = strengths(shares[:, 1:, 1:], ["B", "C", "D"])
    assert estimates(fitted)[1:] == pytest.approx(estimates(alone))
    difference = fitted.differences[0, 1]
    assert difference.estimate is None
    assert "A won every comparison" in str(difference.missing)
    assert difference.p is not None
    assert difference.p < 0.01
    assert fitted.differences[1, 2].p == pytest.approx(alone.differences[0, 1].p, abs=0.02)


def test_systems_in_a_strict_order_have_no_strengths() -> None:
    rows = [(case, a, b, float(a < b)) for case in range(9) for a, b in permutations(range(3), 2)]
    shares = table(rows, 3)
    fitted = strengths(shares, "abc")
    assert fitted.on_scale == ()
    assert [own.missing for own in fitted.strengths] == [
        "a won every comparison, so that its strength has no finite value",
        "the systems won and lost so that no two strengths have a finite difference",
        "c lost every comparison, so that its strength has no finite value",
    ]
    assert all(own.p == pytest.approx(2 / 2**9) for own in fitted.differences.values())


def test_systems_that_nothing_joins_share_no_scale() -> None:
    rng = np.random.default_rng(2)
    shares = np.full((20, 5, 5), np.nan)
    shares[:, :3, :3] = simulated(rng, 20, np.zeros(3))
    shares[:, 3:, 3:] = simulated(rng, 20, np.zeros(2))
    fitted = strengths(shares, "abcde")
    assert fitted.on_scale == (0, 1, 2)
    assert fitted.strengths[3].missing == "no comparisons join d with a, b, c, directly or through others"
    assert fitted.differences[0, 3].p is None
    assert fitted.differences[3, 4].p is not None
    assert np.isnan(fitted.expected[3, 4])


def test_where_the_place_decides_nothing_is_said_of_strengths() -> None:
    shares = table([(case, *pair, 1.0) for case in range(10) for pair in permutations(range(3), 2)], 3)
    fitted = strengths(shares, "abc")
    assert {own.missing for own in fitted.strengths} == {
        "which of two was shown first, and not which systems they were, decides who is preferred"
    }
    assert all(own.p is None for own in fitted.differences.values())


def test_a_system_that_won_whenever_it_was_first_has_a_strength_without_the_place() -> None:
    """Shown first it won 10 of 10, shown second 4 of 10: a share of wins of .7, and no finite effect of the place."""
    rows = [(case, 0, 1, 1.0) for case in range(10)] + [(case, 1, 0, float(case > 3)) for case in range(10)]
    fitted = strengths(table(rows, 2), "ab")
    assert fitted.position is None
    assert "has no finite value" in fitted.remarks[0]
    assert 2 * estimates(fitted)[0] == pytest.approx(logit(0.7))
    assert fitted.strengths[0].interval is not None
    # Of the cases four went to the one in both orders, six to nobody.
    assert fitted.differences[0, 1].p == pytest.approx(2 / 2**4)


def test_one_order_alone_leaves_the_place_in_the_strengths() -> None:
    shares = table([(case, 0, 1, float(case % 3 > 0)) for case in range(12)], 2)
    fitted = strengths(shares, "ab")
    assert fitted.position is None
    assert "can't be told from the strengths" in fitted.remarks[0]
    assert fitted.strengths[0].estimate == pytest.approx(logit(8 / 12) / 2)
    # A chain of three in one order each: the place and two differences are three unknowns of three shares.
    assert strengths(simulated(np.random.default_rng(1), 40, np.zeros(3), orders="one"), "abc").position is not None


def test_one_case_and_none() -> None:
    one = table([(0, 0, 1, 1.0), (0, 1, 0, 0.5), (0, 0, 2, 0.0), (0, 2, 1, 0.5), (0, 1, 2, 1.0), (0, 2, 0, 0.5)], 3)
    fitted = strengths(one, "abc")
    assert all(own.interval is None for own in fitted.strengths)
    assert {own.missing for own in fitted.strengths} == {
        "no interval: without one of the cases the systems share no scale"
    }
    empty = strengths(np.full((0, 2, 2), np.nan), "ab")
    assert [own.missing for own in empty.strengths] == [
        "a was compared with no other system",
        "b was compared with no other system",
    ]


@pytest.mark.soak
@pytest.mark.slow
def test_small_tables_of_every_kind_are_answered_without_a_warning() -> None:
    """Few cases, few comparisons, all to one side, all ties: a number or a reason, and never an infinite one."""
    rng = np.random.default_rng(11)
    for _ in range(budget(30, 3000)):
        cases, systems = int(rng.integers(1, 7)), int(rng.integers(2, 5))
        values = rng.choice([0.0, 0.5, 1.0, np.nan], (cases, systems, systems), p=rng.dirichlet([0.5] * 4))
        values[:, range(systems), range(systems)] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = strengths(values, [str(system) for system in range(systems)], flips=99)
        for own in (*fitted.strengths, *fitted.differences.values()):
            assert (own.estimate is None) == bool(own.missing and "no interval" not in own.missing)
            assert own.estimate is None or abs(own.estimate) < 50
            assert own.p is None or 0 < own.p <= 1


#: Cases, strengths, the share of comparisons that are made.
DESIGNS = [(20, [0.0, 0.0, 0.0], 1.0), (30, [0.5, 0.0, 0.0, -0.5], 0.4), (60, [0.9, 0.3, 0.3, -0.3, -1.2], 1.0)]


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(("cases", "true", "compared"), DESIGNS)
def test_intervals_cover_and_tests_keep_their_level(cases: int, true: list[float], compared: float) -> None:
    """What is covered are the strengths of endless cases of this kind, on which systems differ from case to case."""
    repetitions = budget(12, 1500)
    rng = np.random.default_rng(cases)
    names = [str(system) for system in range(len(true))]
    values = np.array(true)
    endless = _PairRegression.of(simulated(rng, 60_000, values), [[system] for system in range(len(true))])
    levels, place = endless.group_levels(), float(endless.estimate[-1])
    covered, covered_place, rejected = [], [], []
    for _ in range(repetitions):
        fitted = strengths(simulated(rng, cases, values, compared=compared), names, flips=499)
        covered += [
            own.interval is not None and own.interval.low <= level <= own.interval.high
            for own, level in zip(fitted.strengths, levels, strict=True)
        ]
        assert fitted.position is not None
        covered_place.append(interval_of(fitted.position).low <= place <= interval_of(fitted.position).high)
        equal = [own for (a, b), own in fitted.differences.items() if true[a] == true[b]]
        rejected.append(any(own.p_adjusted is not None and own.p_adjusted < 0.05 for own in equal))
    slack = norm.ppf(0.999) * np.sqrt(0.05 * 0.95 / repetitions)
    assert 0.93 - slack <= np.mean(covered) <= 0.97 + slack
    assert 0.93 - slack <= np.mean(covered_place) <= 0.97 + slack
    assert np.mean(rejected) <= 0.055 + slack
