"""What Argilla exports: records with responses, as JSON or as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.ratings.form_contract import (
    CERTAIN,
    SETS,
    SPANS,
    FormClaim,
    RatingForm,
    answer_text,
    argilla_responses,
    is_argilla_record,
    needed_item,
    of_row,
    record_cells,
)
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent

#: A longer answer is a text that somebody wrote.
_LONGEST = 80


def _claims(content: RatingContent) -> FormClaim | None:
    return CERTAIN if is_argilla_record(content.first) else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    return record_cells(content, "Argilla", _record_cells)


def _record_cells(content: RatingContent, where: str, record: Mapping[str, Any]) -> Iterator[RatedCell]:
    leave = content.account.count_left_out
    metadata, fields = record.get("metadata") or {}, record.get("fields") or {}
    item = needed_item(content, where, metadata, fields, record)
    said = of_row(content, metadata, fields, record)
    for metric, value, rater, status in argilla_responses(record):
        if status in ("draft", "discarded"):
            leave(f"responses of status {status}", where)
            continue
        answer = answer_text(value)
        if answer is None:
            spans = isinstance(value, list) and all(isinstance(each, dict) for each in value)
            leave(SPANS if spans else SETS, where)
        else:
            kind = "comment" if len(answer) > _LONGEST else ""
            yield RatedCell(where, metric, item=item, rater=rater, metric=metric, value=answer, kind=kind, **said)


FORM = RatingForm(
    name="argilla",
    title="Argilla's export of records",
    description=(
        "Records as JSON (`responses` by question, each with `value` and `user_id`) or flat, as JSON or Parquet "
        "(`QUESTION.responses`, `.responses.users`, `.responses.status`). The rater is the user's id, the item a "
        "field or metadata such as `transcript_id`, else the record's id. Suggestions of models are not taken; "
        "drafts, discarded responses, rankings and answers of several labels are left out and counted; texts are "
        "reasons of ratings."
    ),
    example=(
        '[{"id": "a-1", "fields": {"dialogue": "…"}, "metadata": {}, "suggestions": {}, "responses": {"empathy": '
        '[{"value": 4, "user_id": "anna"}, {"value": 3, "user_id": "ben"}]}, "vectors": {}, "_server_id": "1"}]\n'
    ),
    example_name="argilla.json",
    claims=_claims,
    read=_read,
    priority=10,
)
