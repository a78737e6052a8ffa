"""Transcripts: what a conversation is, and how files become conversations."""

from bedside.transcripts.model import ROLE_ALIASES, ROLES, Role, Transcript, Turn, role_of
from bedside.transcripts.reading import READERS, Reading, ReadOptions, read_transcripts

__all__ = [
    "READERS",
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
