"""What a rating by links or points says of each entry or criterion, as a rater would fill it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import polars as pl

from bedside.analysis.fresh_view import linked_entries
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answers import mark_of
from bedside.annotation.fields import CASE_KINDS, MET, NO, NONE, NOT_MET, YES, AskedField, evidence_field, reason_field
from bedside.annotation.items import clean
from bedside.core.errors import DataError
from bedside.judges.rubrics.rubric import LinkForm, Rubric, link_form
from bedside.ratings.run import Run
from bedside.transcripts.transcript import Transcript


def rated_fields(
    rubric: Rubric, asked: Sequence[AskedField], row: Mapping[str, Any], transcript: Transcript
) -> dict[str, str] | None:
    """Field → choice; and for what is said of an entry and the words that show its link, field → text.

    Args:
        rubric: of :data:`~bedside.annotation.fields.CASE_KINDS`.
        asked: all that it asks of the transcript.
        row: ``value``, ``error`` and ``reason`` of its rating, a person's or a judge's.
        transcript: where words are found again.

    Returns:
        None where the rating is missing, or says nothing of single entries, as a number of a file does.
    """
    names = [one.name for one in asked if one.said]
    form = None if rubric.kind == "points" else link_form(rubric)
    reason = row["reason"] or ""
    if form is not None and form.rows is None:
        nothing = str(row["error"] or "").endswith(f"found no {form.target.name}")
        if row["value"] is None and not nothing:
            return None
        number = None if row["value"] is None else int(row["value"])
        return {names[0]: _choice(form, number), reason_field(names[0]): reason}
    if row["value"] is None:
        return None
    try:
        said = orjson.loads(reason)
        if form is not None:
            return _of_links(form, names, said, transcript)
        met = dict(zip(names, said, strict=True))
        return {name: MET if entry["met"] else NOT_MET for name, entry in met.items()} | {
            reason_field(name): entry["reason"] for name, entry in met.items()
        }
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def judge_fields(plan: AnnotationPlan, run: Run) -> dict[tuple[str, str], tuple[float | None, dict[str, str]]]:
    """(item, rubric of points or links) → what the plan's judge said in its first pass: the rating, and each field.

    Raises:
        DataError: it has not rated one of the items, or says nothing of single entries.
    """
    rubrics = {rubric.name: rubric for rubric in plan.questions if rubric.kind in CASE_KINDS}
    if plan.judge is None or not rubrics:
        return {}
    of_judge = run.ratings.filter(pl.col("rater") == plan.judge, pl.col("metric").is_in([*rubrics])).sort("replicate")
    rows = {(row["transcript_id"], row["metric"]): row for row in of_judge.reverse().iter_rows(named=True)}
    transcripts = {one.id: one for one in run.transcripts_named({item.transcript for item in plan.items})}
    said = {}
    for item in plan.items:
        for name, rubric in rubrics.items():
            row = rows.get((item.transcript, name), {"value": None, "error": None, "reason": None})
            fields = rated_fields(rubric, plan.every_of(item.id, rubric), row, transcripts[item.transcript])
            if fields is None:
                raise DataError(
                    f"{plan.judge} has not rated transcript {item.transcript!r} on {name}",
                    where=str(run.path),
                    todo="have it judged, or make another plan",
                )
            said[item.id, name] = row["value"], fields
    return said


def _choice(form: LinkForm, number: int | None) -> str:
    return NONE if number is None else str(number + (not form.of_turns))


def _of_links(form: LinkForm, names: Sequence[str], said: Any, transcript: Transcript) -> dict[str, str]:
    fields = {}
    links = linked_entries(form, said, len(names))
    for entry, name in enumerate(names):
        target, own = links.get(entry, (None, {}))
        fields[name] = _choice(form, target)
        for part in form.parts if own else ():
            fields[f"{name}__{part.name}"] = own[part.name] if part.labels else YES if own[part.name] else NO
        if own.get("reason"):
            fields[reason_field(name)] = own["reason"]
        for part in form.texts if target is not None else ():
            if part.type == "quote":
                # Of several turns with these words the first is named.
                words = " ".join(clean(own.get(part.name) or "").split())
                if not words:
                    continue  # of known links
                at = next((turn.index for turn in transcript.of(part.of) if words in " ".join(turn.text.split())), None)  # type: ignore[arg-type]
                fields |= {} if at is None else {evidence_field(name): mark_of(at, words)}
    return fields
