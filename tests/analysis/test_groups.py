"""Groups in place of systems: the levels of a factor compared, against scipy on the values themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import bedside
from bedside.analysis.comparison import compare
from bedside.analysis.groups import group_view
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import comparable_groups
from bedside.core.errors import DataError
from bedside.reports.renderers.records import json_text
from bedside.transcripts.read_options import ReadOptions
from tests.analysis.ratings_rows import view
from tests.conftest import Call


def talk(name: str, system: str, case: str | None, **factors: str) -> dict[str, Any]:
    """A conversation whose clinician asks as many questions as its name's last figure says."""
    questions = int(name[-1])
    turns = [
        {"role": "clinician", "text": "How are you today, my friend? " * questions + "Good."},
        {"role": "patient", "text": "Fine."},
    ]
    return {"id": name, "system": system, "case_id": case, "factors": factors, "turns": turns}


def scored(folder: Path, talks: list[dict[str, Any]]) -> Path:
    path = folder / "talks.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in talks), "utf-8")
    bedside.score(path, folder / "run", metrics=["turns", "words"])
    return folder / "run"


def test_groups_of_one_system_without_cases_are_compared_unpaired() -> None:
    rng = np.random.default_rng(1)
    high, low = rng.normal(3, 1, 14), rng.normal(2, 1, 9)
    rows = [(f"t{i}", "human", None, "smog", "algorithm:r@1", float(v)) for i, v in enumerate([*high, *low])]
    quality = {f"t{i}": "high" if i < 14 else "low" for i in range(23)}
    grouped = group_view(view(rows, quality, by="quality"), "quality")
    (pair,) = compare(grouped, metrics=["smog"]).pairs
    expected = scipy.stats.mannwhitneyu(high, low)
    assert (pair.a, pair.b, pair.paired) == ("high", "low", False)
    assert (pair.test.statistic, pair.test.p) == (expected.statistic, pytest.approx(expected.pvalue))
    assert (pair.cases_a, pair.cases_b) == (14, 9)


def test_groups_that_share_cases_pair() -> None:
    """Each case was held once calm and once hurried."""
    rng = np.random.default_rng(2)
    calm, hurried = rng.normal(3, 1, 12), rng.normal(2, 1, 12)
    rows, pace = [], {}
    for level, values in (("calm", calm), ("hurried", hurried)):
        for case, value in enumerate(values):
            rows.append((f"{level}{case}", "human", str(case), "smog", "algorithm:r@1", float(value)))
            pace[f"{level}{case}"] = level
    (pair,) = compare(group_view(view(rows, pace, by="pace"), "pace"), metrics=["smog"]).pairs
    assert pair.paired
    assert pair.test.p == pytest.approx(scipy.stats.wilcoxon(calm, hurried, method="exact").pvalue)
    assert pair.difference.estimate == pytest.approx(np.mean(calm - hurried))


def two_systems(*, shared: bool) -> RatingsView:
    """Long conversations score 1 more in each system, and system B 10 more; B has long ones of half the cases only."""
    rows, length = [], {}
    for system, extra in (("A", 0.0), ("B", 10.0)):
        for case in range(8):
            for level, more in (("short", 0.0), ("long", 1.0)):
                if system == "B" and level == "long" and case >= 4:
                    continue
                name = f"{system}{case}{level}"
                case_id = str(case) if shared else f"{system}{case}"
                rows.append((name, system, case_id, "smog", "algorithm:r@1", extra + more + case / 10))
                length[name] = level
    return view(rows, length, by="length")


