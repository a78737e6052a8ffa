"""``bedside gate`` and ``compare --margin`` as typed, and the fixture as another project's tests use it."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import entry_points
from itertools import product
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import bedside
from bedside.cli.schemas import schema_text
from tests.conftest import Call, works

pytest_plugins = "pytester"
PLUGIN = "bedside.pytest_plugin"


def study(folder: Path, worse: float = 0.0, *, cases: int = 30, leaks: int = 0) -> Path:
    """A judge's ratings of two systems on the same cases: B is a level worse on a share of them, and leaks on some."""
    case = np.arange(cases)
    base = 3 + case % 2
    wobble = np.where(case % 6 == 0, 1, np.where(case % 6 == 1, -1, 0))
    other = base + wobble - (case < worse * cases)
    rows = []
    for system, values, leaking in (("A", base, 0), ("B", other, leaks)):
        for number, value in enumerate(values):
            rows.append((f"{system}{number}", system, str(number), "judge:m", "empathy", int(value)))
            rows.append((f"{system}{number}", system, str(number), "judge:m", "leaks", int(number < leaking)))
    path = folder / "ratings.csv"
    columns = ["item", "system", "case", "rater", "metric", "value"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    return path


GATE = ("--baseline", "A", "--margin", "empathy=0.3", "--scale", "leaks=0,1")


def test_it_ends_with_0_where_the_system_passes(call: Call, tmp_path: Path) -> None:
    out, err = works(call, "gate", study(tmp_path), *GATE, "--safety", "leaks=1")
    assert "bedside:" not in err
    assert out.startswith("B passes: it is no worse than A on empathy (")
    assert "none failed" in out


@pytest.mark.parametrize(
    ("changes", "begins", "words"),
    [
        ({"worse": 0.3}, "Whether B passes is not known: ", "not shown"),
        ({"worse": 1.0}, "B does not pass: it is worse than A", "inferior"),
        ({"leaks": 1}, "B does not pass: 1 of 30 transcripts fails on leaks", "1 transcript failed: B0"),
        ({"cases": 8}, "Whether B passes is not known: ", "too few cases"),
    ],
)
def test_it_ends_with_1_where_it_does_not(
    call: Call, tmp_path: Path, changes: dict[str, float], begins: str, words: str
) -> None:
    code, out, _ = call("gate", study(tmp_path, **changes), *GATE, "--safety", "leaks=1")  # type: ignore[arg-type]
    assert code == 1
    assert out.startswith(begins)
    assert words in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--baseline", "Z", "--margin", "empathy=0.3"), "no system 'Z'"),
        (("--baseline", "A", "--margin", "warmth=0.3"), "no metric 'warmth' is rated"),
        (("--baseline", "A", "--margin", "0.3"), "--margin: '0.3' is not NAME=VALUE"),
        (("--baseline", "A", "--margin", "empathy=-1"), "--margin: '-1' is no margin"),
        (("--baseline", "A", "--margin", "leaks=0.1"), "write leaks=0.1:higher or leaks=0.1:lower"),
        ((*GATE, "--safety", "leaks=much"), "--safety: 'much' is no number"),
        ((*GATE, "--safety", "leaks=2"), "--safety: 2 is not on the scale of leaks: 0, 1"),
        ((*GATE, "--system", "C"), "no system 'C'"),
        (("--margin", "empathy=0.3"), "--baseline"),
    ],
)
def test_it_ends_with_2_where_it_can_not_be_asked(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = call("gate", study(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert message in err
    told = [line for line in err.splitlines() if line.startswith("bedside:")]
    assert len(told) == 1, "one line, after what was read"
    assert err.endswith(told[0] + "\n")


def test_a_margin_of_what_has_no_value_is_not_left_out(call: Call, tmp_path: Path) -> None:
    """Else a system would pass of which nothing was shown."""
    path = study(tmp_path)
    ratings = pl.read_csv(path).cast({"value": pl.String})
    words = ratings.filter(metric="empathy").with_columns(metric=pl.lit("warmth"), value=pl.lit("warm"))
    pl.concat([ratings, words]).write_csv(path)
    code, out, err = call("gate", path, *GATE, "--margin", "warmth=0.3")
    assert (code, out) == (2, "")
    assert "there is no value of warmth" in err


def test_json_says_what_passed_with_all_digits(call: Call, tmp_path: Path) -> None:
    path = study(tmp_path, leaks=2)
    code, out, _ = call("gate", path, *GATE, "--safety", "leaks=1", "--json")
    printed = json.loads(out)
    assert (code, printed["passed"], printed["error"]) == (1, False, None)
    table, findings = printed["tables"]
    assert [row["kind"] for row in findings["rows"]] == ["fails safety"]
    margin, safety = table["rows"]
    assert (margin["verdict"], margin["passed"]) == ("equivalent", True)
    assert (safety["failed"], safety["passed"]) == (["B0", "B1"], False)
    held = bedside.gate(path, baseline="A", margin={"empathy": 0.3}, safety={"leaks": 1}, scales="leaks=0,1")
    assert held.results.margins[0].test.p == margin["p_alike"]
    assert not held.results.passed


def test_json_says_first_whether_it_passed(call: Call, tmp_path: Path) -> None:
    """Also where the question can't be put: who reads no more than that lets nothing pass."""
    schema = json.loads(schema_text("output"))
    code, out, err = call("gate", study(tmp_path), *GATE, "--safety", "leaks=1", "--json")
    printed = json.loads(out)
    jsonschema.validate(printed, schema)
    assert (code, printed["passed"], printed["error"]) == (0, True, None)
    for arguments in (("--baseline", "Z", "--margin", "empathy=0.3"), (*GATE, "--margin", "warmth=-1")):
        code, out, err = call("gate", tmp_path / "ratings.csv", *arguments, "--json")
        printed = json.loads(out)
        jsonschema.validate(printed, schema)
        assert (code, printed["passed"], printed["tables"]) == (2, False, [])
        assert err.endswith(f"bedside: {printed['error']}\n")
    code, out, _ = call("gate", tmp_path / "nowhere", *GATE, "--json")
    assert (code, json.loads(out)["passed"]) == (2, False)


def test_compare_takes_a_margin_for_all_metrics_or_for_one(call: Call, tmp_path: Path) -> None:
    path = study(tmp_path)
    out, _ = works(call, "compare", path, "--metrics", "empathy", "--margin", "0.3", "--json")
    margin, comparison, findings = json.loads(out)
    assert (margin["table"], comparison["table"], findings["table"]) == ("margin", "comparison", "findings")
    assert margin["rows"][0]["verdict"] == "equivalent"
    _, out, _ = call("compare", path, "--margin", "empathy=0.3", "--margin", "leaks=0.2", "--json")
    assert [row["metric"] for row in json.loads(out)[0]["rows"]] == ["empathy", "leaks"]


# -- the fixture ------------------------------------------------------------------------------------


def plug_in() -> tuple[str, ...]:
    """What loads the plug-in: nothing where the installed package says so, its name where it was installed before."""
    return () if entry_points(group="pytest11", name="bedside") else ("-p", PLUGIN)


def test_the_plug_in_is_one_that_pytest_loads_by_itself() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {"bedside": PLUGIN}


def test_labels_have_margins_too(call: Call, tmp_path: Path) -> None:
    """Yes and no as the proportions that they are, by Tango's score interval, as 0 and 1 have it."""
    labels, numbers = tmp_path / "labels.csv", tmp_path / "numbers.csv"
    rows = []
    for system, case in product("AB", range(40)):
        harmed = case % 7 == 0 or (system == "B" and case == 1)
        rows.append((f"{system}{case}", system, str(case), "anna", "harm", int(harmed)))
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "metric", "value"], orient="row")
    frame.write_csv(numbers)
    frame.with_columns(value=pl.when(pl.col("value") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))).write_csv(
        labels
    )
    asked = ("--baseline", "A", "--margin", "harm=0.15:lower", "--json")
    code, out, _ = call("gate", labels, *asked)
    same_code, same, _ = call("gate", numbers, "--scale", "0,1", *asked)
    rows, same_rows = (json.loads(printed)["tables"][0]["rows"] for printed in (out, same))
    assert (code, rows) == (same_code, same_rows)
    assert "on harm (share of yes)" in call("gate", labels, *asked[:-1], "--notes")[1]


