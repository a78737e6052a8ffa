"""From answers to ratings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem, TrainingItem
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import (
    AGREE,
    DISAGREE,
    NONE,
    NOT_APPLICABLE,
    NOTHING,
    agree_field,
    code_field,
    entry_fields,
    entry_part,
)
from bedside.annotation.items import judge_scores
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.rubrics.rubric import Rubric

SKIPPED = "skipped by the rater"


UNANSWERED = "not answered"


UNCODED = "not coded"


NO_ANSWER = "the rater says that no answer can be given"


#: unit, metric, value, label, reason, error
_Rating = tuple[str, str, float | None, str | None, str | None, str | None]


def audited_metric(rubric: str) -> str:
    """The metric of what people say who see the judge's score."""
    return f"{rubric}.audited"


def agreement_metric(rubric: str) -> str:
    """The metric of whether people agree with the judge."""
    return f"{rubric}.agrees"


def entry_metrics(rubric: Rubric) -> dict[str, str]:
    """Label → metric that counts its entries, of a list rubric."""
    label, _ = entry_part(rubric)
    return {
        each.label: f"{rubric.name}.{re.sub(r'[^a-z0-9]+', '_', each.label.casefold()).strip('_')}"
        for each in label.labels
    }


def plan_scales(plan: AnnotationPlan) -> dict[str, Scale]:
    """The scale of each metric that the plan's answers give and that has one."""
    found: dict[str, Scale] = {}
    for each in plan.rubrics:
        scale = each.rubric.rating_scale()
        if scale is None:
            continue
        if plan.mode == "audit":
            found[audited_metric(each.rubric.name)] = scale
            found[agreement_metric(each.rubric.name)] = Scale((AGREE, DISAGREE), False)
        else:
            found[each.rubric.name] = scale
    return found


def answer_ratings(
    run: Run,
    plan: AnnotationPlan,
    counting: Mapping[tuple[str, str], RaterAnswer],
    positions: Mapping[str, Mapping[str, Sequence[int]]],
) -> pl.DataFrame:
    """The ratings that answers give, as a ratings table in the order of items and raters.

    Args:
        run: the run.
        plan: the plan.
        counting: :func:`current`.
        positions: :func:`coded_positions`.
    """
    about = {
        name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()
    }
    shown = judge_scores(plan, run) if plan.mode == "audit" else {}
    rows: list[tuple[Any, ...]] = []
    judged: set[str] = set()
    for (name, rater), answer in sorted(counting.items(), key=lambda entry: entry[0]):
        item = plan.by_id[name]
        if isinstance(item, TrainingItem):
            continue
        system, case = about[item.transcript]
        for each in plan.rubrics:
            given = ratings_of_answer(plan, each.rubric, item, answer, positions.get(name, {}), shown)
            rows += [
                (item.transcript, system, case, unit, metric, f"human:{rater}", 0, *rest)
                for unit, metric, *rest in given
            ]
            if plan.mode == "audit" and name not in judged:
                said = _chosen(each.rubric, shown[item.transcript, item.unit, each.rubric.name][0])
                metric = audited_metric(each.rubric.name)
                rows.append(
                    (item.transcript, system, case, item.unit, metric, plan.judge, 0, *said, None, None)
                )
        judged.add(name)
    return frame_of(rows)


def ratings_of_answer(
    plan: AnnotationPlan,
    rubric: Rubric,
    item: PlanItem | TrainingItem,
    answer: RaterAnswer,
    positions: Mapping[str, Sequence[int]],
    shown: Mapping[tuple[str, str, str], tuple[str, str]],
) -> Iterator[_Rating]:
    """The ratings that one answer gives by one rubric."""
    why = SKIPPED if answer.state == "skipped" else None
    notes = answer.notes or None
    match plan.mode:
        case "codes":
            for position, turn in enumerate(positions[str(rubric.role)]):
                chosen = answer.choices.get(code_field(rubric.name, position), ())
                yield _rated(rubric, f"turn:{turn}", rubric.name, chosen, notes, why, UNCODED)
        case "findings":
            yield from _findings(rubric, item.unit, answer, why)
        case "audit":
            judge = shown[item.transcript, item.unit, rubric.name][0]
            yield from _audit(rubric, item.unit, answer, judge, why)
        case _:
            chosen = answer.choices.get(rubric.name, ())
            if rubric.kind == "set" and why is None and chosen:
                yield _set(item.unit, rubric.name, chosen, notes)
            else:
                yield _rated(rubric, item.unit, rubric.name, chosen, notes, why, UNANSWERED)


