"""Whether simulated patients are any good: on conversations made with known numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import NothingError
from bedside.metrics.text_diversity import self_bleu, tokens_of
from bedside.reports.tables.simulation_quality import quality_table
from bedside.simulation.patient_quality import QualityMeasure, is_checked, patient_quality
from tests.analysis.simulated_run import MANIFEST

SYSTEMS, TRAITS, CASES = ("lab/a", "lab/b"), ("openness", "neuroticism"), ("asthma", "gout", "migraine")
PLAIN = "I am sad. I do not sleep. It is bad. My leg hurts. I can not eat."
LEARNED = (
    "Persistent abdominal discomfort necessitates considerable medication adjustments. Occasionally unfamiliar "
    "gastrointestinal manifestations materialise unexpectedly. Physicians recommended comprehensive examinations."
)


def conversation(system: str, case: str, trait: str, literacy: str, repeat: int) -> dict[str, object]:
    words = LEARNED if literacy == "advanced" else PLAIN
    if (literacy, case) == ("advanced", "gout"):
        words = f"{LEARNED} {PLAIN}"  # the difference between literacies isn't the same in every case
    hidden = {"hidden in a request": 1} if (system, case) == ("lab/a", "gout") else {}
    return {
        "id": f"multisense/{system}/{case}/{trait}-{literacy}/scaffold/{repeat}",
        "system": system,
        "case_id": case,
        "language": "en",
        "factors": {
            "persona": trait, "health_literacy": literacy, "setting": "scaffold", "repeat": repeat,
            "completed": True, "synthetic": True,
        },
        "reference": {
            "diagnosis": case,
            "patient_facts": [f"The patient has had {case} for years."],
            "simulation": {
                "protocol": "multisense", "version": 1, "stop": "exit", "flags": hidden, "toys": [],
                "actors": {"clinician": system, "patient": "lab/patient", "evaluator": "lab/judge"},
            },
        },
        "turns": [
            {"role": "clinician", "text": "How are you?"},
            {"role": "patient", "text": f"{words} This is the story of my {case if system == 'lab/b' else 'life'}."},
        ],
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation's folder: two systems × three cases × two traits × two literacies × two repeats."""
    folder = tmp_path_factory.mktemp("talks")
    talks = [
        conversation(system, case, trait, literacy, repeat)
        for case in CASES
        for trait in TRAITS
        for literacy in ("basic", "advanced")
        for system in SYSTEMS
        for repeat in (1, 2)
    ]
    (folder / "transcripts.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), "utf-8")
    (folder / "failed.jsonl").write_text("", "utf-8")
    manifest = {**MANIFEST, "protocol": "multisense", "clinicians": list(SYSTEMS), "toys": []}
    manifest["conversations"] = {"planned": 48, "finished": 48, "failed": 0, "unfinished": 0}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


@pytest.fixture(scope="module")
def view(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    run = bedside.score([folder], tmp_path_factory.mktemp("run") / "run", suite="simulated-patient").run
    return open_ratings_view(run)


@pytest.fixture(scope="module")
def measures(view: RatingsView) -> dict[tuple[str, str], QualityMeasure]:
    return {(measure.name, measure.system): measure for measure in patient_quality(view)}


def test_a_patient_who_names_the_diagnosis_is_seen(measures: dict[tuple[str, str], QualityMeasure]) -> None:
    assert measures["diagnosis_said_first", "lab/a"].result.estimate == 0
    assert measures["diagnosis_said_first", "lab/b"].result.estimate == 1


def test_hidden_texts_are_counted_by_conversation(measures: dict[tuple[str, str], QualityMeasure]) -> None:
    result = measures["hidden in a request", "lab/a"].result
    assert (result.estimate, result.n) == pytest.approx((1 / 3, 24))
    assert measures["hidden in a request", "lab/b"].result.estimate == 0


def test_literacy_is_paired_over_cases(view: RatingsView, measures: dict[tuple[str, str], QualityMeasure]) -> None:
    assert view.factors is not None
    metric = "flesch_kincaid_grade.patient"
    values = view.transcript_values([metric]).join(view.factors, on="transcript_id")
    values = values.filter(pl.col("system") == "lab/b")
    by_case = {
        (case, level): float(np.mean(part["value"].drop_nulls().to_list()))
        for (case, level), part in values.group_by("case_id", "health_literacy")
        if part["value"].drop_nulls().len()
    }
    differences = [by_case[case, "advanced"] - by_case[case, "basic"] for case in CASES]
    result = measures[metric, "lab/b"].result
    assert result.estimate == pytest.approx(np.mean(differences))
    assert result.estimate is not None
    assert result.estimate > 5
    assert result.p == pytest.approx(ttest_1samp(differences, 0).pvalue)


def test_traits_told_apart_by_a_judge(view: RatingsView) -> None:
    """Right of every openness, wrong of every neuroticism: half, in each case."""
    assert view.run is not None
    rows = view.run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id").with_columns(
        pl.lit("openness").alias("label"), pl.lit("judge:tiny").alias("rater")
    )
    some = view.ratings.head(1).clear()
    rated = pl.concat(
        [
            view.ratings,
            pl.concat(
                [
                    some,
                    rows.with_columns(
                        pl.lit("transcript").alias("unit"), pl.lit("dominant_trait").alias("metric"),
                        pl.lit(0).cast(some.schema["replicate"]).alias("replicate"),
                    ),
                ],
                how="diagonal_relaxed",
            ).select(view.ratings.columns).cast(view.ratings.schema),
        ]
    )  # fmt: skip
    with_judge = replace(view, ratings=rated)
    (measure,) = (
        measure
        for measure in patient_quality(with_judge)
        if (measure.name, measure.system) == ("dominant_trait", "lab/a")
    )
    assert (measure.result.estimate, measure.result.n) == (0.5, 24)
    assert measure.raters == "judge:tiny"


def test_likeness_of_repeats_and_cases(measures: dict[tuple[str, str], QualityMeasure]) -> None:
    for system in SYSTEMS:
        assert measures["self_bleu_repeats", system].result.estimate == pytest.approx(1)
        assert measures["self_bleu_repeats", system].result.n == 24
        assert measures["self_bleu_cases", system].result.n == 3
    texts = [tokens_of(f"{PLAIN} This is the story of my {case}.") for case in CASES]
    assert float(np.mean(self_bleu(texts))) < 1


def test_embeddings_are_of_whole_conversations(view: RatingsView) -> None:
    def encode(texts: Sequence[str]) -> Any:
        return np.array([[1.0, 0.0] if "gout" in text else [0.0, 1.0] for text in texts], np.float32)

    by_name = {(measure.name, measure.system): measure for measure in patient_quality(view, encode=encode)}
    assert by_name["embedding_distance_repeats", "lab/b"].result.estimate == pytest.approx(0)
    # Of three cases one is orthogonal to two that are equal: two of three pairs.
    assert by_name["embedding_distance_cases", "lab/b"].result.estimate == pytest.approx(2 / 3)


def test_patients_are_held_against_other_conversations(view: RatingsView) -> None:
    """Which are themselves simulated here, and called so."""
    held = replace(view, reference=replace(view, name="sessions"))
    rows = [measure for measure in patient_quality(held) if measure.aspect == "simulated"]
    assert {measure.name for measure in rows} >= {"words_per_turn.patient", "flesch_reading_ease.patient"}
    own = next(measure for measure in rows if (measure.name, measure.system) == ("words_per_turn.patient", "lab/a"))
    texts = [PLAIN] * 3 + [LEARNED] * 2 + [f"{LEARNED} {PLAIN}"]  # of the three cases
    words = [len(f"{text} This is the story of my life.".split()) for text in texts]
    assert own.result.estimate == pytest.approx(np.mean(words))
    assert own.deviation == pytest.approx(abs((own.result.estimate or 0) - (own.reference or 0)))


def test_the_table_says_what_nobody_looked_at(view: RatingsView) -> None:
    table = quality_table(view, patient_quality(view))
    notes = " ".join(table.notes)
    assert "nothing is known of it: Contradictions of the case, Inventions beyond the case" in notes
    assert "no reference corpus is named" in notes
    assert not is_checked(view)


def test_without_simulated_conversations_there_is_nothing(tmp_path: Path) -> None:
    talks = tmp_path / "talks.jsonl"
    talks.write_text('{"id": "a", "turns": [{"role": "patient", "text": "Hi."}]}\n', "utf-8")
    run = bedside.score([talks], tmp_path / "run", metrics=["structure"]).run
    with pytest.raises(NothingError):
        patient_quality(open_ratings_view(run))
