"""Whether files are as bedside wrote them: runs, plans, answers, simulations, tuned judges, tables; signed or not."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import (
    address_to_read,
    check_no_links,
    file_digest,
    read_bytes,
    read_json,
    read_json_lines,
    read_sealed,
    remove_leftovers,
    seal_of,
    write_sealed,
)
from bedside.core.json_shape import TEXT, ObjectOf
from bedside.core.question_settings import OPTIONS, option, question, settings_class
from bedside.core.words import counted
from bedside.ratings.run_folder import MANIFEST, is_run
from bedside.reports.table import Tables
from bedside.transcripts.simulation_folder import LOG_FILE, TYPED_LINES

if TYPE_CHECKING:
    from bedside.ratings.run import Run
    from bedside.reports.table import Table

#: ``no digest``: nothing says how it was written. ``other run``: a report's file is as it was written, and the run is
#: not as it was then. ``not signed``: who wrote it hadn't the key.
FileState = Literal["as written", "changed", "missing", "no digest", "other run", "not signed"]
#: How many files are named in a line, and that many lines of files that aren't as they were written.
_MOST_NAMED = 5
_RESTORE = "restore it from a copy, or have bedside write it again"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """A file that was looked at: what was named, a file of it, its state, what was found, and what to do."""

    source: str
    path: str
    state: FileState
    finding: str = ""
    todo: str = ""


@settings_class
class VerifySettings:
    """See whether files are as bedside wrote them.

    It goes by the SHA-256 kept with runs, simulations, plans, answers, tuned judges, casts, exports and reports. Of a
    report's file, named with its run, it also says whether the run is the same as then. Nothing is written. The exit
    code is 1 where anything isn't as it was written, or of what is named nothing says how it was.

    Examples:
        $ bedside verify run
        $ bedside verify run/report/results.csv run
    """

    key: str | os.PathLike[str] | None = option(
        "File of the key that the folders were signed with by bedside sign: all must be as it was then.",
        default=None, heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip


@question(VerifySettings, "Files and folders; one will do.")
def verify(
    paths: str | os.PathLike[str] | Run | Iterable[str | os.PathLike[str] | Run], settings: VerifySettings
) -> Tables[tuple[FileCheck, ...]]:
    """Raises:
    BedsideError: there is no such file or folder, a link stands in it, or it isn't signed with the key.
    """
    from bedside.ratings.run import Run

    single = [paths] if isinstance(paths, str | os.PathLike | Run) else paths
    named = [each.path if isinstance(each, Run) else Path(each) for each in single]
    if not named:
        raise InputError("no file or folder is named", where="`paths`", todo="name a run")
    folders: dict[Path, list[FileCheck]] = {}
    for path in named:
        if path.is_dir():
            check_no_links(path, "what is verified")
            folders[path] = [*_in_folder(path)]
            if not folders[path]:
                raise InputError("the folder has no file", where=str(path), todo="check its path")
        elif not path.is_file():
            what = "it is neither a file nor a folder" if path.exists() else "there is no such file or folder"
            raise InputError(what, where=str(path), todo="check its path")
    signed = {folder: _read_signature(folder, settings.key) for folder in folders if settings.key is not None}
    folders |= {folder: [*_as_signed(folder, folders[folder], said)] for folder, said in signed.items()}
    checks: list[FileCheck] = []
    for path in named:
        own = folders.get(path) or [_of_report(path, folders) or _checked(str(path), path, None)]
        checks += own if settings.key is None or path in folders else [_copy_as_signed(path, own[0], signed.values())]
    return Tables([_table(checks)], tuple(checks))


def said_of_files(checks: Sequence[FileCheck]) -> Iterator[str]:
    """What the checks come to in lines, of each file or folder that was named."""
    for source in dict.fromkeys(check.source for check in checks):
        own = [check for check in checks if check.source == source]
        wrong = [check for check in own if check.state in _WORDS]
        sound = [check for check in own if check.state == "as written"]
        unknown = [check for check in own if check.state == "no digest"]
        for check in wrong[:_MOST_NAMED]:
            yield f"{check.path} {_WORDS[check.state]}: {check.finding}."
            yield f"  To do: {check.todo}."
        if len(wrong) > _MOST_NAMED:
            yield f"So it is with {len(wrong) - _MOST_NAMED:,} more: --all."
        if len(own) == 1 and sound:
            yield f"{source} is as it was written{f' {sound[0].finding}' if sound[0].finding else ''}."
        elif sound:
            count, whole = len(sound), len(sound) + len(wrong)
            of = f"{count:,} of " if wrong else "All " if whole > 1 else ""
            were = "is as it was" if count == 1 else "are as they were"
            date = f" {sound[0].finding}" if sound[0].finding.startswith("and signed") else ""
            can = " and can be used" if wrong else ""
            yield f"{of}{counted(whole, 'file')} of {source} {were} written{date}{can}."
        if unknown:
            names = [os.path.relpath(check.path, source) if check.path != source else source for check in unknown]
            more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
            yield f"Nothing says how {', '.join(names[:_MOST_NAMED])}{more} was written."


def all_as_written(checks: Sequence[FileCheck]) -> bool:
    """Whether all is as it was written, and of each file or folder that was named anything is known to be; of one with
    a manifest, that too."""
    sources = {check.source for check in checks}
    sound = {check.source for check in checks if check.state == "as written"}
    return sources == sound and all(
        check.state == "as written" or (check.state == "no digest" and Path(check.path).name != MANIFEST)
        for check in checks
    )


_WORDS = {
    "changed": "was changed after it was written",
    "missing": "is missing",
    "other run": "isn't from the run as it is",
    "not signed": "wasn't signed with the key",
}


def _table(checks: Iterable[FileCheck]) -> Table:
    from bedside.reports.columns import table_of
    from bedside.reports.table_content import Column

    names = {"source": "Named", "path": "File", "state": "State", "finding": "Found", "todo": "To do"}
    columns = [Column(title, "left", field=name) for name, title in names.items()]
    return table_of(
        "files", "Whether files are as they were written", checks, columns, group=lambda check: check.source
    )


# -- Folders --------------------------------------------------------------------------------------------


def _in_folder(folder: Path) -> Iterator[FileCheck]:
    """Each file of a folder and those in it; those that begin with a dot are nobody's data."""
    from bedside.reports.build import WRITTEN
    from bedside.reports.exports.export import MARK

    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    stated: dict[Path, Any] = {}
    for place in dict.fromkeys([folder, *(file.parent for file in files)]):
        lists = (_listed(place / name, "files") for name in (MANIFEST, WRITTEN, MARK))
        for name, entry in ((name, entry) for own in lists if isinstance(own, dict) for name, entry in own.items()):
            if ".." not in Path(name).parts and not Path(name).is_absolute():
                stated[place / name] = (entry.get("sha256") if isinstance(entry, dict) else entry) or None
        # What a simulation goes on from has no SHA-256 there: it says itself how it was written.
        own = ((LOG_FILE, "spent"), (TYPED_LINES, "lines typed"))
        stated |= {place / name: None for name, key in own if _listed(place / MANIFEST, key) is not None}
        stated |= dict.fromkeys(_needed(place))
    for file in [*files, *sorted(stated.keys() - {*files})]:
        # What is kept beside a database that is written is a part of it.
        if not file.name.endswith(("-wal", "-shm", "-sent")):
            yield _checked(str(folder), file, stated.get(file))


