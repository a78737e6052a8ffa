"""Lists that people link: the same ratings from each channel, blind, and what follows from the links."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

from bedside.analysis.agreement import agree
from bedside.analysis.audits import audits
from bedside.analysis.fresh_view import linked_view
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.validation import validate
from bedside.annotation.adjudication import adjudicate, opinions_without
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers, read_store
from bedside.annotation.fields import NONE
from bedside.annotation.items import coded_positions, label_studio_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.proposals import follow_up_plan, propose
from bedside.annotation.rater_quality import rater_quality
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_state import ClosedItemError, IncompleteEntryError
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.sampling import make_plan
from bedside.annotation.training_cases import read_training, training_from_run
from bedside.core.errors import DataError, InputError
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.scoring.score import score
from tests.annotation.builders import copy_of, fill_csv, fill_xlsx, human, people, rater_answer
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import RATERS, USERS, exported

EVALUATOR = RUBRICS.load("turn_evaluator")
MATCHING, CHECK, DIAGNOSIS = map(RUBRICS.load, ("concern_matching", "finding_check", "diagnosis_match"))
FEAR, COST, MYTH = (
    "emotional discomfort or fear", "financial or insurance concern", "misinformation or misconception",
)  # fmt: skip
#: Two lists; every other case has three findings, and the rest one.
CONCERNS = [
    {"id": "a", "category": FEAR, "text": "Fears needles"}, {"id": "b", "category": COST, "text": "Cannot pay"},
    {"id": "c", "category": MYTH, "text": "Trusts herbs"},
]  # fmt: skip
FOUND = [
    {"category": FEAR, "text": "Afraid of needles"}, {"category": FEAR, "text": "Short of money"},
    {"category": COST, "text": "Wants a letter"},
]  # fmt: skip
SAID = ("I am so afraid of needles.", "I cannot pay for all this.")


def link_study(folder: Path, count: int = 4, empty: Collection[int] = (), bare: Collection[int] = ()) -> Run:
    """Conversations with findings that were submitted, concerns, and what Note2Chat asks for; of some, none was
    submitted, or noted."""
    lines = []
    for number in range(count):
        texts = ("How are you?", SAID[0], "What else?", SAID[1])
        turns: list[dict[str, Any]] = [
            {"role": ("clinician", "patient")[turn % 2], "speaker": "s", "text": text, "meta": {}}
            for turn, text in enumerate(texts)
        ]
        reference = {
            "concerns": CONCERNS, "submitted_findings": [] if number in empty else FOUND[: (3, 1)[number % 2]],
            "findings": [] if number in bare else ["Has pain.", "Does not smoke."], "diagnosis": "flu",
            "ranked_diagnoses": ["cold", "influenza", "asthma"],
        }  # fmt: skip
        lines.append(json.dumps({
            "id": f"hidden-{number}", "system": "GPT-Secret", "case_id": f"case{number}", "turns": turns,
            "reference": reference, "language": "en", "factors": {},
        }))  # fmt: skip
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    return score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return link_study(tmp_path)


def plan_of(run: Run, *rubrics: Any, **options: Any) -> AnnotationPlan:
    chosen = rubrics or (MATCHING, CHECK, DIAGNOSIS)
    return make_plan(run, mode="rate", rubrics=chosen, raters=("anna", "ben"), overlap=2, **options)


def item_of(plan: AnnotationPlan, transcript: str = "hidden-0") -> str:
    return next(item.id for item in plan.items if item.transcript == transcript and not item.replicate)


def rating(run: Run, metric: str, transcript: str = "hidden-0", rater: str = "human:anna") -> tuple[Any, ...]:
    row = people(run, metric).filter(pl.col("transcript_id") == transcript, pl.col("rater") == rater)
    return row.select("value", "label", "error").row(0)


def kept(run: Run, plan: AnnotationPlan, said: Mapping[str, str], transcript: str = "hidden-0", **fields: Any) -> None:
    keep_answers(run, plan, [rater_answer(item_of(plan, transcript), "anna", said, **fields)])


INTENT = "turn_evaluator.intent_probabilities"
#: The first finding is the first concern, the second one the second, of another category; the third is none.
LINKS = {
    "concern_matching__0": "1", "concern_matching__0__category_agrees": "yes", "concern_matching__1": "2",
    "concern_matching__1__category_agrees": "no", "concern_matching__2": NONE,
}  # fmt: skip
MARKED = {"evidence__concern_matching__0": ("1: afraid of needles",), "evidence__concern_matching__1": ("3",)}
PLACES = {
    "finding_check__0": "3", "finding_check__0__opening": "no", "finding_check__1": NONE,
    "finding_check__1__opening": "yes", "diagnosis_match__0": "2",
}  # fmt: skip


# -- what the answers come to -----------------------------------------------------------------------


def test_links_are_kept_as_a_judges_are(run: Run) -> None:
    plan = plan_of(run)
    kept(run, plan, {**LINKS, **PLACES}, texts={**MARKED, "reason__concern_matching__0": ("the same fear",)})
    assert rating(run, "concern_matching") == (2.0, None, None)
    assert rating(run, "finding_check") == (1.0, None, None)
    assert rating(run, "diagnosis_match") == (1.0, None, None)
    reasons = dict(people(run).select("metric", "reason").iter_rows())
    assert json.loads(reasons["concern_matching"]) == {
        "reason": "",
        "pairs": [
            {"reason": "the same fear", "finding": 0, "concern": 0, "quote": "afraid of needles",
             "category_agrees": True},
            {"reason": "", "finding": 1, "concern": 1, "quote": SAID[1], "category_agrees": False},
        ],
    }  # fmt: skip
    assert json.loads(reasons["finding_check"]) == [
        {"item": 0, "reason": "", "message": 3, "opening": False},
        {"item": 1, "reason": "", "message": None, "opening": True},
    ]


@pytest.mark.parametrize(
    ("change", "metric", "error"),
    [
        ({"concern_matching__2": ""}, "concern_matching", "2 of 3 entries are answered"),
        ({"concern_matching__0__category_agrees": ""}, "concern_matching", "2 of 3 entries are answered"),
        ({"concern_matching__1": "1"}, "concern_matching", "2 entries are linked to one"),
        ({"diagnosis_match__0": NONE}, "diagnosis_match", "the rater found no candidate"),
        ({"diagnosis_match__0": ""}, "diagnosis_match", "not answered"),
        ({"finding_check__0__opening": ""}, "finding_check", "1 of 2 entries are answered"),
    ],
)
def test_what_is_no_full_answer_is_missing(run: Run, change: dict[str, str], metric: str, error: str) -> None:
    said = {**LINKS, **PLACES, **change}
    kept(run, plan_of(run), {name: choice for name, choice in said.items() if choice})
    assert rating(run, metric) == (None, None, error)


@pytest.mark.parametrize(
    ("marks", "error"),
    [
        ((), "entry 2: no words show the link"),
        (("2",), "entry 2: no words of the patient show the link (marked: 2)"),
        (("3: words never said",), "entry 2: no words of the patient show the link (marked: 3: words never said)"),
        (("0", "2: What else?"), "entry 2: no words of the patient show the link (marked: 0; 2: What else?)"),
    ],
)
def test_a_link_that_no_words_of_the_patient_show_is_open(run: Run, marks: tuple[str, ...], error: str) -> None:
    plan, texts = plan_of(run, MATCHING), {**MARKED, "evidence__concern_matching__1": marks}
    answer = rater_answer(item_of(plan), "anna", LINKS, texts={name: said for name, said in texts.items() if said})
    assert keep_answers(run, plan, [answer]).unfinished == 1
    assert rating(run, "concern_matching") == (None, None, error)
    assert rating(run, "concern_precision") == (None, None, f"concern_matching: {error}")


def test_the_first_words_of_the_patient_show_a_link(run: Run) -> None:
    # As of the clinician's question and the answer to it.
    marks = ("2", "3: pay for all", "3: I cannot", "1")
    kept(run, plan_of(run, MATCHING), LINKS, texts={**MARKED, "evidence__concern_matching__1": marks})
    (reason,) = people(run, "concern_matching")["reason"]
    assert [pair["quote"] for pair in json.loads(reason)["pairs"]] == ["afraid of needles", SAID[0]]
    assert rating(run, "concern_precision") == (pytest.approx(2 / 3), None, None)


@pytest.mark.parametrize(
    "change", [{"concern_matching__1": "1"}, {"concern_matching__1__category_agrees": ""}, {"concern_matching__2": ""}]
)
def test_what_is_no_full_answer_is_counted(run: Run, change: dict[str, str]) -> None:
    plan, said = plan_of(run, MATCHING), {**LINKS, **change}
    answer = rater_answer(item_of(plan), "anna", {name: one for name, one in said.items() if one}, texts=MARKED)
    full = rater_answer(item_of(plan, "hidden-1"), "anna", {"concern_matching__0": NONE})
    assert keep_answers(run, plan, [answer, full]).unfinished == 1


def test_no_link_at_all_is_an_answer(run: Run) -> None:
    kept(run, plan_of(run, MATCHING), {"concern_matching__0": NONE}, "hidden-1")
    assert rating(run, "concern_matching", "hidden-1") == (0.0, None, None)


# -- the same from every channel --------------------------------------------------------------------


def said(item: str, rater: str, plan: AnnotationPlan) -> dict[str, str]:
    """By anna as above, as far as the case has findings; by ben nothing is linked but one finding in each."""
    answers = {**LINKS, **PLACES}
    if rater == "ben":
        answers |= {"concern_matching__0": NONE, "concern_matching__1": "3", "diagnosis_match__0": NONE}
        del answers["concern_matching__0__category_agrees"]
    fields = {field for rubric in plan.questions for field in plan.fields_of(item, rubric)}
    return {name: choice for name, choice in answers.items() if name in fields}


def texts(answers: Mapping[str, str]) -> dict[str, str]:
    return {f"reason__{name}": f"why {name}" for name in ("concern_matching__0", "finding_check__1") if name in answers}


def linked(answers: Mapping[str, str]) -> list[str]:
    return [name for name, choice in answers.items() if name.startswith("concern") and choice in ("1", "2", "3")]


def from_studio(run: Run, plan: AnnotationPlan, tmp_path: Path) -> None:
    def say(item: str, rater: str) -> dict[str, Any]:
        answers = said(item, rater, plan)
        marks = {f"evidence__{name}": [1] for name in linked(answers)}
        return {**answers, **marks, **{name: ("text", text) for name, text in texts(answers).items()}}

    keep_answers(run, plan, read_export(plan, exported(plan, say, USERS, run), RATERS, where="export").answers)


def from_page(run: Run, plan: AnnotationPlan, tmp_path: Path) -> None:
    state, folder = opened(plan, run)
    for rater, items in plan.assignment.items():
        for item in items:
            answers = said(item, rater, plan)
            # What is left over of a link that was taken back goes.
            beside = {"concern_matching__0__category_agrees": "no"} if plan.by_name.keys() == {MATCHING.name} else {}
            # The words of the whole turn are the turn.
            marks = {f"evidence__{name}": f"1: {SAID[0]}" for name in linked(answers)}
            state.save(rater, item, sent(choices={**beside, **answers}, texts={**texts(answers), **marks}))
    collect(folder, run, plan)


def from_table(run: Run, plan: AnnotationPlan, tmp_path: Path, form: str) -> None:
    def fill(row: dict[str, str]) -> None:
        answers = said(row["item"], row["rater"], plan)
        row["answer"] = answers.get(row["question"], "")
        row["reason"] = texts(answers).get(f"reason__{row['question']}", "")
        row["evidence"] = "1" if row["question"] in linked(answers) else ""

    paths = export_files(plan, run, form, tmp_path / form)
    for path in paths:
        (fill_csv if form == "csv" else fill_xlsx)(path, fill)
    keep_answers(run, plan, read_files(plan, run, paths).answers)


@pytest.mark.parametrize("rubric", [MATCHING, CHECK, DIAGNOSIS], ids=lambda rubric: rubric.name)
def test_the_same_ratings_come_from_each_channel(run: Run, tmp_path: Path, rubric: Any) -> None:
    plan = plan_of(run, rubric)
    results: list[list[str]] = []
    for channel in (from_studio, from_page, "csv", "xlsx"):
        copy = copy_of(run, tmp_path / f"run-{len(results)}")
        if isinstance(channel, str):
            from_table(copy, plan, tmp_path, channel)
        else:
            channel(copy, plan, tmp_path)
        results.append(human(copy))
        own = people(copy, rubric.name)
        assert (own.height, own["value"].sum()) == {
            # By anna 2 links where there are 3 findings and 1 where there is 1; by ben 1 and none.
            "concern_matching": (8, 2 * (2 + 1) + 2 * (1 + 0)), "finding_check": (8, 8.0), "diagnosis_match": (8, 4.0),
        }[rubric.name]  # fmt: skip
    assert results[1:] == results[:1] * 3
    assert any("why" in row for row in results[0]) == (rubric is not DIAGNOSIS)


@pytest.mark.parametrize("channel", ["studio", "page", "csv", "xlsx"])
def test_parts_of_a_vector_are_rated_like_levels_and_labels(run: Run, tmp_path: Path, channel: str) -> None:
    plan = plan_of(run, EVALUATOR, per=2)
    names = [question.name for question in plan.questions]
    assert names == [f"turn_evaluator.{part.name}" for part in EVALUATOR.answer]
    assert [level.value for level in plan.questions[0].scale] == [0, 0.25, 0.5, 0.75, 1]
    intents = [label.label for label in EVALUATOR.answer[-2].labels]

    def say(item: str, rater: str) -> dict[str, str]:
        off = len(rater) % 2 + [one.id for one in plan.items].index(item)
        return {
            name: intents[off] if name == INTENT else f"{(place + off) % 5 / 4:g}" for place, name in enumerate(names)
        }

    if channel == "studio":
        keep_answers(run, plan, read_export(plan, exported(plan, say, USERS, run), RATERS, where="export").answers)
    elif channel == "page":
        state, folder = opened(plan, run)
        for rater, items in plan.assignment.items():
            for item in items:
                state.save(rater, item, sent(choices=say(item, rater)))
        collect(folder, run, plan)
    else:
        paths = export_files(plan, run, channel, tmp_path / channel)
        for path in paths:
            fill = lambda row: row.update(say(row["item"], row["rater"])) if row["item"] else None  # noqa: E731
            (fill_csv if channel == "csv" else fill_xlsx)(path, fill)
        keep_answers(run, plan, read_files(plan, run, paths).answers)
    for rater in plan.raters:
        for shown in plan.items:
            said = say(shown.id, rater)
            rows = people(run).filter(
                pl.col("rater") == f"human:{rater}", transcript_id=shown.transcript, unit=shown.unit
            )
            made = {metric: label or f"{value:g}" for metric, value, label in
                    rows.select("metric", "value", "label").iter_rows()}  # fmt: skip
            assert made == said


def test_a_judge_and_a_person_are_compared_on_the_parts_of_a_vector(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, EVALUATOR)
    rows = []
    for number, item in enumerate(plan.items):
        said = {one.name: (f"{(number % 5) / 4:g}" if one.scale else "plan") for one in plan.questions}
        keep_answers(run, plan, [rater_answer(item.id, rater, said) for rater in plan.raters])
        rows.append((item.transcript, "GPT-Secret", "c", item.unit, "turn_evaluator.partnership",
                     "judge:invented/model", 0, (number % 5) / 4 + 0.1, None, None, None))  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    view, names = open_ratings_view(run.path), ["turn_evaluator.partnership", INTENT]
    agreed = {(one.metric, str(one.kind)): one for one in agree(view, metrics=names, seed=1)}
    # A judge's numbers are between the steps: off by a tenth everywhere.
    assert agreed["turn_evaluator.partnership", "people"].statistics["icc"].estimate == pytest.approx(1)
    with_judge = agreed["turn_evaluator.partnership", "person"]
    assert with_judge.units == 8
    assert with_judge.statistics["mae"].estimate == pytest.approx(0.1)
    assert agreed[INTENT, "people"].units == 8
    with pytest.raises(InputError, match=r"no such names for its questions as turn_evaluator\.data_gathering"):
        export_files(plan, run, "argilla", tmp_path / "argilla")


def test_a_plan_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, repeat=0.5)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan


def test_a_follow_up_has_the_lists_of_its_cases(run: Run) -> None:
    plan = plan_of(run, MATCHING, per=2)
    for item in plan.items:
        fields = plan.fields_of(item.id, MATCHING)
        for rater in plan.raters:
            said = {name: choice for name, choice in LINKS.items() if name in fields}
            keep_answers(run, plan, [rater_answer(item.id, rater, said, texts=MARKED if len(said) > 2 else {})])
    later = follow_up_plan(run, plan, propose(run, plan, aim="kappa", count=2))
    assert all(later.every_of(item.id, MATCHING) for item in later.items)


# -- the pages --------------------------------------------------------------------------------------


def test_raters_see_the_lists_and_no_system(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run)
    state, _ = opened(plan, run)
    shown = json.dumps([state.share("anna"), *(state.item("anna", item) for item in plan.assignment["anna"])])
    studio = labelling_page(plan) + json.dumps(label_studio_tasks(plan, run))
    table = "".join(path.read_text("utf-8-sig") for path in export_files(plan, run, "csv", tmp_path / "csv"))
    for channel in (shown, studio, table):
        assert all(text in channel for text in ("Fears needles", "Short of money", "influenza", "Does not smoke."))
        assert not [hidden for hidden in ("Secret", "hidden-", "case0") if hidden in channel]


def test_each_csv_says_how_to_rate(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, MATCHING, RUBRICS.load("empathy"))
    for path in export_files(plan, run, "csv", tmp_path / "csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            told = [row["how to rate"] for row in csv.DictReader(file)]
        for rubric in (rubric.shown() for rubric in plan.questions):
            assert rubric.definition in told[0]
            assert str(rubric.instructions) in told[0]
        assert all(level.descriptor in told[0] for level in RUBRICS.load("empathy").scale)
        assert not any(told[1:])


def test_the_page_wants_every_link_once_and_its_words(run: Run) -> None:
    plan = plan_of(run, MATCHING)
    state, _ = opened(plan, run)
    item = item_of(plan)
    choices = {name: choice for name, choice in LINKS.items() if "category" not in name} | {"concern_matching__1": "1"}
    marks = {"evidence__concern_matching__1": "3"}
    with pytest.raises(IncompleteEntryError) as caught:
        state.save("anna", item, sent(choices=choices, texts=marks))
    assert set(caught.value.wanting) == {
        "concern_matching__0", "concern_matching__0__category_agrees", "concern_matching__1",
        "concern_matching__1__category_agrees",
    }  # fmt: skip
    assert caught.value.wanting["concern_matching__0"].startswith("Please mark the words")
    assert caught.value.wanting["concern_matching__1"].startswith("Two entries are linked to the same: category: ")
    state.save("anna", item, sent("draft", choices))
    assert state.item("anna", item)["entry"]["choices"]["concern_matching__1"] == ("1",)


@pytest.mark.parametrize("mark", ["0", "2: What else?", "3: words never said"])
def test_the_page_wants_words_of_the_patient(run: Run, mark: str) -> None:
    plan = plan_of(run, MATCHING)
    state, _ = opened(plan, run)
    marks = {"evidence__concern_matching__0": "1", "evidence__concern_matching__1": mark}
    with pytest.raises(IncompleteEntryError) as caught:
        state.save("anna", item_of(plan), sent(choices=LINKS, texts=marks))
    assert list(caught.value.wanting) == ["concern_matching__1"]
    assert "the words that show the link (Patient): category: " in caught.value.wanting["concern_matching__1"]
    state.save("anna", item_of(plan), sent(choices=LINKS, texts={**marks, "evidence__concern_matching__1": "3"}))


def test_label_studio_asks_of_a_link_once_there_is_one(run: Run) -> None:
    root = ElementTree.fromstring(labelling_page(plan_of(run)))
    controls = {str(one.get("name")): one for one in root.iter("Choices")}
    assert controls["concern_matching__0__category_agrees"].get("whenChoiceValue") == "1,2,3"
    # Every case has a first finding to link, and not every one a second.
    assert [controls[f"concern_matching__{at}"].get("required") for at in range(3)] == ["true", "false", "false"]
    assert [one.get("alias") for one in controls["concern_matching__0"]] == ["1", "2", "3", None]
    assert [one.get("alias") for one in controls["finding_check__0"]] == ["0", "1", "2", "3", None]
    assert controls["finding_check__0"].get("layout") == "select"
    # A plan of several rubrics: each mark has its own key and colour.
    marks = ElementTree.fromstring(
        labelling_page(plan_of(run, RUBRICS.load("empathy"), MATCHING, RUBRICS.load("partnership")))
    )
    for name in ("hotkey", "background"):
        looks = [mark.get(name) for mark in marks.iter("Label")]
        assert len(looks) == len(set(looks)) > 4


def test_what_cannot_be_linked_is_refused(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run)
    for said, words in (
        ({"concern_matching__1": "1"}, "past the 1 entries of the case"),
        ({"concern_matching__0": "4"}, "concern_matching__0 choice"),
        ({"finding_check__0": "4"}, "finding_check__0 choice"),
    ):
        with pytest.raises(InputError, match=words):
            kept(run, plan, said, "hidden-1")
    with pytest.raises(InputError, match="lists of its own"):
        export_files(plan, run, "argilla", tmp_path / "argilla")
    part = RubricPart(name="whether", type="boolean", descriptor="Whether it is so.")
    with pytest.raises(DataError, match=r"turn_evaluator is of kind vector; mode rate takes"):
        plan_of(run, replace(EVALUATOR, answer=(*EVALUATOR.answer, part)))
    (tmp_path / "bare").mkdir()
    bare = link_study(tmp_path / "bare", 1)
    lines = (tmp_path / "bare" / "in.jsonl").read_text().replace('"submitted_findings"', '"other"')
    (tmp_path / "bare" / "in.jsonl").write_text(lines)
    bare = score([tmp_path / "bare" / "in.jsonl"], tmp_path / "bare" / "run-2", metrics=["structure"]).run
    with pytest.raises(DataError, match=r"nothing is left to rate by concern_matching \(1 no submitted findings\)"):
        plan_of(bare, MATCHING)


# -- nothing to link --------------------------------------------------------------------------------


def follows(run: Run, transcript: str) -> list[tuple[Any, ...]]:
    metrics = ("concern_matching", "concern_recall", "concern_f1", "concern_precision", "matched_concerns")
    return [rating(run, metric, transcript) for metric in metrics]


#: By hand: of no finding and 3 concerns, 0 of 3 are found; what was submitted is no share of anything.
NOTHING_LINKED = [(0, None, None), (0, None, None), (0, None, None), (None, None, "no finding was submitted"),
                  (0, None, None)]  # fmt: skip


def test_who_submitted_nothing_has_no_links_without_being_asked(tmp_path: Path) -> None:
    run = link_study(tmp_path, empty=(1,))
    plan = plan_of(run, MATCHING, repeat=1.0)
    empty = {item.id for item in plan.items if item.transcript == "hidden-1"}
    assert plan.left_out == {}
    assert len(empty) == 2
    for rater in plan.raters:
        assert set(plan.settled[rater]) == empty
        assert empty.isdisjoint(plan.assignment[rater])
        assert len(plan.assignment[rater]) == len(label_studio_tasks(plan, run, rater)) == 6
    assert len(label_studio_tasks(plan, run)) == 6
    assert "hidden-1" not in labelling_page(plan)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    kept(run, plan, LINKS, texts=MARKED)
    assert follows(run, "hidden-1") == NOTHING_LINKED
    # Who has begun counts, and nobody else; the second showing is a second pass.
    rated = people(run, "concern_recall").filter(pl.col("transcript_id") == "hidden-1")
    assert sorted(rated.select("rater", "replicate").iter_rows()) == [("human:anna", 0), ("human:anna", 1)]
    found = people(run, "concern_recall").filter(replicate=0)["value"].mean()
    assert found == pytest.approx((2 / 3 + 0) / 2)


def test_a_case_without_findings_has_no_places_without_being_asked(tmp_path: Path) -> None:
    run = link_study(tmp_path, 3, bare=(1,))
    plan = plan_of(run, CHECK)
    empty = item_of(plan, "hidden-1")
    assert (plan.left_out, plan.settled) == ({}, dict.fromkeys(plan.raters, (empty,)))
    assert all(empty not in order for order in plan.assignment.values())
    kept(run, plan, {name: said for name, said in PLACES.items() if name.startswith("finding")})
    rows = people(run, "finding_check").sort("transcript_id").select("transcript_id", "rater", "value", "reason")
    assert [row[:3] for row in rows.iter_rows()] == [("hidden-0", "human:anna", 1), ("hidden-1", "human:anna", 0)]
    assert rows["reason"].to_list()[1] == "[]"
    # Of no finding none is a share.
    assert rating(run, "history_recall", "hidden-1")[0] is None
    both = plan_of(run, CHECK, DIAGNOSIS)
    assert both.settled == {}
    page = opened(both, run)[0].item("anna", item_of(both, "hidden-1"))
    assert (page["of_case"]["finding_check"], page["task"]["input_findings"]) == ([], "(none)")
    assert len(page["of_case"]["diagnosis_match"]) == 1


def test_who_takes_over_has_what_nobody_is_asked(tmp_path: Path) -> None:
    run = link_study(tmp_path, empty=(1,))
    plan = make_plan(run, mode="rate", rubrics=(MATCHING,), raters=("anna",), overlap=1)
    assert reassign(run, plan, "anna", to=["cleo"]).moved == {"cleo": 3}
    now = as_assigned(run, plan)
    keep_answers(run, now, [rater_answer(item_of(plan), "cleo", LINKS, texts=MARKED)])
    rated = people(run, "concern_recall").select("transcript_id", "rater", "value").sort("transcript_id")
    assert list(rated.iter_rows()) == [("hidden-0", "human:cleo", pytest.approx(2 / 3)), ("hidden-1", "human:cleo", 0)]


@pytest.mark.parametrize("skips", [False, True])
def test_other_questions_of_a_case_with_nothing_to_link_are_asked(tmp_path: Path, skips: bool) -> None:
    run = link_study(tmp_path, empty=(1,))
    plan = plan_of(run, MATCHING, CHECK)
    assert plan.settled == {}
    item, page = item_of(plan, "hidden-1"), opened(plan, run)[0]
    assert page.item("anna", item)["of_case"]["concern_matching"] == []
    assert page.item("anna", item)["task"]["input_submitted_findings"] == "(none)"
    said = {name: place for name, place in PLACES.items() if name.startswith("finding")}
    page.save("anna", item, sent(choices=said))
    keep_answers(run, plan, [rater_answer(item, "anna", None if skips else said)])
    assert follows(run, "hidden-1") == NOTHING_LINKED
    found = (None, None, "skipped by the rater") if skips else (1, None, None)
    assert rating(run, "finding_check", "hidden-1") == found


def test_where_nobody_submitted_anything_nothing_is_left_to_ask(tmp_path: Path) -> None:
    run = link_study(tmp_path, empty=range(4))
    with pytest.raises(DataError, match="nothing is left to rate by concern_matching"):
        plan_of(run, MATCHING)


# -- links of a judge -------------------------------------------------------------------------------

#: Of the first conversation the judge's links are LINKS; and it finds the third finding to be the third concern.
JUDGED = [
    {"reason": "the same fear", "finding": 0, "concern": 0, "quote": "afraid of needles", "category_agrees": True},
    {"reason": "money", "finding": 1, "concern": 1, "quote": SAID[1], "category_agrees": False},
    {"reason": "a letter", "finding": 2, "concern": 2, "quote": SAID[1], "category_agrees": False},
]  # fmt: skip


def audited(folder: Path, judged: Sequence[Mapping[str, Any]] = JUDGED) -> tuple[Run, AnnotationPlan]:
    """A judge's links and places, and the plan by which anna and ben correct them."""
    run, rows = link_study(folder), []
    for transcript in run.transcripts():
        many = transcript.id in ("hidden-0", "hidden-2")
        places = [{"item": 0, "reason": "a", "message": 3, "opening": False},
                  {"item": 1, "reason": "b", "message": None, "opening": True}]  # fmt: skip
        links = {"reason": "so", "pairs": judged[: 3 if many else 1]}
        for rubric, reply in ((MATCHING, links), (CHECK, {"answers": places})):
            made = ratings_of(rubric, transcript, [JudgeAnswer("transcript", None, reply, None)])
            rows += [(transcript.id, "GPT-Secret", transcript.case_id, unit, metric, "judge:invented/model", 0, *rated)
                     for unit, metric, *rated in made]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    run = Run(run.path)
    return run, make_plan(run, mode="audit", rubrics=(MATCHING, CHECK), raters=("anna", "ben"), overlap=2)


