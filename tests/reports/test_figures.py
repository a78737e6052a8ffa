"""Figures: each is drawn where the run holds what it shows, the same bytes each time, with no date in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, known_scale, open_ratings_view
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_parts
from bedside.reports.figure_kind import COLOURS, DASHES, HATCHES, MARKERS
from bedside.reports.figures import FIGURES, Drawing
from bedside.reports.report_settings import ReportSettings
from tests.reports.made import made_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RatingsView]:
    """Ratings for three suites, by suite."""
    suites = ("calm-it", "medconceal", "multisense")
    return {
        suite: open_ratings_view(made_run(tmp_path_factory.mktemp(suite), suite, cases=3).path)
        for suite in suites
    }


@pytest.fixture(scope="module")
def drawings(views: dict[str, RatingsView]) -> dict[str, Drawing]:
    """The figures of three suites, by suite and name."""
    found = {}
    for suite, view in views.items():
        for part in make_parts(view):
            found |= {f"{suite}/{drawing.name}": drawing for drawing in part.figures}
    return found


def test_suites_have_their_figures(drawings: dict[str, Drawing]) -> None:
    assert set(drawings) == {
        "calm-it/ratings", "calm-it/drift", "calm-it/sustain-talk", "calm-it/agreement", "medconceal/by-turn",
        "medconceal/outcomes", "medconceal/agreement", "medconceal/confusion", "medconceal/scatter",
        "medconceal/bland-altman", "multisense/ratings", "multisense/length", "multisense/agreement",
        "multisense/confusion", "multisense/scatter", "multisense/bland-altman",
    }  # fmt: skip


def test_same_data_same_bytes_and_no_date(drawings: dict[str, Drawing]) -> None:
    for name in ("calm-it/drift", "medconceal/by-turn", "medconceal/scatter"):
        one = drawings[name]
        found = one.rendered()
        assert found == one.rendered(), name
        svg = one.svg()
        assert found["svg"] == svg.encode(), "whatever formats are asked for beside it"
        assert not re.search(r"20\d\d-\d\d", svg)
        assert b"CreationDate" not in found["pdf"]
        assert b"Software" not in found["png"]
        assert found["png"][:4] == b"\x89PNG"


def test_a_system_that_others_are_held_against_is_shown_across(views: dict[str, RatingsView]) -> None:
    view = views["multisense"]
    view = replace(
        view,
        ratings=view.ratings.filter(
            view.ratings["metric"].is_in(["perceived_severity", "conversation_flow"])
        ),
    )
    settings = ReportSettings(against="brisk_2")
    (bars,) = (
        drawing
        for part in make_parts(view, settings=settings)
        for drawing in part.figures
        if drawing.name == "ratings"
    )
    points = FIGURES.load("points")
    strips = points.build(view, 0, settings.applied(points.options()))
    assert strips is not None
    for drawing in (bars, strips):
        assert drawing.notes[-1] == "Dotted across: the mean of brisk_2."
        assert "stroke-dasharray" in drawing.svg()
    for against in (None, "nobody"):
        plain = points.build(view, 0, points.options.model_validate({"against": against}))
        assert plain is not None
        assert "stroke-dasharray" not in plain.svg()
        assert len(plain.notes) == 1


def test_names_are_no_formulas(drawings: dict[str, Drawing]) -> None:
    text = drawings["multisense/ratings"].svg()
    assert "steady &amp; sure" in text
    assert "brisk_2" in text


def test_drawing_leaves_nothing_in_a_home_but_a_cache(tmp_path: Path) -> None:
    own = ("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    code = "from bedside.reports.figure_kind import new_figure, styled\nwith styled(): new_figure(1, 1)"
    subprocess.run([sys.executable, "-c", code], env={**environment, "HOME": str(tmp_path)}, check=True)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*")] == [
        ".cache/bedside/matplotlib"
    ]


def awkward() -> RatingsView:
    """One system without letters matplotlib's own fonts have, one with dollars, one without any value."""
    rows: list[Any] = []
    for system, values in (("中文", [1.0, 2.0]), ("$a_b$ ^", [3.0]), ("none", [None])):
        for case, value in enumerate(values):
            for rater in ("human:x", "judge:m"):
                error = None if value is not None else "gone"
                head = (f"{system}{case}", system, f"c{case}", "transcript", "empathy", rater, 0)
                rows.append((*head, value, None, None, error))
    scale = known_scale("empathy")
    assert scale is not None
    return RatingsView(frame_of(rows), {"empathy": scale}, None, "ratings")


