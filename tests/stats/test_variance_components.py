"""Variance components and the repeats that a difference needs: by hand, another implementation, and simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import statsmodels.formula.api as smf
from numpy.random import Generator
from scipy import stats

from bedside.core.errors import DataError
from bedside.stats.arrays import Array
from bedside.stats.variance_components import Cells, repeat_spread, repeats_needed, worst_of_repeats


def drawn(random: Generator, case_effects: Array, repeats: int, sd: float, conditions: int = 1) -> Cells:
    """Values of cases with these effects, under conditions of different height."""
    return {
        (f"c{case:03}", f"p{condition}"): list(effect + condition + random.normal(0, sd, repeats))
        for case, effect in enumerate(case_effects)
        for condition in range(conditions)
    }


def test_components_by_hand() -> None:
    # Cells' means 2, 4, 9; variance of repeats (2 + 8 + 2) / 3 = 4; of the means 13, less 4 / 2.
    spread = repeat_spread({("a", ""): [1, 3], ("b", ""): [2, 6], ("c", ""): [8, 10]})
    assert (spread.mean, spread.cases, spread.values) == (5, 3, 6)
    assert spread.within == pytest.approx(4)
    assert spread.between == pytest.approx(11)
    assert spread.share == pytest.approx(4 / 15)


def test_a_balanced_design_has_the_components_of_a_mixed_model() -> None:
    random = np.random.default_rng(5)
    cells = drawn(random, random.normal(0, 2, 25), 4, 1.0)
    frame = [{"y": value, "case": case} for (case, _), values in cells.items() for value in values]
    import pandas as pd

    fitted = smf.mixedlm("y ~ 1", pd.DataFrame(frame), groups="case").fit(reml=True)
    spread = repeat_spread(cells)
    assert spread.within == pytest.approx(fitted.scale, rel=1e-3)
    assert spread.between == pytest.approx(float(fitted.cov_re.iloc[0, 0]), rel=1e-3)


@pytest.mark.parametrize(("conditions", "sizes"), [(1, (2, 3)), (3, (1, 4))])
def test_components_are_unbiased_with_unequal_repeats(conditions: int, sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(2)
    within, between = [], []
    for _ in range(300):
        effects = random.normal(0, 1.5, 12)
        cells = {
            (f"c{case}", f"p{condition}"): list(effect + condition + random.normal(0, 1, sizes[(case + condition) % 2]))
            for case, effect in enumerate(effects)
            for condition in range(conditions)
        }
        spread = repeat_spread(cells)
        assert spread.within is not None
        assert spread.between is not None
        within.append(spread.within)
        between.append(spread.between)
    assert np.mean(within) == pytest.approx(1, abs=4 * np.std(within) / 300**0.5)
    assert np.mean(between) == pytest.approx(2.25, abs=4 * np.std(between) / 300**0.5)


def test_what_is_not_repeated_or_one_case_has_no_components() -> None:
    once = repeat_spread({("a", ""): [1], ("b", ""): [2]})
    assert (once.within, once.between, once.share) == (None, None, None)
    single = repeat_spread({("a", ""): [1, 2]})
    assert (single.within, single.between) == (0.5, None)
    equal = repeat_spread({("a", ""): [1, 1], ("b", ""): [1, 1]})
    assert (equal.within, equal.between, equal.share) == (0, 0, None)


def test_repeats_needed_by_hand() -> None:
    # Differences of means 1, 3, 2 (variance 1) of two repeats each; repeats' variance 0.5 + 0.5 = 1, half of it noise.
    a = {(name, ""): [mean - 0.5, mean + 0.5] for name, mean in (("a", 1), ("b", 3), ("c", 2))}
    b = {(name, ""): [-0.5, 0.5] for name in "abc"}
    needed = repeats_needed(a, b)
    t = stats.t.ppf(0.975, 2) + stats.t.ppf(0.8, 2)
    assert needed.difference == pytest.approx(2)
    assert (needed.cases, needed.repeats, needed.within, needed.between) == (3, 2, 1, 0.5)
    room = 3 * 4 / t**2 - 0.5
    assert room < 0
    assert needed.needed is None
    assert needed.missing == "more cases are needed, and not repeats"
    cases = next(n for n in range(2, 99) if n * 4 >= (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) ** 2)
    assert needed.needed_cases == cases


@pytest.mark.parametrize(
    ("a", "b", "missing"),
    [
        ({("a", ""): [1.0, 2]}, {("a", ""): [2.0, 2]}, "one case only"),
        ({("a", ""): [1.0], ("b", ""): [2.0]}, {("a", ""): [2.0, 2], ("b", ""): [2.0, 2]}, "no repeats"),
        (
            {("a", ""): [1.0, 2], ("b", ""): [2.0, 3]},
            {("a", ""): [2.0, 1], ("b", ""): [3.0, 2]},
            "no difference was seen",
        ),
    ],
)
def test_why_there_is_no_number(a: Cells, b: Cells, missing: str) -> None:
    needed = repeats_needed(a, b)
    assert (needed.needed, needed.missing) == (None, missing)


def test_only_cases_and_conditions_of_both_count() -> None:
    a = {("a", "x"): [1.0, 2], ("b", "x"): [2.0, 3], ("c", "x"): [50.0, 90]}
    b = {("a", "x"): [2.0, 4], ("b", "x"): [3.0, 9], ("b", "y"): [90.0, 1]}
    whole = repeats_needed(a, b)
    assert whole == repeats_needed({key: a[key] for key in list(a)[:2]}, {key: b[key] for key in list(b)[:2]})


@pytest.mark.parametrize(
    ("cases", "conditions", "difference", "interaction", "sd"),
    [(20, 1, 0.5, 0.3, 1.0), (12, 1, 0.8, 0.2, 1.5), (15, 3, 0.4, 0.2, 1.2)],
)
def test_the_repeats_reach_the_power(
    cases: int, conditions: int, difference: float, interaction: float, sd: float
) -> None:
    """With the true components as the ones seen, a paired t test over cases finds the difference as often as said."""
    random = np.random.default_rng(11)
    wanted = 0.8
    t = stats.t.ppf(0.975, cases - 1) + stats.t.ppf(wanted, cases - 1)
    room = cases * (difference / t) ** 2 - interaction**2
    repeats = int(np.ceil(2 * sd**2 / conditions / room))
    # The function comes to this number from data that have exactly these components.
    large = _exact(cases, conditions, difference, interaction, sd)
    assert repeats_needed(*large).needed == repeats
    own = random.normal(difference, interaction, (2000, cases))
    noise = [random.normal(0, sd / np.sqrt(conditions * repeats), (2000, cases)) for _ in range(2)]  # means of repeats
    power = float((stats.ttest_1samp(own + noise[0] - noise[1], 0, axis=1).pvalue < 0.05).mean())
    assert wanted - 0.03 < power
    # One repeat fewer would not do, or nearly not.
    assert power < wanted + 2.2 / repeats


def _exact(cases: int, conditions: int, difference: float, interaction: float, sd: float) -> tuple[Cells, Cells]:
    """Values of two repeats whose components are just these."""
    random = np.random.default_rng(0)
    raw = random.normal(0, 1, cases)
    raw = (raw - raw.mean()) / raw.std(ddof=1)
    noise = 2 * sd**2 / 2 / conditions
    means = difference + raw * np.sqrt(interaction**2 + noise)
    half = sd / np.sqrt(2)
    a = {
        (f"c{case:02}", f"p{condition}"): [mean - half, mean + half]
        for case, mean in enumerate(means)
        for condition in range(conditions)
    }
    b = {key: [-half, half] for key in a}
    return a, b


def test_the_worst_of_some_repeats_is_the_mean_over_all_sets_of_them() -> None:
    random = np.random.default_rng(3)
    cells = {(f"c{case}", condition): list(random.normal(size=5 + case)) for case in range(3) for condition in "pq"}
    for k in range(1, 6):
        by_sets = {key: np.mean([min(own) for own in combinations(values, k)]) for key, values in cells.items()}
        cases = [np.mean([by_sets[f"c{case}", condition] for condition in "pq"]) for case in range(3)]
        assert worst_of_repeats(cells, k) == pytest.approx(cases)
    # A case without so many repeats is left out.
    assert worst_of_repeats(cells, 6).shape == (2,)
    with pytest.raises(DataError):
        worst_of_repeats(cells, 0)


def test_the_chance_that_all_repeats_succeed_has_no_bias() -> None:
    """The plain share of cases whose seven repeats all succeed is far below the chance of three."""
    random = np.random.default_rng(4)
    chances = random.uniform(0.3, 1, 2000)
    cells = {
        (f"c{case:04}", ""): list((random.random(7) < chance).astype(float)) for case, chance in enumerate(chances)
    }
    found = worst_of_repeats(cells, 3)
    assert found.mean() == pytest.approx((chances**3).mean(), abs=3 * found.std() / np.sqrt(2000))
