"""What Qualtrics exports: three rows of column names, then one row a response."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bedside.ratings.form_contract import CERTAIN, FormClaim, RatingForm
from bedside.ratings.forms.by_metric import FORM as BY_METRIC
from bedside.ratings.rated_cell import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.survey_loops import looped_columns, unfolded
from bedside.support.errors import InputError

#: What stands in the third row of column names.
_IMPORT = re.compile(r"""\s*\{\s*["']ImportId["']""")
#: Values of the column Status of responses that nobody gave to be counted.
_TRIALS = frozenset(("survey preview", "survey test", "1", "2"))


def _header_rows(content: RatingContent) -> int:
    """How many rows below the first are column names, too; 0 where it is no such export."""
    top = content.first_rows
    if len(top) > 2 and all(map(_IMPORT.match, filter(None, top[2]))):
        return 2
    if len(top) < 2 or "ResponseId" not in top[0]:
        return 0
    position = top[0].index("ResponseId")
    return int(position < len(top[1]) and top[1][position].strip() == "Response ID")


def _claims(content: RatingContent) -> FormClaim | None:
    return CERTAIN if _header_rows(content) else None


def _read(content: RatingContent) -> Iterator[RatedCell]:
    more = _header_rows(content)
    if content.table is None or not more:
        raise InputError(
            "this is no export of Qualtrics",
            where=content.place,
            todo="export it as CSV, or name another form with `form`",
        )
    header, rows = content.table
    kept = rows[more:]
    if "Status" in header:
        position = header.index("Status")
        kept = [row for row in kept if row[1][position].strip().casefold() not in _TRIALS]
        for where, row in rows[more:]:
            if row[position].strip().casefold() in _TRIALS:
                content.account.count_left_out("previews of the survey", where)
    answered = content.with_table(header, kept)
    loops = looped_columns(header, [cell for _, row in rows[1:more] for cell in row])
    if loops:
        answered = unfolded(answered, loops)
    columns = answered.columns
    if columns is not None and columns.rated and "rater" not in columns.names:
        raise columns.missing("rater", content.place)
    yield from BY_METRIC.read(answered)


FORM = RatingForm(
    name="qualtrics",
    title="an export of Qualtrics",
    description=(
        "Names, texts and import ids of the questions in the first three rows, then a row a response: `item` is "
        "a question or "
        "embedded data, the rater `RecipientEmail` or a question, and every other question that can hold ratings a "
        "metric. Previews of the survey are left out and counted; the texts of the questions are lost. Where questions "
        "are asked in loops (`1_Q3`, `2_Q3`), each loop of a response is a row of its own, and its number the item "
        "unless a looped question is: name that with `columns=item=Q1`. What was asked outside of the loops then "
        "holds no rating, and is named."
    ),
    example=(
        "StartDate,Status,ResponseId,RecipientEmail,transcript_id,Q1,Q2\n"
        "Start Date,Response Type,Response ID,Recipient Email,Conversation,How empathic?,How clear?\n"
        '"{""ImportId"":""startDate""}","{""ImportId"":""status""}","{""ImportId"":""_recordId""}",'
        '"{""ImportId"":""recipientEmail""}","{""ImportId"":""transcript_id""}","{""ImportId"":""QID1""}",'
        '"{""ImportId"":""QID2""}"\n'
        "2025-03-01 10:00:00,IP Address,R_1,anna@example.org,a-1,4,5\n"
        "2025-03-01 10:10:00,IP Address,R_2,ben@example.org,a-1,3,5\n"
    ),
    example_name="qualtrics.csv",
    claims=_claims,
    read=_read,
    priority=10,
)
