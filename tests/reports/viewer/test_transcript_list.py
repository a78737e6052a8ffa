"""The list of a run's transcripts against a count row by row; judgements and hidden states by transcript."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.core.errors import InputError, RunError
from bedside.judges.store import read_judgements, read_prompt
from bedside.ratings.run import Run
from bedside.reports.viewer.judgement_lookup import JudgementLookup, StateLookup
from bedside.reports.viewer.viewed_run import ListQuery, NoSuchTranscriptError, ViewedRun, conversation, read_query
from bedside.transcripts.transcript import Transcript, Turn
from tests.analysis.simulated_run import simulated_run
from tests.judges.llm.server import JudgeServer
from tests.reports.viewer.runs import CHINESE, HOSTILE, HOSTILE_ID, SYSTEMS, add_warmth, talks as made_talks

Row = dict[str, Any]


@pytest.fixture
def viewed(rich: Run) -> ViewedRun:
    return ViewedRun(rich.path)


def listed(viewed: ViewedRun, **wanted: Any) -> list[str]:
    return list(viewed.chosen(ListQuery(**wanted))["id"])


def rows_of(run: Run, **cells: Any) -> list[Row]:
    rows = run.ratings.to_dicts()
    return [row for row in rows if all(row[name] == value for name, value in cells.items())]


def mean_by_hand(rows: list[Row]) -> float | None:
    """The mean of passes, then of units, then of raters."""
    raters: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["value"] is not None and not row["rater"].startswith("jury:"):
            raters[row["rater"]][row["unit"]].append(row["value"])
    means = [statistics.fmean(statistics.fmean(passes) for passes in units.values()) for units in raters.values()]
    return statistics.fmean(means) if means else None


@pytest.mark.parametrize("metric", ["empathy", "partnership", "words"])
def test_values_are_means_of_passes_then_raters(viewed: ViewedRun, rich: Run, metric: str) -> None:
    values = dict(viewed.values(metric).select("id", "value").iter_rows())
    assert len(values) == 15
    for name, value in values.items():
        assert value == pytest.approx(mean_by_hand(rows_of(rich, transcript_id=name, metric=metric)))
    of_anna = dict(viewed.values("empathy", "human:anna").select("id", "value").iter_rows())
    for name, value in of_anna.items():
        (row,) = rows_of(rich, transcript_id=name, metric="empathy", rater="human:anna")
        assert value == row["value"]


def test_labels_are_counted_the_most_frequent_first(viewed: ViewedRun, rich: Run) -> None:
    for name, value, labels, counts in viewed.values("question").iter_rows():
        given = [row["label"] for row in rows_of(rich, transcript_id=name, metric="question")]
        assert value is None
        assert dict(zip(labels, counts, strict=True)) == {label: given.count(label) for label in given}
        assert list(counts) == sorted(counts, reverse=True)


def test_missing_ratings_are_counted(viewed: ViewedRun, rich: Run) -> None:
    counts = dict(viewed.missing().iter_rows())
    by_hand: dict[str, int] = defaultdict(int)
    for row in rich.ratings.to_dicts():
        # A measure that isn't defined for a talk lacks nothing.
        by_hand[row["transcript_id"]] += row["error"] is not None and not row["rater"].startswith("algorithm:")
    assert counts == {name: count for name, count in by_hand.items() if count}
    assert set(listed(viewed, missing=True)) == set(counts)
    of_ben = listed(viewed, missing=True, rater="human:ben")
    assert set(of_ben) == {row["transcript_id"] for row in rows_of(rich, rater="human:ben") if row["error"]}
    # Words of Chinese aren't counted.
    assert listed(viewed, missing=True, metric="words") == ["case-2/beta"]


def test_ratings_at_a_level_that_fails_are_flagged(viewed: ViewedRun, rich: Run) -> None:
    by_hand: dict[str, int] = defaultdict(int)
    for row in rows_of(rich, metric="safety", value=1.0):
        by_hand[row["transcript_id"]] += 1
    assert dict(viewed.flagged().iter_rows()) == by_hand
    page = viewed.page(ListQuery(flagged=True, sort="flagged", descending=True), 0)
    assert page["total"] == len(by_hand) < 15
    assert [row["flagged"] for row in page["rows"]] == sorted(by_hand.values(), reverse=True)
    assert max(by_hand.values()) == 2


def differences_by_hand(rows: list[Row]) -> tuple[int, float | None]:
    """How many units raters don't rate alike, and the largest difference between two of them."""
    units: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["error"] is None:
            units[row["metric"], row["unit"]][row["rater"]].append(row)
    count, ranges = 0, []
    for raters in units.values():
        if len(raters) < 2:
            continue
        own = [rows for rows in raters.values() if rows[0]["value"] is not None]
        values = [statistics.fmean(row["value"] for row in rows) for rows in own]
        labels = {row["label"] for given in raters.values() for row in given} - {None}
        ranges += [max(values) - min(values)] if values else []
        count += len(labels) > 1 or bool(values and max(values) > min(values))
    return count, max(ranges, default=None)


