"""Tests of systems in a table of results: their marks, cells, records and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import WITHOUT
from bedside.core.words import counted
from bedside.reports.number_text import DASH, cases_words, number, p_value
from bedside.reports.results_layout import CellKey, ResultsLayout
from bedside.reports.results_options import SYSTEM
from bedside.reports.samples import MeasureRow
from bedside.reports.table_content import Cell
from bedside.reports.table_notes import said_once
from bedside.stats.result import Result

CORRECTION_WORDS: Mapping[str | None, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini and Hochberg",
    None: "none",
}
#: Marks of corrected p below each bound, the least first.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
#: Families of tests that notes name one by one.
_MOST_FAMILIES = 3
#: Tests that a note names one by one.
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class SystemTests:
    """Tests of systems.

    Attributes:
        layout: the table that they stand in.
        comparisons: by metric, raters, stratum and the two systems.
        against: the system that others are tested against; None where none is named, or no system is called so.
    """

    layout: ResultsLayout
    comparisons: Mapping[tuple[str, str, tuple[str, ...], str, str], Comparison]
    against: str | None

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two systems whose test stands in columns of its own; None where there are no such columns."""
        if self.against is not None or not self.comparisons or not self.layout.is_plain:
            return None
        # Others that have a column are of the source alone.
        rated = {system for _, (system, _) in self.layout.samples}
        systems = [column[0] for column in self.layout.columns if column[0] in rated]
        return (systems[0], systems[1]) if len(systems) == 2 else None

    def against_test(self, key: CellKey) -> Result | None:
        """The test of a cell's system against the one named; None where there is none."""
        if self.against is None:
            return None
        position, (system, stratum) = key
        return self._test(self.layout.items[position], stratum, system, self.against)

    def _comparison(
        self, item: MeasureRow, stratum: tuple[str, ...], a: str, b: str | None
    ) -> Comparison | None:
        # What was tested is the metric itself, no distance of it and no mean with others.
        if b is None or item.measure.compared or item.measure.mean or item.level == "count":
            return None
        return self.comparisons.get((item.metric, item.group, stratum, a, b))

    def _test(self, item: MeasureRow, stratum: tuple[str, ...], a: str, b: str) -> Result | None:
        comparison = self._comparison(item, stratum, a, b)
        return comparison.test if comparison is not None else None

    def marks(self, key: CellKey) -> str:
        """The asterisks of a cell."""
        test = self.against_test(key)
        p = test.p_adjusted if test is not None else None
        return next((mark for bound, mark in _MARKS if p is not None and p < bound), "")

    def record(self, key: CellKey) -> dict[str, Any]:
        """What a cell's record says of its test; nothing where there is none."""
        position, (system, stratum) = key
        against = self.against
        if self.pair is not None and key[1] == (self.pair[0], ()):
            # The test of two systems is told with the first of them, of whose sign the statistic is.
            against = self.pair[1]
        comparison = self._comparison(self.layout.items[position], stratum, system, against)
        if comparison is None:
            return {}
        test = comparison.test
        return {
            "against": against, "test": test.method, "test_n": test.n, "test_of": comparison.entered.of,
            "statistic": test.statistic, "p": test.p, "p_corrected": test.p_adjusted,
            "correction": test.correction, "family": test.family, "family_size": test.family_size,
        }  # fmt: skip

    def pair_cells(self, item: MeasureRow) -> list[Cell]:
        """Statistic, p and corrected p of the two systems' test; no cell where it stands in no columns."""
        if self.pair is None:
            return []
        test = self._test(item, (), *self.pair)
        if test is None:
            return [Cell(DASH)] * 3
        return [Cell(statistic_text(test)), Cell(p_value(test.p)), Cell(p_value(test.p_adjusted))]

    def notes(self) -> list[str]:
        """What was tested and how, or why nothing was."""
        comparisons = list(self.comparisons.values())
        named = self.layout.options.against
        if not comparisons:
            if named is not None and self.against is None and self.layout.has_several_systems:
                return [f"No system is called {named}, so nothing is tested against it."]
            return []
        if self.against is None and self.pair is None:
            return [
                "More than two systems and none named to test against (--against): bedside compare RUN prints all "
                "tests."
            ]
        notes = []
        if self.against is not None:
            against = self.layout.order.system_label(self.against)
            notes.append(f"Against {against}: * p < .05, ** p < .01, *** p < .001, corrected.")
        for method in dict.fromkeys(comparison.test.method for comparison in comparisons):
            reasons = said_once(
                comparison.why for comparison in comparisons if comparison.test.method == method
            )
            notes.append(f"Test: {method} ({'; '.join(reasons)}).")
        if any(c.transcripts_a > c.cases_a or c.transcripts_b > c.cases_b for c in comparisons):
            notes.append("Tests are over cases: of a case's transcripts the mean counts, once.")
        return [*notes, *_entered_notes(comparisons), *self._family_notes(comparisons)]

    def _family_notes(self, comparisons: list[Comparison]) -> list[str]:
        """In which families p was corrected."""
        tests = [comparison.test for comparison in comparisons]
        families = dict.fromkeys((test.correction, test.family, test.family_size) for test in tests)
        if len(families) > _MOST_FAMILIES:
            return [f"p corrected within {len(families)} families; the CSV names them."]
        strata = " in each stratum" if self.layout.options.factors else ""
        return [
            f"p corrected by {CORRECTION_WORDS[correction]} within the family “{family}” of "
            f"{counted(size or 0, 'test')}{strata}."
            for correction, family, size in families
        ]


