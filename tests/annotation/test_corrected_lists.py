"""Lists, sets and vectors of a judge that people correct, and sets that they settle: the same from each channel."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import precision_score, recall_score

from bedside.analysis.audits import ADDED, KEPT, MOVED, _AuditAnswer, _share_kept, audits
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.adjudication import adjudicate, settled_and_changed
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.fields import LISTED, NONE, NOTHING, one_answer
from bedside.annotation.items import label_studio_tasks, set_labels
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_state import IncompleteEntryError
from bedside.annotation.sampling import make_plan
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.rubric_metrics import REMOVED
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.tables.audits import audits_table
from tests.annotation.builders import COST, FEAR, FINDINGS, fill_csv, fill_xlsx, human, people, rater_answer
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import JUDGE, RATERS, USERS, exported, new_study
from tests.annotation.tool_stand_ins import STAND_INS

VALUES, EVALUATOR = RUBRICS.load("values_detected"), RUBRICS.load("turn_evaluator")
NAME = FINDINGS.name
MYTH = "misinformation or misconception"
#: What the judge listed of the four conversations, in their order.
LISTS: tuple[list[tuple[str, str]], ...] = (
    [(FEAR, "Afraid of pain"), (COST, "Trusts herbs"), (FEAR, "Likes tea")], [(COST, "Cannot pay")], [],
    [(FEAR, "Dreads needles")],
)  # fmt: skip
CHANNELS = pytest.mark.parametrize("channel", ["studio", "page", "csv", "xlsx"])


def judged(folder: Path, rows: Any) -> Run:
    """Four conversations, and by number what the judge said: unit, metric, value, label, reason."""
    run = new_study(folder, cases=2)
    units = sorted(run.index.select("id", "system", "case_id").iter_rows())
    with run.locked():
        run.add(
            frame_of([(*units[at], unit, metric, JUDGE, 0, *said, None) for at, unit, metric, *said in rows]).lazy(),
            run.manifest,
        )
    return Run(run.path)


def listed(folder: Path) -> tuple[Run, AnnotationPlan]:
    rows = []
    for at, entries in enumerate(LISTS):
        reply = {"reason": "so", "findings": [{"category": label, "text": text} for label, text in entries]}
        rows.append((at, "transcript", NAME, float(len(entries)), None, json.dumps(reply)))
    run = judged(folder, rows)
    return run, make_plan(run, mode="audit", rubrics=(FINDINGS,), raters=("anna", "ben"), overlap=2, judge=JUDGE)


def place(plan: AnnotationPlan, item: str) -> int:
    return sorted({one.transcript for one in plan.items}).index(plan.by_id[item].transcript)


def corrected(plan: AnnotationPlan, item: str, rater: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """anna keeps the first entry in better words, moves the second, removes the third, says why, and adds two in all;
    ben agrees but for the last entry, which he removes."""
    at = place(plan, item)
    said = {f"{NAME}__judge_{number}": label for number, (label, _) in enumerate(LISTS[at])}
    said[NAME], texts = NOTHING, dict[str, list[str]]()
    if rater == "anna" and at == 0:
        said |= {f"{NAME}__judge_1": MYTH, f"{NAME}__judge_2": NONE, NAME: LISTED}
        texts = {
            f"reason__{NAME}__judge_0": ["Afraid of the pain"], f"reason__{NAME}__judge_2": ["No concern"],
            f"{NAME}__3": ["Travels far", "Loses income"],
        }  # fmt: skip
    if rater == "ben" and at == 3:
        said[f"{NAME}__judge_0"] = NONE
    return said, texts


def correct(run: Run, plan: AnnotationPlan, folder: Path, channel: str) -> None:
    def say(item: str, rater: str) -> dict[str, Any]:
        said, texts = corrected(plan, item, rater)
        return {**said, **{name: ("text", *entries) for name, entries in texts.items()}}

    def fill(row: dict[str, str]) -> None:
        said, texts = corrected(plan, row["item"], row["rater"])
        name = row["question"]
        row["answer"] = said.get(name, "")
        row["reason"] = "\n".join(texts.get(name, texts.get(f"reason__{name}", ())))

    send(run, plan, folder, channel, say, fill)


def send(run: Run, plan: AnnotationPlan, folder: Path, channel: str, say: Any, fill: Any) -> None:
    """Have what raters say come through a channel."""
    if channel == "studio":
        keep_answers(run, plan, read_export(plan, exported(plan, say, USERS, run), RATERS, where="export").answers)
    elif channel == "page":
        state, pages = opened(plan, run)
        for rater, items in plan.assignment.items():
            for item in items:
                said = say(item, rater)
                texts = {name: [*own[1:]] for name, own in said.items() if own[0] == "text"}
                choices = {
                    name: [own] if isinstance(own, str) else own for name, own in said.items() if name not in texts
                }
                state.save(rater, item, sent(choices=choices, texts=texts))
        collect(pages, run, plan)
    else:
        paths = export_files(plan, run, channel, folder / channel)
        for number, path in enumerate(paths):
            if channel in STAND_INS:
                of_rater = partial(_of_tool, say, path.name)
                paths[number] = STAND_INS[channel](path, of_rater)
            else:
                (fill_csv if channel == "csv" else fill_xlsx)(path, fill)
        keep_answers(run, plan, read_files(plan, run, paths).answers)


def _of_tool(say: Any, rater: str, task: str, name: str) -> Any:
    return say(task.partition("-judged-")[0], rater).get(name)


@CHANNELS
def test_a_judges_list_is_corrected(tmp_path: Path, channel: str) -> None:
    run, plan = listed(tmp_path)
    correct(run, plan, tmp_path, channel)
    names = f"{NAME}.agrees", f"{NAME}.audited"
    rows = Run(run.path).ratings.filter(pl.col("metric").is_in(names)).sort("transcript_id")
    made = {
        (metric, rater): [label or value for label, value in own.select("label", "value").iter_rows()]
        for (metric, rater), own in rows.group_by("metric", "rater", maintain_order=True)
    }
    assert made == {
        (names[0], "human:anna"): ["disagree", "agree", "agree", "agree"],
        (names[0], "human:ben"): ["agree", "agree", "agree", "disagree"],
        (names[1], "human:anna"): [4, 1, 0, 1], (names[1], "human:ben"): [3, 1, 0, 0], (names[1], JUDGE): [3, 1, 0, 1],
    }  # fmt: skip
    first = people(run, names[1]).filter(rater="human:anna").sort("transcript_id")["reason"][0]
    assert json.loads(first) == {
        "reason": "",
        "findings": [
            {"category": FEAR, "text": "Afraid of the pain", "of_judge": {"category": FEAR, "text": "Afraid of pain"}},
            {"category": MYTH, "text": "Trusts herbs", "of_judge": {"category": COST, "text": "Trusts herbs"}},
            {"category": COST, "text": "Travels far"}, {"category": COST, "text": "Loses income"},
        ],
        "removed": [{"category": FEAR, "text": "Likes tea", "reason": "No concern"}],
    }  # fmt: skip
    # An entry of the judge that isn't kept is wrong; one that is moved or added is missed: kept, wrong, missed.
    in_judge, in_truth = [1] * 10 + [0] * 3, [1] * 7 + [0] * 3 + [1] * 3
    (whole,) = (one for one in audits(open_ratings_view(run.path)) if one.level is None)
    assert whole.precision is not None
    assert whole.recall is not None
    assert whole.precision.estimate == pytest.approx(precision_score(in_truth, in_judge))
    assert whole.recall.estimate == pytest.approx(recall_score(in_truth, in_judge))
    assert whole.precision.interval is not None
    assert (whole.confirming, whole.answers) == (6, 8)
    assert whole.corrections == {"removed": 2, "added": 2, "other label": 1}
    assert {"Precision [95 % CI]", "Recall [95 % CI]"} <= {column.title for column in audits_table([whole]).columns}


def test_only_an_audit_shows_the_judges_list(tmp_path: Path) -> None:
    run, plan = listed(tmp_path)
    blind = make_plan(run, mode="findings", rubrics=(FINDINGS,), raters=("anna", "ben"), overlap=2)
    for own, is_shown in ((plan, True), (blind, False)):
        state, _ = opened(own, run)
        page = json.dumps([state.share("anna"), *(state.item("anna", item) for item in own.assignment["anna"])])
        studio = labelling_page(own) + json.dumps(label_studio_tasks(own, run))
        table = "".join(path.read_text("utf-8-sig") for path in export_files(own, run, "csv", tmp_path / own.mode))
        assert [("Likes tea" in channel) for channel in (page, studio, table)] == [is_shown] * 3
        assert not [hidden for hidden in ("Secret", "hushcase") if hidden in page + studio + table]
    ElementTree.fromstring(labelling_page(plan))
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    with pytest.raises(InputError):
        export_files(plan, run, "argilla", tmp_path / "argilla")
    with pytest.raises(DataError):
        make_plan(run, mode="audit", rubrics=(FINDINGS, RUBRICS.load("empathy")), raters=("anna",), overlap=1)


def test_a_list_that_is_not_corrected_whole_is_open(tmp_path: Path) -> None:
    run, plan = listed(tmp_path)
    item = next(one.id for one in plan.items if place(plan, one.id) == 0)
    state, _ = opened(plan, run)
    with pytest.raises(IncompleteEntryError) as caught:
        state.save("anna", item, sent(choices={f"{NAME}__judge_0": FEAR}))
    assert set(caught.value.wanting) == {f"{NAME}__judge_1", f"{NAME}__judge_2", NAME}
    with pytest.raises(IncompleteEntryError):
        state.save("anna", item, sent(choices=corrected(plan, item, "ben")[0], texts={f"{NAME}__0": ["More"]}))
    assert keep_answers(run, plan, [rater_answer(item, "anna", {f"{NAME}__judge_0": FEAR})]).unfinished == 1
    (error,) = people(run, f"{NAME}.audited")["error"]
    assert error == "1 of 3 entries are answered"
    with pytest.raises(InputError):
        keep_answers(run, plan, [rater_answer(item, "ben", {f"{NAME}__judge_3": FEAR})])


def test_a_judge_without_a_list_is_not_audited(tmp_path: Path) -> None:
    run = judged(tmp_path, [(0, "transcript", NAME, 2.0, None, "two of them")])
    with pytest.raises(DataError):
        make_plan(run, mode="audit", rubrics=(FINDINGS,), raters=("anna",), overlap=1, judge=JUDGE)


# -- sets ---------------------------------------------------------------------------------------------

ALL = [label.label for label in VALUES.labels]


@pytest.mark.parametrize("names", [[], ALL[:1], ALL[1:4], ALL])
def test_the_labels_of_a_set_are_read_from_its_reason(names: list[str]) -> None:
    reason = f"{', '.join(sorted(names)) or 'none'}: because, {ALL[0]}"
    assert set_labels(VALUES, float(len(names)), reason) == (sorted(names) or [NONE])
    assert set_labels(VALUES, 5.0 if names != ALL else 4.0, reason) is None


def fill_set(say: Any) -> Any:
    def fill(row: dict[str, str]) -> None:
        own = say(row["item"], row["rater"])
        row[VALUES.name] = "; ".join(own.get(VALUES.name, ()))

    return fill


@CHANNELS
def test_sets_are_settled(tmp_path: Path, channel: str) -> None:
    run = new_study(tmp_path, cases=2)
    plan = make_plan(run, mode="rate", rubrics=(VALUES,), raters=("anna", "ben"), overlap=2)
    for rater in plan.raters:
        for item in (one.id for one in plan.items):
            own = ALL[:2] if rater == "anna" else [ALL[0], *ALL[2 : place(plan, item) + 1]]
            answer = rater_answer(item, rater, {}, texts={f"reason__{VALUES.name}": ("so",)})
            keep_answers(run, plan, [replace(answer, choices={VALUES.name: tuple(own)})])
    settling = adjudicate(run, plan, ["cleo"])
    (counts,) = settling.counts
    assert (counts.rated, counts.differ, counts.ties, counts.queued) == (4, 4, 4, 4)
    other = settling.plan
    assert {opinion.answer for by_field in other.opinions.values() for opinion in by_field[VALUES.name]} == {
        one_answer(ALL[:2]), ALL[0], one_answer([ALL[0], ALL[2]]), one_answer([ALL[0], ALL[2], ALL[3]]),
    }  # fmt: skip
    data = [task["data"][f"said_{VALUES.name}"] for task in label_studio_tasks(other, run, "cleo")]
    assert all(one_answer(ALL[:2]) in told for told in data)
    final = lambda item, _: {VALUES.name: [ALL[2], ALL[0]] if place(other, item) else [NONE]}  # noqa: E731
    send_as(run, other, tmp_path, channel, final)
    rows = people(run, f"{VALUES.name}.adjudicated").sort("transcript_id")
    assert rows.select("value", "reason").rows() == [(0.0, "none"), *[(2.0, f"{ALL[0]}, {ALL[2]}")] * 3]
    assert settled_and_changed(Run(run.path), plan) == (4, 0)


def send_as(run: Run, plan: AnnotationPlan, folder: Path, channel: str, say: Any) -> None:
    """The same by the plan's own raters."""
    users = {rater: at for at, rater in enumerate(plan.raters, 1)}
    if channel == "studio":
        tasks = exported(plan, say, users, run)
        raters: dict[int | str, str] = {at: rater for rater, at in users.items()}
        keep_answers(run, plan, read_export(plan, tasks, raters, where="export").answers)
    else:
        send(run, plan, folder, channel, say, fill_set(say))


