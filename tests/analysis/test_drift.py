"""Drift, against the plainest computation on the rows themselves; commands of drift, trend and deviation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import bedside
from bedside.analysis.drift import drift
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.cli import app, main
from bedside.core.errors import DataError
from bedside.reports.tables import TABLES
from tests.analysis.ratings_rows import Row, of_system, view


def lengthy(values: dict[tuple[str, str, int, str], float | None], rater: str = "judge:m") -> RatingsView:
    """Values by (system, case, length, metric)."""
    rows = [(f"{s}-{c}-{n}", s, c, metric, rater, v) for (s, c, n, metric), v in values.items()]
    return view(rows, {f"{s}-{c}-{n}": n for s, c, n, _ in values})


def test_drift_is_the_change_of_the_means_of_cases_with_both() -> None:
    values: dict[tuple[str, str, int, str], float | None] = {}
    short = {"1": 4.0, "2": 5.0, "3": 3.0, "4": 5.0}
    long = {"1": 2.0, "2": 4.0, "3": None, "5": 1.0}
    for length, of_case in ((20, short), (80, long), (40, {"1": 9.0})):
        values |= {("A", case, length, "empathy"): value for case, value in of_case.items()}
    found = drift(lengthy(values), "target_length")
    assert (found.shortest, found.longest, found.between) == (20, 80, (40,))
    (one,) = found.changes
    assert one.change.estimate == pytest.approx(100 * (3.0 - 4.5) / 4.5)
    assert (one.change.n, one.alone_shortest, one.alone_longest) == (2, 2, 1)
    assert found.means[0].mean == pytest.approx(100 * 1.5 / 4.5)
    assert drift(lengthy(values), "target_length", lengths=(20, 40)).changes[0].change.estimate == 125


@pytest.mark.parametrize(("base", "change"), [(4.27, 4.22), (2.86, 55.59), (1.19, 273.95)])
def test_published_changes(base: float, change: float) -> None:
    values: dict[tuple[str, str, int, str], float | None] = {
        ("A", str(case), length, "empathy"): mean + spread
        for length, mean in ((20, base), (80, 4.45))
        for case, spread in enumerate((-0.1, 0.0, 0.1))
    }
    (one,) = drift(lengthy(values), "target_length", resamples=100).changes
    assert round(one.change.estimate or 0, 2) == change


def test_transcripts_of_a_case_and_passes_are_averaged() -> None:
    rows = [(f"a{n}{k}", "A", "1", "empathy", "human:x", float(v)) for n, vs in ((20, (1, 3)), (80, (4, 6)))
            for k, v in enumerate(vs)]  # fmt: skip
    found = drift(view(rows, {row[0]: row[0][1:3] for row in rows}), "target_length")  # type: ignore[arg-type]
    assert found.changes[0].change.estimate == pytest.approx(150)
    assert found.changes[0].change.n == 1
    assert found.changes[0].change.missing == "no interval: one pair"


def test_mean_of_absolute_changes_leaves_out_what_is_undefined() -> None:
    means = {"up": (2.0, 3.0), "down": (4.0, 1.0), "from_zero": (0.0, 1.0)}
    values: dict[tuple[str, str, int, str], float | None] = {
        ("A", case, length, metric): pair[index]
        for metric, pair in means.items()
        for index, length in enumerate((20, 80))
        for case in "12"
    }
    found = drift(lengthy(values), "target_length")
    undefined = [one for one in found.changes if one.change.estimate is None]
    assert [(one.metric, one.change.missing) for one in undefined] == [
        ("from_zero", "undefined: the mean before is zero")
    ]
    (mean,) = found.means
    assert (mean.mean, mean.n, mean.undefined) == (pytest.approx((50 + 75) / 2), 2, 1)


def test_means_by_kind_of_raters() -> None:
    rows: list[Row] = []
    for rater, after in (("judge:m", 2.0), ("human:x", 3.0), ("algorithm:a@1", 4.0)):
        for length, value in ((20, 1.0), (80, after)):
            rows += [(f"t{length}", "A", "1", "empathy", rater, value)]
    found = drift(view(rows, {"t20": 20, "t80": 80}), "target_length")
    assert {mean.raters: mean.mean for mean in found.means} == {
        "people": 200, "algorithms": 300, "judge:m": 100, "all": 200
    }  # fmt: skip


def test_no_length_no_factor_no_number_are_one_line() -> None:
    one = lengthy({("A", "1", 20, "empathy"): 1.0})
    with pytest.raises(
        NothingError, match="every transcript has target_length 20: a change needs two lengths"
    ):
        drift(one, "target_length")
    with pytest.raises(NothingError, match="'length'; did you mean"):
        drift(one, "length")
    with pytest.raises(NothingError, match="plain file of ratings has no factors"):
        drift(view([("t", "A", "1", "empathy", "human:x", 1.0)]), "target_length")
    with pytest.raises(DataError, match="transcript 't' is 'long', which is no number"):
        drift(view([("t", "A", "1", "empathy", "human:x", 1.0)], {"t": "long"}), "target_length")
    two = lengthy({("A", "1", 20, "empathy"): 1.0, ("A", "1", 80, "empathy"): 2.0})
    with pytest.raises(DataError, match="no transcript has target_length 30; there are 20, 80"):
        drift(two, "target_length", lengths=(20, 30))
    with pytest.raises(DataError, match="80 is not shorter than 20"):
        drift(two, "target_length", lengths=(80, 20))


def test_why_lengths_do_not_pair_is_said() -> None:
    def reason(found: RatingsView) -> str | None:
        return drift(found, "target_length").changes[0].change.missing

    apart = lengthy({("A", "1", 20, "empathy"): 1.0, ("A", "2", 80, "empathy"): 2.0})
    assert reason(apart) == "no case has a value at both lengths"
    rows: list[Row] = [(f"t{n}", "A", None, "empathy", "human:x", 1.0) for n in (20, 80)]
    nameless = view(rows, {"t20": 20, "t80": 80, "t": None})
    assert reason(nameless) == "the transcripts don't name their case, by which lengths are paired"
    assert drift(nameless, "target_length").without == 1
    gone = lengthy({("A", "1", 20, "empathy"): 1.0, ("A", "1", 80, "empathy"): None})
    assert reason(gone) == "no value at length 80"


numbers = st.none() | st.integers(0, 5)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from("AB"), st.sampled_from("123"), st.sampled_from((20, 40, 80)), st.sampled_from("pq")
        ),
        numbers, min_size=1,
    )
)  # fmt: skip
def test_drift_is_what_a_slow_computation_gives(values: dict[Any, float | None]) -> None:
    lengths = sorted({n for _, _, n, _ in values})
    if len(lengths) < 2 or all(v is None for v in values.values()):
        with pytest.raises(NothingError):
            drift(lengthy(values), "target_length")
        return
    found = drift(lengthy(values), "target_length", resamples=20)
    for one in found.changes:
        pairs = [
            (
                values.get((one.system, case, lengths[0], one.metric)),
                values.get((one.system, case, lengths[-1], one.metric)),
            )
            for case in "123"
        ]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        assert one.change.n == len(both)
        base = sum(a for a, _ in both)
        if not both or base == 0:
            assert one.change.estimate is None
            assert one.change.missing
        else:
            assert one.change.estimate == pytest.approx(100 * (sum(b for _, b in both) - base) / base)
    for mean in found.means:
        sizes = [abs(one.change.estimate) for one in found.changes
                 if one.system == mean.system and one.change.estimate is not None]  # fmt: skip
        assert mean.n == len(sizes)
        assert mean.mean == (pytest.approx(sum(sizes) / len(sizes)) if sizes else None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of two systems, four cases and two lengths."""
    folder = tmp_path_factory.mktemp("drift")
    lines = []
    for system, word in (("A", "rather"), ("B", "very very")):
        for case in range(4):
            for length in (4, 8):
                turns = [
                    {
                        "role": "clinician" if n % 2 == 0 else "patient",
                        "text": f"It is {word} good." * (1 + n % 3 + case),
                    }
                    for n in range(length)
                ]
                lines.append(
                    {"id": f"{system}{case}-{length}", "system": system, "case_id": str(case),
                     "factors": {"target_length": length}, "turns": turns}
                )  # fmt: skip
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    bedside.score([folder / "t.jsonl"], folder / "run", metrics=["structure"])
    return folder / "run"


