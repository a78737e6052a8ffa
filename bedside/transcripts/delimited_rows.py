"""Rows of text files with a delimiter (CSV, TSV), as text."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import HEAD_SIZE, MAX_RECORD, ByteSource

#: Longest row of several lines, in bytes.
MAX_ROW = 4 * MAX_RECORD
#: Rows of a table's beginning that are looked at.
SAMPLE = 60
#: What may stand between the cells.
MARKS = ",\t;"


def first_line_mark(source: ByteSource) -> str:
    """The delimiter that the first line has most of."""
    line = source.head.partition(b"\n")[0]
    return max(MARKS, key=lambda mark: line.count(mark.encode()))


def delimiter(source: ByteSource) -> str:
    """The delimiter that divides most of the first lines into rows of equally many cells: above a header may stand
    anything, and a cell may be of many lines."""
    by_first_line = first_line_mark(source)
    if source.span is not None:
        # A piece begins with the header, and is divided only where that tells.
        return by_first_line

    def evenness(mark: str) -> tuple[int, int, bool]:
        rows, lines = Counter[int](), Counter[int]()
        before = 0
        for number, row in sampled_rows(source, mark):
            if len(row) > 1:
                rows[len(row)] += 1
                lines[len(row)] += number - before
            before = number
        width = max(rows, key=lambda width: rows[width], default=0)
        return lines[width] if rows[width] > 1 else rows[width], width, mark == by_first_line

    return max(MARKS, key=evenness)


def sampled_rows(source: ByteSource, mark: str) -> list[tuple[int, list[str]]]:
    """Number of the last line, and cells, of the first rows that aren't blank, as far as the file's head has them."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    text = source.head.decode("utf-8", "replace")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    sample = []
    try:
        for row in islice((row for row in reader if any(row)), SAMPLE + 1):
            sample.append((reader.line_num, row))
    except csv.Error:
        return sample  # A long cell may be cut.
    # The last row may be cut.
    return sample[:-1] if len(source.head) >= HEAD_SIZE and len(sample) > 1 else sample[:SAMPLE]


def delimited_rows(source: ByteSource, mark: str) -> Iterator[tuple[int, list[str] | InputError]]:
    """Number of the last line, and cells, of each row that isn't blank; an error in place of a bad row.

    Args:
        source: the file.
        mark: its delimiter.
    """
    # The module's only limit on a cell is one for the whole process, and it is lower than long dialogues.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    damage: list[tuple[int, InputError]] = []
    row_bytes = [0]
    reader = csv.reader(_lines(source, damage, row_bytes), delimiter=mark, strict=True)
    while True:
        row_bytes[0] = 0
        try:
            row = next(reader, None)
        except csv.Error as error:
            number = source.lines_before + reader.line_num
            damage.append(
                (
                    number,
                    InputError(
                        f"the table can't be read ({error})",
                        where=f"{source.name}:{number}",
                        todo="mend the quotes of this row",
                    ),
                )
            )
            row = []
        if damage:
            yield damage[0]
            damage.clear()
        elif row is None:
            return
        elif any(row):
            yield source.lines_before + reader.line_num, row


def _lines(source: ByteSource, damage: list[tuple[int, InputError]], row_bytes: list[int]) -> Iterator[str]:
    """The lines; ``row_bytes`` counts the bytes of those that may yet be one row."""
    if source.whole is not None and b"\x00" not in source.whole:
        try:
            yield from io.StringIO(source.whole.decode(), newline="")
            return
        except UnicodeDecodeError:
            pass  # Only the lines that are bad shall be lost.
    with source.open() as file:
        number = source.lines_before
        while line := source.unpacking(file.readline, MAX_RECORD + 1):
            number += 1
            row_bytes[0] += len(line)
            if row_bytes[0] > MAX_ROW:
                raise InputError(
                    f"a row doesn't end within {MAX_ROW // 2**20} MB", where=f"{source.name}:{number}",
                    todo="mend its quotes",
                )  # fmt: skip
            if len(line) > MAX_RECORD:
                damage.append((number, source.too_long(number)))
                source.pass_over(line, file)
                yield "\n"
                continue
            if b"\x00" in line:
                damage.append(
                    (
                        number,
                        InputError(
                            "the row holds a NUL byte",
                            where=f"{source.name}:{number}",
                            todo="save the table as UTF-8 text",
                        ),
                    )
                )
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                damage.append((number, source.undecodable(line, error, number)))
                yield line.decode("utf-8", "replace")
