"""What stands behind one number of a table: its record, the ratings, the definition, and the tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.findings import Finding, MeasureFinding
from bedside.analysis.label_numbers import with_shares
from bedside.analysis.metric_facts import LevelShare
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.errors import DataError, nearest
from bedside.core.files import read_json_lines
from bedside.core.json_shape import TEXT
from bedside.core.words import counted, typed
from bedside.ratings.juries import jury_named
from bedside.ratings.names import is_judge, rated_by_humans, second_ids
from bedside.ratings.rubric_metrics import adjudicated_names, is_preference, preferred_by
from bedside.ratings.run import run_simulations
from bedside.reports.columns import Block, Column, Part, grid_of, recorded, table_of
from bedside.reports.comparison_notes import VERSIONS_NOTE, with_version_notes
from bedside.reports.number_text import DASH, number, trimmed
from bedside.reports.table import Table, Tables
from bedside.reports.table_content import Row
from bedside.reports.table_notes import final_notes
from bedside.transcripts.simulation_folder import STATES, check_simulated
from bedside.transcripts.transcript import provenance_data

# -- The hidden states of simulated conversations -------------------------------------------------------

#: States shown; all are in the JSON.
SHOWN = 60
#: Longest text of a state that is shown.
_LONGEST = 160
_PLACE = ("id", "turn", "purpose")


STATE_COLUMNS = (
    recorded(dict),
    Column("Turn", text=lambda state: str(state.get("turn", DASH))),
    Column("Purpose", "left", text=lambda state: str(state.get("purpose", DASH))),
    Column("State", "left", text=lambda state: _words(state)),
)


def states_tables(view: RatingsView, transcripts: Collection[str]) -> list[Table]:
    """What the simulation knew at each turn of these transcripts; no table where none was simulated.

    Raises:
        RunError: what the run keeps of its simulations, or a simulation's file of states, is damaged.
    """
    if view.run is None:
        return []
    tables = []
    for simulation in run_simulations(view.run.path):
        file = Path(simulation.path) / STATES
        if not file.is_file():
            gone = f"They stood in {file}, which isn't there any more."
            tables.append(table_of("states", "The hidden states behind it", [], STATE_COLUMNS, notes=(gone,)))
            continue
        check_simulated(file.parent, STATES)
        states = list(_states(file, frozenset(transcripts)))
        if states:
            words = (*_unshown(states, SHOWN), f"From {file}; no rater saw them. Turns count from 0.")
            table = table_of("states", f"The {len(states):,} hidden states behind it", states, STATE_COLUMNS,
                             group=lambda state: str(state["id"]), notes=(" ".join(words),))  # fmt: skip
            tables.append(_first(table, SHOWN))
    return tables


def _first(table: Table, most: int) -> Table:
    """A table with its first rows, and all records."""
    return replace(table, rows=table.rows[:most])


def _unshown(items: Sequence[Any], most: int) -> list[str]:
    """A note on how many of what a table is about it doesn't show; none where it shows all."""
    return [f"{len(items) - most:,} more are not shown; --json has all."] if len(items) > most else []


def _states(file: Path, transcripts: Collection[str]) -> Iterator[dict[str, Any]]:
    todo = "bedside simulate with the same options writes them again"
    for _, state in read_json_lines(file, "hidden states of the simulation", {"id": TEXT}, todo=todo):
        if state["id"] in transcripts:
            yield state


def _words(state: dict[str, Any]) -> str:
    """What a state holds, as names and values in one line."""
    parts = (f"{name} {_value(value)}" for name, value in state.items() if name not in _PLACE)
    text = ", ".join(parts)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return number(value, 3)
    if isinstance(value, dict):
        return "; ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_value, value)) or DASH
    return DASH if value is None else str(value)


# -- What stands behind one number of a table -----------------------------------------------------------