@pytest.mark.parametrize("kind", FIGURES.names())
def test_little_data_is_drawn_or_left_out(kind: str) -> None:
    figure = FIGURES.load(kind)
    drawing = figure.build(awkward(), 0, figure.options.model_validate({"metrics": ["empathy"]}))
    if drawing is not None:
        assert drawing.svg().startswith("<svg")
        assert drawing.title
        assert drawing.notes
    empty = RatingsView(frame_of([]), {}, None, "ratings")
    assert figure.build(empty, 0, figure.options.model_validate({"metrics": ["empathy"]})) is None


def test_systems_are_told_apart_without_colour() -> None:
    assert len(set(MARKERS)) == len(set(HATCHES)) == len(set(map(str, DASHES))) == len(COLOURS) == 8

    def grey(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.2126, 0.7152, 0.0722]))

    shades = [grey(colour) for colour in COLOURS[:3]]
    assert min(abs(a - b) for i, a in enumerate(shades) for b in shades[:i]) > 10


def test_scatter_and_confusion_show_each_unit_once() -> None:
    from bedside.reports.figures.confusion import _counts
    from bedside.reports.rated_pairs import PairsOptions, pairs_of

    (pairs,) = pairs_of(awkward(), PairsOptions.model_validate({"metrics": ["empathy"]}), labels=True)
    assert sorted(pairs.people) == sorted(pairs.rated) == [1, 2, 3]
    assert _counts(pairs).trace() == _counts(pairs).sum() == 3


def test_a_figure_is_written_for_print_and_screen(drawings: dict[str, Drawing], tmp_path: Path) -> None:
    from bedside.reports.build import write_figures

    drawn = {"by-turn": drawings["medconceal/by-turn"].rendered()}
    files = write_figures(drawn, tmp_path / "figures", ("svg", "pdf", "png"))
    assert [file.name for file in files] == ["by-turn.svg", "by-turn.pdf", "by-turn.png"]
    assert all(file.stat().st_size > 1000 for file in files)


def facts(drawing: Drawing) -> tuple[Any, ...]:
    return drawing.name, drawing.title, drawing.notes


def test_a_figure_without_a_report(views: dict[str, RatingsView], tmp_path: Path) -> None:
    """By the name that it has in the run's report."""
    view = views["multisense"]
    assert view.run is not None
    drawn = [drawing for part in make_parts(view) for drawing in part.figures]
    for drawing in (drawn[0], drawn[-1]):
        assert facts(bedside.figure(view.run, drawing.name)) == facts(drawing)
    found = bedside.figure(view.run, drawn[0].name)
    assert found._repr_svg_() == drawn[0].svg()
    assert repr(found) == f"Drawing(name={found.name!r}, title={found.title!r}, notes={found.notes!r})"
    for ending, first in (("svg", b"<svg"), ("PDF", b"%PDF"), ("png", b"\x89PNG")):
        file = tmp_path / "new" / f"figure.{ending}"
        assert found.save(str(file)) == file
        assert file.read_bytes().startswith(first)
    assert (tmp_path / "new" / "figure.svg").read_text("utf-8") == drawn[0].svg()
    with pytest.raises(bedside.BedsideError, match="a figure is saved as SVG, PDF or PNG; end the path in"):
        found.save(tmp_path / "figure.jpg")


def test_what_is_no_figure_of_the_ratings(views: dict[str, RatingsView]) -> None:
    ratings = views["calm-it"].ratings
    with pytest.raises(bedside.BedsideError, match="no figure is called 'pionts'; did you mean points"):
        bedside.figure(ratings, "pionts")
    with pytest.raises(
        bedside.BedsideError, match="the data frame: there is nothing for the figure 'cumulative'"
    ):
        bedside.figure(ratings.filter(metric="turns"), "cumulative")
    # What is of no suite goes by its kind.
    assert bedside.figure(ratings, "bland-altman").title == bedside.figure(ratings, "bland_altman").title


def test_figures_of_two_suites_with_one_name(tmp_path: Path) -> None:
    """The later one has a number, as in the report of the run."""
    runs = []
    for suite in ("calm-it", "multisense"):
        (tmp_path / suite).mkdir()
        runs.append(made_run(tmp_path / suite, suite, cases=3))
    run, other = runs
    scorings = [*run.manifest["scorings"], *other.manifest["scorings"]]
    with run.locked():
        run.add(other.ratings.lazy(), {**run.manifest, "scorings": scorings})
    view = open_ratings_view(run)
    drawn = {drawing.name: drawing for part in make_parts(view) for drawing in part.figures}
    assert {"ratings", "ratings-2"} <= drawn.keys()
    for name in ("ratings", "ratings-2"):
        assert facts(bedside.figure(run, name)) == facts(drawn[name])
    assert drawn["ratings"].title != drawn["ratings-2"].title
    with pytest.raises(bedside.BedsideError, match="there is nothing for the figure 'ratings-3'"):
        bedside.figure(run, "ratings-3")
