"""Figures: each is drawn where the run holds what it shows, the same bytes each time, with no date in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.analysis.metric_facts import known_scale
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.reports.build import write_figures
from bedside.reports.contents import make_parts
from bedside.reports.figure_kind import styled
from bedside.reports.figure_parts import (
    COLOURS,
    DASHES,
    MARKERS,
    groups_of,
    legend_below,
    letters,
    lines_of,
    panels,
    style,
)
from bedside.reports.figures import FIGURES, Drawing
from bedside.reports.figures.confusion import _counts
from bedside.reports.figures.drift import _tiles
from bedside.reports.rated_pairs import PairsOptions, pairs_of
from bedside.reports.report_settings import ReportSettings
from bedside.reports.tables.cumulative import curves_of
from bedside.stats.result import Result
from tests.reports.builders import full_table, made_run, rating, view_of

pytestmark = pytest.mark.slow


def figures_of(view: RatingsView, **settings: Any) -> list[Drawing]:
    parts = make_parts(view, settings=ReportSettings(**settings))
    return [drawing for part in parts for drawing in part.figures]


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RatingsView]:
    """Ratings for three suites, by suite."""
    suites = ("calm-it", "medconceal", "multisense")
    folders = map(tmp_path_factory.mktemp, suites)
    return {
        suite: open_ratings_view(made_run(folder, suite, cases=3).path)
        for suite, folder in zip(suites, folders, strict=True)
    }


@pytest.fixture(scope="module")
def drawings(views: dict[str, RatingsView]) -> dict[str, Drawing]:
    """The figures of three suites, by suite and name."""
    return {f"{suite}/{drawing.name}": drawing for suite, view in views.items() for drawing in figures_of(view)}


def test_suites_have_their_figures(drawings: dict[str, Drawing]) -> None:
    assert set(drawings) == {
        "calm-it/ratings", "calm-it/drift", "calm-it/sustain-talk", "calm-it/agreement", "medconceal/by-turn",
        "medconceal/outcomes", "medconceal/agreement", "medconceal/confusion", "medconceal/scatter",
        "medconceal/bland-altman", "multisense/ratings", "multisense/length", "multisense/agreement",
        "multisense/confusion", "multisense/scatter", "multisense/bland-altman",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["calm-it/drift", "medconceal/by-turn", "medconceal/scatter"])
def test_same_data_same_bytes_and_no_date(drawings: dict[str, Drawing], name: str) -> None:
    drawing = drawings[name]
    files = drawing.written().contents
    assert files == drawing.written().contents
    svg = drawing.svg()
    assert files["svg"] == svg.encode(), "whatever formats are asked for beside it"
    assert not re.search(r"20\d\d-\d\d", svg)
    assert b"CreationDate" not in files["pdf"]
    assert b"Software" not in files["png"]
    assert files["png"][:4] == b"\x89PNG"


def test_a_system_that_others_are_held_against_is_shown_across(views: dict[str, RatingsView]) -> None:
    view = views["multisense"]
    metrics = ["perceived_severity", "conversation_flow"]
    view = replace(view, ratings=view.ratings.filter(pl.col("metric").is_in(metrics)))
    settings = ReportSettings(against="brisk_2")
    (bars,) = (drawing for drawing in figures_of(view, against="brisk_2") if drawing.name == "ratings")
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
    code = (
        "from bedside.reports.figure_kind import styled\n"
        "from bedside.reports.figure_parts import new_figure\n"
        "with styled(): new_figure(1, 1)"
    )
    subprocess.run([sys.executable, "-c", code], env={**environment, "HOME": str(tmp_path)}, check=True)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*")] == [".cache/bedside/matplotlib"]


def scale_of(metric: str) -> Scale:
    scale = known_scale(metric)
    assert scale is not None
    return scale


def awkward() -> RatingsView:
    """One system without letters matplotlib's own fonts have, one with dollars, one without any value."""
    rows = [
        rating(f"{system}{case}", system, f"c{case}", "empathy", value, rater)
        for system, values in (("中文", [1.0, 2.0]), ("$a_b$ ^", [3.0]), ("none", [None]))
        for case, value in enumerate(values)
        for rater in ("human:x", "judge:m")
    ]
    return view_of(rows, scales={"empathy": scale_of("empathy")})


@pytest.mark.parametrize("kind", FIGURES.names())
def test_little_data_is_drawn_or_left_out(kind: str) -> None:
    figure = FIGURES.load(kind)
    drawing = figure.build(awkward(), 0, figure.options.model_validate({"metrics": ["empathy"]}))
    if drawing is not None:
        assert drawing.svg().startswith("<svg")
        assert drawing.title
        assert drawing.notes
    assert figure.build(view_of([]), 0, figure.options.model_validate({"metrics": ["empathy"]})) is None