#: Where a record names systems, metrics and raters.
_SYSTEMS = ("system", "a", "b", "systems", "reference")
_RATERS = ("raters", "rater", "judge", "group")
#: What may be spelt like a system's name and is none.
_NO_NAMES = ("letters",)
#: Records and texts shown; all are in the JSON.
_SHOWN_RECORDS, _SHOWN_NUMBERS = 6, 3
_SHOWN_TEXTS = 10
#: Longest text that is shown whole.
_LONGEST_TEXT = 80


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What stands behind a cell.

    Attributes:
        definitions: of the metrics concerned, Markdown.
        tables: the cell's record; the value of each transcript; the ratings themselves; what systems and tools said
            beside the conversations; the hidden states of simulated ones; the tests it is part of. Their findings are
            the numbers.
    """

    definitions: tuple[str, ...]
    tables: Tables[None]

    def __repr__(self) -> str:
        return f"Explanation({len(self.definitions)} definitions, {len(self.tables)} tables)"

    def __str__(self) -> str:
        return "\n".join((*self.definitions, *map(str, self.tables)))

    def _repr_markdown_(self) -> str:
        return str(self)


def explain(view: RatingsView, table: Table, cell: str, tests: Table | None = None) -> Explanation:
    """Everything behind one cell of a table.

    Args:
        view: the ratings.
        table: the table the cell is in.
        cell: what the cell is of, parts joined by slashes, in any order and as many as tell it apart:
            ``empathy/sysA``, ``empathy/judge:openai/gpt-5-mini/sysA``.
        tests: the table of comparisons, for the tests that the cell's metric and system are part of.

    Raises:
        DataError: no cell is of that; the nearest are given.
    """
    records = _matching(view, table, cell)
    metrics = list(dict.fromkeys(str(record["metric"]) for record in records if record.get("metric")))
    ratings = _ratings(view, records)
    tables = [with_version_notes(_records_table(_unversioned(table), cell, records), view)]
    if table.name in _OF_VALUES:
        tables += [_values_table(view, record) for record in records[:_SHOWN_RECORDS]]
    if not ratings.is_empty():
        tables.append(_ratings_table(view, ratings))
        concerned = ratings["transcript_id"].unique()
        tables += [*_provenance_tables(view, concerned), *states_tables(view, concerned)]
    if tests is not None and tests.name != table.name:
        tables += _tests_table(_unversioned(tests), records)
    kappa_first = sorted(records, key=lambda record: record.get("statistic", "kappa") != "kappa")
    found = [finding for record in kappa_first for finding in _numbers(view, record)]
    definitions = tuple(_definition(view, name) for name in metrics)
    return Explanation(definitions, Tables(tables, None, findings=found[:_SHOWN_NUMBERS]))


def _unversioned(table: Table) -> Table:
    """A table without its note on versions of judges, which is of all its metrics."""
    return replace(table, notes=tuple(text for text in table.notes if getattr(text, "id", "") != VERSIONS_NOTE))


#: Tables whose numbers are means of values of transcripts.
_OF_VALUES = ("results", "leaderboard", "level_shares")
#: Where a record has its number, with the ends of its interval.
_NUMBERS = (
    ("share_by_case", "by_case_"), ("share", ""), ("value", ""), ("difference", "difference_"), ("estimate", ""),
    ("wins", "wins_"), ("mean", ""),
)  # fmt: skip


def _share_of(record: Mapping[str, Any]) -> str | None:
    """The level whose share a record has; None of other numbers."""
    level: str | None = record["level"] if "share" in record else record.get("share_of")
    return level


def _numbers(view: RatingsView, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The number of a cell as a finding; of a share of conversations, first the mean over cases. None where its record
    has none."""
    found = [(name, ends) for name, ends in _NUMBERS if isinstance(record.get(name), float)]
    alike = record.get("n") == record.get("cases")  # a conversation each
    for name, ends in found[: 2 if "share" in record and not alike else 1] if record.get("metric") else ():
        metric, by_case = str(record["metric"]), name == "share_by_case" or "planned_cases" in record
        n = record.get("cases" if by_case else "n") or record.get("units") or record.get("rated") or 0
        of = record.get("of_cases") if name == "share_by_case" else record.get("of")
        low, high = (record.get(f"{ends}{end}") for end in ("low", "high"))
        title = str(record.get("title") or view.facts(metric).title)
        title += f": {level}" if (level := _share_of(record)) else ""
        title += f" ({record['factor']}: {record['people']})" if "share" in record and record["factor"] else ""
        figure = str(record.get("statistic") or (record.get("level") if name == "value" else name) or name)
        why = str(record.get("why_missing") or "")
        measure = MeasureFinding(metric, title, record[name], low, high, n, of, why,
                                 "mean" if name.startswith("share") else figure)  # fmt: skip
        raters = record.get("raters")
        yield Finding("number", raters if isinstance(raters, str) else "",
                      tuple(_named(record, ("system", "a", "b"))), (measure,),
                      over="cases" if by_case else "")  # fmt: skip


