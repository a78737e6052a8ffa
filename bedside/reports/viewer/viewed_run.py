"""A run as it is looked at: its list of transcripts, filtered and sorted, and what the page is given of one.

Each question is a lazy query on the run's tables; what was asked once is kept until the run changes. Of transcripts the
list holds all but what was said.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import orjson
import polars as pl

from bedside.analysis.case_values import mean_in_group
from bedside.analysis.metric_facts import facts
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import quiet
from bedside.judges.rubrics.rubric_files import own_rubrics
from bedside.ratings.names import (
    TRANSCRIPT,
    is_algorithm,
    is_human,
    is_judge,
    is_jury,
    is_pair,
    is_turn,
    pair_unit,
    rated_by_algorithms,
    rated_by_juries,
    second_id,
    turn_index,
)
from bedside.ratings.run import Run, run_simulations
from bedside.ratings.run_folder import MANIFEST
from bedside.ratings.table import TRANSCRIPT_FOLDER, parse_transcript
from bedside.transcripts.transcript import Transcript

# -- What is wanted of the list of transcripts ----------------------------------------------------------

#: What the list can be sorted by, beside factors.
SORTS = ("id", "system", "case", "turns", "value", "missing", "differ", "flagged")
#: What names of factors begin with in addresses.
FACTOR = "factor."


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which transcripts are wanted, and in which order.

    Attributes:
        text: what their id, system or case contains, whatever its case.
        systems, cases: any of these; an empty text stands for none.
        factors: factor → any of these levels; an empty text stands for none.
        metric: whose values stand in the list.
        rater: whose ratings count; only transcripts that they rated.
        least, most: bounds of the metric's value, both included.
        labels: any of these is among the metric's labels.
        missing: only those with a rating that is missing.
        differ: only those on which raters differ.
        flagged: only those with a rating at a level at which a transcript fails.
        sort: one of :data:`SORTS`, or a factor after :data:`FACTOR`; the run's order where it is empty. What has
            nothing there comes last.
        descending: from the greatest.
    """

    text: str = ""
    systems: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    metric: str | None = None
    rater: str | None = None
    least: float | None = None
    most: float | None = None
    labels: tuple[str, ...] = ()
    missing: bool = False
    differ: bool = False
    flagged: bool = False
    sort: str = ""
    descending: bool = False


def read_query(pairs: Iterable[tuple[str, str]]) -> ListQuery:
    """What names and values of an address ask for; names that mean nothing here are left alone.

    Raises:
        InputError: a bound is no number, or the list can't be sorted so.
    """
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    sort = values.get("sort", [""])[-1]
    descending = sort.startswith("-")
    sort = sort.removeprefix("-")
    if sort and sort not in SORTS and not sort.startswith(FACTOR):
        raise InputError(f"the list can't be sorted by {sort!r}", todo=f"sort by {', '.join(SORTS)}")
    return ListQuery(
        text=values.get("q", [""])[-1].strip(),
        systems=tuple(values.get("system", ())),
        cases=tuple(values.get("case", ())),
        factors=tuple(
            (name.removeprefix(FACTOR), tuple(levels)) for name, levels in values.items() if name.startswith(FACTOR)
        ),
        metric=values.get("metric", [""])[-1] or None,
        rater=values.get("rater", [""])[-1] or None,
        least=_number(values, "from"),
        most=_number(values, "to"),
        labels=tuple(values.get("label", ())),
        missing="missing" in values,
        differ="differ" in values,
        flagged="flagged" in values,
        sort=sort,
        descending=descending,
    )


def _number(values: dict[str, list[str]], name: str) -> float | None:
    text = values.get(name, [""])[-1].strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{text!r} is not a number", where=name, todo="write it with figures, as 3.5") from error


# -- A run as it is looked at ---------------------------------------------------------------------------

T = TypeVar("T")
#: Rows of a page of the list.
PAGE_ROWS = 100
#: A factor of more levels than this is searched for by what is typed.
_MOST_LEVELS = 60
#: Labels of a metric that are offered.
_MOST_LABELS = 60
#: Raters whose values stand side by side in the list.
_MOST_RATERS = 6
#: Answers of queries that are kept: each may have a row for every transcript.
_MOST_KEPT = 24
#: What is less apart than this doesn't differ: means of passes are rounded.
_ALIKE = 1e-9
#: What comes of reading a table that is damaged, or was removed meanwhile.
_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


