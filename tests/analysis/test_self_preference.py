"""Whether a judge favours its own model's conversations: against simulations with a known preference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.self_preference import makers, self_preferences
from bedside.core.errors import DataError
from bedside.ratings.scales import parse_scales
from bedside.reports.validation import self_preference_table, self_preference_words
from bedside.scoring.score import score
from tests.conftest import conversation
from tests.soak import budget

#: Ratings are whole numbers, and one of what is simulated is so many of them.
UNIT = 4
SCALE = "empathy=0-60"
MADE_BY = {"A": "openai/gpt-5-mini", "B": "http://localhost:1/v1#qwen"}


def study(
    rng: np.random.Generator,
    *,
    cases: int = 15,
    preference: float = 0.0,
    people: bool = True,
    nested: bool = False,
    partial: bool = False,
) -> RatingsView:
    """Three systems; the judge that is A's model sees A's conversations higher, and all half a level higher."""
    rows: list[tuple[str, str, str, str, int]] = []
    for case in range(cases):
        of_case = rng.normal(0, 0.5)
        for place, system in enumerate("ABC"):
            if nested and case % 3 != place:
                continue
            true = 4 + of_case + 0.3 * place + rng.normal(0, 0.4)
            liked = rng.normal(preference, 0.2) if system == "A" else 0.0
            seen = {"judge:openai/gpt-5-mini": true + 0.5 + liked + rng.normal(0, 0.4)}
            if people:
                seen |= {f"human:{name}": true + rng.normal(0, 0.5) for name in ("anna", "ben")}
            else:
                seen["judge:other/model"] = true - 0.3 + rng.normal(0, 0.4)
            if partial:
                seen["judge:qwen"] = true + 5 * (system == "B")
            rows += [
                (f"{system}{case}", system, f"c{case}", rater, round(UNIT * value))
                for rater, value in seen.items()
            ]
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "value"], orient="row")
    return open_ratings_view(frame, metric="empathy", scales=parse_scales([SCALE]))


def test_by_hand() -> None:
    """Judge minus people: own 1 and 2 in two cases, others 0 and 1; the preference is their mean difference."""
    rows = [
        ("A1", "A", "1", "judge:m", 4), ("A1", "A", "1", "human:a", 3), ("A2", "A", "2", "judge:m", 5),
        ("A2", "A", "2", "human:a", 3), ("B1", "B", "1", "judge:m", 3), ("B1", "B", "1", "human:a", 3),
        ("B2", "B", "2", "judge:m", 4), ("B2", "B", "2", "human:a", 3),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "value"], orient="row")
    view = open_ratings_view(frame, metric="empathy", scales=parse_scales([SCALE]))
    (found,) = self_preferences(view, "judge:m", {"A": "m"})
    assert (found.of_own, found.of_others, found.cases, found.paired) == (1.5, 0.5, 2, True)
    assert found.preference.estimate == 1
    assert found.own == ("A",)
    assert "own systems (A) minus others, each beside people: 1.00" in self_preference_words(found)


def test_nothing_where_it_cannot_be_known() -> None:
    view = study(np.random.default_rng(0))
    judge = "judge:openai/gpt-5-mini"
    assert self_preferences(view, judge) == ()
    assert self_preferences(view, judge, {"A": "another/model"}) == ()
    assert self_preferences(view, judge, dict.fromkeys("ABC", "openai/gpt-5-mini")) == ()
    assert self_preferences(view, "human:anna", MADE_BY) == ()
    assert self_preference_table(()) is None
    with pytest.raises(DataError, match="'D'"):
        makers(view, {"D": "m"})


def test_what_is_known_of_who_made_a_system(tmp_path: Path) -> None:
    """A factor names the model where all of a system's transcripts agree; a simulated system is its model."""
    factors: dict[str, list[dict[str, object]]] = {
        "A": [{"model": "m1"}, {"model": "m1"}], "B": [{"model": "m1"}, {"model": "m2"}], "C": [{"synthetic": True}],
    }  # fmt: skip
    talks = [
        conversation(("clinician", "Hello."), id=f"{system}{number}", system=system, factors=own)
        for system, several in factors.items()
        for number, own in enumerate(several)
    ]
    run = score(talks, tmp_path / "run", suite="default", metrics=["turns"]).run
    view = open_ratings_view(run, one_kind=False)
    assert makers(view) == {"A": "m1", "C": "C"}
    assert makers(view, {"B": "http://localhost/v1#m3", "A": "m4"}) == {"A": "m4", "B": "m3", "C": "C"}


def test_other_judges_stand_in_but_not_those_with_a_stake() -> None:
    view = study(np.random.default_rng(0), people=False, partial=True, cases=40)
    (found,) = self_preferences(view, "judge:openai/gpt-5-mini", MADE_BY)
    assert (found.beside, found.others) == ("judges", ("judge:other/model",))
    assert found.preference.estimate == pytest.approx(0, abs=0.35 * UNIT)
    table = self_preference_table([found])
    assert table is not None
    assert "not which of them is right" in " ".join(table.notes)


@pytest.mark.slow
def test_in_the_judge_card() -> None:
    view = study(np.random.default_rng(0), preference=1.0)
    frame = view.ratings.rename({"transcript_id": "item", "case_id": "case"}).select(
        "item", "system", "case", "rater", "metric", "value"
    )
    tables = bedside.validate(frame, scales=SCALE, made_by=MADE_BY)
    facts = {record["what"]: record["value"] for record in tables[0].records}
    assert str(facts["Self-preference, Empathy"]).startswith(
        "own systems (A) minus others, each beside people: "
    )
    without = bedside.validate(frame, scales=SCALE)
    assert "Self-preference, Empathy" not in {record["what"] for record in without[0].records}


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("preference", [0.0, 0.6])
def test_coverage(preference: float, nested: bool) -> None:
    rng = np.random.default_rng(3)
    runs = budget(30, 1500)
    covered = 0
    for _ in range(runs):
        view = study(rng, preference=preference, nested=nested, cases=30 if nested else 15)
        (found,) = self_preferences(view, "judge:openai/gpt-5-mini", MADE_BY)
        assert found.paired != nested
        bounds = found.preference.interval
        assert bounds is not None
        covered += bounds.low <= UNIT * preference <= bounds.high
    slack = 3 * np.sqrt(0.05 * 0.95 / runs)
    assert 0.93 - slack <= covered / runs <= 0.97 + slack