@pytest.mark.parametrize("channel", ["studio", "page", "csv", "xlsx", *STAND_INS])
def test_sets_of_a_judge_are_audited(tmp_path: Path, channel: str) -> None:
    shown = [[], [ALL[0]], sorted(ALL[:2]), sorted(ALL[2:4])]
    run = judged(tmp_path, [
        (at, "transcript", VALUES.name, float(len(own)), None, f"{', '.join(own) or 'none'}: as said")
        for at, own in enumerate(shown)
    ])  # fmt: skip
    plan = make_plan(run, mode="audit", rubrics=(VALUES,), raters=("anna", "ben"), overlap=2, judge=JUDGE)

    def say(item: str, rater: str) -> dict[str, Any]:
        own = shown[place(plan, item)] or [NONE]
        return {VALUES.name: [*own[::-1]] if rater == "anna" or len(own) < 2 else own[:1]}

    send_as(run, plan, tmp_path, channel, say)
    rows = Run(run.path).ratings.filter(pl.col("metric").str.contains("values_detected.", literal=True))
    made = {
        (metric.rpartition(".")[2], rater): own.sort("transcript_id")[column].to_list()
        for (metric, rater), own in rows.group_by("metric", "rater")
        for column in (("label",) if metric.endswith("agrees") else ("value",))
    }
    assert made == {
        ("agrees", "human:anna"): ["agree"] * 4, ("agrees", "human:ben"): ["agree"] * 2 + ["disagree"] * 2,
        ("audited", "human:anna"): [0, 1, 2, 2], ("audited", "human:ben"): [0, 1, 1, 1],
        ("audited", JUDGE): [0, 1, 2, 2],
    }  # fmt: skip
    (whole,) = (one for one in audits(open_ratings_view(run.path)) if one.level is None)
    assert (whole.confirming, whole.answers, whole.corrections, whole.precision) == (6, 8, {"lower": 2}, None)


