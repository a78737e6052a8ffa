"""A user's program on the public interface is checked by pyright without a remark, and every public name has a type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("pyright", reason="pyright is not installed")
ROOT = Path(__file__).parents[2]
PROGRAM = """
from pathlib import Path

import bedside
from bedside import BedsideError, Run, Transcript, Turn

talk = Transcript(id="a", turns=(Turn(0, "clinician", "anna", "Hello."), Turn(1, "patient", "p1", "Hello.")))
summary = bedside.score([talk], "run", metrics=["structure"])
run: Run = summary.run
folder: Path = run.path
rows: int = run.ratings.height
for transcript in bedside.read_transcripts(["transcripts.jsonl"]):
    name: str = transcript.id
try:
    run = bedside.read_run("run")
except BedsideError as error:
    what: str = error.what
agreement = bedside.agree(run)
comparison = bedside.compare(run, systems=["A", "B"])
reasons = bedside.explain(run, "turns/A")
page: Path | None = bedside.report(run).page
bedside.figure(run, "points").save("points.pdf")
"""


def pyright(*arguments: str | Path, folder: Path) -> dict[str, Any]:
    """What pyright reports, with the environment of this Python; the test is skipped where it can't be had."""
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        report: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        pytest.skip(f"pyright can't be had here: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    return report


def test_a_users_program_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    settings = {"typeCheckingMode": "strict", "reportUnknownMemberType": False, "reportUnknownVariableType": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    report = pyright("program.py", folder=tmp_path)
    assert report["summary"]["filesAnalyzed"] == 1
    assert [one["message"] for one in report["generalDiagnostics"]] == []


def test_every_public_name_has_a_type(tmp_path: Path) -> None:
    import bedside

    about = pyright("--verifytypes", "bedside", "--ignoreexternal", folder=tmp_path)["typeCompleteness"]
    assert about["pyTypedPath"]
    known = {one["name"]: one["isTypeKnown"] for one in about["symbols"] if one["isExported"]}
    public = {f"bedside.{name}" for name in bedside.__all__ if not name.startswith("_")}
    assert public <= known.keys()
    assert {name for name in public if not known[name]} == set()
    assert [one["name"] for one in about["symbols"] if not one["isTypeKnown"] and not one["isTypeAmbiguous"]] == []
