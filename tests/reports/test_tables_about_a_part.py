"""Tables and figures that a suite makes about some transcripts only."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.reports.build import build_tables
from bedside.reports.contents import looked_at, make_parts


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    """Both tasks of MedConceal, two cases of each with either script."""
    folder = tmp_path_factory.mktemp("tasks")
    made = bedside.simulate(
        None,
        "medconceal",
        folder / "talks",
        clinician=["script:good", "script:brisk"],
        settings=["confirmation-8", "intervention-8"],
        sample=2,
    )
    return open_ratings_view(bedside.score(made.folder, folder / "run", suite="medconceal").run)


@pytest.mark.slow
def test_each_task_has_its_own_table_and_is_not_averaged_over(view: RatingsView) -> None:
    for name in ("confirmation", "intervention"):
        (table,) = build_tables(view, [name])
        assert {record["setting"] for record in table.records} == {f"{name}, 8 turns"}
        assert f"Only transcripts with task {name} are looked at." in table.notes
        assert not any("Averaged over task" in note for note in table.notes)
    (style,) = build_tables(view, ["style"])
    assert len({record["setting"] for record in style.records}) == 2
    assert not any("Averaged over task" in note for note in style.notes)


@pytest.mark.slow
def test_what_is_asked_for_may_be_all_or_nothing(view: RatingsView) -> None:
    confirmation = view.where({"task": ["confirmation"]})
    assert looked_at(confirmation, {"task": ["confirmation"]}) is confirmation
    assert looked_at(confirmation, {"task": ["intervention"]}) is None
    part = looked_at(view, {"task": ["intervention", "other"]})
    assert part is not None
    assert part.factors is not None
    assert view.factors is not None
    assert 2 * part.factors.height == view.factors.height


@pytest.mark.slow
def test_without_the_factor_that_tells_them_apart_neither_task_has_a_table(view: RatingsView) -> None:
    assert view.factors is not None
    taskless = replace(view, factors=view.factors.drop("task"))
    with pytest.raises(DataError, match="it needs the factor task, which no transcript of this run has"):
        looked_at(taskless, {"task": ["confirmation"]})
    parts = make_parts(taskless, figures=False)
    names = {table.name for part in parts for table in part.tables}
    assert not names & {"confirmation", "intervention"}
    assert sum("it needs the factor task" in reason for part in parts for reason in part.left_out) >= 2
    shown = {record.get("metric") for part in parts for table in part.tables for record in table.records}
    assert "concern_addressed" in shown, "what they would show is shown among the other metrics"