def _needed(place: Path) -> Iterator[Path]:
    """What stands beside other files of a run or simulation, without a SHA-256 of its own there."""
    from bedside.annotation.answer_store import FOLDER, PLAN, STORE
    from bedside.annotation.rating_page.page_folder import DATABASE, PEOPLE, PLACE
    from bedside.judges.store import FILE_NAME
    from bedside.ratings.run import RATINGS_FILE
    from bedside.reports.build import WRITTEN

    if any(_standing(place / name).is_file() for name in (RATINGS_FILE, LOG_FILE)):
        yield place / MANIFEST
        # Where somebody was forgotten, what bedside wrote there is gone, and what others put there stays.
        if _listed(place / MANIFEST, "removed") is None and any((place / "report").glob("*")):
            yield place / "report" / WRITTEN
    if any((place / name).is_file() for name in (PEOPLE, PLACE)):
        yield place / DATABASE
    lists = (_listed(place / MANIFEST, key) for key in ("imports", "scorings"))
    for entry in (entry for own in lists if isinstance(own, list) for entry in own if isinstance(entry, dict)):
        if entry.get("plan") and entry.get("revisions"):
            yield from (place / FOLDER / Path(str(entry["plan"])).name / name for name in (PLAN, STORE))
        if entry.get("judges"):
            yield place / FILE_NAME


