"""Files of ratings, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError, InputError
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


def check_refusal(
    path: Path, *named: str, where: str | None = None, error: type[InputError] = InputError, **options: Any
) -> None:
    """See that reading stops with one line, which names these and the place."""
    with pytest.raises(error) as caught:
        read_file(path, **options)
    message = str(caught.value)
    assert [name for name in named if name not in message] == []
    assert where is None or caught.value.where == where
    assert "\n" not in message


def check_question(path: Path, *answers: str, where: str | None = None, **options: Any) -> None:
    """See that reading stops with a question that names these answers."""
    check_refusal(path, *answers, where=where, error=AmbiguousError, **options)


def values(file: RatingFile) -> list[object]:
    """The number of each rating, or its label."""
    rows = file.ratings.select("value", "label").iter_rows()
    return [label if value is None else value for value, label in rows]


def remarks(file: RatingFile) -> str:
    return " ".join(file.account.file.remarks)
