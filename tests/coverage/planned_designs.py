"""Studies of the size that ``bedside plan`` names: whether they reach the power and the half-width that it prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import bedside
from bedside.stats._kappa_parts import penalties
from bedside.stats.rater_models import RaterModel, rater_model
from tests.coverage.agreement_designs import agrees, coefficient
from tests.coverage.drawn_ratings import PEOPLE, Values, rated
from tests.coverage.replicates import Check, Design, Rows, Study, compares

SHARES = (0.1, 0.2, 0.4, 0.2, 0.1)
KAPPA, HALF_WIDTH = 0.6, 0.15
#: What a plan calls a test of ``bedside compare``.
TESTS = {"t": "paired t", "wilcoxon": "Wilcoxon signed-rank"}


@cache
def planned(difference: float, test: str) -> int:
    """Cases that find a difference of so many standard deviations with a power of 80 %."""
    rows = bedside.plan_difference(difference, sd=1.0)[0].records
    return int(next(row["pairs"] for row in rows if row["test"] == TESTS[test]))


def with_difference(rng: np.random.Generator, difference: float, test: str) -> Study:
    """Normal differences of paired cases, as many as are planned."""
    cases = planned(difference, test)
    case = 50 + rng.normal(0, 10, cases)
    values = np.stack([case + 10 * (difference + rng.normal(size=cases)), case])
    return Study(rated(values[..., None, None], metric="seconds"), 10 * difference)


@cache
def planned_raters(raters: int) -> tuple[int, RaterModel]:
    """Transcripts that are planned for κ, and raters who miss by a level."""
    rows = bedside.plan_kappa(half_width=HALF_WIDTH, kappa=KAPPA, shares=SHARES, raters=(raters,))[0].records
    levels: Values = np.arange(1.0, 6.0)
    cases = int(next(row["items"] for row in rows if row["disagreement"] == "near"))
    return cases, rater_model(KAPPA, SHARES, "near", penalties("quadratic", levels)[0])


def with_kappa(rng: np.random.Generator, raters: int) -> Study:
    """As many transcripts as are planned, rated by as many."""
    cases, model = planned_raters(raters)
    values = 1.0 + model.draw(rng, cases, raters)
    return Study(rated(values[None, :, None, :], raters=PEOPLE[:raters], metric="stars"), {"kappa": KAPPA})


def _is_narrow(rows: Rows, truth: Any) -> bool | None:
    row = next(row for row in rows["agreement"] if row["statistic"] == "kappa" and row["kind"] == "people")
    return None if row["low"] is None else bool(row["high"] - row["low"] <= 2 * 1.1 * HALF_WIDTH)


def planned_designs() -> Iterator[Design]:
    """Of the sizes that ``bedside plan`` names."""
    for difference, test in ((0.5, "t"), (1.0, "wilcoxon")):
        power = Check(
            "finds the difference", lambda rows, truth: rows["comparison"][0]["p"] <= 0.05, (0.77, 0.9),
            "planned for a power of 80 %",
        )  # fmt: skip
        yield Design(
            f"a difference of {difference:g} SD, cases as planned for {test}", compares(test=test, metrics="seconds"),
            partial(with_difference, difference=difference, test=test), (power,),
        )  # fmt: skip
    words = "κ's interval is as narrow as planned, or a tenth wider"
    narrow = Check(words, _is_narrow, (0.5, 1.0), "the mean half-width is planned")
    for raters in (2, 3):
        yield Design(
            f"κ .6 ± .15, {raters} raters, transcripts as planned", agrees(scales="1-5"),
            partial(with_kappa, raters=raters), (narrow, coefficient("kappa")),
        )  # fmt: skip
