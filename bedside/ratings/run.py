"""The run: the folder that holds an evaluation.

Everything is a rating: one value or label that one rater gives one unit of a transcript for one metric.
Algorithms, judges and people are all raters.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from bedside.core.errors import RunError
from bedside.core.files import (
    Format,
    check_no_links,
    empty,
    file_digest,
    holding,
    make_folder,
    making,
    quiet,
    read_json,
    read_json_lines,
    saying_where,
    seal_of,
    sealed,
    sync,
    write_json,
)
from bedside.core.json_shape import BOOLEAN, INTEGER, NUMBER, TEXT, ObjectOf, OrNull, misfit
from bedside.core.stopping import phase
from bedside.core.words import counted, typed
from bedside.ratings.juries import with_juries
from bedside.ratings.names import is_algorithm, is_human, is_judge, is_jury
from bedside.ratings.run_folder import MANIFEST, is_run
from bedside.ratings.table import (
    KEY,
    RATING_PARTS,
    SCHEMA,
    TRANSCRIPT_FOLDER,
    TRANSCRIPT_SCHEMA,
    in_round,
    parse_transcript,
    to_pandas,
    wordless,
    write_new_table,
    write_table,
)
from bedside.transcripts.factor_kinds import Kind, kinds_named
from bedside.transcripts.simulation_folder import (
    FAILED,
    TRANSCRIPTS,
    check_simulated,
    checked_manifest,
    manifest_misfit,
    simulation_manifest,
    simulation_of,
)
from bedside.transcripts.transcript import PROVENANCE_SPEAKERS, Transcript

if TYPE_CHECKING:
    import pandas


FORMAT = Format(
    "run", 3, oldest=3,
    todo="score its transcripts into a new run; bedside ratings import NEW_RUN RUN/ratings.parquet brings over what "
    "people rated",
)  # fmt: skip
#: The manifest's key of the runs that a run was merged of: of each its folder as it was named, the SHA-256 of its
#: ratings, how many transcripts it had, and the rounds in which people rated it.
PARTS_KEY = "merged"
#: The manifest's key of what was removed on request. Of a rater who withdrew: of each plan of theirs the name of the
#: share that nobody has since, the date, how many answers and ratings, and who removed them, where that was said. Of
#: transcripts: ``kind`` (what they were chosen by), the date and counts; plan and share are empty.
REMOVED_KEY = "removed"
#: The file of a merged run that says which transcript is of which runs, by their place in the manifest's list.
PARTS_FILE = "parts.parquet"
PARTS_SCHEMA = pl.Schema({"transcript_id": pl.String(), "part": pl.Int32()})
RATINGS_FILE, SIMULATIONS = "ratings.parquet", "simulations.json"
#: The file that says which calls to judges wait for batches at providers.
BATCHES = "batches.json"
#: The files of all transcripts.
_EVERY_TRANSCRIPT = f"{TRANSCRIPT_FOLDER}/*.parquet"
#: What comes of reading a damaged table.
_DAMAGE = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, LookupError, TypeError,
    AttributeError,
)  # fmt: skip
#: What every manifest holds.
_MANIFEST_SHAPE = {
    "transcripts": {
        "count": INTEGER, "turns": INTEGER, "text": BOOLEAN, "skipped": [OrNull(TEXT)],
        "options": {"conditions": OrNull([TEXT]), "outcomes": OrNull([TEXT])},
        "inputs": [{"path": OrNull(TEXT), "format": TEXT, "transcripts": INTEGER}],
    },
    "scorings": [{
        "suite": OrNull(TEXT), "own_suite": OrNull({}), "metrics": [TEXT], "raters": [TEXT], "parameters": ObjectOf({}),
        "missing": [{"metric": TEXT, "rater": TEXT, "error": TEXT, "n": INTEGER}], "ratings": INTEGER, "bedside": TEXT,
        "python": TEXT, "libraries": ObjectOf(TEXT), "judges": OrNull(ObjectOf({})),
    }],
    "imports": [{"file": TEXT, "ratings": INTEGER, "scales": ObjectOf([(*TEXT, *NUMBER)])}],
    "rubrics": OrNull(ObjectOf({})),
    PARTS_KEY: OrNull([{"run": TEXT, "sha256": TEXT, "transcripts": INTEGER, "rounds": [TEXT]}]),
    REMOVED_KEY: OrNull([{"plan": TEXT, "share": TEXT, "date": TEXT, "answers": INTEGER, "ratings": INTEGER}]),
    "learnt": OrNull([{"rater": TEXT, "metric": TEXT, "digests": [TEXT]}]),
    "juries": OrNull(ObjectOf({
        "rater": TEXT, "members": [TEXT], "rule": TEXT, "quorum": INTEGER, "learning": ObjectOf({}),
        "metrics": ObjectOf({"levels": [NUMBER], "weights": [NUMBER]}),
    })),
    "files": ObjectOf(TEXT), "seal": TEXT,
}  # fmt: skip
#: A change of the two that is on disk whole and not in its place yet.
_CHANGE = ".change"
#: What names of folders begin with that a run holds while it is changed.
_SCRATCH = (".scoring.", ".judging.")
#: How long a change in the making is waited for, in hundredths of a second.
_PATIENCE = 20


def batches_under_way(folder: Path) -> list[tuple[str, list[str]]]:
    """The judge and the calls of each batch that a run waits for; none where nothing waits or can be read."""
    with suppress(*_DAMAGE):
        batches = orjson.loads((folder / BATCHES).read_bytes())["batches"]
        # Of a batch that was read, answers are left that another command wanted: nothing waits for them.
        return [(batch["judge"], list(batch["calls"])) for batch in batches if not batch["read"]]
    return []


class Run:
    """The folder of one evaluation: ratings, transcripts as read, and a manifest.

    Open one with :func:`bedside.read_run`.

    Attributes:
        path: the folder.
        manifest: what a stranger needs to repeat the run: versions, inputs with their SHA-256, suites, metrics,
            parameters, counts.

    Raises:
        RunError: the folder is missing, is not a run, or holds a link.

    Nothing is written to read it: a change that is on disk whole, and whose process ended before it was in its place,
    is read where it stands.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        if not os.path.isdir(self.path):
            raise RunError("there is no such run", where=str(path), todo="make one with bedside score")
        check_no_links(self.path, "a run")
        # A process may be putting a change in its place; one that was killed won't.
        for _ in range(_PATIENCE):
            if not (self.path / _CHANGE).exists():
                break
            time.sleep(0.01)
        self.manifest: dict[str, Any] = self._read_manifest()
        #: Files that were as they were written, and as what they were read: size and time of the last change.
        self._as_written: dict[str, tuple[int, int, int]] = {}

    def file(self, name: str) -> Path:
        """Where the ratings or the manifest stand: in the run, or in a whole change that is not in its place yet."""
        changed = self.path / _CHANGE / name
        return changed if changed.is_file() else self.path / name

    def _read_manifest(self) -> dict[str, Any]:
        file = self.file(MANIFEST)
        if simulation_manifest(self.path) is not None:
            raise RunError(
                "the folder is a simulation, and no run",
                where=str(self.path),
                todo=f"score it: bedside score {typed(self.path)} --out run",
            )
        if not is_run(self.path):
            raise RunError(
                f"the folder is not a run (it has no {MANIFEST})",
                where=str(self.path),
                todo="name a folder that bedside score made",
            )
        todo = "restore it, or score again"
        manifest: dict[str, Any] = read_json(file, "manifest", {"format": INTEGER}, todo=todo)
        FORMAT.check(manifest["format"], file)
        seal = seal_of(manifest)
        manifest = FORMAT.current(MANIFEST, manifest, manifest["format"])
        wrong = misfit(manifest, _MANIFEST_SHAPE)
        if wrong is not None:
            raise RunError(f"the manifest is damaged at {wrong}", where=str(file), todo=todo)
        if seal != manifest["seal"]:
            raise RunError("the manifest isn't as bedside wrote it (its seal doesn't fit)", where=str(file), todo=todo)
        return manifest

    def check_file(self, name: str) -> None:
        """See that a file is as it was written; each is read for it once.

        Args:
            name: in the run's folder; :data:`~bedside.ratings.table.TRANSCRIPT_FOLDER` stands for all in it.

        Raises:
            RunError: it is not there, or not as it was written, or there is another beside those of its folder.
        """
        names = [name]
        if name == TRANSCRIPT_FOLDER:
            there = {f"{name}/{file.name}" for file in (self.path / name).glob("*.parquet")}
            names = sorted(there | {kept for kept in self.manifest["files"] if kept.startswith(f"{name}/")})
        for member in names:
            file = self.file(member)
            with self.sound(member):
                state = file.stat()
            stamp = (state.st_ino, state.st_size, state.st_mtime_ns)
            if self._as_written.get(member) == stamp:
                continue
            digest = file_digest(file)
            if digest != self.manifest["files"].get(member):
                # A run may have been changed since its manifest was read, which is read again for that alone.
                changed = self._read_manifest()
                if digest != changed["files"].get(member):
                    what = "the file isn't as bedside wrote it (its SHA-256 is another)"
                    todo = "restore it from a copy, or score again into a new run; bedside verify says what can be used"
                    raise RunError(what, where=str(file), todo=todo)
                self.manifest["format"] = changed["format"]
            self._as_written[member] = stamp

    def waiting(self) -> list[str]:
        """Which calls wait for batches, and how to go on: two sentences; none where nothing waits or can be read."""
        batches = batches_under_way(self.path)
        calls = sum(len(calls) for _, calls in batches)
        judges = " and ".join(sorted({judge for judge, _ in batches}))
        wait = f"{'waits' if calls == 1 else 'wait'} for {counted(len(batches), 'batch')} at the provider."
        lines = [f"{counted(calls, 'call')} of {judges} {wait}", "The command that sent them goes on, typed again."]
        return lines if batches else []

    @property
    def keeps_text(self) -> bool:
        """Whether the run holds what was said."""
        return bool(self.manifest["transcripts"]["text"])

    @cached_property
    def contents(self) -> RunContents:
        """How much of what is in the run: three columns of its ratings are read for it, and no transcript.

        Raises:
            RunError: the ratings are missing or damaged.
        """
        kept = self.manifest["transcripts"]
        with self.sound(RATINGS_FILE):
            return RunContents.of(self.scan(), kept["count"], kept["turns"])

    def __repr__(self) -> str:
        try:
            holds = self.contents.line()
        except RunError as error:
            holds = error.what
        waits = "".join(f"; {line.rstrip('.')}" for line in self.waiting()[:1])
        return f"Run({str(self.path)!r}: {holds}{waits})"

    def _repr_html_(self) -> str | None:
        try:
            return self.contents.html(f"Run {self.path}")
        except RunError:
            return None

    def scan(self) -> pl.LazyFrame:
        """The ratings table, unread: filter it before collecting where a run is large."""
        return self.table(RATINGS_FILE, SCHEMA)

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """The ratings table (see :data:`COLUMNS`)."""
        with self.sound(RATINGS_FILE):
            return self.scan().collect()

    def to_pandas(self) -> pandas.DataFrame:
        """The ratings table as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return to_pandas(self.ratings)

    @cached_property
    def index(self) -> pl.DataFrame:
        """One row a transcript, without its content: id, system, case_id, language, factors (JSON), turns, hash,
        source."""
        with self.sound(TRANSCRIPT_FOLDER):
            return self.table(_EVERY_TRANSCRIPT, TRANSCRIPT_SCHEMA).drop("content").collect()

    @cached_property
    def factors(self) -> pl.DataFrame:
        """One row a transcript: its id as ``transcript_id``, and a column for each factor (text)."""
        with self.sound(TRANSCRIPT_FOLDER):
            rows = [
                {
                    "transcript_id": name,
                    **{key: None if value is None else str(value) for key, value in factors.items()},
                }
                for name, text in self.index.select("id", "factors").iter_rows()
                for factors in (orjson.loads(text),)
            ]
        names = sorted({key for row in rows for key in row} - {"transcript_id"})
        return pl.DataFrame(rows, schema={"transcript_id": pl.String(), **dict.fromkeys(names, pl.String())})

    @property
    def declared_kinds(self) -> dict[str, Kind]:
        """The kinds of factors that whoever scored the run declared, by factor."""
        options = self.manifest["transcripts"]["options"]
        return kinds_named(options.get("conditions") or (), options.get("outcomes") or ())

    def check_told_apart(self) -> None:
        """Refuse a run of an earlier version, in which system messages or tools are turns: whoever is asked about them
        would read them.

        Raises:
            RunError: it is one, and the user didn't say that such a speaker takes part.
        """
        options = self.manifest["transcripts"].get("options") or {}
        taking_part = {name.strip().casefold() for name in options.get("roles") or {}}
        names = [name for name in PROVENANCE_SPEAKERS if name not in taking_part]
        pattern = rf'(?i)"role":"other","speaker":"\s*(?:{"|".join(names)})\s*[:：]?\s*"'
        with self.sound(TRANSCRIPT_FOLDER):
            turns = pl.col("content").str.contains(pattern)
            old = self.table(_EVERY_TRANSCRIPT, TRANSCRIPT_SCHEMA).filter(turns).select("id").head(1).collect()
        if not old.is_empty():
            raise RunError(
                f"system messages or tools are turns of transcript {old.item()!r}, as in earlier versions, and "
                "whoever rates would read them",
                where=str(self.path),
                todo="score the transcripts into a new run; turns are then numbered without them",
            )

    def transcripts(self) -> Iterator[Transcript]:
        """The transcripts as they were read, one by one.

        Raises:
            RunError: the run keeps no text.
        """
        for part in sorted((self.path / TRANSCRIPT_FOLDER).glob("*.parquet")):
            yield from self._read(f"{TRANSCRIPT_FOLDER}/{part.name}", True)

    def transcript(self, name: str) -> Transcript:
        """The transcript with this id.

        Raises:
            RunError: there is none, or the run keeps no text.
        """
        transcript = next(self.transcripts_named([name]), None)
        if transcript is None:
            raise RunError(f"there is no transcript {name!r}", where=str(self.path))
        return transcript

    def transcripts_named(self, names: Collection[str]) -> Iterator[Transcript]:
        """The transcripts with these ids, in the order of the run.

        Raises:
            RunError: the run keeps no text.
        """
        return self._read(_EVERY_TRANSCRIPT, pl.col("id").is_in(list(names)))

    def _read(self, table: str, condition: pl.Expr | bool) -> Iterator[Transcript]:
        """The transcripts of a table that meet a condition."""
        place = TRANSCRIPT_FOLDER if table == _EVERY_TRANSCRIPT else table
        with self.sound(place):
            rows = self.table(table, TRANSCRIPT_SCHEMA).filter(condition).select("id", "content", "source").collect()
        for name, content, source in rows.iter_rows():
            if content is None:
                raise RunError(
                    f"the run keeps no text of transcript {name!r}",
                    where=str(self.path),
                    todo="score again into a new run with bedside score, without `text=False`",
                )
            with self.sound(TRANSCRIPT_FOLDER):
                transcript = parse_transcript(content, source)
            yield transcript

    @contextmanager
    def sound(self, name: str) -> Iterator[None]:
        """Turns what reading a damaged table comes to into a message that names it."""
        try:
            with quiet():
                yield
        except _DAMAGE as error:
            raise RunError(
                "the table is missing or damaged", where=str(self.file(name)), todo="score again into a new run"
            ) from error

    def add(
        self, ratings: pl.LazyFrame, manifest: Mapping[str, Any], *, key: Sequence[str] = KEY,
        sources: Iterable[str | os.PathLike[str]] = (),
    ) -> int:  # fmt: skip
        """Add ratings, replacing those of the same key, and put ``manifest`` in place of the old one: both, or neither.

        What juries say is made anew from their members' ratings. The run must be :meth:`locked`.

        Args:
            ratings: the new ones; without the column, of no round.
            manifest: the new one.
            key: the columns of the key; with fewer than :data:`KEY`, old ratings go whose units are not rated again.
            sources: files of the transcripts; what those of simulations say of them is kept.

        Returns:
            How many ratings were replaced.
        """
        if "round" not in ratings.collect_schema():
            ratings = in_round(ratings)
        if not self.keeps_text:
            ratings = wordless(ratings)
        keys = ratings.select(key).unique()
        old = self.scan()
        with self.sound(RATINGS_FILE):
            replaced = old.join(keys, on=key, how="semi").select(pl.len()).collect().item()
        kept = old.join(keys, on=key, how="anti", maintain_order="left") if replaced else old
        self.rewrite(pl.concat([kept, ratings]), manifest, sources=sources)
        return int(replaced)

    def rewrite(
        self,
        ratings: pl.LazyFrame,
        manifest: Mapping[str, Any],
        *,
        sources: Iterable[str | os.PathLike[str]] = (),
        files: Mapping[str, Callable[[Path], object]] | None = None,
    ) -> None:
        """Put ratings, the manifest and other files in place of those that are there: all of them, or none.

        What juries say is made anew. The run must be :meth:`locked`.

        Args:
            ratings: all of the run's.
            manifest: the new one.
            sources: as for :meth:`add`.
            files: name in the run's folder → what writes the file at a path.
        """
        with self.sound(RATINGS_FILE), making(self.path / _CHANGE) as folder:
            write_table(folder / RATINGS_FILE, with_juries(ratings, manifest))
            keep_simulations(folder, sources)
            for name, write in (files or {}).items():
                make_folder((folder / name).parent)
                write(folder / name)
            write_manifest(folder, manifest, others=self.manifest["files"])
        self._settle()
        self.manifest = self._read_manifest()
        self._forget()

    def _forget(self) -> None:
        """Have the tables read again when they are next asked for."""
        for name in ("ratings", "contents", "index", "factors"):
            self.__dict__.pop(name, None)

    def _settle(self) -> None:
        """Put a change in its place that is on disk whole; its process may have ended in the middle of that.

        The run must be :meth:`locked`.
        """
        change = self.path / _CHANGE
        if not change.is_dir():
            return
        with saying_where(self.path):
            below = sorted(change.rglob("*"), reverse=True)  # what is in a folder stands before it
            folders = [path.relative_to(change) for path in below if path.is_dir()]
            last = [*map(Path, (RATINGS_FILE, SIMULATIONS, MANIFEST))]
            files = [name for path in below if not path.is_dir() and (name := path.relative_to(change)) not in last]
            for name in (*files, *last):
                with suppress(FileNotFoundError):  # another process was faster
                    os.replace(change / name, self.path / name)
            for folder in (*folders, Path()):
                sync(self.path / folder)
                with suppress(FileNotFoundError):
                    (change / folder).rmdir()

    @contextmanager
    def hold(self, patience: float = 0.0) -> Iterator[None]:
        """Keep others from changing the run while it is read; its manifest is read again: it may have changed before.

        Args:
            patience: how long to wait for another process that changes it, in seconds.

        Raises:
            RunError: another process holds it, or a link stands in it.
        """
        check_no_links(self.path, "a run")
        what = ": ".join(["another bedside process is changing this run", *self.waiting()[:1]]).rstrip(".")
        refusal = RunError(what, where=str(self.path), todo="wait until it ends")
        with holding(self.path / ".lock", refusal, patience):
            self.manifest = self._read_manifest()
            self._forget()
            yield

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[None]:
        """Hold the run while it is changed, as :meth:`hold` does; what a killed process left in the middle of a change
        is put in its place, or removed. A run of an earlier format is of the present one from then on.

        Raises:
            RunError: another process holds it, or a link stands in it.
        """
        with self.hold(patience):
            for kind in _SCRATCH:
                empty(self.path, f"{kind}*")
            self._settle()
            if self.manifest["format"] < FORMAT.version:
                parts = [name for name in self.manifest["files"] if name.startswith(f"{TRANSCRIPT_FOLDER}/")]
                files = {name: self.table(name, TRANSCRIPT_SCHEMA).sink_parquet for name in parts}
                self.rewrite(self.scan(), {**self.manifest, "format": FORMAT.version}, files=files)
            yield

    def note(self, *names: str) -> None:
        """Have the manifest say which of some files stand in the run; each says itself how it was written.

        The run must be :meth:`locked`.
        """
        noted = dict.fromkeys((name for name in names if (self.path / name).is_file()), "") | self.manifest["files"]
        if noted != self.manifest["files"]:
            write_json(self.path / MANIFEST, sealed(self.manifest, self.path, (), noted))
            self.manifest = self._read_manifest()

    @property
    def seal(self) -> str:
        """The manifest's seal, whatever was noted: no rating is another for that."""
        files = {name: digest for name, digest in self.manifest["files"].items() if digest}
        return seal_of({**self.manifest, "files": files})

    def table(self, name: str, schema: pl.Schema) -> pl.LazyFrame:
        """A Parquet table of the folder, unread.

        Raises:
            RunError: it is missing, damaged, or has other columns.
        """
        self.check_file(TRANSCRIPT_FOLDER if name == _EVERY_TRANSCRIPT else name)
        with self.sound(name):
            parts = [self.file(str(part.relative_to(self.path))) for part in sorted(self.path.glob(name))]
            table = self.current(name, pl.scan_parquet(parts or self.file(name)))
            actual = table.collect_schema()
        if actual != schema:
            raise RunError("the table has other columns than a run's", where=str(self.file(name)), todo="score again")
        return table

    def current(self, name: str, table: pl.LazyFrame) -> pl.LazyFrame:
        """A table of the folder, as the present format has it."""
        current: pl.LazyFrame = FORMAT.current(name.partition("/")[0], table, self.manifest["format"])
        return current


