"""The command line as a user meets it: what is typed, what is printed, how it ends."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import openpyxl.styles
import pytest

import bedside
from bedside.cli import command_line, main
from bedside.cli.completion import CATALOGUE
from bedside.cli.help import MOST, UsualCommandGroup
from tests.conftest import Call, works

EXAMPLES = Path(bedside.__file__).parent / "examples"
TALK = {"turns": [{"role": "clinician", "text": "How do you sleep?"}, {"role": "patient", "text": "I wake at three."}]}


def talk(name: str, **changes: Any) -> dict[str, Any]:
    return {"id": name, **TALK, **changes}


def write_lines(path: Path, *items: Any) -> Path:
    path.write_text("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items))
    return path


def refused(call: Call, tmp_path: Path, *arguments: object) -> str:
    """A command that must end in one line and exit code 2, with no run and nothing half-written."""
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("bedside: ")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before, "something was written"
    return err


# -- the loop -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_whole_loop(call: Call, tmp_path: Path) -> None:
    out, _ = works(call, "score", EXAMPLES / "transcripts.jsonl", "--metrics", "structure", "--out", "run")
    assert "Scored 12 transcripts (264 turns) into run" in out
    assert "bedside agree run" in out
    code, out, _ = call("ratings", "import", "run", EXAMPLES / "ratings.csv", "--scale", "1-5")
    assert (code, "71 new, 0 replaced" in out) == (0, True)
    out, _ = works(call, "agree", "run", "--rubric", "empathy", "--out", "run/tables")
    assert "Empathy" in out
    out, _ = works(call, "compare", "run", "--systems", "steady,careless", "--metrics", "empathy,partnership",
                        "-o", "run/tables", "--all", "--notes")  # fmt: skip
    assert "steady − careless" in out
    assert "paired permutation test" in out
    assert "Holm" in out
    for name in ("agreement", "comparison"):
        for ending in ("md", "tex", "csv"):
            assert (tmp_path / "run" / "tables" / f"{name}.{ending}").is_file()
    out, _ = works(call, "report", "run", "--format", "html,latex")
    assert (tmp_path / "run" / "report" / "report.html").is_file()
    assert (tmp_path / "run" / "report" / "results.tex").is_file()


@pytest.mark.slow
def test_the_demonstration(call: Call, tmp_path: Path) -> None:
    out, _ = works(call, "demo")
    assert "demo-run/report/report.html" in out
    assert (tmp_path / "demo-run" / "report" / "results.tex").is_file()
    assert "12 conversations of two scripted clinicians" in out
    assert "demo-run/simulated/report/report.html" in out
    assert (tmp_path / "demo-run" / "simulated" / "report" / "confirmation.csv").is_file()
    assert "Empathy" in out
    assert call("demo")[0] == 0, "it replaces an earlier demonstration"
    assert call("score", EXAMPLES / "ratings-wide.csv")[0] == 2
    call("score", write_lines(tmp_path / "mine.jsonl", talk("a")), "--out", "mine")
    assert "this holds another run" in call("demo", "--out", "mine")[2]


@pytest.mark.slow
def test_json_is_the_table_at_full_precision(call: Call) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "run")
    _, out, _ = call("agree", "run", "--metrics", "question", "--json")
    rows = json.loads(out)[0]["rows"]
    people = next(row for row in rows if row["between"] == "people" and row["statistic"] == "kappa")
    assert people["units"] == 132
    assert people["estimate"] != round(people["estimate"], 4)
    _, out, _ = call("compare", "run", "--metrics", "exchanges", "--json")
    assert {table["table"]: len(table["rows"]) for table in json.loads(out)} == {
        "overall": 1, "comparison": 3, "findings": 2,
    }  # fmt: skip
    _, out, _ = call("report", "run", "--table", "results,missing", "--json")
    assert [table["table"] for table in json.loads(out)] == ["results", "missing"]


def test_agree_and_compare_take_plain_files(call: Call, tmp_path: Path) -> None:
    long = tmp_path / "stars.csv"
    with long.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "case", "rater", "metric", "value"])
        for case in range(8):
            for system in "AB":
                for rater in ("anna", "ben"):
                    value = 1 + (case + (system == "B")) % 5
                    writer.writerow([f"{system}{case}", system, case, rater, "warmth", value])
    out, _ = works(call, "agree", long, "--scale", "1-5", "--json")
    assert json.loads(out)[0]["rows"][0]["estimate"] == 1.0
    out, _ = works(call, "compare", long, "--json", "--out", "tables")
    assert (tmp_path / "tables" / "comparison.csv").is_file()
    comparison, findings = json.loads(out)
    assert comparison["rows"][0]["n"] == 8
    assert findings["rows"][0]["kind"] == "no difference shown"
    one_sided = ("--alternative", "greater", "--test", "t", "--adjusted-intervals")
    out, _ = works(call, "compare", long, "--json", "--out", "tables", *one_sided)
    row = json.loads(out)[0]["rows"][0]
    assert (row["high"], row["level"], row["cases_a"]) == (None, 0.95, 8)
    assert row["low"] < row["estimate"]


def test_lists(call: Call) -> None:
    kinds, _ = works(call, "list")
    assert len(kinds.splitlines()) <= 24
    assert max(map(len, kinds.splitlines())) <= 80
    for line in kinds.splitlines()[:-2]:
        kind, example = line.split()[0], line.split()[-1]
        assert example in works(call, "list", kind)[0].split()
        assert works(call, "show", example, "--kind", kind)
    assert [line.split()[0] for line in kinds.splitlines()[:-2]] == [*CATALOGUE]
    assert "rules" in works(call, "list", "coders")[0]
    assert "McLaughlin" in call("show", "smog")[1]
    assert "## Structure" in call("show", "structure")[1]
    assert '"turns"' in call("show", "jsonl")[1]
    assert "structure" in call("show", "default")[1]
    assert "bedside 0.1.0" in call("--version")[1]


def test_a_suite_of_ones_own(call: Call, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: mine\ntitle: Mine\ndescription: d\nsource: s\nmetrics: [turns]\n")
    assert "good; 1 metric\n" in call("show", mine, "--check")[1]
    assert "Source: s" in call("show", mine)[1]
    works(call, "score", EXAMPLES / "transcripts.jsonl", "--suite", mine, "--out", "run")
    assert set(bedside.read_run("run").ratings["metric"]) == {"turns", "turns.clinician", "turns.patient"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: mine\n", "title: it is missing"),
        ("name: other\ntitle: t\ndescription: d\nsource: s\nmetrics: [turns]\n", "calls itself 'other'"),
        ("name: mine\ntitle: t\ndescription: d\nsource: s\nmetrics: [turn]\n", "'turn'"),
        ("name: mine\ntitle: t\ndescription: d\nsource: s\nmetrics: [turns]\ncolour: red\n", "colour: unknown key"),
        ("name: [mine\n", "mine.yaml:2: the file is not plain YAML"),
        ("- mine\n", "must hold keys and values"),
    ],
)
def test_bad_suites(call: Call, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert words in refused(call, tmp_path, "show", "mine.yaml", "--check", "--kind", "suites")


def test_parameters(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--metrics", "smog", "--set", "readability.raw=true", "--out", "run")
    assert all("raw" in rater for rater in bedside.read_run("run").ratings["rater"])
    assert "'row'; did you mean raw?" in refused(
        call, tmp_path, "score", EXAMPLES / "transcripts.jsonl", "--metrics", "smog", "--set", "readability.row=1",
        "--out", "b",
    )  # fmt: skip


# -- help and tables ------------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Every command and group by what is typed for it."""
    found: dict[str, Any] = {}

    def walk(command: Any, name: str) -> None:
        found[name] = command
        for part, below in getattr(command, "commands", {}).items():
            walk(below, f"{name} {part}")

    walk(command_line(), "bedside")
    return found


