"""What is said where something is to be done, as it is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import BedsideError
from bedside.reports.contents import looked_at, make_parts
from bedside.reports.report_settings import ReportSettings
from bedside.reports.viewer.view_copy import chosen_transcripts, write_copy
from bedside.reports.viewer.viewed_run import ViewedRun
from tests.reports.builders import full_table, people_rated, scored

Place = tuple[bedside.Run, Path]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A run that people rated, and a folder with other things."""
    folder = tmp_path_factory.mktemp("messages")
    run = people_rated(scored(folder, metrics=["structure"]))
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("mine")
    bedside.export(run, "csv-folder", folder / "export")
    (folder / "export" / "mine.txt").touch()
    return run, folder


def view(run: bedside.Run) -> RatingsView:
    return open_ratings_view(run)


def published(run: bedside.Run) -> None:
    make_parts(view(run), settings=ReportSettings(as_published=True))


CASES: dict[str, Callable[[bedside.Run, Path], object]] = {
    "figure's name": lambda run, folder: bedside.figure(run, "pionts"),
    "nothing for a figure": lambda run, folder: bedside.figure(run, "cumulative"),
    "figure's file": lambda run, folder: bedside.figure(run, "points").save(folder / "figure.jpg"),
    "table's name": lambda run, folder: bedside.tables(run, "results")["result"],
    "no source": lambda run, folder: published(run),
    "against whom": lambda run, folder: full_table("comparison", view(run), against="nobody"),
    "factor": lambda run, folder: looked_at(view(run), {"task": ["confirmation"]}),
    "level": lambda run, folder: chosen_transcripts(ViewedRun(run.path), where={"persona": ["calm"]}),
    "system": lambda run, folder: chosen_transcripts(ViewedRun(run.path), systems=["stedy"]),
    "no copy": lambda run, folder: write_copy(ViewedRun(run.path), ["a"], folder / "other"),
    "no export": lambda run, folder: bedside.export(run, "csv-folder", folder / "other"),
    "changed export": lambda run, folder: bedside.export(run, "csv-folder", folder / "export"),
    "licence": lambda run, folder: bedside.export(run, "hf-folder", folder / "new"),
    "origin": lambda run, folder: bedside.export(run, "csv-folder", folder / "new", origin="invented"),
    "cell": lambda run, folder: bedside.explain(run, "empaty/steady"),
    "preferences": lambda run, folder: bedside.preferences(run),
}
GOLDEN = {
    "figure's name": "no figure is called 'pionts'; did you mean points?",
    "nothing for a figure": "FOLDER/run: there is nothing for the figure 'cumulative'",
    "figure's file": "FOLDER/figure.jpg: a figure is saved as SVG, PDF or PNG; end the path in .svg, .pdf or .png",
    "table's name": "no table is called 'result'; did you mean results?",
    "no source": (
        "FOLDER/run: no suite of this run says what its source printed; name one that does with `suite`, "
        "such as calm-it, mdd5k, medconceal, multisense, note2chat"
    ),
    "against whom": "FOLDER/run: there is no system 'nobody'; known: brisk, careless, steady",
    "factor": (
        "FOLDER/run: it needs the factor task, which no transcript of this run has; give each transcript its "
        "level under factors, and score again"
    ),
    "level": "FOLDER/run: there is no persona 'calm'; known: outgoing, reserved",
    "system": "FOLDER/run: no system 'stedy'; did you mean steady?",
    "no copy": (
        "FOLDER/other: this exists and is no copy that bedside view wrote; choose another folder with `export`"
    ),
    "no export": "FOLDER/other: this exists and is no export that bedside wrote; choose another folder with `out`",
    "changed export": (
        "FOLDER/export: the export there was changed since it was written (mine.txt); choose another folder with `out`"
    ),
    "licence": (
        "`licence`: others must know what they may do with the data, and no licence is named; name one, such "
        "as cc-by-4.0, or unknown where that isn't decided"
    ),
    "origin": "`origin`: there is no origin 'invented'; known: recorded, simulated, written",
    "cell": (
        "`cell`: the table 'results' has no cell 'empaty/steady'; did you mean empathy/steady or "
        "completed/steady or partnership/steady?"
    ),
    "preferences": (
        "FOLDER/run: no two conversations were compared with each other; ask a judge with bedside judge "
        "pairs, or import people's preferences"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_messages_are_as_last_looked_at(place: Place, case: str) -> None:
    run, folder = place
    with pytest.raises(BedsideError) as refusal:
        CASES[case](run, folder)
    assert str(refusal.value).replace(str(folder), "FOLDER") == GOLDEN[case]
