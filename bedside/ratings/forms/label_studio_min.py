"""What Label Studio exports as JSON-MIN: an object an annotation, with the task's data and the answers side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from bedside.core.errors import AmbiguousError, InputError
from bedside.ratings.form_contract import (
    CERTAIN,
    SETS,
    SPANS,
    FormClaim,
    RatingForm,
    account_name,
    answer_text,
    needed_item,
    no_export,
    of_row,
)
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.table_cells import quoted_columns
from bedside.ratings.table_columns import is_about_the_row, may_be_answers

#: What stands beside the data and the answers of every annotation.
_OWN = ("annotator", "annotation_id", "lead_time")
#: Keys of an answer that is no text, which hold a rating.
_VALUES = ("rating", "number", "choices")

#: Place and content of each annotation.
Records = Sequence[tuple[str, Mapping[str, Any]]]


def _claims(content: RatingContent) -> FormClaim | None:
    first = content.first
    return CERTAIN if isinstance(first, dict) and all(key in first for key in _OWN) else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    records = list(content.records())
    for where, record in records:
        if "annotator" not in record:
            raise InputError(
                "this is not the form of Label Studio's JSON-MIN (it has no annotator)",
                where=where,
                todo="export it again, or name another form with `form`",
            )
    texts = _texts(content, records)
    for where, record in records:
        said = of_row(content, record)
        for field in _answer_fields(record):
            kind = "comment" if field in texts or _is_typed(record[field]) else ""
            answer = _answer(content, where, record[field])
            if answer is None:
                continue
            item = needed_item(content, where, record)
            try:
                rater = "" if record["annotator"] is None else account_name(record["annotator"])
            except KeyError as error:
                raise no_export("Label Studio's JSON-MIN", where, error) from error
            yield RatedCell(where, field, item=item, rater=rater, metric=field, value=answer, kind=kind, **said)


def _answer_fields(record: Mapping[str, Any]) -> list[str]:
    """The fields that hold answers: they stand behind the task's data and number, and before who answered."""
    before = list(takewhile(lambda field: field != "annotator", record))
    return before[before.index("id") + 1 :] if "id" in before else before


def _texts(content: RatingContent, records: Records) -> set[str]:
    """The fields of which the answers are texts that somebody wrote.
    AmbiguousError where fields may be answers or the task's data."""
    answers: dict[str, list[str]] = {}
    for where, record in records:
        fields = [field for field in _answer_fields(record) if isinstance(record[field], str)]
        chosen = content.reading.metrics is not None
        if chosen:
            fields = list(filter(content.reading.is_chosen, fields))
        # A task whose data begins with a number of its own has all its data behind it.
        if not chosen and fields and next(iter(record)) in ("id", fields[0]):
            raise AmbiguousError(
                f"{quoted_columns(fields)} may be answers or the task's own data",
                where=where,
                todo="name the answers with `metrics=NAME`, or export the annotations as JSON in place of JSON-MIN: "
                "there the two are apart",
            )
        for field in fields:
            answers.setdefault(field, []).append(record[field])
    texts = {field for field, given in answers.items() if is_about_the_row(field) or not may_be_answers(given)}
    labels = [field for field in answers if field not in texts]
    if labels:
        content.account.remark(
            "JSON-MIN doesn't tell a label that was chosen from a text that was typed: taken for labels is what stands "
            f"under {quoted_columns(labels)}."
        )
    return texts


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_typed(value: Any) -> bool:
    """Whether an answer is texts that say so themselves."""
    return value != [] and all(
        isinstance(part, dict) and "text" in part and part.keys().isdisjoint(("start", *_VALUES))
        for part in _parts(value)
    )


def _answer(content: RatingContent, where: str, value: Any) -> str | None:
    """What was answered to one question; None, and counted, where that is no rating and no text."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    parts = _parts(value)
    if _is_typed(value):
        return "\n".join(str(line) for part in parts for line in _parts(part["text"]))
    leave = content.account.count_left_out
    if len(parts) != 1 or not isinstance(parts[0], dict) or "start" in parts[0]:
        for _ in parts:
            leave(SPANS, where)
        return None
    key = next((key for key in _VALUES if key in parts[0]), None)
    answer = None if key is None else answer_text(parts[0][key])
    if answer is None:
        leave(SPANS if key is None else SETS, where)
    return answer


FORM = RatingForm(
    name="label_studio_min",
    title="Label Studio's export as JSON-MIN",
    description=(
        "An object an annotation: the task's data, its `id`, the answers by the names of their tags, and "
        "`annotator`. Choices, ratings and numbers between the two are taken, the item and the rater as of the "
        "export as JSON. A text that was typed looks like a label that was chosen: what is long, or nearly always "
        "another, is a comment, and the account names what was taken for labels. Where the task's data has an `id` "
        "before all else, nothing tells data from answers, and reading stops. Skipped tasks are not in such a file."
    ),
    example=(
        '[{"transcript_id": "a-1", "text": "…", "id": 1, "empathy": [{"rating": 4}], "warm": "yes", "annotator": 3, '
        '"annotation_id": 11, "created_at": "2025-03-01T10:00:00Z", "updated_at": "2025-03-01T10:00:00Z", '
        '"lead_time": 9.5},\n'
        '{"transcript_id": "a-1", "text": "…", "id": 1, "empathy": [{"rating": 3}], "warm": "no", "annotator": 4, '
        '"annotation_id": 12, "created_at": "2025-03-01T10:10:00Z", "updated_at": "2025-03-01T10:10:00Z", '
        '"lead_time": 7.1}]\n'
    ),
    example_name="label-studio-min.json",
    claims=_claims,
    read=_read,
    priority=10,
)