def _standing(file: Path) -> Path:
    """Where a run's file stands: in the run, or in a whole change that is not in its place yet."""
    changed = (place / ".change" / file.relative_to(place) for place in [*file.parents][:3])
    return next((path for path in changed if path.is_file()), file)


def _listed(file: Path, key: str) -> Any:
    """What a list of files says under a key, whatever its seal; None where there is none, or it is no JSON."""
    try:
        return json.loads(_standing(file).read_bytes())[key]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


# -- Files ----------------------------------------------------------------------------------------------


def _checked(source: str, file: Path, known: str | None) -> FileCheck:
    """A file by the SHA-256 that is stated of it, or by what it says of itself."""
    standing = _standing(file)
    if not standing.is_file():
        todo = "restore it from a copy" if known is None else _RESTORE
        return FileCheck(source, str(file), "missing", "a list of its folder names it", todo)
    try:
        if known is None:
            return FileCheck(source, str(file), "as written" if _says_how(standing) else "no digest")
        if file_digest(standing) == known:
            return FileCheck(source, str(file), "as written")
        return FileCheck(source, str(file), "changed", "its SHA-256 is another", _RESTORE)
    except BedsideError as error:
        log = file.with_name(f"{file.name}-wal")
        if log.name in error.what:
            return FileCheck(source, str(log), "missing", error.what, error.todo or _RESTORE)
        return FileCheck(source, str(file), "changed", error.what, error.todo or _RESTORE)


def _says_how(file: Path) -> bool:
    """Whether a file says itself how it was written.

    Raises:
        BedsideError: it isn't as it was written.
    """
    from bedside.annotation.answer_store import STORE
    from bedside.annotation.plan_file import read_plan
    from bedside.annotation.rating_page.page_database import check_database, saying_which
    from bedside.annotation.rating_page.page_folder import DATABASE, PEOPLE
    from bedside.core.yaml_files import has_digest, plain_yaml
    from bedside.judges.store import check_store
    from bedside.metrics.coders.learned.array_file import read_arrays
    from bedside.simulation.conversation_log import check_log
    from bedside.simulation.talks_folder import check_rows_kept
    from bedside.tuning.learned_rater import RATER_FILE

    if file.name == LOG_FILE:
        check_log(file)
        check_rows_kept(file.parent)
    elif file.name in (DATABASE, PEOPLE):
        with saying_which(file, "answers"), closing(sqlite3.connect(address_to_read(file), uri=True)) as database:
            return check_database(database)
    elif file.suffix == ".sqlite":
        check_store(file)
    elif file.suffix == ".npz":
        read_arrays(file, RATER_FILE)
    elif file.suffix == ".yaml":
        return has_digest(file) and plain_yaml(file, "file", kind=InputError) is not None
    elif file.name in (STORE, TYPED_LINES):
        return _lines_say(file)
    elif file.suffix == ".json" or (not file.suffix and read_bytes(file)[:1] == b"{"):
        value = read_json(file, "file")
        if not isinstance(value, dict) or "seal" not in value:
            return False
        if {"run", "rubrics", "assignment"} <= value.keys():
            read_plan(file)
        elif seal_of(value) != value["seal"]:
            raise RunError("its seal doesn't fit", where=str(file), todo=_RESTORE)
    else:
        return False
    return True


