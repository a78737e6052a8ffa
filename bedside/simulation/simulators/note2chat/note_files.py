"""Files of notes: JSON, JSON lines, YAML or tables, as case files are read."""

from __future__ import annotations

from bedside.core.errors import InputError
from bedside.core.records import PathOrPaths, records
from bedside.simulation.simulators.note2chat.preparation import DischargeNote

_SEE = "see docs/note2chat-training.md"


def read_notes(paths: PathOrPaths) -> tuple[DischargeNote, ...]:
    """The notes of files or folders, in order.

    Raises:
        InputError: a file can't be read, a note is wrong or there twice, or there are none; file and line are named.
    """
    notes: dict[str, DischargeNote] = {}
    for record in records(paths, "file of notes"):
        note = record.to_model(DischargeNote, _SEE)
        if note.id in notes:
            raise InputError(f"the note {note.id!r} is there twice", where=record.place(("id",)), todo=_SEE)
        notes[note.id] = note
    if not notes:
        raise InputError("there are no notes", todo=_SEE)
    return tuple(notes.values())
