"""Consistency and entailment: sums over tables worked out by hand, what is missing and why, and the command line."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.metrics import FAMILIES
from bedside.metrics.families import consistency
from bedside.metrics.models.nli import Inference
from bedside.ratings.run import Run
from bedside.ratings.values import Value
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation, exit_code
from tests.metrics.models import classifiers

FAMILY = FAMILIES.load("consistency")
TALK = (
    ("clinician", "c0"),
    ("patient", "p1"),
    ("clinician", "c2"),
    ("clinician", "c3"),
    ("patient", "p4"),
    ("patient", "p5"),
)
#: P(entailment), P(neutral), P(contradiction) of premise and hypothesis.
TABLE = {
    ("c0", "c2"): (0.2, 0.5, 0.3),
    ("c0", "c3"): (0.1, 0.3, 0.6),
    ("c2", "c3"): (0.0, 0.1, 0.9),
    ("p1", "p4"): (0.7, 0.2, 0.1),
    ("p1", "p5"): (0.1, 0.8, 0.1),
    ("p4", "p5"): (0.3, 0.3, 0.4),
    ("c0", "p1"): (0.8, 0.1, 0.1),
    ("p1", "c2"): (0.1, 0.8, 0.1),
    ("p1", "c3"): (0.6, 0.3, 0.1),
    ("c3", "p4"): (0.5, 0.4, 0.1),
    ("c3", "p5"): (0.2, 0.6, 0.2),
}


def inference(shares: tuple[float, float, float], split: bool = False, cut: bool = False) -> Inference:
    best = shares.index(max(shares))
    return Inference(shares[0], shares[2], best == 0, best == 2, split, cut)


class Answers:
    """In the place of a model: answers by rule, one pair after another, and remembers what was asked."""

    def __init__(self, rule: Callable[[str, str], Inference]) -> None:
        self.rule = rule
        self.asked: list[tuple[str, str]] = []

    def infer(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Inference]:
        for pair in pairs:
            self.asked.append(pair)
            yield self.rule(*pair)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answers]:
    def use(rule: Callable[[str, str], Inference] = lambda *pair: inference(TABLE[pair])) -> Answers:
        made = Answers(rule)
        monkeypatch.setattr("bedside.metrics.models.nli.load_nli", lambda model, labels: made)
        return made

    return use


def compute(transcript: Transcript, *wanted: str, **given: Any) -> dict[tuple[str, Any], Value]:
    names = frozenset(wanted or {metric.name for metric in FAMILY.metrics})
    settings = FAMILY.settings({"model": "here", **given})
    values = list(FAMILY.compute(transcript, names, **settings))
    found = {(v.metric, v.role if v.turn is None else v.turn): v for v in values}
    assert len(found) == len(values)
    return found


# -- sums -------------------------------------------------------------------------------------------


def test_by_hand(answers: Any) -> None:
    answers()
    found = {key: value.value for key, value in compute(conversation(*TALK)).items()}
    assert found == {
        ("self_consistency", "clinician"): pytest.approx((0.7 + 0.4 + 0.1) / 3),
        ("self_consistency", "patient"): pytest.approx((0.9 + 0.9 + 0.6) / 3),
        ("contradiction_rate", "clinician"): pytest.approx(2 / 3),
        ("contradiction_rate", "patient"): pytest.approx(1 / 3),
        ("contradiction", 0): None,
        ("contradiction", 1): None,
        ("contradiction", 2): 0.3,
        ("contradiction", 3): 0.9,
        ("contradiction", 4): 0.1,
        ("contradiction", 5): 0.4,
        ("entailment", "clinician"): pytest.approx((0.1 + 0.6) / 2),
        ("entailment", "patient"): pytest.approx((0.8 + 0.5 + 0.2) / 3),
        ("entailment_rate", "clinician"): 1 / 2,
        ("entailment_rate", "patient"): pytest.approx(2 / 3),
        ("turn_entailment", 0): None,
        ("turn_entailment", 1): 0.8,
        ("turn_entailment", 2): 0.1,
        ("turn_entailment", 3): 0.6,
        ("turn_entailment", 4): 0.5,
        ("turn_entailment", 5): 0.2,
    }


def test_reasons_name_the_other_turn_and_count_the_pairs(answers: Any) -> None:
    answers()
    found = compute(conversation(*TALK))
    assert found["contradiction", 3].reason == "with turn 2"
    assert found["contradiction", 5].reason == "with turn 4"
    assert found["turn_entailment", 5].reason == "given turn 3"
    assert found["self_consistency", "clinician"].reason == "3 pairs of turns"
    assert found["entailment_rate", "clinician"].reason == "2 pairs of turns"
    assert found["contradiction", 0].error == "no earlier clinician turn to compare with"
    assert found["turn_entailment", 0].error == "no patient turn before it"


def test_a_window_of_one(answers: Any) -> None:
    model = answers()
    found = compute(conversation(*TALK), "self_consistency", "contradiction", window=1)
    assert model.asked == [("c0", "c2"), ("c2", "c3"), ("p1", "p4"), ("p4", "p5")]
    assert found["self_consistency", "clinician"].value == pytest.approx((0.7 + 0.1) / 2)
    assert found["contradiction", 5].value == 0.4


def test_only_pairs_that_are_wanted_are_asked_for(answers: Any) -> None:
    model = answers()
    compute(conversation(*TALK), "turn_entailment")
    assert ("c0", "c2") not in model.asked
    assert len(model.asked) == 5


def test_what_was_split_is_said(answers: Any) -> None:
    def rule(premise: str, hypothesis: str) -> Inference:
        return inference((0.2, 0.3, 0.5), split=hypothesis == "p5", cut=(premise, hypothesis) == ("p4", "p5"))

    answers(rule)
    found = compute(conversation(*TALK))
    assert found["self_consistency", "patient"].reason == (
        "3 pairs of turns; 2 longer than the model's window, compared by sentences; "
        "1 with a sentence longer than the window, cut"
    )
    assert found["contradiction", 5].reason == "with turn 1; compared by sentences"
    assert found["self_consistency", "clinician"].reason == "3 pairs of turns"


def test_beyond_the_stated_size_a_window_is_the_default_and_said(answers: Any) -> None:
    model = answers(lambda *_: inference((0.2, 0.5, 0.3)))
    size, window = consistency.ALL_UP_TO, consistency.DEFAULT_WINDOW
    found = compute(conversation(*[("patient", f"turn {at}") for at in range(size)]), "self_consistency")
    assert len(model.asked) == size * (size - 1) // 2
    assert found["self_consistency", "patient"].reason == f"{len(model.asked):,} pairs of turns"
    model.asked.clear()
    longer = conversation(*[("patient", f"turn {at}") for at in range(size + 1)])
    found = compute(longer, "self_consistency")
    assert len(model.asked) == window * (window - 1) // 2 + (size + 1 - window) * window
    assert found["self_consistency", "patient"].reason == (
        f"{len(model.asked):,} pairs of turns; each turn with no more than the {window} before it, as there are more "
        f"than {size} turns"
    )
    model.asked.clear()
    compute(longer, "self_consistency", window=size + 1)
    assert len(model.asked) == (size + 1) * size // 2


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pairs(answers: Any) -> None:
    """4000 turns of a role: 200 000 pairs, of which no list is kept."""
    model = answers(lambda *_: inference((0.2, 0.5, 0.3)))
    model.asked = type("Nothing", (), {"append": lambda *_: None})()
    transcript = conversation(*[("patient", "I drink.") for _ in range(4000)])
    tracemalloc.start()
    compute(transcript, "self_consistency", "contradiction_rate")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


# -- what is missing --------------------------------------------------------------------------------


def test_empty_turns_are_left_out_and_missing(answers: Any) -> None:
    model = answers(lambda *_: inference((0.2, 0.5, 0.3)))
    talk = (("clinician", "c0"), ("patient", " "), ("clinician", "c2"), ("patient", "p3"), ("clinician", ""))
    found = compute(conversation(*talk))
    assert all(text.strip() for pair in model.asked for text in pair)
    assert found["contradiction", 1].error == found["turn_entailment", 1].error == "the turn is empty"
    assert found["turn_entailment", 2].error == "turn 1 before it is empty"
    assert found["turn_entailment", 3].value == 0.2
    assert found["contradiction", 2].value == 0.3
    assert found["self_consistency", "patient"].error == "fewer than two patient turns that are not empty"
    assert found["entailment", "clinician"].error == "no clinician turn with words after one of the patient"


def test_a_role_that_is_missing(answers: Any) -> None:
    answers(lambda *_: inference((0.2, 0.5, 0.3)))
    found = compute(conversation(("patient", "p0"), ("other", "o"), ("patient", "p2")))
    assert found["self_consistency", "patient"].value == pytest.approx(0.7)
    for metric in ("self_consistency", "contradiction_rate", "entailment", "entailment_rate"):
        assert found[metric, "clinician"].error == "no clinician turn"
    assert found["entailment", "patient"].error == "no patient turn with words after one of the clinician"
    assert not [key for key in found if key[1] == 1], "nothing is said of others' turns"


# -- the command line -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return classifiers.save(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    talks: list[list[tuple[str, str]]] = [
        [("clinician", "yes"), ("patient", "I drink wine every day."), ("clinician", "You smoke?")],
        [("clinician", "yes"), ("patient", "I never drink. " * 12), ("clinician", "no"), ("patient", "x" * 60)],
    ]
    lines = [
        {"id": f"t{at}", "turns": [{"role": role, "text": text} for role, text in talk]}
        for at, talk in enumerate(talks)
    ]
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def score(file: Path, out: Path, setting: str) -> int:
    """The exit code."""
    return exit_code("score", file, "--metrics", "consistency", "--set", setting, "--out", out)


@pytest.mark.model
def test_the_command(file: Path, folder: Path, tmp_path: Path) -> None:
    assert score(file, tmp_path / "run", f"consistency.model={folder}") == 0
    ratings = Run(tmp_path / "run").ratings
    (rater,) = ratings["rater"].unique()
    assert rater.startswith("algorithm:consistency@1+model=tiny-")
    assert str(folder) not in rater
    pair = ratings.filter(pl.col("metric") == "contradiction", pl.col("transcript_id") == "t1", pl.col("value") > 0)
    assert pair["unit"].to_list() == ["turn:2", "turn:3"]
    assert pair["reason"].to_list()[0] == "with turn 0"
    assert pair["reason"].to_list()[1].startswith("with turn 1; compared by sentences, of which some are cut")
    assert score(file, tmp_path / "again", f"consistency.model={folder}") == 0
    assert Run(tmp_path / "again").ratings.equals(ratings)


@pytest.mark.model
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("consistency.model=/nowhere/at/all", "no model is there"),
        ("consistency.model=3", "consistency.model can't be 3"),
        ("consistency.model={empty}", "the folder has no config.json"),
        ("consistency.model={unnamed}", "doesn't name its labels"),
        ("consistency.model={four}", "4 labels"),
        ("consistency.model={pickled}", "can run code"),
    ],
)
def test_a_bad_model_is_one_line(
    setting: str, message: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    folders = {name: tmp_path / name for name in ("empty", "unnamed", "four", "pickled")}
    for path in folders.values():
        path.mkdir()
    if "unnamed" in setting:
        classifiers.save(folders["unnamed"], classifiers.classifier(labels=("LABEL_0", "LABEL_1", "LABEL_2")))
    if "four" in setting:
        classifiers.save(folders["four"], classifiers.classifier(labels=(*classifiers.LABELS, "other")))
    (folders["pickled"] / "config.json").write_text("{}")
    (folders["pickled"] / "pytorch_model.bin").write_bytes(b"")
    capsys.readouterr()
    assert score(file, tmp_path / "run", setting.format(**folders)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "run").exists()
