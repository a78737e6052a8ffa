"""Drift, against the plainest computation on the rows themselves; commands of drift, trend and deviation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import HealthCheck, given, settings, strategies as st
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

import bedside
from bedside.analysis.deviation import deviation
from bedside.analysis.drift import drift
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.trend import Bin, trend
from bedside.cli import app, main
from bedside.core.errors import DataError
from bedside.reports.tables import TABLES
from bedside.reports.tables.length import bin_words
from bedside.stats.intervals import mean_t
from tests.analysis.builders import ends
from tests.analysis.ratings_rows import Row, of_system, view
from tests.reports.builders import full_table


def lengthy(values: Mapping[tuple[str, str, int, str], float | None], rater: str = "judge:m") -> RatingsView:
    """Values by (system, case, length, metric)."""
    rows: list[Row] = [(f"{s}-{c}-{n}", s, c, metric, rater, v) for (s, c, n, metric), v in values.items()]
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
    (one,) = drift(lengthy(values), "target_length").changes
    assert round(one.change.estimate or 0, 2) == change


def test_transcripts_of_a_case_and_passes_are_averaged() -> None:
    values = {"a200": 1.0, "a201": 3.0, "a800": 4.0, "a801": 6.0}
    rows: list[Row] = [(name, "A", "1", "empathy", "human:x", value) for name, value in values.items()]
    (change,) = drift(view(rows, {name: name[1:3] for name in values}), "target_length").changes
    assert change.change.estimate == pytest.approx(150)
    assert (change.change.n, change.change.missing) == (1, "no interval: one pair")


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
    assert (mean.mean, mean.n, mean.undefined) == pytest.approx(((50 + 75) / 2, 2, 1))


def test_pairs_own_changes_and_signed_means() -> None:
    """+100 %, −50 % and −10 % by hand; that of which less is better counts turned round."""
    pairs = {"empathy": [(1.0, 2.0), (4.0, 2.0), (5.0, 4.5), (0.0, 3.0)], "completed": [(1.0, 0.5)] * 4,
             "factual_conflict_rate": [(0.2, 0.3)] * 4}  # fmt: skip
    values: dict[tuple[str, str, int, str], float | None] = {
        ("A", str(case), length, metric): pair[place]
        for metric, own in pairs.items()
        for case, pair in enumerate(own)
        for place, length in enumerate((20, 80))
    }
    found = drift(lengthy(values), "target_length", change="pairs")
    changes = {own.metric: own for own in found.changes}
    empathy = changes["empathy"]
    assert empathy.change.estimate == pytest.approx(40 / 3)
    assert (empathy.change.n, empathy.without) == (3, 1)
    assert empathy.change.p_adjusted is not None
    assert drift(lengthy(values), "target_length").changes[0].change.estimate == pytest.approx(15)
    directions = {name: own.facts.direction for name, own in changes.items()}
    assert directions == {"empathy": "higher", "completed": "higher", "factual_conflict_rate": "lower"}
    (mean,) = found.means
    assert mean.signed == pytest.approx((40 / 3 - 50 - 50) / 3)
    assert mean.mean == pytest.approx((40 / 3 + 50 + 50) / 3)
    assert (mean.n, mean.level) == (3, "")


def test_all_pairs_of_a_case_with_several_sessions_count() -> None:
    """Case 1 has short sessions of 1 and 4 and long ones of 2 and 4: +100, +300, −50 and 0 %; case 2 falls by 90 %."""
    values = {"a130": 1.0, "b130": 4.0, "a1100": 2.0, "b1100": 4.0, "a230": 5.0, "a2100": 0.5, "a330": 2.0}
    rows: list[Row] = [(name, "A", name[1], "empathy", "judge:m", value) for name, value in values.items()]
    seen = view(rows, {name: name[2:] for name in values})
    (own,) = drift(seen, "target_length", change="pairs").changes
    assert own.change.estimate == pytest.approx((350 - 90) / 5)
    assert (own.change.n, own.cases, own.shared, own.alone_shortest) == (5, 2, 2, 1)
    table = full_table("drift", seen, change="pairs")
    assert "n: pairs with one" in " ".join(table.notes)


def test_means_of_metrics_are_followed_and_headings_have_means_of_their_own() -> None:
    """CALM-IT, Figure 2: conversation level, two metrics of +50 % and −20 % by hand."""
    values: dict[tuple[str, str, int, str], float | None] = {}
    for case in "123":
        for length, (said, heard, effect) in ((30, (0.2, 0.6, 4.0)), (100, (0.5, 0.7, 3.2))):
            parts = {"entailment.clinician": said, "entailment.patient": heard, "effectiveness": effect, "empathy": 2.0}
            values |= {("CI", case, length, metric): value for metric, value in parts.items()}
    values["CI", "3", 100, "entailment.patient"] = None
    entailment = {"metric": "entailment", "mean": ["entailment.clinician", "entailment.patient"], "title": "Entail."}
    headed = {"Agent": [{"metric": "empathy"}], "Conversation": [{"metric": "effectiveness"}, entailment]}
    table = full_table("drift", lengthy(values), metrics=headed, change="pairs", raters=["judge:*"])
    changes = {record["metric"]: (record["n"], record["change_percent"]) for record in table.records}
    assert changes["entailment"] == (2, pytest.approx(50))
    assert changes["mean of changes"] == (3, pytest.approx(10))
    assert changes["mean of changes, Conversation"] == (2, pytest.approx(15))
    assert changes["mean of absolute changes"] == (3, pytest.approx(70 / 3))
    assert [row.group for row in table.rows][:3] == ["Empathy ↑", "Effectiveness ↑", "Entail."]


def test_means_by_kind_of_raters() -> None:
    rows: list[Row] = []
    for rater, after in (("judge:m", 2.0), ("human:x", 3.0), ("algorithm:a@1", 4.0)):
        for length, value in ((20, 1.0), (80, after)):
            rows += [(f"t{length}", "A", "1", "empathy", rater, value)]
    found = drift(view(rows, {"t20": 20, "t80": 80}), "target_length")
    assert {mean.raters: mean.mean for mean in found.means} == {
        "people": 200, "algorithms": 300, "judge:m": 100, "all": 200
    }  # fmt: skip


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
    found = drift(lengthy(values), "target_length")
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
    for one in drift(lengthy(values), "target_length", change="pairs").changes:
        pairs = [(values.get((one.system, case, lengths[0], one.metric)),
                  values.get((one.system, case, lengths[-1], one.metric))) for case in "123"]  # fmt: skip
        own = [100 * (b - a) / a for a, b in pairs if a and b is not None]
        assert (one.change.n, one.without) == (len(own), sum(a == 0 and b is not None for a, b in pairs))
        assert one.change.estimate == (pytest.approx(np.mean(own), abs=1e-9) if own else None)
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
    tables: list[Any] = json.loads(done.stdout)
    return tables


@pytest.mark.slow
def test_commands_show_and_write_what_the_library_computes(run: Path, tmp_path: Path) -> None:
    tables = shown("compare", str(run), "--over", "length", "--metrics", "words_per_turn", "--out", str(tmp_path))
    first = tables[0]["rows"][0]
    assert (first["shortest"], first["longest"], first["n"]) == (4, 8, 4)
    assert first["change_percent"] == pytest.approx(100 * (first["mean_longest"] / first["mean_shortest"] - 1))
    assert {file.name for file in tmp_path.iterdir()} == {"drift.md", "drift.tex", "drift.csv"}
    tables = shown(
        "compare", str(run), "--over", "messages", "--metrics", "words_per_turn", "--edges", "6", "--out", str(tmp_path)
    )
    bins = [record for record in tables[0]["rows"] if record["messages"] != "trend"]
    assert {(record["messages"], record["n"]) for record in bins} == {("under 6", 4), ("6 and more", 4)}
    tables = shown("compare", str(run), "--against", "B", "--metrics", "words", "--out", str(tmp_path))
    assert {record["system"] for record in tables[0]["rows"]} == {"A"}
    again = shown("compare", str(run), "--against", str(run), "--out", str(tmp_path))
    assert len(again[0]["rows"]) > 10


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "RUN", "--over", "length", "--by", "persona"),
        ("compare", "RUN", "--over", "length", "--lengths", "4"),
        ("compare", "RUN", "--over", "length", "--change", "pear"),
        ("compare", "RUN", "--over", "length"),
        ("compare", "RUN", "--over", "messages", "--edges", "1.5", "--metrics", "words"),
        ("compare", "RUN", "--over", "messages", "--edges", "9,4", "--metrics", "words"),
        ("compare", "RUN", "--against", "nowhere"),
    ],
)
def test_bad_calls_end_in_one_line(run: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(run) if each == "RUN" else each for each in arguments])
    if arguments == ("compare", "RUN", "--over", "length"):  # completed is the one metric with a direction
        assert stopped.value.code == 0
        return
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1


def test_kinds_of_tables_say_nothing_where_there_is_nothing() -> None:
    bare = view(of_system("A", [1.0, 2.0]))
    for name in ("drift", "length", "deviation"):
        with pytest.raises(NothingError):
            TABLES.load(name).make(bare)


# -- trends ----------------------------------------------------------------------------------------------


def by_messages(values: Sequence[tuple[int, float | None]], system: str = "A") -> list[Row]:
    rows: list[Row] = []
    for index, (messages, value) in enumerate(values):
        name = f"{system}{index}"
        rows.append((name, system, None, "empathy", "human:x", value))
        rows.append((name, system, None, "turns", "algorithm:structure@1", float(messages)))
    return rows


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([(4, 1.0), (4, 2.0), (4, 3.0)], "all transcripts have the same number of messages"),
        ([(4, 1.0), (5, 1.0), (6, 1.0)], "all transcripts have the same value"),
        ([(4, 1.0), (5, 2.0)], "fewer than three transcripts"),
    ],
)
def test_what_does_not_vary_has_no_trend_and_says_why(values: list[tuple[int, float]], why: str) -> None:
    (followed,) = trend(view(by_messages(values)), metrics=["empathy"])
    assert followed.correlation.missing == why
    if values[0][0] == values[1][0]:
        assert [bin_words(each) for each in followed.bins] == ["all"]
    assert bin_words(Bin(10, 11, mean_t([]), 0)) == "10"


LONG = [(4, 1.0), (9, 2.0), (10, 4.0), (19, 3.0), (20, 6.0), (35, None), (50, 5.0)]


def test_bins_and_trend_are_what_a_slow_computation_gives() -> None:
    (found,) = trend(view(by_messages(LONG)), edges=[10, 20], metrics=["empathy"])
    inside = [[v for n, v in LONG if low <= n < below] for low, below in ((0, 10), (10, 20), (20, 999))]
    for each, values in zip(found.bins, inside, strict=True):
        there = [value for value in values if value is not None]
        assert each.mean.n == len(there)
        assert each.missing == len(values) - len(there)
        assert each.mean.estimate == pytest.approx(np.mean(there))
        expected = scipy.stats.t.interval(0.95, len(there) - 1, np.mean(there), scipy.stats.sem(there))
        assert ends(each.mean.interval) == pytest.approx(expected)
    pairs = [(n, v) for n, v in LONG if v is not None]
    expected = scipy.stats.spearmanr(*zip(*pairs, strict=True))
    assert found.correlation.estimate == pytest.approx(expected.statistic)
    assert found.correlation.p == pytest.approx(expected.pvalue)
    assert (found.correlation.n, found.correlation.dropped) == (6, 1)


def test_trends_are_corrected_together_and_bins_are_quartiles_unless_given() -> None:
    rows = by_messages(LONG) + by_messages([(n, 7 - v if v else 0.0) for n, v in LONG], system="B")
    found = trend(view(rows), metrics=["empathy"])
    assert [one.system for one in found] == ["A", "B"]
    expected = multipletests([one.correlation.p for one in found], method="holm")[1]
    assert [one.correlation.p_adjusted for one in found] == pytest.approx(expected)
    # Of 4, 9, 10, 19, 20, 35, 50, twice: 9.25 → 10, 19, 31.25 → 32.
    assert [bin_words(each) for each in found[0].bins] == ["under 10", "10–18", "19–31", "32 and more"]
    assert sum(each.mean.n + each.missing for each in found[0].bins) == len(LONG)


def test_bad_edges_are_refused() -> None:
    for edges in ([20, 10], [], [0, 10], [10, 10]):
        with pytest.raises(DataError, match="`edges`"):
            trend(view(by_messages(LONG)), edges=edges, metrics=["empathy"])


def clustered(draw: np.random.Generator, cases: int, each: int) -> RatingsView:
    """Cases with a length and a level of their own, which have nothing to do with each other."""
    rows: list[Row] = []
    for case in range(cases):
        length, level = draw.integers(10, 60), draw.normal()
        for number in range(each):
            name = f"{case}-{number}"
            turns, value = float(length + draw.integers(0, 3)), level + 0.3 * draw.normal()
            rows.append((name, "a", f"c{case}", "turns", "algorithm:structure@1", turns))
            rows.append((name, "a", f"c{case}", "smog", "algorithm:r@1", value))
    return view(rows)


@pytest.mark.slow
def test_transcripts_of_one_case_count_as_one() -> None:
    """Ten cases of five transcripts without a trend: taken for fifty, a third of the runs or more have p below .05."""
    below = naive = 0
    runs = 150
    for seed in range(runs):
        followed = trend(clustered(np.random.default_rng(seed), 10, 5), metrics=["smog"])[0].correlation
        below += (followed.p or 1) <= 0.05
        alone = correlation_of(clustered(np.random.default_rng(seed), 10, 5))
        naive += alone <= 0.05
        assert followed.details["cases"] == 10
    assert naive / runs > 0.25
    assert below / runs <= 0.107  # 5 % and three standard errors


def correlation_of(ratings: RatingsView) -> float:
    """p of Spearman's correlation over transcripts."""
    wide = ratings.ratings.pivot("metric", index="transcript_id", values="value")
    return float(scipy.stats.spearmanr(wide["turns"], wide["smog"]).pvalue)