def correct(plan: AnnotationPlan, item: str, rater: str) -> dict[str, str]:
    """anna says LINKS, and so takes one of six back; ben agrees, but for one conversation where another is meant."""
    transcript = plan.by_id[item].transcript
    said = {**LINKS, **{name: one for name, one in PLACES.items() if name.startswith("finding")}}
    if rater == "ben":
        said |= {"concern_matching__2": "3", "concern_matching__2__category_agrees": "no"}
        said |= {"concern_matching__0": "2"} if transcript == "hidden-3" else {}
    fields = {field for rubric in plan.questions for field in plan.fields_of(item, rubric)}
    return {name: choice for name, choice in said.items() if name in fields}


CHANNELS = pytest.mark.parametrize("channel", ["studio", "page", "csv", "xlsx"])


def send(
    run: Run, plan: AnnotationPlan, tmp_path: Path, channel: str,
    correct: Callable[[AnnotationPlan, str, str], dict[str, str]],
) -> None:  # fmt: skip
    """Have raters correct a judge's links."""

    def say(item: str, rater: str) -> dict[str, Any]:
        said = correct(plan, item, rater)
        return {**said, **{f"evidence__{name}": [1] for name in linked(said)}}

    if channel == "studio":
        keep_answers(run, plan, read_export(plan, exported(plan, say, USERS, run), RATERS, where="export").answers)
    elif channel == "page":
        state, folder = opened(plan, run)
        for rater, items in plan.assignment.items():
            for item in items:
                said = correct(plan, item, rater)
                marks = {f"evidence__{name}": "1" for name in linked(said)}
                state.save(rater, item, sent(choices=said, texts=marks))
        collect(folder, run, plan)
    else:

        def fill(row: dict[str, str]) -> None:
            said = correct(plan, row["item"], row["rater"])
            row["answer"] = said.get(row["question"], "")
            row["evidence"] = "1" if row["question"] in linked(said) else ""

        paths = export_files(plan, run, channel, tmp_path / channel)
        for path in paths:
            (fill_csv if channel == "csv" else fill_xlsx)(path, fill)
        keep_answers(run, plan, read_files(plan, run, paths).answers)


