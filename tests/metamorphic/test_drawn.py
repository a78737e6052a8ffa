"""What figures draw: the numbers of the tables, whatever the order of rows and the names of conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.reports.figure_kind import styled
from bedside.reports.table import Tables
from tests.metamorphic.changes import Variant, ids_renamed, shuffled, systems_renamed
from tests.metamorphic.questions import JUDGE
from tests.metamorphic.studies import Study, study, written_run
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
FIGURES = ("points", "agreement", "scatter", "bland_altman", "confusion", "strengths", "drift")
#: A mark: what it is, where, and how it looks.
Mark = tuple[Any, ...]
#: A study of a seed, and its run.
Written = Callable[[int], tuple[Study, Run]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A study by its seed, and its run, made once."""

    @cache
    def of_seed(seed: int) -> tuple[Study, Run]:
        made = study(seed)
        return made, written_run(made, tmp_path_factory.mktemp("study"))

    return of_seed


@lru_cache(maxsize=16)
def _panels(run: Path, name: str) -> list[Any]:
    """The panels of a figure, as matplotlib has them; none where it has nothing to show."""
    import matplotlib.pyplot as plt

    try:
        drawing = bedside.figure(run, name)
    except DataError:
        return []
    with styled():
        figure = drawing.draw()
    plt.close(figure)
    return [axis for axis in figure.axes if axis.get_visible()]


def _rounded(numbers: Any) -> tuple[float, ...]:
    return tuple(np.round(np.asarray(numbers, dtype=float), 9).ravel())


def _line(line: Any) -> Mark:
    """A line, or the dots on it, which are there in any order."""
    points = list(zip(_rounded(line.get_xdata()), _rounded(line.get_ydata()), strict=True))
    in_order = sorted(points) if line.get_linestyle() == "None" else points
    return "line", tuple(in_order), line.get_marker(), line.get_color()


def _dots(dots: Any) -> Mark:
    """Points and their sizes, or the shades of tiles."""
    if dots.get_array() is not None:
        return "tiles", _rounded(dots.get_array())
    return "dots", tuple(map(_rounded, dots.get_offsets())), _rounded(dots.get_sizes())


def marks(run: Run, name: str, renamed: Mapping[str, str]) -> list[list[Mark]]:
    """What stands in each panel of a figure, in no order, with the first names of what is called otherwise."""
    panels = []
    for axis in _panels(run.path, name):
        texts = [*axis.get_xticklabels(), *axis.get_yticklabels(), *axis.texts]
        words = [*(text.get_text() for text in texts), axis.get_title("left"), axis.get_xlabel()]
        for new, old in renamed.items():
            words = [word.replace(new, old) for word in words]
        found: list[Mark] = [("word", word) for word in words]
        found += [_line(line) for line in axis.lines]
        found += [
            _dots(dots) for dots in axis.collections if hasattr(dots, "get_sizes") or dots.get_array() is not None
        ]
        panels.append(sorted(found, key=repr))
    return panels


def _shuffled_and_renamed(made: Study, folder: Path, seed: int) -> Variant:
    """Other ids, in another order of letters, and rows in another order."""
    return ids_renamed(shuffled(made, seed), folder, seed)


def test_neither_order_nor_names_move_a_mark(written: Written, tmp_path: Path) -> None:
    for seed in range(budget(1, 24)):
        made, run = written(seed)
        before = {name: marks(run, name, {}) for name in FIGURES}
        assert all(before[name] for name in FIGURES if name not in ("drift", "strengths"))
        for change in (_shuffled_and_renamed, systems_renamed)[: budget(1, 2)]:
            variant = change(made, tmp_path / f"{seed}-{change.__name__}", seed)
            for name in FIGURES:
                assert marks(variant.run, name, variant.renamed) == before[name], (seed, change, name)


def _forest(axis: Any) -> set[tuple[float, ...]]:
    """The marks of a panel that stand on intervals: value, low and high."""
    ends = {
        line.get_ydata()[0]: tuple(line.get_xdata())
        for line in axis.lines
        if line.get_marker() == "None" and len(set(line.get_ydata())) == 1
    }
    marked = [line for line in axis.lines if len(line.get_xdata()) == 1]
    return {_rounded((line.get_xdata()[0], *ends[line.get_ydata()[0]])) for line in marked}


def _written(tables: Tables[None], *fields: str) -> set[tuple[float, ...]]:
    """Value, low and high of the records that have all three."""
    told = [[record.get(field) for field in fields] for table in tables for record in table.records]
    return {_rounded(numbers) for numbers in told if None not in numbers}


#: Figure → the table whose numbers it draws, and their fields.
_OF_TABLES = {
    "points": ("results", "value", "low", "high"),
    "agreement": ("agreement", "estimate", "low", "high"),
    "strengths": ("strengths", "chance", "chance_low", "chance_high"),
}


def test_what_is_drawn_stands_in_the_tables(written: Written) -> None:
    for seed in range(budget(1, 40)):
        _, run = written(seed)
        for figure, (table, *fields) in _OF_TABLES.items():
            drawn = [_forest(axis) for axis in _panels(run.path, figure)]
            if not drawn:
                assert figure == "strengths"
                continue
            told = _written(bedside.tables(run, [table]), *fields)
            assert all(drawn), (seed, figure)
            assert set().union(*drawn) <= told, (seed, figure)
        for axis in _panels(run.path, "drift")[:1]:
            told = _written(bedside.tables(run, ["drift"]), "change_percent")
            assert {_rounded([change]) for change in _dots(axis.collections[0])[1]} <= told, seed


def test_judge_beside_people_is_drawn_as_their_means_by_hand(written: Written) -> None:
    for seed in range(budget(1, 40)):
        made, run = written(seed)
        given: dict[tuple[str, bool], list[int]] = {}
        for row in made.ratings:
            # Of two passes of a judge the first counts where people and judge stand beside each other.
            if row["metric"] == "empathy" and row["replicate"] == 0:
                given.setdefault((row["item"], row["rater"] == JUDGE), []).append(row["value"])
        both = [item for item, by_judge in given if not by_judge and (item, True) in given]
        people, judge = (np.array([np.mean(given[item, by_judge]) for item in both]) for by_judge in (False, True))
        panels = {name: _of_empathy(run, name) for name in ("scatter", "bland_altman", "confusion")}
        points, counts = np.unique(np.column_stack([people, judge]).round(9), axis=0, return_counts=True)
        (dots,) = panels["scatter"].collections
        assert _rounded(dots.get_offsets()) == _rounded(points)
        assert _rounded(dots.get_sizes()) == _rounded(18 * np.sqrt(counts))
        assert f"n = {len(both)}" in panels["scatter"].get_title("left")
        bias, half = np.mean(judge - people), 1.96 * np.std(judge - people, ddof=1)
        across = {_rounded(line.get_ydata())[0] for line in panels["bland_altman"].lines}
        assert across == set(_rounded([0, bias, bias - half, bias + half]))
        matrix = np.zeros((5, 5), dtype=int)
        # Halves go to the lower level.
        for place in zip(*(np.ceil(means - 0.5).astype(int) - 1 for means in (people, judge)), strict=True):
            matrix[place] += 1
        assert [int(text.get_text()) for text in panels["confusion"].texts] == matrix.ravel().tolist()


def _of_empathy(run: Run, name: str) -> Any:
    (panel,) = (axis for axis in _panels(run.path, name) if axis.get_title("left").startswith("Empathy"))
    return panel