def test_systems_are_told_apart_without_colour() -> None:
    assert len(set(MARKERS)) == len(set(map(str, DASHES))) == len(COLOURS) == 8

    def grey(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.2126, 0.7152, 0.0722]))

    shades = [grey(colour) for colour in COLOURS[:4]]
    assert min(abs(a - b) for i, a in enumerate(shades) for b in shades[:i]) > 15


def test_scatter_and_confusion_show_each_unit_once() -> None:
    (pairs,) = pairs_of(awkward(), PairsOptions.model_validate({"metrics": ["empathy"]}), labels=True)
    assert sorted(pairs.people) == sorted(pairs.rated) == [1, 2, 3]
    assert _counts(pairs).trace() == _counts(pairs).sum() == 3


def test_a_figure_is_written_for_print_and_screen(drawings: dict[str, Drawing], tmp_path: Path) -> None:
    drawn = {"by-turn": drawings["medconceal/by-turn"].written().contents}
    files = write_figures(drawn, tmp_path / "figures", ("svg", "pdf", "png"))
    assert [file.name for file in files] == ["by-turn.svg", "by-turn.pdf", "by-turn.png"]
    assert all(file.stat().st_size > 1000 for file in files)


def facts(drawing: Drawing) -> tuple[Any, ...]:
    return drawing.name, drawing.title, drawing.notes


def test_a_figure_without_a_report(views: dict[str, RatingsView], tmp_path: Path) -> None:
    """By the name that it has in the run's report."""
    view = views["multisense"]
    assert view.run is not None
    drawn = figures_of(view)
    for drawing in (drawn[0], drawn[-1]):
        assert facts(bedside.figure(view.run, drawing.name)) == facts(drawing)
    figure = bedside.figure(view.run, drawn[0].name)
    assert figure._repr_svg_() == drawn[0].svg()
    assert repr(figure) == f"Drawing(name={figure.name!r}, title={figure.title!r}, notes={figure.notes!r})"
    for ending, first in (("svg", b"<svg"), ("PDF", b"%PDF"), ("png", b"\x89PNG")):
        file = tmp_path / "new" / f"figure.{ending}"
        assert figure.save(str(file)) == file
        assert file.read_bytes().startswith(first)
    assert (tmp_path / "new" / "figure.svg").read_text("utf-8") == drawn[0].svg()


def test_what_is_of_no_suite_goes_by_its_kind(views: dict[str, RatingsView]) -> None:
    ratings = views["calm-it"].ratings
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
    drawn = {drawing.name: drawing for drawing in figures_of(view)}
    assert {"ratings", "ratings-2"} <= drawn.keys()
    for name in ("ratings", "ratings-2"):
        assert facts(bedside.figure(run, name)) == facts(drawn[name])
    assert drawn["ratings"].title != drawn["ratings-2"].title
    with pytest.raises(bedside.BedsideError, match="'ratings-3'"):
        bedside.figure(run, "ratings-3")


#: Names as long as they come.
LONG = "meta-llama/Llama-3.3-70B-Instruct-Turbo-long-context-with-a-very-long-suffix"
RATED = (
    "perceived_susceptibility", "perceived_severity", "perceived_benefits", "conversation_flow", "empathy",
    "goal_alignment", "effectiveness", "partnership", "client_consistency", "reflection_quality",
)  # fmt: skip
SHARES = ("reveal_rate", "concern_f1", "full_reveal", "concern_addressed", "diagnosis_top_1")


def wide_view(systems: int, cases: int = 3) -> RatingsView:
    """Many systems with long names, fifteen metrics by one judge; the first system has the best level in everything."""
    draw = np.random.default_rng(3)
    scales = {name: scale_of(name) for name in RATED}
    rows = []
    for system, case, metric in product(range(systems), range(cases), (*RATED, *SHARES)):
        levels = [float(level) for level in scales[metric].levels] if metric in scales else [0.0, 1.0]
        value = levels[-1] if system == 0 else float(draw.choice(levels))
        rows.append(rating(f"{system}-{case}", f"{LONG} {system}", f"c{case}", metric, value))
    return view_of(rows, scales=scales)


def drawn(kind: str, view: RatingsView, **options: Any) -> tuple[Drawing, Any]:
    """The figure and the matplotlib figure that it draws."""
    figure = FIGURES.load(kind)
    drawing = figure.build(view, 0, figure.options.model_validate(options))
    assert drawing is not None
    with styled():
        return drawing, drawing.draw()


