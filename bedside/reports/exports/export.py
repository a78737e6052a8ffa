"""A run written in a form that others' tools read, whole or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bedside
from bedside.core.errors import InputError
from bedside.core.files import file_digest, write_json
from bedside.core.owned_folders import replacing_folder
from bedside.judges.store import FILE_NAME
from bedside.ratings.run import Run
from bedside.reports.exports.contract import EXPORT_FORMS, WrittenTable
from bedside.reports.exports.exported_study import ExportedStudy, origins, people_of, pseudonyms

#: Says that a folder holds an export, and which files it is made of. A folder that is searched for transcripts may be
#: one: by its name this is none.
MARK = ".bedside-export"
#: A licence by its identifier.
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,95}")


@dataclass(frozen=True, slots=True)
class ExportedFolder:
    """An export that was written.

    Attributes:
        path: its folder.
        form: its form.
        tables: what it holds, and how much of it.
        size: of all files, in bytes.
        text: whether what was said is in it.
        judgements: whether what judges were asked and replied is in it.
        pseudonyms: how many people are called by another name than their own.
        unknown_origins: how many transcripts there are of which nobody says where they come from.
    """

    path: Path
    form: str
    tables: tuple[WrittenTable, ...]
    size: int
    text: bool
    judgements: bool
    pseudonyms: int
    unknown_origins: int


def write_export(
    run: Run,
    form: str,
    out: Path,
    *,
    licence: str | None = None,
    title: str | None = None,
    citation: str | None = None,
    origin: str | Mapping[str, str] | None = None,
    text: bool = True,
    rater_names: bool = False,
    judgements: bool = False,
) -> ExportedFolder:
    """Write a run into a folder; see :func:`bedside.export`."""
    entry = EXPORT_FORMS.load(form)
    if entry.for_others and licence is None:
        raise InputError(
            "others must know what they may do with the data, and no licence is named", where="`licence`",
            todo="name one, such as cc-by-4.0, or unknown where that isn't decided",
        )  # fmt: skip
    if licence is not None and not _LICENCE.fullmatch(licence):
        raise InputError(
            f"{licence!r:.60} is no identifier of a licence", where="`licence`", todo="write it as cc-by-4.0"
        )
    if entry.needs_text and not (text and run.keeps_text):
        raise InputError(
            f"the form {form} is made of what was said, which is left out",
            where=str(run.path),
            todo="choose another form",
        )
    if judgements:
        _check_judgements(run, form, entry.holds_judgements, text)
    people = people_of(run, coders=text)
    study = ExportedStudy(
        run=run,
        title=title or run.path.resolve().name,
        names={} if rater_names else pseudonyms(people),
        origins=origins(run, origin),
        text=text and run.keeps_text,
        judgements=judgements,
        licence=licence,
        citation=citation,
    )
    marked = _marked(out) is not None
    strange = _strange(out) if marked else None
    why = f"the export there was changed since it was written ({strange})"
    refusal = InputError(
        why if marked else "this exists and is no export that bedside wrote",
        where=str(out), todo="choose another folder with `out`",
    )  # fmt: skip
    # What was added to an export may be somebody's work.
    with replacing_folder(out, ours=marked and strange is None, refusal=refusal) as folder:
        tables = entry.write(study, folder)
        files = _files(folder)
        write_json(folder / MARK, {"export": form, "bedside": bedside.__version__, "files": files})
        size = sum(file["bytes"] for file in files.values()) + (folder / MARK).stat().st_size
    return ExportedFolder(
        path=out, form=form, tables=tables, size=size, text=study.text, judgements=judgements,
        pseudonyms=len(study.names), unknown_origins=study.origins["origin"].null_count(),
    )  # fmt: skip


def _check_judgements(run: Run, form: str, holds: bool, text: bool) -> None:
    """See that there are judgements, and that they can be given away so."""
    if not holds:
        raise InputError(
            f"the form {form} can't hold what judges were asked and replied", where="`judgements`",
            todo="leave it out, or choose another form",
        )  # fmt: skip
    if not text:
        raise InputError(
            "what judges were asked holds what was said", where="`judgements`", todo="leave it out, or keep the text"
        )
    if not (run.path / FILE_NAME).is_file():
        raise InputError("the run has no judgements", where=str(run.path), todo="leave out `judgements`")


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of each file in a folder and those in it, by its path there."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = {"bytes": os.path.getsize(path), "sha256": file_digest(path)}
        files[path.relative_to(folder).as_posix()] = size
    return files


def _marked(folder: Path) -> dict[str, Any] | None:
    """What the mark of a folder says of its files; None where it has none."""
    try:
        files = json.loads((folder / MARK).read_bytes())["files"] if (folder / MARK).is_file() else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return files if isinstance(files, dict) else None


def _strange(folder: Path) -> str | None:
    """A file that isn't in a folder as it was written there; None where all are."""
    written = _marked(folder) or {}
    there = {name: file for name, file in _files(folder).items() if name != MARK}
    return next((name for name in sorted({*there, *written}) if there.get(name) != written.get(name)), None)