COMMANDS = commands()


def few_stand_first(command: Any, out: str) -> None:
    """At most ten options are under the first heading, all of a command that has no more."""
    parts = [(part.partition("\n")[0], len(re.findall(r"^  -", part, re.MULTILINE))) for part in out.split("\n\n")]
    count = {heading: number for heading, number in parts if number and not heading.startswith(" ")}
    count[[*count][-1]] -= 1  # --help, which is last
    typed = sum(
        parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
        for parameter in command.params
    )
    assert sum(count.values()) == typed
    assert min(typed, 4) <= count["Options:"] <= MOST
    assert typed > MOST or count["Options:"] == typed


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, call: Call) -> None:
    code, out, err = call(*name.split()[1:], "--help")
    assert (code, err) == (0, "")
    command = COMMANDS[name]
    assert len(command.get_short_help_str(200)) <= 90, "the first sentence is long"
    assert not re.search(r"<(str|path|Path|int|float|bool|list)", out), "a type, not what to put there"
    for parameter in command.params:
        assert parameter.name == "version" or parameter.help, f"{parameter.name} is not explained"
        for opposite in parameter.secondary_opts:
            assert f" / {opposite}" in out
        if not getattr(parameter, "is_flag", False):
            assert parameter.metavar, f"{parameter.name}: what is put there?"
    for line in command.examples:
        _, _, typed = line.partition("$ bedside ")
        words = shlex.split(typed, comments=True)
        meant: Any = command_line()
        while words and words[0] in getattr(meant, "commands", {}):
            meant = meant.commands[words.pop(0)]
        if isinstance(meant, UsualCommandGroup):
            meant = meant.commands["run"]
        options = [option for parameter in meant.params for option in parameter.opts]
        assert all(word in options for word in words if word.startswith("-")), line
    assert command.examples, "no example"
    if not hasattr(command, "commands"):
        few_stand_first(command, out)


