"""Notes below tables and figures: entries of a catalogue, each of which says when it holds and what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: What a note says of a table's rows: sentences, none where it doesn't hold.
Saying = Callable[[Any], Iterable[str]]


class NoteText(str):
    """A note as it stands below a table.

    Attributes:
        id: of the entry that it was made from; empty of a sentence of a suite's or a file's own.
        about: the columns whose numbers it is about; all where empty.
        warns: whether it holds of this answer alone and changes how it is read, so that it stands beside it.
    """

    __slots__ = ("about", "id", "warns")

    id: str
    about: tuple[str, ...]
    warns: bool

    def __new__(cls, text: str, id: str = "", about: tuple[str, ...] = (), *, warns: bool = False) -> NoteText:
        note = super().__new__(cls, text)
        note.id, note.about, note.warns = id, about, warns
        return note


@dataclass(frozen=True, slots=True)
class Note:
    """An entry of the catalogue.

    Attributes:
        id: the table, and what is said: ``estimate.weight``.
        says: the sentence, where it always stands; or what makes sentences of what a table shows, where it holds.
        about: titles of the columns whose numbers it is about; all where empty.
        warns: whether it changes how an answer is read, so that it stands beside it.
    """

    id: str
    says: str | Saying
    about: tuple[str, ...] = ()
    warns: bool = False

    def texts(self, subject: Any) -> list[NoteText]:
        """What it says of what a table shows; nothing where it doesn't hold."""
        said = (self.says,) if isinstance(self.says, str) else self.says(subject)
        return [NoteText(text, self.id, self.about, warns=self.warns) for text in said]


def note(id: str, *about: str) -> Callable[[Saying], Note]:
    """Make a function that says something of what a table shows an entry of the catalogue.

    Args:
        id, about: as attributes of :class:`Note`.
    """
    return lambda says: Note(id, says, about)


def noted(notes: Iterable[Note | str], subject: Any) -> tuple[str, ...]:
    """The notes that hold, in order, none twice.

    Args:
        notes: entries of the catalogue, and sentences already made.
        subject: what the table shows.
    """
    said: list[str] = []
    for entry in notes:
        said += [entry] if isinstance(entry, str) else entry.texts(subject)
    return tuple(dict.fromkeys(said))