# -- vectors ------------------------------------------------------------------------------------------

PART = "turn_evaluator.partnership"


@CHANNELS
def test_numbers_of_a_vector_are_audited_at_the_nearest_step(tmp_path: Path, channel: str) -> None:
    names = {part.name: part for part in EVALUATOR.question_rubrics}
    rows = [
        (at, f"turn:{turn}", name, 0.25 * turn + 0.1 if part.scale else None,
         part.labels[0].label if part.labels else None, "a reason")
        for at in range(4) for turn in (0, 2) for name, part in names.items()
    ]  # fmt: skip
    run = judged(tmp_path, rows)
    plan = make_plan(run, mode="audit", rubrics=(EVALUATOR,), raters=("anna", "ben"), overlap=2, judge=JUDGE)
    task = label_studio_tasks(plan, run)[0]["data"]
    assert (task[f"judge_{PART}"], task[f"judge_reason_{PART}"]) in (("0", "0.1. a reason"), ("0.5", "0.6. a reason"))

    def say(item: str, rater: str) -> dict[str, Any]:
        own = {"0": "0", "2": "0.5"}[plan.by_id[item].unit.partition(":")[2]]
        said = {name: part.labels[0].label if part.labels else own for name, part in names.items()}
        return {**said, PART: "1" if rater == "ben" else own}

    def fill(row: dict[str, str]) -> None:
        row.update(say(row["item"], row["rater"]))

    send(run, plan, tmp_path, channel, say, fill)
    made = people(run, f"{PART}.agrees", f"{PART}.audited")
    by_unit = made.unique(["metric", "rater", "unit", "value", "label"]).sort("metric", "rater", "unit")
    assert by_unit.select("rater", "unit", "value", "label").rows() == [
        ("human:anna", "turn:0", None, "agree"), ("human:anna", "turn:2", None, "agree"),
        ("human:ben", "turn:0", None, "disagree"), ("human:ben", "turn:2", None, "disagree"),
        ("human:anna", "turn:0", 0.0, None), ("human:anna", "turn:2", 0.5, None),
        ("human:ben", "turn:0", 1.0, None), ("human:ben", "turn:2", 1.0, None),
    ]  # fmt: skip
    whole = {one.rubric: one for one in audits(open_ratings_view(run.path)) if one.level is None}
    assert set(whole) == set(names)
    assert (whole[PART].confirmed.estimate, whole[PART].corrections) == (0.5, {"higher": 8})
    assert human(run)