def _lines_say(file: Path) -> bool:
    """As :func:`_says_how`, of what raters answered and people typed: a run says how many lines made ratings, and a
    simulation how many there were."""
    from bedside.annotation.answer_store import stored_lines
    from bedside.simulation.person import typed_lines

    if file.name == TYPED_LINES:
        number, counts = sum(1 for _ in typed_lines(file, {})), [_listed(file.with_name(MANIFEST), "lines typed") or 0]
    else:
        number = sum(1 for _ in stored_lines(file))
        imports = _listed(file.parents[2] / MANIFEST, "imports") or ()
        counts = [entry.get("revisions", 0) for entry in imports if entry.get("plan") == file.parent.name]
    if number < max(counts, default=0):
        raise RunError(f"it has {number:,} of {max(counts):,} lines", where=str(file), todo="restore it from a copy")
    return all(line.get("digest") for _, line in read_json_lines(file, "file of lines"))


# -- Files of reports -----------------------------------------------------------------------------------


def _of_report(file: Path, folders: Mapping[Path, Sequence[FileCheck]]) -> FileCheck | None:
    """A report's file by the record beside it, or in the report of a run that is named; None where none knows it.

    Args:
        file: it.
        folders: those that are named, with what was found of their files.
    """
    from bedside.ratings.run import Run
    from bedside.reports.build import WRITTEN, read_written

    source, digest = str(file), file_digest(file)
    runs = [folder for folder in folders if is_run(folder)]
    records = [read_written(folder) for folder in (file.parent, *(run / "report" for run in runs), *folders)]
    entries = [entry for record in records for entry in record.values() if entry["sha256"] == digest]
    if not entries:
        if not any(file.name in record for record in records):
            return None
        return FileCheck(source, source, "changed", f"its SHA-256 is another than in {WRITTEN}", "report again")
    if not runs:
        return FileCheck(source, source, "as written", f"from a run with the seal {entries[0]['run'][:12]}…")
    seals: dict[str, Path] = {Run(run).seal: run for run in runs}
    run = next((seals[entry["run"]] for entry in entries if entry["run"] in seals), None)
    if run is not None:
        own = (check for check in folders[run] if run / "report" not in Path(check.path).parents)
        wrong = next((check for check in own if check.state in _WORDS), None)
        if wrong is None:
            return FileCheck(source, source, "as written", f"from {run} as it is")
        finding = f"{wrong.path} {_WORDS[wrong.state]}"
        return FileCheck(source, source, "other run", finding, _RESTORE)
    finding = f"it was made when {runs[0]} held other ratings, or of another run"
    return FileCheck(source, source, "other run", finding, f"bedside report {runs[0]} writes it anew")


# -- Signed with a key file -----------------------------------------------------------------------------

#: Lists the SHA-256 of every file of its folder, with the HMAC-SHA256 of that list by the key.
SIGNATURE = "signature.json"


@settings_class
class SignSettings:
    """Sign a run, or another folder, with a key file.

    Whoever has the key sees by bedside verify --key what anybody without it changed, added or removed. All files are
    signed: report first. The key is read, and kept nowhere. Whoever can verify can sign, too.

    Examples:
        $ bedside sign run --key study.key
    """

    key: str | os.PathLike[str] = option(
        "File of the key: 32 random bytes or more, which only you can read.",
        heading=OPTIONS, metavar="FILE", form="path",
    )  # fmt: skip


@question(SignSettings, "A run's folder, or another one that bedside wrote.")
def sign(folder: str | os.PathLike[str] | Run, settings: SignSettings) -> Tables[tuple[FileCheck, ...]]:
    """Raises:
    BedsideError: the key is none, or others can read it; a link or an open database stands in the folder, or a file
        isn't as it was written.
    """
    from bedside.ratings.run import Run

    path = folder.path if isinstance(folder, Run) else Path(folder)
    if not path.is_dir():
        raise InputError("there is no such folder", where=str(path), todo="check its path")
    key = _read_key(settings.key, path)
    remove_leftovers(path / SIGNATURE)
    for check in verify(path).results:
        if check.state in _WORDS and Path(check.path) != path / SIGNATURE:
            raise RunError("it isn't as it was written, and so isn't signed", where=check.path, todo=check.todo)
    files = _signable(path)
    for name in (name for name in files if name.endswith(("-wal", "-journal", "-sent"))):
        todo = "wait until no process writes it; if none does, run its last command again"
        raise RunError("a database isn't closed", where=str(path / name), todo=todo)
    said: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "files": files}
    write_sealed(path / SIGNATURE, {**said, "hmac": _hmac(key, said)})
    return verify(path, key=settings.key)


