"""Writes down what bedside does, before something is moved and after, and says what differs.

    python tools/record_behaviour.py FOLDER [--against EARLIER] [--only people,suites]

It types the commands below, each group in a folder of its own, and keeps what they print and every file that they
write: dates, durations, ports and paths of this machine are replaced, a database becomes its rows, a Parquet file its
table, a zip its members. Beside them stand the public names, the names of all registries, the options, the versions of
raters and the digests of prompts. ``--against`` lists what isn't equal, with the first place that differs.
A judge is a server in this process that answers by the prompt alone; keys of judgements are among the databases' rows.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import multiprocessing
import os
import re
import shlex
import sqlite3
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from pathlib import Path

import openpyxl
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.judges.llm.server import JudgeServer  # noqa: E402
from tests.metamorphic.studies import study, written_table, written_talks  # noqa: E402

_EXAMPLES = ROOT / "bedside" / "examples"
_PROTOCOLS = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")
_SUITES = ("calm-it", "default", "mdd5k", "medconceal", "multisense", "note2chat", "simulated-patient")
_FORMS = ("csv", "xlsx", "argilla", "potato", "doccano", "prodigy", "label-studio")

#: Groups of commands: each has a folder, and its commands come one after the other. EXAMPLES and JUDGE are replaced;
#: a line that begins with a bracket calls a function of this file.
GROUPS: dict[str, str] = {
    "study": """
        demo --out run
        read EXAMPLES/transcripts.jsonl --json
        read EXAMPLES/ratings.csv
        read EXAMPLES/ratings-wide.csv
        agree run --json
        agree run --confusion --weights linear
        agree EXAMPLES/ratings.csv --scale 1-5 --json
        agree EXAMPLES/ratings-wide.csv --scale 1-5
        validate run --json
        estimate run --json
        compare run --json
        compare run --test permutation --alternative greater
        compare run --reference steady --metrics percent_* --margin 5
        compare run --groups completed
        gate run --baseline steady --system brisk --margin smog=1 --json
        compare run --over length --json
        compare run --over messages --json
        compare run --against steady --json
        compare run --preferences --json
        explain run --cell smog/steady
        explain run --table agreement --cell empathy
        scrub EXAMPLES/transcripts.jsonl --show
        export run --to csv-folder --out for-r
        export run --to hf-folder --licence cc-by-4.0 --origin written --out dataset
        export run --to convokit --out corpus
        report run --methods
        report run --table results --format latex --columns 2 --out tables
        score EXAMPLES/transcripts.jsonl --suite default --conditions persona --out conditioned
        plan kappa --half-width .1 --kappa .6 --raters 2,3 --json
        plan difference --difference .5 --json
    """,
    **{
        f"made-{seed}": f"""
            [study-{seed}]
            score talks.jsonl --out run
            ratings import run ratings.csv SCALES
            ratings import run pairs.csv
            agree run --json
            agree run --confusion --weights linear
            validate run --json
            estimate run --json
            estimate run
            compare run --json
            compare run
            compare run --test permutation --json
            compare run --over length --json
            compare run --over messages --json
            compare run --against amber --json
            compare run --preferences --json
            gate run --baseline amber --system birch --margin words=5
            report run
            report run --methods
        """
        for seed in (0, 1, 3)
    },
    "judged": """
        score EXAMPLES/transcripts.jsonl --out run --judge JUDGE --rubrics empathy,values_detected --passes 2
        score EXAMPLES/transcripts.jsonl --out run --judge JUDGE --rubrics empathy,partnership --order rubric-first
        score EXAMPLES/transcripts.jsonl --out run --judge JUDGE --rubrics question,reflection --batch-out calls.jsonl
        ratings import run EXAMPLES/ratings.csv --scale 1-5
        judge answers list run --json
        judge answers passes run --json
        judge pairs run --rubrics empathy --judge JUDGE
        judge jury run --jury panel=judge:tiny,judge:tiny@rubric-first
        agree run --json
        validate run --json
        estimate run --json
        compare run --json
        compare run --preferences --json
        gate run --baseline steady --margin empathy=1
        validate run --probe --judge JUDGE --rubrics empathy
        judge learn run --rubric empathy --split .5 --out empathy.npz
        judge tune run --rubric empathy --judge JUDGE --dry-run
        report run
        export run --to csv-folder --judgements --out for-r
    """,
    "people": "\n".join(
        [
            "score EXAMPLES/transcripts.jsonl --out run",
            "sample run --raters anna,ben --rubrics empathy --by system --per 4 --out plan.json --json",
            "sample run --raters 3 --mode codes --rubrics question,reflection --out codes.json",
            "sample run --raters 3 --mode pairs --rubrics empathy --per 5 --out pairs.json",
            *(f"annotate export plan.json --format {form} --out {form}" for form in _FORMS),
            "annotate export codes.json --format csv --out codes-csv",
            "annotate export codes.json --format label-studio --out codes-studio",
            "annotate export pairs.json --format csv --out pairs-csv",
            "annotate export pairs.json --format label-studio --out pairs-studio",
            "annotate page plan.json --links",
            "[pages]",
            "[fill]",
            "annotate import plan.json xlsx/anna.xlsx csv/ben.csv",
            "annotate import codes.json codes-csv/rater-1.csv codes-csv/rater-2.csv codes-csv/rater-3.csv",
            "annotate import pairs.json pairs-csv/rater-1.csv pairs-csv/rater-2.csv pairs-csv/rater-3.csv",
            "annotate status plan.json --json",
            "annotate revisions plan.json",
            "annotate adjudicate plan.json --adjudicator dora --out adjudication.json",
            "agree run --json",
            "compare run --preferences --json",
            "report run",
        ]
    ),
    **{
        f"simulated-{protocol}": f"""
            simulate --protocol {protocol} --clinician script:good --clinician script:brisk --repeats 2 --out talks
            simulate status talks --json
            simulate failed talks
            simulate quality talks --out quality
            score talks --suite {protocol} --judge JUDGE --out run
            compare run --json
            report run --as-published --published-numbers
        """
        for protocol in _PROTOCOLS
    },
    "protocols": """
        benchmark medconceal --clinician script:good --clinician script:brisk --out bench
        benchmark add bench --clinician rules
        simulate --protocol medconceal --clinician script:good --out talks
        simulate turns talks --out turns.jsonl
        simulate --protocol mdd5k --clinician rules --out interviews
        simulate dialogues interviews --out dialogues.json
        simulate --protocol calm-it --clinician JUDGE --patient JUDGE --lengths 30 --sample 1 --out asked
        simulate --protocol note2chat --clinician JUDGE --patient JUDGE --sample 2 --out written
    """,
    "suites": "\n".join(
        f"score EXAMPLES/transcripts.jsonl --suite {suite} --judge JUDGE --out {suite}\nreport {suite}"
        for suite in _SUITES
    ),
    "names": """
        suites --json
        metrics --json
        rubrics --json
        probes --json
        readers --json
        list coders --json
        list protocols --json
        schema --json
        [registries]
        [help]
        [schemas]
        [public]
        [shown]
    """,
}

#: What is of its moment or machine, and what stands there instead.
_VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?"), "<time>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r'(/#|"anna": "|"ben": ")[\w-]{32}(?=["\s])'), r"\1<link>"),
    # Answers hold when they were given.
    (re.compile(r'(answers\.jsonl",\s+"sha256": ")\w+'), r"\1<digest>"),
    (re.compile(r"Matplotlib is building the font cache.*\n"), ""),
    (re.compile(r"in \d+(\.\d+)? (s|seconds|minutes)\b"), "in <duration>"),
    (re.compile(r'("(?:seconds|duration|latency|elapsed|wall_seconds)":\s*)[\d.eE+-]+'), r"\1<duration>"),
)
#: Files whose bytes hold when or where they were made; what they show stands in the others.
_UNSTEADY = (".pdf", ".png", ".npz")


def commands(group: str) -> Iterator[str]:
    """The commands of a group, one line each."""
    for line in GROUPS[group].splitlines():
        if line.strip():
            yield line.strip()


def typed(words: list[str], folder: Path, output: Path) -> None:
    """Run one command in a process that has everything imported; what it prints goes to a file."""
    os.chdir(folder)
    with output.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.argv = ["bedside", *words]
    from bedside.__main__ import main

    code: object = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, f"exit {code or 0}\n".encode())


class Recorder:
    """Where commands run and where what came of them is kept.

    Attributes:
        work: folder of the groups.
        kept: folder of the record.
    """

    def __init__(self, work: Path, kept: Path) -> None:
        self.work = work
        self.kept = kept
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["bedside.cli", "tools.record_behaviour", "numpy", "polars"])

    def group(self, name: str) -> str:
        """Run one group; how many commands, and how long."""
        began = time.monotonic()
        folder = self.work / name
        (self.kept / name).mkdir(parents=True)
        folder.mkdir(parents=True)
        known: dict[Path, str] = {}
        scales = ""
        with JudgeServer(keep=False) as server:
            for number, line in enumerate(commands(name)):
                place = self.kept / name / f"{number:02} {re.sub(r'[^a-zA-Z0-9.-]+', '-', line)[:70]}"
                place.mkdir()
                (place / "command").write_text(line + "\n", "utf-8")
                if line.startswith("["):
                    called, _, argument = line.strip("[]").partition("-")
                    for file, text in _CALLED[called](folder, *argument.split()):
                        (place / file).write_text(text, "utf-8")
                        scales = text if file == "scales" else scales
                else:
                    full = line.replace("EXAMPLES", str(_EXAMPLES)).replace("JUDGE", server.judge)
                    words = shlex.split(full.replace("SCALES", scales))
                    output = self.work / f"{name}.output"
                    process = self._context.Process(target=typed, args=(words, folder, output))
                    process.start()
                    process.join()
                    (place / "printed").write_text(self.steady(output.read_text("utf-8")), "utf-8")
                self._files(folder, place, known)
        return f"{name}: {number + 1} commands, {time.monotonic() - began:.0f} s"

    def _files(self, folder: Path, place: Path, known: dict[Path, str]) -> None:
        """Keep the files that are new or changed since the last command."""
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.suffix in (".lock", ".sqlite-wal", ".sqlite-shm") or ".cache" in path.parts:
                continue
            text = self.steady(content(path))
            if known.get(path) != text:
                known[path] = text
                target = place / "files" / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                (target.parent / f"{target.name}.txt").write_text(text, "utf-8", errors="replace")

    def steady(self, text: str) -> str:
        """A text without what is of its moment or machine."""
        text = text.replace(str(self.work), "<work>").replace(str(ROOT), "<bedside>")
        for pattern, instead in _VOLATILE:
            text = pattern.sub(instead, text)
        return text


def content(path: Path) -> str:
    """What a file says, as text."""
    if path.suffix in _UNSTEADY:
        return f"{path.suffix} file\n"
    if path.suffix == ".parquet":
        return _of_parquet(path.read_bytes())
    if path.suffix in (".sqlite", ".db"):
        return _of_database(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as parts:
            return "".join(
                f"== {name}\n{_text(parts.read(name), name)}\n"
                for name in sorted(parts.namelist())
                if "docProps/core" not in name
            )
    return _text(path.read_bytes(), path.name)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return f"{name}: {len(data)} bytes, {hashlib.sha256(data).hexdigest()}\n"


def _of_parquet(data: bytes) -> str:
    frame = pl.read_parquet(io.BytesIO(data))
    texts = [
        pl.col(name).map_elements(lambda value: value.decode("utf-8", "replace"), pl.String)
        for name, kind in frame.schema.items()
        if kind == pl.Binary
    ]
    return f"{frame.schema}\n{frame.with_columns(texts).write_ndjson()}"


def _of_database(path: Path) -> str:
    lines = []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        for name, sql in database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall():
            lines.append(f"-- {sql}")
            if sql and sql.upper().startswith("CREATE TABLE"):
                rows = database.execute(f'SELECT * FROM "{name}"').fetchall()
                lines.extend(sorted(repr(tuple(_plain(value) for value in row)) for row in rows))
    return "\n".join(lines) + "\n"


def _plain(value: object) -> object:
    """A number with a point may be a moment or a duration; a blob is its digest."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()[:16]
    return "<number>" if isinstance(value, float) and value > 0.001 and not value.is_integer() else value


