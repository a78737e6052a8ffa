"""An error of the library names an argument in backquotes; the command line writes what is typed there."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bedside.cli import command_line, main
from bedside.cli.help import _OTHER_NAMES, Command, _options_by_argument
from tests.conftest import exit_code
from tests.package_syntax import PACKAGE, modules, nodes

LIBRARY = [path for path in modules() if path.parent.name != "cli"]


def commands(group: Any = None) -> Iterator[Command]:
    for command in getattr(group or command_line(), "commands", {}).values():
        if isinstance(command, Command):
            yield command
        yield from commands(command)


def named_arguments() -> dict[str, str]:
    """Every argument that an error of the library names, with a place where one does."""
    places = {}
    for path in LIBRARY:
        for call in nodes(path):
            if isinstance(call, ast.Call) and _called(call).endswith("Error"):
                values = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
                for text in (value for value in values if isinstance(value, str)):
                    for name in re.findall(r"`([a-z_]+)[`=]", text):
                        places[name] = f"{path.relative_to(PACKAGE)}:{call.lineno}"
    return places


def _called(call: ast.Call) -> str:
    """The name of what is called, without what it stands in."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@cache
def accepted_names() -> set[str]:
    """The parameters of the library's public functions, and the fields of its classes."""
    names = set()
    for path in LIBRARY:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                names |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names


@pytest.mark.slow
def test_an_argument_that_an_error_names_is_one() -> None:
    parameters = {parameter.name for command in commands() for parameter in command.params}
    accepted = parameters | set(_OTHER_NAMES) | accepted_names()
    for name, place in named_arguments().items():
        assert name in accepted, f"{place} names `{name}`"


@pytest.mark.slow
def test_arguments_of_other_names_are_options() -> None:
    parameters = {parameter.name for command in commands() for parameter in command.params}
    assert set(_OTHER_NAMES.values()) <= parameters
    assert set(_OTHER_NAMES) <= accepted_names()


@pytest.mark.parametrize("command", list(commands()), ids=lambda command: command.callback.__name__)
def test_what_is_typed_for_an_argument_is_an_option_or_stands_in_the_usage(command: Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    usage = " ".join(command.collect_usage_pieces(None))
    for typed in _options_by_argument(command).values():
        assert typed in options or typed in usage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        # Fields of what says how files are read, of plans, of a tuning, of how a judge is asked.
        (["score", "t.jsonl", "--path-fields", "{system"], "--path-fields"),
        (["score", "other.jsonl"], "as in --roles NAME=ROLE"),
        (["score", "t.csv"], "with --columns speaker=NAME"),
        (["score", "t.jsonl", "--labels", "labels.jsonl", "--suite", "default"], "--labels: "),
        (["score", "t.jsonl", "--engine", "local", "--workers", "0"], "--workers"),
        (["score", "t.jsonl", "--engine", "local", "--address", "here"], "--address"),
        (["train", "coder", "t.jsonl", "--out", "c.npz", "--date", "x"], "--date"),
        (["plan", "kappa", "--weights", "x"], "--weights: "),
        (["plan", "difference", "--difference", "1", "--sd", "1", "--tests", "0"], "--tests"),
        (["compare", "r.csv", "--systems", "A,B", "--test", "z"], "--test: "),
        (["agree", "r.csv", "--scale", "1-5"], "(--scale gives another)"),
    ],
)
def test_an_error_names_what_is_typed(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    turns = [{"role": "clinician", "text": "How are you?"}, {"role": "patient", "text": "Well."}]
    Path("t.jsonl").write_text(json.dumps({"id": "a", "turns": turns}) + "\n")
    Path("other.jsonl").write_text(json.dumps({"id": "a", "turns": [turns[0] | {"role": "Bob"}]}) + "\n")
    Path("t.csv").write_text("transcript_id,utterance_text\n1,Hello.\n")
    Path("labels.jsonl").write_text("{}\n")
    Path("r.csv").write_text("item,system,rater,metric,value\na,A,x,m,1.5\nb,B,x,m,2.5\n")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in error
    assert "`" not in error


def test_what_was_skipped_names_options_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [{"role": role, "text": "Yes."} for role in ("clinician", "patient")]
    (tmp_path / "good.jsonl").write_text(json.dumps({"id": "a", "turns": turns}))
    (tmp_path / "bad.json").write_text('{"neither": "this", "nor": "that"}')
    exit_code("score", tmp_path, "--out", tmp_path / "run", "--on-error", "skip")
    assert "see bedside list readers, or force one with --format" in capsys.readouterr().out
