"""The command ``bedside score`` with a judge, run in this process as a user would run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.cli import main
from bedside.judges.store import Judgement, read_judgements
from bedside.scoring.judging_orders import STORE
from tests.conftest import conversation


@dataclass(frozen=True)
class Ended:
    """A command that ended.

    Attributes:
        code: its exit status.
        out, err: what it printed.
        folder: the run's.
    """

    code: int
    out: str
    err: str
    folder: Path

    @property
    def line(self) -> str:
        """The one line of its error."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("bedside: ")]
        assert self.err.endswith(f"{line}\n"), self.err
        return line

    @property
    def said(self) -> str:
        """What it printed, whatever the width that it was wrapped to."""
        return " ".join(self.out.split())

    @property
    def judgements(self) -> list[Judgement]:
        """What is in the run's store."""
        return list(read_judgements(self.folder / STORE))

    @property
    def ratings(self) -> list[dict[str, Any]]:
        """The judges' ratings."""
        table = bedside.read_run(self.folder).ratings
        return [row for row in table.to_dicts() if row["rater"].startswith("judge:")]

    def files_with(self, words: str) -> list[Path]:
        """The run's files in which these words stand."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return [path for path in files if words.encode() in path.read_bytes()]

    @property
    def entry(self) -> dict[str, Any]:
        """What the manifest says of the judge of the last scoring."""
        judges: dict[str, dict[str, Any]] = bedside.read_run(self.folder).manifest["scorings"][-1]["judges"]
        (entry,) = judges.values()
        return entry


class JudgeCommand:
    """Runs ``bedside score`` on a few short conversations with one rubric.

    Args:
        folder: where files go; the run is ``run`` in it.
        capsys: pytest's.
        conversations: how many.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], conversations: int = 2) -> None:
        self.folder = folder
        self._capsys = capsys
        self._file = folder / "talks.jsonl"
        talks = [
            conversation(
                ("patient", f"I slept badly for {number + 2} nights."),
                ("clinician", "That sounds tiring. What kept you awake?"),
                id=f"talk-{number}",
            )
            for number in range(conversations)
        ]
        self._file.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))

    def __call__(self, judge: str, *options: object, rubric: str = "empathy") -> Ended:
        """Judge, with more options."""
        return self.run(
            "score", self._file, "--metrics", "structure", "--rubrics", rubric, "--judge", judge,
            "--out", self.folder / "run", *options,
        )  # fmt: skip

    def run(self, *arguments: object) -> Ended:
        """Run any command."""
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err, self.folder / "run")