def lay_out(figure: Any) -> None:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    ConstrainedLayoutEngine().execute(figure)


def shown_axes(figure: Any) -> list[Any]:
    return [axis for axis in figure.axes if axis.get_visible()]


def whisker_ends(axis: Any) -> np.ndarray[Any, Any]:
    """The ends of the intervals of a panel of bars."""
    lines = (line.get_xydata() for line in axis.lines)
    return np.array([line[:, 0] for line in lines if len(line) == 2 and line[0, 1] == line[1, 1]])


def test_equal_values_stand_beside_one_another_whatever_the_order_of_transcripts() -> None:
    """Five equal values stand in five places; by the order of the transcripts the fives would share one."""
    strips = []
    for values in ([5, 1, 2, 3, 4] * 5, sorted([5, 1, 2, 3, 4] * 5)):
        rows = [rating(f"t{place:02}", "A", f"c{place}", "empathy", float(value)) for place, value in enumerate(values)]
        _, figure = drawn("points", view_of(rows, scales={"empathy": scale_of("empathy")}))
        dots = shown_axes(figure)[0].lines[0]
        strips.append(sorted(zip(dots.get_xdata(), dots.get_ydata(), strict=True)))
    assert strips[0] == strips[1]
    assert len(set(strips[0])) == 25


def test_sixty_four_systems_have_styles_of_their_own() -> None:
    styles = [style(position) for position in range(64)]
    assert len({(look.colour, look.marker) for look in styles}) == 64
    assert len({(look.colour, str(look.dash)) for look in styles}) == 64


@pytest.mark.parametrize(("kind", "letters_of_names"), [("bars", 22), ("points", 22)])
def test_no_panel_and_no_system_is_dropped(kind: str, letters_of_names: int) -> None:
    drawing, figure = drawn(kind, wide_view(20), metrics=[*RATED, *SHARES])
    axes = shown_axes(figure)
    assert len(axes) == 15
    titles = {axis.get_title(loc="left").split("\n")[0].rstrip("\xa0↑") for axis in axes}
    assert titles >= {"Empathy", "Reveal rate"}
    width, height = figure.get_size_inches()
    assert width <= 10.8
    text = "".join(drawing.svg().split())
    for system in range(20):
        # Lines of a name stand one after another.
        assert all(line.replace(" ", "") in text for line in lines_of(f"{LONG} {system}", letters_of_names))
    assert height > 10


def test_whiskers_stay_on_the_scale_and_have_width_where_all_values_are_equal() -> None:
    _, figure = drawn("bars", wide_view(3), metrics=[*RATED, *SHARES])
    for axis, metric in zip(shown_axes(figure), (*RATED, *SHARES), strict=True):
        scale = known_scale(metric)
        low, high = (float(scale.levels[0]), float(scale.levels[-1])) if scale is not None else (0.0, 1.0)
        ends = whisker_ends(axis)
        assert len(ends) == 3
        assert (ends[:, 0] >= low - 1e-9).all()
        assert (ends[:, 1] <= high + 1e-9).all()
        assert (ends[:, 1] > ends[:, 0]).all()
        bottom, top = axis.get_xlim()
        assert bottom == low
        assert ends.max() <= top


def test_figures_have_the_intervals_of_the_tables() -> None:
    view, metrics = wide_view(3), ["empathy", "reveal_rate"]
    table = full_table("results", view, metrics=metrics, spread="ci")
    _, figure = drawn("bars", view, metrics=metrics)
    for axis, metric in zip(shown_axes(figure), metrics, strict=True):
        printed = [(record["low"], record["high"]) for record in table.records if record["metric"] == metric]
        assert np.unique(whisker_ends(axis), axis=0) == pytest.approx(np.unique(np.array(printed), axis=0))
    assert any("Wilson's on the scale for means between two ends" in note for note in table.notes)


def test_panels_of_one_scale_share_an_axis() -> None:
    _, figure = drawn("bars", wide_view(4), metrics=[*RATED, *SHARES])
    panels_by_metric = zip(shown_axes(figure), (*RATED, *SHARES), strict=True)
    limits = {metric: axis.get_xlim() for axis, metric in panels_by_metric}
    assert limits["empathy"] == limits["goal_alignment"] != limits["conversation_flow"]
    assert len({limits[metric] for metric in SHARES}) == 1


