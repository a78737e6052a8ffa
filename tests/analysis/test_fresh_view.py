"""Agreement, validation and estimates count no unit that a rater learnt from, and say so."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.validation import validate
from bedside.ratings.learnt_units import LearntUnits, unit_digests, with_learnt
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of

RATER = "judge:m+empathy@1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """40 transcripts of 40 cases; the rater is perfect on the 20 it learnt from, and a coin on the others."""
    folder = tmp_path_factory.mktemp("fresh")
    talks = folder / "talks.jsonl"
    turns = [{"role": "clinician", "text": "How are you?"}, {"role": "patient", "text": "Well."}]
    talks.write_text(
        "".join(
            json.dumps({"id": f"t{n:02}", "system": "s", "case_id": f"c{n:02}", "turns": turns}) + "\n"
            for n in range(40)
        )
    )
    made = bedside.score(talks, folder / "run", metrics=["structure"]).run
    random = np.random.default_rng(1)
    rows = []
    for number in range(40):
        truth, guess = float(random.integers(1, 6)), float(random.integers(1, 6))
        for rater, value in (
            ("human:a", truth), ("human:b", truth), ("judge:m", guess), (RATER, truth if number < 20 else guess),
        ):  # fmt: skip
            rows.append((f"t{number:02}", "s", f"c{number:02}", "transcript", "empathy", rater, 0, value, None,
                         None, None))  # fmt: skip
    digests = frozenset(unit_digests((f"t{n:02}", f"c{n:02}") for n in range(20)))
    with made.locked():
        made.add(frame_of(rows).lazy(), with_learnt(made.manifest, LearntUnits(RATER, "empathy", digests)))
    return made


@pytest.mark.slow
def test_agreement_and_validation_count_fresh_units_only(run: Run) -> None:
    rows = {row.rater: row for row in bedside.agree(run).results if row.kind == "mean"}
    assert (rows[RATER].units, rows[RATER].learnt) == (20, 20)
    assert (rows["judge:m"].units, rows["judge:m"].learnt) == (40, 0)
    assert abs(rows[RATER].statistics["kappa"].estimate or 0) < 0.5
    cards = {card.rater: card.validations[0] for card in bedside.validate(run).results}
    assert (cards[RATER].with_people, cards[RATER].learnt) == (20, 20)
    assert (cards["judge:m"].with_people, cards["judge:m"].learnt) == (40, 0)
    for tables in (bedside.agree(run), bedside.validate(run, judges=[RATER])):
        notes = " ".join(note for table in tables for note in table.notes)
        assert f"{RATER}: 20 units that people rated are left out" in notes


def test_where_all_was_learnt_from_there_is_no_verdict(run: Run) -> None:
    view = open_ratings_view(run)
    learnt = replace(view, ratings=view.ratings.filter(pl.col("transcript_id") < "t20"))
    with pytest.raises(bedside.BedsideError, match=r"is what judge:m\+empathy@1 learnt from"):
        validate(learnt, judges=[RATER])


def test_an_estimate_is_of_the_other_cases(run: Run) -> None:
    tables = bedside.estimate(run, judge=RATER, metrics=["empathy"])
    (estimate,) = tables.results
    assert (estimate.labelled, estimate.judged, estimate.learnt) == (20, 20, 20)
    notes = " ".join(note for table in tables for note in table.notes)
    assert "20 transcripts that people rated are left out" in notes
    assert "the judge didn't" not in notes
