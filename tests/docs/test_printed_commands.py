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
