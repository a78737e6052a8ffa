"""The tables of an export with what each column holds, and ratings as the meta of a ConvoKit corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from bedside.judges.store import FILE_NAME, read_judgements, read_prompt
from bedside.metrics import FAMILIES
from bedside.ratings.names import (
    is_algorithm,
    is_human,
    is_judge,
    is_jury,
    is_turn,
    judge_rater,
    rates_pair,
    second_id,
    turn_index,
)
from bedside.ratings.table import COLUMNS, TableWriter
from bedside.reports.exports.exported_study import ORIGINS, ExportedStudy
from bedside.reports.tables.rubrics import known_rubric
from bedside.scoring.plan import families_by_metric
from bedside.transcripts.convokit_corpus import RATINGS_KEY, REASONS_KEY
from bedside.transcripts.transcript import provenance_data

if TYPE_CHECKING:
    from convokit import Corpus


# -- The tables of an export ----------------------------------------------------------------------------

#: Rows of a large table that are in memory at once.
_BATCH = 20_000
#: Begins the name of a factor's column.
FACTOR = "factor."


@dataclass(frozen=True, slots=True)
class StudyTable:
    """A table of an export.

    Attributes:
        name: of the table.
        holds: what a row is, as a sentence's part.
        columns: what each column holds.
        rows: the table, unread where it is large; it lasts as long as the folder that :func:`study_tables` was given.
    """

    name: str
    holds: str
    columns: Mapping[str, str]
    rows: pl.LazyFrame

    def count(self) -> int:
        """How many rows it has."""
        return int(self.rows.select(pl.len()).collect().item())


def rater_kind(rater: str) -> str:
    """What kind of rater one is: ``human``, ``judge``, ``jury``, ``algorithm``, or ``other``."""
    kinds = {"human": is_human, "judge": is_judge, "jury": is_jury, "algorithm": is_algorithm}
    return next((kind for kind, is_kind in kinds.items() if is_kind(rater)), "other")


def study_tables(study: ExportedStudy, scratch: Path) -> tuple[StudyTable, ...]:
    """The tables of a study.

    Args:
        study: the study.
        scratch: an empty folder for what doesn't fit in memory.

    Raises:
        RunError: the run is damaged.
    """
    tables = [_ratings(study), _metrics(study)]
    if study.text:
        tables += _conversations(study, scratch)
    else:
        tables.append(_transcripts(study, None))
    if study.judgements:
        tables.append(_judgements(study, scratch))
    return tuple(tables)


def _ratings(study: ExportedStudy) -> StudyTable:
    ratings = study.ratings()
    kinds = {rater: rater_kind(rater) for rater in ratings["rater"].unique().to_list()}
    columns = {name: holds for name, (_, holds) in COLUMNS.items()}
    return StudyTable(
        "ratings",
        "a value or label that one rater gives one unit of a transcript for one metric",
        {
            **columns,
            "rater_kind": "`human`, `judge` (a language model), `jury` (raters together), `algorithm` or `other`",
        },
        ratings.with_columns(pl.col("rater").replace(kinds).alias("rater_kind")).lazy(),
    )


def _metrics(study: ExportedStudy) -> StudyTable:
    """Everything that is rated, the preferences between transcripts too."""
    ratings, view = study.run.ratings, study.view
    counts = ratings.group_by("metric").agg(pl.len(), pl.col("error").count()).sort("metric")
    rows = []
    for name, count, missing in counts.iter_rows():
        facts = view.facts(name)
        scale = view.scales.get(name)
        levels = scale.level_texts() if scale is not None else list(facts.labels)
        rows.append((
            name, facts.title, _definition(study, name), ", ".join(levels) or None, facts.low, facts.high,
            None if facts.direction == "none" else facts.direction, count, missing,
        ))  # fmt: skip
    columns: dict[str, tuple[pl.DataType, str]] = {
        "metric": (pl.String(), "as in the ratings"),
        "title": (pl.String(), "in words"),
        "definition": (pl.String(), "what is computed or asked; null where bedside doesn't know the metric"),
        "levels": (pl.String(), "the levels or labels that can be given; null where any number can"),
        "low": (pl.Float64(), "the lowest value there can be; null where that is open"),
        "high": (pl.Float64(), "the highest value there can be; null where that is open"),
        "better": (pl.String(), "`higher` or `lower`; null where neither is better"),
        "ratings": (pl.Int64(), "how many ratings there are, those included that are missing"),
        "missing": (pl.Int64(), "how many of them have an error in place of a value or label"),
    }
    frame = pl.DataFrame(rows, schema={name: kind for name, (kind, _) in columns.items()}, orient="row")
    return StudyTable(
        "metrics", "a metric, rubric or code", {name: holds for name, (_, holds) in columns.items()}, frame.lazy()
    )


def _definition(study: ExportedStudy, name: str) -> str | None:
    base = name.partition(".")[0]
    rubric = None if study.view.facts(name).defined else known_rubric(study.view, base)
    if rubric is not None:
        return rubric.definition
    family = families_by_metric().get(base)
    metrics = () if family is None else FAMILIES.load(family).metrics
    return next((metric.definition for metric in metrics if metric.name == base), None)


def _transcripts(study: ExportedStudy, references: pl.DataFrame | None) -> StudyTable:
    """The transcripts without what was said; with what is known outside of it, where that is given away."""
    factors = study.run.factors
    named = factors.rename({name: f"{FACTOR}{name}" for name in factors.columns[1:]})
    frame = (
        study.run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id", "language", "turns")
        .join(study.origins, on="transcript_id", how="left", maintain_order="left")
        .join(named, on="transcript_id", how="left", maintain_order="left")
    )
    columns = {
        "transcript_id": "the id, by which the other tables name it",
        "system": COLUMNS["system"][1],
        "case_id": COLUMNS["case_id"][1],
        "language": "BCP 47 tag; null where the source doesn't say",
        "turns": "how many turns it has",
        "origin": f"{', '.join(f'`{origin}`' for origin in ORIGINS)}; null where it is not known",
        **dict.fromkeys(named.columns[1:], "an experimental factor, as text"),
    }
    if references is not None:
        frame = frame.join(references, on="transcript_id", how="left", maintain_order="left")
        columns["reference"] = (
            "what is known outside of the dialogue (background, goal, hidden concerns, diagnosis …), as JSON"
        )
        if frame["provenance"].null_count() < frame.height:
            columns["provenance"] = (
                "system messages and calls of tools, each with the turn it stands before, as JSON; null without any"
            )
    return StudyTable("transcripts", "a conversation", columns, frame.select(list(columns)).lazy())


def _conversations(study: ExportedStudy, scratch: Path) -> Iterator[StudyTable]:
    """The transcripts, and what was said in them."""
    of_turns: dict[str, tuple[pl.DataType, str]] = {
        "transcript_id": (pl.String(), "the transcript"),
        "turn": (pl.Int32(), "position from 0; the unit `turn:3` of a rating is the turn 3"),
        "role": (pl.String(), "`clinician`, `patient` or `other`"),
        "speaker": (pl.String(), "the speaker's name as in the source"),
        "text": (pl.String(), "what was said"),
        "meta": (pl.String(), "anything else known of the turn (stage, time, people's codes …), as JSON"),
    }
    turns = TableWriter(pl.Schema({name: kind for name, (kind, _) in of_turns.items()}), scratch / "turns", _BATCH)
    references: list[tuple[str, str, str | None]] = []
    for transcript in study.transcripts():
        provenance = list(map(provenance_data, transcript.provenance))
        references.append((transcript.id, _json(transcript.reference), _json(provenance) if provenance else None))
        for turn in transcript.turns:
            turns.add((transcript.id, turn.index, turn.role, turn.speaker, turn.text, _json(turn.meta)))
    schema = dict.fromkeys(("transcript_id", "reference", "provenance"), pl.String())
    yield _transcripts(study, pl.DataFrame(references, schema=schema, orient="row"))
    yield StudyTable(
        "turns", "a turn of a conversation", {name: holds for name, (_, holds) in of_turns.items()}, turns.result()
    )


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _judgements(study: ExportedStudy, scratch: Path) -> StudyTable:
    columns: dict[str, tuple[pl.DataType, str]] = {
        "rater": (pl.String(), "the judge, as in the ratings"),
        "transcript_id": (pl.String(), "the transcript that was asked about"),
        "unit": (pl.String(), "the unit, as in the ratings; several turns asked about at once have one judgement"),
        "rubric": (pl.String(), "the rubric"),
        "version": (pl.String(), "of the rubric's wording"),
        "replicate": (pl.Int32(), "number of the pass, from 0"),
        "parameters": (pl.String(), "of sampling, as JSON"),
        "state": (pl.String(), "what became of it, such as `answered` or `failed`"),
        "prompt": (pl.String(), "what the judge was asked; null where the run didn't keep it"),
        "replies": (pl.String(), "everything it replied, as a JSON list; more than one where it was asked again"),
        "answer": (pl.String(), "what the last reply was read as, as JSON; null where it couldn't be read"),
        "error": (pl.String(), "why there is no answer; null where there is one"),
        "input_tokens": (pl.Int64(), "tokens of what was asked; null where the provider doesn't say"),
        "output_tokens": (pl.Int64(), "tokens of what was replied; null where the provider doesn't say"),
    }
    schema = pl.Schema({name: kind for name, (kind, _) in columns.items()})
    store = study.run.path / FILE_NAME
    writer = TableWriter(schema, scratch / "judgements", _BATCH)
    for judgement in read_judgements(store):
        writer.add((
            judge_rater(judgement.model), judgement.transcript, judgement.unit, judgement.rubric,
            judgement.version, judgement.number, judgement.parameters, judgement.state,
            read_prompt(store, judgement.prompt), _json(judgement.replies),
            None if judgement.answer is None else _json(judgement.answer), judgement.error,
            judgement.input_tokens, judgement.output_tokens,
        ))  # fmt: skip
    return StudyTable(
        "judgements",
        "what a judge was asked once, and replied",
        {name: holds for name, (_, holds) in columns.items()},
        writer.result(),
    )


# -- Ratings as the meta of a ConvoKit corpus -----------------------------------------------------------
# Under :data:`~bedside.transcripts.convokit_corpus.RATINGS_KEY` a conversation, or an utterance where a turn was
# rated, has ``{metric: {rater: value or label}}``, with None where a rating is missing; under ``REASONS_KEY`` it has
# what raters wrote, and why ratings are missing, in the same way. A rater who rated several times (passes, rounds,
# against several other conversations) says so after the name: ``judge:gpt-5 pass 1``, ``human:anna round main``,
# ``human:anna against b-2``.


def add_ratings(corpus: Corpus, ratings: pl.DataFrame) -> None:
    """Put ratings into the meta of a corpus of transcripts; those of transcripts that it doesn't have are left out.

    Args:
        corpus: as :func:`bedside.to_convokit` makes it; it is changed.
        ratings: with the columns of a run's.
    """
    conversations = set(corpus.get_conversation_ids())
    utterances = set(corpus.get_utterance_ids())
    for transcript, unit, metric, rater, value, reason in _answers(ratings):
        if transcript not in conversations:
            continue
        rated = corpus.get_conversation(transcript)
        if is_turn(unit):
            name = f"{transcript}#{turn_index(unit)}"
            if name not in utterances:
                continue
            rated = corpus.get_utterance(name)
        for key, entry in ((RATINGS_KEY, value), (REASONS_KEY, reason)):
            if key == REASONS_KEY and entry is None:
                continue
            # A corpus tells of a changed meta only where the whole value is set.
            by_metric = rated.meta.get(key) or {}
            by_metric.setdefault(metric, {})[rater] = entry
            rated.meta[key] = by_metric


def _answers(ratings: pl.DataFrame) -> Iterator[tuple[str, str, str, str, Any, str | None]]:
    """Transcript, unit, metric, rater as it is called there, value or label, and reason or error of each rating."""
    several = ratings.group_by("metric", "rater").agg(
        (pl.col("replicate").max() > 0).alias("passes"), (pl.col("round").n_unique() > 1).alias("rounds")
    )
    table = ratings.join(several, on=["metric", "rater"], maintain_order="left").with_columns(
        rates_pair().alias("pair")
    )
    for row in table.iter_rows(named=True):
        name = row["rater"] + (f" pass {row['replicate']}" if row["passes"] else "")
        name += f" round {row['round']}" if row["rounds"] and row["round"] else ""
        name += f" against {second_id(row['unit'])}" if row["pair"] else ""
        value = row["value"] if row["label"] is None else row["label"]
        reason = row["reason"] if row["error"] is None else row["error"]
        yield row["transcript_id"], row["unit"], row["metric"], name, value, reason