def read_run(path: str | os.PathLike[str]) -> Run:
    """Open a run.

    Raises:
        RunError: the folder is missing or is not a run.
    """
    return Run(path)


@contextmanager
def new_run(path: Path) -> Iterator[Path]:
    """A private temporary folder that becomes the run at ``path`` when the block ends well.

    Raises:
        RunError: ``path`` exists and isn't an empty folder, can't be made, or is being made by another process.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise RunError("this exists and is not a run", where=str(path), todo="choose another folder with `out`")
    with making(path) as folder:
        yield folder


@phase("writing")
def write_new_run(folder: Path, ratings: pl.LazyFrame, manifest: Mapping[str, Any]) -> None:
    """Write ratings and a manifest into ``folder``, where a run's transcripts are already.

    Ratings without the column are of no round.
    """
    if "round" not in ratings.collect_schema():
        ratings = in_round(ratings)
    write_new_table(folder / RATINGS_FILE, ratings)
    shutil.rmtree(folder / RATING_PARTS, ignore_errors=True)
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: Mapping[str, Any], *, others: Mapping[str, str] | None = None) -> None:
    """Write a manifest, sealed, with the SHA-256 of each of the run's files; judgements have digests of their own.

    Args:
        folder: where these files stand.
        manifest: the rest of what it says.
        others: the SHA-256 of files that stand elsewhere, by name.
    """
    parts = (f"{TRANSCRIPT_FOLDER}/{file.name}" for file in (folder / TRANSCRIPT_FOLDER).glob("*.parquet"))
    names = (RATINGS_FILE, PARTS_FILE, SIMULATIONS, *parts)
    write_json(folder / MANIFEST, sealed(manifest, folder, names, others))


@dataclass(frozen=True, slots=True)
class RunContents:
    """How much of what is in a run.

    Attributes:
        transcripts, turns: counts.
        ratings: counts by rater.
        metrics: how many different ones are rated.
        missing: ratings that have an error in place of a value.
    """

    transcripts: int
    turns: int
    ratings: Mapping[str, int]
    metrics: int
    missing: int

    @classmethod
    def of(cls, table: pl.LazyFrame, transcripts: int, turns: int) -> RunContents:
        """What a ratings table holds, for that many transcripts and turns."""
        by_rater, metrics = pl.collect_all(
            [
                table.group_by("rater").agg(pl.len().alias("n"), pl.col("error").count()).sort("rater"),
                table.select(pl.col("metric").n_unique()),
            ]
        )
        return cls(
            transcripts,
            turns,
            ratings=dict(by_rater.select("rater", "n").iter_rows()),
            metrics=int(metrics.item()),
            missing=int(by_rater["error"].sum()),
        )

    def line(self) -> str:
        """All of it in a line."""
        kinds = {
            "person": sum(map(is_human, self.ratings)),
            "judge": sum(map(is_judge, self.ratings)),
            "jury": sum(map(is_jury, self.ratings)),
            "algorithm": sum(map(is_algorithm, self.ratings)),
        }
        kinds["other rater"] = len(self.ratings) - sum(kinds.values())
        raters = ", ".join(counted(count, kind) for kind, count in kinds.items() if count)
        return (
            f"{counted(self.transcripts, 'transcript')}, {counted(sum(self.ratings.values()), 'rating')} on "
            f"{counted(self.metrics, 'metric')}" + (f" by {raters}" if raters else "")
        )

    def html(self, title: str) -> str:
        """A small HTML table with the ratings of each rater."""
        counts = [
            ("Transcripts", self.transcripts),
            ("Turns", self.turns),
            ("Metrics", self.metrics),
            ("Ratings", sum(self.ratings.values())),
            ("… of them missing", self.missing),
            *((f"… by {rater}", count) for rater, count in self.ratings.items()),
        ]
        rows = "".join(
            f'<tr><th scope="row" style="text-align: start"><bdi>{escape(what)}</bdi></th><td>{count:,}</td></tr>'
            for what, count in counts
        )
        return f"<table><caption><bdi>{escape(title)}</bdi></caption><tbody>{rows}</tbody></table>"


def removed_words(manifest: Mapping[str, Any], plan: str = "") -> list[str]:
    """What was removed of a run on request, or of a plan by its hash because raters withdrew: a sentence a kind."""
    removed = manifest.get(REMOVED_KEY) or ()
    entries = [entry for entry in removed if entry["share"] and plan in ("", entry["plan"])]
    others = [entry for entry in removed if not entry["share"] and not plan]
    raters = len({entry["share"] for entry in entries})
    whose = "1 rater's" if raters == 1 else f"{raters:,} raters'"
    counts = [counted(sum(entry[f"{noun}s"] for entry in entries), noun) for noun in ("answer", "rating")]
    lines = [f"{whose} data were removed on request: {' and '.join(counts)}."] if entries else []
    if others:
        nouns = ("transcript", "rating", "answer", "judgement")
        counts = [counted(sum(entry.get(f"{noun}s", 0) for entry in others), noun) for noun in nouns]
        lines.append(f"Removed on request: {', '.join(counts)}.")
    return lines


def merged_parts(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a manifest says of the runs that its run was made of; none where it wasn't merged."""
    return list(manifest.get(PARTS_KEY) or ())