def _rated(
    rubric: Rubric,
    unit: str,
    metric: str,
    chosen: Sequence[str],
    notes: str | None,
    why: str | None,
    unanswered: str,
) -> _Rating:
    if why is None and not chosen:
        why = unanswered
    if why is None and chosen[0] == NOT_APPLICABLE:
        why = NO_ANSWER
    if why is not None:
        return unit, metric, None, None, notes, why
    value, label = _chosen(rubric, chosen[0])
    return unit, metric, value, label, notes, None


def _set(unit: str, metric: str, chosen: Sequence[str], notes: str | None) -> _Rating:
    labels = sorted(set(chosen) - {NONE})
    if labels and NONE in chosen:
        return unit, metric, None, None, notes, f"says {NONE!r} and names {len(labels)}"
    named = ", ".join(labels) or "none"
    return unit, metric, float(len(labels)), None, f"{named}: {notes}" if notes else named, None


def _chosen(rubric: Rubric, choice: str) -> tuple[float | None, str | None]:
    return (float(choice), None) if rubric.kind == "level" else (None, choice)


def _audit(rubric: Rubric, unit: str, answer: RaterAnswer, judge: str, why: str | None) -> Iterator[_Rating]:
    notes = answer.notes or None
    said = answer.choices.get(agree_field(rubric.name), ())
    own = answer.choices.get(rubric.name, ())
    opinion = said[0] if said else None
    wrong = why or (UNANSWERED if opinion is None else None)
    if wrong is None and opinion == AGREE and own and own[0] != judge:
        wrong = "says that the judge is right, and gives another answer"
    if wrong is None and opinion == DISAGREE and own and own[0] == judge:
        wrong = "says that the judge is wrong, and gives the same answer"
    yield unit, agreement_metric(rubric.name), None, None if wrong else opinion, notes, wrong
    taken = own or ((judge,) if opinion == AGREE else ())
    yield _rated(
        rubric, unit, audited_metric(rubric.name), taken, notes, why, "gives no answer beside the judge's"
    )


def _findings(rubric: Rubric, unit: str, answer: RaterAnswer, why: str | None) -> Iterator[_Rating]:
    entries = listed_entries(rubric, answer)
    said = answer.choices.get(rubric.name, ())
    if why is None and entries and said == (NOTHING,):
        why = f"says that there is nothing to list, and lists {len(entries)}"
    if why is None and not entries and said != (NOTHING,):
        why = "lists nothing, and doesn't say that there is nothing"
    metrics = entry_metrics(rubric)
    if why is not None:
        for metric in (rubric.name, *metrics.values()):
            yield unit, metric, None, None, answer.notes or None, why
        return
    label, _ = entry_part(rubric)
    counts = Counter(entry[label.name] for entry in entries)
    listed = orjson.dumps({"reason": answer.notes, rubric.answer[0].name: entries}).decode()
    yield unit, rubric.name, float(len(entries)), None, listed, None
    for name, metric in metrics.items():
        yield unit, metric, float(counts[name]), None, answer.notes or None, None


def listed_entries(rubric: Rubric, answer: RaterAnswer) -> list[dict[str, str]]:
    """The entries of a list, in the order of the rubric's labels."""
    label, text = entry_part(rubric)
    return [
        {label.name: name, text.name: entry.strip()}
        for field_, name in entry_fields(rubric).items()
        for entry in answer.texts.get(field_, ())
        if entry.strip()
    ]