class NoSuchTranscriptError(BedsideError):
    """A transcript that the run doesn't have."""


class ViewedRun:
    """A run that is looked at, for one thread at a time; it is read anew once it has changed.

    Args:
        path: its folder.
        only: the ids of the transcripts that are looked at, as if the run had no others; all without it.

    Raises:
        RunError: it is no run, or damaged.
    """

    def __init__(self, path: Path, only: Collection[str] | None = None) -> None:
        self.path = path
        self._only = None if only is None else pl.LazyFrame({"id": list(only)}, schema={"id": pl.String()})
        self._open()

    def _open(self) -> None:
        self.run: Run = Run(self.path)
        self._stamp = self._stamped()
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        for name in ("index", "overview", "_names"):
            self.__dict__.pop(name, None)

    def _stamped(self) -> tuple[tuple[int, int], ...]:
        try:
            states = [(self.path / name).stat() for name in (MANIFEST, "ratings.parquet")]
        except OSError as error:
            raise RunError(
                "the run is not there any more", where=str(self.path), todo="put it back, or end this"
            ) from error
        return tuple((state.st_mtime_ns, state.st_size) for state in states)

    def version(self) -> str:
        """What tells the run as it is now from what it was; where it has changed, it is read anew.

        Raises:
            RunError: it isn't there any more, or damaged.
        """
        if self._stamped() != self._stamp:
            self._open()
        return hashlib.sha256(repr(self._stamp).encode()).hexdigest()[:12]

    # -- what there is ------------------------------------------------------------------------------

    @cached_property
    def index(self) -> pl.DataFrame:
        """One row a transcript, in the run's order: ``row``, ``id``, ``system``, ``case_id``, ``language``, ``turns``,
        ``file`` (where it stands), and each factor under its name after ``factor.``, as text."""
        self.run.check_file(TRANSCRIPT_FOLDER)
        with self._sound(TRANSCRIPT_FOLDER):
            files = sorted((self.path / TRANSCRIPT_FOLDER).glob("*.parquet"))
            rows = self.run.current(TRANSCRIPT_FOLDER, pl.scan_parquet(files, include_file_paths="file")).select(
                "id", "system", "case_id", "language", "turns", "factors", "file"
            )
            if self._only is not None:
                rows = rows.join(self._only, on="id", how="semi", maintain_order="left")
            table = rows.collect().with_row_index("row")
            factors = _factor_columns(table["factors"])
        return table.drop("factors").with_columns(factors)

    @property
    def factors(self) -> list[str]:
        """The names of all factors."""
        return [name.removeprefix(FACTOR) for name in self.index.columns if name.startswith(FACTOR)]

    def factor(self, name: str) -> pl.Series:
        """The level of a factor that each transcript has, in the run's order."""
        return self.index[f"{FACTOR}{name}"]

    def _ratings(self) -> pl.LazyFrame:
        """The ratings of the transcripts that are looked at, unread."""
        table = self.run.scan()
        if self._only is not None:
            table = table.join(self._only, left_on="transcript_id", right_on="id", how="semi")
        return table

    @cached_property
    def overview(self) -> dict[str, Any]:
        """What there is to choose from, and how much of it."""
        counts = self._counts()
        index = self.index
        return {
            "name": self.path.resolve().name,
            "transcripts": index.height,
            "text": self.run.keeps_text,
            "systems": _counts(index["system"]),
            "factors": [{"name": name, "levels": _levels(self.factor(name))} for name in self.factors],
            "metrics": self._metrics(counts),
            "raters": _raters(counts),
            "rows": PAGE_ROWS,
        }

    def _counts(self) -> pl.DataFrame:
        """How many ratings there are of each metric by each rater, and how many of them are missing."""
        query = self._ratings().group_by("metric", "rater").agg(
            pl.len().alias("n"),
            pl.col("error").count().alias("missing"),
            (pl.col("unit") != TRANSCRIPT).any().alias("parts"),
            pl.col("value").min().alias("least"), pl.col("value").max().alias("most"),
        )  # fmt: skip
        labels = (
            self._ratings().filter(pl.col("label").is_not_null())
            .group_by("metric").agg(pl.col("label").unique().sort().head(_MOST_LABELS).alias("labels"))
        )  # fmt: skip
        joined = query.join(labels, on="metric", how="left")
        return self._collected(joined.sort("metric", "rater"))

    def _metrics(self, counts: pl.DataFrame) -> list[dict[str, Any]]:
        rubrics = own_rubrics(self.run)
        described = []
        for (name,), rows in counts.group_by("metric", maintain_order=True):
            given = (rows["least"].min(), rows["most"].max())
            known = facts(str(name), rubrics, {level for level in given if level is not None})
            described.append((
                known,
                {
                    "name": name, "title": known.title, "group": known.group,
                    "direction": known.direction, "digits": known.digits,
                    "fails_at": known.fails_at,
                    "labels": [] if rows["labels"][0] is None else rows["labels"][0].to_list(),
                    "parts": bool(rows["parts"].any()), "n": rows["n"].sum(), "missing": rows["missing"].sum(),
                    "raters": sorted(rows["rater"], key=_rater_order),
                },
            ))  # fmt: skip
        # What a family defines stands in its order, and after what was rated by rubrics or brought along.
        described.sort(key=lambda entry: (entry[0].defined, "" if entry[0].defined else entry[0].group,
                                          entry[0].order, entry[0].name))  # fmt: skip
        return [entry for _, entry in described]

    def metric(self, name: str) -> dict[str, Any] | None:
        """What the overview says of a metric; None where nothing is rated by it."""
        return next((metric for metric in self.overview["metrics"] if metric["name"] == name), None)

    # -- what the ratings say of each transcript --------------------------------------------------------

    def values(self, metric: str, rater: str | None = None) -> pl.DataFrame:
        """What each transcript has of a metric: ``id``, ``value``, ``labels`` with ``counts``, the most frequent first.

        The value is the mean: of a rater's passes and rounds, then of the units, then of the raters. Juries, which only
        join others' ratings, count where they alone rated.

        Args:
            metric: the metric.
            rater: whose ratings count; all, unless one is named.
        """
        return self._once(("values", metric, rater), lambda: self._values(metric, rater))

    def _values(self, metric: str, rater: str | None) -> pl.DataFrame:
        own = pl.col("metric") == metric
        if rater is not None:
            own &= pl.col("rater") == rater
        elif not all(map(is_jury, (self.metric(metric) or {"raters": []})["raters"])):
            own &= ~rated_by_juries()
        rated = self._ratings().filter(own).select("transcript_id", "unit", "rater", "value", "label")
        means = (
            rated.drop_nulls("value")
            .group_by("transcript_id", "unit", "rater").agg(mean_in_group("value"))
            .group_by("transcript_id", "rater").agg(mean_in_group("value"))
            .group_by("transcript_id").agg(mean_in_group("value"))
        )  # fmt: skip
        # The value of a preference stands beside its label and says the same.
        labels = (
            rated.drop_nulls("label")
            .group_by("transcript_id", "label").len("count")
            .sort(["count", "label"], descending=[True, False])
            .group_by("transcript_id", maintain_order=True)
            .agg(pl.col("label").alias("labels"), pl.col("count").alias("counts"))
        )  # fmt: skip
        every = rated.select("transcript_id").unique()
        joined = every.join(means, on="transcript_id", how="left").join(labels, on="transcript_id", how="left")
        return self._collected(joined.rename({"transcript_id": "id"}).sort("id"))

    def missing(self, metric: str | None = None, rater: str | None = None) -> pl.DataFrame:
        """How many ratings of each transcript are missing, as ``id`` and ``missing``; no row where none is.

        A measure that isn't defined for a transcript lacks nothing: unless a metric or an algorithm is named, those of
        algorithms don't count.
        """
        return self._once(("missing", metric, rater), lambda: self._missing(self._ratings(), metric, rater))

    def _missing(self, ratings: pl.LazyFrame, metric: str | None, rater: str | None) -> pl.DataFrame:
        chosen = pl.col("error").is_not_null()
        if metric is not None:
            chosen &= pl.col("metric") == metric
        if rater is not None:
            chosen &= pl.col("rater") == rater
        elif metric is None:
            chosen &= ~rated_by_algorithms()
        query = ratings.filter(chosen).group_by("transcript_id").len("missing")
        return self._collected(query.rename({"transcript_id": "id"}).sort("id"))

    def rated_by(self, rater: str) -> pl.DataFrame:
        """The transcripts that a rater rated, as ``id``."""
        query = self._ratings().filter(pl.col("rater") == rater).select(pl.col("transcript_id").alias("id"))
        return self._once(("rated", rater), lambda: self._collected(query.unique().sort("id")))

    def differences(self, metric: str | None = None) -> pl.DataFrame:
        """Where raters differ: ``id``, ``differ`` (how many ratings of a unit by a metric aren't the same by all who
        rated it) and ``range`` (the largest difference between two raters; null without numbers). No row where nothing
        was rated twice. Juries, which only join others' ratings, don't count as raters here.
        """

        return self._once(("differ", metric), lambda: self._differing(self._ratings(), metric))

    def _differing(self, ratings: pl.LazyFrame, metric: str | None) -> pl.DataFrame:
        if metric is not None:
            metrics = [entry for entry in self.overview["metrics"] if entry["name"] == metric]
        else:
            metrics = [
                entry for entry in self.overview["metrics"] if sum(not is_jury(rater) for rater in entry["raters"]) > 1
            ]
        # A metric at a time: memory holds the groups of one.
        parts = [self._collected(_differences(ratings, entry["name"], bool(entry["labels"]))) for entry in metrics]
        counted = pl.concat([_NO_DIFFERENCES, *parts]).group_by("id").agg(pl.col("differ").sum(), pl.col("range").max())
        # Differences by several metrics are of several scales.
        largest = pl.col("range") if metric is not None else pl.lit(None, pl.Float64()).alias("range")
        return counted.sort("id").with_columns(largest)

    def flagged(self) -> pl.DataFrame:
        """How many ratings of each transcript, by whomever, reach a level at which it fails, as ``id`` and ``flagged``;
        no row where none does."""
        return self._once(("flagged",), lambda: self._flagged(self._ratings()))

    def _flagged(self, ratings: pl.LazyFrame) -> pl.DataFrame:
        value = pl.col("value")
        fails = pl.lit(False)
        for metric in self.overview["metrics"]:
            level = metric["fails_at"]
            if level is not None:
                is_bad = value <= level if metric["direction"] == "higher" else value >= level
                fails |= (pl.col("metric") == metric["name"]) & is_bad
        query = ratings.filter(fails & ~rated_by_juries()).group_by("transcript_id").len("flagged")
        return self._collected(query.rename({"transcript_id": "id"}).sort("id"))

    # -- the list ----------------------------------------------------------------------------------------

    def chosen(self, query: ListQuery) -> pl.DataFrame:
        """The ids (``id``) of the transcripts that are wanted, in order."""
        return self._once(("list", query), lambda: self._chosen(query))

    def _chosen(self, query: ListQuery) -> pl.DataFrame:
        table = self.index.lazy().filter(*self._of_transcripts(query))
        if query.rater is not None:
            table = table.join(self.rated_by(query.rater).lazy(), on="id", how="semi")
        by = query.sort
        if query.metric is not None:
            if query.least is not None or query.most is not None or query.labels or by == "value":
                table = table.join(self.values(query.metric, query.rater).lazy(), on="id", how="left")
            if query.least is not None:
                table = table.filter(pl.col("value") >= query.least)
            if query.most is not None:
                table = table.filter(pl.col("value") <= query.most)
            if query.labels:
                table = table.filter(pl.any_horizontal(pl.col("labels").list.contains(label) for label in query.labels))
        counts: dict[str, Callable[[], pl.DataFrame]] = {
            "missing": lambda: self.missing(query.metric, query.rater),
            "differ": lambda: self.differences(query.metric),
            "flagged": self.flagged,
        }
        for name, counted in counts.items():
            if getattr(query, name) or by == name:
                table = table.join(counted().lazy(), on="id", how="left")
            if getattr(query, name):
                table = table.filter(pl.col(name) > 0)
        table = table.sort("row")
        keys = self._sort_keys(query)
        if keys:
            table = table.sort(keys, descending=query.descending, nulls_last=True, maintain_order=True)
        return table.select("id").collect()

    def _of_transcripts(self, query: ListQuery) -> Iterator[pl.Expr]:
        """What is wanted of the transcripts themselves."""
        if query.text:
            text = query.text.lower()
            yield pl.any_horizontal(
                pl.col(name).fill_null("").str.to_lowercase().str.contains(text, literal=True)
                for name in ("id", "system", "case_id")
            )
        named = {"system": query.systems, "case_id": query.cases}
        named |= {f"{FACTOR}{name}": levels for name, levels in query.factors}
        for column, values in named.items():
            if not values:
                continue
            yield (pl.col(column).fill_null("").is_in(values) if column in self.index.columns else pl.lit(False))

    def _sort_keys(self, query: ListQuery) -> list[pl.Expr]:
        """What the list is sorted by; nothing for the run's order, or where there is nothing of it."""
        name = {"case": "case_id"}.get(query.sort, query.sort)
        if name in ("id", "system", "case_id", "turns"):
            return [pl.col(name)]
        if name == "differ":
            return [pl.col("range"), pl.col("differ")]
        if name in ("missing", "flagged"):
            return [pl.col(name).fill_null(0)]
        if name == "value" and query.metric is not None:
            return [pl.col("value"), pl.col("labels").list.first()]
        if name.startswith(FACTOR) and name in self.index.columns:
            return [_as_numbers(self.index[name])]
        return []

    def page(self, query: ListQuery, start: int, rows: int = PAGE_ROWS) -> dict[str, Any]:
        """A page of the list: how many transcripts are wanted, and the rows from ``start`` on."""
        chosen = self.chosen(query)
        ids = chosen.slice(start, rows)
        return {"total": chosen.height, "start": start, "rows": self.rows(ids, query.metric, query.rater)}

    def rows(self, ids: pl.DataFrame, metric: str | None = None, rater: str | None = None) -> list[dict[str, Any]]:
        """Rows of the list for these transcripts."""
        table = ids.join(self.index.drop("row", "file"), on="id", how="left", maintain_order="left")
        # Of all transcripts only what the list is sorted or filtered by is counted.
        few = self._collected(self._ratings().filter(pl.col("transcript_id").is_in(ids["id"].to_list()))).lazy()
        table = _beside(table, self._missing(few, metric, rater))
        table = _beside(table, self._differing(few, metric))
        table = _beside(table, self._flagged(few))
        if metric is not None:
            table = _beside(table, self.values(metric, rater))
        by_rater = {}
        if metric is not None and rater is None:
            by_rater = {
                name: _beside(_beside(ids, self.values(metric, name)), self._missing(few, metric, name)).to_dicts()
                for name in self.beside(metric)
            }
        rows = []
        for number, row in enumerate(table.iter_rows(named=True)):
            rows.append({
                "id": row["id"], "system": row["system"], "case": row["case_id"], "turns": row["turns"],
                "factors": {name: row[f"{FACTOR}{name}"] for name in self.factors},
                "missing": row["missing"] or 0, "differ": row["differ"] or 0, "range": row["range"],
                "flagged": row["flagged"] or 0,
                **_said(row),
                "raters": {
                    name: {**_said(own[number]), "missing": own[number]["missing"] or 0}
                    for name, own in by_rater.items()
                },
            })  # fmt: skip
        return rows

    def beside(self, metric: str) -> list[str]:
        """The raters of a metric whose values stand side by side in the list; nobody where it has one, or too many."""
        raters: list[str] = (self.metric(metric) or {"raters": []})["raters"]
        return raters if 1 < len(raters) <= _MOST_RATERS else []

    def neighbours(self, query: ListQuery, name: str) -> dict[str, Any]:
        """Where a transcript stands in the list: ``place`` from 0, ``total``, and the ids ``before`` and ``after`` it;
        None where it isn't there."""
        ids = self.chosen(query)["id"]
        place = ids.index_of(name)
        if place is None:
            return {"place": None, "total": len(ids), "before": None, "after": None}
        return {
            "place": place,
            "total": len(ids),
            "before": ids[place - 1] if place else None,
            "after": ids[place + 1] if place + 1 < len(ids) else None,
        }

    # -- one transcript ----------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is a transcript of this id."""
        return name in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.index["id"])

    def described(self, name: str) -> dict[str, Any]:
        """A transcript's row of the index.

        Raises:
            NoSuchTranscriptError: there is none of this id.
        """
        row = self.index.filter(pl.col("id") == name)
        if row.is_empty():
            raise NoSuchTranscriptError(f"The run has no transcript {name!r}.")
        return row.row(0, named=True)

    def transcript(self, name: str) -> Transcript | None:
        """A transcript; None where the run keeps no text. Only the file that it stands in is read.

        Raises:
            NoSuchTranscriptError: there is none of this id.
            RunError: its file is damaged.
        """
        file = self.described(name)["file"]
        self.run.check_file(f"{TRANSCRIPT_FOLDER}/{Path(file).name}")
        with self._sound(TRANSCRIPT_FOLDER):
            rows = self.run.current(TRANSCRIPT_FOLDER, pl.scan_parquet(file)).filter(pl.col("id") == name)
            content, source = rows.select("content", "source").collect().row(0)
            return None if content is None else parse_transcript(content, source)

    def ratings(self, name: str) -> pl.DataFrame:
        """All ratings of a transcript, and the preferences in which it was shown second."""
        own = (pl.col("transcript_id") == name) | (pl.col("unit") == pair_unit(name))
        return self._collected(self._ratings().filter(own))

    def of_case(self, case: str | None) -> list[dict[str, Any]]:
        """The transcripts on a case: id and system."""
        if case is None:
            return []
        return self.index.filter(pl.col("case_id") == case).select("id", "system").to_dicts()

    def findings(self) -> list[str]:
        """What the whole run comes to, as its report's page begins: a sentence each, warnings last."""
        return self._once(("findings",), self._findings)

    def _findings(self) -> list[str]:
        from bedside.analysis.ratings_view import open_ratings_view
        from bedside.reports.build import answers_of
        from bedside.reports.finding_words import sentences
        from bedside.reports.report_settings import ReportSettings

        try:
            answers, _ = answers_of(open_ratings_view(Run(self.path)), ReportSettings())
        except BedsideError:  # the list is there without them
            return []
        return sentences(finding for answer in answers for finding in answer.findings)

    # -- reading -----------------------------------------------------------------------------------------

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What a question was answered, asked again only where the answer isn't kept any more."""
        if key not in self._kept:
            self._kept[key] = make()
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        value: T = self._kept[key]
        return value

    def _collected(self, query: pl.LazyFrame) -> pl.DataFrame:
        with self._sound("ratings.parquet"):
            return query.collect()

    @contextmanager
    def _sound(self, name: str) -> Iterator[None]:
        try:
            with quiet():
                yield
        except (*_DAMAGE, ValueError, LookupError, TypeError, AttributeError) as error:
            raise RunError(
                "the table is missing or damaged", where=str(self.path / name), todo="score again into a new run"
            ) from error


