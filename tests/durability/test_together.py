"""Two processes at once on one run: each does its work or says in one line that the other is at it; nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bedside.ratings.run import Run
from tests.durability import children
from tests.durability.states import files_of, is_temporary, see_run, see_whole
from tests.durability.test_full import one_line
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
ROUNDS = budget(2, 6)
IMPORT = "ratings import run ratings.csv --scale 1-5"


def both(first: str, second: str, folder: Path) -> list[tuple[int, str]]:
    begun = [
        children.start(call.split(), folder, log=folder.with_name(f"{folder.name}-{place}.log"))
        for place, call in enumerate((first, second))
    ]
    return [(child.end(), child.said) for child in begun]


def again(call: str, ended: tuple[int, str], folder: Path) -> None:
    """What was refused because another was at it is done now."""
    code, said = ended
    if code != 0:
        assert code == 2, said
        assert "another bedside process" in one_line(said), said
        code, said, _ = children.run(call.split(), folder)
    assert code == 0, said


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (IMPORT, "score in.jsonl -o run --metrics readability"),
        (IMPORT, "annotate import plan.json answers.json --users 1=anna,2=ben,3=cleo --run run"),
        ("score in.jsonl -o run --metrics readability", "score in.jsonl -o run --metrics talk_share"),
    ],
)
def test_two_that_change_a_run(study: Path, tmp_path: Path, first: str, second: str) -> None:
    """What both did is there, in the tables and in the manifest."""
    after: set[Any] = set()
    for order in ((first, second), (second, first)):
        folder = Path(shutil.copytree(study, tmp_path / f"one-after-another-{len(after)}"))
        for call in order:
            assert children.run(call.split(), folder)[0] == 0
        after.add(see_run(folder / "run"))
    assert len(after) == 1
    for number in range(ROUNDS):
        folder = Path(shutil.copytree(study, tmp_path / str(number)))
        ended = both(first, second, folder)
        assert any(code == 0 for code, _ in ended), ended
        for call, each in zip((first, second), ended, strict=True):
            again(call, each, folder)
        assert see_run(folder / "run") in after
        assert not [name for name in files_of(folder) if is_temporary(name)]


@pytest.mark.parametrize(
    "call", ["agree run -o out", "report run --format md,csv,html --table results,agreement -o out"]
)
def test_two_that_write_the_same_files(study: Path, tmp_path: Path, call: str) -> None:
    alone = Path(shutil.copytree(study, tmp_path / "alone"))
    assert children.run(call.split(), alone)[0] == 0
    for number in range(ROUNDS):
        folder = Path(shutil.copytree(study, tmp_path / str(number)))
        ended = both(call, call, folder)
        assert [code for code, _ in ended] == [0, 0], ended
        assert files_of(folder / "out") == files_of(alone / "out")


def test_a_report_while_a_run_is_changed(study: Path, tmp_path: Path) -> None:
    report = "report run --format csv,html --table results,agreement -o out"
    for number in range(ROUNDS):
        folder = Path(shutil.copytree(study, tmp_path / str(number)))
        ended = both(report, IMPORT, folder)
        assert [code for code, _ in ended] == [0, 0], ended
        see_whole(files_of(folder))


def test_two_that_make_a_run(study: Path, tmp_path: Path) -> None:
    call = "score many.jsonl -o new --metrics structure"
    for number in range(ROUNDS):
        folder = Path(shutil.copytree(study, tmp_path / str(number)))
        ended = both(call, call, folder)
        assert any(code == 0 for code, _ in ended), ended
        for each in ended:
            again(call, each, folder)
        see_run(folder / "new")
        assert len(Run(folder / "new").manifest["scorings"]) in (1, 2)
        assert not [name for name in files_of(folder) if is_temporary(name)]
