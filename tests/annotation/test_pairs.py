"""People say which of two conversations is better: plans, pages, files, and the ratings that come of it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.labelling_page import instructions_page, labelling_page
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.sampling import make_plan
from bedside.core.errors import BedsideError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import second_id
from bedside.ratings.rubric_metrics import SHARES
from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.transcripts.transcript import Transcript, Turn
from tests.annotation.builders import controls, fill_csv, keep, people
from tests.annotation.study import EMPATHY, GOAL, rating_plan
from tests.conftest import Call, works

WORDS = ("first", "second", "tie")


def pairs_plan(run: Run, **options: Any) -> AnnotationPlan:
    return rating_plan(run, mode="pairs", **options)


def annas(run: Run) -> AnnotationPlan:
    """By empathy, and anna compares alone."""
    return pairs_plan(run, rubrics=(EMPATHY,), raters=("anna",), overlap=1)


def talks_of(folder: Path, systems: str, cases: int) -> Run:
    """A run of one short talk of each system and case, whose goal has the system's name."""
    turns = (Turn(0, "clinician", "x", "How?"), Turn(1, "patient", "x", "So."))
    talks = [
        Transcript(f"{system}{case}", turns, system, f"c{case}", reference={"goal": f"goal {system}"})
        for system in systems
        for case in range(cases)
    ]
    return score(talks, folder / "run", metrics=["structure"]).run


def system_of(transcript: str) -> str:
    return transcript.split("-", 1)[1].rsplit("-", 1)[0]


def said(item: str, rater: str) -> dict[str, Any]:
    """An answer that depends on the item most and on the rater a little."""
    number = int(item[-6:], 16)
    other = (number + (rater == "ben" and number % 4 == 0)) % 3
    return {
        "empathy": WORDS[other],
        "goal_alignment": WORDS[number % 3],
        "reason__empathy": ("text", f"note by {rater}"),
    }


def test_a_plan_has_every_pair_once_and_either_system_first_in_half(large: Run) -> None:
    plan = pairs_plan(large, rubrics=(EMPATHY,))
    assert len(plan.items) == 40
    firsts = Counter(system_of(item.transcript) for item in plan.items)
    assert set(firsts.values()) == {20}
    for item in plan.items:
        assert item.transcript.rsplit("-", 1)[1] == second_id(item.unit).rsplit("-", 1)[1]
        assert system_of(item.transcript) != system_of(second_id(item.unit))
        assert item.chance == 1.0
    assert [stratum.factors for stratum in plan.strata] == [{"systems": "GPT-Secret – Llama-Hidden"}]
    other = pairs_plan(large, rubrics=(EMPATHY,), seed=8)
    assert {item.transcript for item in other.items} != {item.transcript for item in plan.items}


def test_a_draw_has_so_many_of_every_two_systems_and_odd_numbers_stay_balanced(tmp_path: Path) -> None:
    run = talks_of(tmp_path, "ABC", 12)
    plan = make_plan(run, mode="pairs", rubrics=(EMPATHY,), raters=("a", "b", "c"), per=5, repeat=0.2, seed=2)
    items = [item for item in plan.items if not item.replicate]
    assert [stratum.drawn for stratum in plan.strata] == [5, 5, 5]
    assert {item.chance for item in items} == {5 / 12}
    for number in range(3):
        of_stratum = [item for item in items if item.stratum == number]
        firsts = Counter(item.transcript[0] for item in of_stratum)
        assert sorted(firsts.values()) == [2, 3]
        # The same cases of every two systems.
        assert {item.transcript[1:] for item in of_stratum} == {item.transcript[1:] for item in items}
    turned = [item for item in plan.items if item.replicate]
    assert len(turned) == 3
    shown = {(item.transcript, second_id(item.unit)) for item in items}
    assert {(second_id(item.unit), item.transcript) for item in turned} <= shown
    two = make_plan(run, mode="pairs", rubrics=(EMPATHY,), raters=("a", "b"), systems=("A", "C"), seed=2)
    assert [stratum.name for stratum in two.strata] == ["A – C"]


def test_pairs_that_are_named_are_left_out_whichever_is_first(run: Run) -> None:
    plan = pairs_plan(run)
    first, second = ((item.transcript, second_id(item.unit)) for item in plan.items[:2])
    without = [(first[0], f"pair:{first[1]}"), (second[1], f"pair:{second[0]}")]
    rest = pairs_plan(run, without=without)
    assert rest.left_out == {"rated already": 2}
    left = [{item.transcript, second_id(item.unit)} for item in rest.items]
    assert len(left) == 4
    assert {*first} not in left
    assert {*second} not in left


def test_a_plan_comes_back_from_its_file_and_a_strange_pair_is_noticed(run: Run, tmp_path: Path) -> None:
    plan = pairs_plan(run)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    text = (tmp_path / "plan.json").read_text("utf-8")
    (tmp_path / "plan.json").write_text(text.replace("pair:secretfile", "pair:otherfile"), "utf-8")
    with pytest.raises(BedsideError):
        read_plan(tmp_path / "plan.json", run)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": ("system",)}, "`by`"),
        ({"focus": "disagreement"}, "`focus`"),
        ({"judge": "judge:x"}, "`judge`"),
        ({"systems": ("GPT-Secret", "Nobody")}, "Nobody"),
        ({"rubrics": (RUBRICS.load("open_question"),)}, "open_question"),
        ({"rubrics": (RUBRICS.load("information_control"),)}, "information_control"),
        ({"mode": "rate", "systems": ("GPT-Secret", "Llama-Hidden")}, "`systems`"),
    ],
)
def test_what_pairs_do_not_have_is_refused_in_a_line(run: Run, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BedsideError, match=words):
        rating_plan(run, **{"mode": "pairs", **options})