# -- what no command prints -------------------------------------------------------------------------


def _registries(folder: Path) -> Iterator[tuple[str, str]]:
    """Names of all registries, by the group under which other packages add to them."""
    import importlib
    import pkgutil

    import bedside
    from bedside.core.registry import DataRegistry, Registry

    lines = set()
    for module in pkgutil.walk_packages(bedside.__path__, "bedside."):
        if module.name.endswith("__main__"):
            continue
        with contextlib.suppress(ImportError):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, DataRegistry | Registry):
                    lines.add(f"{value.group}: {', '.join(value.names())}")
    yield "registries", "\n".join(sorted(lines)) + "\n"


def _help(folder: Path) -> Iterator[tuple[str, str]]:
    """Every command's options, with kinds, defaults and words."""
    from bedside.cli import command_line

    def walk(command: object, name: str) -> Iterator[str]:
        yield f"== {name}\n{getattr(command, 'help', '')}"
        for option in getattr(command, "params", ()):
            facts = [
                getattr(option, name, None) for name in ("opts", "secondary_opts", "metavar", "required", "multiple")
            ]
            kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
            default = "made when asked" if callable(option.default) else repr(option.default)
            yield f"{facts} {getattr(kind, '__name__', kind)} {default} {getattr(option, 'help', None)}"
        for child, found in sorted(getattr(command, "commands", {}).items()):
            yield from walk(found, f"{name} {child}")

    yield "options", "\n".join(walk(command_line(), "bedside")) + "\n"