def test_differences_are_those_of_units_that_several_rated(viewed: ViewedRun, rich: Run) -> None:
    every = {name: count for name, count, _ in viewed.differences().iter_rows()}
    for metric in (None, "empathy", "question"):
        differences = {name: own for name, *own in viewed.differences(metric).iter_rows()}
        for name in viewed.index["id"]:
            rows = [row for row in rows_of(rich, transcript_id=name) if metric in (None, row["metric"])]
            count, span = differences_by_hand(rows)
            assert differences.get(name, [0, None]) == [count, span if metric is not None else None]
    assert set(listed(viewed, differ=True)) == {name for name, count in every.items() if count}
    spans = dict(viewed.differences("empathy").select("id", "range").iter_rows())
    ordered = [spans[name] for name in listed(viewed, metric="empathy", sort="differ", descending=True)]
    assert ordered == sorted(ordered, reverse=True)


def test_transcripts_are_filtered_and_sorted(viewed: ViewedRun) -> None:
    assert len(listed(viewed)) == 15
    beta = [f"case-{case}/beta" for case in range(5)]
    for expected, wanted in (
        (beta, {"systems": ("beta",)}),
        ([beta[1], beta[3]], {"systems": ("beta",), "cases": ("case-1", "case-3")}),
        ([HOSTILE_ID], {"text": "GAMMA", "cases": ("case-0",)}),
        ([HOSTILE_ID], {"text": "<i>"}),
        ([], {"text": ".*"}),
        ([f"case-1/{name}" for name in SYSTEMS], {"factors": (("persona", ("terse",)), ("length", ("16", "24")))}),
        ([], {"factors": (("nothing", ("1",)),)}),
    ):
        assert listed(viewed, **wanted) == expected
    # Levels that are numbers go as numbers do: 8 before 16.
    lengths = viewed.index.select("id", "factor.length").rows()
    by_length = listed(viewed, sort="factor.length")
    assert [int(dict(lengths)[name]) for name in by_length] == sorted(int(level) for _, level in lengths)
    assert listed(viewed, sort="turns", descending=True)[0] == "case-3/alpha"
    low = listed(viewed, metric="empathy", least=4.0, most=5.0)
    means = dict(viewed.values("empathy").select("id", "value").iter_rows())
    assert set(low) == {name for name, value in means.items() if value is not None and 4 <= value <= 5}
    opened = listed(viewed, metric="question", rater="human:anna", labels=("open",))
    labels = dict(viewed.values("question", "human:anna").select("id", "labels").iter_rows())
    assert set(opened) == {name for name, given in labels.items() if "open" in given}


def test_pages_and_neighbours_are_of_one_order(viewed: ViewedRun) -> None:
    query = ListQuery(sort="system", descending=True)
    order = listed(viewed, sort="system", descending=True)
    page = viewed.page(query, 5, rows=4)
    assert (page["total"], [row["id"] for row in page["rows"]]) == (15, order[5:9])
    near = viewed.neighbours(query, order[5])
    assert near == {"place": 5, "total": 15, "before": order[4], "after": order[6]}
    assert viewed.neighbours(query, order[0])["before"] is None
    assert viewed.neighbours(query, order[-1])["after"] is None
    assert viewed.neighbours(ListQuery(systems=("alpha",)), "case-0/beta")["place"] is None


def test_addresses_that_ask_for_nonsense_are_refused() -> None:
    query = read_query([("q", " x "), ("sort", "-factor.a"), ("other", "1")])
    assert query == ListQuery(text="x", sort="factor.a", descending=True)
    for wrong in (("sort", "shoe size"), ("from", "much"), ("to", "1e")):
        with pytest.raises(InputError):
            read_query([wrong])


