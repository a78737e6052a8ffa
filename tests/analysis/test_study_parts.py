"""What an answer is about: rounds of annotation are never mixed unasked, and levels of factors are chosen by name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.comparison import compare
from bedside.analysis.groups import group_view
from bedside.analysis.metric_facts import known_scale
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import comparable_groups
from bedside.analysis.study_parts import averaged_factors, level_order
from bedside.core.errors import DataError
from bedside.judges.rubrics.rubric import as_data
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.ratings.run import Run
from bedside.ratings.study_design import conditions_of, kinds_of
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables, extremes
from bedside.reports.explanation import explain
from bedside.reports.methods import methods
from bedside.reports.renderers.records import json_text
from bedside.reports.tables.comparison import comparison_table
from bedside.scoring.score import score
from bedside.stats.unpaired import permutation
from bedside.transcripts.read_options import ReadOptions
from tests.analysis.builders import has_note, rating
from tests.analysis.ratings_rows import Row, view
from tests.conftest import Call, conversation

SETTINGS = ("8 turns", "16 turns")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Ten cases of two systems in two settings; people rated empathy in a pilot and a main round, safety in one."""
    talks = [
        conversation(
            ("clinician", "How are you?"), ("patient", "Well."), id=f"{system}-{case}-{setting[:2].strip()}",
            system=system, case_id=f"c{case}", language="en", factors={"setting": setting, "repeat": case % 2},
        )
        for system in ("a", "b") for case in range(10) for setting in SETTINGS
    ]  # fmt: skip
    (tmp_path / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    made = score([tmp_path / "talks.jsonl"], tmp_path / "run", metrics=["turns"]).run
    heads = [(talk.id, str(talk.system), str(talk.case_id)) for talk in talks]
    pilot = [rating(*head, "empathy", rater, 1.0) for head in heads[:8] for rater in ("human:x", "human:y")]
    main = [
        rating(*head, "empathy", rater, 1.0 + position % 3)
        for position, head in enumerate(heads)
        for rater in ("human:x", "human:y")
    ]
    safety = [rating(*head, "safety", "human:x", 1.0) for head in heads]
    for rows, name in ((pilot, "pilot"), (main, "main"), (safety, "import")):
        made.add(frame_of(rows, name).lazy(), made.manifest)
    return Run(made.path)


def people(run: Run | str | Path, metric: str, *rounds: str) -> int:
    return open_ratings_view(run, rounds=list(rounds)).ratings.filter(pl.col("metric") == metric).height


def test_two_rounds_of_a_metric_are_never_mixed_unasked(run: Run) -> None:
    with pytest.raises(bedside.BedsideError, match=r"main, pilot.*`rounds=pilot`.*`rounds=all`"):
        open_ratings_view(run)
    assert [people(run, metric, "main") for metric in ("empathy", "safety", "turns")] == [80, 0, 40]
    assert [people(run, metric, "pilot", "import") for metric in ("empathy", "safety")] == [16, 40]
    with pytest.raises(bedside.BedsideError, match="'pilto'"):
        open_ratings_view(run, rounds=["pilto"])


def test_all_rounds_are_repeated_ratings_and_that_is_said(run: Run) -> None:
    view = open_ratings_view(run, rounds=["all"])
    value = view.transcript_values(["empathy"]).filter(pl.col("transcript_id") == "a-0-16")["value"].item()
    # Both people gave 1 in the pilot and 2 in the main round.
    assert value == 1.5
    assert [row.units for row in agree(view, metrics=["empathy"]) if row.kind == "people"] == [40]
    assert has_note(bedside.tables(run, "results", rounds="all")["results"], "all rounds count", "repeated ratings")
    main = bedside.tables(run, "results", rounds="main")["results"]
    assert has_note(main, "those of the round main")


def test_one_persons_repeated_ratings_weigh_as_one_persons(tmp_path: Path) -> None:
    rows = [rating("t", "a", "c", "empathy", "human:x", value, replicate=pass_)
            for pass_, value in enumerate((1.0, 1.0, 1.0))]  # fmt: skip
    rows.append(rating("t", "a", "c", "empathy", "human:y", 5.0))
    view = RatingsView(frame_of(rows), {}, None, "ratings")
    assert view.transcript_values(["empathy"])["value"].item() == 3.0


def test_labels_of_no_round_stay_where_their_metric_has_no_other(run: Run) -> None:
    rows = [rating("a-0-8", "a", "c0", metric, "human:x", 1.0) for metric in ("codes", "empathy")]
    run.add(frame_of(rows).lazy(), run.manifest)
    assert [people(run.path, metric, "main") for metric in ("codes", "empathy")] == [1, 80]
    assert people(run.path, "empathy", "") == 1


def test_files_and_data_frames_have_rounds(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("item,rater,metric,value,round\n1,ann,empathy,2,r1\n1,ann,empathy,4,r2\n1,ben,empathy,4,r2\n")
    with pytest.raises(bedside.BedsideError, match="r1, r2"):
        bedside.agree(file, scales="1-5")
    assert open_ratings_view(file, rounds=["r1"]).ratings["value"].to_list() == [2.0]
    frame = pl.read_csv(file)
    assert open_ratings_view(frame, rounds=["r2"]).ratings["value"].to_list() == [4.0, 4.0]
    with pytest.raises(DataError):
        open_ratings_view(file, rounds=["r1"], where={"setting": ["8"]})


def test_transcripts_are_chosen_by_levels_of_factors(run: Run) -> None:
    view = open_ratings_view(run, rounds=["main"], where={"setting": ["8 turns"]})
    assert view.transcripts().height == 20
    assert set(view.ratings["transcript_id"]) == set(view.transcripts()["transcript_id"])
    both = open_ratings_view(run, rounds=["main"], where={"setting": list(SETTINGS), "repeat": ["0"]})
    assert both.transcripts().height == 20
    for where, words in (({"settin": ["8 turns"]}, "'settin'"), ({"setting": ["8 turn"]}, "'8 turn'")):
        with pytest.raises(bedside.BedsideError, match=words):
            open_ratings_view(run, rounds=["main"], where=where)
    assert any("Only transcripts with setting 8 turns are looked at." in text for text in methods(run, view))


def test_factors_that_vary_within_a_system_and_case_are_averaged_over(run: Run) -> None:
    view = open_ratings_view(run, rounds=["main"])
    (setting,) = view.averaged_factors()
    assert (setting.name, setting.levels) == ("setting", SETTINGS)
    assert setting.by_system == {"a": SETTINGS, "b": SETTINGS}
    assert view.where({"setting": ["8 turns"]}).averaged_factors() == ()
    assert {level: part.transcripts().height for level, part in view.by_level("setting").items()} == {
        "8 turns": 20, "16 turns": 20,
    }  # fmt: skip


def condition_names(factors: dict[str, list[Any]], cases: str | None = "xxyy") -> list[str]:
    """The conditions that an answer on four transcripts of a system averages over."""
    names = ["1", "2", "3", "4"]
    case_ids = pl.Series(list(cases) if cases else [None] * 4, dtype=pl.String())
    rated = pl.DataFrame({"transcript_id": names, "system": ["a"] * 4, "case_id": case_ids})
    frame = pl.DataFrame({"transcript_id": names, **factors})
    conditions = conditions_of(rated.join(frame, on="transcript_id"), kinds_of(frame, {}))
    return [factor.name for factor in averaged_factors(rated, frame, conditions)]


def test_what_names_transcripts_or_cases_or_how_they_came_out_is_no_condition() -> None:
    factors: dict[str, list[Any]] = {
        "date": ["1", "2", "3", "4"], "persona": ["p", "p", "q", "q"], "temperature": [None, "1", "0", "1"],
        "repeat": ["0", "1", "0", "1"],
    }  # fmt: skip
    assert condition_names(factors) == ["temperature"]
    # Without cases, what varies within a system is averaged over.
    assert condition_names(factors, None) == ["persona", "temperature"]
    completed: dict[str, list[Any]] = {"completed": ["True", "False", "True", "True"]}
    assert condition_names(completed) == []
    assert condition_names({**completed, "synthetic": ["True"] * 4}) == []


@pytest.fixture
def mixed(tmp_path: Path) -> Run:
    """A clinic's own conversations in ten words, and five that were simulated in its place in thirty; a model's."""
    talks = [
        conversation(
            ("clinician", "How are you?"), ("patient", " ".join(["word"] * words)), id=f"{system}-{kind}-{case}",
            system=system, case_id=f"c{case}", language="en", factors={"synthetic": True} if kind else {},
        )
        for system, kind, words in (("clinic", 0, 10), ("clinic", 1, 30), ("model", 1, 20)) for case in range(5)
    ]  # fmt: skip
    (tmp_path / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    return score([tmp_path / "talks.jsonl"], tmp_path / "run", metrics=["structure"]).run


def mean_words(view: RatingsView, system: str) -> float:
    rows = view.ratings.filter(pl.col("metric") == "words.patient", pl.col("system") == system)
    return float(rows.select(pl.col("value").mean()).item())


def test_simulated_conversations_of_a_system_are_never_averaged_with_others_unasked(mixed: Run) -> None:
    for question in (open_ratings_view, bedside.compare, bedside.report):
        with pytest.raises(bedside.BedsideError, match=r"clinic .*`where=synthetic=True`"):
            question(mixed)
    words = {
        levels: mean_words(open_ratings_view(mixed, where={"synthetic": levels}), "clinic")
        for levels in (("True",), ("False",), ("True", "False"))
    }
    assert words == {("True",): 30.0, ("False",): 10.0, ("True", "False"): 20.0}
    both = open_ratings_view(mixed, where={"synthetic": ["True", "False"]})
    assert [factor.name for factor in both.averaged_factors()] == ["synthetic"]
    (card,) = build_tables(both, ["simulation_card"])
    assert has_note(card, "numbers are of both together")


@pytest.mark.slow
def test_the_command_takes_the_kind_that_is_chosen(mixed: Run, call: Call) -> None:
    code, _, shown = call("compare", mixed.path)
    assert code == 2
    assert "--where synthetic=True or --where synthetic=False" in " ".join(shown.split())
    for where in ("synthetic=True", "synthetic=True,synthetic=False"):
        assert call("compare", mixed.path, "--metrics", "words.patient", "--where", where)[0] == 0


def test_systems_of_one_kind_each_stand_side_by_side(mixed: Run, tmp_path: Path) -> None:
    view = open_ratings_view(mixed, where={"synthetic": ["True"]})
    assert set(view.systems()) == {"clinic", "model"}
    kept = [talk for talk in mixed.transcripts() if not talk.id.startswith("clinic-1")]
    (tmp_path / "apart.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in kept))
    apart = score([tmp_path / "apart.jsonl"], tmp_path / "apart", metrics=["structure"]).run
    view = open_ratings_view(apart)
    assert (mean_words(view, "clinic"), mean_words(view, "model")) == (10.0, 20.0)
    assert view.where({"synthetic": ["False"]}).systems() == ["clinic"]
    (card,) = build_tables(view, ["simulation_card"])
    assert has_note(card, "No system has both")


@pytest.mark.parametrize(
    ("levels", "ordered"),
    [
        (["16 turns", "8 turns", "none given", "long"], ["8 turns", "16 turns", "long", "none given"]),
        (["10", "9", "b"], ["9", "10", "b"]),
    ],
)
def test_levels_stand_in_order(levels: list[str], ordered: list[str]) -> None:
    assert level_order(levels) == ordered


def smog(name: str, system: str, case: str | None, value: float) -> Row:
    return name, system, case, "smog", "algorithm:r@1", value


# -- groups in place of systems --------------------------------------------------------------------------


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
    rows = [smog(f"t{i}", "human", None, float(v)) for i, v in enumerate([*high, *low])]
    quality = {f"t{i}": "high" if i < 14 else "low" for i in range(23)}
    grouped = group_view(view(rows, quality, by="quality"), "quality")
    (pair,) = compare(grouped, metrics=["smog"]).pairs
    expected = scipy.stats.ttest_ind(high, low, equal_var=False)
    assert (pair.a, pair.b, pair.paired, pair.cases_a, pair.cases_b) == ("high", "low", False, 14, 9)
    assert pair.test.statistic == pytest.approx(expected.statistic)
    assert pair.test.p == permutation(high, low).p


def test_groups_that_share_cases_pair() -> None:
    """Each case was held once calm and once hurried."""
    rng = np.random.default_rng(2)
    calm, hurried = rng.normal(3, 1, 12), rng.normal(2, 1, 12)
    of_level = {"calm": calm, "hurried": hurried}
    rows = [smog(f"{level}{n}", "human", str(n), float(v)) for level, vs in of_level.items() for n, v in enumerate(vs)]
    pace = {row[0]: row[0].rstrip("0123456789") for row in rows}
    (pair,) = compare(group_view(view(rows, pace, by="pace"), "pace"), metrics=["smog"]).pairs
    assert pair.paired
    expected = scipy.stats.permutation_test((calm - hurried,), np.mean, permutation_type="samples", n_resamples=4096)
    as_extreme = np.isclose(abs(expected.null_distribution), abs(np.mean(calm - hurried))).mean()
    assert pair.test.p == pytest.approx(expected.pvalue - as_extreme / 2)
    assert pair.difference.estimate == pytest.approx(np.mean(calm - hurried))


def two_systems(*, shared: bool, cases: int = 8, long_of_b: int = 4, by_level: bool = False) -> RatingsView:
    """Long conversations score 1 more in each system, and system B 10 more; B has long ones of some cases only."""
    rows, length = [], {}
    for system, extra in (("A", 0.0), ("B", 10.0)):
        for case in range(cases):
            for level, more in (("short", 0.0), ("long", 1.0)):
                if system == "B" and level == "long" and case >= long_of_b:
                    continue
                case_id = f"{level if by_level else '' if shared else system}{case}"
                rows.append(smog(f"{system}{case}{level}", system, case_id, extra + more + case / 10))
                length[rows[-1][0]] = level
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
    assert (of_a.cases_a, of_a.difference.estimate) == pytest.approx((8, 1.0))
    assert of_a.mean_a == pytest.approx(np.mean([1 + case / 10 for case in range(8)]))


def test_groups_without_a_shared_case_are_of_the_same_systems_too() -> None:
    """A and B have four short cases each, of long ones A has four and B none: by A alone long is 1 higher."""
    grouped = group_view(two_systems(shared=True, cases=4, long_of_b=0, by_level=True), "length")
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
        assert "system" not in json_text(table).replace("closed system", "")
        assert {(r["groups"], r["a"], r["b"]) for r in table.records} == {("ward", "closed system", "open")}
        assert has_note(table, "levels of ward (transcripts: closed system 7, open 7). 1 transcript without ward")
    (record,) = tables[1].records
    assert (record["n"], record["of"], record["paired"]) == (7, 7, True)
    assert tables[1].rows[0].cells[0].text == "closed system − open"


def test_one_system_is_answered_with_the_groups_by_name(call: Call, tmp_path: Path) -> None:
    talks = [talk(f"t{i}-{1 + i % 5}", "human", None, quality="hl"[i % 2], number=str(i)) for i in range(8)]
    scored(tmp_path, talks)
    code, _, err = call("compare", "run")
    assert code == 2
    assert "--groups quality (h 4, l 4)" in err
    assert "number" not in err
    code, out, err = call("compare", "run", "--groups", "quality", "--metrics", "words.clinician", "--json")
    table, findings = json.loads(out)
    assert (code, table["rows"][0]["a"], table["rows"][0]["b"]) == (0, "h", "l")
    assert findings["rows"][0]["systems"] == ["h", "l"]
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
    ratings = open_ratings_view(tmp_path / "run").transcript_values([*metrics, "smog.clinician", "smog.patient"])
    assert by_factor
    for record in by_factor:
        own = ratings.filter(metric=record["metric"], group=record["raters"]).drop_nulls("value")
        of = {level: [value for name, value in own.select("transcript_id", "value").iter_rows()
                      if quality[name] == level] for level in ("high", "low")}  # fmt: skip
        if record["raters"] == "people":
            # Ten people rated some of the sessions each, which several share: an answer for raters like them.
            assert record["method"].startswith("mixed model of cases within systems × raters with gaps, 10 raters")
        else:
            expected = scipy.stats.ttest_ind(of["high"], of["low"], equal_var=False)
            assert record["statistic"] == pytest.approx(expected.statistic)
            assert record["p"] == permutation(of["high"], of["low"]).p
        assert (record["cases_a"], record["cases_b"]) == (len(of["high"]), len(of["low"]))
        assert (record["of_a"], record["of_b"]) == (84, 16)


# -- rubrics of one name ---------------------------------------------------------------------------------


PACKAGE = Path(bedside.__file__).parent
EXAMPLE = PACKAGE / "examples" / "transcripts.jsonl"


def judged_by_own(folder: Path, title: str, direction: str, levels: int) -> Path:
    """A run of its own, judged by a rubric called warmth."""
    text = (PACKAGE / "judges" / "rubrics" / "shipped" / "empathy.yaml").read_text("utf-8")
    for key, value in (("name", "warmth"), ("title", title), ("direction", direction)):
        text = re.sub(rf"^{key}: .*$", f"{key}: {value}", text, flags=re.MULTILINE)
    for level in range(5, levels, -1):
        text = re.sub(rf"  - value: {level}\n(    .*\n| {{6}}.*\n)+", "", text)
    folder.mkdir()
    (folder / "warmth.yaml").write_text(text, "utf-8")
    rubric = parse_rubric(folder / "warmth.yaml")
    score([EXAMPLE], folder / "run", metrics=["turns"])
    run = Run(folder / "run")
    rows = [
        rating(name, system, case, "warmth", rater, float(1 + position % levels))
        for position, (name, system, case) in enumerate(run.index.select("id", "system", "case_id").iter_rows())
        for rater in ("judge:m", "human:x")
    ]  # fmt: skip
    run.add(frame_of(rows).lazy(), {**run.manifest, "rubrics": {"warmth": as_data(rubric)}})
    return folder / "run"


def told(view: RatingsView) -> dict[str, object]:
    """What results, tables and pages say of warmth."""
    compared = compare(view, metrics=["warmth"], raters=["judge:m"], family="metric").pairs
    drawn = {table.name: table for table in build_tables(view, ["results", "agreement"])}
    listed = [row.cells[0].text for row in drawn["results"].rows if row.group == "Ratings"]
    titles = {
        *(row.group for row in comparison_table(compared).rows),
        *(one.title for one in agree(view, metrics=["warmth"])),
        *(record["title"] for record in drawn["agreement"].records),
        *(text.partition(" (")[0] for text in listed),
        *(one.facts.title for one in extremes(view) if one.metric == "warmth"),
    }
    return {
        "titles": titles,
        "families": {one.test.family for one in compared},
        "directions": {one.facts.direction for one in compared},
        "arrows": {text[-1] for text in listed},
        "first end": next(one.end for one in extremes(view) if one.metric == "warmth"),
        "levels": view.scales["warmth"].levels,
        "definition": explain(view, drawn["results"], "warmth/judge:m").definitions[0].splitlines()[0],
    }


EXPECTED = {
    "a": {
        "titles": {"How warm"},
        "families": {"comparisons of two systems on How warm"},
        "directions": {"higher"},
        "arrows": {"↑"},
        "first end": "lowest",
        "levels": (1.0, 2.0, 3.0, 4.0, 5.0),
        "definition": "## How warm (`warmth`)",
    },
    "b": {
        "titles": {"How lukewarm"},
        "families": {"comparisons of two systems on How lukewarm"},
        "directions": {"lower"},
        "arrows": {"↓"},
        "first end": "highest",
        "levels": (1.0, 2.0, 3.0),
        "definition": "## How lukewarm (`warmth`)",
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two runs, each with its own rubric called warmth."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        "a": judged_by_own(folder / "a", "How warm", "higher", 5),
        "b": judged_by_own(folder / "b", "How lukewarm", "lower", 3),
    }


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_rubrics_of_one_name_belong_each_to_their_run(order: str, made: dict[str, Path], tmp_path: Path) -> None:
    opened = {name: open_ratings_view(made[name]) for name in order}
    for name in order:
        assert told(opened[name]) == EXPECTED[name]
    # Neither says anything of a file of ratings, nor of what is shipped.
    (tmp_path / "ratings.csv").write_text("item,rater,metric,value\n1,anna,warmth,9.0\n", "utf-8")
    file = open_ratings_view(tmp_path / "ratings.csv")
    assert (file.facts("warmth").title, file.facts("warmth").group) == ("Warmth", "Ratings")
    assert file.scales == {}
    assert known_scale("warmth") is None
