"""The order of a transcript's rows: by their numbers, or by the times at which they were said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from bedside.transcripts.transcript_maker import TranscriptMaker

#: Names of columns that number what was said, without case, spaces and underscores.
_NUMBERS = frozenset(
    "index line lineno linenr linenumber messageindex msgindex order position seq sequence turn turnid turnindex "
    "turnno turnnr turnnumber utteranceid utteranceindex utterancenumber".split()
)
#: Words in the names of those that say when it was said, and words beside which they say something else.
_TIMES = frozenset(
    """
    created createdat date datetime epoch heure hora send sent sentat start starttime time timestamp ts uhrzeit unix
    unixtime zeit
    """.split()
)
_NO_TIMES = frozenset("birth duration elapsed end ended latency reaction response speaking talk total update".split())
#: More digits are no number of a turn.
_DIGITS = 40
_PLAIN = re.compile(rf"(-?\d{{1,{_DIGITS}}})(?:\.(\d{{1,{_DIGITS}}}))?([a-z]?)")
_BEHIND = re.compile(rf"(.*\D)(\d{{1,{_DIGITS}}})([a-z]?)", re.DOTALL)
_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d\d(?:[.,]\d+)?)(?:\s*([ap])\.?m\.?)?", re.IGNORECASE)
_DATED = re.compile(r"(\d{1,2})([./])(\d{1,2})[./](\d{4}),?\s+(.+)")
#: Seconds since 1970 are no fewer, and those of a recording no more.
_EPOCH = 1e8


def by_number(values: Sequence[str]) -> list[Any] | None:
    """What orders values as their numbers do: ``7``, ``7.0``, ``2a``, or behind one beginning (``T7``); None where they
    have none."""
    if all(map(str.isdecimal, values)) and max(map(len, values), default=0) <= _DIGITS:
        return list(map(int, values))
    plain = [_PLAIN.fullmatch(value.strip()) for value in values]
    parts = [match.groups() for match in plain if match is not None]
    if len(parts) == len(values):
        # 1.10 is no number that a program wrote: it is the tenth part of 1.
        numbered = any(len(part or "") > 1 and part[-1] == "0" for _, part, _ in parts)
        return [
            (int(number), int(part or 0) if numbered else float(f"0.{part or 0}"), letter)
            for number, part, letter in parts
        ]
    behind = [_BEHIND.fullmatch(value.strip()) for value in values]
    if len({match and match[1] for match in behind}) > 1 or not all(behind):
        return None
    return [(int(match[2]), 0, match[3]) for match in behind if match is not None]


def in_order(
    source: TranscriptMaker, group: list[tuple[str, list[str]]], columns: Mapping[str, int], *, is_table: bool = True
) -> list[tuple[str, list[str]]]:
    """A transcript's rows in order of a column that numbers them, or else of one that dates them.

    Rows that neither orders stay as they are, which the account says where a column runs backwards.

    Args:
        source: the file.
        group: place and cells of each row.
        columns: the places of columns that may order them.
        is_table: whether these are rows of a table, and no messages: those are only reordered where they are numbered
            or stand backwards, for when a message was kept is not when it was said.
    """
    for tells_order, keys_of in ((_is_number, by_number), (_is_time, _by_time)):
        for name, at in columns.items():
            if not tells_order(name):
                continue
            keys = keys_of([row[at] for _, row in group])
            if keys is None:
                continue
            if all(one <= other for one, other in pairwise(keys)):
                return group
            distinct = len(set(keys))
            # What has no date may go on behind midnight, or begin again.
            numbered = tells_order is _is_number
            sure = numbered or keys[0] >= _EPOCH
            if keys == sorted(keys, reverse=True) and (sure or distinct > 2):
                source.account.remark(f"The rows stand backwards by {name!r}, and are read in its order.")
                return group[::-1]
            if sure and distinct == len(keys) and (numbered or is_table):
                source.account.remark(f"The rows are read in the order of {name!r}.")
                return [group[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]
            source.account.remark(f"{name!r} runs backwards and doesn't order the rows: they are read as they stand.")
            return group
    return group


def _is_number(name: str) -> bool:
    return re.sub(r"[\s_.-]+", "", name).casefold() in _NUMBERS


def _is_time(name: str) -> bool:
    words = set(re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))
    return not words.isdisjoint(_TIMES) and words.isdisjoint(_NO_TIMES)


def _by_time(values: Sequence[str]) -> list[float] | None:
    """Seconds, since 1970 where all have a date; None where they can't be told."""
    for day_first in (False, True):
        moments = [_moment(value.strip(), day_first) for value in values]
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(values) and len({moment >= _EPOCH for moment in known}) == 1:
            return known
    return None


def _moment(text: str, day_first: bool) -> float | None:
    dated = _DATED.fullmatch(text)
    try:
        if dated is not None:
            one, mark, other, year, clock = dated.groups()
            day, month = (one, other) if day_first or mark == "." else (other, one)
            seconds = _moment(re.sub(r"^(\d+:\d\d)(?!:)", r"\1:00", clock), day_first)
            start = datetime(int(year), int(month), int(day), tzinfo=UTC).timestamp()
            return None if seconds is None else start + seconds
        clocked = _CLOCK.fullmatch(text)
        if clocked is not None:
            hours, minutes, rest, half = clocked.groups()
            if half is not None and hours is None:
                hours, minutes, rest = minutes, rest, "0"
            hour = int(hours or 0) % 12 + 12 * (half in "pP") if half else int(hours or 0)
            return hour * 3600 + int(minutes) * 60 + float(rest.replace(",", "."))
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