def test_all_commands_are_on_one_screen(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("--help")[1].splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    named = [line.split()[0] for line in lines if re.match(r"  \w+ {2,}\S", line)]
    assert named == [*command_line().commands]
    assert len(named) <= 28


@pytest.mark.parametrize(
    ("typed", "now"),
    [
        ("metrics", "list metrics; bedside show NAME"),
        ("schema rubric", "list schemas; bedside show NAME --schema"),
        ("judgements list run", "judge answers"),
        ("simulation status talks", "simulate status, failed, show, quality, turns or dialogues"),
        ("simulators", "list protocols"),
        ("simulators show mdd5k", "show NAME --kind protocols"),
        ("simulators convert a.yaml --out b.yaml", "simulate convert"),
        ("preferences run", "compare RUN --preferences"),
        ("drift run --lengths 20,80", "compare RUN --over length"),
        ("trend run", "compare RUN --over messages"),
        ("deviation run --reference a", "compare RUN --against REFERENCE"),
        ("coder --json", "list coders"),
        ("coder show rules", "show NAME"),
        ("coder train a.csv", "train coder"),
        ("coder evaluate a.csv", "train test-coder"),
        ("redirection fit a.csv", "train redirection"),
        ("medconceal fit a.jsonl", "train policy"),
        ("note2chat sft a.jsonl", "train note2chat"),
    ],
)
def test_what_was_a_command_is_answered_with_the_new_one(call: Call, tmp_path: Path, typed: str, now: str) -> None:
    assert refused(call, tmp_path, *typed.split()).endswith(f" is now: bedside {now}\n")
    for command in now.split("; bedside "):
        assert command.split()[0] in command_line().commands


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--lengths 4,8", "--lengths: it goes with --over length, not with comparing systems two by two"),
        # What is typed counts, though it be the default.
        ("--by target_length", "--by: it goes with --over length, not with comparing systems two by two"),
        ("--over messages --test t", "--test: it goes with comparing systems two by two, not with --over messages"),
        ("--over messages --lengths 4,8", "--lengths: it goes with --over length, not with --over messages"),
        ("--against a --seed 1", "--seed: it goes with comparing systems two by two, not with --against"),
        ("--against a --reference b", "--reference: it goes with comparing systems two by two, not with --against"),
        ("--preferences --edges 4", "--edges: it goes with --over messages, not with --preferences"),
        ("--preferences --over length", "--preferences and --over length: each is a question of its own"),
        ("--over time", "--over: there is no choice 'time'; known: length, messages"),
    ],
)
def test_options_of_another_question_are_refused(call: Call, tmp_path: Path, typed: str, words: str) -> None:
    assert words in refused(call, tmp_path, "compare", "run", *typed.split())


def test_nothing_asked_for_is_the_help(call: Call) -> None:
    for words in ((), ("annotate",), ("plan",)):
        code, out, err = call(*words)
        assert (code, err) == (2, "")
        assert out == call(*words, "--help")[1]


