"""What pages print of commands is what these print: all that the bundled example is enough for are run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_commands_run_and_print_what_the_pages_show() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "printed_commands.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    account = done.stdout.splitlines()
    # What is left out is left out by a rule, and the rules leave enough.
    assert int(account[0].split("; ")[1].split()[0]) >= 40, account
    assert int(account[1].split()[0]) >= 15, account


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bedside score talks.jsonl --judge openai/gpt-5-mini --out run", "names a provider"),
        ("bedside score talks.jsonl --judge http://host:8000/v1#llama --out run", "names a provider"),
        ("bedside score talks.jsonl --set consistency.model=models/nli --out run", "names a model's files"),
        ("bedside view run   # any conversation", "serves a page"),
        ("bedside annotate page plan.json", "serves a page"),
        ("bedside simulate --protocol medconceal --clinician human:anna --out talks", "names a person"),
        ("bedside read mine.csv --roles patient_guest=other", "reads a file of the reader's own"),
        ("bedside compare run --raters human:*", None),
        ("bedside judge learn run --rubric empathy --out empathy.npz", None),
    ],
)
def test_why_a_command_is_not_run(
    line: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from printed_commands import PrintedCommand, reason_not_run

    (tmp_path / "talks.jsonl").touch()
    said = reason_not_run(PrintedCommand(line, ""), tmp_path)
    assert said is None if reason is None else reason in str(said)


def test_commands_are_taken_with_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from printed_commands import printed_commands

    text = "```console\n$ bedside agree run \\\n  --json   # why\n{}\n$ make demo\n$ bedside doctor\n```\n"
    first, second = printed_commands(text)
    assert first.words == ["agree", "run", "--json"]
    assert (first.printed, second.words, second.printed) == ("{}", ["doctor"], "")


def test_commands_told_to_a_container_and_sent_on_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from printed_commands import printed_commands

    lines = (
        '$ docker run --rm --volume "$PWD:/work" bedside:judge score talks',
        "$ docker run --rm bedside",
        "$ docker build --tag bedside .",
        "$ docker compose run --rm bedside agree run",
        "$ bedside show rubric --schema > rubric.schema.json",
        "$ bedside agree run --json | jq -r '.[] | .rows'",
    )
    text = "\n".join(("```console", *lines, "```"))
    assert [command.words for command in printed_commands(text)] == [
        ["score", "talks"], ["agree", "run"], ["show", "rubric", "--schema"], ["agree", "run", "--json"],
    ]  # fmt: skip


def test_no_page_has_a_command_that_nothing_marks_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from printed_commands import PAGES, commands_without_prompt

    unmarked = "```sh\nbedside agree run\n```\n\n```\npip install .\ndocker compose run bedside doctor\n```\n"
    assert commands_without_prompt(unmarked) == ["bedside agree run", "docker compose run bedside doctor"]
    marked = "```console\n$ bedside scrub x\nbedside scrub looks\n```\n\n```python\nimport bedside\n```\n"
    assert not commands_without_prompt(marked)
    pages = {page.name: commands_without_prompt(page.read_text("utf-8")) for page in (*PAGES, ROOT / "CONTRIBUTING.md")}
    assert not {name: lines for name, lines in pages.items() if lines}
