"""Transcripts: what a conversation is, and how files become conversations."""

from bedside.transcripts.contract import READERS
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading, read_transcripts
from bedside.transcripts.transcript import ROLE_ALIASES, ROLES, Provenance, Role, Transcript, Turn, role_of

__all__ = [
    "READERS",
    "Provenance",
    "ROLES",
    "ROLE_ALIASES",
    "ReadOptions",
    "Reading",
    "Role",
    "Transcript",
    "Turn",
    "read_transcripts",
    "role_of",
]
