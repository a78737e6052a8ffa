"""``--json``: every command has it, all print one form, and standard output holds nothing else."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import bedside
from bedside.cli.schemas import schema_names, schema_text
from tests.cli.test_commands import COMMANDS, EXAMPLES, talk, write_lines
from tests.conftest import Call


@cache
def form() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema_text("output")))


def tables(call: Call, *arguments: object, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    """What a command prints with --json: rows by table."""
    ended, out, err = call(*arguments, "--json")
    assert ended == code, err
    printed = json.loads(out)
    form().validate(printed)
    names = [table["table"] for table in printed]
    return dict(zip(names, (table["rows"] for table in printed), strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_it(name: str) -> None:
    """Groups that list nothing have nothing to print."""
    command = COMMANDS[name]
    if hasattr(command, "commands") and not command.invoke_without_command:
        return
    assert "--json" in [option for parameter in command.params for option in parameter.opts]


def test_lists_and_descriptions(call: Call) -> None:
    for kind in tables(call, "list")["kinds"]:
        rows = tables(call, "list", kind["name"])[kind["name"]]
        assert len(rows) == kind["entries"]
        assert all(row["title"] for row in rows)
        for row in rows[:2]:
            (shown,) = tables(call, "show", row["name"], "--kind", kind["name"]).values()
            assert shown[0]["name"] == row["name"]
    assert "mdd5k" in [row["name"] for row in tables(call, "list", "protocols")["protocols"]]
    assert "rules" in [row["name"] for row in tables(call, "list", "coders")["coders"]]
    assert {row["name"] for row in tables(call, "list", "schemas")["schemas"]} == set(schema_names())
    assert tables(call, "show", "empathy")["rubric"][0]["scale"][0]["value"] == 1


def test_a_schema_is_printed(call: Call) -> None:
    for name in ("rubric", "output"):
        code, out, err = call("show", name, "--schema")
        assert (code, err) == (0, "")
        assert out == schema_text(name)
        assert tables(call, "show", name)["schema"][0]["schema"] == json.loads(out)
    code, out, err = call("show", "rubrik", "--schema")
    assert (code, out) == (2, "")
    assert err == "bedside: there is no schema 'rubrik'; did you mean rubric or code-rubric?\n"


@pytest.mark.slow
def test_a_study(call: Call, tmp_path: Path) -> None:
    """Reading, scoring, people's ratings, and what is asked of them; each prints what the run then holds."""
    transcripts = EXAMPLES / "transcripts.jsonl"
    read = tables(call, "read", transcripts)
    assert "12 transcripts" in read["understood"][0]["line"]
    assert read["turns"][0]["role"] == "clinician"
    assert "understood" in tables(call, "read", EXAMPLES / "ratings.csv")
    (scored,) = tables(call, "score", transcripts, "--metrics", "turns,question", "--out", "run")["scored"]
    run = bedside.read_run("run")
    assert scored["transcripts"] == 12
    assert scored["ratings"] == len(run.ratings)
    imported = tables(call, "ratings", "import", "run", EXAMPLES / "ratings.csv", "--scale", "1-5")
    assert imported["imported"][0]["new"] == imported["imported"][0]["ratings"] == 71
    assert tables(call, "ratings", "import", "run", EXAMPLES / "ratings.csv")["imported"][0]["new"] == 0
    assert "agreement" in tables(call, "agree", "run")
    assert "methods" in tables(call, "report", "run", "--methods")
    assert tables(call, "report", "run", "--table", "results")["results"]
    assert tables(call, "explain", "run", "--cell", "turns/steady")
    sampled = ("--rubrics", "empathy", "--raters", "anna,ben", "--per", "2")
    assert tables(call, "sample", "run", *sampled)
    files = tables(call, "annotate", "export", "plan.json", "--format", "csv")["files"]
    assert all((tmp_path / row["file"]).is_file() for row in files)
    assert tables(call, "annotate", "import", "plan.json", *(row["file"] for row in files))["answers"][0]["new"] == 0
    assert tables(call, "annotate", "status", "plan.json")
    links = tables(call, "annotate", "page", "plan.json", "--links")["links"]
    assert {row["rater"] for row in links} == {"anna", "ben"}
    moved = tables(call, "annotate", "reassign", "plan.json", "--rater", "ben", "--to", "dora")["reassigned"]
    assert sum(row["items"] for row in moved) > 0
    copied = tables(call, "view", "run", "--export", "copy", "--sample", "2")["copy"][0]
    assert copied["transcripts"] == 2
    assert (tmp_path / copied["page"]).is_file()
    write_lines(tmp_path / "more.jsonl", talk("more"))
    tables(call, "score", "more.jsonl", "--metrics", "turns", "--out", "other")
    (merged,) = tables(call, "merge", "run", "other", "--out", "both")["merged"]
    assert merged["transcripts"] == 13
    assert tables(call, "doctor")
    assert {row["state"] for row in tables(call, "verify", "run")["files"]} == {"as written"}
    assert tables(call, "plan", "kappa")


def test_what_is_wrong_with_a_file_is_listed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "warmth.yaml").write_text("name: warmth\ncolour: red\n")
    remarks = tables(call, "show", "warmth.yaml", "--check", code=2)["remarks"]
    assert {"severity": "error", "key": "colour", "text": "unknown key"} in remarks
    (tmp_path / "case.yaml").write_text("id: a\nchrat: {}\n")
    remarks = tables(call, "simulate", "check", "case.yaml", code=2)["remarks"]
    assert remarks[0]["where"] == "case.yaml:2"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agree", "nowhere"), "nowhere: there is no such run"),
        (("score", "nowhere.jsonl"), "nowhere.jsonl"),
        (("show", "smogg"), "did you mean smog"),
    ],
)
def test_an_error_is_a_line_on_standard_error(call: Call, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = call(*arguments, "--json")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_what_is_served_prints_none(call: Call) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--metrics", "turns", "--out", "run")
    call("sample", "run", "--rubrics", "empathy", "--raters", "anna,ben", "--per", "2")
    for words in (("view", "run"), ("annotate", "page", "plan.json")):
        code, out, err = call(*words, "--json")
        assert (code, out) == (2, "")
        assert "a page that is served prints no JSON" in err


def table_names(path: Path) -> Iterator[str]:
    """The names that a module gives to tables, without what is put in while it runs."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        names = [keyword.value for keyword in call.keywords if keyword.arg == "name"]
        if function in ("show_records", "say_or_show", "table_of", "grid_of"):
            names = [call.args[1 if function == "say_or_show" else 0]]
        elif function not in ("Table", "TableContent"):
            continue
        for name in names:
            for part in ast.walk(name):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_names_of_tables_are_of_one_style() -> None:
    """Words joined by underscores, as docs/json.md says."""
    names = {name: path.name for path in Path(bedside.__file__).parent.rglob("*.py") for name in table_names(path)}
    assert {"judge_card_", "missing_bounds", "imported"} <= set(names)
    assert not {name: path for name, path in names.items() if not re.fullmatch(r"[a-z0-9_ ]*", name)}
