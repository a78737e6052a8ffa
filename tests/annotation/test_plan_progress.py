"""How far raters are, training, how lists agree, and what to rate next: the right units, and the gain promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan, round_of
from bedside.annotation.known_answers import f1, list_agreement, matched_entries
from bedside.annotation.plan_file import write_plan
from bedside.annotation.plan_progress import RaterShare, StudyProgress, plan_progress, study_progress
from bedside.annotation.proposals import follow_up_plan, propose
from bedside.annotation.sampling import rater_slots
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.reports.annotation import plan_tables, status_tables
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.records import json_text
from benchmarks.proposal_allocation import DESIGNS, compared
from tests.annotation import builders
from tests.annotation.builders import FINDINGS, QUESTION, copy_of, keep, pulled
from tests.annotation.study import EMPATHY, JUDGE, USERS, exported, levels, rating_plan
from tests.soak import budget


def test_done_skipped_and_open_are_counted_by_stratum(run: Run) -> None:
    plan = rating_plan(run, by=("system",), raters=("anna", "ben"))
    done = {item.id for item in plan.items if item.stratum == 0}
    keep(run, plan, lambda item, rater: levels(item, rater) if rater == "anna" and item in done else None)
    found = plan_progress(run, plan)
    assert found.shares == (
        RaterShare("anna", None, 12, 6, 0, 60.0),
        RaterShare("anna", "GPT-Secret", 6, 6, 0, 60.0),
        RaterShare("anna", "Llama-Hidden", 6, 0, 0, None),
        RaterShare("ben", None, 12, 0, 0, None),
        RaterShare("ben", "GPT-Secret", 6, 0, 0, None),
        RaterShare("ben", "Llama-Hidden", 6, 0, 0, None),
    )
    assert found.shares[0].open == 6
    ben = {"was_cancelled": True}
    keep(Run(run.path), plan, lambda item, rater: levels(item, rater) if rater == "ben" else None, **ben)
    found = plan_progress(Run(run.path), plan)
    assert found.shares[3] == RaterShare("ben", None, 12, 0, 12, None)
    assert not [row for row in found.agreement if row.kind == "people"]


def test_a_study_runs_until_nothing_is_open(run: Run) -> None:
    """Known items, other rounds and plans that nobody answered don't count; what is skipped is not open."""
    training = [TrainingCase(run.index["id"][0], {"empathy": "4", "goal_alignment": "2"})]
    plan = rating_plan(run, raters=("anna", "ben"), per=8, training=training)
    rounds = [round_of(plan)]
    assert study_progress(run, rounds) == StudyProgress()
    keep(run, plan, lambda item, rater: levels(item, rater) if rater == "anna" else None)
    transcripts = frozenset(item.transcript for item in plan.items)
    assert study_progress(Run(run.path), rounds) == StudyProgress(16, 8, 8, transcripts, transcripts)
    assert study_progress(Run(run.path), ["another"]) == StudyProgress()
    keep(Run(run.path), plan, lambda item, rater: levels(item, rater) if rater == "ben" else None, was_cancelled=True)
    assert study_progress(Run(run.path), rounds) == StudyProgress(16, 8, 0, transcripts)


@pytest.mark.parametrize("way", ["page", "sheet"])
def test_at_a_look_only_cases_count_that_nobody_is_to_rate_any_more(run: Run, tmp_path: Path, way: str) -> None:
    """Anna has rated all of 12 items, Ben 4 of them, the two of a case: 16 of 24 answers, 8 transcripts wait. In a
    sheet raters may be called otherwise than in the plan, which is found by its units."""
    plan = rating_plan(run, raters=("anna", "ben"), per=12)
    cases = dict(run.index.select("id", "case_id").iter_rows())
    chosen = sorted(set(cases.values()))[:2]
    done = {item.id for item in plan.items if cases[item.transcript] in chosen}
    if way == "page":
        keep(run, plan, lambda item, rater: levels(item, rater) if rater == "anna" or item in done else None)
    else:
        rated = [(item, rater) for item in plan.items for rater in ("P1", "P2") if rater == "P1" or item.id in done]
        file = tmp_path / "sheet.csv"
        rows = "".join(f"{item.transcript},{rater},empathy,{1 + at % 5}\n" for at, (item, rater) in enumerate(rated))
        file.write_text(f"item,rater,metric,value\n{rows}")
        write_plan(plan, tmp_path / "plan.json")
        bedside.import_ratings(run.path, file, scales="1-5", plan=tmp_path / "plan.json")
    every = frozenset(item.transcript for item in plan.items)
    waiting = frozenset(item.transcript for item in plan.items if item.id not in done)
    found = study_progress(Run(run.path), [round_of(plan)])
    assert found == StudyProgress(24, 16, 8, every, waiting)
    now, always = (
        bedside.compare(run.path, metrics="empathy", raters="human:*", looks=looks) for looks in (False, True)
    )
    kinds = {
        finding.kind: [(own.n, own.of) for own in finding.measures]
        for each in (now, always)
        for finding in each.findings
    }
    assert (kinds["one look"], kinds["every look"]) == ([(16, 24)], [(16, 24), (8, None)])
    assert [tables.results.pairs[0].cases_a for tables in (now, always)] == [6, 2]