def _schemas(folder: Path) -> Iterator[tuple[str, str]]:
    """The JSON Schemas as they are shipped."""
    for path in sorted((ROOT / "bedside").rglob("*.schema.json")):
        yield path.name, path.read_text("utf-8")


def _public(folder: Path) -> Iterator[tuple[str, str]]:
    """Public names with their signatures."""
    import inspect

    import bedside

    lines = []
    for name in sorted(bedside.__all__):
        value = getattr(bedside, name)
        try:
            lines.append(f"{name}{inspect.signature(value)}" if callable(value) else f"{name}: {type(value).__name__}")
        except ValueError:
            lines.append(name)
    yield "names", re.sub(r"\bbedside\.[\w.]*\.(\w+)", r"\1", "\n".join(lines)) + "\n"


def _shown(folder: Path) -> Iterator[tuple[str, str]]:
    """Digests of rubrics, which raters' versions and judgements' keys are made of."""
    from bedside.core.errors import RegistryError
    from bedside.judges.rubrics.rubric_files import find_rubric

    lines = []
    shipped = {path.stem for path in (ROOT / "bedside").rglob("*.yaml") if path.parent.name in ("shipped", "codebook")}
    for name in sorted(shipped):
        try:
            rubric = find_rubric(name)
        except RegistryError:
            continue  # another kind of file beside them
        lines.append(
            f"{name} {getattr(rubric, 'version', '')} {hashlib.sha256(repr(rubric).encode()).hexdigest()[:16]}"
        )
    yield "rubrics", "\n".join(lines) + "\n"