def test_metrics_of_one_scale_stand_together_with_a_line_across() -> None:
    reveal = {"metric": "reveal_rate", "title": "Reveal", "percent": True}
    metrics = ["perceived_severity", "conversation_flow", reveal]
    _, figure = drawn("bars", wide_view(3), metrics=metrics, together=True, lines={"good": 3})
    ratings, shares = shown_axes(figure)
    labels = [label.get_text() for label in ratings.get_yticklabels()]
    assert labels == ["Perceived severity", "Conversation flow"]
    assert [text.get_text() for text in ratings.texts] == ["good"]
    assert shares.get_title(loc="left") == "per cent"
    assert shares.get_xlim()[1] == pytest.approx(103)
    with pytest.raises(ValueError, match="either a factor's levels"):
        FIGURES.load("bars").options.model_validate({"by": "persona", "together": True})


def test_a_name_stands_whole_in_lines() -> None:
    for name in (LONG, "x" * 90, "GPT-4o", "通义千问" * 12, "one two  three"):
        lines = lines_of(name, 28)
        assert "".join(lines).replace(" ", "") == name.replace(" ", "")
        assert all(letters(line) <= 28 for line in lines)
    assert lines_of("Perceived severity (gpt-5-mini)", 20) == ["Perceived severity", "(gpt-5-mini)"]


def test_a_legend_lies_within_its_figure() -> None:
    for systems in (2, 9, 20):
        _, figure = drawn("bars", wide_view(systems, 2), metrics=["empathy", "partnership"], together=True)
        with styled():
            lay_out(figure)
            (legend,) = figure.legends
            box = legend.get_window_extent()
            axis = shown_axes(figure)[0].get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= axis.y0, "below the panels"
        assert axis.height > 72, "which keep their height"


def test_names_of_bands_do_not_overprint() -> None:
    shifts = (("empathy", 2), ("partnership", 0))
    rows = [
        rating(f"t{unit}", "one", f"c{unit}", metric, 1.0 + (unit + shift * (rater != "human:a")) % 5, rater)
        for (metric, shift), unit, rater in product(shifts, range(6), ("human:a", "human:b"))
    ]
    view = view_of(rows, scales={metric: scale_of("empathy") for metric, _ in shifts})
    _, figure = drawn("agreement", view)
    with styled():
        lay_out(figure)
        (axis,) = figure.axes
        assert axis.get_xlim()[0] < -0.3, "the bands are narrow"
        (top,) = axis.child_axes
        # Bold letters and ends of words, not the empty lines below some.
        labels: dict[bool, list[Any]] = {True: [], False: []}
        for label in top.get_xticklabels():
            labels[label.get_text().endswith("\n\n")].append(label.get_window_extent())
    for row in labels.values():
        assert all(left.x1 < right.x0 for left, right in pairwise(row))
    assert labels[True]


def test_a_reference_is_a_line_across_by_turn(views: dict[str, RatingsView]) -> None:
    view = views["medconceal"]
    options = {"metrics": ["revealed_by_turn"], "by": ["setting"], "reference": "brisk_2"}
    drawing, figure = drawn("cumulative", view, **options)
    (axis,) = shown_axes(figure)
    (across,) = [line for line in axis.get_lines() if line.get_label() == "open · brisk_2"]
    curves = curves_of(view, ["revealed_by_turn"], ["setting"])
    (curve,) = [curve for curve in curves if curve.place == ("brisk_2", ("open",))]
    assert set(across.get_ydata()) == {curve.at(100)}
    assert any("Dashed across: the last level of" in note for note in drawing.notes)
    assert (curve.low <= curve.means).all()
    assert (curve.high <= 1).all()


def test_trends_go_by_one_sides_messages_in_per_cent(views: dict[str, RatingsView]) -> None:
    view = views["multisense"]
    soft = {"metric": "diagnostic_accuracy_soft", "title": "Soft", "percent": True}
    options = {"metrics": [soft], "messages_of": "clinician", "edges": [4, 7], "raters": ["judge:*"]}
    _, figure = drawn("trend", view, **options)
    (axis,) = shown_axes(figure)
    assert axis.get_title(loc="left") == "Soft (%)"
    assert axis.get_xlabel() == "messages of the clinician"
    # Eight or sixteen messages, two fewer at times: three, four, seven or eight of the clinician.
    assert [label.get_text() for label in axis.get_xticklabels()] == ["under 4", "4–6", "7 and\nmore"]
    assert axis.get_ylim()[1] > 2


