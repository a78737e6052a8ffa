"""What Prodigy exports: one JSON line an annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.ratings.form_contract import (
    CERTAIN,
    SETS,
    SKIPPED,
    SPANS,
    FormClaim,
    RatingForm,
    answer_text,
    field_of,
    needed_item,
    of_row,
    record_cells,
)
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent

_ANSWERS = frozenset(("accept", "reject", "ignore"))


def _claims(content: RatingContent) -> FormClaim | None:
    first = content.first
    answer = first.get("answer") if isinstance(first, dict) else None
    if not isinstance(answer, str) or answer not in _ANSWERS:
        return None
    return CERTAIN if "_input_hash" in first or "_annotator_id" in first or "_session_id" in first else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    return record_cells(content, "Prodigy", _record_cells)


def _record_cells(content: RatingContent, where: str, record: Mapping[str, Any]) -> Iterator[RatedCell]:
    leave, state = content.account.count_left_out, record["answer"]
    if not isinstance(state, str):
        raise TypeError("an answer is no word")
    if state == "ignore":
        leave(SKIPPED, where)
        return
    meta = record.get("meta") or {}
    hashed = {"id": record["_input_hash"]} if "_input_hash" in record else {}
    item = needed_item(content, where, record, meta, hashed)
    rater = record.get("_annotator_id") or record.get("_session_id") or field_of(record, "rater", content)
    metric, value = "", state
    if "accept" in record:
        # A choice: what was chosen counts if the whole was accepted.
        chosen = answer_text(record["accept"])
        if state == "reject" or chosen is None:
            leave("rejected choices" if state == "reject" else SETS, where)
            return
        value = chosen
    elif isinstance(record.get("label"), str):
        metric = record["label"]
    elif "spans" in record:
        leave(SPANS, where)
        return
    said = {"item": item, "rater": str(rater or ""), "metric": metric, **of_row(content, record, meta)}
    yield RatedCell(where, metric or "answer", value=value, **said)


FORM = RatingForm(
    name="prodigy",
    title="Prodigy's export as JSON lines",
    description=(
        "The option that was chosen (`accept`), or whether a `label` was accepted or rejected, with the label as "
        "metric; the rater is `_annotator_id`, else `_session_id`; the item a field such as `transcript_id`, of the "
        "task or its `meta`, else `_input_hash`. Ignored tasks, several choices and labels of parts of the text are "
        "left out and counted."
    ),
    example=(
        '{"text": "…", "transcript_id": "a-1", "options": [{"id": "4", "text": "4"}, {"id": "5", "text": "5"}], '
        '"accept": ["4"], "answer": "accept", "_input_hash": 101, "_task_hash": 201, "_session_id": "warmth-anna", '
        '"_annotator_id": "warmth-anna", "_view_id": "choice"}\n'
        '{"text": "…", "transcript_id": "a-1", "options": [{"id": "4", "text": "4"}, {"id": "5", "text": "5"}], '
        '"accept": ["5"], "answer": "accept", "_input_hash": 101, "_task_hash": 201, "_session_id": "warmth-ben", '
        '"_annotator_id": "warmth-ben", "_view_id": "choice"}\n'
    ),
    example_name="prodigy.jsonl",
    claims=_claims,
    read=_read,
    priority=10,
)