_NO_DIFFERENCES = pl.DataFrame(schema={"id": pl.String(), "differ": pl.UInt32(), "range": pl.Float64()})


def _differences(ratings: pl.LazyFrame, metric: str, labelled: bool) -> pl.LazyFrame:
    """Where raters differ by a metric, as :meth:`ViewedRun.differences` has it."""
    chosen = (pl.col("metric") == metric) & pl.col("error").is_null()
    rated = ratings.filter(chosen & ~rated_by_juries())
    keys = ["transcript_id", "unit", "rater"]
    # Of a rater's passes the mean counts, or the label given most often.
    by_rater = rated.group_by(keys).agg(mean_in_group("value"))
    if labelled:
        labels = (
            rated.group_by(*keys, "label").len("count")
            .sort(["count", "label"], descending=[True, False], nulls_last=True)
            .group_by(keys, maintain_order=True).agg(pl.col("label").first())
        )  # fmt: skip
        by_rater = by_rater.join(labels, on=keys)
    else:
        by_rater = by_rater.with_columns(pl.lit(None, pl.String()).alias("label"))
    units = (
        by_rater.group_by("transcript_id", "unit")
        .agg(
            pl.len().alias("raters"),
            (pl.col("value").max() - pl.col("value").min()).alias("range"),
            pl.col("label").drop_nulls().n_unique().alias("labels"),
        )
        .filter(pl.col("raters") > 1)
    )
    apart = (pl.col("labels") > 1) | (pl.col("range") > _ALIKE).fill_null(False)
    return units.group_by(pl.col("transcript_id").alias("id")).agg(
        apart.sum().cast(pl.UInt32).alias("differ"), pl.col("range").max()
    )