@CHANNELS
def test_links_of_a_judge_are_corrected(tmp_path: Path, channel: str) -> None:
    run, plan = audited(tmp_path)
    send(run, plan, tmp_path, channel, correct)
    rows = people(run).sort("metric", "rater", "transcript_id").select("metric", "rater", "value", "label")
    made: dict[tuple[str, str], list[Any]] = {}
    for metric, rater, value, label in rows.iter_rows():
        made.setdefault((metric, rater), []).append(label if value is None else value)
    assert made == {
        ("concern_matching.agrees", "human:anna"): ["disagree", "agree", "disagree", "agree"],
        ("concern_matching.agrees", "human:ben"): ["agree", "agree", "agree", "disagree"],
        ("concern_matching.audited", "human:anna"): [2, 1, 2, 1],
        ("concern_matching.audited", "human:ben"): [3, 1, 3, 1],
        ("finding_check.agrees", "human:anna"): ["agree"] * 4, ("finding_check.agrees", "human:ben"): ["agree"] * 4,
        ("finding_check.audited", "human:anna"): [1] * 4, ("finding_check.audited", "human:ben"): [1] * 4,
    }  # fmt: skip
    shown = Run(run.path).ratings.filter(rater="judge:invented/model", metric="concern_matching.audited")
    assert shown.sort("transcript_id")["value"].to_list() == [3, 1, 3, 1]
    whole = {one.rubric: one for one in audits(open_ratings_view(run.path)) if one.level is None}
    matching = whole["concern_matching"]
    assert (matching.answers, matching.confirming, matching.confirmed.estimate) == (8, 5, 5 / 8)
    assert matching.corrections == {"lower": 2, "as many, but others": 1}
    assert whole["finding_check"].confirmed.estimate == 1
    assert [one.rubric for one in plan_progress(run, plan).audits if one.level is None] == [*whole]


