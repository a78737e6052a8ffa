"""Plans: what is drawn, what goes first, who rates it, and that a plan can't be changed or taken to another run."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

from bedside.annotation.annotation_plan import (
    AnnotationPlan,
    TrainingItem,
    page_version,
    plan_hash,
    run_identity,
)
from bedside.annotation.plan_file import PlanError, check_current, read_plan, write_plan
from bedside.annotation.priorities import disagreement, uncertainty
from bedside.annotation.training_cases import _known_turns, read_training, training_from_run
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.annotation import plan_tables
from bedside.reports.renderers.markdown import markdown
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, new_study, rating_plan, write_transcripts


def test_strata_are_counted_and_filled_as_far_as_there_is_any(run: Run) -> None:
    plan = rating_plan(run, by=("system", "length"), per=2)
    assert [(s.factors, s.available, s.wanted, s.drawn) for s in plan.strata] == [
        ({"system": system, "length": length}, 3, 2, 2)
        for system in sorted(SYSTEMS)
        for length in ("10", "20")
    ]
    assert len(plan.items) == 8
    every = rating_plan(run, by=("system",), per=100)
    assert [(s.wanted, s.drawn) for s in every.strata] == [(100, 6), (100, 6)]


def test_systems_are_drawn_on_the_same_cases(large: Run) -> None:
    """So that what is compared pairs: of 40 cases of two systems, 10 drawn of each are the same 10."""
    systems = dict(large.index.select("id", "system").iter_rows())
    cases = dict(large.index.select("id", "case_id").iter_rows())
    for seed in range(20):
        for by in (("system",), ("system", "length")):
            plan = rating_plan(large, by=by, per=10, seed=seed)
            drawn = {
                system: {cases[item.transcript] for item in plan.items if systems[item.transcript] == system}
                for system in SYSTEMS
            }
            assert len(plan.items) == 20 * len(by)
            assert drawn[SYSTEMS[0]] == drawn[SYSTEMS[1]]
    # Undivided, each transcript is drawn by itself: 20 of 80 are of 17.6 cases on average.
    undivided = [rating_plan(large, per=20, seed=seed) for seed in range(20)]
    counts = [len({cases[item.transcript] for item in plan.items}) for plan in undivided]
    assert min(counts) > 13


@pytest.mark.parametrize("overlap", [1, 2])
def test_raters_rate_each_system_as_often_and_on_the_same_cases(large: Run, overlap: int) -> None:
    systems = dict(large.index.select("id", "system").iter_rows())
    cases = dict(large.index.select("id", "case_id").iter_rows())
    plan = rating_plan(large, by=("system",), per=12, overlap=overlap)
    items = {item.id: item for item in plan.items}
    for order in plan.assignment.values():
        rated = {
            system: sorted(
                str(cases[items[name].transcript])
                for name in order
                if systems[items[name].transcript] == system
            )
            for system in SYSTEMS
        }
        assert rated[SYSTEMS[0]] == rated[SYSTEMS[1]]
        assert len(order) == 24 * overlap / 3


def test_some_items_are_shown_a_second_time(large: Run) -> None:
    plan = rating_plan(large, per=20, repeat=0.1, training=())
    first = {(item.transcript, item.unit): item.id for item in plan.items if item.replicate == 0}
    again = {item.id: first[item.transcript, item.unit] for item in plan.items if item.replicate}
    assert (len(first), len(again)) == (20, 2)
    for rater, order in plan.assignment.items():
        shown = [name for name in order if name in again]
        assert {again[name] for name in shown} == set(order) & set(again.values()), rater
        middle = len(order) // 2
        assert all(order.index(name) >= middle > order.index(again[name]) for name in shown), rater
    assert [stratum.drawn for stratum in plan.strata] == [20]
    shown = markdown(plan_tables(plan)[1])
    assert "20 items, 44 ratings; each item by 2, 2 of them a second time." in shown
    with pytest.raises(DataError, match="between 0 and 1"):
        rating_plan(large, repeat=1.5)


def test_each_item_has_its_raters_and_pairs_share_items(run: Run) -> None:
    plan = rating_plan(run)
    assert all(len(raters) == 2 for raters in plan.raters_of.values())
    items = {rater: set(order) for rater, order in plan.assignment.items()}
    assert {len(items[a] & items[b]) for a, b in combinations(plan.raters, 2)} == {4}


def test_some_items_can_be_rated_by_everyone(run: Run) -> None:
    plan = rating_plan(run, overlap=1, shared=3)
    assert sorted(len(raters) for raters in plan.raters_of.values()) == [1] * 9 + [3] * 3


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process(run: Run, tmp_path: Path) -> None:
    write_plan(rating_plan(run, per=4, by=("system",)), tmp_path / "a.json")
    code = (
        "import sys; from tests.annotation.study import rating_plan; from bedside.ratings.run import Run;"
        "from bedside.annotation.plan_file import write_plan;"
        "write_plan(rating_plan(Run(sys.argv[1]), per=4, by=('system',)), sys.argv[2])"
    )
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(run.path), str(tmp_path / "b.json")],
            check=True, cwd=Path(__file__).parents[2], env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
        )  # fmt: skip
        assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    assert rating_plan(run, seed=8).items != rating_plan(run, seed=7).items


def test_raters_see_the_training_set_first_and_items_in_an_order_of_their_own(
    run: Run, tmp_path: Path
) -> None:
    plan = rating_plan(
        run, overlap=3, training=read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    )
    training = tuple(item.id for item in plan.training)
    assert len(training) == 2
    orders = [order[2:] for order in plan.assignment.values()]
    assert all(order[:2] == training for order in plan.assignment.values())
    assert len(set(orders)) == 3
    assert len({frozenset(order) for order in orders}) == 1


def known_answers(folder: Path, **answers: object) -> Path:
    lines = write_transcripts(folder / "known.jsonl", 1).read_text("utf-8").splitlines()
    written = []
    for number, line in enumerate(lines):
        data = json.loads(line)
        data["id"] = f"training-{number}"
        data["reference"]["answers"] = {"empathy": 4, "goal_alignment": 2, **answers}
        written.append(json.dumps(data))
    path = folder / "known.jsonl"
    path.write_text("\n".join(written), "utf-8")
    return path


def test_a_training_set_has_answers_that_its_rubrics_know(tmp_path: Path) -> None:
    cases = read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    assert [dict(case.answers) for case in cases] == [{"empathy": "4", "goal_alignment": "2"}] * 2
    with pytest.raises(InputError, match=r"known\.jsonl.*'9' is not an answer to empathy"):
        read_training(known_answers(tmp_path, empathy=9), "rate", (EMPATHY,))
    with pytest.raises(InputError, match="there is no known answer on partnership"):
        read_training(known_answers(tmp_path), "rate", (RUBRICS.load("partnership"),))
    with pytest.raises(InputError, match="has no answers"):
        read_training(write_transcripts(tmp_path / "without.jsonl", 1), "rate", (EMPATHY,))


def test_training_from_what_people_agree_on_is_not_rated_again(run: Run) -> None:
    names = sorted(run.index["id"])[:3]
    rows = [
        (name, None, None, "transcript", "empathy", f"human:{who}", 0, level, None, None, None)
        for name, levels in zip(names, ((4, 4), (2, 2), (1, 3)), strict=True)
        for who, level in zip("xy", levels, strict=True)
    ]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    cases = training_from_run(run, "rate", (EMPATHY,), 2)
    assert {case.transcript: case.answers["empathy"] for case in cases} == {names[0]: "4", names[1]: "2"}
    plan = rating_plan(run, rubrics=(EMPATHY,), training=cases)
    assert len(plan.items) == 10
    assert not {item.transcript for item in plan.items} & {item.transcript for item in plan.training}
    with pytest.raises(DataError, match="people agree on 2 units"):
        training_from_run(run, "rate", (EMPATHY,), 3)


def test_disagreement_is_worked_out_from_passes(run: Run) -> None:
    found = disagreement(run, (EMPATHY,))
    # Two passes with levels a and b: standard deviation |a - b| / 2, doubled, over a width of 4.
    said: dict[str, list[float]] = {}
    for name, value in (
        run.ratings.filter(pl.col("metric") == "empathy").select("transcript_id", "value").iter_rows()
    ):
        said.setdefault(name, []).append(value)
    assert found == {(name, "transcript"): abs(a - b) / 4 for name, (a, b) in said.items()}


def test_with_disagreement_first_the_most_disputed_are_drawn(run: Run) -> None:
    scores = disagreement(run, (EMPATHY, GOAL))
    plan = rating_plan(run, per=4, focus="disagreement")
    drawn = sorted((scores[item.transcript, item.unit] for item in plan.items), reverse=True)
    assert drawn == sorted(scores.values(), reverse=True)[:4]
    assert {item.drawn for item in plan.items} == {"disagreement"}
    mixed = rating_plan(run, per=4, focus="disagreement", random_share=0.5)
    assert sorted(item.drawn for item in mixed.items) == ["disagreement"] * 2 + ["random"] * 2


def test_uncertainty_is_nearness_to_the_middle_or_to_half_way_between_levels(run: Run) -> None:
    names = sorted(run.index["id"])
    mean = run.ratings.filter(pl.col("metric") == "empathy", pl.col("transcript_id") == names[1])[
        "value"
    ].mean()
    assert uncertainty(run, (EMPATHY,))[names[1], "transcript"] == pytest.approx(1 - abs(mean - 3) / 2)  # type: ignore[operator]
    rows = [(names[1], None, None, "transcript", "empathy.expected", JUDGE, 0, 3.4, None, None, None)]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    assert uncertainty(run, (EMPATHY,))[names[1], "transcript"] == pytest.approx(0.8)


def test_what_cannot_be_rated_is_left_out_and_counted(tmp_path: Path) -> None:
    path = write_transcripts(tmp_path / "in.jsonl", 2)
    lines = path.read_text("utf-8").splitlines()
    data = json.loads(lines[0])
    data["reference"] = {}
    path.write_text("\n".join([json.dumps(data), *lines[1:]]), "utf-8")
    from bedside.scoring.score import score

    run = score([path], tmp_path / "run", metrics=["structure"]).run
    plan = rating_plan(run)
    assert plan.left_out == {"no goal": 1}
    assert len(plan.items) == 3
    assert len(rating_plan(run, rubrics=(EMPATHY,)).items) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ("sytem",)}, "there is no factor 'sytem'.*system"),
        ({"overlap": 4}, "an overlap of 4 needs as many raters"),
        ({"per": 0}, "give a number from 1"),
        ({"mode": "findings"}, "asks for a level; mode findings takes rubrics of kind list"),
        ({"mode": "codes", "rubrics": (EMPATHY,)}, "asks for a level"),
        ({"rubrics": (EMPATHY, RUBRICS.load("open_question"))}, "is about turns"),
        ({"focus": "certain"}, "there is no focus 'certain'"),
        ({"judge": JUDGE}, "mode rate shows no judge's scores"),
        ({"mode": "audit", "judge": "judge:other"}, "name one: judge:invented/model"),
        ({"rubrics": (RUBRICS.load("partnership"),), "focus": "disagreement"}, "no unit was rated twice"),
        ({"raters": ("anna", "Anna")}, "a rater is named twice"),
        ({"raters": ("../anna", "ben")}, "can't be a rater's name"),
        ({"raters": ("anna", "Con")}, "'Con' can't be a rater's name: Windows has no file of that name"),
    ],
)
def test_what_does_not_go_is_said(run: Run, options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rating_plan(run, **options)


def test_a_plan_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    training = read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    plan = rating_plan(run, by=("system",), per=2, training=training)
    write_plan(plan, tmp_path / "plan.json")
    read = read_plan(tmp_path / "plan.json", run)
    assert read == plan
    assert read.seal == plan.seal
    assert isinstance(read.by_id[plan.training[0].id], TrainingItem)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed": 7', '"seed": 8'),
        ('"overlap": 2', '"overlap": 3'),
        ('"anna"', '"anne"'),
        ('"drawn": "random"', '"drawn": "uncertain"'),
    ],
)
def test_a_plan_that_was_changed_is_refused(run: Run, tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "plan.json"
    write_plan(rating_plan(run), path)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(PlanError, match=r"plan\.json.*changed after it was made"):
        read_plan(path)


def test_a_rubric_reworded_in_the_plan_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(rating_plan(run), path)
    path.write_text(path.read_text("utf-8").replace("Warmth", "Coldness"), "utf-8")
    with pytest.raises(PlanError, match="the wording of empathy is not that of version"):
        read_plan(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": 3}', '{"format": 1, "mode": "rate", "extra": 1}']
)
def test_what_is_no_plan_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(PlanError, match=r"plan\.json"):
        read_plan(path)
    with pytest.raises(PlanError, match="there is no such plan"):
        read_plan(tmp_path / "none.json")


@pytest.mark.slow
def test_a_plan_of_another_run_is_refused_and_a_copied_run_is_the_same(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(rating_plan(run), path)
    (tmp_path / "other").mkdir()
    other = new_study(tmp_path / "other", cases=3)
    with pytest.raises(PlanError, match="made for another run"):
        read_plan(path, other)
    assert run_identity(other) != run_identity(run)


def test_a_rubric_changed_since_is_noticed(run: Run) -> None:
    from dataclasses import replace

    plan = rating_plan(run)
    check_current(plan, (EMPATHY, GOAL), "plan.json")
    with pytest.raises(PlanError, match="the rubric empathy was changed since the plan was made"):
        check_current(plan, (replace(EMPATHY, construct="Something else"), GOAL), "plan.json")


def test_pages_are_the_same_where_mode_and_wording_are(run: Run) -> None:
    plan = rating_plan(run)
    assert page_version(plan) == page_version(rating_plan(run, seed=9, raters=("x", "y")))
    assert page_version(plan) != page_version(rating_plan(run, rubrics=(GOAL, EMPATHY)))
    assert plan_hash(plan) != plan_hash(rating_plan(run, seed=9))


def test_single_turns_can_be_rated(run: Run) -> None:
    plan = rating_plan(run, rubrics=(RUBRICS.load("open_question"),), per=10)
    assert {item.unit for item in plan.items} <= {"turn:0", "turn:2"}
    assert plan.strata[0].available == 24


def test_codes_are_of_transcripts(run: Run) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(CODEBOOK.load("question"), CODEBOOK.load("client_talk")))
    assert isinstance(plan, AnnotationPlan)
    assert {item.unit for item in plan.items} == {"transcript"}


@pytest.mark.parametrize("turn", ["²", "9" * 5000, "-1", "1.0", "x", ""])
def test_what_is_no_number_of_a_turn_is_refused(turn: str) -> None:
    rubric = CODEBOOK.load("question")
    with pytest.raises(InputError, match="there is no turn"):
        _known_turns(rubric, {turn: "open"}, 3, "here")