def _entered_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Which tests rest on fewer cases than are there, and why."""
    fewer = dict.fromkeys(
        f"{c.facts.title} {cases_words(c.entered, c.cases_a, c.cases_b, c.shared, paired=c.paired)}"
        for c in comparisons
        if not c.entered.is_whole
    )
    if not fewer:
        return []
    listed = list(fewer)
    more = f"; and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return [f"Tests that don't rest on all cases: {'; '.join(listed[:_MOST_NAMED])}{more}."]


def statistic_text(test: Result) -> str:
    """A test's statistic: of ranks as it is, which is a whole number or, where ranks are tied, a half."""
    if "U (" not in test.method or test.statistic is None:
        return number(test.statistic, 2)
    return number(test.statistic, 0 if float(test.statistic).is_integer() else 1)


def system_tests(view: RatingsView, layout: ResultsLayout, seed: int) -> SystemTests:
    """The tests that a table's options ask for; none where there is nothing to test."""
    options = layout.options
    systems = view.systems()
    against = options.against if options.against in systems else None
    tested = options.test is not None or against is not None
    if not tested or len(systems) < 2 or SYSTEM not in (*options.rows, *options.columns):
        return SystemTests(layout, {}, None)
    metrics = sorted({item.metric for item in layout.items})
    comparisons = {}
    for stratum, part in _strata(view, layout):
        systems_here = part.systems()
        if len(systems_here) < 2 or (against is not None and against not in systems_here):
            continue
        compared = compare(
            part,
            metrics=metrics,
            reference=against,
            test=options.test or "auto",
            family=options.family,
            correction=options.correction,
            seed=seed,
        )
        for pair in compared.pairs:
            comparisons[pair.metric, pair.raters, stratum, pair.a, pair.b] = pair
    return SystemTests(layout, comparisons, against)


def _strata(view: RatingsView, layout: ResultsLayout) -> list[tuple[tuple[str, ...], RatingsView]]:
    """The ratings of the table's metrics in each stratum."""
    factors = layout.options.factors
    rated = view.ratings.filter(pl.col("metric").is_in({item.metric for item in layout.items}))
    if layout.options.raters:
        # What the table doesn't show is no part of a family of tests.
        shown = pl.DataFrame(
            sorted({(item.metric, item.group) for item in layout.items}),
            schema={"metric": pl.String(), "_group": pl.String()},
            orient="row",
        )
        grouped = rated.with_columns(view.rater_group().alias("_group"))
        rated = grouped.join(shown, on=("metric", "_group"), how="semi").drop("_group")
    if not factors:
        return [((), replace(view, ratings=rated))]
    assert view.factors is not None
    parts = []
    for stratum in sorted({stratum for _, (_, stratum) in layout.samples}):
        own = view.factors.filter(
            *(pl.col(name).fill_null(WITHOUT) == value for name, value in zip(factors, stratum, strict=True))
        )
        part = rated.filter(pl.col("transcript_id").is_in(own["transcript_id"].implode()))
        parts.append((stratum, replace(view, ratings=part, factors=own)))
    return parts