@CHANNELS
def test_what_is_left_of_a_link_that_was_taken_back_is_no_correction(tmp_path: Path, channel: str) -> None:
    run, plan = audited(tmp_path, JUDGED[:2])

    def confirm(plan: AnnotationPlan, item: str, rater: str) -> dict[str, str]:
        said = correct(plan, item, "anna")
        return {**said, "concern_matching__2__category_agrees": "no"} if "concern_matching__2" in said else said

    send(run, plan, tmp_path, channel, confirm)
    rows = people(run, "concern_matching.agrees", "concern_matching.audited").sort("metric", "rater", "transcript_id")
    assert rows["label"].drop_nulls().to_list() == ["agree"] * 8
    assert rows["value"].drop_nulls().to_list() == [2, 1, 2, 1] * 2


def test_of_links_to_the_same_a_judge_has_as_many_as_are_shown(tmp_path: Path) -> None:
    """The judge proposes three links, two of them to one concern."""
    run, plan = audited(tmp_path, [*JUDGED[:2], {**JUDGED[2], "concern": 1}])
    assert run.ratings.filter(metric="concern_matching").sort("transcript_id")["value"].to_list() == [3, 1, 3, 1]
    task = opened(plan, run)[0].item("anna", item_of(plan))["task"]
    assert [task[f"judge_concern_matching__{at}"] for at in range(3)] == ["1", "2", NONE]
    send(run, plan, tmp_path, "csv", lambda plan, item, rater: correct(plan, item, "anna"))
    rows = Run(run.path).ratings.filter(metric="concern_matching.audited").sort("rater", "transcript_id")
    by_rater = {rater: own["value"].to_list() for (rater,), own in rows.group_by("rater", maintain_order=True)}
    assert by_rater == {rater: [2, 1, 2, 1] for rater in ("human:anna", "human:ben", "judge:invented/model")}
    whole = {one.rubric: one for one in audits(open_ratings_view(run.path)) if one.level is None}
    assert (whole["concern_matching"].confirmed.estimate, whole["concern_matching"].corrections) == (1, {})