def _value(column: str, number: int, sheet: str) -> str | None:
    """What the raters of this record answer; None where the column isn't asked."""
    drawn = int(hashlib.sha256(f"{column} {number} {sheet}".encode()).hexdigest(), 16)
    if column in ("question", "reflection"):
        codes = {"question": ("open", "closed", "none"), "reflection": ("simple", "complex", "none")}
        return codes[column][drawn % 3]
    if column == "empathy":
        return ("first", "second", "tie")[drawn % 3] if sheet == "pairs-csv" else str(1 + drawn % 5)
    return None


def _fill(folder: Path) -> Iterator[tuple[str, str]]:
    """Answer the sheets as two raters would."""
    for path in sorted(folder.glob("*csv/*.csv")):
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
        speaker = rows[0].index("speaker") if "speaker" in rows[0] else None
        for number, row in enumerate(rows[1:]):
            if speaker is not None and row[speaker] != "Clinician":
                continue
            for place, column in enumerate(rows[0]):
                if not row[place] and (value := _value(column, number, path.parent.name)) is not None:
                    row[place] = value
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(rows)
    for path in sorted(folder.glob("xlsx/*.xlsx")):
        book = openpyxl.load_workbook(path)
        sheet = book["Answers"]
        names = [cell.value for cell in sheet[1]]
        for line in range(2, sheet.max_row + 1):
            for place, column in enumerate(names, 1):
                if (value := _value(str(column), line, "xlsx")) is not None:
                    sheet.cell(line, place).value = int(value)
        book.save(path)
        # The library writes when it did so.
        with zipfile.ZipFile(path) as parts:
            held = {name: parts.read(name) for name in parts.namelist()}
        with zipfile.ZipFile(path, "w") as parts:
            for name, data in held.items():
                parts.writestr(
                    zipfile.ZipInfo(name), re.sub(rb"20\d\d-\d\d-\d\dT[\d:]+Z", b"2026-01-01T00:00:00Z", data)
                )
    yield "filled", ""


