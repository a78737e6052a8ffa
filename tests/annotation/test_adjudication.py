"""Adjudication: what raters differ on is settled by somebody else, and stands beside what they said."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import agree
from bedside.analysis.estimation import estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.validation import validate
from bedside.annotation.adjudication import adjudicate, settled_and_changed
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.fields import NOT_APPLICABLE
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.page_words import page_words
from bedside.annotation.plan_progress import plan_progress
from bedside.api.annotating import keep_plan
from bedside.core.errors import DataError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.reports.annotation import status_tables
from bedside.reports.estimation import estimate_table
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables.agreement import unit_notes
from bedside.reports.validation import validation_tables
from tests.annotation.builders import QUESTION, copy_of, fill_csv, people, rater_answer
from tests.annotation.study import EMPATHY, JUDGE, rating_plan
from tests.conftest import Call, works

PEOPLE = ("anna", "ben")


def answered(
    run: Run, plan: AnnotationPlan, say: Mapping[tuple[str, str], dict[str, Any]], reasons: bool = True
) -> None:
    answers = [
        rater_answer(
            item, rater, choices, seconds=30.0,
            texts={f"reason__{name}": ("because",) for name in choices} if reasons else {},
        )
        for (item, rater), choices in say.items()
    ]  # fmt: skip
    keep_answers(run, plan, answers)


def settling(run: Run, plan: AnnotationPlan, *adjudicators: str, **options: Any) -> AnnotationPlan:
    """The plan by which they settle, or dora does."""
    return adjudicate(Run(run.path), plan, adjudicators or ("dora",), **options).plan


def study_of_two(run: Run) -> tuple[AnnotationPlan, dict[str, tuple[int, int]]]:
    """A plan that two people answered, with what each gave by empathy; by goal_alignment they agree."""
    plan = rating_plan(run, raters=PEOPLE, by=("system",))
    given = {item.id: (1 + n % 5, 1 + (n + (0, 1, 3)[n % 3]) % 5) for n, item in enumerate(plan.items)}
    said = {
        (item, rater): {"empathy": str(levels[place]), "goal_alignment": "3"}
        for item, levels in given.items()
        for place, rater in enumerate(PEOPLE)
    }
    answered(run, plan, said)
    return plan, given


def settle(run: Run, plan: AnnotationPlan, level: str) -> None:
    """The adjudicator gives all units of an adjudication one level."""
    said = {
        (item, rater): dict.fromkeys(plan.opinions[item], level)
        for rater, order in plan.assignment.items()
        for item in order
    }
    answered(run, plan, said)


def test_what_differs_is_queued_and_nobody_is_named(run: Run) -> None:
    plan, given = study_of_two(run)
    settled = adjudicate(Run(run.path), plan, ["dora"])
    by_unit = {(item.transcript, item.unit): given[item.id] for item in plan.items}
    differ = {unit for unit, (first, second) in by_unit.items() if first != second}
    assert {(item.transcript, item.unit) for item in settled.plan.items} == differ
    (empathy, goal) = settled.counts
    assert (empathy.rated, empathy.differ, empathy.ties, empathy.queued) == (12, 8, 8, 8)
    assert (goal.rated, goal.differ, goal.queued) == (12, 0, 0)
    assert [planned.rubric.name for planned in settled.plan.rubrics] == ["empathy"]
    tasks = label_studio_tasks(settled.plan, run, "dora")
    text = json.dumps(tasks) + labelling_page(settled.plan)
    assert not [name for name in (*PEOPLE, "GPT-Secret", "hushcase") if re.search(rf"\b{name}\b", text)]
    for task in tasks:
        item = settled.plan.by_id[task["data"]["external_id"]]
        levels = by_unit[item.transcript, item.unit]
        first, second = task["data"]["said_empathy"].split("\n\n")
        assert {first.split(": ")[1], second.split(": ")[1]} == set(map(str, levels))
        assert (first.split(": ")[0], second.split(": ")[0]) == ("Rater 1", "Rater 2")
        assert first.endswith(": because")


def test_who_rates_later_changes_nothing_that_was_settled(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=PEOPLE, by=("system",), round="study")
    levels = {item.id: (1 + n % 5, 1 + (n + 1) % 5) for n, item in enumerate(plan.items)}

    def answer(item: str, rater: str, level: int) -> None:
        answered(Run(run.path), plan, {(item, rater): {"empathy": str(level), "goal_alignment": "3"}})

    for item, (first, second) in levels.items():
        answer(item, "anna", first)
        answer(item, "ben", second)
    settled = settling(run, plan)
    keep_plan(settled, Run(run.path), tmp_path / "settling.json")
    settle(Run(run.path), settled, "4")
    assert settled_and_changed(Run(run.path), plan) == (len(levels), 0)
    later = rating_plan(Run(run.path), raters=("cleo",), overlap=1, round="study", seed=5)
    answered(Run(run.path), later, {(one.id, "cleo"): {"empathy": "1", "goal_alignment": "1"} for one in later.items})
    assert settled_and_changed(Run(run.path), plan) == (len(levels), 0)


def test_who_is_rater_1_is_drawn_anew_for_each_unit(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, raters=PEOPLE)
    levels = {"anna": "1", "ben": "5"}
    said = {
        (item.id, rater): {"empathy": level, "goal_alignment": level}
        for item in plan.items
        for rater, level in levels.items()
    }
    answered(run, plan, said)
    opinions = settling(run, plan).opinions
    first = Counter(by_rubric["empathy"][0].answer for by_rubric in opinions.values())
    assert min(first["1"], first["5"]) >= 25  # of 80, half expected
    alike = sum(by["empathy"][0].answer == by["goal_alignment"][0].answer for by in opinions.values())
    assert 25 <= alike <= 55


def test_distance_and_answers_that_none_can_be_given(run: Run) -> None:
    plan, given = study_of_two(run)
    settled = adjudicate(Run(run.path), plan, ["dora"], beyond=1)
    far = sum(abs(first - second) > 1 for first, second in given.values())
    assert (settled.counts[0].queued, settled.counts[0].near) == (far, 8 - far)
    assert settling(run, plan) == settling(run, plan)


def test_only_what_its_raters_differ_on_is_settled(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY, RUBRICS.load("softening_sustain_talk")), raters=PEOPLE, per=3)
    (first, second, third) = (item.id for item in plan.items)
    given = {
        (first, "anna"): ("1", "2"), (first, "ben"): ("4", "2"), (second, "anna"): ("3", NOT_APPLICABLE),
        (second, "ben"): ("3", "1"), (third, "anna"): ("3", "1"),
    }  # fmt: skip
    rubrics = ("empathy", "softening_sustain_talk")
    answered(run, plan, {who: dict(zip(rubrics, levels, strict=True)) for who, levels in given.items()})
    settled = settling(run, plan, beyond=2)
    by_unit = {item.transcript: settled.opinions[item.id] for item in settled.items}
    names = {item.id: item.transcript for item in plan.items}
    assert set(by_unit) == {names[first], names[second]}
    assert set(by_unit[names[first]]) == {"empathy"}
    opinions = by_unit[names[second]]["softening_sustain_talk"]
    assert {opinion.answer for opinion in opinions} == {NOT_APPLICABLE, "1"}
    tasks = {task["data"]["external_id"]: task["data"] for task in label_studio_tasks(settled, run)}
    item = next(item.id for item in settled.items if item.transcript == names[first])
    assert tasks[item]["said_softening_sustain_talk"] == page_words("en").say("nothing_to_settle")
    # What is answered besides is no final label.
    answered(run, settled, {(item, "dora"): {"empathy": "2", "softening_sustain_talk": "5"}})
    final = Run(run.path).ratings.filter(pl.col("metric").str.ends_with(".adjudicated"))
    assert final.select("metric", "value", "rater", "round").rows() == [
        ("empathy.adjudicated", 2.0, "human:dora", f"plan-{plan.seal[:12]}")
    ]


def test_agreement_is_of_the_originals_and_the_consensus_has_no_ties(run: Run) -> None:
    plan, given = study_of_two(run)
    before = rows_of(run)
    settle(run, settling(run, plan), "5")
    after = rows_of(run)
    assert before.keys() == after.keys()
    assert all(row == before[key] for key, row in after.items() if row.kind != "consensus")
    (consensus,) = (row for row in after.values() if row.kind == "consensus")
    (ties,) = (row.ties for row in before.values() if row.kind == "consensus")
    # Two people have no median of two unequal levels.
    assert (ties, consensus.ties, consensus.units, consensus.adjudicated) == (8, 0, 12, 8)
    assert any("Empathy 8 units" in note for note in unit_notes(list(after.values())))
    # The table holds what the confusion of the judge with 5s and with what both said comes to.
    by_level = Counter(first if first == second else 5 for first, second in given.values())
    counts = Counter[int]()
    for (level, _), n in consensus.confusion.items():
        counts[int(level)] += n
    assert +counts == by_level


def rows_of(run: Run) -> dict[tuple[Any, ...], Any]:
    rows = agree(open_ratings_view(run.path), metrics=["empathy"])
    return {(row.kind, row.rater, row.raters): row for row in rows}


def test_a_judge_is_validated_and_corrected_by_final_labels(run: Run) -> None:
    plan, given = study_of_two(run)
    (before,) = validate(open_ratings_view(run.path), metrics=["empathy"])[0].validations
    settle(run, settling(run, plan), "5")
    view = open_ratings_view(run.path)
    cards = validate(view, metrics=["empathy"])
    (after,) = cards[0].validations
    assert (after.alternative, after.mean, after.people, after.ceiling) == (
        before.alternative, before.mean, before.people, before.ceiling,
    )  # fmt: skip
    truth = {
        item.transcript: float(5 if given[item.id][0] != given[item.id][1] else given[item.id][0])
        for item in plan.items
    }
    rows = view.ratings.filter(pl.col("rater") == JUDGE, pl.col("metric") == "empathy")
    passes: dict[str, list[float]] = {}
    for name, value in rows.sort("replicate").select("transcript_id", "value").iter_rows():
        passes.setdefault(name, []).append(value)
    # Two passes that differ are as near to their mean, so the first counts.
    bias = np.mean([passes[name][0] - truth[name] for name in truth])
    assert after.bias is not None
    assert after.bias.estimate == pytest.approx(bias)
    assert after.adjudicated == 8
    assert any("8 units adjudicated" in note for table in validation_tables(cards) for note in table.notes)
    systems = dict(run.index.select("id", "system").iter_rows())
    estimates = estimate(view, judge=JUDGE, metrics=["empathy"])
    for result in estimates[:2]:
        own = [value for name, value in truth.items() if systems[name] == result.quantity]
        assert result.human.estimate == pytest.approx(np.mean(own))
    assert any("adjudicated" in note for note in estimate_table(estimates).notes)
    # Of the raters that are named, only they count.
    originals = estimate(view, judge=JUDGE, metrics=["empathy"], people=["human:anna", "human:ben"])
    means = [np.mean(given[item.id]) for item in plan.items if systems[item.transcript] == "GPT-Secret"]
    assert originals[0].human.estimate == pytest.approx(np.mean(means))
    with_dora = estimate(view, judge=JUDGE, metrics=["empathy"], people=["human:*"])
    assert with_dora[0].human.estimate == estimates[0].human.estimate


def test_answers_come_back_by_table_and_chances_stay(run: Run, tmp_path: Path) -> None:
    plan, _ = study_of_two(run)
    drawn = people(run, "empathy").filter(rater="human:anna")["drawn"].to_list()
    adjudication = settling(run, plan, "dora", "eva")
    assert {len(order) for order in adjudication.assignment.values()} == {4}

    def fill(row: dict[str, str]) -> None:
        assert row["said__empathy"].startswith("Rater 1: ")
        row["empathy"] = "2"

    paths = export_files(adjudication, run, "csv", tmp_path / "to-settle")
    for path in paths:
        fill_csv(path, fill)
    kept = keep_answers(run, adjudication, read_files(adjudication, run, paths).answers)
    assert (kept.submitted, kept.ratings) == (8, 8)
    # The plan's own answers come again, with one changed: how its units were drawn stays known.
    answered(run, plan, {(plan.items[1].id, "anna"): {"empathy": "5", "goal_alignment": "3"}})
    again = people(run, "empathy").filter(rater="human:anna")["drawn"].to_list()
    assert again == drawn == [1.0] * 12
    progress = plan_progress(Run(run.path), adjudication)
    assert [share.done for share in progress.shares if share.stratum is None] == [4, 4]
    assert all(markdown(table) for table in status_tables(adjudication, progress))
    with pytest.raises(DataError, match="8 with a final label"):
        settling(run, plan)


def test_nobody_settles_their_own_and_nothing_is_settled_twice(run: Run) -> None:
    plan, _ = study_of_two(run)
    with pytest.raises(DataError, match="Anna rated transcript"):
        settling(run, plan, "Anna")
    assert settling(run, plan, "anna", "dora").assignment["anna"] == ()
    adjudication = settling(run, plan)
    answered(run, adjudication, {(adjudication.items[0].id, "dora"): {"empathy": "2"}})
    with pytest.raises(DataError, match="1 with a final label, 7 in another adjudication"):
        settling(run, plan, "eva")
    with pytest.raises(DataError, match="mode adjudicate"):
        settling(run, adjudication, "eva")
    with pytest.raises(DataError, match="'warmth'"):
        settling(run, plan, "eva", rubrics=["warmth"])


def test_two_final_labels_of_a_unit_are_refused(run: Run) -> None:
    plan, _ = study_of_two(run)
    dora, eva = (settling(run, plan, name, seed=seed) for seed, name in enumerate(("dora", "eva")))
    settle(run, dora, "2")
    settle(run, eva, "4")
    with pytest.raises(DataError, match=r"dora .* and eva .* on empathy"):
        open_ratings_view(run.path)


def test_what_was_skipped_settles_nothing(run: Run) -> None:
    plan, _ = study_of_two(run)
    adjudication = settling(run, plan)
    keep_answers(run, adjudication, [rater_answer(item.id, "dora") for item in adjudication.items])
    view = open_ratings_view(run.path)
    assert view.final.is_empty()
    assert "human:dora" not in set(view.ratings["rater"])


def test_codes_are_settled_turn_by_turn(run: Run) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(QUESTION,), raters=PEOPLE, per=2)
    second = {"anna": "none", "ben": "closed"}
    said = {
        (item.id, rater): {"question__0": "open", "question__1": label}
        for item in plan.items
        for rater, label in second.items()
    }
    answered(run, plan, said, reasons=False)
    adjudication = settling(run, plan)
    assert {item.unit for item in adjudication.items} == {"turn:2"}
    settle(run, adjudication, "none")
    rows = agree(open_ratings_view(run.path), metrics=["question"])
    (row,) = (row for row in rows if row.kind == "people" and "any or none" not in row.title)
    assert row.units == 4
    expected = {(item.transcript, "turn:2"): "none" for item in adjudication.items}
    assert open_ratings_view(run.path).final_labels("question") == expected


def test_the_command_writes_a_plan_of_the_run(run: Run, tmp_path: Path, call: Call) -> None:
    plan, _ = study_of_two(run)
    keep_plan(plan, run, tmp_path / "plan.json")
    code, out, err = call("annotate", "adjudicate", "plan.json", "--adjudicator", "dora")
    assert (code, "Where raters differ" in out) == (0, True), err
    assert (tmp_path / "adjudication.json").is_file()
    _, err = works(call, "annotate", "export", "adjudication.json", "--out", "settle")
    assert (tmp_path / "settle" / "dora.xlsx").is_file()
