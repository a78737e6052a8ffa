"""The tests in a table of results, and its notes: what its numbers and marks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.metric_facts import facts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import WITHOUT
from bedside.core.words import counted
from bedside.reports.measures import also_rated_notes
from bedside.reports.notes import Note
from bedside.reports.number_text import CORRECTION_WORDS, DASH, cases_words, n_of, number, p_value, rater_words
from bedside.reports.results_layout import NO_REFERENCE, SYSTEM, CellKey, Key, ResultsDeviations, ResultsLayout
from bedside.reports.samples import LABELLED, MeasuredRows, MeasureRow, Sample, interval_note
from bedside.reports.table_content import Cell
from bedside.reports.table_notes import absent_notes, code_notes, said_once
from bedside.stats.result import Result

# -- Tests of systems in a table of results -------------------------------------------------------------

#: Marks of corrected p below each bound, the least first.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))

#: Families of tests that notes name one by one.
_MOST_FAMILIES = 3
#: Tests that a note names one by one.
_MOST_NAMED = 6


def asterisks(p: float | None) -> str:
    """The mark of a corrected p."""
    return next((mark for bound, mark in _MARKS if p is not None and p < bound), "")


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

    def _comparison(self, item: MeasureRow, stratum: tuple[str, ...], a: str, b: str | None) -> Comparison | None:
        # What was tested is the metric itself, no distance of it and no mean with others.
        if b is None or item.measure.compared or item.measure.mean or item.level == "count":
            return None
        return self.comparisons.get((item.metric, item.group, stratum, a, b))

    def _test(self, item: MeasureRow, stratum: tuple[str, ...], a: str, b: str | None) -> Result | None:
        comparison = self._comparison(item, stratum, a, b)
        return comparison.test if comparison is not None else None

    def marks(self, key: CellKey) -> str:
        """The asterisks of a cell, whose system is tested against the one named."""
        position, (system, stratum) = key
        test = self._test(self.layout.items[position], stratum, system, self.against)
        return asterisks(test.p_adjusted if test is not None else None)

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
        undefined: dict[str, list[str]] = {}
        for own in comparisons:
            if own.test.p is None:
                undefined.setdefault(own.test.missing or "no value", []).append(own.facts.title)
        for reason, titles in undefined.items():
            notes.append(f"{DASH}: no test of {', '.join(dict.fromkeys(titles))} ({reason}).")
        if self.against is not None:
            against = self.layout.order.system_label(self.against)
            notes.append(f"Against {against}: * p < .05, ** p < .01, *** p < .001, corrected.")
        for method in dict.fromkeys(comparison.test.method for comparison in comparisons):
            reasons = said_once(comparison.why for comparison in comparisons if comparison.test.method == method)
            notes.append(f"Test: {method} ({'; '.join(reasons)}).")
        if any(c.transcripts_a > c.cases_a or c.transcripts_b > c.cases_b for c in comparisons):
            notes.append("Tests are over cases: of a case's transcripts the mean counts, once.")
        return [*notes, *_entered_notes(comparisons), *self._family_notes(comparisons)]

    def _family_notes(self, comparisons: list[Comparison]) -> list[str]:
        """In which families p was corrected."""
        tests = [comparison.test for comparison in comparisons if comparison.test.family_size]
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
            # Raters who gave the very same values were tested once, and have rows of their own here.
            copies = (group for (metric, group), first in compared.copies.items()
                      if (metric, first) == (pair.metric, pair.raters))  # fmt: skip
            for group in (pair.raters, *copies):
                comparisons[pair.metric, group, stratum, pair.a, pair.b] = replace(pair, raters=group)
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


# -- The notes below a table of results -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownResults:
    """A table of results as it is printed, and what it was made from.

    Attributes:
        layout: its measures, rows and columns.
        cells: those that hold numbers, but for tests.
        dashes: which of them hold a dash.
        usual_counts: by column how many transcripts most of its numbers rest on.
        measured: what was measured, and what wasn't.
        tests: of systems.
        deviations: from the reference corpus; None where none is named.
        references: by measure its value in the reference corpus.
        corpus: what that is called.
    """

    layout: ResultsLayout
    cells: Sequence[Cell]
    dashes: Sequence[CellKey]
    usual_counts: Mapping[Key, int]
    measured: MeasuredRows
    tests: SystemTests
    deviations: ResultsDeviations | None
    references: Mapping[int, Sample]
    corpus: str | None


def _count_notes(results: ShownResults) -> list[str]:
    layout, usual_counts, cells = results.layout, results.usual_counts, results.cells
    if not layout.options.n:
        counts = [sample.n for sample in layout.samples.values()]
        least, most = min(counts), max(counts)
        lacking = _lacking_notes(layout)
        if least == most and not lacking:
            each = (
                "behind each number of this run" if any(cell.text.startswith("{") for cell in cells) else "in each cell"
            )
            return [f"n = {counted(most, 'transcript')} {each}."]
        some = "" if least == most else f"{least:,} to "
        return [f"Cells rest on {some}{counted(most, 'transcript')}; the CSV has the number of each.", *lacking]
    notes = []
    if layout.metrics_in_rows:
        notes.append(_n_note(layout, usual_counts))
    elif any(" n=" in cell.text for cell in cells):
        notes.append("n: transcripts with a value; a cell that rests on fewer says so.")
    return [*notes, *_lacking_notes(layout)]


def _lacking_notes(layout: ResultsLayout) -> list[str]:
    """Why fewer transcripts than there are stand behind a number."""
    samples = [sample for sample in layout.samples.values() if sample.estimate is not None]
    reasons = []
    if any(sample.missing for sample in samples):
        reasons.append("have no value, the table of missing values says why")
    if any((sample.of or 0) > sample.n + sample.missing for sample in samples):
        reasons.append("were not rated")
    others = "n of more: the other transcripts" if layout.options.n else "The other transcripts"
    return [f"{others} {', or '.join(reasons)}."] if reasons else []


def _n_note(layout: ResultsLayout, usual_counts: Mapping[Key, int]) -> str:
    columns, whole = layout.options.columns, layout.whole_counts()
    counts = {n_of(n, whole[key]) for key, n in usual_counts.items()}
    if len(counts) > 1:
        listed = ", ".join(
            f"{' · '.join(layout.value_title(*pair) for pair in zip(columns, key, strict=True))} {n_of(n, whole[key])}"
            for key, n in usual_counts.items()
            if n
        )
        return f"n, transcripts: {listed}, unless a cell says otherwise."
    by_column = ""
    if len(usual_counts) > 1:
        by_column = " a system" if columns == (SYSTEM,) else " a column"
    said = next(iter(counts), "0")
    return f"n = {said} transcript{'' if said == '1' else 's'}{by_column} unless a cell says otherwise."


def _ratio_notes(results: ShownResults) -> list[str]:
    layout = results.layout
    if not any(item.level == "micro" for item in layout.items):
        return []
    tested = (
        ", beside the mean of the transcripts' own values (case-level), which is what tests compare."
        if layout.options.case_level
        else "; tests compare the transcripts' own values."
    )
    return [f"Micro: sums over transcripts divided by one another{tested}"]


def _counted_notes(results: ShownResults) -> list[str]:
    """Of ratios of sums what an algorithm counts, whoever rates the rest."""
    measured = results.measured
    return [
        f"{title}: {', '.join(sorted(facts(metric).title for metric in counted))} as counted by "
        f"{', '.join(sorted({rater_words(rater) for rater in counted.values()}))}, whoever rates the rest."
        for title, counted in measured.counted.items()
    ]


def _best_notes(results: ShownResults) -> list[str]:
    layout, cells = results.layout, results.cells
    best = layout.options.best
    if any(cell.bold for cell in cells):
        rule = {
            "interval": "Bold: the best, and what the 95 % t interval of the difference can't tell from it",
            "always": "Bold: the best, with no regard to chance",
        }[best]
        matched = layout.options.matched or not any(cell.underline for cell in cells)
        second = "" if matched else "; underlined: the next"
        near = [layout.plain_title(item) for item in layout.items if item.nearest]
        nearest = f" Of {', '.join(near)} the nearest to the reference corpus is best." if near else ""
        return [f"{rule}{second}.{_arrow_words(layout)}{nearest}"]
    if not layout.options.arrows:
        return []
    directed = any(item.direction != "none" for item in layout.items)
    if best == "interval" and directed and layout.has_several_systems:
        return ["Nothing is bold: no 95 % interval of a difference leaves out 0. ↑ higher is better, ↓ lower is."]
    return []


def _arrow_words(layout: ResultsLayout) -> str:
    """What the arrows mean, and what is better of measures that have none though one way is."""
    words = {
        ("higher", "lower"): " ↑ higher is better, ↓ lower is.",
        ("lower",): " ↓ lower is better; of the others higher is.",
        ("higher",): " ↑ higher is better; of the others lower is.",
    }
    arrows = tuple(name for name in ("higher", "lower") if name in layout.options.arrows)
    if arrows:
        return words[arrows]
    lower = dict.fromkeys(layout.plain_title(item) for item in layout.items if item.direction == "lower")
    return f" Lower is better of {', '.join(lower)}." if lower else ""


def _mean_notes(results: ShownResults) -> list[str]:
    layout = results.layout
    means = [item for item in layout.items if item.measure.mean and not item.measure.compared]
    words = {
        False: "the mean of several metrics within each transcript that has all of them",
        True: "the mean of several metrics' means, each over the transcripts that have it",
    }
    titles = {way: [layout.plain_title(item) for item in means if item.measure.of_means == way] for way in words}
    return [f"{', '.join(titles[way])}: {said}." for way, said in words.items() if titles[way]]


def _reference_notes(results: ShownResults) -> list[str]:
    """What is held against the reference corpus, and what it is."""
    layout, references, corpus = results.layout, results.references, results.corpus
    distances = [layout.plain_title(item) for item in layout.items if item.level == "deviation"]
    near = [layout.plain_title(item) for item in layout.items if item.nearest]
    if not (distances or near or layout.options.reference):
        return []
    if corpus is None:
        return [f"{', '.join(near) or 'The reference column'}: {NO_REFERENCE}."]
    notes = [f"Reference corpus: {corpus}; means over all its transcripts, under the same raters."]
    if distances:
        notes.append(
            f"{', '.join(distances)}: distance of the mean from the mean of the reference corpus, without sign."
        )
    lacking = [
        layout.plain_title(item)
        for position, item in enumerate(layout.items)
        if (item.nearest or (layout.options.reference is not None and not item.measure.compared))
        and position not in references
    ]
    if lacking:
        notes.append(f"The reference corpus has no value by the same raters of {', '.join(lacking)}.")
    return notes


def _difference_notes(results: ShownResults) -> list[str]:
    layout = results.layout
    return [
        f"{layout.plain_title(item)}: minus that of {layout.order.system_label(item.measure.minus)}, which has none "
        "itself."
        for item in layout.items
        if item.measure.minus is not None
    ]


def _rater_notes(results: ShownResults) -> list[str]:
    """Whose ratings are shown, where a table shows of each measure those of one group of raters."""
    layout = results.layout
    if not layout.options.raters:
        return []
    groups: dict[str, dict[str, None]] = {}
    for item in layout.items:
        if item.level == "count":
            continue
        groups.setdefault(item.group, {})[layout.plain_title(item)] = None
    words = "; ".join(f"{rater_words(group)} ({', '.join(titles)})" for group, titles in groups.items())
    return [f"Rated by {words}."]


def _unshown_notes(results: ShownResults) -> list[str]:
    """Who else rated what is shown, and the systems that have values by them alone."""
    layout, measured = results.layout, results.measured
    notes = also_rated_notes((raters.title, raters.group) for raters in measured.unshown)
    lost: dict[tuple[str, str], dict[str, None]] = {}
    for raters in measured.unshown:
        for system in raters.systems:
            lost.setdefault((system, raters.group), {})[raters.title] = None
    return notes + [
        f"{layout.order.system_label(system)} has values by {rater_words(group)} alone of {', '.join(titles)}: "
        "they are not shown here."
        for (system, group), titles in lost.items()
    ]


def _interval_notes(results: ShownResults) -> list[str]:
    layout = results.layout
    if layout.options.spread != "ci":
        return []
    note = interval_note((sample, layout.items[position].level) for (position, _), sample in layout.samples.items())
    return [note] if note else []


def _people_notes(results: ShownResults) -> list[str]:
    layout = results.layout
    if any("(people)" in layout.plain_title(item) for item in layout.items):
        return ["People: ratings are averaged over the people who rated a transcript."]
    return []


def _deviation_notes(results: ShownResults) -> list[str]:
    layout, deviations = results.layout, results.deviations
    if not layout.options.deviation:
        return []
    if deviations is None:
        return ["No reference corpus is named that has these metrics, so no Δ: bedside report RUN --reference RUN2."]
    return [
        "Δ: distance of the mean from the mean of the reference corpus under the same raters.",
        f"Reference: {deviations.corpus}.",
    ]


def _dash_notes(results: ShownResults) -> list[str]:
    """Why cells hold a dash."""
    layout = results.layout
    systems = {system for _, (system, _) in layout.samples}
    reasons: dict[str, None] = {}
    for key in results.dashes:
        item, sample = layout.items[key[0]], layout.samples.get(key)
        if item.measure.words:
            reasons[f"the source has no {layout.plain_title(item)} for it"] = None
        elif sample is not None:
            reasons[sample.why or "no value"] = None
        else:
            reasons["not rated there" if key[1][0] in systems else "neither in this run nor printed as a number"] = None
    if sum(cell.text == DASH for cell in results.cells) > len(results.dashes):
        reasons["not rated there"] = None
    return [f"{DASH}: {'; '.join(reasons)}."] if reasons else []


def _empty_notes(results: ShownResults) -> list[str]:
    measured = results.measured
    titles_by_reason: dict[str, list[str]] = {}
    for title, reason in measured.empty.items():
        titles_by_reason.setdefault(reason, []).append(title)
    labelled = titles_by_reason.pop(LABELLED, [])
    said = [f"Labels, which have no mean: {', '.join(labelled)}. Tables of the kind counts show their shares."]
    listed = "; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in titles_by_reason.items())
    return [*said[: bool(labelled)], *([f"Missing for every transcript: {listed}."] if listed else [])]


NOTES = (
    Note("results.n", _count_notes),
    Note("results.ratios", _ratio_notes),
    Note("results.counted", _counted_notes),
    Note("results.means", _mean_notes),
    Note("results.best", _best_notes),
    Note("results.reference corpus", _reference_notes),
    Note("results.differences", _difference_notes),
    Note("results.raters", _rater_notes),
    Note("results.other raters", _unshown_notes),
    Note("results.intervals", _interval_notes),
    Note("results.people", _people_notes),
    Note("results.tests", lambda results: results.tests.notes()),
    Note("results.deviation", _deviation_notes),
    Note("results.warnings", lambda results: [f"Warning: {w} ({of})." for w, of in results.measured.warnings.items()]),
    Note("results.dashes", _dash_notes),
    Note("results.empty", _empty_notes),
    Note("results.left out", lambda results: [
        f"Left out: {title} ({reason})." for title, reason in results.measured.uncompared.items()
    ]),
    Note("results.codes", lambda results: code_notes(metric for metric, _, _ in results.measured.valueless)),
    Note("results.absent", lambda results: absent_notes(results.measured.absent)),
)  # fmt: skip