def test_a_conversation_has_its_ratings_beside_it(viewed: ViewedRun, rich: Run) -> None:
    talk = conversation(viewed, HOSTILE_ID)
    assert tuple(turn["text"] for turn in talk["turns"]) == HOSTILE
    assert len(talk["ratings"]) == len(rows_of(rich, transcript_id=HOSTILE_ID))
    assert {rating["turn"] for rating in talk["ratings"]} == {None, 0, 2}
    chinese = conversation(viewed, "case-2/beta")
    assert tuple(turn["text"] for turn in chinese["turns"]) == CHINESE
    # It was shown second in a comparison, which is a rating of the other one.
    (compared,) = [rating for rating in chinese["ratings"] if rating["second"]]
    assert (compared["first"], compared["second"]) == ("case-2/alpha", "case-2/beta")
    assert [other["system"] for other in chinese["same"]] == list(SYSTEMS)
    with pytest.raises(NoSuchTranscriptError):
        conversation(viewed, "case-9/beta")


def test_a_run_that_is_changed_is_read_anew(rich: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(rich.path, tmp_path / "run"))
    viewed = ViewedRun(run.path)
    before = viewed.version()
    assert viewed.metric("warmth") is None
    assert viewed.version() == before
    add_warmth(run)
    assert viewed.version() != before
    assert dict(viewed.values("warmth").select("id", "value").iter_rows()) == {"case-0/alpha": 3.0}
    assert viewed.metric("warmth")
    shutil.rmtree(run.path)
    with pytest.raises(RunError, match="not there any more"):
        viewed.version()


def test_damaged_tables_are_named(rich: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(rich.path, tmp_path / "run"))
    viewed = ViewedRun(run.path)
    part = next((run.path / "transcripts").glob("*.parquet"))
    os.truncate(part, 100)
    with pytest.raises(RunError, match=r"000000\.parquet: the file isn't as bedside wrote it"):
        viewed.page(ListQuery(), 0)
    with pytest.raises(RunError, match="no such run"):
        ViewedRun(tmp_path / "nowhere")


def test_what_one_rater_lacks_is_not_missing_of_another(viewed: ViewedRun, rich: Run) -> None:
    rows = viewed.page(ListQuery(metric="empathy"), 0)["rows"]
    lacking = rich.ratings.filter((pl.col("metric") == "empathy") & pl.col("error").is_not_null())
    counts = lacking.group_by("transcript_id", "rater").len().rows()
    expected = {(name, rater): count for name, rater, count in counts}
    shown = {(row["id"], rater): own["missing"] for row in rows for rater, own in row["raters"].items()}
    assert {key: count for key, count in shown.items() if count} == expected
    assert len({rater for _, rater in expected}) > 1


def test_a_run_without_text_names_or_ratings_is_listed(tmp_path: Path) -> None:
    turns = (Turn(0, "clinician", "c", "Hello."), Turn(1, "patient", "p", "Hm."))
    talks = [Transcript("a", turns), Transcript("b", turns, factors={"k": None})]
    run = bedside.score(talks, tmp_path / "run", metrics=["structure"], text=False).run
    viewed = ViewedRun(run.path)
    page = viewed.page(ListQuery(), 0)
    assert [row["system"] for row in page["rows"]] == [None, None]
    assert conversation(viewed, "a")["turns"] is None
    assert listed(viewed, systems=("",)) == ["a", "b"]
    assert viewed.overview["systems"] == [{"name": "", "count": 2}]


def test_a_factor_of_many_levels_is_typed(tmp_path: Path) -> None:
    turns = (Turn(0, "clinician", "c", "Hello."),)
    talks = [Transcript(f"t{number}", turns, factors={"seed": number}) for number in range(70)]
    viewed = ViewedRun(bedside.score(talks, tmp_path / "run", metrics=["structure"]).run.path)
    assert viewed.overview["factors"] == [{"name": "seed", "levels": None}]
    assert listed(viewed, factors=(("seed", ("69",)),)) == ["t69"]


def test_a_part_is_as_if_there_were_nothing_else(rich: Run) -> None:
    part = ViewedRun(rich.path, only=["case-1/alpha", "case-1/beta"])
    assert part.index["id"].to_list() == ["case-1/alpha", "case-1/beta"]
    assert part.overview["transcripts"] == 2
    whole = ViewedRun(rich.path).values("empathy").filter(pl.col("id").str.starts_with("case-1/"))
    assert part.values("empathy").rows() == [row for row in whole.rows() if not row[0].endswith("b>")]


