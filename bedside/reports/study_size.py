"""Tables of what a study needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.comparison import compare
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.measures import rater_words
from bedside.reports.number_text import decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats import sample_size as planning
from bedside.support.errors import DataError

_LEVEL = 0.05


def kappa_table(
    kappa: float,
    half_width: float,
    *,
    shares: Sequence[float],
    raters: Sequence[int],
    weights: str,
    seed: int,
) -> Table:
    """Items needed for kappa's interval, for each number of raters."""
    how = "unweighted" if weights == "none" else weights
    rows, records = [], []
    for count in raters:
        formula = (
            planning.items_for_kappa(kappa, half_width, shares=shares, weights=how) if count == 2 else None
        )
        plan = planning.simulated_items_for_kappa(
            kappa, half_width, shares=shares, raters=count, weights=how, seed=seed
        )
        ratings = plan.n * count if plan.n is not None else None
        cells = (f"{count}", number(formula.n if formula else None, 0), number(plan.n, 0),
                 number(ratings, 0), decimal(plan.reached, 3))  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "raters": count, "items_formula": formula.n if formula else None, "items": plan.n, "ratings": ratings,
                "half_width_reached": plan.reached, "method": plan.method, "missing": plan.missing,
            }
        )  # fmt: skip
    return Table(
        name="plan",
        title=f"Transcripts for kappa ± {half_width:g} where kappa is {kappa:g}",
        columns=(
            Column("Raters"), Column("By formula"), Column("By simulation"), Column("Ratings in all"),
            Column("Half-width reached"),
        ),
        rows=tuple(rows),
        notes=(
            f"Kappa {how}, mean over pairs of raters; {len(shares)} levels with shares "
            f"{', '.join(decimal(share) for share in shares)}; every rater rates every transcript.",
            "By formula: large-sample variance (Fleiss, Cohen and Everitt 1969). By simulation: mean half-width of the "
            f"interval that bedside agree reports, 200 studies, seed {seed}.",
        ),
        records=tuple(records),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pilot:
    """Differences of two systems, case by case, and who rated them."""

    differences: np.ndarray[Any, Any]
    raters: str


def pilot_differences(view: RatingsView, metric: str | None, systems: Sequence[str] | None) -> Pilot:
    """The differences of two systems on one metric of a pilot, as rated by people where they rated any.

    Raises:
        DataError: no metric or not two systems are named, or their cases don't pair.
    """
    if metric is None or systems is None or len(systems) != 2:
        raise DataError(
            "a pilot needs one metric and two systems", where="--pilot", todo="add --metric and --systems A,B"
        )
    names = view.metrics([metric])
    if len(names) > 1:
        raise DataError(
            f"{len(names)} metrics match {metric!r}", where="--metric", todo=f"name one: {', '.join(names)}"
        )
    first = compare(view, systems=systems, metrics=names, test="t").pairs[0]
    if first.differences is None or len(first.differences) < 2:
        raise DataError(
            f"fewer than two cases of {first.facts.title} pair", where="--pilot", todo="give --sd"
        )
    return Pilot(np.array(first.differences), rater_words(first.raters))


def difference_table(
    difference: float,
    *,
    sd: float | None,
    pilot: Pilot | None,
    power: float,
    tests: int,
    seed: int,
) -> Table:
    """Pairs needed to find a mean difference, by formula for two tests, checked on the pilot where there is one."""
    spread = float(np.std(pilot.differences, ddof=1)) if pilot is not None else sd
    assert spread is not None
    if tests < 1:
        raise DataError("a family has at least one test", where="--tests")
    alpha = _LEVEL / tests
    rows, records = [], []
    for name, test in (("paired t", "t"), ("Wilcoxon signed-rank", "wilcoxon")):
        plan = planning.pairs_for_difference(difference, spread, power=power, alpha=alpha, test=test)  # type: ignore[arg-type]
        checked = None
        if pilot is not None and plan.n is not None and test == "t":
            # The pilot's spread around the difference that is asked for.
            shifted = pilot.differences - pilot.differences.mean() + difference
            checked = planning.simulated_power(shifted, plan.n, alpha=alpha, seed=seed).reached
        cells = (name, number(plan.n, 0), decimal(plan.reached), decimal(checked))
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "test": name, "pairs": plan.n, "power": plan.reached, "power_on_pilot": checked, "method": plan.method,
                "missing": plan.missing,
            }
        )  # fmt: skip
    source = (
        f"of a pilot of {len(pilot.differences)} cases rated by {pilot.raters}"
        if pilot is not None
        else "as given"
    )
    return Table(
        name="plan",
        title=f"Cases to find a mean difference of {difference:g} with power {power:g}",
        columns=(Column("Test", "left"), Column("Cases"), Column("Power"), Column("Power on the pilot")),
        rows=tuple(rows),
        notes=(
            f"Standard deviation of the differences {spread:.3g}, {source}; two-sided, alpha {alpha:.3g}"
            + (f" (.05 over {tests} tests)." if tests > 1 else "."),
            "Every case is scored with both systems. Wilcoxon: the t test's number over 3/π, as if differences were "
            "normal. Power on the pilot: t test on 2000 samples drawn from the pilot, moved to the difference asked "
            "for.",
        ),
        records=tuple(records),
    )
