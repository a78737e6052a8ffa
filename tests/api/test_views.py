"""A view is read once, and every question takes it in place of the run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.core.errors import DataError, InputError
from tests.metamorphic.studies import study, written_run, written_table

LEVELS = {"setting": "8"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    return written_run(study(2), tmp_path_factory.mktemp("views"))


@pytest.mark.slow
def test_a_question_answers_of_a_view_what_it_answers_of_the_run(run: bedside.Run) -> None:
    whole = bedside.View(run)
    for ask in (bedside.agree, bedside.compare, bedside.tables):
        assert ask(whole) == ask(run)


def test_what_a_view_chooses_holds_for_each_question(run: bedside.Run) -> None:
    (factor,) = _factors(run)[:1]
    level = str(run.factors[factor].drop_nulls()[0])
    part = bedside.View(run, where={factor: level})
    assert bedside.compare(part, metrics=["empathy"]) == bedside.compare(
        run, metrics=["empathy"], where={factor: level}
    )
    assert part.ratings.height < bedside.View(run).ratings.height
    assert set(part.ratings["transcript_id"]) == set(run.factors.filter(pl.col(factor) == level)["transcript_id"])
    assert f"where {factor}={level}" in repr(part)


def test_within_and_groups_are_said_where_it_is_made(run: bedside.Run) -> None:
    (factor,) = _factors(run)[:1]
    answered = bedside.compare(bedside.View(run, within=factor), metrics=["empathy"])
    assert answered.levels
    assert answered == bedside.compare(run, metrics=["empathy"], within=factor)
    by_groups = bedside.View(run, groups=factor)
    assert set(by_groups.systems) == set(run.factors[factor].drop_nulls().unique())
    assert bedside.compare(by_groups, metrics=["empathy"]) == bedside.compare(run, metrics=["empathy"], groups=factor)


def test_it_is_computed_once(run: bedside.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from bedside.analysis import ratings_view

    view = bedside.View(run)
    monkeypatch.setattr(ratings_view, "_whole_view", None)
    assert view.metrics
    bedside.agree(view)
    bedside.compare(view)


def test_a_file_of_ratings_is_a_view_too(tmp_path: Path) -> None:
    made = study(4)
    rows = [row for row in made.ratings if row["metric"] == "empathy"]
    path = written_table(rows, tmp_path / "ratings.csv")
    view = bedside.View(path, scales=["1-5"])
    assert bedside.agree(view) == bedside.agree(path, scales=["1-5"])
    assert view.raters


@pytest.mark.parametrize(
    "said", [{"scales": ["1-5"]}, {"rounds": ["all"]}, {"match": ["none"]}, {"columns": {"item": "id"}}]
)
def test_what_was_chosen_is_not_chosen_again(run: bedside.Run, said: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"`{next(iter(said))}` can't be said of a view"):
        bedside.compare(bedside.View(run), **said)  # type: ignore[arg-type]


def test_a_question_that_has_no_levels_refuses_them(run: bedside.Run) -> None:
    (factor,) = _factors(run)[:1]
    with pytest.raises(InputError, match=f"for each level of {factor}"):
        bedside.figure(bedside.View(run, within=factor), "points")


def test_within_is_said_once(run: bedside.Run) -> None:
    (factor,) = _factors(run)[:1]
    with pytest.raises(InputError, match="for each level of"):
        bedside.compare(bedside.View(run, within=factor), within="another")
    with pytest.raises(DataError, match="no factor ''"):
        bedside.compare(run, within="")
    with pytest.raises(DataError):
        bedside.View(run, within="nothing")


def test_no_level_and_no_run_are_told(run: bedside.Run) -> None:
    (factor,) = _factors(run)[:1]
    with pytest.raises(DataError, match=f"no level of {factor} is named"):
        bedside.View(run, where={factor: []})
    with pytest.raises(InputError, match="View is no run"):
        bedside.report(bedside.View(run))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`seed` must be 0 or more"):
        bedside.compare(run, seed=-1)


def test_wrong_names_are_told(run: bedside.Run) -> None:
    with pytest.raises(TypeError, match=r"View\(\) got an unexpected keyword argument 'wher'"):
        bedside.View(run, wher={})
    with pytest.raises(DataError):
        bedside.View(run, where={"nothing": "x"})


def _factors(run: bedside.Run) -> list[str]:
    return [name for name in run.factors.columns if name != "transcript_id" and run.factors[name].n_unique() > 1]