def test_drift_as_bars_has_the_intervals_of_its_table(views: dict[str, RatingsView]) -> None:
    view = views["calm-it"]
    options = {"metrics": ["empathy"], "raters": ["judge:*"], "form": "bars"}
    _, figure = drawn("drift", view, **options)
    (axis,) = shown_axes(figure)
    changes = [
        record["change_percent"]
        for record in full_table("drift", view, metrics=["empathy"]).records
        if (record["metric"], record["raters"]) == ("empathy", "judge:made-up")
    ]
    assert sorted(bar.get_width() for bar in axis.patches) == pytest.approx(sorted(changes))


def test_a_pdf_of_more_panels_than_a_page_holds_has_several_pages() -> None:
    def draw() -> Any:
        figure, axes = panels(7, 3.0, 4.0, most_columns=2)
        for place, axis in enumerate(axes):
            axis.set_title(f"Metric {place}")
            axis.plot([0, 1], label=f"system {place}")
        legend_below(figure, axes)
        return figure

    drawing = Drawing("tall", "Tall", (), draw)
    rendered = drawing.written(["pdf"]).contents["pdf"]
    boxes = re.findall(rb"/MediaBox \[ ([\d. ]+) \]", rendered)
    sizes = [tuple(map(float, box.split()[2:])) for box in boxes]
    assert len(sizes) == 2
    width, height = (72 * inches for inches in draw().get_size_inches())
    assert sum(high for _, high in sizes) == pytest.approx(height, rel=0.01)
    for wide, high in sizes:
        assert wide == pytest.approx(width)
        assert high <= max(9 * 72, 1.38 * wide)
    assert rendered == drawing.written(["pdf"]).contents["pdf"]
    few = replace(drawing, draw=lambda: panels(4, 3.0, 4.0, most_columns=2)[0])
    assert few.written(["pdf"]).contents["pdf"].count(b"/MediaBox") == 1


def test_letters_that_no_font_has_are_told_of(views: dict[str, RatingsView]) -> None:
    """Cuneiform is in none of the fonts, so that PNG and PDF show a box, and SVG what the reader's fonts have."""
    drawing, _ = drawn("drift", views["calm-it"], metrics=["empathy"])

    def draw() -> Any:
        figure = drawing.draw()
        figure.axes[0].set_title("Empathy \U00012000 é")
        return figure

    boxed = replace(drawing, draw=draw).written(["svg", "png"])
    assert boxed.boxes == "\U00012000"
    (said,) = boxed.notes
    assert "In the files as PNG, boxes stand for \U00012000: no font" in said
    assert replace(drawing, draw=draw).written(["svg"]).notes == ()
    assert drawing.written(["svg", "png"]).notes == ()


def test_a_change_that_rounds_to_zero_has_no_sign() -> None:
    grid = [[Result(name="change", method="mean", estimate=size) for size in (0.04, -0.04, 2.25, -2.25)]]
    axis = _tiles(grid, ["Empathy"], ["a", "b", "c", "d"], "change").axes[0]
    assert [text.get_text() for text in axis.texts] == ["0.0", "0.0", "+2.2", "−2.2"]


@pytest.mark.parametrize(
    ("suite", "names"),
    [
        ("multisense", {"scores", "accuracy", "by-length"}),
        ("medconceal", {"reveal-by-turn", "success-by-turn"}),
        ("calm-it", {"changes", "sustain-talk"}),
    ],
)
def test_figures_of_sources_are_drawn(views: dict[str, RatingsView], suite: str, names: set[str]) -> None:
    printed = {drawing.name: drawing for drawing in figures_of(views[suite], as_published=True)}
    assert printed.keys() == names
    assert all(drawing.svg().startswith("<svg") for drawing in printed.values())


def test_many_lines_are_spread_over_panels_of_one_axis() -> None:
    view = wide_view(20, 4)
    lengths = [
        rating(f"{system}-{case}", f"{LONG} {system}", f"c{case}", "turns", 5.0 + 10 * (case % 2), "algorithm:s@1")
        for system, case in product(range(20), range(4))
    ]  # fmt: skip
    view = replace(view, ratings=pl.concat([view.ratings, frame_of(lengths)]))
    drawing, figure = drawn("trend", view, metrics=["empathy"], edges=[10])
    axes = shown_axes(figure)
    assert [len(axis.containers) for axis in axes] == [7, 7, 6]
    assert len({axis.get_ylim() for axis in axes}) == 1
    assert drawing.notes[-1] == "No panel has more than 7 lines; those of one metric have one axis."
    assert groups_of([1, 2, 3], 7) == [[1, 2, 3]]
    assert groups_of([], 7) == [[]]