def test_few_cases_of_several_transcripts_give_no_p() -> None:
    followed = trend(clustered(np.random.default_rng(0), 4, 5), metrics=["smog"])[0].correlation
    assert (followed.p, followed.missing) == (None, "no p: 4 cases, fewer than 5")
    assert followed.estimate is not None


# -- deviation from a reference corpus -------------------------------------------------------------------


def test_deviation_is_the_absolute_difference_of_means_with_welchs_interval() -> None:
    ours: list[float | None] = [3.0, 4.0, 8.0, None]
    theirs: list[float | None] = [7.0, 9.0, 11.0, 6.0]
    run = view(of_system("A", ours) + of_system("human", theirs))
    (found,) = deviation(run, "human")
    there = [value for value in ours if value is not None]
    assert found.deviation == pytest.approx(abs(np.mean(there) - 8.25))
    assert (found.n, found.missing, found.reference_n) == (3, 1, 4)
    expected = scipy.stats.ttest_ind(there, theirs, equal_var=False).confidence_interval()
    assert ends(found.difference.interval) == pytest.approx(tuple(expected))
    assert found.difference.estimate == pytest.approx(-(found.deviation or 0))
    other = view(of_system("X", theirs))
    assert deviation(view(of_system("A", ours)), other)[0].difference == found.difference


def test_only_what_the_same_raters_rated_is_held_against_each_other() -> None:
    run = view(of_system("A", [1.0, 2.0]) + of_system("A", [1.0], "own"))
    newer = view(of_system("X", [1.0, 2.0], rater="algorithm:r@2"))
    with pytest.raises(NothingError):
        deviation(run, newer)
    both = view(of_system("X", [5.0, 2.0]) + of_system("X", [1.0], "own", "algorithm:other@1"))
    assert [one.metric for one in deviation(run, both)] == ["smog"]
    named = deviation(run, both, metrics=["smog", "own"])
    assert [(one.metric, one.deviation, one.difference.missing) for one in named if one.metric == "own"] == [
        ("own", None, "the reference was rated by algorithm:other@1, not by algorithm:r@1")
    ]
