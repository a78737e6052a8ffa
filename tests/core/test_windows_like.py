"""Without what only POSIX has, everything still works; see :mod:`tests.core.windows_like` for what this shows."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import bedside
from bedside.ratings.run import Run
from bedside.scoring.score import score
from tests.core import windows_like
from tests.judges.llm.server import JudgeServer

PACKAGE = Path(bedside.__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="which files are open can't be seen here"),
]
EXAMPLES = PACKAGE / "examples"
COMMANDS = """
from bedside.cli import main
for line in sys.argv[1:]:
    try:
        main(line.split())
    except SystemExit as ended:
        if ended.code:
            raise
"""


def commands(folder: Path, *lines: str) -> str:
    """What commands print, one after another in one process that is as on Windows."""
    ended = windows_like.run(COMMANDS, folder, *lines)
    assert ended.returncode == 0, ended.stderr.decode("cp1252")
    return str(ended.stdout.decode("cp1252"))


def left_over(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".*") if path.suffix in (".partial", ".lock")]


def test_it_is_as_it_says(tmp_path: Path) -> None:
    """What is refused is refused to bedside, and what is hidden from it is there for others."""
    program = """
import errno, os, signal, types, zlib
sys.modules.pop("filelock", None)
import filelock
assert filelock.FileLock is filelock.SoftFileLock
outside = types.ModuleType("elsewhere")
inside = types.ModuleType("bedside.somewhere")
probe = '''
def has(module, name): return hasattr(module, name)
def load(name): return __import__(name)
def read(os, path): os.close(os.open(path, os.O_RDONLY))
'''
for module in (outside, inside): exec(probe, module.__dict__)
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "geteuid", "fchmod", "killpg"):
    assert outside.has(os, name) and not inside.has(os, name), name