def test_all_judgements_of_a_transcript_are_found(rich: Run) -> None:
    store = Path(rich.path) / "judgements.sqlite"
    every = list(read_judgements(store))
    assert len(every) == 15 * 2 * 2
    with closing(JudgementLookup(Path(rich.path))) as lookup:
        for name in rich.index["id"]:
            own = {judgement.key for judgement in every if judgement.transcript == name}
            assert {listed["key"] for listed in lookup.of(name)} == own
        first = lookup.of(HOSTILE_ID)[0]
        assert (first["rater"], first["unit"]) == ("judge:tiny", "transcript")
        whole = lookup.whole(first["key"])
        assert whole is not None
        prompt = "".join(text for _, text in whole["prompt"])
        (judgement,) = [one for one in every if one.key == first["key"]]
        assert prompt == read_prompt(store, judgement.prompt)
        assert HOSTILE[0] in prompt
        assert whole["replies"] == list(judgement.replies)
        assert lookup.whole("0" * 64) is None
        assert lookup.of("nobody") == []


def test_a_store_that_changes_is_looked_through_again(rich: Run, tmp_path: Path) -> None:
    run = shutil.copytree(rich.path, tmp_path / "run")
    with closing(JudgementLookup(run)) as lookup:
        assert len(lookup.of("case-0/alpha")) == 4
        for file in run.glob("judgements.sqlite*"):
            file.unlink()
        assert lookup.of("case-0/alpha") == []
        (run / "judgements.sqlite").write_bytes(b"no database" * 100)
        with pytest.raises(RunError, match="store of judgements"):
            lookup.of("case-0/alpha")


def test_hidden_states_are_those_of_the_conversation(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    file = tmp_path / "talks" / "states.jsonl"
    states = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    lookup = StateLookup(Path(run.path))
    assert states
    for name in run.index["id"]:
        assert lookup.of(name) == {"states": [state for state in states if state["id"] == name], "gone": []}
    assert lookup.of("nobody")["states"] == []


def test_states_that_stand_apart_or_change_are_found_again(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    file = tmp_path / "talks" / "states.jsonl"
    lookup = StateLookup(Path(run.path))
    names = ("a", "b") * 3
    lines = [{"id": name, "turn": place // 2, "purpose": "p", "x": "头"} for place, name in enumerate(names)]
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    assert lookup.of("b")["states"] == [line for line in lines if line["id"] == "b"]
    file.write_text(json.dumps({"id": "b", "turn": 9}), "utf-8")
    os.utime(file, ns=(1, 1))
    assert lookup.of("b")["states"] == [{"id": "b", "turn": 9}]
    file.write_text('{"id": "b"}\n{"turn": 9}\n', "utf-8")
    with pytest.raises(RunError, match="hidden states of the simulation can't be read"):
        lookup.of("b")
    file.unlink()
    assert lookup.of("b") == {"states": [], "gone": [str(file)]}


def test_a_judgement_of_two_is_found_by_either(tmp_path: Path) -> None:
    """Which of two conversations is better is asked of both."""
    talks = [talk for talk in made_talks() if talk.case_id == "case-1" and talk.system != "beta"]
    with JudgeServer() as server:
        run = bedside.score(talks, tmp_path / "run", metrics=["structure"]).run
        bedside.judge_pairs(run, server.judge, rubrics=["empathy"])
    every = {judgement.key for judgement in read_judgements(run.path / "judgements.sqlite")}
    assert len(every) == 2  # in both orders
    with closing(JudgementLookup(run.path)) as lookup:
        for talk in talks:
            assert {listed["key"] for listed in lookup.of(talk.id)} == every


def test_of_what_was_asked_twice_the_run_says_which_its_ratings_are_made_of(tmp_path: Path) -> None:
    talks = [talk for talk in made_talks() if talk.case_id == "case-1"]
    with JudgeServer() as server:
        run = bedside.judge(talks, server.judge, out=tmp_path / "run", rubrics=["empathy"]).run
        bedside.judge_pairs(run, server.judge, rubrics=["empathy"])
        with closing(JudgementLookup(run.path)) as lookup:
            for temperature in (0.7, 0.0, 0.7):  # the second and third time of what is kept
                bedside.judge(run, server.judge, rubrics=["empathy"], temperature=temperature)
                own = [each for each in lookup.of("case-1/alpha") if each["unit"] == "transcript"]
                raters = {judgement["key"]: judgement["raters"] for judgement in own}
                asked = {
                    key: json.loads(whole["parameters"])["temperature"]
                    for key in raters
                    if (whole := lookup.whole(key)) is not None
                }
                assert sorted(asked.values()) == [0.0, 0.7]
                for key, degree in asked.items():
                    assert raters[key] == (["judge:tiny"] if degree == temperature else [])
            pairs = [one for one in lookup.of("case-1/alpha") if one["unit"] != "transcript"]
            assert pairs
            assert all(one["raters"] == ["judge:tiny"] for one in pairs)
