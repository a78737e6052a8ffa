"""A simulation's evaluator beside a second rater, against the statistics on the numbers themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import bedside
from bedside.analysis.evaluator_agreement import evaluator_agreements
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal import FEATURES
from bedside.reports.build import build_tables
from bedside.stats.reliability import icc
from tests.analysis.builders import definite

EVALUATOR, SECOND = "judge:lab/evaluator", "judge:lab/second"
CASES, TURNS = 6, 4


def talks(folder: Path, noise: np.ndarray, intents: np.ndarray | None = None) -> Path:
    """Simulated conversations whose turns have labels; the first feature, and the intents, are of known value."""
    path = folder / "talks.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for case in range(CASES):
            turns: list[dict[str, Any]] = []
            for place in range(TURNS):
                z = dict.fromkeys(FEATURES, 0.5) | {FEATURES[0]: float(noise[case, place])}
                labels = {"z": z} if intents is None else {"z": z, "intent": str(intents[case, place])}
                turns.append(
                    {
                        "role": "clinician",
                        "text": f"Go on {place}.",
                        "meta": {"medconceal": {EVALUATOR: labels}},
                    }
                )
                turns.append({"role": "patient", "text": "Well."})
            talk = {
                "id": f"t{case}", "case_id": f"c{case}", "turns": turns, "factors": {"synthetic": True},
                "reference": {"simulation": {"turn_rater": EVALUATOR}},
            }  # fmt: skip
            file.write(json.dumps(talk) + "\n")
    return path


def with_second_rater(view: RatingsView, values: np.ndarray, metric: str) -> RatingsView:
    """The view with a second rater's ratings of the clinician turns."""
    rows = [
        {
            "transcript_id": f"t{case}", "case_id": f"c{case}", "unit": f"turn:{2 * place}", "metric": metric,
            "rater": SECOND, "replicate": replicate, "value": float(values[case, place]) + shift,
        }
        for case in range(CASES)
        for place in range(TURNS)
        for replicate, shift in ((0, -0.05), (1, 0.05))
    ]  # fmt: skip
    more = pl.DataFrame(rows).with_columns(pl.col("replicate").cast(view.ratings.schema["replicate"]))
    return replace(view, ratings=pl.concat([view.ratings, more], how="diagonal"))


def test_the_second_raters_passes_are_averaged_and_held_against_the_evaluator(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    own = random.uniform(0.2, 0.8, (CASES, TURNS)).round(3)
    theirs = (own + random.normal(0.1, 0.05, own.shape)).round(3)
    run = bedside.score(talks(tmp_path, own), tmp_path / "run", metrics=["structure"]).run
    metric = f"turn_evaluator.{FEATURES[0]}"
    view = with_second_rater(open_ratings_view(run), theirs, metric)
    (agreement,) = evaluator_agreements(view)
    assert (agreement.evaluator, agreement.rater, agreement.metric) == (EVALUATOR, SECOND, metric)
    assert (agreement.turns, agreement.cases) == (CASES * TURNS, CASES)
    assert agreement.means == pytest.approx((own.mean(), theirs.mean()))
    assert agreement.difference.estimate == pytest.approx(own.mean() - theirs.mean())
    by_hand = icc(np.column_stack([own.ravel(), theirs.ravel()]), clusters=np.repeat(np.arange(CASES), TURNS))
    assert agreement.agreement.estimate == pytest.approx(by_hand.estimate)
    assert definite(agreement.agreement.interval).low == pytest.approx(definite(by_hand.interval).low)
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert table.rows[0].group == "lab/evaluator and lab/second"
    assert [cell.text for cell in table.rows[0].cells][1:3] == ["24", "6"]


def with_intents(view: RatingsView, *passes: np.ndarray) -> RatingsView:
    """The view with a second rater's intents of the clinician turns."""
    rows = [
        {
            "transcript_id": f"t{case}", "case_id": f"c{case}", "unit": f"turn:{2 * place}",
            "metric": "turn_evaluator.intent_probabilities", "rater": SECOND, "replicate": replicate,
            "label": str(intents[case, place]),
        }
        for replicate, intents in enumerate(passes)
        for case in range(CASES)
        for place in range(TURNS)
    ]  # fmt: skip
    more = pl.DataFrame(rows).with_columns(pl.col("replicate").cast(view.ratings.schema["replicate"]))
    return replace(view, ratings=pl.concat([view.ratings, more], how="diagonal"))


def test_agreement_on_intents_is_kappa(tmp_path: Path) -> None:
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(7)
    own = random.choice(["plan", "explain", "meta_probe"], (CASES, TURNS))
    theirs = np.where(random.random(own.shape) < 0.7, own, random.choice(["plan", "other"], own.shape))
    # The first two of three passes are right: the most frequent counts.
    passes = (theirs, theirs, np.full_like(theirs, "other"))
    noise = np.full((CASES, TURNS), 0.5)
    run = bedside.score(talks(tmp_path, noise, own), tmp_path / "run", metrics=["structure"]).run
    view = with_intents(open_ratings_view(run), *passes)
    (agreement,) = evaluator_agreements(view)
    assert (agreement.part, agreement.evaluator, agreement.rater) == ("intent", EVALUATOR, SECOND)
    assert (agreement.turns, agreement.cases, agreement.passes) == (CASES * TURNS, CASES, 3)
    assert (agreement.means, agreement.difference) == (None, None)
    pooled = cohen_kappa_score(own.ravel(), theirs.ravel())
    assert agreement.agreement.estimate == pytest.approx(pooled)
    # The interval leaves out whole cases; its standard error is carried to Fisher's scale.
    left_out = np.array(
        [
            cohen_kappa_score(np.delete(own, case, axis=0).ravel(), np.delete(theirs, case, axis=0).ravel())
            for case in range(CASES)
        ]
    )
    error = np.sqrt((CASES - 1) / CASES * ((left_out - left_out.mean()) ** 2).sum()) / (1 - pooled**2)
    half = student.ppf(0.975, CASES - 1) * error
    low, high = definite(agreement.agreement.interval).low, definite(agreement.agreement.interval).high
    assert (low, high) == pytest.approx(
        (np.tanh(np.arctanh(pooled) - half), np.tanh(np.arctanh(pooled) + half))
    )
    (table,) = build_tables(view, ["simulation_evaluator"])
    assert any("Cohen's kappa" in note for note in table.notes)
    assert any("Of several passes" in note for note in table.notes)


def test_a_label_that_is_no_intent_is_refused(tmp_path: Path) -> None:
    own = np.full((CASES, TURNS), "plan")
    run = bedside.score(
        talks(tmp_path, np.full((CASES, TURNS), 0.5), own), tmp_path / "run", metrics=["structure"]
    ).run
    view = with_intents(open_ratings_view(run), np.full((CASES, TURNS), "Plan"))
    with pytest.raises(
        DataError, match=r"gives a turn the intent 'Plan'.*write one of gather_data"
    ) as caught:
        evaluator_agreements(view)
    assert "transcript t0, turn:0" in str(caught.value)


def test_without_a_second_rater_there_is_nothing(tmp_path: Path) -> None:
    own = np.full((CASES, TURNS), 0.5)
    run = bedside.score(talks(tmp_path, own), tmp_path / "run", metrics=["structure"]).run
    assert evaluator_agreements(open_ratings_view(run)) == ()