def tests_of(view: RatingsView, table: str, seed: int) -> Table | None:
    """The comparisons of systems, beside another table; None where nothing of theirs can be compared."""
    from bedside.reports.build import build_tables

    if table == "comparison" or len(view.systems()) < 2:
        return None
    try:
        return next(iter(build_tables(view, ["comparison"], seed)), None)
    except DataError:
        return None


# -- finding the cell -------------------------------------------------------------------------------


def _matching(view: RatingsView, table: Table, cell: str) -> list[Mapping[str, Any]]:
    """The records whose own values are the parts of ``cell``."""
    parts = cell.strip("/").casefold()
    for strict in (True, False):
        matches = [record for record in table.records if _is_of(parts, _values(view, record, strict))]
        if matches:
            return matches
    cells = dict.fromkeys(
        "/".join(str(record[name]) for name in ("metric", "system", "a", "b") if record.get(name) is not None)
        for record in table.records
    )
    raise DataError(
        f"the table {table.name!r} has no cell {cell!r}", where="`cell`", todo=nearest(cell, filter(None, cells))
    )


def _values(view: RatingsView, record: Mapping[str, Any], strict: bool) -> frozenset[str]:
    """What a record says of itself in words; not strictly, also its metric's title and name without role."""
    values = {
        value.casefold() for name, value in record.items() if isinstance(value, str) and value and name not in _NO_NAMES
    }
    if not strict and record.get("metric"):
        name = str(record["metric"])
        values |= {name.partition(".")[0].casefold(), view.facts(name).title.casefold()}
    return frozenset(values)


def _is_of(parts: str, values: frozenset[str]) -> bool:
    """Whether ``wanted`` is some of the values joined by slashes, which the values may contain too."""
    if parts in values:
        return True
    return any(parts.startswith(value + "/") and _is_of(parts[len(value) + 1 :], values - {value}) for value in values)


# -- what stands behind it --------------------------------------------------------------------------