@pytest.mark.slow
def test_no_width_cuts_a_number(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns, at 200 and in a pipe stand the same numbers and words."""
    few = "exchanges,talk_share,question,percent_open_questions"
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "run", "--metrics", few)
    call("ratings", "import", "run", EXAMPLES / "ratings.csv", "--scale", "1-5")
    for words in (
        ("agree", "run", "--confusion"),
        ("compare", "run", "--all", "--notes"),
        ("compare", "run", "--over", "messages", "--all", "--notes"),
        ("explain", "run", "--cell", "percent_open_questions/steady", "--all", "--notes"),
        ("report", "run", "--checklist"),
    ):
        seen = []
        for width in ("80", "100", "200", None):
            if width is None:
                monkeypatch.delenv("COLUMNS")
            else:
                monkeypatch.setenv("COLUMNS", width)
            out, _ = works(call, *words)
            assert "\x1b" not in out
            if words[0] != "explain":  # it begins with a definition in Markdown
                assert "…" not in out
                assert width is None or max(map(len, out.splitlines())) <= int(width)
            seen.append(set(re.findall(r"[−\[\]\w.,%()]+", out)))
        assert seen[0] == seen[1] == seen[2] == seen[3]


@pytest.mark.slow
def test_a_single_table_leaves_the_page_alone(call: Call, tmp_path: Path, undrawn: None) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "run", "--metrics", "turns")
    call("report", "run")
    page = tmp_path / "run" / "report" / "report.html"
    before = page.read_bytes()
    out = call("report", "run", "--table", "results")[1]
    assert "1 table (csv, md, tex)" in out
    assert page.read_bytes() == before


def test_a_report_of_a_run_that_people_are_rating(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "run", "--metrics", "turns")
    code, out, err = call("sample", "run", "--rubrics", "empathy", "--raters", "anna,ben", "--per", "2")
    assert (code, "Next: bedside annotate push plan.json" in err) == (0, True)
    out, _ = works(call, "report", "run", "--checklist")
    assert "blind to system and judge" in " ".join(out.split())


def test_the_next_step_of_a_plan_elsewhere_finds_its_run(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "study", "--metrics", "turns")
    (tmp_path / "plans").mkdir()
    _, _, err = call("sample", "study", "--rubrics", "empathy", "--raters", "anna,ben", "--out", "plans/a.json")
    step = err.partition(" or bedside ")[2].split()
    assert step == ["annotate", "export", "plans/a.json"]
    assert call(*step)[0] == 0


def test_what_people_still_lack_is_not_asked_for_where_a_judge_is_missing(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--out", "run", "--metrics", "turns")
    call("ratings", "import", "run", EXAMPLES / "ratings.csv")
    _, _, err = call("validate", "run")
    assert "--judge MODEL" in err


# -- what was read --------------------------------------------------------------------------------


def test_read_shows_what_was_understood_and_the_first_turns(call: Call, tmp_path: Path) -> None:
    code, out, err = call("read", EXAMPLES / "transcripts.jsonl")
    assert (code, err) == (0, "")
    assert out.startswith("Read: 12 transcripts, 264 turns, 1 file\n")
    assert "0 clinician (clinician): Hello, Tom" in out
    assert max(map(len, out.splitlines())) <= 100
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_read_shows_a_file_of_ratings(call: Call) -> None:
    out, _ = works(call, "read", EXAMPLES / "ratings.csv")
    assert "human:anna" in out


def test_read_asks_about_ratings_that_can_be_read_in_two_ways(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,system,warmth,closeness\na,A,4,5\nb,B,2,3\n")
    err = refused(call, tmp_path, "read", path)
    assert "'warmth', 'closeness' are raters" in err
    assert "--form by_rater" in err
    assert "--form by_metric" in err
    out, _ = works(call, "read", path, "--form", "by_rater")
    assert "human:warmth" in out
    assert "Metric warmth" in call("read", path, "--form", "by_metric")[1]
    assert "'by_rates'" in refused(call, tmp_path, "read", path, "--form", "by_rates")
    assert "2 files were given" in refused(call, tmp_path, "read", path, path, "--form", "by_rater")
    assert "one of transcripts" in refused(call, tmp_path, "read", path, "--form", "by_rater", "--format", "rows")


def test_read_is_told_what_it_asks_of_ratings(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,warmth\na,anna,4\nb,anna,99\nc,anna,2\nd,anna,1\n")
    assert "--missing 99 takes it for no answer" in refused(call, tmp_path, "read", path)
    code, out, _ = call("read", path, "--missing", "99")
    assert (code, "Cells without a rating: '99' (1)" in out) == (0, True)
    assert "2 files were given" in refused(call, tmp_path, "read", path, path, "--missing", "99")
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in (["item", "rater", "warmth"], ["a", "anna", 4], ["b", "anna", 2]):
        sheet.append(row)
    sheet["C3"].font = openpyxl.styles.Font(strike=True)
    book.save(path.with_suffix(".xlsx"))
    assert "--struck leave" in refused(call, tmp_path, "read", path.with_suffix(".xlsx"))
    for struck, lowest in (("leave", 4), ("keep", 2)):
        code, out, _ = call("read", path.with_suffix(".xlsx"), "--struck", struck)
        assert (code, f"Metric warmth: numbers from {lowest} to 4" in out) == (0, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # A sheet of ratings with an error shows that error, whatever a reader of transcripts lacks in it.
        ("item,rater,score\na,anna,4\na,,3\n", "sheet.csv:3: the row has no rater"),
        ("item,rater,warmth\na,anna,4\na,anna,3\n", "anna rates 'a' on warmth twice"),
        ("Session,anna,ben\na,4,3\nb,good,3\n", "--form by_rater"),
        ("item,turn,speaker,rater,score\na,0,T,anna,good\na,1,C,anna,4\n", "while others are labels"),
        # A conversation with one doesn't become ratings.
        ("id,turn,speaker,text,rater,score\na,0,,Hello,anna,4\n", "speaker"),
        (
            "id,speaker,line\na,T,How have you been since we met\na,C,Not so well I am afraid\n",
            "no column holds the text",
        ),
        ("colour,size\nred,1\nblue,2\n", "no column holds the text"),
    ],
)
def test_read_shows_the_error_of_what_the_columns_say_it_is(call: Call, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(text)
    assert said in refused(call, tmp_path, "read", path)


def test_read_never_takes_a_conversation_for_ratings(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "talk.csv"
    path.write_text("id,coder,turn,speaker,utterance,warmth,pace\ns,A,0,Zed,Hello,1,2\ns,A,1,Yor,Hm,1,2\n")
    assert "unknown speakers 'Yor'" in refused(call, tmp_path, "read", path)


def test_what_says_how_a_file_is_read_is_refused_beside_a_run(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--metrics", "structure", "--out", "run")
    err = refused(call, tmp_path, "compare", "run", "--sheet", "all", "--encoding", "utf-8")
    assert "run: --sheet and --encoding say how a file of ratings is read" in err
    for option in (
        ["--columns", "item=a"], ["--header-row", "2"], ["--form", "long"], ["--sheet", "A"], ["--encoding", "ascii"]
    ):  # fmt: skip
        assert f"run: {option[0]} says how a file" in refused(call, tmp_path, "agree", "run", *option)
    assert "--form says how" in refused(call, tmp_path, "compare", "run", "--against", "run", "--form", "long")
    # Of a run and a file, the file is meant.
    table = tmp_path / "turns.csv"
    table.write_text("talk,rater,metric,value\nx,a,turns,3\ny,a,turns,5\nz,a,turns,4\n")
    _, _, err = call("compare", "run", "--against", table, "--columns", "item=talk")
    assert "turns.csv: 3 ratings of 3 items" in err


def test_scoring_says_what_was_read_and_keeps_it(call: Call, tmp_path: Path) -> None:
    talks = write_lines(tmp_path / "t.jsonl", talk("a", turns=[*TALK["turns"], {"role": "Mother", "text": "Hm."}]))
    _, out, err = call("score", talks, "--out", "run", "--roles", "Mother=other")
    assert "other = Mother" in err
    assert "Mother" not in out
    kept = bedside.read_run("run").manifest["scorings"][-1]["read"]
    assert kept["speakers"]["other"] == {"turns": 1, "names": {"Mother": 1}}
    call("score", talks, "--out", "bare", "--roles", "Mother=other", "--no-text")
    assert "Mother" not in (tmp_path / "bare" / "manifest.json").read_text()


# -- bad input ------------------------------------------------------------------------------------


def bad(name: str) -> Callable[[Path], Path]:
    """A maker of the bad file of this name."""

    def empty(folder: Path) -> Path:
        return write_lines(folder / "t.jsonl")

    def truncated_gzip(folder: Path) -> Path:
        data = gzip.compress((json.dumps(talk("a")) + "\n").encode() * 50, mtime=0)
        (folder / "t.jsonl.gz").write_bytes(data[: len(data) // 2])
        return folder / "t.jsonl.gz"

    def not_json(folder: Path) -> Path:
        return write_lines(folder / "t.jsonl", talk("a"), talk("b"), "{not json", talk("d"), talk("e"))

    def no_text(folder: Path) -> Path:
        turns = [*TALK["turns"], {"role": "patient"}]
        return write_lines(folder / "t.jsonl", talk("a", turns=turns))

    def number(folder: Path) -> Path:
        turns = [*TALK["turns"], {"role": "patient", "text": 42}]
        return write_lines(folder / "t.jsonl", talk("a", turns=turns))

    def unknown_speaker(folder: Path) -> Path:
        turns = [*TALK["turns"], {"role": "Dr Smith", "text": "Hello."}]
        return write_lines(folder / "t.jsonl", talk("a", turns=turns))

    def duplicate(folder: Path) -> Path:
        return write_lines(folder / "t.jsonl", talk("a"), talk("b"), talk("a"))

    def mixed_encodings(folder: Path) -> Path:
        (folder / "t.jsonl").write_bytes(
            json.dumps(talk("a")).encode().replace(b"three", "trés".encode())
            + b"\n"
            + json.dumps(talk("b")).encode().replace(b"three", b"tr\xe9s")
            + b"\n"
        )
        return folder / "t.jsonl"

    def long_line(folder: Path) -> Path:
        with (folder / "t.jsonl").open("w") as file:
            file.write(json.dumps(talk("a")) + "\n")
            file.write('{"id": "b", "turns": [{"role": "clinician", "text": "')
            for _ in range(100):
                file.write("x" * 2**20)
            file.write('"}]}\n')
        return folder / "t.jsonl"

    def no_side(folder: Path) -> Path:
        return write_lines(folder / "t.jsonl", talk("a", turns=[{"role": "system", "text": "Be kind."}]))

    def no_turns(folder: Path) -> Path:
        return write_lines(folder / "t.jsonl", talk("a", turns=[]))

    def missing_column(folder: Path) -> Path:
        return write_lines(folder / "t.csv", "transcript_id,utterance_text", "1,Hello.")

    def no_transcript(folder: Path) -> Path:
        (folder / "talks").mkdir()
        (folder / "talks" / "notes.dat").write_bytes(b"x")
        return folder / "talks"

    makers: dict[str, Callable[[Path], Path]] = {key: value for key, value in locals().items() if callable(value)}
    return makers[name]


BAD = [
    ("empty", "t.jsonl: the file is empty; "),
    ("truncated_gzip", "t.jsonl.gz: the gzip file is truncated or damaged; copy or download it again"),
    ("not_json", "t.jsonl:3: not JSON ("),
    ("no_text", "t.jsonl:1, turn 2: the turn has no text; "),
    ("number", "t.jsonl:1, turn 2: the text is not text but the number 42; "),
    (
        "unknown_speaker",
        "turn 2: unknown speaker 'Dr Smith' (1 turn in 1 transcript); say who each is: clinician, patient or other; a "
        'guess by their names and by how they talk is --roles "Dr Smith=clinician"',
    ),
    ("duplicate", "t.jsonl:1 and t.jsonl:3: two transcripts have the id 'a'; "),
    ("mixed_encodings", "t.jsonl:2: the text is not UTF-8, and may be "),
    ("long_line", "t.jsonl:2: the line is longer than 16 MB; put one transcript on a line"),
    ("no_side", "t.jsonl:1: the transcript has neither a clinician nor a patient; say who speaks with --roles"),
    ("no_turns", "t.jsonl:1: the transcript has no turns; "),
    ("missing_column", "t.csv:1: no column holds the speaker; say which with --columns speaker=NAME"),
    ("no_transcript", "talks: the folder holds no transcript file; "),
]


@pytest.mark.parametrize(("name", "words"), BAD)
def test_bad_input_is_one_line(call: Call, tmp_path: Path, name: str, words: str) -> None:
    path = bad(name)(tmp_path).relative_to(tmp_path)
    assert words in refused(call, tmp_path, "score", path, "--out", "run")


@pytest.mark.parametrize("name", [name for name, _ in BAD if name != "no_transcript"])
def test_skipping_goes_on_and_says_what_was_left_out(call: Call, tmp_path: Path, name: str) -> None:
    path = bad(name)(tmp_path).relative_to(tmp_path)
    write_lines(tmp_path / "good.jsonl", talk("good"))
    code, out, err = call("score", "good.jsonl", path, "--on-error", "skip", "--out", "run")
    assert (code, err[:5]) == (0, "Read ")
    assert "1 skipped:" in out
    run = bedside.read_run("run")
    assert "good" in run.index["id"].to_list()
    assert len(run.manifest["transcripts"]["skipped"]) == 1
    kept = {"not_json": 5, "duplicate": 3, "long_line": 2}.get(name, 1)
    assert run.index.height == kept


def test_nothing_but_bad_transcripts_is_no_run(call: Call, tmp_path: Path) -> None:
    path = bad("no_text")(tmp_path).name
    assert "no text" in refused(call, tmp_path, "score", path, "--on-error", "skip", "--out", "run")


def test_a_missing_file(call: Call, tmp_path: Path) -> None:
    assert "nowhere.jsonl: there is no such file" in refused(call, tmp_path, "score", "nowhere.jsonl")


def test_a_run_of_other_transcripts(call: Call, tmp_path: Path) -> None:
    call("score", write_lines(tmp_path / "a.jsonl", talk("a")), "--out", "run")
    write_lines(tmp_path / "b.jsonl", talk("b"))
    code, out, err = call("score", "b.jsonl", "--out", "run")
    assert (code, out) == (2, "")
    assert "is not among those of the run; choose another folder with --out" in err
    assert bedside.read_run("run").index["id"].to_list() == ["a"]


def test_a_foreign_folder(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    write_lines(tmp_path / "a.jsonl", talk("a"))
    assert "mine: this exists and is not a run" in refused(call, tmp_path, "score", "a.jsonl", "--out", "mine")
    assert "mine: the folder is not a run" in refused(call, tmp_path, "report", "mine")
    assert "no such run" in refused(call, tmp_path, "agree", "nowhere")


def test_no_permission_at_out(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", talk("a"))
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    log = tmp_path / "log"
    log.touch()
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    child = os.fork()
    if child == 0:
        # Root may write anywhere: there, another user has to try.
        os.chdir(tmp_path)
        sys.stderr = log.open("w")
        if os.getuid() == 0:
            os.setuid(65534)
        try:
            main(["score", "a.jsonl", "--out", "locked/run"])
        except SystemExit as ended:
            sys.stderr.flush()
            os._exit(int(ended.code or 0))
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert log.read_text() == ("bedside: locked/run: can't be written (Permission denied); choose another place\n")
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nosuch"], "there is no option --nosuch. See bedside --help."),
        (["score", "--metric", "a"], "no option --metric; did you mean --metrics"),
        (["scor"], "No such command 'scor'"),
        (["score"], "Missing argument 'FILES'. See bedside score --help."),
        (["agree", "a.jsonl", "--seed", "-1"], "--seed takes a number that is not below 0. See bedside agree"),
        (["score", "a.jsonl", "--passes", "two"], "--passes takes a whole number. See bedside score"),
        (["validate", "a.jsonl", "--epsilon", "x"], "--epsilon takes a number. See bedside validate"),
        (
            ["plan", "kappa", "--weights", "cubic"],
            "--weights: there is no weighting 'cubic'; known: linear, none, quadratic",
        ),
        (["plan", "difference", "--difference", "0"], "--difference: no study is large enough"),
        (["demo", "--out", "."], ".: this exists and is not a run; choose another folder with --out"),
        (["annotate", "pul"], "Did you mean 'pull'? See bedside annotate --help."),
        (["list", "metric"], "'metric'; did you mean metrics?"),
        (["show", "calm-it"], "calm-it: suites or protocols may be meant; add --kind suites"),
        (["show", "smog", "--language", "de"], "--language: it says nothing of metrics; leave it out"),
        (["show", "smog", "--kind", "suites", "--schema"], "--schema: it says nothing of suites; leave it out"),
        (["show", "mine.yml", "--check"], "mine.yml: the name of a suite or rubric file ends in .yaml; rename it"),
        (["show", "mine.yaml", "--check", "--kind", "readers"], "--check: it says nothing of readers"),
        (["score", "a.jsonl", "--metrics", "smogg"], "'smogg'; did you mean smog"),
        (["score", "a.jsonl", "--suite", "defautl"], "'defautl'; did you mean default?"),
        (["score", "a.jsonl", "--format", "jsnl"], "'jsnl'; did you mean jsonl?"),
        (["score", "a.jsonl", "--roles", "Smith"], "--roles: 'Smith' is not NAME=VALUE"),
        (["score", "a.jsonl", "--roles", "Smith=boss"], "--roles: 'Smith' can't be 'boss'"),
        (["score", "a.jsonl", "--on-error", "panic"], "--on-error: there is no choice 'panic'; known: skip, stop"),
        (["score", "a.jsonl", "--set", "raw"], "is not FAMILY.PARAMETER=VALUE"),
        (["score", "a.jsonl", "--set", "readability.raw=["], "--set readability.raw: '[' can't be read as a value"),
        (["score", "a.jsonl", "--set", "readability.min_words=ten"], "readability.min_words can't be 'ten'"),
        (["show", "smogg"], "'smogg'; did you mean smog"),
        (["show", "cvs", "--kind", "readers"], "'cvs'"),
        (["agree", "a.jsonl"], "a.jsonl"),
    ],
)
def test_wrong_words(call: Call, tmp_path: Path, arguments: list[str], words: str) -> None:
    write_lines(tmp_path / "a.jsonl", talk("a"))
    assert words in refused(call, tmp_path, *arguments)


def test_wrong_words_about_a_run(call: Call, tmp_path: Path) -> None:
    call("score", EXAMPLES / "transcripts.jsonl", "--metrics", "turns,question", "--out", "run")
    for arguments, words in [
        (["compare", "run", "--systems", "steady,bric"], "no system 'bric'; did you mean brisk?"),
        (["compare", "run", "--systems", "steady"], "a comparison needs two systems"),
        (["compare", "run", "--metrics", "turnss"], "no metric 'turnss' is rated; did you mean turns"),
        (["compare", "run", "--test", "z"], "--test: there is no test 'z'"),
        (["compare", "run", "--metrics", "turns", "--test", "mcnemar"], "values other than 0 and 1"),
        (["agree", "run", "--raters", "judge:*"], "no rater matches 'judge:*'"),
        (["agree", "run", "--metrics", "turns"], "no two raters rated the same conversation or turn"),
        (["agree", "run", "--weights", "cubic"], "--weights: there is no form 'cubic'"),
        (
            ["judge", "answers", "list", "run", "--state", "good"],
            "--state: there is no choice 'good'; known: answered, failed, filtered, refused, unusable",
        ),
        (
            ["compare", "run", "--over", "length", "--metrics", "turns"],
            "no case was run at both lengths, 16 and 20; name two others with --lengths",
        ),
        (["estimate", "run"], "no judge has rated it; score it with a judge first, or name another rater with --judge"),
        (["report", "run", "--table", "result"], "'result'; did you mean results"),
        (["report", "run", "--format", "odt"], "no format 'odt'"),
        (["ratings", "import", "run", "nowhere.csv"], "nowhere.csv: there is no such file"),
    ]:
        assert words in refused(call, tmp_path, *arguments)


def test_roles_columns_and_paths(call: Call, tmp_path: Path) -> None:
    (tmp_path / "talks" / "modelA").mkdir(parents=True)
    write_lines(
        tmp_path / "talks" / "modelA" / "7.csv", "session,who,said", "x,Dr Smith,How are you?", "x,Anna,Well enough."
    )
    code, _, err = call(
        "score", "talks", "--roles", '"Dr Smith"=clinician,Anna=patient', "--columns",
        "id=session,speaker=who,text=said", "--path-fields", "{system}/{case_id}", "--out", "run",
    )  # fmt: skip
    assert (code, err[:6]) == (0, "Read 1")
    assert bedside.read_run("run").index.select("id", "system", "case_id").row(0) == ("x", "modelA", "7")


@pytest.mark.slow
def test_control_c_half_way(tmp_path: Path) -> None:
    with (tmp_path / "many.jsonl").open("w") as file:
        for number in range(60_000):
            file.write(json.dumps(talk(f"t{number}")) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "bedside", "score", "many.jsonl", "--out", "run"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".run.*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    last = err.strip().splitlines()[-1]
    assert last == "bedside: stopped; nothing is left half-written. Run the same command again to go on"
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["many.jsonl"]


def test_help_costs_little() -> None:
    """No heavy library is loaded for the help or by the import alone."""
    heavy = ("matplotlib", "numpy", "polars", "pydantic", "scipy", "torch", "yaml")
    code = f"import sys, bedside, bedside.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
