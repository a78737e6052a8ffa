"""The house holds together: imports run down the layers, nothing imports in a circle, a word has one meaning."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bedside
from tests.package_syntax import PACKAGE, modules, names, nodes

#: From the top down; rooms on a line don't know each other. Rooms still to come stand in their places.
LAYERS = """
    __main__ pytest_plugin
    cli
    api
    reports
    annotation
    tuning
    simulation
    analysis
    scoring
    judges
    metrics
    ratings
    transcripts
    stats
    core
"""
#: What knows no room but these, whatever stands below it.
ONLY = {"stats": {"core"}, "core": set()}
DEPTH = {room: depth for depth, line in enumerate(LAYERS.strip().splitlines()) for room in line.split()}


@cache
def paths() -> dict[str, Path]:
    """The file of each module."""
    return {
        ".".join(("bedside", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in modules()
    }


def imports(module: str) -> Iterator[tuple[str, str, int]]:
    """Each module that is imported, lazily too, with the name that is taken from it and the line."""
    for node in nodes(paths()[module]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield ((whole, "", node.lineno) if whole in paths() else (node.module or "", alias.name, node.lineno))


def room(module: str) -> str:
    """The room that a module stands in; the package itself is the public face."""
    parts = module.split(".")
    return "api" if len(parts) == 1 else parts[1]


@cache
def inner(module: str) -> list[tuple[str, str, int]]:
    return [found for found in imports(module) if found[0].split(".")[0] == "bedside"]


def test_every_room_has_a_layer() -> None:
    assert {room(module) for module in paths()} <= set(DEPTH)


def test_imports_run_down() -> None:
    wrong = []
    for module in paths():
        own = room(module)
        for target, name, line in inner(module):
            # The package's version and examples are constants.
            if room(target) == own or (target, name) in {
                ("bedside", "__version__"),
                ("bedside", "EXAMPLES"),
                ("bedside", ""),
            }:
                continue
            if DEPTH[room(target)] <= DEPTH[own] or room(target) not in ONLY.get(own, DEPTH):
                wrong.append(f"{module}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_no_circles() -> None:
    graph = {
        module: {target for target, _, _ in inner(module) if target in paths() and target not in {module, "bedside"}}
        for module in paths()
        if module != "bedside"
    }
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_private_names_stay_in_their_folder() -> None:
    wrong = []
    for module, path in paths().items():
        for target, name, line in inner(module):
            private = [part for part in target.split(".") if part.startswith("_") and part != "__main__"]
            folder = paths()[target].parent if target in paths() else None
            if (private and folder != path.parent) or (name.startswith("_") and not name.startswith("__")):
                wrong.append(f"{module}:{line} imports {target} {name}")
    assert not wrong, "\n".join(wrong)


def test_a_class_name_is_one_concept() -> None:
    places = defaultdict(list)
    for module, path in paths().items():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    doubled = {name: where for name, where in places.items() if len(where) > 1}
    assert not doubled


#: Words that say nothing of what they name.
_NAMELESS = {"found", "given", "made", "one", "each", "told", "told_of", "order_of", "there", "foreign", "_the_same"}


def test_names_say_what_they_name() -> None:
    """No pronoun or participle names what outlives three lines."""
    wrong = []
    for module, path in paths().items():
        nameless = [(name, line) for name, line in names(path) if name in _NAMELESS]
        if not nameless:
            continue
        for function in nodes(path):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            lines = defaultdict(list)
            for name, line in nameless:
                if function.lineno <= line <= (function.end_lineno or 0):
                    lines[name].append(line)
            wrong += [
                f"{module}:{min(at)} {name} in {function.name}" for name, at in lines.items() if max(at) - min(at) > 3
            ]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


def test_raters_and_units_are_named_in_one_module() -> None:
    literal = re.compile(r"^(human|judge|jury|algorithm|turn):[^ ]*$")
    wrong = []
    for module, path in paths().items():
        if module == "bedside.ratings.names":
            continue
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and literal.match(node.value):
                wrong.append(f"{module}:{node.lineno} {node.value}")
    assert not wrong, "\n".join(wrong)


def test_the_library_names_arguments_not_options() -> None:
    """An error of the library names an argument in backquotes; a whole command line may stand in it as it is typed."""
    option = re.compile(r"(?<![\w-])--[a-z]")
    command = re.compile(r"bedside [a-z]+|pip install|ray start")
    wrong = []
    for module, path in paths().items():
        if room(module) == "cli":
            continue
        raised = (
            node for node in nodes(path) if isinstance(node, ast.Call) and re.search(r"Error$", ast.unparse(node.func))
        )
        for call in raised:
            for text in [*call.args, *(keyword.value for keyword in call.keywords)]:
                words = ast.unparse(text)
                if option.search(words) and not command.search(words):
                    wrong.append(f"{module}:{call.lineno} {words}")
    assert not wrong, "\n".join(wrong)


def test_files_of_one_name_answer_one_question() -> None:
    """A file's name stands twice only where a table, a figure or a command shows what another room computes."""
    shown = {"reports", "cli"}
    rooms = defaultdict(list)
    for module, path in paths().items():
        if path.name not in {"__init__.py", "__main__.py"}:
            rooms[path.stem].append(module)
    doubled = {
        name: where
        for name, where in rooms.items()
        if len([module for module in where if room(module) not in shown]) > 1 and name not in SAME_QUESTION
    }
    assert not doubled


