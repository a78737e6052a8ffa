"""Fidelity to the case against each pair asked of the model alone; naming the diagnosis against real dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.metrics import FAMILIES
from bedside.transcripts.reading import read_transcripts
from tests.conftest import conversation
from tests.metrics.models import classifiers

FACTS = ["He smokes. He never coughs at night.", "The pain began on Monday."]
TURNS = (
    ("clinician", "Do you smoke?"),
    ("patient", "I never smoke."),
    ("patient", " "),
    ("patient", "The pain began on Monday, at night."),
)
MDD5K = Path(__file__).parents[2].parent / "shared/data/mdd5k"


@pytest.mark.model
def test_values_are_those_of_each_pair_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from bedside.metrics.models.nli import load_nli

    model = str(classifiers.save(tmp_path))
    family = FAMILIES.load("case_fidelity")
    transcript = conversation(*TURNS, reference={"patient_facts": FACTS})
    names = frozenset(metric.name for metric in family.metrics)
    values = {
        (value.metric, value.turn): value
        for value in family.compute(transcript, names, **family.settings({"model": model}))
    }
    nli = load_nli(model)
    premises = ["He smokes.", "He never coughs at night.", "The pain began on Monday."]
    alone = {turn: [next(iter(nli.infer([(fact, TURNS[turn][1])]))) for fact in premises] for turn in (1, 3)}
    for turn, inferences in alone.items():
        worst = max(inference.contradiction for inference in inferences)
        assert values["case_contradiction", turn].value == pytest.approx(worst, abs=1e-5)
    contradicted = sum(any(i.contradicts for i in inferences) for inferences in alone.values())
    supported = sum(any(i.entails for i in inferences) for inferences in alone.values())
    assert values["case_contradiction_rate", None].value == contradicted / 2
    assert values["case_support_rate", None].value == supported / 2
    assert values["case_contradiction", 2].error == "the turn is empty"


@pytest.mark.model
def test_a_transcript_without_facts_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    family = FAMILIES.load("case_fidelity")
    model = {"model": str(classifiers.save(tmp_path))}
    rate = frozenset({"case_contradiction_rate"})
    (value,) = family.compute(conversation(*TURNS), rate, **family.settings(model))
    assert value.value is None
    assert value.error == "no facts of the case in the reference"


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("I have major depression.", 1.0),
        ("I have MAJOR  depression", 1.0),
        ("I feel depressed.", 0.0),
        ("It is panic disorder, they say.", 1.0),
        ("A depressionist painted it.", 0.0),
    ],
)
def test_the_diagnosis_is_found_as_whole_words(said: str, first: float) -> None:
    family = FAMILIES.load("diagnosis_naming")
    transcript = conversation(
        ("clinician", "Hello."),
        ("patient", said),
        ("clinician", "So it is major depression."),
        reference={"diagnosis": "Major depression, panic disorder"},
    )
    (value,) = family.compute(transcript, frozenset({"diagnosis_said_first"}))
    assert value.value == first


@pytest.mark.skipif(not MDD5K.exists(), reason="MDD-5k is not here")
def test_patients_of_mdd5k_who_name_their_diagnosis() -> None:
    """A plain search for the label as a string agrees, dialogue by dialogue."""
    family = FAMILIES.load("diagnosis_naming")
    checked = named = 0
    for transcript in read_transcripts([MDD5K]):
        diagnosis = transcript.reference.get("diagnosis")
        if not diagnosis or any(sign in diagnosis for sign in ",;/，；、"):
            continue
        holders = [turn.role for turn in transcript.turns if diagnosis in turn.text]
        (value,) = family.compute(transcript, frozenset({"diagnosis_said_first"}))
        assert value.value == float(holders[:1] == ["patient"])
        checked += 1
        named += value.value == 1.0
    assert checked > 50
    assert named