def _named(record: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [str(record[key]) for key in keys if isinstance(record.get(key), str)]


def _ratings(view: RatingsView, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The ratings of the records' metrics, systems and raters."""
    single = pl.concat(
        [view.ratings.with_columns(pl.lit(False).alias("final")), view.final.with_columns(pl.lit(True).alias("final"))]
    ).with_columns(pl.lit(None, pl.String()).alias("second"))
    pairs = _with_second(view).with_columns(pl.lit(False).alias("final")).select(single.columns)
    rated = pl.concat([single, pairs])
    known_systems = set(view.systems()) | set(rated["system"]) | set(rated["second"])
    known_raters = set(rated["rater"])
    concerned = pl.lit(False)
    for record in records:
        if not record.get("metric"):
            if record.get("transcript") and record.get("rubrics"):
                own = pl.col("metric").is_in(_parts([str(record["rubrics"])]))
                concerned |= own & (pl.col("transcript_id") == record["transcript"])
            continue
        of_record = pl.col("metric") == str(record["metric"])
        systems = [name for name in _parts(_named(record, _SYSTEMS)) if name in known_systems]
        if systems:
            preferred = is_preference(str(record["metric"]))
            of_record &= _compared(record, systems) if preferred else pl.col("system").is_in(systems)
        groups = _parts(_named(record, _RATERS))
        raters = [name for name in groups if name in known_raters]
        raters += [member for name in raters for member in _members(view, name) if member in known_raters]
        people = PEOPLE in groups
        if raters or people:
            by = pl.col("rater").is_in(raters)
            of_record &= by | rated_by_humans() if people else by
        concerned |= of_record
    keys = ("metric", "system", "transcript_id", "unit", "rater", "replicate")
    settled = adjudicated_names()
    named = pl.when("final").then(settled).otherwise("metric").alias("metric")
    return rated.filter(concerned).with_columns(named).drop("second", "final").sort(*keys, nulls_last=True)


def _compared(record: Mapping[str, Any], systems: Sequence[str]) -> pl.Expr:
    """The preferences that a record is of: of one system, all in which it was compared; else those between systems."""
    system = record.get("system")
    if system is not None:
        return pl.any_horizontal(pl.col("system") == system, pl.col("second") == system)
    return pl.all_horizontal(pl.col("system").is_in(systems), pl.col("second").is_in(systems))


def _with_second(view: RatingsView) -> pl.DataFrame:
    """The preferences, with the system whose conversation was shown second as ``second``."""
    shown = view.preferences.with_columns(second_ids().alias("second_id"))
    every = pl.concat([view.transcripts(), shown.select("transcript_id", "system", "case_id")])
    systems = every.unique("transcript_id").select(
        pl.col("transcript_id").alias("second_id"), pl.col("system").alias("second")
    )
    return shown.join(systems, on="second_id", how="left", maintain_order="left").drop("second_id")


def _members(view: RatingsView, rater: str) -> tuple[str, ...]:
    """Whose ratings a jury's are made of; nobody's of another rater."""
    jury = None if view.run is None else jury_named(view.run.manifest, rater)
    return () if jury is None else jury.members


def _parts(texts: Iterable[str]) -> list[str]:
    """Names that stand alone or in a list with commas."""
    return [part for text in texts for part in dict.fromkeys([text, *text.split(", ")])]


def _definition(view: RatingsView, metric: str) -> str:
    """A metric's or rubric's own facts."""
    from bedside.judges.rubrics.description import describe
    from bedside.judges.rubrics.rubric_files import RUBRICS
    from bedside.metrics import FAMILIES
    from bedside.metrics.description import describe_metric
    from bedside.scoring.plan import families_by_metric

    base = metric.partition(".")[0]
    owners = families_by_metric()
    if base in owners:
        return describe_metric(FAMILIES.load(owners[base]), base)
    if is_preference(metric):
        of_rubric = _definition(view, preferred_by(metric))
        return f"{of_rubric}\n\nWhich of two conversations is better by it (`{metric}`): see docs/pairwise.md."
    if metric in view.rubrics:
        return describe(view.rubrics[metric])
    if metric in RUBRICS:
        return describe(RUBRICS.load(metric))
    title = view.facts(metric).title
    return f"### {title} (`{metric}`)\n\nRatings brought by the user; bedside knows no definition of it."


def _records_table(table: Table, cell: str, records: Sequence[Mapping[str, Any]]) -> Table:
    """What records hold, name by name; a record's number stands over it where there are several."""
    shown = records[:_SHOWN_RECORDS]
    rows = [
        Part(str(number) if len(shown) > 1 else None, entry)
        for number, record in enumerate(shown, 1)
        for entry in record.items()
        if entry[1] is not None and entry[1] != ""
    ]
    columns = Block((
        Column("", "left", text=lambda row: row.part[0].replace("_", " ")),
        Column("", "left", text=lambda row: _text(row.part[1])),
    ))  # fmt: skip
    more = [f"{len(records):,} cells are of {cell}; the first {len(shown)} are shown."]
    notes = (*(more if len(records) > len(shown) else []), *table.notes)
    title = f"{cell} in the table “{table.title}”"
    explained = grid_of("cell", title, rows, (columns,), group=lambda row: row.whole, notes=notes)
    return replace(explained, records=tuple(records))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


VALUE_COLUMNS = (
    recorded(dict),
    Column("Transcript", "left", value=itemgetter("transcript_id")),
    Column("Value", value=itemgetter("value"), form=lambda value: number(value, 4)),
    Column("Missing because", "left", text=lambda entry: entry["error"] or ""),
)


def _values_table(view: RatingsView, record: Mapping[str, Any]) -> Table:
    """The value of each transcript that a mean is of, and the arithmetic."""
    metric, level = str(record["metric"]), _share_of(record)
    if level is not None:
        view = with_shares(view, {metric: LevelShare(level, "higher")})
    if record.get("factor"):
        view = view.where({record["factor"]: (record["people"],)})
    values = view.transcript_values([metric]).sort("transcript_id")
    if record.get("raters") is not None:
        values = values.filter(pl.col("group") == str(record["raters"]))
    if record.get("system") in set(view.systems()):
        values = values.filter(pl.col("system") == str(record["system"]))
    rated = values.drop_nulls("value")
    total, n = float(rated["value"].sum()), rated.height
    sums = f"{n:,} values; {values.height - n:,} missing, which count in neither sum nor n."
    if n:
        sums = f"Mean = sum / n = {total:.6g} / {n} = {total / n:.6g}. " + sums
    if n > 1:
        sums += f" Standard deviation with n − 1: {rated['value'].std(ddof=1):.6g}."
    if n and "cases" in record:
        means = rated.with_columns(own_case()).group_by("case").agg(pl.col("value").mean())["value"]
        sums += f" Each case counts once: the mean of {counted(means.len(), 'case')} is {means.to_numpy().mean():.6g}."
    title = f"{view.facts(metric).title}, {record.get('system', 'all')}: one value a transcript"
    final = final_notes(view, [metric]) if record.get("raters") == PEOPLE else ()
    return table_of("values", title, values.to_dicts(), VALUE_COLUMNS,
                    notes=(sums, "Passes and, among people, raters are averaged first.", *final))  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _rating(rating: Mapping[str, Any]) -> str:
    if rating["error"] is not None:
        return DASH
    return str(rating["label"]) if rating["label"] is not None else trimmed(number(rating["value"], 4))


#: What is recorded of a rating.
_RATED = ("metric", "system", "transcript_id", "unit", "rater", "replicate", "value", "label", "reason", "error")
RATING_COLUMNS = (
    recorded(dict),
    Column("Metric", "left", value=itemgetter("metric")),
    Column("Transcript", "left", value=itemgetter("transcript_id"), brief=True),
    Column("Unit", "left", value=itemgetter("unit"), brief=True),
    Column("Rater", "left", value=itemgetter("rater"), brief=True),
    Column("Pass", value=itemgetter("replicate"), form=str),
    Column("Value", text=_rating, brief=True),
    Column("Reason", "left", text=lambda rating: _cut(rating["error"] or rating["reason"] or "")),
)


def _ratings_table(view: RatingsView, ratings: pl.DataFrame) -> Table:
    rated = ratings.select(_RATED).to_dicts()
    notes = []
    if view.run is not None and any(map(is_judge, ratings["rater"].unique())):
        notes.append(f"What a judge was asked and replied: bedside judge answers list {typed(view.run.path)}.")
    return table_of("ratings", f"The {len(rated):,} ratings behind it", rated, RATING_COLUMNS,
                    group=itemgetter("system"), notes=notes)  # fmt: skip


#: Of texts, each with the transcripts that it stands in.
PROVENANCE_COLUMNS = Block((
    Column("Kind", "left", text=lambda entry: entry[0][0]),
    Column("Text", "left", text=lambda entry: _cut(" ".join(entry[0][1].split()))),
    Column("Transcripts", value=lambda entry: len(entry[1])),
))  # fmt: skip


def _provenance_tables(view: RatingsView, transcripts: Collection[str]) -> list[Table]:
    """What systems and tools said beside these transcripts, each text once and cut short; no table where nothing did.

    The records have each text whole, wherever it stands.
    """
    if view.run is None or not view.run.keeps_text:
        return []
    records = [
        {"transcript_id": transcript.id, **provenance_data(item)}
        for transcript in view.run.transcripts_named(transcripts)
        for item in transcript.provenance
    ]
    if not records:
        return []
    standing: dict[tuple[str, str], set[str]] = {}
    for record in records:
        standing.setdefault((record["kind"], record["text"]), set()).add(record["transcript_id"])
    texts = list(standing.items())
    title = f"The {counted(len(texts), 'text')} of systems and tools beside these conversations"
    notes = (*_unshown(texts, _SHOWN_TEXTS), f"They are no turns. Whole: bedside view {typed(view.run.path)}.")
    table = grid_of("provenance", title, texts[:_SHOWN_TEXTS], (PROVENANCE_COLUMNS,), notes=notes)
    return [replace(table, records=tuple(records))]


def _tests_table(tests: Table, records: Sequence[Mapping[str, Any]]) -> list[Table]:
    """The comparisons that the cell's metric and system are part of."""
    keys = {(str(record.get("metric")), record["system"]) for record in records if record.get("system")}
    positions = [
        position
        for position, record in enumerate(tests.records)
        if any(metric == record["metric"] and system in (record["a"], record["b"]) for metric, system in keys)
    ]
    if not positions or len(tests.records) != len(tests.rows):
        return []
    rows = tuple(_renumbered(tests.rows[position], record) for record, position in enumerate(positions))
    records = tuple(tests.records[position] for position in positions)
    return [Table("tests", "Tests it is part of", tests.columns, rows, tests.notes, records)]


def _renumbered(row: Row, record: int) -> Row:
    """The row of a table whose records stand at other positions: its numbers are all of this one."""
    return replace(
        row, cells=tuple(cell if cell.record is None else replace(cell, record=record) for cell in row.cells)
    )