def _factor_columns(texts: pl.Series) -> list[pl.Series]:
    """A column for each factor, of the JSON in which transcripts have them."""
    rows = [orjson.loads(text) for text in texts]
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        pl.Series(
            f"{FACTOR}{name}", [None if (level := row.get(name)) is None else str(level) for row in rows], pl.String()
        )
        for name in sorted(names)
    ]


def _counts(values: pl.Series) -> list[dict[str, Any]]:
    """How often each value stands in a column; an empty text for none."""
    table = values.fill_null("").alias("name").value_counts(name="count").sort("name")
    return table.to_dicts()


def _raters(counts: pl.DataFrame) -> list[dict[str, Any]]:
    """Who rated, and how much: people first, algorithms last."""
    table = counts.group_by("rater").agg(pl.col("n", "missing").sum())
    raters = [
        {"name": name, "kind": rater_kind(name), "n": n, "missing": missing} for name, n, missing in table.iter_rows()
    ]
    return sorted(raters, key=lambda rater: _rater_order(rater["name"]))


def _levels(values: pl.Series) -> list[dict[str, Any]] | None:
    """The levels of a factor, numbers in their order; None where there are too many to choose from."""
    if values.n_unique() > _MOST_LEVELS:
        return None
    table = values.fill_null("").alias("name").value_counts(name="count").sort("name")
    return table.sort(_as_numbers(values, "name"), nulls_last=True, maintain_order=True).to_dicts()