def test_an_empty_list_is_not_audited(tmp_path: Path) -> None:
    """Nobody looked at it: that the judge linked nothing there confirms nothing."""
    run = link_study(tmp_path, 2, empty=(1,))
    rows = []
    for transcript, links in zip(run.transcripts(), (JUDGED, []), strict=True):
        reply = JudgeAnswer("transcript", None, {"reason": "so", "pairs": links}, None)
        rows += [(transcript.id, "GPT-Secret", transcript.case_id, unit, metric, "judge:invented/model", 0, *rated)
                 for unit, metric, *rated in ratings_of(MATCHING, transcript, [reply])]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    run = Run(run.path)
    plan = make_plan(run, mode="audit", rubrics=(MATCHING,), raters=("anna",), overlap=1)
    assert plan.assignment["anna"] == (item_of(plan),)
    marks = {f"evidence__concern_matching__{at}": ("1",) for at in range(3)}
    kept(run, plan, correct(plan, item_of(plan), "ben"), texts=marks)
    audited = Run(run.path).ratings.filter(pl.col("metric").str.starts_with("concern_matching."))
    assert set(audited.select("transcript_id", "metric", "rater").iter_rows()) == {
        ("hidden-0", "concern_matching.agrees", "human:anna"), ("hidden-0", "concern_matching.audited", "human:anna"),
        ("hidden-0", "concern_matching.audited", "judge:invented/model"),
    }  # fmt: skip
    assert rating(run, "concern_matching.agrees") == (None, "agree", None)