def test_both_sides_are_of_the_same_systems() -> None:
    """All means together, long would be 2 lower (A's 1 and 4 of B's 12 fewer); of the same systems it is 1 higher."""
    ratings = two_systems(shared=True)
    grouped = group_view(ratings, "length")
    (pair,) = compare(grouped, metrics=["smog"]).pairs
    assert (pair.a, pair.b) == ("long", "short")
    assert pair.difference.estimate == pytest.approx(1.0)
    assert (pair.cases_a, pair.unmatched_a, pair.unmatched_b) == (8, 0, 4)
    assert "same systems (A, B)" in grouped.part.grouping
    (of_a,) = compare(group_view(ratings, "length", ["A"]), metrics=["smog"]).pairs
    assert (of_a.cases_a, of_a.difference.estimate) == (8, pytest.approx(1.0))
    assert of_a.mean_a == pytest.approx(np.mean([1 + case / 10 for case in range(8)]))


def test_groups_without_a_shared_case_are_of_the_same_systems_too() -> None:
    """A and B have four short cases each, of long ones A has four and B none: by A alone long is 1 higher."""
    rows, length = [], {}
    for system, extra in (("A", 0.0), ("B", 10.0)):
        for case in range(4):
            for level, more in (("short", 0.0), ("long", 1.0)):
                if (system, level) != ("B", "long"):
                    name = f"{system}{level}{case}"
                    rows.append(
                        (name, system, f"{level}{case}", "smog", "algorithm:r@1", extra + more + case / 10)
                    )
                    length[name] = level
    grouped = group_view(view(rows, length, by="length"), "length")
    (pair,) = compare(grouped, metrics=["smog"]).pairs
    assert (pair.a, pair.b, pair.paired, pair.cases_a, pair.cases_b) == ("long", "short", False, 4, 4)
    assert pair.difference.estimate == pytest.approx(1.0)
    assert not any("asked for" in sentence for sentence in grouped.part.sentences())


def test_what_is_asked_to_be_matched_is_matched_beside_systems() -> None:
    """The factor whose levels are the groups can't be; of one system there is none to match."""
    ratings = two_systems(shared=True)
    for asked, systems, matched in (
        (("length",), None, ("of_system",)), ((), None, ("of_system",)), ((), ["A"], ()), (None, None, None),
    ):  # fmt: skip
        part = replace(ratings.part, match=asked)
        assert group_view(replace(ratings, part=part), "length", systems).part.match == matched


def test_what_is_known_after_a_conversation_is_not_offered() -> None:
    factors = pl.DataFrame(
        {
            "transcript_id": list("abcd"), "completed": ["yes", "no", "yes", "no"], "ward": ["x", "y", "y", "x"],
            "repeat": ["1", "1", "2", "2"], "single": ["p", "q", "r", "r"],
        }
    )  # fmt: skip
    assert comparable_groups(factors) == {"ward": {"x": 2, "y": 2}}
    assert comparable_groups(factors, declared={"ward": "outcome"}) == {}


def test_what_can_not_be_compared_names_the_options() -> None:
    with pytest.raises(DataError, match=r"share no case.*`systems=A`"):
        group_view(two_systems(shared=False), "length")
    with pytest.raises(DataError, match="'lenght'; did you mean length"):
        group_view(two_systems(shared=True), "lenght")
    with pytest.raises(DataError, match="needs two groups, and length has 'long' only"):
        group_view(two_systems(shared=True).where({"length": ["long"]}), "length")
    with pytest.raises(DataError, match=r"plain file.*`columns=system=length`"):
        group_view(view([("t", "A", None, "smog", "algorithm:r@1", 1.0)]), "length")
    with pytest.raises(DataError, match="no group 'lng'; did you mean long"):
        compare(group_view(two_systems(shared=True), "length"), reference="lng")