def _as_numbers(values: pl.Series, name: str | None = None) -> pl.Expr:
    """A column as numbers where all of it is numbers, else as text."""
    column = pl.col(name or values.name)
    levels = values.drop_nulls()
    numeric = levels.cast(pl.Float64, strict=False).is_not_null().all()
    return column.cast(pl.Float64, strict=False) if numeric else column


def _beside(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return table.join(more, on="id", how="left", maintain_order="left")


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of a metric: the value, and the labels with how often each was given."""
    labels = zip(row.get("labels") or (), row.get("counts") or (), strict=True)
    return {"value": row.get("value"), "labels": [list(pair) for pair in labels]}


def rater_kind(rater: str) -> str:
    """What a rater is: ``person``, ``judge``, ``jury``, ``algorithm`` or ``other``."""
    kinds = {"person": is_human, "judge": is_judge, "jury": is_jury, "algorithm": is_algorithm}
    return next((kind for kind, is_kind in kinds.items() if is_kind(rater)), "other")


def _rater_order(rater: str) -> tuple[int, str]:
    kinds = ("person", "other", "jury", "judge", "algorithm")
    return kinds.index(rater_kind(rater)), rater


# -- What the page is given of one conversation ---------------------------------------------------------

#: What is told of a rating beside its unit.
_TOLD = ("metric", "rater", "replicate", "value", "label", "reason", "error", "round")


def conversation(viewed: ViewedRun, name: str) -> dict[str, Any]:
    """A conversation with its ratings, those of its turns beside them.

    Raises:
        NoSuchTranscriptError: there is none of this id.
        RunError: a table is damaged.
    """
    row = viewed.described(name)
    transcript = viewed.transcript(name)
    spoken: dict[str, Any] = {"source": None, "reference": None, "turns": None, "provenance": []}
    if transcript is not None:
        spoken = {
            "source": transcript.source,
            "reference": dict(transcript.reference),
            "turns": [
                {"role": turn.role, "speaker": turn.speaker, "text": turn.text, "meta": dict(turn.meta)}
                for turn in transcript.turns
            ],
            "provenance": [
                {key: getattr(item, key) for key in ("kind", "before", "speaker", "text")}
                for item in transcript.provenance
            ],
        }
    ratings = []
    for rating in viewed.ratings(name).iter_rows(named=True):
        unit, first = rating["unit"], rating["transcript_id"]
        content = {key: rating[key] for key in _TOLD}
        content |= {"unit": unit, "kind": rater_kind(rating["rater"]), "turn": None, "first": None, "second": None}
        if is_turn(unit):
            content["turn"] = turn_index(unit)
        elif is_pair(unit):
            content |= {"first": first, "second": second_id(unit)}
            content["there"] = all(map(viewed.has, (first, content["second"])))
        ratings.append(content)
    return {
        "id": name,
        "system": row["system"],
        "case": row["case_id"],
        "language": row["language"],
        "factors": {key.removeprefix(FACTOR): level for key, level in row.items() if key.startswith(FACTOR)},
        "count": row["turns"],
        **spoken,
        "ratings": ratings,
        "same": viewed.of_case(row["case_id"]),
        "simulated": bool(run_simulations(viewed.path)),
    }