def test_a_task_shows_both_and_says_nothing_of_whose_they_are(run: Run) -> None:
    plan = pairs_plan(run)
    texts = {transcript.id: [turn.text for turn in transcript.turns] for transcript in run.transcripts()}
    tasks = label_studio_tasks(plan, run)
    for task, item in zip(tasks, plan.items, strict=True):
        data = task["data"]
        assert data.keys() == {"external_id", "title", "dialogue", "dialogue_second", "input_goal"}
        for name, transcript in (("dialogue", item.transcript), ("dialogue_second", second_id(item.unit))):
            assert [turn["text"] for turn in data[name]] == [text.strip() for text in texts[transcript]]
    shown = json.dumps(tasks) + labelling_page(plan)
    for secret in ("Secret", "Hidden", "secretfile", "hushcase", " bot", "invented"):
        assert secret not in shown


def test_the_page_shows_two_conversations_and_asks_which_is_better(run: Run) -> None:
    page = labelling_page(pairs_plan(run))
    assert controls(page) == {
        "empathy": WORDS, "goal_alignment": WORDS, "reason__empathy": (), "reason__goal_alignment": (), "notes": (),
        "$chat": ("$dialogue",), "$chat_second": ("$dialogue_second",),
    }  # fmt: skip
    root = ElementTree.fromstring(page)
    texts = [str(text.get("value")) for text in root.iter("Text")]
    for level in EMPATHY.shown().scale:
        assert any(f"{level.value}: {level.descriptor}" in text for text in texts)
    better = "The better conversation is the one that stands higher on its levels."
    assert any(better in text for text in texts)
    assert [choice.get("hotkey") for choice in root.iter("Choice")] == list("123qwe")
    assert "The levels of the rubric" in instructions_page(pairs_plan(run), "Welcome")


def test_what_differs_between_the_two_is_told_apart(tmp_path: Path) -> None:
    run = talks_of(tmp_path, "AB", 1)
    plan = pairs_plan(run, rubrics=(GOAL,))
    (task,) = label_studio_tasks(plan, run)
    first = plan.items[0].transcript[0]
    goals = f"First conversation: goal {first}\n\nSecond conversation: goal {'B' if first == 'A' else 'A'}"
    assert task["data"]["input_goal"] == goals


def test_answers_are_preferences_of_people(run: Run) -> None:
    plan = pairs_plan(run, overlap=2, repeat=0.5)
    keep(run, plan, said)
    expected = set()
    for rater, order in plan.assignment.items():
        for name in order:
            item = plan.by_id[name]
            assert isinstance(item, PlanItem)
            for rubric in ("empathy", "goal_alignment"):
                label = said(name, rater)[rubric]
                row = (item.transcript, item.unit, f"{rubric}.preference", f"human:{rater}", label, SHARES[label])
                expected.add(row)
    rows = people(run)
    columns = ("transcript_id", "unit", "metric", "rater", "label", "value")
    assert set(rows.select(columns).iter_rows()) == expected
    assert set(rows.select("replicate", "drawn").iter_rows()) == {(0, 1.0)}
    # Why is said of one rubric, and is no other's.
    for metric, reason in rows.select("metric", "reason").iter_rows():
        assert (reason or "").startswith("note by") == (metric == "empathy.preference")
    agreement = {entry.metric: entry for entry in plan_progress(Run(run.path), plan).agreement}
    assert agreement.keys() == {"empathy.preference", "goal_alignment.preference"}
    assert agreement["goal_alignment.preference"].statistics["kappa"].estimate == pytest.approx(1.0)


def test_what_is_skipped_is_missing(run: Run) -> None:
    keep(run, annas(run), lambda item, rater: {}, was_cancelled=True)
    rows = people(run)
    assert rows["error"].null_count() == 0
    assert rows["label"].null_count() == rows["value"].null_count() == rows.height == 6


def test_tables_show_both_conversations_and_offer_the_three_answers(run: Run, tmp_path: Path) -> None:
    plan = annas(run)
    book = openpyxl.load_workbook(export_files(plan, run, "xlsx", tmp_path / "files")[0])
    task = label_studio_tasks(plan, run, "anna")[0]["data"]
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row if cell.value]
    assert cells.count("First conversation") == cells.count("Second conversation") == len(plan.items)
    assert {*WORDS, task["dialogue_second"][0]["text"]} <= set(cells)
    (path,) = export_files(plan, run, "csv", tmp_path / "files")
    text = path.read_text("utf-8-sig")
    assert text.count("First conversation") == text.count("Second conversation") > 0
    fill_csv(path, lambda row: row.update(empathy="both"))
    with pytest.raises(BedsideError, match="both"):
        read_files(plan, run, [path])


def test_the_command_draws_pairs(call: Call, run: Run, tmp_path: Path) -> None:
    options = ("--rubrics", "empathy", "--raters", "anna,ben", "--per", 4, "--repeat", "50%")
    out, _ = works(call, "sample", run.path, "--mode", "pairs", *options)
    assert "GPT-Secret – Llama-Hidden" in out
    assert "a second time, the other way round" in out
    assert len(read_plan(tmp_path / "plan.json", run).items) == 6
    assert call("annotate", "export", "plan.json", "--run", run.path, "--format", "csv")[0] == 0


def test_without_rubrics_those_are_taken_that_judges_rated_by(call: Call, run: Run, tmp_path: Path) -> None:
    assert call("sample", run.path, "--mode", "pairs", "--raters", 2)[0] == 0
    names = [planned.rubric.name for planned in read_plan(tmp_path / "plan.json", run).rubrics]
    assert names == ["empathy", "goal_alignment"]
