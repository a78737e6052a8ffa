"""Tables of what a study needs."""

from __future__ import annotations

from bedside.analysis.study_size import DifferenceSizes, KappaSizes
from bedside.reports.cell_names import rater_words
from bedside.reports.number_text import decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

_TEST_WORDS = {"t": "paired t", "wilcoxon": "Wilcoxon signed-rank"}


def kappa_table(sizes: KappaSizes) -> Table:
    """Items needed for kappa's interval, for each number of raters."""
    how = "unweighted" if sizes.weights == "none" else sizes.weights
    rows, records = [], []
    for size in sizes.by_raters:
        formula, simulation = size.formula, size.simulation
        cells = (f"{size.raters}", number(formula.n if formula else None, 0), number(simulation.n, 0),
                 number(size.ratings, 0), decimal(simulation.reached, 3))  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "raters": size.raters, "items_formula": formula.n if formula else None, "items": simulation.n,
                "ratings": size.ratings, "half_width_reached": simulation.reached, "method": simulation.method,
                "missing": simulation.missing,
            }
        )  # fmt: skip
    return Table(
        name="plan",
        title=f"Transcripts for kappa ± {sizes.half_width:g} where kappa is {sizes.kappa:g}",
        columns=(
            Column("Raters"), Column("By formula"), Column("By simulation"), Column("Ratings in all"),
            Column("Half-width reached"),
        ),
        rows=tuple(rows),
        notes=(
            f"Kappa {how}, mean over pairs of raters; {len(sizes.shares)} levels with shares "
            f"{', '.join(decimal(share) for share in sizes.shares)}; every rater rates every transcript.",
            "By formula: large-sample variance (Fleiss, Cohen and Everitt 1969). By simulation: mean half-width of the "
            f"interval that bedside agree reports, 200 studies, seed {sizes.seed}.",
        ),
        records=tuple(records),
    )  # fmt: skip


def difference_table(sizes: DifferenceSizes) -> Table:
    """Pairs needed to find a mean difference, by formula for two tests, checked on the pilot where there is one."""
    rows, records = [], []
    for size in sizes.by_test:
        cases, words = size.cases, _TEST_WORDS[size.test]
        cells = (words, number(cases.n, 0), decimal(cases.reached), decimal(size.pilot_power))
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "test": words, "pairs": cases.n, "power": cases.reached, "power_on_pilot": size.pilot_power,
                "method": cases.method, "missing": cases.missing,
            }
        )  # fmt: skip
    pilot = sizes.pilot
    source = (
        f"of a pilot of {len(pilot.differences)} cases rated by {rater_words(pilot.raters)}"
        if pilot is not None
        else "as given"
    )
    family = f" (.05 over {sizes.tests} tests)" if sizes.tests > 1 else ""
    return Table(
        name="plan",
        title=f"Cases to find a mean difference of {sizes.difference:g} with power {sizes.power:g}",
        columns=(Column("Test", "left"), Column("Cases"), Column("Power"), Column("Power on the pilot")),
        rows=tuple(rows),
        notes=(
            f"Standard deviation of the differences {sizes.sd:.3g}, {source}; two-sided, alpha "
            f"{sizes.alpha:.3g}{family}.",
            "Every case is scored with both systems. Wilcoxon: the t test's number over 3/π, as if differences were "
            "normal. Power on the pilot: t test on 2000 samples drawn from the pilot, moved to the difference asked "
            "for.",
        ),
        records=tuple(records),
    )