@pytest.mark.slow
def test_a_test_of_another_project_passes_and_fails_by_it(pytester: pytest.Pytester) -> None:
    good, bad = (pytester.mkdir(name) for name in ("good", "bad"))
    study(good)
    study(bad, 0.5)
    pytester.makepyfile(
        """
        def test_release(bedside_gate):
            gate = bedside_gate("good/ratings.csv", baseline="A", margin={"empathy": 0.3})
            assert gate.system == "B"

        def test_no_release(bedside_gate):
            bedside_gate("bad/ratings.csv", baseline="A", margin={"empathy": 0.3}, system="B")

        def test_wrong(bedside_gate):
            bedside_gate("bad/ratings.csv", baseline="Z", margin={"empathy": 0.3})
        """
    )
    result = pytester.runpytest_subprocess(*plug_in(), "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*B against A: not passed*", "the gate can't be asked: *no system 'Z'*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*bedside/analysis*")


@pytest.mark.slow
def test_the_plug_in_loads_nothing_before_it_is_used(pytester: pytest.Pytester) -> None:
    """Every pytest run on a computer with bedside loads it."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            assert not {"polars", "bedside.api", "numpy"} & set(sys.modules)
        """
    )
    others = ("-p", "no:deepeval", "-p", "no:asyncio", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*plug_in(), *others)
    result.assert_outcomes(passed=1)
