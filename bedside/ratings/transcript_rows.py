"""Transcripts as rows of a run's table of them, and back."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.ratings.table_writer import TableWriter
from bedside.transcripts.transcript import Provenance, Transcript, Turn

#: Columns of a run's table of transcripts.
TRANSCRIPT_SCHEMA = pl.Schema(
    {
        "id": pl.String(),
        "system": pl.String(),
        "case_id": pl.String(),
        "language": pl.String(),
        "factors": pl.String(),
        "turns": pl.Int32(),
        "hash": pl.String(),
        "source": pl.String(),
        "content": pl.String(),
    }
)

#: Folder of the table's files in a run.
TRANSCRIPT_FOLDER = "transcripts"


def transcript_row(transcript: Transcript, *, text: bool = True) -> tuple[Any, ...]:
    """A transcript as a row for :func:`transcript_writer`: its content is bytes, or None where ``text`` is false."""
    content = transcript.to_json()
    return (
        transcript.id,
        transcript.system,
        transcript.case_id,
        transcript.language,
        orjson.dumps(transcript.factors, option=orjson.OPT_SORT_KEYS).decode(),
        len(transcript.turns),
        hashlib.sha256(content).hexdigest(),
        transcript.source,
        content if text else None,
    )


def parse_transcript(content: str | bytes, source: str = "") -> Transcript:
    """The transcript that :meth:`Transcript.to_json` wrote as ``content``."""
    data = orjson.loads(content)
    turns = tuple(
        Turn(index, turn["role"], turn["speaker"], turn["text"], turn.get("meta", {}))
        for index, turn in enumerate(data.pop("turns"))
    )
    provenance = tuple(Provenance(**item) for item in data.pop("provenance", ()))
    return Transcript(turns=turns, source=source, provenance=provenance, **data)


def transcript_writer(folder: Path) -> TableWriter:
    """What writes the transcripts of a run in ``folder``."""
    return TableWriter(TRANSCRIPT_SCHEMA, folder / TRANSCRIPT_FOLDER, batch=100, utf8=("content",))