def test_agreement_so_far_is_of_the_plan_and_beside_the_judge(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=8)
    keep(run, plan, levels)
    found = plan_progress(Run(run.path), plan)
    kinds = {(row.metric, row.kind): row for row in found.agreement}
    assert kinds["empathy", "people"].units == 8
    assert kinds["empathy", "mean"].rater is not None
    for table in (*plan_tables(plan), *status_tables(plan, found)):
        assert markdown(table)
        assert json_text(table)


@pytest.mark.parametrize("right", [True, False])
def test_training_is_scored_and_the_median_time_is_of_the_items(run: Run, right: bool) -> None:
    names = run.index["id"][:2]
    cases = [TrainingCase(name, {"empathy": "4", "goal_alignment": "2"}) for name in names]
    plan = rating_plan(run, training=cases, raters=("anna",), overlap=1)
    said = {"empathy": "4" if right else "1", "goal_alignment": "2"}
    keep(run, plan, lambda item, rater: said)
    found = plan_progress(Run(run.path), plan)
    (trained,) = found.training
    assert (trained.answers, trained.score) == (4, 1.0 if right else 0.5)
    assert trained.off == (0.0 if right else 1.5)
    assert found.shares[1] == RaterShare("anna", "training", 2, 2, 0, 60.0)
    assert found.shares[0].assigned == 10


def training_score(run: Run, known: dict[str, Any], said: dict[str, Any], **options: Any) -> Any:
    """What comes of it that anna says the same of all, of which one transcript is for training."""
    case = TrainingCase(run.index["id"][0], known)
    plan = rating_plan(run, training=(case,), raters=("anna",), overlap=1, **options)
    keep(run, plan, lambda item, rater: said)
    (trained,) = plan_progress(Run(run.path), plan).training
    return trained


def test_training_in_codes_is_scored_by_turn(run: Run) -> None:
    said = {"question__0": "open", "question__1": "closed"}
    known = {"question": {"0": "open", "2": "none"}}
    trained = training_score(run, known, said, mode="codes", rubrics=(QUESTION,))
    assert (trained.answers, trained.right, trained.off) == (2, 1, None)


def test_training_of_lists_is_scored_by_what_is_matched(run: Run) -> None:
    needles = {"category": builders.FEAR, "text": "afraid of needles"}
    known = {FINDINGS.name: [needles, {"category": "communication barrier", "text": "no German"}]}
    said = {FINDINGS.name: "listed", f"{FINDINGS.name}__1": ("text", "the needles make her afraid")}
    trained = training_score(run, known, said, mode="findings", rubrics=(FINDINGS,))
    assert trained.right == pytest.approx(2 / 3)