#: What is read of a conversation that has no transcript.
_FAILURE = {
    "id": TEXT, "system": TEXT, "case": OrNull(TEXT), "persona": OrNull(TEXT), "state": TEXT, "whose": OrNull(TEXT),
    "reason": OrNull(TEXT),
}  # fmt: skip
_ENTRY = {"path": TEXT, "manifest": {}, "failures": [_FAILURE]}


@dataclass(frozen=True, slots=True)
class RunSimulation:
    """A simulation whose transcripts are in a run.

    Attributes:
        path: its folder when it was scored; its hidden states stand there.
        manifest: what was simulated, and what it took.
        failures: the conversations that have no transcript: their id, system, case, persona, setting, length and
            repeat, ``state`` (failed or unfinished), ``whose`` doing it is and the ``reason``.
    """

    path: str
    manifest: dict[str, Any]
    failures: tuple[dict[str, Any], ...]


def keep_simulations(folder: Path, files: Iterable[str | os.PathLike[str]]) -> None:
    """Keep in a run's folder what its files say of simulations; nothing where none is a simulation's.

    Raises:
        RunError: a simulation's file isn't as it was written.
    """
    places = dict.fromkeys(place for place in map(simulation_of, files) if place is not None)
    for place in places:
        check_simulated(place, TRANSCRIPTS)
        check_simulated(place, FAILED)
    simulations = [
        {
            "path": os.path.abspath(place),
            "manifest": checked_manifest(place),
            "failures": list(_failures(place / FAILED)),
        }
        for place in places
    ]
    if simulations:
        write_json(folder / SIMULATIONS, simulations)


