"""How alike the words of simulated and real patients are: on conversations made with known numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.reports.tables.simulation_quality import likeness_sentences, likeness_table
from bedside.simulation.likeness import Likeness, features, likeness
from tests.analysis.simulated_run import MANIFEST
from tests.simulation.test_patient_quality import conversation

N = 30
#: Neither of them is a word of feeling.
PLAIN = ("leg", "tablet", "garden", "morning", "window")


def turns(rng: np.random.Generator, longer: float) -> list[dict[str, str]]:
    """Eight turns, some of which ask something or have a word of feeling, whatever their length."""
    base = rng.normal(2, 0.3) + np.log(longer)
    said = []
    for _ in range(8):
        words = list(rng.choice(PLAIN, size=max(2, round(float(np.exp(base + rng.normal(0, 0.3)))))))
        words[0] = "worried" if rng.random() < 0.3 else words[0]
        said += [
            {"role": "clinician", "text": "And then?"},
            {"role": "patient", "text": " ".join(words) + ("?" if rng.random() < 0.3 else ".")},
        ]
    return said


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    """Two systems, with one of which patients talk three times as much as real ones; both like them in all else."""
    folder = tmp_path_factory.mktemp("likeness")
    rng = np.random.default_rng(4)
    talks, real = folder / "talks", folder / "real.jsonl"
    talks.mkdir()
    lines = [
        {**conversation(system, f"case-{number}", "openness", "basic", 1), "turns": turns(rng, longer)}
        for number in range(N)
        for system, longer in (("lab/a", 1.0), ("lab/b", 3.0))
    ]
    (talks / "transcripts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (talks / "failed.jsonl").write_text("", "utf-8")
    manifest = {**MANIFEST, "protocol": "multisense", "clinicians": ["lab/a", "lab/b"], "toys": []}
    manifest["conversations"] = {"planned": 2 * N, "finished": 2 * N, "failed": 0, "unfinished": 0}
    (talks / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    people = [{"id": f"real-{number}", "language": "en", "turns": turns(rng, 1.0)} for number in range(120)]
    people.append({"id": "chinese", "language": "zh", "turns": [{"role": "patient", "text": "我害怕。"}]})
    real.write_text("".join(json.dumps(talk) + "\n" for talk in people), "utf-8")
    runs = [bedside.score([path], folder / path.stem / "run", metrics="turns").run for path in (talks, real)]
    simulated, reference = map(open_ratings_view, runs)
    return replace(simulated, reference=reference)


@pytest.fixture(scope="module")
def rows(view: RatingsView) -> dict[tuple[str, str], Likeness]:
    return {(row.feature, row.system): row for row in likeness(view, margin=0.75)}


def test_features_by_hand() -> None:
    found = features(["I worry. Is it bad?", "No", "It scares my wife, and I am glad now"], "en")
    # 5, 1 and 9 words; 3 of feeling (worry, scares, glad); half of the middle turn's word is in the first half.
    assert found == pytest.approx({"turn_length": 5, "questions": 1 / 3, "affect": 100 * 3 / 15, "early": 5.5 / 15})
    assert features(["我很担心？"], "zh") == {"turn_length": 4, "questions": 1, "affect": 25}
    assert "affect" not in features(["Je suis triste.", "Oui."], "fr")
    assert features(["…"], "en") == {}


def test_what_is_alike_and_what_is_not(rows: dict[tuple[str, str], Likeness]) -> None:
    assert rows["turn_length", "lab/a"].verdict == "alike"
    assert rows["turn_length", "lab/b"].verdict == "not alike"
    for name in ("questions", "affect", "early"):
        assert [rows[name, system].verdict for system in ("lab/a", "lab/b")] != ["not alike"] * 2
    row = rows["turn_length", "lab/b"]
    assert (row.n, row.reference_n, row.language, row.left_out) == (N, 120, "en", 1)
    assert row.mean is not None
    assert row.reference is not None
    assert row.mean / row.reference == pytest.approx(3, rel=0.15)


def test_a_classifier_tells_apart_whom_it_can(rows: dict[tuple[str, str], Likeness]) -> None:
    like, unlike = (rows["told_apart", system].result for system in ("lab/a", "lab/b"))
    assert like.interval is not None
    assert like.interval.low < 0.5 < like.interval.high
    assert unlike.estimate is not None
    assert unlike.estimate > 0.95
    assert rows["told_apart", "lab/a"].verdict is None


def test_nearness_in_meaning_needs_a_model(view: RatingsView, rows: dict[tuple[str, str], Likeness]) -> None:
    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Real and simulated words are the same kind: as near to each other as to their own."""
        table = np.array([[text.startswith(start) for start in "ltgmw"] for text in texts], dtype=np.float32) + 0.1
        vectors: npt.NDArray[np.float32] = table / np.linalg.norm(table, axis=1, keepdims=True)
        return vectors

    assert not any(name == "meaning" for name, _ in rows)
    found = {(row.feature, row.system): row for row in likeness(view, encode=encode, margin=0.75)}
    row = found["meaning", "lab/a"]
    assert row.verdict in {"alike", "not known"}
    assert row.reference is not None
    assert 0.5 < row.reference < 1


def test_sentences_and_notes(view: RatingsView) -> None:
    table = likeness_table(likeness(view))
    first, second = likeness_sentences(table)
    assert first.startswith("With lab/a, patients talk like real ones in ")
    assert "unlike them in" in second
    assert "a classifier tells them apart with an AUC of 0.9" in second
    notes = " ".join(table.notes)
    assert "± 0.5 standard deviations" in notes
    assert "--embeddings" in notes
    assert "1 conversation in other languages" not in notes, "it is counted with each system"