def _pages(folder: Path) -> Iterator[tuple[str, str]]:
    """The rating page's own files, as served."""
    for path in sorted((ROOT / "bedside").rglob("*.html")) + sorted((ROOT / "bedside").rglob("*.css")):
        yield path.name, path.read_text("utf-8")


def _study(folder: Path, seed: str) -> Iterator[tuple[str, str]]:
    """A study with lengths, groups, repeats, ratings and comparisons, as the tests make it."""
    made = study(int(seed))
    written_talks(made, folder / "talks.jsonl")
    written_table(made.ratings, folder / "ratings.csv")
    if made.pairs:
        written_table(made.pairs, folder / "pairs.csv")
    rated = {row["metric"] for row in made.ratings}
    scales = [f"--scale {metric}={scale}" for metric, scale in made.scales.items() if metric in rated]
    yield "scales", " ".join(scales)


_CALLED: dict[str, Callable[..., Iterator[tuple[str, str]]]] = {
    "study": _study,
    "registries": _registries,
    "help": _help,
    "schemas": _schemas,
    "public": _public,
    "shown": _shown,
    "fill": _fill,
    "pages": _pages,
}


def differences(earlier: Path, later: Path) -> list[str]:
    """What isn't equal in two records: each file with the first lines that differ."""
    files = {path.relative_to(folder) for folder in (earlier, later) for path in folder.rglob("*") if path.is_file()}
    found = []
    for name in sorted(files):
        one, other = earlier / name, later / name
        if not one.is_file() or not other.is_file():
            found.append(f"only in {(earlier if one.is_file() else later).name}: {name}")
            continue
        before, after = one.read_text("utf-8", "replace"), other.read_text("utf-8", "replace")
        if before != after:
            lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:8]
            found.append("\n  ".join([str(name), *(line[:300] for line in lines)]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder to write the record to; it must not exist")
    parser.add_argument("--against", type=Path, help="an earlier record")
    parser.add_argument("--only", help="groups, by commas")
    arguments = parser.parse_args()
    kept: Path = arguments.folder.absolute()
    if kept.exists():
        sys.exit(f"{kept} exists")
    os.environ |= {
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": "1600000000",
        "HOME": str(kept / "home"),
    }
    (kept / "home").mkdir(parents=True)
    work = kept.with_name(kept.name + "-work")
    work.mkdir()
    recorder = Recorder(work, kept)
    names = arguments.only.split(",") if arguments.only else list(GROUPS)
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(recorder.group, names):
            print(line, flush=True)
    if arguments.against:
        found = differences(arguments.against, kept)
        print("\n".join(found) or "nothing differs")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