def test_answers_nobody_asked_for_and_changes_are_said(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    tasks = exported(plan, levels, USERS)
    mine = next(task for task in tasks if task["annotations"][0]["completed_by"] == 1)
    other = {**mine["annotations"][0], "completed_by": 2, "updated_by": 2, "unique_id": "x"}
    mine["annotations"].append(other)
    theirs = next(task for task in tasks if task["annotations"][0]["completed_by"] == 2)
    theirs["annotations"][0]["updated_by"] = 1
    pulled(run, plan, tasks)
    found = plan_progress(Run(run.path), plan)
    assert (found.outside, found.changed_by) == (1, {"ben": {"anna": 1}})
    assert "1 by anna." in " ".join(status_tables(plan, found)[0].notes)


FEAR, COST = "fear", "cost"


def test_entries_match_by_label_and_wording() -> None:
    first = [(FEAR, "She is afraid of the needles"), (COST, "can't pay the insulin"), (FEAR, "alone at home")]
    second = [
        (FEAR, "needles frighten her; afraid"),
        (FEAR, "insulin is too much to pay"),
        (COST, "pays insulin herself"),
    ]
    # The needles, and the insulin under cost; the same under another label is not the same entry.
    assert matched_entries(first, second) == 2
    assert matched_entries(first, []) == 0
    twice = [(FEAR, "afraid of dogs")] * 2
    assert matched_entries(twice, [(FEAR, "dogs: afraid")]) == 1


_WORDS = st.sampled_from(("dog bites", "cat fur", "dog", "cat bites", "rent"))
_ENTRIES = st.lists(st.tuples(st.sampled_from((FEAR, COST)), _WORDS), max_size=5)


@settings(max_examples=60, deadline=None)
@given(_ENTRIES, _ENTRIES)
def test_matching_is_the_same_both_ways_and_no_more_than_there_is(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    matched = matched_entries(first, second)
    assert matched == matched_entries(second, first)
    assert matched <= min(len(first), len(second))
    assert matched_entries(first, first) == len(first)
    assert 0 <= f1(matched, len(first), len(second)) <= 1


def test_lists_agree_as_worked_out_by_hand() -> None:
    lists = {
        "anna": {"1": [(FEAR, "dogs"), (COST, "rent")], "2": [], "3": [(FEAR, "cats")]},
        "ben": {"1": [(FEAR, "dogs")], "2": [], "3": [(FEAR, "spiders")], "4": [(COST, "rent")]},
        "cleo": {"2": [(COST, "rent")]},
    }
    every, anna_ben, *_ = list_agreement(lists)
    # Items 1 to 3: 2·1/3, both empty, 0 (by label 2/3, 1, 1).
    assert anna_ben.raters == ("anna", "ben")
    assert (anna_ben.items, anna_ben.entries, anna_ben.matched) == (3, 5, 1)
    assert anna_ben.f1.estimate == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert anna_ben.by_label.estimate == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert every.raters == ("anna", "ben", "cleo")
    assert every.f1.estimate == pytest.approx(np.mean([2 / 3, 1, 0, 0, 0]))


def test_lists_are_in_the_status(run: Run) -> None:
    plan = rating_plan(run, mode="findings", rubrics=(FINDINGS,), raters=("anna", "ben"))
    keep(run, plan, lambda item, rater: {FINDINGS.name: "listed", f"{FINDINGS.name}__0": ("text", rater)})
    found = plan_progress(Run(run.path), plan)
    (pair,) = found.lists
    assert (pair.items, pair.entries, pair.matched) == (12, 24, 0)
    assert (pair.f1.estimate, pair.by_label.estimate) == (0.0, 1.0)
    assert {table.name for table in status_tables(plan, found)} >= {"status", "lists"}


def test_a_plan_says_what_it_is(run: Run) -> None:
    options = {"by": ("length",), "per": 9, "focus": "disagreement", "overlap": 1}
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), **options)
    strata, raters = plan_tables(plan)
    notes = " ".join(strata.notes)
    for said in ("all there is: 10, 20.", "their ratings are not independent of it", "no random sample"):
        assert said in notes
    assert "3 of 3 pairs of raters share no item" in " ".join(raters.notes)
    assert [record["drawn"] for record in strata.records] == [6, 6]
    assert strata.rows[-1].cells[0].text == "all"


# -- what to rate next --


def rated(run: Run, plan: AnnotationPlan, left_open: int = 0) -> None:
    left = {item.id for item in plan.items[:left_open]}
    fields = {"notes", *(planned.rubric.name for planned in plan.rubrics)}

    def say(item: str, rater: str) -> dict[str, object] | None:
        said = {name: given for name, given in levels(item, rater).items() if name in fields}
        return None if item in left else said

    keep(run, plan, say)


@pytest.fixture
def copied(large: Run, tmp_path: Path) -> Run:
    """A copy of the large run, to be rated."""
    return copy_of(large, tmp_path / "copied")


def test_units_that_one_person_rated_come_first_for_kappa(copied: Run) -> None:
    run = copied
    once = rating_plan(run, overlap=1, per=5, seed=1, round="main")
    rated(run, once)
    without = [(item.transcript, item.unit) for item in once.items]
    plan = rating_plan(run, per=20, seed=2, without=without, round="main")
    rated(run, plan)
    found = propose(run, plan, aim="kappa", count=8)
    assert {each.transcript for each in found.proposals[:5]} == {item.transcript for item in once.items}
    assert [(each.rated_by, each.raters_wanted) for each in found.proposals] == [(1, 1)] * 5 + [(0, 2)] * 3
    assert not {each.transcript for each in found.proposals} & {item.transcript for item in plan.items}


