"""The gate: every design's share of wrong answers keeps to its limits, and is that of the typed command."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Call
from tests.coverage.designs import designs
from tests.coverage.replicates import (
    Check,
    Design,
    Question,
    Tally,
    count_up,
    covers,
    finds,
    notes_of,
    parts_in,
    tallies,
)
from tests.soak import budget

DESIGNS = tuple(designs())
#: Names the file that parts are kept in, so that a design's replicates needn't be drawn by one process.
FILE = "BEDSIDE_COVERAGE"
#: The chance, at most, that a design at its limit is taken for one beyond it.
BY_CHANCE = 0.002


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("design", DESIGNS, ids=[design.name for design in DESIGNS])
def test_shares_keep_to_their_limits(design: Design, tmp_path: Path) -> None:
    file = Path(os.environ.get(FILE) or tmp_path / "parts.jsonl")
    runs = budget(design.few, design.many)
    for _ in count_up(design, runs, file):
        pass
    for check, tally in tallies(design, parts_in(file)[design.name]).items():
        assert tally.replicates >= runs
        assert tally.answered, f"{check.words}: no study had an answer"
        low, high = (f"{100 * limit:.1f}" for limit in check.limits)
        said = f"{check.words} in {100 * tally.share:.1f} % of {tally.answered}, and {low} to {high} % are expected"
        assert tally.is_within(check.limits, BY_CHANCE), said


def test_names_are_told_apart() -> None:
    assert len({design.name for design in DESIGNS}) == len(DESIGNS)
    assert all(len({check.words for check in design.checks}) == len(design.checks) for design in DESIGNS)


def questions() -> dict[str, Design]:
    """A design for each question as it is typed."""
    return {_asked(design.question): design for design in reversed(DESIGNS) if design.question.command}


def _asked(question: Question) -> str:
    return " ".join([*question.command, *(f"{name}={value}" for name, value in question.options.items())])


@pytest.mark.parametrize("design", questions().values(), ids=questions().keys())
def test_the_typed_command_prints_the_same(design: Design, call: Call, tmp_path: Path) -> None:
    """Row by row, with all digits: what is counted is what a command prints."""
    study = design.study(1)
    rows = design.question.rows(study)
    code, out, err = call(*design.question.typed(study, study.write(tmp_path)), "--json")
    assert code in design.question.codes, err
    printed = json.loads(out)
    tables = printed if isinstance(printed, list) else printed["tables"]
    typed = {table["table"]: table["rows"] for table in tables}
    typed |= {notes_of(table["table"]): [{"note": note} for note in table["notes"]] for table in tables}
    own = {name: list(of) for name, of in rows.items() if name not in design.question.unprinted}
    assert own
    assert _printed(own) == _printed({name: typed[name] for name in own})


def _printed(value: Any) -> Any:
    """As JSON, numbers without their last digits: another order of rows adds up to others there."""
    return json.loads(json.dumps(value), parse_float=lambda number: f"{float(number):.10g}")


# -- what is counted ------------------------------------------------------------------------------------


def test_parts_add_up_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order and however often they are counted."""
    design = replace(DESIGNS[0], name="even", checks=(Check("is even", lambda rows, truth: None, (0, 1)),))
    monkeypatch.setattr(
        Design, "answers", lambda self, replicate: {"is even": None if replicate == 3 else replicate % 2 == 0}
    )
    kept = {}
    for name, steps in {"whole": [120], "parts": [4, 2, 70, 120, 120]}.items():
        for runs in steps:
            list(count_up(design, runs, tmp_path / name))
        (kept[name],) = tallies(design, parts_in(tmp_path / name)["even"]).values()
    assert kept["whole"] == kept["parts"] == Tally(60, 119, 120)


def test_checks_say_what_rows_say() -> None:
    row: dict[str, Any] = {"a": "A", "p": 0.05, "difference_low": 0.0, "difference_high": 1.0}
    rows = {"comparison": [row, {"a": "B", "p": None}]}
    assert finds().happens(rows, 0.0)
    assert not finds(a="B").happens(rows, 0.0)
    assert covers().happens(rows, 0.0)
    assert covers().happens(rows, 1.1) is False
    row["difference_low"] = None
    assert covers().happens(rows, 0.5) is None


def test_an_error_is_clopper_and_pearsons() -> None:
    """Of 10 in 100: .0490 to .1762 (Clopper and Pearson 1934, by their formula)."""
    tally = Tally(10, 100, 100)
    assert tally.error() == pytest.approx((0.0490, 0.1762), abs=5e-5)
    assert tally.is_within((0.03, 0.05))
    assert not tally.is_within((0.03, 0.0489))
    assert Tally(0, 20, 20).error()[0] == 0.0
