"""What a form of export states about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bedside.core.registry import Registry
from bedside.reports.exports.exported_study import ExportedStudy

__all__ = ["EXPORT_FORMS", "ExportForm", "WrittenTable"]


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table of an export.

    Attributes:
        name: of the table.
        rows: how many it has.
    """

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class ExportForm:
    """A form of export.

    Attributes:
        name: equal to the folder's name, with hyphens.
        title: what it is, in a few words.
        write: writes a study into an empty folder, and says which tables it wrote.
        for_others: whether it is made to be published: a licence must be named then.
        needs_text: whether there is nothing to write of a run without what was said.
        holds_judgements: whether it can hold what judges were asked and replied.
    """

    name: str
    title: str
    write: Callable[[ExportedStudy, Path], tuple[WrittenTable, ...]]
    for_others: bool = False
    needs_text: bool = False
    holds_judgements: bool = True


#: All forms of export; other packages add theirs through the entry points ``bedside.exports``.
EXPORT_FORMS: Registry[ExportForm] = Registry(
    "bedside.reports.exports.shipped", "FORM", "form of export", ExportForm, group="bedside.exports", folders=True
)
