"""One cell of ratings on its way from a file to the table."""

from __future__ import annotations

from typing import NamedTuple


class RatedCell(NamedTuple):
    """What a file says of one rating, all of it as text; what it doesn't say is empty.

    Attributes:
        where: file and row, for messages.
        column: the column or key of the file that the rating stands in: a person writes numbers in one way there.
        item: the transcript.
        rater: who rated.
        metric: on what; empty where the file has one metric alone and doesn't name it.
        value: the rating.
        second: of two transcripts that were compared, the one shown second; ``item`` is the first, and ``value`` says
            which is preferred.
        kind: ``comment`` where the cell holds what somebody remarked, in a column of comments, and no rating.
        system, case, turn, replicate, round, drawn, reason: as the columns of the ratings table, the turn as a number.
    """

    where: str
    column: str
    item: str
    rater: str
    metric: str
    value: str
    system: str = ""
    case: str = ""
    turn: str = ""
    replicate: str = ""
    round: str = ""
    drawn: str = ""
    reason: str = ""
    second: str = ""
    kind: str = ""