for name in ("SIGHUP", "SIGKILL"):
    assert outside.has(signal, name) and not inside.has(signal, name), name
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    outside.load(name)
    try:
        inside.load(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(name)
outside.read(os, ".")
for refused in (
    lambda: inside.read(os, "."), lambda: os.replace("b", "a"), lambda: os.unlink("a"), lambda: os.replace("c", "d")
):
    os.makedirs("c", exist_ok=True), os.makedirs("d", exist_ok=True)
    with open("a", "w"), open("b", "w"):
        try:
            refused()
        except PermissionError:
            continue
    raise AssertionError(refused)
"""
    ended = windows_like.run(program, tmp_path)
    assert ended.returncode == 0, ended.stderr.decode()


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What of a piece of a program runs where it is imported: of functions, decorators and default values."""
    yield node
    inner: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given: list[ast.AST] = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        inner = given if isinstance(node, ast.Lambda) else [*node.decorator_list, *given]
    for child in inner:
        yield from run_at_import(child)


def test_no_test_file_needs_posix_to_be_collected(tmp_path: Path) -> None:
    """One that did would end the whole run on Windows; those that need it from the first are left out there."""
    tests = PACKAGE.parent / "tests"
    program = (
        "sys.path.insert(0, sys.argv[1]); windows_like._is_bedside = lambda name: name == 'tests.conftest'; "
        "from tests.conftest import collect_ignore; print(*collect_ignore, sep=chr(10))"
    )
    ended = windows_like.run(program, tmp_path, str(PACKAGE.parent))
    assert ended.returncode == 0, ended.stderr.decode()
    left_out = [tests / name for name in ended.stdout.decode().split()]
    assert all(path.exists() for path in left_out)
    missing = {"os": windows_like.OS_NAMES, "signal": windows_like.SIGNAL_NAMES}
    needing: list[str] = []
    for path in tests.rglob("*.py"):
        if any(path.is_relative_to(one) for one in left_out):
            continue
        for node in run_at_import(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                wrong = node.attr in missing.get(node.value.id, ())
            elif isinstance(node, ast.Import):
                wrong = any(one.name in windows_like.MODULES for one in node.names)
            else:
                wrong = isinstance(node, ast.ImportFrom) and node.module in windows_like.MODULES
            if wrong:
                needing.append(f"{path.relative_to(tests)}:{getattr(node, 'lineno', 0)}")
    assert needing == []


def test_every_module_loads(tmp_path: Path) -> None:
    """What needs a library that isn't installed says so; nothing needs a module that only POSIX has."""
    program = """
import importlib, pathlib
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    parts = path.relative_to(pathlib.Path(sys.argv[1]).parent).with_suffix("").parts
    if parts[-1] == "__main__":
        continue
    try:
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
    except ModuleNotFoundError as error:
        if error.name in windows_like.MODULES or error.name.startswith("bedside"):
            raise
"""
    ended = windows_like.run(program, tmp_path, str(PACKAGE))
    assert ended.returncode == 0, ended.stderr.decode()


@pytest.mark.soak_only
def test_the_demonstration(tmp_path: Path) -> None:
    said = commands(tmp_path, "demo --out demo")
    assert "71 ratings by two people" in said
    assert "Empathy \\u2191" in said  # an arrow that the system's language does not have
    run = Run(tmp_path / "demo")
    assert run.ratings.height == 2303
    page = (run.path / "report" / "report.html").read_text("utf-8")
    assert page.endswith("</html>\n")
    assert not left_over(tmp_path)


def test_a_run_that_is_made_and_changed(tmp_path: Path) -> None:
    """Scored into an empty folder, scored again, rated by people and asked; all as on the system as it is."""
    (tmp_path / "run").mkdir()
    talks, people = EXAMPLES / "transcripts.jsonl", EXAMPLES / "ratings.csv"
    commands(
        tmp_path,
        f"score {talks} --out run --metrics structure",
        f"score {talks} --out run --metrics behaviour",
        f"ratings import run {people} --scale 1-5",
        "agree run --out tables",
        "report run --format md,csv,html,svg --out report",
        "sample run --rubrics empathy --raters anna,ben --per 1 --by system -o plan.json",
        "annotate export plan.json --format csv -o to-rate --run run",
    )
    run = Run(tmp_path / "run")
    score([talks], tmp_path / "plain", metrics=["structure"])
    score([talks], tmp_path / "plain", metrics=["behaviour"])
    bedside.import_ratings(Run(tmp_path / "plain"), people, scales=["1-5"])
    assert run.ratings.equals(Run(tmp_path / "plain").ratings)
    assert len(run.manifest["imports"]) == 1
    assert (tmp_path / "report" / "report.html").is_file()
    assert not left_over(tmp_path)


def test_names_are_told_apart_by_their_case(tmp_path: Path) -> None:
    """A pattern that matches no rater is refused, also where the case alone differs."""
    program = """
import polars as pl
from bedside.ratings.run import Run
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import DataError
view = open_ratings_view(Run(sys.argv[1]))
assert view.raters(["human:*"])
try:
    view.raters(["HUMAN:*"])
except DataError as error:
    assert "no rater matches" in str(error)
else:
    raise AssertionError
"""
    score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["structure"])
    bedside.import_ratings(Run(tmp_path / "run"), EXAMPLES / "ratings.csv", scales=["1-5"])
    ended = windows_like.run(program, tmp_path, str(tmp_path / "run"))
    assert ended.returncode == 0, ended.stderr.decode()


def test_a_run_that_is_simulated_judged_looked_at_and_rated(tmp_path: Path) -> None:
    """Each of the commands that keep databases, logs, pages or spread work over processes."""
    with JudgeServer() as server:
        commands(
            tmp_path,
            "simulate --protocol calm-it --clinician script:good --out talks",
            f"score talks --out run --metrics structure --judge {server.judge} --rubrics empathy",
            f"score talks --out run --metrics structure --judge {server.judge} --rubrics empathy",
            "score talks --out spread --metrics structure --engine local",
            "sample run --rubrics empathy --raters anna,ben --per 1 --by system -o plan.json",
            "annotate page plan.json --links",
            "annotate page plan.json --collect",
            "view run --export copy",
            "view run --export copy",
            "export run --to csv-folder --out data",
            "export run --to csv-folder --out data",
        )
    run = Run(tmp_path / "run")
    assert {rater.partition(":")[0] for rater in run.ratings["rater"]} == {"algorithm", "judge"}
    computed = run.ratings.filter(run.ratings["rater"].str.starts_with("algorithm"))
    assert Run(tmp_path / "spread").ratings.equals(computed)
    assert (tmp_path / "copy" / "index.html").is_file()
    assert (tmp_path / "data" / "ratings.csv").is_file()
    assert not left_over(tmp_path)


def test_what_killed_processes_leave_is_removed(tmp_path: Path) -> None:
    """Files, folders and claims of processes that are gone, not those of the living; and a pipe's silence ends."""
    program = """
import subprocess
from pathlib import Path
from bedside.judges.store import Store
from bedside.core import files
from bedside.core.errors import BedsideError, RunError
from bedside.core.locks import hold, hold_folder

gone = "import os, sys; from tests.core import windows_like; windows_like.begin(); from pathlib import Path; " \\
    "from bedside.core.locks import hold, hold_folder; path = Path(sys.argv[1]); " \\
    "held = (hold_folder if path.is_dir() else hold)(path); os._exit(7 if held else 1)"
Path(".made.partial").mkdir()
Path(".made.partial/half").touch()
for path in (".s-gone.lock", ".a.00000000.partial", ".made.partial"):
    assert subprocess.run([sys.executable, "-c", gone, path]).returncode == 7
    assert Path(path).exists() and Path(f".held{path}").exists()
store, other = Store(Path("s.sqlite")), Store(Path("s.sqlite"))
assert len(list(Path().glob(".s-*.lock"))) == 2
held = hold(Path(".a.11111111.partial"))
assert hold(Path(".a.11111111.partial")) is None
with files.replacing(Path("a")) as temporary:
    files.write_text(Path("a"), "whole")
    assert temporary.exists()
    temporary.write_text("later")
assert Path("a").read_text() == "later"
living = [".a.11111111.partial", ".held.a.11111111.partial"]
assert sorted(path.name for path in Path().glob(".*partial") if path.is_file() and ".made" not in path.name) == living
held.release()
with files.making(Path("made")) as folder:
    assert not list(folder.iterdir())
    folder.joinpath("whole").touch()
    try:
        with files.making(Path("made")): pass
    except RunError as error:
        assert "another bedside process is making it" in str(error)
    else:
        raise AssertionError
assert [path.name for path in Path("made").iterdir()] == ["whole"]
files.remove(Path("made"))
other.close(), store.close()
assert sorted(path.name for path in Path().iterdir()) == ["a", "s.sqlite"]
files.PATIENCE = 0.2
reading, writing = __import__("os").pipe()
with open(writing, "wb", buffering=0) as end:
    end.write(b"abc")
    try:
        files.read_bytes(f"/proc/self/fd/{reading}", most=10)
    except BedsideError as error:
        assert "nothing came through it for 0.2 seconds" in str(error), error
    else:
        raise AssertionError
"""
    ended = windows_like.run(program, tmp_path)
    assert ended.returncode == 0, ended.stderr.decode()


def test_a_server_that_bedside_can_not_stop_is_not_started(tmp_path: Path) -> None:
    program = """
from pathlib import Path
from bedside.annotation.label_studio_server import serve, stop_server
from bedside.core.errors import BedsideError
try:
    serve(Path("server"), raters=["anna"])
except BedsideError as error:
    assert "on Linux and macOS only" in str(error), error
assert not Path("server").exists()
assert not stop_server(Path("server"))
"""
    ended = windows_like.run(program, tmp_path)
    assert ended.returncode == 0, ended.stderr.decode()