def test_the_half_width_now_is_that_of_the_agreement_table(copied: Run) -> None:
    run = copied
    plan = rating_plan(run, per=40, raters=("anna", "ben"))
    rated(run, plan)
    found = propose(run, plan, aim="kappa", count=40)
    by_metric = {gain.metric: gain for gain in found.gains}
    for row in agree(open_ratings_view(run.path), metrics=["empathy", "goal_alignment"], raters=["human:*"]):
        if row.kind == "people":
            interval = row.statistics["kappa"].interval
            assert interval is not None
            assert by_metric[row.metric].half_width == pytest.approx((interval.high - interval.low) / 2)
            assert by_metric[row.metric].units == 40
    # Twice the units: about 1/√2 of the width.
    expected, width = by_metric["empathy"].expected_half_width, by_metric["empathy"].half_width
    assert expected is not None
    assert width is not None
    assert 0.6 < expected / width < 0.8


def test_what_kappa_would_gain_is_what_is_gained(large: Run, tmp_path: Path) -> None:
    """Rate what is proposed by the same rule that the raters follow: the width comes out near what was promised."""
    ratios = []
    for seed in range(3):
        run = copy_of(large, tmp_path / str(seed))
        plan = rating_plan(run, per=30, rubrics=(EMPATHY,), raters=("anna", "ben"), seed=seed)
        rated(run, plan)
        found = propose(run, plan, aim="kappa", count=30)
        (gain,) = found.gains
        more = follow_up_plan(run, plan, found)
        rated(run, more)
        (after,) = propose(run, more, aim="kappa", count=5).gains
        assert after.units == 60
        assert after.half_width is not None
        assert gain.expected_half_width is not None
        ratios.append(after.half_width / gain.expected_half_width)
    assert np.mean(ratios) == pytest.approx(1, abs=0.2)


def test_the_most_disputed_units_are_proposed_and_go_to_somebody_else(copied: Run) -> None:
    run = copied
    plan = rating_plan(run, per=10, raters=("anna", "ben", "cleo"), rubrics=(EMPATHY,))
    rated(run, plan)
    found = propose(run, plan, aim="disagreement", count=4)
    ratings = Run(run.path).ratings.filter(metric="empathy", replicate=0)
    apart: dict[str, float] = {}
    for item in plan.items:
        levels_of = dict(ratings.filter(transcript_id=item.transcript).select("rater", "value").iter_rows())
        judge = levels_of.pop(JUDGE)
        people = list(levels_of.values())
        apart[item.transcript] = max(abs(judge - float(np.median(people))), max(people) - min(people))
    worst = sorted(apart.values(), reverse=True)[:4]
    assert [apart[each.transcript] for each in found.proposals] == worst
    more = follow_up_plan(run, plan, found)
    before = {item.transcript: plan.raters_of[item.id] for item in plan.items}
    for item in more.items:
        (rater,) = more.raters_of[item.id]
        assert rater not in before[item.transcript]
    assert {item.drawn for item in more.items} == {"disagreement"}
    both = rating_plan(run, per=10, raters=("anna", "ben"), rubrics=(EMPATHY,), seed=4)
    rated(run, both)
    with pytest.raises(DataError, match="have rated all that is proposed"):
        follow_up_plan(run, both, propose(run, both, aim="disagreement", count=1))


def test_answers_still_to_come_are_counted_and_not_proposed_again(copied: Run) -> None:
    run = copied
    plan = rating_plan(run, per=20)
    rated(run, plan, left_open=6)
    found = propose(run, plan, aim="kappa", count=100)
    assert (found.open, len(found.proposals)) == (12, 60)
    assert not {each.transcript for each in found.proposals} & {item.transcript for item in plan.items}
    again = [propose(run, plan, aim="kappa", count=100, seed=3) for _ in range(2)]
    assert again[0] == again[1]


def test_without_ratings_it_says_that_nothing_can_be_said(run: Run) -> None:
    plan = rating_plan(run, per=2, raters=rater_slots(2))
    found = propose(run, plan, aim="kappa", count=3)
    assert {gain.missing for gain in found.gains} == {"nobody has rated it"}
    with pytest.raises(DataError, match="nothing is left to propose"):
        propose(run, plan, aim="disagreement")
    with pytest.raises(DataError, match="there is no aim 'more'"):
        propose(run, plan, aim="more")  # type: ignore[arg-type]


@pytest.mark.soak
def test_no_choice_of_strata_narrows_corrected_means_by_much() -> None:
    """Why no units are proposed for them. The interval holds the truth however the strata were chosen."""
    studies = budget(40, 400)
    slack = 2 * np.sqrt(0.05 * 0.95 / studies)
    for name in ("two, 270 and 30, noise .3 and 1.2", "0/1, 240 and 60, ones .1 and .5"):
        (design,) = (each for each in DESIGNS if each.name == name)
        records = compared(design, (20, 20), studies, 1)
        for record in records.values():
            assert all(0.95 - slack < share < 0.97 + slack for share in record.coverage)
        assert all(0.92 < records[rule].half_widths[0] < 1 for rule in ("seen", "known"))
