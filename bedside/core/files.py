"""Writing files whole or not at all; reading what is given as a file, whatever it is."""

from __future__ import annotations

import atexit
import errno
import hashlib
import io
import json
import os
import queue
import re
import select
import shutil
import stat
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, TypeVar

from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.json_shape import misfit
from bedside.core.locks import BESIDE, Hold, hold, hold_folder

Refusal = TypeVar("Refusal", bound=BedsideError)
#: How long a pipe may keep silent, in seconds.
PATIENCE = 30.0
#: What the names of temporary files and folders end in; they begin with a dot and the name that they will have.
_PARTIAL = ".partial"
#: Windows opens no folders, and syncs only files that are open to be written.
_OPENS_FOLDERS = hasattr(os, "O_DIRECTORY")
#: Names that Windows keeps for devices, with any ending, and characters that none of its files' names has.
_DEVICE = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_IN_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
#: Largest text that was compressed, in bytes.
_MOST_UNPACKED = 2**28
#: Largest file that is read whole where nothing else is said, in bytes.
_MOST_WHOLE = 2**30


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place, synced, when the block ends well.

    Where the block fails, the temporary file is removed and ``target`` stays as it was. What killed processes left
    there of ``target`` is removed.

    Raises:
        RunError: the file can't be written.
    """
    with saying_where(target):
        remove_leftovers(target)
        held, temporary = _hold_beside(target)
        with held:
            yield temporary
            sync(temporary)
            os.replace(temporary, target)
            sync(target.parent)


@contextmanager
def holding(path: Path, refusal: BedsideError, patience: float = 0.0) -> Iterator[None]:
    """Hold a file, which is made if it isn't there and goes when the block ends, for this process alone.

    Args:
        path: the file; one that stands for its folder is named in it.
        refusal: raised where another process holds it.
        patience: how long to wait for that, in seconds.

    Raises:
        RunError: it can't be made.
    """
    with saying_where(path.parent):
        held = hold(path, patience)
    if held is None:
        raise refusal
    with held:
        yield


@contextmanager
def folder_held(folder: Path, lock: str, content: str, *, is_ours: Callable[[Set[str]], bool]) -> Iterator[None]:
    """Hold a folder, which is made if it isn't there, for this process alone.

    Args:
        folder: the folder.
        lock: the name of the file in it that is locked.
        content: what it holds, as ``a simulation``, for messages.
        is_ours: whether files of these names show that it holds that; it isn't asked of an empty folder.

    Raises:
        RunError: another process holds it, it holds something else or a link, or it can't be made.
    """
    with saying_where(folder):
        make_folder(folder)
        check_no_links(folder, content)
        others = {path.name for path in folder.iterdir()} - {lock}
        if others and not is_ours(others):
            raise RunError(f"the folder holds something else than {content}", where=str(folder), todo="name another")
    what = f"another bedside process has {content} there"
    with holding(folder / lock, RunError(what, where=str(folder), todo="wait until it ends")):
        yield


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes left of ``target``: the system ended their hold, however they ended."""
    leftover = re.compile(rf"(?:{re.escape(BESIDE)})?(\.{re.escape(target.name)}\.[0-9a-f]{{8}}{re.escape(_PARTIAL)})")
    names = (leftover.fullmatch(name) for name in _names(target.parent) if name.endswith(_PARTIAL))
    for name in {match[1] for match in names if match is not None}:
        with suppress(OSError):  # it is another's
            held = hold(target.with_name(name))
            if held is not None:
                held.release()


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # whoever writes there says it better
        return []


def _hold_beside(target: Path) -> tuple[Hold, Path]:
    """A new private file beside ``target``, and the hold of it."""
    if target.name in ("", ".."):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    while True:
        temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}{_PARTIAL}")
        if not os.path.lexists(temporary):
            held = hold(temporary)
            if held is not None:  # else another process took it for a leftover
                return held, temporary


@contextmanager
def making(target: Path) -> Iterator[Path]:
    """A private, empty folder beside ``target`` that becomes it when the block ends well; its files are synced already.

    What a killed process left there is removed.

    Raises:
        RunError: another process is making ``target``, or it can't be made.
    """
    temporary = target.with_name(f".{target.name}{_PARTIAL}")
    with saying_where(target):
        make_folder(target.parent)
        temporary.mkdir(0o700, exist_ok=True)
        held = hold_folder(temporary)
    if held is None:
        raise RunError("another bedside process is making it", where=str(target), todo="wait until it ends")
    with held:
        try:
            with saying_where(target):
                empty(temporary)
            yield temporary
            with saying_where(target):
                sync_folders(temporary)
                _put_folder(temporary, target)
        except BaseException as error:
            _remove_while_written(temporary)
            if isinstance(error, RunError) and error.where is not None:
                where = error.where.replace(str(temporary), str(target), 1)
                raise RunError(error.what, where=where, todo=error.todo) from error
            raise
        with saying_where(target):
            sync(target.parent)