@pytest.mark.slow
def test_intervals_of_precision_and_recall_hold_the_truth() -> None:
    """Lists of cases that differ, which two people correct: 40 cases a study."""
    rng = np.random.default_rng(3)

    def drawn(cases: int) -> list[Counter[str]]:
        size = rng.poisson(3, cases)
        kept = rng.binomial(size, rng.beta(8, 3, cases))
        moved = rng.binomial(size - kept, 0.3)
        added = rng.poisson(0.3 + 2 * rng.beta(2, 4, cases))
        return [
            Counter({KEPT: k, MOVED: m, REMOVED: n - k - m, ADDED: a})
            for n, k, m, a in zip(size, kept, moved, added, strict=True)
        ]

    total = sum(drawn(200_000), Counter[str]())
    of = {what: (total[KEPT], total[KEPT] + total[MOVED] + total[what]) for what in (REMOVED, ADDED)}
    held = []
    for _ in range(400):
        answers = [
            _AuditAnswer("t", "transcript", "", person, JUDGE, 1.0, "agree", 1.0, str(case), 0.5, entries)
            for case, entries in enumerate(drawn(40)) for person in ("anna", "ben")
        ]  # fmt: skip
        for what, (hits, every) in of.items():
            interval = _share_kept(answers, MOVED, what).interval  # type: ignore[union-attr]
            held.append(interval.low <= hits / every <= interval.high)  # type: ignore[union-attr]
    assert 0.93 <= np.mean(held) <= 0.975
