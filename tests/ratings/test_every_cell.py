"""Every cell of a table of ratings is a rating, a comment, an identifier or a loss that is named: none vanishes."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from bedside.core.errors import InputError
from bedside.ratings.rated_cells import is_no_answer
from bedside.ratings.rating_files import RatingFile, read_rating_file

Table = list[list[str]]

#: A table of each form: rows of column names, and how many they are.
TABLES: dict[str, tuple[int, Table]] = {
    "long": (1, [
        ["item", "rater", "metric", "value", "reason"],
        *([item, who, metric, str(at + 1), f"so {at} it is"]
          for at, (item, who, metric) in enumerate(
              (item, who, metric) for item in "ab" for who in ("anna", "ben") for metric in ("warmth", "pace")
          )),
    ]),
    "by_rater": (1, [
        ["item", "metric", "rater 1", "rater 2", "mean"],
        ["a", "warmth", "4", "3", "3.5"], ["b", "warmth", "5", "2", "3.5"], ["a", "pace", "1", "2", "1.5"],
    ]),
    "by_metric": (1, [
        ["item", "rater", "warmth", "pace", "comment", "date"],
        ["a", "anna", "4", "3", "kind and calm all along", "2025-03-01"],
        ["a", "ben", "5", "2", "asks and asks and asks", "2025-03-02"],
        ["b", "anna", "1", "2", "no time for the patient", "2025-03-03"],
    ]),
    "metrics_over_raters": (2, [
        ["item", "warmth", "", "pace", "", "note"], ["", "rater 1", "rater 2", "rater 1", "rater 2", ""],
        ["a", "4", "3", "2", "1", "late"], ["b", "5", "2", "2", "3", "loud"],
    ]),
    "pairs": (1, [
        ["first", "second", "rater", "metric", "preferred", "place"],
        ["a", "b", "anna", "warmth", "first", "home"], ["b", "c", "anna", "warmth", "tie", "ward"],
        ["a", "c", "ben", "warmth", "second", "home"],
    ]),
    "qualtrics": (3, [
        ["StartDate", "Status", "ResponseId", "RecipientEmail", "transcript_id", "Q1", "Q2"],
        ["Start Date", "Response Type", "Response ID", "Recipient Email", "Conversation", "How warm?", "How fast?"],
        *[[f'{{"ImportId":"{at}"}}' for at in range(7)]],
        ["2025-03-01", "IP Address", "R_1", "anna@x.org", "a", "4", "5"],
        ["2025-03-01", "IP Address", "R_2", "ben@x.org", "a", "3", "5"],
        ["2025-03-01", "Survey Preview", "R_3", "ben@x.org", "b", "3", "5"],
    ]),
}  # fmt: skip
#: Texts that may stand in place of an answer.
TEXTS = ("NA", "", "99", "-9", "good", "4,5", "see below", "n/a", "strongly agree")


def changed(table: Table, names: int, chance: random.Random) -> Table:
    """The table with one to three things changed as people change them."""
    rows = [list(row) for row in table]
    for _ in range(chance.randint(1, 3)):
        width, kind = len(rows[0]), chance.randrange(6)
        column, row = chance.randrange(width), chance.randrange(names, len(rows))
        if kind == 0 and width > 3:
            for each in rows:
                del each[column]
        elif kind == 1:
            rows[chance.randrange(names)][column] = chance.choice(("Session", "mood", "ben", "", "Notes", "Mood (1-5)"))
        elif kind == 2:
            order = chance.sample(range(width), width)
            rows = [[each[at] for at in order] for each in rows]
        elif kind == 3:
            rows[row][column] = ""
        elif kind == 4:
            for at, each in enumerate(rows):
                each.append(chance.choice(("extra", "")) if at == 0 else "" if at < names else chance.choice(TEXTS))
        else:
            rows[row][column] = chance.choice(TEXTS)
    return rows


def check_accounted(path: Path, table: Table, names: int, file: RatingFile) -> None:
    """See that whatever stands below the names was taken, or is counted and named."""
    account = file.account.file
    taken = set(account.columns.values())
    by_place = Counter(file.places)
    comments = set(file.account.comments.taken)
    trials = account.left_out["previews of the survey"]
    assert len(by_place) == file.ratings.height
    unread: Counter[str] = Counter()
    header = table[0]
    for number, row in enumerate(table[names:], names + 1):
        if "Survey Preview" in row and trials:
            continue
        for at, cell in enumerate(row):
            name = header[at].strip()
            below = table[1][at].strip() if names == 2 else ""
            above = next((table[0][left] for left in range(at, -1, -1) if table[0][left].strip()), "")
            pair = ", ".join(filter(None, (above, below)))
            places = {f"{path}:{number}", f"{path}:{number} column {name}", f"{path}:{number} column {pair}"}
            known = (
                places & by_place.keys()
                or name in taken or below in taken
                or {name, below, pair, f"column {at + 1}, without a name"} & {*account.unused, *comments}
                or not cell.strip()
            )  # fmt: skip
            if not known and is_no_answer(cell):
                known = file.account.empty[cell.strip()] > 0
            if not known:
                unread[f"{name}|{below}: {cell}"] += 1
    assert not unread, (unread, account)


@pytest.mark.parametrize("form", TABLES)
def test_no_cell_vanishes(form: str, tmp_path: Path) -> None:
    names, table = TABLES[form]
    chance = random.Random(form)
    read = 0
    for number in range(120):
        rows = changed(table, names, chance) if number else table
        path = tmp_path / f"{number}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        refused = None
        try:
            ratings = read_rating_file(path)
        except InputError as error:
            refused = error
        if refused is not None:
            assert number, refused
            assert refused.where, refused
            assert "\n" not in str(refused)
            continue
        read += 1
        check_accounted(path, rows, names, ratings)
    assert read > 10