def _remove_while_written(folder: Path) -> None:
    """Remove a folder in which a thread may still be writing what it has begun: a name that comes while the others go
    would leave the folder there.
    """
    for _ in range(500):
        try:
            shutil.rmtree(folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                break
            time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def _put_folder(folder: Path, target: Path) -> None:
    """Put a folder in its place, where an empty one may be."""
    try:
        os.replace(folder, target)
    except (PermissionError, FileExistsError):  # Windows puts no folder in the place of another
        if not target.is_dir():
            raise
        target.rmdir()
        os.replace(folder, target)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they aren't there, for their owner alone, and have them on disk."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(new):
        path.mkdir(0o700, exist_ok=True)
        sync(path.parent)
    folder.mkdir(exist_ok=True)  # says so where a file stands there


def remove(folder: Path) -> None:
    """Remove a folder: under its name it is there whole, or not at all."""
    temporary = folder.with_name(f".{folder.name}{_PARTIAL}")
    with saying_where(folder):
        shutil.rmtree(temporary, ignore_errors=True)
        os.replace(folder, temporary)
    shutil.rmtree(temporary, ignore_errors=True)


def empty(folder: Path, pattern: str = "*") -> None:
    """Remove what is in a folder and has a name of ``pattern``."""
    for path in folder.glob(pattern):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def saying_where(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into a message that names ``path``."""
    try:
        yield
    except BedsideError:
        raise
    except OSError as error:
        raise RunError(
            f"can't be written ({error.strerror or error})", where=str(path), todo="choose another place"
        ) from error


@contextmanager
def archiving() -> Iterator[None]:
    """While a library writes a ZIP archive: there is none of a time before 1980 or after 2107.

    Raises:
        RunError: the clock says such a time.
    """
    try:
        yield
    except (ValueError, struct.error) as error:
        if isinstance(error, ValueError) and "before 1980" not in str(error):
            raise
        raise RunError("the clock of this machine says a year that no archive can hold", todo="set it") from error


def sync(path: Path) -> None:
    """Have a file's or folder's content on disk before going on."""
    if not _OPENS_FOLDERS and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if _OPENS_FOLDERS else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folders(folder: Path) -> None:
    """Have the names of all that is in a folder, and in those in it, on disk before going on."""
    for path, _, _ in os.walk(folder):
        sync(Path(path))


def write_text(target: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    write_bytes(target, text.encode("utf-8"))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def write_json(target: Path, value: Any) -> None:
    """Write indented JSON, whole or not at all."""
    write_text(target, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def unreadable(
    error: OSError,
    path: str | os.PathLike[str],
    noun: str = "file",
    *,
    kind: type[Refusal],
    todo: str = "check its path",
) -> Refusal:
    """The message for a file or folder that isn't there or can't be read; ``kind`` and ``todo`` are the error's."""
    what = f"the {noun} can't be read ({error.strerror or error})"
    if isinstance(error, FileNotFoundError):
        what = f"there is no such {noun}"
    return kind(what, where=str(path), todo=todo)


def undecodable(
    error: UnicodeDecodeError,
    path: str | os.PathLike[str],
    line: int = 1,
    *,
    at: str = "",
    encoding: str = "UTF-8",
    kind: type[Refusal],
    todo: str = "save it as UTF-8",
) -> Refusal:
    """The message for a text that isn't in its encoding: its line and column.

    Args:
        error: what decoding it raised.
        path: the file.
        line: the line that the text begins in, from 1.
        at: what the column is counted in, where that isn't the line.
        encoding: that of the file; the text has been recoded in UTF-8.
        kind, todo: as for :func:`read_bytes`.
    """
    data = error.object
    lines = data.count(b"\n", 0, error.start)
    byte = f"byte 0x{data[error.start]:02x} " if encoding == "UTF-8" else ""
    column = error.start - data.rfind(b"\n", 0, error.start)
    what = f"not {encoding} ({byte}at column {column}{'' if lines else at})"
    return kind(what, where=f"{path}:{line + lines}", todo=todo)


def not_json(
    error: json.JSONDecodeError,
    path: str | os.PathLike[str],
    line: int = 1,
    *,
    at: str = "",
    kind: type[Refusal],
    todo: str = "mend or remove it",
) -> Refusal:
    """The message for a text that isn't JSON; the arguments are those of :func:`undecodable`."""
    why = f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    what = f"not JSON ({why}{at if error.lineno == 1 else ''})"
    return kind(what, where=f"{path}:{line + error.lineno - 1}", todo=todo)


def read_bytes(
    path: str | os.PathLike[str],
    noun: str = "file",
    *,
    most: int = _MOST_WHOLE,
    kind: type[BedsideError] = InputError,
    todo: str = "check its path",
) -> bytes:
    """What a file holds.

    Args:
        path: the file; a pipe or a device will do.
        noun: what it is, for messages.
        most: bytes that it may have.
        kind: of the error.
        todo: what to do about it.

    Raises:
        BedsideError: of ``kind``: it isn't there, can't be read, is a folder, has more than ``most`` bytes, or is a
            pipe through which nothing came for :data:`PATIENCE` seconds.
    """
    try:
        with opened(path) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                data = b"" if status.st_size > most else io.BufferedReader(file).read(most + 1)
                size = max(status.st_size, len(data))
            else:
                data = piped(file, most + 1)
                size = len(data)
        if size > most:
            raise OSError(errno.EFBIG, f"larger than {most / 2**20:.3g} MB")
        return data
    except OSError as error:
        raise unreadable(error, path, noun, kind=kind, todo=todo) from error


def sealed(
    said: Mapping[str, Any], folder: Path, names: Iterable[str], others: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a folder's manifest says, with ``files``, the SHA-256 of each, and ``seal``, that of all the rest.

    Args:
        said: the rest.
        folder: where the files stand.
        names: of those that may be there.
        others: the SHA-256 of files that stand elsewhere, by name.
    """
    here = {name: file_digest(folder / name) for name in names if (folder / name).is_file()}
    whole = {**said, "files": dict(sorted({**(others or {}), **here}.items()))}
    return {**whole, "seal": seal_of(whole)}


def seal_of(said: Mapping[str, Any]) -> str:
    """The SHA-256 of what a manifest says beside its seal, in whatever order and layout."""
    plain = json.loads(json.dumps({key: value for key, value in said.items() if key != "seal"}))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def cells_digest(*cells: Any) -> str:
    """The SHA-256 of cells of a database's row."""
    # SQLite gives a whole number back as a real one where its column holds these.
    plain = ", ".join([f"{float(cell)!r}" if isinstance(cell, int) else repr(cell) for cell in cells])
    return hashlib.sha256(f"[{plain}]".encode("utf-8", "surrogatepass")).hexdigest()


def read_text(
    path: str | os.PathLike[str],
    noun: str = "file",
    *,
    most: int = _MOST_WHOLE,
    kind: type[BedsideError] = InputError,
    todo: str = "check its path",
) -> str:
    """As :func:`read_bytes`, the text of a file in UTF-8, without byte order mark.

    Raises:
        BedsideError: also where it is not UTF-8; the line is named.
    """
    try:
        return read_bytes(path, noun, most=most, kind=kind, todo=todo).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise undecodable(error, path, kind=kind) from error


@dataclass(frozen=True, slots=True)
class Format:
    """The format of something that is written and read again: which ones are read, and how an earlier one is.

    Attributes:
        noun: what is written.
        version: the one that is written; what has no number is of the first.
        oldest: the first one that is read.
        todo: what can be done with one that is older.
        steps: version → makes what stands in a file of it, by the file's name, into what the next version has there.
            Whoever reads has it so in memory.
    """

    noun: str
    version: int = 1
    oldest: int = 1
    todo: str = "make it again"
    steps: Mapping[int, Callable[[str, Any], Any]] = field(default_factory=dict)

    def check(self, version: Any, where: str | os.PathLike[str], kind: type[BedsideError] = RunError) -> None:
        """See that something can be read.

        Args:
            version: of its format, as it says itself.
            where: its place.
            kind: of the error.

        Raises:
            BedsideError: it can't, with what can be done.
        """
        if isinstance(version, int) and self.oldest <= version <= self.version:
            return
        newer = not isinstance(version, int) or version > self.version
        older = "from before the first release of bedside" if newer or version > 0 else "not made by bedside"
        made = "made by a newer bedside" if newer else older
        reads = f"{self.oldest} to {self.version}" if self.oldest < self.version else f"{self.version}"
        raise kind(
            f"the {self.noun} was {made} (its format is {version}, this bedside reads {reads})",
            where=str(where),
            todo="update bedside" if newer else self.todo,
        )

    def of_database(self, connection: Any, table: str) -> int:
        """A database's number; a copy by SQL, which lost it, is known by the column of its rows' digests."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        columns = [column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")]
        return self.version if not version and "digest" in columns else int(version)

    def current(self, name: str, content: Any, version: int) -> Any:
        """What stands in a file of a version that is read, as the present version has it."""
        for number in range(version, self.version):
            content = self.steps[number](name, content) if number in self.steps else content
        return content


def read_json(
    path: str | os.PathLike[str],
    noun: str,
    shape: Any = None,
    *,
    kind: type[BedsideError] = RunError,
    todo: str = "restore it from a copy",
    form: Format | None = None,
) -> Any:
    """The value of a file of JSON that bedside or another program wrote; what people write is read by
    :func:`bedside.core.records.parse_json`.

    Args:
        path: the file.
        noun: what it is, for messages.
        shape: of the value, as for :func:`bedside.core.json_shape.misfit`; None where it isn't checked.
        kind: of the error.
        todo: what to do about it.
        form: of an object, its format.

    Raises:
        BedsideError: of ``kind``: the file can't be read, isn't JSON of that shape, or is of a format that isn't read.
    """
    try:
        value = json.loads(read_text(path, noun, kind=kind, todo=todo))
        if form is not None and isinstance(value, dict):
            form.check(value.get("format", 1), path, kind)
        why = None if shape is None else misfit(value, shape)
    except (ValueError, RecursionError) as error:
        why = str(error)
    if why is not None:
        raise kind(f"the {noun} can't be read ({why})", where=str(path), todo=todo)
    return value


def write_sealed(target: Path, value: Mapping[str, Any]) -> None:
    """Write an object as indented JSON with its ``seal``, whole or not at all."""
    write_json(target, {**value, "seal": seal_of(value)})


def read_sealed(
    path: str | os.PathLike[str],
    noun: str,
    shape: Any = {},  # noqa: B006
    *,
    kind: type[BedsideError] = RunError,
    todo: str = "restore it from a copy",
    version: int = 1,
) -> dict[str, Any]:
    """As :func:`read_json`, an object that :func:`write_sealed` wrote, without its seal; earlier versions set none.

    It is of a format up to ``version``.

    Raises:
        BedsideError: also where it isn't as it was written, or is no file: nothing is waited for.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise kind(f"the {noun} is no file", where=str(path), todo="remove it")
    value: dict[str, Any] = read_json(path, noun, shape, kind=kind, todo=todo, form=Format(noun, version))
    if value.get("seal") not in (None, seal_of(value)):
        raise kind(f"the {noun} isn't as bedside wrote it (its seal doesn't fit)", where=str(path), todo=todo)
    return {key: entry for key, entry in value.items() if key != "seal"}


def read_json_lines(
    path: str | os.PathLike[str],
    noun: str,
    shape: Any = None,
    *,
    kind: type[BedsideError] = RunError,
    todo: str = "restore it from a copy",
) -> Iterator[tuple[str, Any]]:
    """As :func:`read_json`, place (file and line) and value of each line of a file, which may be large.

    Raises:
        BedsideError: of ``kind``: the file can't be read, or a line isn't JSON of that shape.
    """
    import orjson

    try:
        with opened(path) as raw, io.BufferedReader(raw) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    value = orjson.loads(line)
                    why = None if shape is None else misfit(value, shape)
                except orjson.JSONDecodeError as error:
                    why = str(error)
                place = f"{path}:{number}"
                if why is not None:
                    raise kind(f"the {noun} can't be read ({why})", where=place, todo=todo)
                yield place, value
    except OSError as error:
        raise unreadable(error, path, noun, kind=kind, todo=todo) from error


def file_digest(path: str | os.PathLike[str], noun: str = "file") -> str:
    """The SHA-256 (hex) of a file of any size.

    Raises:
        InputError: it can't be read.
    """
    try:
        with opened(path) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return hashlib.file_digest(file, "sha256").hexdigest()
            return hashlib.sha256(piped(file, _MOST_WHOLE)).hexdigest()
    except OSError as error:
        raise unreadable(error, path, noun, kind=InputError) from error


def unpacked(data: bytes) -> bytes:
    """What zlib compressed, as it was before.

    Raises:
        ValueError: it is damaged, or larger than any text that is kept.
        zlib.error: it was not compressed so.
    """
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(data, _MOST_UNPACKED)
    if not unpacking.eof:
        raise ValueError("a text is cut off or too long")
    return content


def opened(path: str | os.PathLike[str]) -> io.FileIO:
    """A file open for reading; of a pipe that nobody writes to, this is not waited for.

    Raises:
        OSError: it can't be opened, or is a folder.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "no file's name holds a null character", str(path))
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        return io.FileIO(handle)
    except OSError:
        os.close(handle)
        raise


def piped(file: io.FileIO, most: int) -> bytes:
    """Up to ``most`` bytes of an open file that is no ordinary one.

    Raises:
        OSError: it can't be read, or keeps silent for :data:`PATIENCE` seconds.
    """
    data = bytearray()
    while len(data) < most:
        more = _next_piece(file, min(1 << 20, most - len(data)))
        if more is None:  # somebody else was faster
            time.sleep(0.01)
            continue
        if not more:
            break
        data += more
    return bytes(data)


def _next_piece(file: io.FileIO, size: int) -> bytes | None:
    """What comes next, up to ``size`` bytes; None where another reader was faster."""
    if hasattr(os, "O_NONBLOCK"):
        if select.select([file], [], [], PATIENCE)[0]:
            return file.read(size)
    else:  # Windows selects among sockets only
        pieces: queue.SimpleQueue[bytes | OSError | None] = queue.SimpleQueue()
        threading.Thread(target=_read_into, args=(pieces, file, size), daemon=True).start()
        with suppress(queue.Empty):
            piece = pieces.get(timeout=PATIENCE)
            if isinstance(piece, OSError):
                raise piece
            return piece
    raise OSError(errno.ETIMEDOUT, f"nothing came through it for {PATIENCE:g} seconds")


def _read_into(pieces: queue.SimpleQueue[bytes | OSError | None], file: io.FileIO, size: int) -> None:
    try:
        pieces.put(file.read(size))
    except OSError as error:
        pieces.put(error)


def can_name_a_file(name: str) -> bool:
    """Whether every system can have a file or folder of this name."""
    return not (_DEVICE.fullmatch(name) or _IN_NO_NAME.search(name) or name.endswith((".", " ")))


def sqlite_address(path: PurePath) -> str:
    """The address of a database by its absolute path, for ``sqlite3.connect(…, uri=True)``."""
    address = path.as_uri()
    # A shared folder of Windows, file://server/…: to SQLite the server is a part of the path.
    return address if address.startswith("file:///") else address.replace("file:", "file://", 1)


def address_to_read(path: Path) -> str:
    """The address of a database that is read, so that nothing is written beside it.

    What a process that was killed left to be put into it is put into a copy, which goes when this process ends.
    """
    address = sqlite_address(path.absolute())
    log = path.with_name(f"{path.name}-wal")
    if not log.is_file():
        return f"{address}?immutable=1"  # else SQLite makes files for those who write at the same time
    # Who held the file alone leaves a log without the index by which it could be read where it stands.
    if path.with_name(f"{path.name}-shm").exists() or not log.stat().st_size:
        return f"{address}?mode=ro"
    folder = Path(tempfile.mkdtemp(prefix="bedside-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for file in (path, log):
        shutil.copyfile(file, folder / file.name)
    return sqlite_address(folder / path.name)


_QUIET = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Without what a library writes to the error stream past Python, as polars does of a damaged file.

    Of several threads, one alone makes it so, and nested blocks are of the outermost.
    """
    with ExitStack() as ending:
        if _QUIET.acquire(blocking=False):
            ending.callback(_QUIET.release)
            with suppress(OSError):  # there may be no error stream
                kept = os.dup(2)
                ending.callback(os.close, kept)
                ending.callback(os.dup2, kept, 2)
                nowhere = os.open(os.devnull, os.O_WRONLY)
                ending.callback(os.close, nowhere)
                os.dup2(nowhere, 2)
        yield


def check_no_links(folder: Path, what: str) -> None:
    """See that a folder holds files and folders alone: what a link in it leads to may be somebody else's.

    Args:
        folder: the folder, which may itself be reached by a link.
        what: what it holds, as ``a run``, for the message.

    Raises:
        RunError: a link stands in it, at any depth, or what is neither file nor folder.
    """
    folders = [os.fspath(folder)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:  # whoever reads there says it better
            continue
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_symlink():
                raise RunError(
                    f"a link stands in the folder of {what}, and none is followed there",
                    where=entry.path,
                    todo="put what it leads to in its place, or remove it",
                )
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                raise RunError(f"what is no file stands in the folder of {what}", where=entry.path, todo="remove it")


def cache_folder(what: str) -> Path:
    """Where something that can be made again is kept: in ``bedside`` in ``XDG_CACHE_HOME``, or else in ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bedside" / what
