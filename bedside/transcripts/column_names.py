"""Names of columns that are understood in tables of conversations."""

from __future__ import annotations

from collections.abc import Mapping

from bedside.transcripts.transcript import CODES
from bedside.transcripts.transcript_fields import FIELDS

#: Names of a transcript's fields that are understood as columns, in lower case.
TABLE_FIELDS: Mapping[str, tuple[str, ...]] = {
    **FIELDS,
    "id": (
        *FIELDS["id"], "session", "conversation", "dialogue", "dialog", "transcript", "encounter", "interview",
        "interview_id", "visit", "visit_id", "conv_id", "chat_id", "call_id", "file", "file_id", "filename",
        "file_name",
    ),
}  # fmt: skip
#: Names understood without a mapping, in lower case, for each of bedside's columns.
ROW_COLUMNS: dict[str, tuple[str, ...]] = {
    **TABLE_FIELDS,
    "speaker": ("speaker", "role", "interlocutor", "participant", "from", "sender", "author"),
    "text": ("text", "utterance", "utterance_text", "message", "content", "value"),
    "turn": ("turn", "turn_id", "turn_index", "utterance_id", "index"),
    "coder": ("coder", "annotator", "annotator_id", "coder_id"),
    "time": ("time", "timestamp"),
    "start": ("start", "start_time"),
    "stop": ("stop", "stop_time", "end", "end_time"),
    "stage": ("stage",),
    **{code: (code,) for code in CODES},
}  # fmt: skip