def test_what_the_judge_linked_is_shown(tmp_path: Path) -> None:
    run, plan = audited(tmp_path)
    task = opened(plan, run)[0].item("anna", item_of(plan))["task"]
    assert [task[f"judge_concern_matching__{at}"] for at in range(3)] == ["1", "2", "3"]
    assert task["judge_reason_concern_matching__2"] == f"a letter Evidence: turn 3 “{SAID[1]}”."
    assert task["judge_concern_matching__1__category_agrees"] == "no"
    assert (task["judge_finding_check__0"], task["judge_finding_check__1"]) == ("3", NONE)
    few = opened(plan, run)[0].item("anna", item_of(plan, "hidden-1"))["task"]
    assert few["judge_concern_matching__1"] == ""
    root = ElementTree.fromstring(labelling_page(plan))
    assert "The judge says $judge_concern_matching__1" in [one.get("value") for one in root.iter("Header")]
    (path, _) = export_files(plan, run, "csv", tmp_path / "csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        told = {(row["item"], row["question"]): row["judge"] for row in csv.DictReader(file)}
    assert told[item_of(plan), "concern_matching__2"] == "3"
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan


# -- known answers ----------------------------------------------------------------------------------

#: A case of its own: the first finding is the second concern, the other none; the last rank and turn are known, too.
KNOWN: dict[str, Any] = {
    "concern_matching": [
        {"finding": 0, "concern": 1, "category_agrees": True}, {"finding": 2, "concern": 0, "category_agrees": False},
    ],
    "finding_check": [{"message": 3, "opening": False}, {"message": None, "opening": True}],
    "diagnosis_match": 1,
}  # fmt: skip


def known_file(run: Run, folder: Path, answers: Mapping[str, Any] = KNOWN, name: str = "known") -> Path:
    """A file of one transcript with known answers, of the form of :func:`link_study`."""
    data = json.loads((run.path.parent / "in.jsonl").read_text().splitlines()[0])
    data |= {"id": name, "case_id": name}
    data["reference"]["answers"] = answers
    (folder / f"{name}.jsonl").write_text(json.dumps(data) + "\n")
    return folder / f"{name}.jsonl"


def trained(run: Run, folder: Path, *rubrics: Any, **options: Any) -> tuple[AnnotationPlan, str]:
    cases = read_training(known_file(run, folder), "rate", rubrics)
    plan = plan_of(run, *rubrics, training=cases, **options)
    return plan, plan.training[0].id


#: One of two links is right, its category not; the other finding is linked to a third concern.
TRIED = {
    "concern_matching__0": "2", "concern_matching__0__category_agrees": "no", "concern_matching__1": NONE,
    "concern_matching__2": "3", "concern_matching__2__category_agrees": "no",
}  # fmt: skip


def test_links_are_trained_with_f1(run: Run, tmp_path: Path) -> None:
    plan, item = trained(run, tmp_path, MATCHING, training_kappa=0.6)
    assert plan.training[0].answers == {"concern_matching": {
        "concern_matching__0": "2", "concern_matching__0__category_agrees": "yes", "concern_matching__1": NONE,
        "concern_matching__2": "1", "concern_matching__2__category_agrees": "no",
    }}  # fmt: skip
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    page, folder = opened(plan, run)
    marks = {f"evidence__concern_matching__{at}": "1" for at in (0, 2)}
    page.save("anna", item, sent(choices=TRIED, texts=marks))
    right = {**TRIED, "concern_matching__2": "1", "concern_matching__0__category_agrees": "yes"}
    page.save("ben", item, sent(choices=right, texts=marks))
    anna, ben = (page.share(rater)["training"] for rater in plan.raters)
    # By hand: one of two links said and of two known is the same, 2·1 / (2 + 2).
    assert (anna["done"], anna["passed"], anna["link_f1"]) == (True, False, 0.5)
    assert (ben["done"], ben["passed"], ben["link_f1"], ben["kappa"]) == (True, True, 1, 1)
    told = page.item("anna", item)["feedback"]
    assert [(one["right"], one["known"].split(":")[0], one["own"].split(":")[0]) for one in told] == [
        (True, "2", "2"), (False, "yes", "no"), (True, NONE, NONE), (False, "1", "3"),
    ]  # fmt: skip
    assert "category: emotional discomfort or fear; text: Afraid of needles" in told[0]["title"]
    assert told[3]["own"] == "3: category: misinformation or misconception; id: c; text: Trusts herbs"
    collect(folder, run, plan)
    results = {one.rater: one for one in plan_progress(run, plan).training}
    assert (results["anna"].right, results["anna"].answers, results["anna"].link_f1) == (0.5, 2, 0.5)
    assert people(run).is_empty()
    with pytest.raises(ClosedItemError):
        page.item("anna", item_of(plan))
    page.item("ben", item_of(plan))


def test_parts_of_links_have_a_kappa(run: Run, tmp_path: Path) -> None:
    plan, item = trained(run, tmp_path, CHECK, training_kappa=0.6)
    keep_answers(run, plan, [
        rater_answer(item, "anna", {"finding_check__0": "3", "finding_check__0__opening": "no",
                                    "finding_check__1": NONE, "finding_check__1__opening": "no"}),
    ])  # fmt: skip
    (anna, _) = plan_progress(run, plan).training
    # Both entries are as known; by opening (no, yes) against (no, no): 1 of 2 is right, and so by chance.
    assert (anna.link_f1, anna.kappa, anna.passed) == (1, 0, False)


def test_gold_items_of_links_are_counted(run: Run, tmp_path: Path) -> None:
    cases = read_training(known_file(run, tmp_path), "rate", (MATCHING, CHECK, DIAGNOSIS), where="`gold`")
    plan = plan_of(run, gold=cases, gold_share=0.2)
    (gold,) = plan.gold
    shown = label_studio_tasks(plan, run, "anna")
    assert gold.id in [task["data"]["external_id"] for task in shown]
    said = {**TRIED, **PLACES, "diagnosis_match__0": "2"}
    keep_answers(run, plan, [rater_answer(gold.id, "anna", said)])
    anna, ben = plan_progress(run, plan).quality
    # By hand: F1 of the concerns 1/2, category 0, of the places 1, opening 1 and 1, of the rank 1.
    assert anna.gold == 1
    assert anna.right == pytest.approx((1 / 2 + 0 + 1 + 1 + 1 + 1) / 6)
    assert (ben.gold, ben.right) == (0, None)


def test_entries_without_an_answer_are_not_right(run: Run, tmp_path: Path) -> None:
    files = [
        known_file(run, tmp_path), known_file(run, tmp_path, {"concern_matching": []}, "none"),
        known_file(run, tmp_path, {"concern_matching": KNOWN["concern_matching"][:1]}, "single"),
    ]  # fmt: skip
    training = [case for path in files for case in read_training(path, "rate", (MATCHING,))]
    plan = plan_of(run, MATCHING, training=training, training_kappa=0.6)
    items = {item.transcript: item.id for item in plan.training}
    right = {**TRIED, "concern_matching__2": "1", "concern_matching__0__category_agrees": "yes"}
    nothing = {f"concern_matching__{at}": NONE for at in range(3)}
    keep_answers(run, plan, [
        rater_answer(items["known"], "anna", right), rater_answer(items["none"], "anna"),
        rater_answer(items["single"], "anna", {name: right[name] for name in right if "__0" in name}),
        rater_answer(items["known"], "ben", right), rater_answer(items["none"], "ben", nothing),
        rater_answer(items["single"], "ben", {name: right[name] for name in right if "__0" in name} | {
            "concern_matching__1": NONE, "concern_matching__2": NONE}),
    ])  # fmt: skip
    anna, ben = plan_progress(run, plan).training
    # By hand: 3 of 3 known links are right, and 3 entries of the case that was skipped and 2 others are left open.
    assert (anna.done, anna.link_f1, anna.passed) == (True, 2 * 3 / (3 + 5 + 3), False)
    assert (ben.done, ben.link_f1, ben.passed) == (True, 1, True)


def test_gold_entries_that_are_left_open_are_not_right(run: Run, tmp_path: Path) -> None:
    path = known_file(run, tmp_path, {"concern_matching": []})
    plan = plan_of(run, MATCHING, gold=read_training(path, "rate", (MATCHING,), where="`gold`"), gold_share=0.2)
    nothing = {f"concern_matching__{at}": NONE for at in range(3)}
    said = {"anna": {"concern_matching__0": NONE}, "ben": nothing}
    keep_answers(run, plan, [rater_answer(plan.gold[0].id, rater, choices) for rater, choices in said.items()])
    assert [one.right for one in plan_progress(run, plan).quality] == [0, 1]


def test_a_threshold_needs_a_link_that_is_known(run: Run, tmp_path: Path) -> None:
    answers = {"concern_matching": [], "finding_check": [{"message": None, "opening": at == 0} for at in range(2)]}
    for rubric in (MATCHING, CHECK):
        cases = read_training(known_file(run, tmp_path, answers), "rate", (rubric,))
        with pytest.raises(DataError, match=f"all known answers on {rubric.name} are the same"):
            plan_of(run, rubric, training=cases, training_kappa=0.6)
        plan_of(run, rubric, training=cases)


@pytest.mark.parametrize(
    ("rubric", "answer"),
    [
        ("concern_matching", [{"finding": 0, "concern": 7, "category_agrees": True}]),
        ("concern_matching", [{"finding": 0, "concern": 1}]), ("concern_matching", {"0": 1}),
        ("concern_matching", None), ("concern_matching", [{"finding": 3, "concern": 1, "category_agrees": True}]),
        ("finding_check", [{"message": 3, "opening": True}]), ("finding_check", [3, None]), ("diagnosis_match", 3),
        ("diagnosis_match", "cold"), ("diagnosis_match", True), ("diagnosis_match", -1), ("diagnosis_match", 1.5),
        *(("concern_matching", [{"finding": 0, "concern": 1, "category_agrees": no}])
          for no in ("no", "false", 2, None)),
        *(("concern_matching", [{"finding": 0, "concern": number, "category_agrees": True}])
          for number in (True, 0.5, "1", -1, 10**9)),
        *(("concern_matching", [{"finding": number, "concern": 1, "category_agrees": True}])
          for number in (True, 0.5, "1", -1)),
        *(("finding_check", [{"message": None, "opening": no}] * 2) for no in ("no", 0, None)),
        *(("finding_check", [{"message": number, "opening": True}] * 2) for number in (True, 1.5, "1", -1)),
    ],
)  # fmt: skip
def test_known_answers_are_those_that_are_asked(run: Run, tmp_path: Path, rubric: str, answer: Any) -> None:
    path = known_file(run, tmp_path, {**KNOWN, rubric: answer})
    with pytest.raises(InputError, match=f"known answer on {rubric} is none to what the transcript is asked"):
        read_training(path, "rate", (MATCHING, CHECK, DIAGNOSIS))


def test_consensus_on_links_is_no_training_set(run: Run) -> None:
    with pytest.raises(DataError, match="consensus on concern_matching is no known answer"):
        training_from_run(run, "rate", (MATCHING,), 1)


# -- what raters differ on --------------------------------------------------------------------------


def disputed(run: Run) -> tuple[AnnotationPlan, AnnotationPlan]:
    """A plan by which anna and ben differ on the second finding's concern and on whether the opening has the second
    finding of the note; and the plan by which dora settles it."""
    plan = plan_of(run)
    other = {**LINKS, **PLACES, "concern_matching__1": "3", "finding_check__1__opening": "no"}
    marks = {**MARKED, "reason__concern_matching__1": ("by the letter",)}
    item = item_of(plan)
    keep_answers(run, plan, [
        rater_answer(item, "anna", {**LINKS, **PLACES}, texts=MARKED), rater_answer(item, "ben", other, texts=marks),
    ])  # fmt: skip
    return plan, adjudicate(Run(run.path), plan, ("dora",)).plan


#: dora goes by ben, and says that the category is the same, too.
FINAL = {
    "concern_matching__1": "3", "concern_matching__1__category_agrees": "yes", "finding_check__1": NONE,
    "finding_check__1__opening": "no",
}  # fmt: skip


def test_what_somebody_who_withdrew_said_of_links_is_not_settled(run: Run) -> None:
    plan, settling = disputed(run)
    first = plan.raters[0]
    (item,) = (one.id for one in settling.items)
    before = settling.opinions[item]
    opinions, count = opinions_without(Run(run.path), settling, people(run).filter(rater=f"human:{first}"))
    said = {name: of for name, of in before.items() if of}
    assert count == len(said) > 1
    assert {name: len(of) for name, of in opinions[item].items() if name in said} == {
        name: len(of) - 1 for name, of in said.items()
    }
    assert all(set(of) <= set(before[name]) for name, of in opinions[item].items())


@pytest.mark.parametrize("channel", ["studio", "page", "csv", "xlsx"])
def test_entries_that_raters_differ_on_are_settled(run: Run, tmp_path: Path, channel: str) -> None:
    _, settling = disputed(run)
    (item,) = (one.id for one in settling.items)
    if channel == "studio":
        say = {**FINAL, "evidence__concern_matching__1": [3]}
        tasks = exported(settling, lambda item, rater: say, {"dora": 1}, run)
        keep_answers(run, settling, read_export(settling, tasks, {1: "dora"}, where="export").answers)
    elif channel == "page":
        state, folder = opened(settling, run)
        state.save("dora", item, sent(choices=FINAL, texts={"evidence__concern_matching__1": "3"}))
        collect(folder, run, settling)
    else:

        def fill(row: dict[str, str]) -> None:
            row["answer"] = FINAL[row["question"]]
            row["evidence"] = "3" if row["question"] == "concern_matching__1" else ""

        (path,) = export_files(settling, run, channel, tmp_path / channel)
        (fill_csv if channel == "csv" else fill_xlsx)(path, fill)
        keep_answers(run, settling, read_files(settling, run, [path]).answers)

    def final(metric: str) -> tuple[Any, ...]:
        return rating(run, f"{metric}.adjudicated", rater="human:dora")

    assert final("concern_matching") == (2.0, None, None)
    # By hand: of 3 findings and 3 concerns two are linked; both are of the concern's category.
    assert final("concern_precision") == final("concern_recall") == (pytest.approx(2 / 3), None, None)
    assert final("concern_category_accuracy") == (1.0, None, None)
    # The first of two findings is found and the second isn't: that the opening has it is what dora denies.
    assert final("finding_check") == (1.0, None, None)
    assert final("history_recall") == (1 / 2, None, None)
    (reason,) = people(run, "concern_matching.adjudicated")["reason"]
    links = [
        (one["finding"], one["concern"], one["quote"], one["category_agrees"]) for one in json.loads(reason)["pairs"]
    ]
    assert links == [(0, 0, "afraid of needles", True), (1, 2, SAID[1], True)]
    # What they agree on, such as the rank of the diagnosis, is not settled.
    assert not [name for name in people(run)["metric"] if name.startswith("diagnosis") and name.endswith("adjudicated")]
    view = open_ratings_view(run.path)
    assert view.final_labels("concern_precision") == {("hidden-0", "transcript"): pytest.approx(2 / 3)}
    entries = linked_view(view).final_labels("concern_matching.link")
    assert entries == {("hidden-0", f"entry:{at}"): link for at, link in enumerate(("0", "2", "no link"))}
    with pytest.raises(DataError, match=r"concern_matching, raters differ on 1 of 1 unit: 1 with a final label"):
        adjudicate(Run(run.path), plan_of(run), ("eva",))


def test_only_what_raters_differ_on_is_asked(run: Run, tmp_path: Path) -> None:
    plan, settling = disputed(run)
    (item,) = (one.id for one in settling.items)
    assert set(settling.opinions[item]) == set(FINAL)
    assert settling.agreed[item] == {
        "concern_matching__0": "1", "concern_matching__0__category_agrees": "yes", "concern_matching__2": NONE,
        "evidence__concern_matching__0": "1: afraid of needles", "finding_check__0": "3",
        "finding_check__0__opening": "no",
    }  # fmt: skip
    said = {(one.answer, one.reason) for one in settling.opinions[item]["concern_matching__1"]}
    assert said == {("2", "category agrees: no"), ("3", "category agrees: no. by the letter")}
    counts = adjudicate(Run(run.path), plan, ("eva",)).counts
    assert [(one.rubric, one.rated, one.differ, one.ties) for one in counts] == [
        ("concern_matching", 1, 1, 1), ("finding_check", 1, 1, 1), ("diagnosis_match", 1, 0, 0),
    ]  # fmt: skip
    write_plan(settling, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == settling
    page, _ = opened(settling, run)
    shown = page.item("dora", item)
    assert [one["field"] for one in shown["of_case"]["concern_matching"]] == list(FINAL)[:2]
    assert set(shown["of_case"]) == {"concern_matching", "finding_check"}
    assert "2: category: financial or insurance concern; id: b; text: Cannot pay: category agrees: no" in \
        shown["task"]["said_concern_matching__1"]  # fmt: skip
    # The first concern is the first finding's, by both raters.
    with pytest.raises(IncompleteEntryError) as caught:
        page.save("dora", item, sent(choices={**FINAL, "concern_matching__1": "1"},
                                     texts={"evidence__concern_matching__1": "3"}))  # fmt: skip
    assert caught.value.wanting["concern_matching__1"].startswith("Two entries are linked to the same")
    root = ElementTree.fromstring(labelling_page(settling))
    assert {one.get("required") for one in root.iter("Choices")} == {"false"}
    told = [one.get("value") for one in root.iter("Text") if str(one.get("name")).startswith("said__concern")]
    assert told == ["$said_concern_matching__0", "$said_concern_matching__1", "$said_concern_matching__2"]
    (task,) = label_studio_tasks(settling, run)
    assert "Its raters agree" in task["data"]["said_concern_matching__0"]
    assert "Rater 2" in task["data"]["said_concern_matching__1"]


# -- what follows from links, and how raters agree on them ------------------------------------------


def test_precision_and_recall_follow_from_a_persons_links(run: Run) -> None:
    plan = plan_of(run, MATCHING)
    kept(run, plan, LINKS, texts=MARKED)
    # By hand: of 3 findings and 3 concerns two are linked.
    assert rating(run, "refused_proposals") == (0.0, None, None)
    assert rating(run, "concern_precision") == rating(run, "concern_recall") == (pytest.approx(2 / 3), None, None)
    assert rating(run, "concern_f1") == (pytest.approx(2 * 2 / (3 + 3)), None, None)
    assert rating(run, "concern_category_accuracy") == (pytest.approx(1 / 2), None, None)
    kept(run, plan, {"concern_matching__0": "1", "concern_matching__0__category_agrees": "yes"}, "hidden-1",
         texts={"evidence__concern_matching__0": ("1",)})  # fmt: skip
    assert rating(run, "concern_recall", "hidden-1") == (pytest.approx(1 / 3), None, None)
    kept(run, plan, {"concern_matching__0": "1"}, "hidden-2")
    assert rating(run, "concern_f1", "hidden-2") == (None, None, "concern_matching: 0 of 3 entries are answered")


def test_the_confirmation_table_says_whose_matches_it_is_of(tmp_path: Path) -> None:
    lines = link_study(tmp_path, 2).path.with_name("in.jsonl")
    lines.write_text(lines.read_text().replace('"factors": {}', '"factors": {"task": "confirmation"}'))
    run = score([lines], tmp_path / "suite", suite="medconceal").run
    plan = plan_of(run, MATCHING)
    kept(run, plan, LINKS, texts=MARKED)
    kept(run, plan, {"concern_matching__0": "1", "concern_matching__0__category_agrees": "yes"}, "hidden-1",
         texts={"evidence__concern_matching__0": ("1",)})  # fmt: skip
    ben = [
        rater_answer(item.id, "ben", dict.fromkeys(plan.fields_of(item.id, MATCHING)[::2], NONE)) for item in plan.items
    ]
    keep_answers(run, plan, ben)
    (table,) = build_tables(open_ratings_view(run.path), ["confirmation"])
    found = {(row["metric"], row["raters"]): row["value"] for row in table.records}
    # By hand: 2 and 1 matches, of 3 and 1 findings and of 3 concerns each; of one match in three the category differs.
    for metric, value, none in (
        ("precision", 3 / 4, 0), ("recall", 3 / 6, 0), ("f1", 2 * 3 / (4 + 6), 0), ("category_accuracy", 2 / 3, None),
    ):  # fmt: skip
        assert found[f"concern_{metric}", "human:anna"] == pytest.approx(value)
        assert found.get((f"concern_{metric}", "human:ben")) == none


def test_history_and_rank_follow_from_a_persons_places(run: Run) -> None:
    kept(run, plan_of(run, CHECK, DIAGNOSIS), PLACES)
    # By hand: the first of two findings is found, and the second doesn't count, as the opening conveys it.
    assert rating(run, "history_recall") == (1.0, None, None)
    assert rating(run, "diagnosis_rank") == (1.0, None, None)
    assert (rating(run, "diagnosis_top_1")[0], rating(run, "diagnosis_top_2")[0]) == (0, 1)


def choices_of(number: int, off: int) -> list[int | None]:
    """One to one, and otherwise as it comes."""
    order: list[int | None] = [(number + off * (number % 3 == 0)) % 3, None, (number + 1 + off * (number % 5 == 0)) % 3]
    links = order[: (3, 1)[number % 2]]
    return [None if link in links[:place] else link for place, link in enumerate(links)]


def agrees(number: int, off: int, place: int) -> bool:
    return (number + place) % 4 > 1 or (number + off) % 7 == 0


@pytest.fixture
def judged(tmp_path: Path) -> Run:
    """24 conversations whose findings anna, ben and a judge match."""
    run = link_study(tmp_path, 24)
    plan = plan_of(run, MATCHING)
    transcripts = {transcript.id: transcript for transcript in run.transcripts()}
    answers, rows = [], []
    for item in plan.items:
        number, transcript = int(item.transcript.removeprefix("hidden-")), transcripts[item.transcript]
        for off, rater in enumerate(("anna", "ben", "judge")):
            links = choices_of(number, off)
            if rater == "judge":
                pairs = [
                    {"reason": "so", "finding": place, "concern": link, "quote": "q",
                     "category_agrees": agrees(number, off, place)}
                    for place, link in enumerate(links) if link is not None
                ]  # fmt: skip
                reply = JudgeAnswer("transcript", None, {"reason": "so", "pairs": pairs}, None)
                rows += [
                    (transcript.id, "GPT-Secret", transcript.case_id, unit, metric, "judge:invented/model", 0, *rated)
                    for unit, metric, *rated in ratings_of(MATCHING, transcript, [reply])
                ]
                continue
            said, marks = {}, {}
            for place, link in enumerate(links):
                said[f"concern_matching__{place}"] = NONE if link is None else str(link + 1)
                if link is not None:
                    said[f"concern_matching__{place}__category_agrees"] = ("no", "yes")[agrees(number, off, place)]
                    marks[f"evidence__concern_matching__{place}"] = ("1",)
            answers.append(rater_answer(item.id, rater, said, texts=marks))
    keep_answers(run, plan, answers)
    run = Run(run.path)
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return Run(run.path)


def of_both(first: int, second: int) -> tuple[list[str], list[str], list[bool], list[bool]]:
    """What two raters link each finding to; and what they say of the category of the links that both make."""
    links, others, agree_first, agree_second = [], [], [], []
    for number in range(24):
        for place, (one, other) in enumerate(zip(choices_of(number, first), choices_of(number, second), strict=True)):
            links.append(str(one))
            others.append(str(other))
            if one is not None and one == other:
                agree_first.append(agrees(number, first, place))
                agree_second.append(agrees(number, second, place))
    return links, others, agree_first, agree_second


def test_links_agree_as_sklearn_says(judged: Run) -> None:
    rows = {(one.metric, str(one.kind), one.raters[0] if one.kind == "person" else ""): one
            for one in agree(open_ratings_view(judged.path), seed=1)}  # fmt: skip
    for key, pair in (
        (("people", ""), (0, 1)), (("person", "human:anna"), (0, 2)), (("person", "human:ben"), (1, 2)),
    ):  # fmt: skip
        first, second, category, other = of_both(*pair)
        links = rows["concern_matching.link", *key]
        f1 = f1_score(first, second, labels=["0", "1", "2"], average="micro")
        assert links.units == len(first) == 12 * 3 + 12
        assert links.statistics["link f1"].estimate == pytest.approx(f1)
        assert 0.3 < f1 < 1
        assert links.statistics["kappa"].estimate == pytest.approx(cohen_kappa_score(first, second))
        categories = rows["concern_matching.category_agrees", *key]
        assert categories.units == len(category)
        assert categories.statistics["kappa"].estimate == pytest.approx(cohen_kappa_score(category, other))
    mean = rows["concern_matching.link", "mean", ""].statistics["link f1"].estimate
    assert mean == pytest.approx(sum(
        f1_score(*of_both(person, 2)[:2], labels=["0", "1", "2"], average="micro") for person in (0, 1)
    ) / 2)  # fmt: skip


@pytest.mark.parametrize("link", [NONE, "1"])
def test_people_who_all_say_the_same_of_links_agree(run: Run, link: str) -> None:
    """Nobody links anything, or all call each link's category the same: of one label, κ has no value."""
    plan = plan_of(run, MATCHING, RUBRICS.load("empathy"))
    said = {"concern_matching__0": link, "concern_matching__1": NONE, "concern_matching__2": NONE}
    said |= {} if link == NONE else {"concern_matching__0__category_agrees": "yes"}
    answers = []
    for item in plan.items:
        asked = {name: choice for name, choice in said.items() if name[:19] in plan.fields_of(item.id, MATCHING)}
        for rater in plan.raters:
            level = {"empathy": str(1 + int(item.transcript[-1]) % 4)}
            marks = {"evidence__concern_matching__0": ("1",)} if link != NONE else {}
            answers.append(rater_answer(item.id, rater, {**asked, **level}, texts=marks))
    assert keep_answers(run, plan, answers).unfinished == 0
    rows = {one.metric: one for one in agree(open_ratings_view(run.path), seed=1) if one.kind == "people"}
    assert rows["empathy"].statistics["kappa"].estimate == pytest.approx(1)
    same = rows["concern_matching.link" if link == NONE else "concern_matching.category_agrees"]
    assert same.units == (8 if link == NONE else 4)
    assert same.statistics["kappa"].estimate is None
    assert same.statistics["ac"].estimate == pytest.approx(1)


def test_a_matcher_is_validated_on_its_links(judged: Run) -> None:
    (card,) = validate(open_ratings_view(judged.path))
    assert {one.metric: one.with_people for one in card.validations}["concern_matching.link"] == 48


def test_numbers_of_a_file_are_no_links(judged: Run) -> None:
    row = ("hidden-1", "GPT-Secret", "case1", "transcript", "concern_matching", "human:cleo", 0, 1.0, None, None, None)
    with judged.locked():
        judged.add(frame_of([row]).lazy(), judged.manifest)
    view = open_ratings_view(judged.path, rounds=["all"])
    links = next(one for one in agree(view) if one.metric == "concern_matching.link" and one.kind == "people")
    assert (links.raters, links.units) == (("human:anna", "human:ben"), 48)


def test_alarms_look_at_links_too(tmp_path: Path) -> None:
    run = link_study(tmp_path, count=20)
    plan = plan_of(run, MATCHING)
    fields = {item.id: [asked.name for asked in plan.every_of(item.id, MATCHING) if asked.said] for item in plan.items}
    answers = [
        rater_answer(item, rater, dict.fromkeys(names, NONE) if rater == "ben" else {n: LINKS[n] for n in names})
        for item, names in fields.items()
        for rater in ("anna", "ben")
    ]
    keep_answers(run, plan, answers)
    by_rater = {row.rater: row for row in rater_quality(plan, read_store(run, plan), coded_positions(plan, run))}
    assert "one answer" in {alarm.kind for alarm in by_rater["ben"].alarms}
    assert "one answer" not in {alarm.kind for alarm in by_rater["anna"].alarms}
