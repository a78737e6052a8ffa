"""Other annotation tools: the same ratings come out as from the server, and what a tool can't hold is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bedside.annotation.annotation_plan import MODES, AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.items import judge_scores
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.tool_form import TOOL_FORMS
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import InputError
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, GOAL, SYSTEMS, levels, rating_plan
from tests.annotation.test_offline import fresh, from_server, human
from tests.annotation.tool_stand_ins import STAND_INS, argilla, lines, potato, put_lines

TOOLS = tuple(STAND_INS)
#: Tools that ask for nothing but choices; doccano's comments are notes.
WITHOUT_TEXTS = {"prodigy": {"notes"}}


def values(given: Any) -> Sequence[str]:
    """What a rater gives, in the words of :mod:`tests.annotation.study`, as the entries of one question."""
    if isinstance(given, tuple):
        return ["\n".join(given[1:])]
    return given if isinstance(given, list) else [given]


def from_tool(
    run: Run,
    tmp_path: Path,
    plan: AnnotationPlan,
    tool: str,
    say: Any,
    turns: Mapping[str, Sequence[int]] = {},
) -> list[Any]:
    """The ratings that come of what raters say in a tool."""
    own = fresh(run, tmp_path, f"run-{tool}")
    paths = []
    for folder in export_files(plan, own, tool, tmp_path / tool):

        def answers(task: str, question: str, rater: str = folder.name) -> Sequence[str] | None:
            item, _, turn = task.partition("-judged-")[0].partition("-turn-")
            name = f"{question}__{turns[question].index(int(turn))}" if question in turns else question
            given = say(item, rater)
            if question == "notes" and turn not in ("", "0"):
                return ()
            return values(given[name]) if name in given else ()

        paths.append(STAND_INS[tool](folder, answers))
    keep_answers(own, plan, read_files(plan, own, paths).answers)
    return human(own)


def without(say: Any, left_out: set[str]) -> Any:
    return lambda item, rater: {
        name: given for name, given in say(item, rater).items() if name not in left_out
    }


@pytest.mark.parametrize("tool", TOOLS)
def test_ratings_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, by=("system",), per=3)
    reasons = {"reason__empathy": ("text", "warm")} if tool in ("argilla", "potato") else {}
    say = without(lambda item, rater: {**levels(item, rater), **reasons}, WITHOUT_TEXTS.get(tool, set()))
    expected = from_server(run, tmp_path, plan, say)
    assert len(expected) == 24
    assert from_tool(run, tmp_path, plan, tool, say) == expected


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_sets_and_labels_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(RUBRICS.load("values_detected"), RUBRICS.load("dominant_trait")), per=3)
    several, lone = ([label.label for label in rubric.labels] for rubric in plan.questions)

    def say(item: str, rater: str) -> dict[str, Any]:
        chosen = several[:2] if rater == "anna" else ["none of these"]
        return {"values_detected": chosen, "dominant_trait": lone[int(item[-1], 16) % len(lone)]}

    expected = from_server(run, tmp_path, plan, say)
    assert expected
    assert from_tool(run, tmp_path, plan, tool, say) == expected


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_ratings_of_turns_training_and_repeats_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    case = TrainingCase(_first_transcript(run), {"open_question": "open"}, unit="turn:0")
    plan = rating_plan(
        run, rubrics=(RUBRICS.load("open_question"),), per=6, overlap=2, repeat=0.5, training=(case,)
    )
    labels = [label.label for label in plan.questions[0].labels]

    def say(item: str, rater: str) -> dict[str, Any]:
        return {"open_question": labels[(int(item[-1], 16) + len(rater)) % len(labels)]}

    expected = from_server(run, tmp_path, plan, say)
    assert len(expected) == 18
    assert from_tool(run, tmp_path, plan, tool, say) == expected


def _first_transcript(run: Run) -> str:
    return str(min(run.index["id"]))


@pytest.mark.parametrize("tool", TOOLS)
def test_an_audit_comes_back(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), per=3)

    shown = judge_scores(plan, run)

    def say(item: str, rater: str) -> dict[str, Any]:
        judge = shown[plan.by_id[item].transcript, "transcript", "empathy"][0]
        own = levels(item, rater)["empathy"]
        return {"empathy": own, "agree__empathy": "agree" if own == judge else "disagree"}

    expected = from_server(run, tmp_path, plan, say)
    assert {opinion for opinion in ("'agree'", "'disagree'") if any(opinion in row for row in expected)}
    assert from_tool(run, tmp_path, plan, tool, say) == expected


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_comparisons_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="pairs", per=4)

    def say(item: str, rater: str) -> dict[str, Any]:
        number = int(item[-6:], 16)
        words = ("first", "second", "tie")
        return {"empathy": words[number % 3], "goal_alignment": words[(number + len(rater)) % 3]}

    expected = from_server(run, tmp_path, plan, say)
    assert any("empathy.preference" in row for row in expected)
    assert from_tool(run, tmp_path, plan, tool, say) == expected


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_codes_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    codes = [CODEBOOK.load("question")]
    turns = {"question": (0, 2)}
    say = {"question__0": "open", "question__1": "none", "notes": ("text", "hm")}
    if tool == "prodigy":
        codes.append(CODEBOOK.load("client_talk"))
        turns["client_talk"] = (1, 3)
        say = {"question__0": "open", "question__1": "none", "client_talk__1": "sustain"}
    plan = rating_plan(run, mode="codes", rubrics=codes, per=3)
    expected = from_server(run, tmp_path, plan, lambda item, rater: say)
    assert expected
    assert from_tool(run, tmp_path, plan, tool, lambda item, rater: say, turns) == expected


@pytest.mark.parametrize("tool", ["argilla", "potato"])
def test_findings_come_back(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="findings", rubrics=(RUBRICS.load("finding_extraction"),), per=3, overlap=3)

    def say(item: str, rater: str) -> dict[str, Any]:
        if rater == "ben":
            return {"finding_extraction": "nothing to list"}
        return {"finding_extraction": "listed", "finding_extraction__1": ("text", f"afraid, {item}", "-sad")}

    expected = from_server(run, tmp_path, plan, say)
    assert from_tool(run, tmp_path, plan, tool, say) == expected
    # Who lists something needs not say that it is listed.
    unsaid = without(
        lambda item, rater: say(item, rater), {"finding_extraction"} if tool == "potato" else set()
    )
    assert (from_tool(run, tmp_path / "again", plan, tool, unsaid) == expected) == (tool == "argilla")


@pytest.mark.slow
def test_every_mode_is_held_or_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    rubrics = {
        "findings": (RUBRICS.load("finding_extraction"),),
        "codes": (CODEBOOK.load("question"), CODEBOOK.load("client_talk")),
    }
    refused = set()
    for mode in MODES:
        plan = rating_plan(run, mode=mode, rubrics=rubrics.get(mode, (EMPATHY,)), per=2)
        for tool in TOOLS:
            folder = tmp_path / mode / tool
            try:
                assert all(path.is_dir() for path in export_files(plan, run, tool, folder))
            except InputError as error:
                refused.add((mode, tool, error.what))
                assert not folder.exists()
    asks = "asks the same of every turn, and the plan has codes of"
    assert {(mode, tool) for mode, tool, _ in refused} == {
        ("findings", "doccano"), ("findings", "prodigy"),
        ("codes", "argilla"), ("codes", "doccano"), ("codes", "potato"),
    }  # fmt: skip
    assert all(
        what.endswith(f"can't hold a plan of mode {mode}") or asks in what for mode, _, what in refused
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_files_tell_raters_neither_system_nor_judge_nor_each_other(
    tool: str, run: Run, tmp_path: Path
) -> None:
    plan = rating_plan(run, by=("system",), per=3, raters=("xaver", "yolanda", "zofia"))
    for folder in export_files(plan, run, tool, tmp_path / tool):
        text = "".join(path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file())
        names = (*SYSTEMS, "secretfile", "hushcase", "invented/model", *({*plan.raters} - {folder.name}))
        assert not [name for name in names if name in text]
        # What is asked stands there in full: every level with its descriptor.
        for rubric in (EMPATHY, GOAL):
            assert all(json.dumps(level.descriptor)[1:-1] in _unfolded(text) for level in rubric.scale)


def _unfolded(text: str) -> str:
    """YAML breaks long lines, and doubles the quotes in what is quoted once."""
    return " ".join(text.replace("''", "'").split())


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_export_again_changes_nothing_and_a_correction_is_one(
    tool: str, run: Run, tmp_path: Path
) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    folders = export_files(plan, run, tool, tmp_path / tool)
    first = [
        STAND_INS[tool](folder, lambda task, name: ["4"] if name == "empathy" else ()) for folder in folders
    ]
    kept = keep_answers(run, plan, read_files(plan, run, first).answers)
    assert (kept.new, kept.ratings, kept.missing) == (8, 8, 0)
    assert keep_answers(run, plan, read_files(plan, run, first).answers).unchanged == 8
    item = plan.items[0].id
    second = [
        STAND_INS[tool](
            folder, lambda task, name: ["2" if task == item else "4"] if name == "empathy" else ()
        )
        for folder in folders
    ]
    kept = keep_answers(run, plan, read_files(plan, run, second).answers)
    assert (kept.new, kept.revised) == (0, 2)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_is_there_is_not_overwritten(tool: str, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2)
    export_files(plan, run, tool, tmp_path / "out")
    with pytest.raises(InputError, match="there already"):
        export_files(plan, run, tool, tmp_path / "out")


def test_what_was_skipped_is_missing_and_a_draft_is_counted(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"), overlap=1)
    folders = export_files(plan, run, "prodigy", tmp_path / "prodigy")
    exports = [STAND_INS["prodigy"](folder, lambda task, name: None) for folder in folders]
    kept = keep_answers(run, plan, read_files(plan, run, exports).answers)
    assert (kept.new, kept.skipped, kept.missing) == (4, 4, 4)
    rejected = [{**record, "answer": "reject"} for record in lines(exports[0])]
    found = read_files(plan, run, [put_lines(exports[0], rejected)])
    assert found.answers == ()
    assert all("a rejected task has neither an answer nor none" in line for line in found.set_aside)
    assert len(found.set_aside) == 2

    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna",), overlap=1, seed=8)
    (folder,) = export_files(plan, run, "argilla", tmp_path / "argilla")
    path = argilla(folder, lambda task, name: ["4"] if name == "empathy" else (), flat=True)
    records = json.loads(path.read_text("utf-8"))
    for record, state in zip(records, ("draft", "discarded", "submitted", "submitted"), strict=True):
        record["empathy.responses.status"] = [state]
    path.write_text(json.dumps(records), "utf-8")
    kept = keep_answers(run, plan, read_files(plan, run, [path]).answers)
    assert (kept.new, kept.submitted, kept.skipped, kept.drafts) == (3, 2, 1, 1)


def test_potato_of_both_versions_is_read(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna",), overlap=1)
    (folder,) = export_files(plan, run, "potato", tmp_path / "potato")
    found = [
        read_files(
            plan, run, [potato(folder, lambda task, name: ["4"] if name == "empathy" else (), version)]
        )
        for version in (1, 2)
    ]
    assert [answer.choices for answer in found[0].answers] == [{"empathy": ("4",)}] * 4
    assert [(each.item, each.choices) for each in found[0].answers] == [
        (each.item, each.choices) for each in found[1].answers
    ]


def test_what_fits_no_task_is_told(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    (anna, ben) = export_files(plan, run, "doccano", tmp_path / "doccano")

    def answers(task: str, name: str) -> Sequence[str]:
        return ["4"] if name == "empathy" else ()

    path = STAND_INS["doccano"](anna, answers)
    records = lines(path)
    records[0]["label"] = ["empathy = 4", "empathy = 5"]
    records[1]["text"] = "Something else."
    records[2]["task"] = "i00000000000"
    records[3]["label"] = []
    found = read_files(plan, run, [put_lines(path, records)])
    assert (found.answers, found.altered_tasks, found.unplanned_tasks) == ((), 1, 1)
    (line,) = found.set_aside
    assert "anna: empathy has 2 choices (4, 5); leave one of them" in line

    records[0]["label"] = ["warm"]
    (line,) = read_files(plan, run, [put_lines(path, records)]).set_aside
    assert "anna: the label 'warm' is not one of the plan's" in line
    records[0]["label"] = ["warmth = 4"]
    with pytest.raises(InputError, match="the plan does not ask for 'warmth'"):
        read_files(plan, run, [put_lines(path, records)])
    other = rating_plan(run, rubrics=(EMPATHY,), per=3, seed=99)
    with pytest.raises(InputError, match="none of the file's tasks is of this plan"):
        read_files(other, run, [STAND_INS["doccano"](ben, answers)])


def test_who_answered_whose_tasks_is_asked_not_guessed(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    folders = export_files(plan, run, "argilla", tmp_path / "argilla")
    paths = [argilla(folder, lambda task, name: ["4"] if name == "empathy" else ()) for folder in folders]
    records = json.loads(paths[0].read_text("utf-8"))
    user = records[0]["responses"]["empathy"][0]["user_id"]
    records[1]["responses"]["empathy"].append({"value": "2", "user_id": "owner"})
    paths[0].write_text(json.dumps(records), "utf-8")
    with pytest.raises(InputError, match=f"{user} and owner answered the tasks of anna"):
        read_files(plan, run, paths)
    found = read_files(plan, run, paths[:1], users={user: "anna"})
    assert (len(found.answers), dict(found.strangers)) == (4, {"owner": 1})

    assert {answer.rater for answer in read_files(plan, run, paths[1:], rater="anna").answers} == {"anna"}

    for record in records:
        record["responses"]["empathy"] = [{"value": "2", "user_id": "owner"}]
    both = [*records, *json.loads(paths[1].read_text("utf-8"))]
    for record in both:
        record["responses"]["empathy"][0]["user_id"] = "owner"
    paths[0].write_text(json.dumps(both), "utf-8")
    with pytest.raises(InputError, match="owner answered the tasks of anna and of ben"):
        read_files(plan, run, paths[:1])


@pytest.mark.slow
def test_what_a_tool_was_given_is_no_answer(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2)
    for tool, name in (("prodigy", "tasks.jsonl"), ("potato", "tasks.jsonl")):
        folder = export_files(plan, run, tool, tmp_path / tool)[0]
        with pytest.raises(InputError, match="has no answers in a form of Argilla, Prodigy, doccano, potato"):
            read_files(plan, run, [folder / name])
    for tool, name in (("argilla", "records.json"), ("doccano", "tasks.jsonl")):
        folder = export_files(plan, run, tool, tmp_path / tool)[0]
        assert read_files(plan, run, [folder / name]).answers == ()


def test_every_tool_says_what_to_do_next() -> None:
    for name, tool in TOOL_FORMS.all().items():
        assert tool.name == name
        assert tool.next_step.endswith(".")
        assert {*tool.modes} <= {*MODES}