def merge_simulations(folder: Path, sources: Iterable[tuple[Path, Callable[[str], str]]]) -> None:
    """Keep in a merged run's folder what its runs keep of simulations, each once; nothing where none does.

    Args:
        folder: the merged run's.
        sources: of each run its folder, and what names of transcripts become.
    """
    simulations: dict[bytes, dict[str, Any]] = {}
    for path, renamed in sources:
        for simulation in run_simulations(path):
            entry = asdict(simulation)
            entry["failures"] = [{**failure, "id": renamed(failure["id"])} for failure in entry["failures"]]
            simulations.setdefault(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS), entry)
    if simulations:
        write_json(folder / SIMULATIONS, list(simulations.values()))


def run_simulations(folder: str | os.PathLike[str]) -> tuple[RunSimulation, ...]:
    """The simulations that a run's transcripts come from; none for transcripts of other origin.

    Raises:
        RunError: the file is damaged.
    """
    run = Run(folder)
    path = run.file(SIMULATIONS)
    if SIMULATIONS not in run.manifest["files"] and not path.is_file():
        return ()
    run.check_file(SIMULATIONS)
    noun = "record of the run's simulations"
    entries = read_json(path, noun, [_ENTRY], todo="score again")
    for number, entry in enumerate(entries):
        why = manifest_misfit(entry["manifest"]) if entry["manifest"] else None
        if why is not None:
            what = f"the {noun} can't be read ({number}.manifest.{why})"
            raise RunError(what, where=str(path), todo="score again")
    return tuple(RunSimulation(entry["path"], entry["manifest"], tuple(entry["failures"])) for entry in entries)


def _failures(failed: Path) -> Iterator[dict[str, Any]]:
    """The conversations without a transcript, but for details: they may quote what was said."""
    if failed.is_file():
        todo = "bedside simulate with the same options writes it again"
        for _, failure in read_json_lines(failed, "list of what failed in the simulation", _FAILURE, todo=todo):
            yield {key: value for key, value in failure.items() if key != "detail"}