def shown(*arguments: str) -> list[Any]:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.slow
def test_commands_show_and_write_what_the_library_computes(run: Path, tmp_path: Path) -> None:
    tables = shown("drift", str(run), "--metrics", "words_per_turn", "--out", str(tmp_path))
    first = tables[0]["rows"][0]
    assert (first["shortest"], first["longest"], first["n"]) == (4, 8, 4)
    assert first["change_percent"] == pytest.approx(
        100 * (first["mean_longest"] / first["mean_shortest"] - 1)
    )
    assert {file.name for file in tmp_path.iterdir()} == {"drift.md", "drift.tex", "drift.csv"}
    tables = shown("trend", str(run), "--metrics", "words_per_turn", "--edges", "6", "--out", str(tmp_path))
    bins = [record for record in tables[0]["rows"] if record["messages"] != "trend"]
    assert {(record["messages"], record["n"]) for record in bins} == {("under 6", 4), ("6 and more", 4)}
    tables = shown("deviation", str(run), "--reference", "B", "--metrics", "words", "--out", str(tmp_path))
    assert {record["system"] for record in tables[0]["rows"]} == {"A"}
    again = shown("deviation", str(run), "--reference", str(run), "--out", str(tmp_path))
    assert len(again[0]["rows"]) > 10


@pytest.mark.parametrize(
    "arguments",
    [
        ("drift", "RUN", "--by", "persona"),
        ("drift", "RUN", "--lengths", "4"),
        ("drift", "RUN"),
        ("trend", "RUN", "--edges", "1.5", "--metrics", "words"),
        ("trend", "RUN", "--edges", "9,4", "--metrics", "words"),
        ("deviation", "RUN", "--reference", "nowhere"),
    ],
)
def test_bad_calls_end_in_one_line(
    run: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(run) if each == "RUN" else each for each in arguments])
    if arguments == ("drift", "RUN"):  # completed is the one metric with a direction
        assert stopped.value.code == 0
        return
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1


def test_kinds_of_tables_say_nothing_where_there_is_nothing() -> None:
    bare = view(of_system("A", [1.0, 2.0]))
    for name, why in (
        ("drift", "a plain file of ratings has no factors"),
        ("length", "the ratings don't say how many messages a transcript has"),
        ("deviation", "no reference corpus is named"),
    ):
        with pytest.raises(NothingError, match=why):
            TABLES.load(name).make(bare)
