"""Files of ratings, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bedside.ratings.rating_files import RatingFile, read_rating_file
from bedside.ratings.rating_reading import RatingReading


def written(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def of_cells(folder: Path, cells: Iterable[object], separator: str = ",") -> Path:
    """A table of anna's ratings, an item a cell."""
    rows = [f'{number}{separator}anna{separator}"{cell}"' for number, cell in enumerate(cells)]
    return written(folder, "\n".join([separator.join(("item", "rater", "value")), *rows, ""]))


def read_file(path: Path, **options: Any) -> RatingFile:
    return read_rating_file(path, RatingReading(**options))


def values(file: RatingFile) -> list[object]:
    """The number of each rating, or its label."""
    rows = file.ratings.select("value", "label").iter_rows()
    return [label if value is None else value for value, label in rows]


def remarks(file: RatingFile) -> str:
    return " ".join(file.account.file.remarks)
