"""Tables with one utterance a row, AnnoMI among them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, Literal

from bedside.errors import InputError
from bedside.transcripts.model import Transcript
from bedside.transcripts.reading import Head, Reader, Source

_ANNOMI = {"interlocutor", "utterance_text", "transcript_id", "utterance_id"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    columns = next(csv.reader([head.text.partition("\n")[0]]), [])
    return "transcripts" if set(columns) >= _ANNOMI else None


def _read(source: Source) -> Iterator[Transcript]:
    held: list[tuple[str, dict[str, str]]] = []
    for where, row in source.table_rows():
        if held and held[0][1]["transcript_id"] != row["transcript_id"]:
            transcript = source.attempt(_transcript, source, held)
            if transcript is not None:
                yield transcript
            held = []
        held.append((where, row))
    if held:
        transcript = source.attempt(_transcript, source, held)
        if transcript is not None:
            yield transcript


def _transcript(source: Source, rows: list[tuple[str, dict[str, str]]]) -> Transcript:
    turns: dict[str, tuple[str, dict[str, str], dict[str, dict[str, str]]]] = {}
    for where, row in rows:
        first = turns.setdefault(row["utterance_id"], (where, row, {}))
        if first[1]["utterance_text"] != row["utterance_text"]:
            raise InputError("two texts of one utterance", where=f"{first[0]} and {where}")
        codes = _codes(row)
        if codes:
            first[2][row["annotator_id"]] = codes
    where, row = rows[0]
    return source.transcript(
        [
            source.turn(
                index, first["interlocutor"], first["utterance_text"], place,
                {"time": first["timestamp"], "codes": codes},
            )
            for index, (place, first, codes) in enumerate(turns.values())
        ],
        where,
        id=row["transcript_id"],
        system="human",
        language="en",
        factors={"mi_quality": row["mi_quality"], "topic": row["topic"].strip()},
        reference={"video_title": row["video_title"], "video_url": row["video_url"]},
    )  # fmt: skip


def _codes(row: dict[str, Any]) -> dict[str, str]:
    codes = {}
    for code in ("question", "reflection", "therapist_input"):
        if row[f"{code}_exists"] == "True":
            codes[code] = row[f"{code}_subtype"]
        elif row[f"{code}_exists"] == "False":
            codes[code] = "none"
    for code, column in (
        ("main_behaviour", "main_therapist_behaviour"),
        ("client_talk", "client_talk_type"),
    ):
        if row[column] != "n/a":
            codes[code] = row[column]
    return codes


READER = Reader(
    name="rows",
    title="one utterance a row",
    description="A table with one utterance a row.",
    example=(
        "transcript_id,utterance_id,interlocutor,utterance_text\n1,0,therapist,Hello.\n1,1,client,Hi.\n"
    ),
    example_name="utterances.csv",
    claims=_claims,
    read=_read,
    priority=60,
)