def test_tables_speak_of_groups_and_leave_names_alone(tmp_path: Path) -> None:
    """A level may be called system, too."""
    talks = [
        talk(f"{level}{case}-{case + more}", "human", str(case), ward=level)
        for level, more in (("closed system", 0), ("open", 1))
        for case in range(1, 8)
    ]
    talks.append(talk("without-9", "human", "9"))
    run = scored(tmp_path, talks)
    tables = bedside.compare(run, groups="ward", metrics="words.clinician", margin=20.0)
    assert [table.name for table in tables] == ["margin", "comparison"]
    for table in tables:
        assert table.title.endswith("(ward)")
        assert table.columns[0].title == "Groups"
        text = json_text(table)
        assert "closed system" in text
        assert "system" not in text.replace("closed system", "")
        assert {record["groups"] for record in table.records} == {"ward"}
        assert {(record["a"], record["b"]) for record in table.records} == {("closed system", "open")}
        assert any(
            note
            == "Groups are the levels of ward (transcripts: closed system 7, open 7). 1 transcript without ward "
            "left out."
            for note in table.notes
        )
    (record,) = tables[1].records
    assert (record["n"], record["of"], record["paired"]) == (7, 7, True)
    assert tables[1].rows[0].cells[0].text == "closed system − open"


def test_one_system_is_answered_with_the_groups_by_name(call: Call, tmp_path: Path) -> None:
    talks = [talk(f"t{i}-{1 + i % 5}", "human", None, quality="hl"[i % 2], number=str(i)) for i in range(8)]
    scored(tmp_path, talks)
    code, _, err = call("compare", "run")
    assert code == 2
    assert "there is only 'human'; compare groups with --groups quality (h 4, l 4), or score" in err
    assert "number" not in err
    code, out, err = call("compare", "run", "--groups", "quality", "--metrics", "words.clinician", "--json")
    (table,) = json.loads(out)
    assert (code, table["rows"][0]["a"], table["rows"][0]["b"]) == (0, "h", "l")
    assert "explain" not in err
    asked = ("--groups", "quality", "--baseline", "l", "--margin", "words.clinician=1000:higher", "--json")
    code, out, _ = call("gate", "run", *asked)
    assert (code, json.loads(out)["passed"]) == (0, True)
    _, out, _ = call("score", "talks.jsonl", "--metrics", "turns", "--out", "again")
    assert out.splitlines()[-1].endswith("bedside compare again --groups quality")


def test_annomi_is_as_scipy_and_as_a_column_of_systems_says(annomi: Path, tmp_path: Path) -> None:
    """What makes groups must not change numbers: by factor, by column, and by scipy on each session's value."""
    rows = pl.read_csv(annomi, infer_schema=False)
    rows.write_csv(tmp_path / "sessions.csv")
    metrics = ["percent_open_questions", "percent_complex_reflections", "smog"]
    bedside.score(tmp_path / "sessions.csv", tmp_path / "run", metrics=metrics)
    by_factor = bedside.compare(tmp_path / "run", groups="mi_quality", metrics=metrics)[-1].records
    columns = ReadOptions(columns={"system": "mi_quality"})
    bedside.score(tmp_path / "sessions.csv", tmp_path / "of_column", metrics=metrics, options=columns)
    by_column = bedside.compare(tmp_path / "of_column", metrics=metrics)[-1].records
    left = ("groups", "family", "why")
    assert [{key: value for key, value in record.items() if key not in left} for record in by_factor] == [
        {key: value for key, value in record.items() if key not in left} for record in by_column
    ]
    quality = dict(rows.select("transcript_id", "mi_quality").unique().iter_rows())
    ratings = open_ratings_view(tmp_path / "run").transcript_values(
        [*metrics, "smog.clinician", "smog.patient"]
    )
    assert by_factor
    for record in by_factor:
        own = ratings.filter(metric=record["metric"], group=record["raters"]).drop_nulls("value")
        of = {level: [value for name, value in own.select("transcript_id", "value").iter_rows()
                      if quality[name] == level] for level in ("high", "low")}  # fmt: skip
        expected = scipy.stats.mannwhitneyu(of["high"], of["low"])
        assert (record["statistic"], record["p"]) == (expected.statistic, pytest.approx(expected.pvalue))
        assert (record["cases_a"], record["cases_b"]) == (len(of["high"]), len(of["low"]))
        assert (record["of_a"], record["of_b"]) == (84, 16)