def _read_key(file: str | os.PathLike[str], folder: Path) -> bytes:
    """A key for a folder; refused where others can read it, or it stands in there."""
    if Path(file).resolve().is_relative_to(folder.resolve()):
        raise InputError("the key stands in what it signs", where=str(file), todo="keep it elsewhere")
    todo = "make one: openssl rand -out study.key 32 && chmod 600 study.key"
    key = read_bytes(file, "key", most=4096, todo=todo)
    if os.name == "posix" and Path(file).stat().st_mode & 0o077:
        raise InputError("others can read or change the key", where=str(file), todo=f"chmod 600 {file}")
    if len(key) < 32 or len(set(key)) < 8:  # random ones have fewer once in 10^20 times
        raise InputError("a key has 32 random bytes or more", where=str(file), todo=todo)
    return key


def _read_signature(folder: Path, key: str | os.PathLike[str]) -> dict[str, Any]:
    """The ``date`` of a folder's signature, and the SHA-256 of each of its ``files``."""
    secret, path = _read_key(key, folder), folder / SIGNATURE
    shape, todo = {"date": TEXT, "files": ObjectOf(TEXT), "hmac": TEXT}, f"whoever has the key: bedside sign {folder}"
    said = read_sealed(path, "signature", shape, todo=todo)
    if not hmac.compare_digest(said.pop("hmac").encode("utf-8", "replace"), _hmac(secret, said).encode()):
        todo = "see that the key is the one it was signed with; if so, it was changed by somebody without the key"
        raise RunError("the signature isn't of this key", where=str(path), todo=todo)
    return said


def _hmac(key: bytes, said: Mapping[str, Any]) -> str:
    plain = json.dumps(said, sort_keys=True)
    return hmac.new(key, f"bedside signature 1\n{plain}".encode(), hashlib.sha256).hexdigest()


def _signable(folder: Path) -> dict[str, str]:
    """Each file of a folder, hidden ones too, with its SHA-256; locks and an open database's index aren't data."""
    check_no_links(folder, "what is signed")
    files = (file for file in sorted(folder.rglob("*")) if not file.is_dir() and file != folder / SIGNATURE)
    return {_within(file, folder): file_digest(file) for file in files if not file.name.endswith((".lock", "-shm"))}


def _within(file: Path, folder: Path) -> str:
    """A file's name in a folder, also where it is no UTF-8."""
    return os.fsencode(file.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")


def _as_signed(folder: Path, checks: Iterable[FileCheck], signed: Mapping[str, Any]) -> Iterator[FileCheck]:
    """What was found of a folder's files, with what its signature says of each, hidden ones too."""
    now, known, date = _signable(folder), signed["files"], signed["date"]
    found = {_within(Path(check.path), folder): check for check in checks}
    for name in sorted({*now, *known, *found} - {SIGNATURE}):
        check = found.get(name, FileCheck(str(folder), str(folder / name), "no digest"))
        if check.state in _WORDS:
            yield check
        elif now.get(name) == known.get(name):
            yield replace(check, state="as written", finding=f"and signed on {date}")
        else:
            state: FileState = "not signed" if name not in known else "changed" if name in now else "missing"
            todo = f"restore it from a copy; if it is yours, whoever has the key: bedside sign {folder}"
            yield replace(check, state=state, finding=f"the signature is of {date}", todo=todo)


def _copy_as_signed(file: Path, check: FileCheck, signed: Iterable[Mapping[str, Any]]) -> FileCheck:
    """What was found of a file that is named alone, which is known by its content among those that were signed."""
    if check.state in _WORDS:
        return check
    date = next((own["date"] for own in signed if file_digest(file) in own["files"].values()), None)
    if date is None:
        todo = "name its run, too; report before bedside sign, and hand on what was signed"
        return replace(check, state="not signed", finding="no signed file has its SHA-256", todo=todo)
    return replace(check, state="as written", finding=f"{check.finding} and signed on {date}".strip())