#: Names that several rooms share because the question is the same one, asked of other things.
SAME_QUESTION = {
    "contract",  # what an entry of the room's registry states
    "description",  # an entry's own facts as Markdown
    "labels",  # what a protocol's arithmetic is given
    "convokit",  # ConvoKit's form, wherever it is read or made
    "deepeval",
    "argilla",  # an annotation tool's form, of its ratings or of a plan's tasks
    "potato",
    "prodigy",
    "gemini",  # Gemini's form of a chat, in logs that are read and in what is asked
    "local",
}


#: What the package may take at most; each falls whenever something new makes something else unnecessary.
BUDGET = {
    "lines": 173_846,
    "modules": 712,
    "lines of imports, per mille": 68,
    "modules that one neighbour uses": 40,
    "functions with more than ten parameters": 5,
}


def test_the_house_stays_within_its_budget() -> None:
    lines = sum(path.read_text("utf-8").count("\n") for path in paths().values())
    users = defaultdict(set)
    imported = wide = 0
    for module, path in paths().items():
        for node in nodes(path):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported += (node.end_lineno or node.lineno) - node.lineno + 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = node.args
                wide += len(taken.args) + len(taken.kwonlyargs) + len(taken.posonlyargs) > 10
        for target, _, _ in inner(module):
            users[target].add(module)
    single = [
        module
        for module in paths()
        if len(users[module] - {module}) == 1 and {room(user) for user in users[module]} == {room(module)}
    ]
    counts = dict(zip(BUDGET, (lines, len(paths()), 1000 * imported / lines, len(single), wide), strict=True))
    assert not {name: count for name, count in counts.items() if count > BUDGET[name]}


#: What is asked → what it never imports, as that takes longer than the answer; and the most modules of our own.
IMPORTS = {
    "--help": ("numpy polars pydantic scipy", 20),
    "agree SHEET": ("scipy.stats pandas statsmodels sklearn matplotlib", 152),
    "compare RUN": ("scipy.stats pandas statsmodels sklearn matplotlib", 174),
    "validate RUN": ("scipy.stats pandas statsmodels sklearn matplotlib", 243),
    "score TALKS --out NEW": ("scipy pandas statsmodels sklearn matplotlib bedside.scoring.judging_workers", 228),
}


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("imports") / "run"
    bedside.score(bedside.EXAMPLES / "transcripts.jsonl", out=run)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("asked", IMPORTS)
def test_a_question_imports_what_it_needs(asked: str, a_run: Path) -> None:
    probe = (
        "import sys\nfrom bedside.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print('modules', *sys.modules)"
    )
    places = {
        "SHEET": bedside.EXAMPLES / "ratings.csv", "RUN": a_run, "TALKS": bedside.EXAMPLES / "transcripts.jsonl",
        "NEW": a_run.with_name("new"),
    }  # fmt: skip
    words = [str(places.get(word, word)) for word in asked.split()]
    done = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True, check=True)
    imported = done.stdout.split("modules ")[-1].split()
    never, most = IMPORTS[asked]
    assert not set(never.split()) & set(imported)
    assert sum(name.startswith("bedside") for name in imported) <= most
