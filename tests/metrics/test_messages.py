"""What is said of parameters, labels, coders and model files that can't be used, word for word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from bedside.core.errors import BedsideError
from bedside.core.model_files import find_model, library
from bedside.metrics import FAMILIES
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.learned.trained_coder import load_coder
from bedside.metrics.coders.learned.training_set import read_training_set
from bedside.metrics.coders.testing.coder_test import evaluate_coder
from bedside.metrics.models.nli import label_order
from bedside.metrics.protocols.contract import PROTOCOLS
from bedside.metrics.protocols.medconceal import labels as medconceal_labels
from bedside.metrics.protocols.medconceal.fitting import fit
from bedside.metrics.protocols.medconceal.policy import parse_parameters
from bedside.metrics.protocols.medconceal.trace import read_turns, trace
from bedside.metrics.protocols.note2chat.preferences import rewarded
from tests.conftest import conversation
from tests.metrics.coders.test_trained_coder import corpus
from tests.metrics.protocols.test_fitting import SMALL_ADDRESS, SMALL_REVEAL, drawn_turns
from tests.metrics.protocols.test_labels import CASE, LABELS, OTHER, Z, changed, written
from tests.metrics.protocols.test_trace import CONCERN, SHAPE, TALK, labels

TURNS = drawn_turns(4, 8, replayed=False)
NLI = ("entailment", "neutral", "contradiction")


def settings(family: str, **given: Any) -> object:
    """What a family computes with such parameters, of a conversation of two turns."""
    found = FAMILIES.load(family)
    wanted = frozenset(metric.name for metric in found.metrics)
    made = conversation(("clinician", "Why do you ask?"), ("patient", "I sleep so badly."), language="en")
    return list(found.compute(made, wanted, **found.settings(given)))


def rating(*items: Any, of: Any = CASE) -> Callable[[Path], object]:
    return lambda folder: list(medconceal_labels.with_labels([of], written(folder, *items)))


def turn_labels(number: str = "0", **features: Any) -> Callable[[Path], object]:
    return rating(changed(turns={number: {"z": {**Z, **features}}}))


def label_text(folder: Path) -> object:
    (folder / "labels.jsonl").write_text('{"id": \n')
    return list(medconceal_labels.with_labels([CASE], folder / "labels.jsonl"))


def parameters(folder: Path, **changes: Any) -> object:
    data = {"name": "bad", "extends": "default", "title": "x", "origin": "y", **changes}
    return parameter_text(yaml.safe_dump(data), folder)


def parameter_text(text: str, folder: Path) -> object:
    (folder / "bad.yaml").write_text(text)
    return parse_parameters(folder / "bad.yaml")


def without_a_weight(folder: Path) -> object:
    data = SHAPE.model_dump(mode="json")
    del data["address"]["weights"]["plan_specificity"]
    return parameter_text(yaml.safe_dump(data), folder)


def fitted(rows: list[Any]) -> object:
    return fit(rows, seed=0, reveal_grid=SMALL_REVEAL, address_grid=SMALL_ADDRESS)


def turn_rows(folder: Path) -> object:
    (folder / "turns.jsonl").write_text('{"case": "1"}\n')
    return read_turns(folder / "turns.jsonl")


def model(folder: Path, *files: str) -> object:
    """A folder of a model with these files; none at all where none is named."""
    for name in files:
        (folder / "model").mkdir(exist_ok=True)
        (folder / "model" / name).write_bytes(b"{}")
    return find_model(str(folder / "model"))


def order(*names: str, asked: str = "") -> object:
    return label_order({"id2label": {str(at): name for at, name in enumerate(names)}} if names else {}, asked)


def coder(content: bytes, folder: Path) -> object:
    (folder / "coder.npz").write_bytes(content)
    return load_coder(folder / "coder.npz")


def pickled(folder: Path) -> object:
    np.savez(folder / "coder.npz", card=np.array([{"a": 1}], dtype=object))
    return load_coder(folder / "coder.npz")


def coded_otherwise() -> object:
    sessions = corpus()
    turn = replace(sessions[3].turns[0], meta={"codes": {"anna": {"question": "Open"}}})
    sessions[3] = replace(sessions[3], turns=(turn, *sessions[3].turns[1:]), source="a.jsonl:4")
    return read_training_set(sessions)


CASES: dict[str, Callable[[Path], object]] = {
    # parameters of families
    "no such coder": lambda folder: settings("behaviour", coders="human,rulez"),
    "number of early turns": lambda folder: settings("behaviour", early_turns=0),
    "coders in a list": lambda folder: settings("behaviour", coders=["human"]),
    "window of consistency": lambda folder: settings("consistency", window=-1),
    "no such parameter": lambda folder: settings("politeness", nonsense=1),
    "word for a number": lambda folder: settings("readability", min_words="ten"),
    "number for a choice": lambda folder: settings("readability", raw=1),
    "no model of a family": lambda folder: FAMILIES.load("politeness").rater({"model": str(folder / "none")}),
    "no such rule": lambda folder: CODERS.load("rule"),
    "no such protocol": lambda folder: PROTOCOLS.load("medconcael"),
    # labels
    "key of labels": rating(changed(finding=[])),
    "labeller": rating(changed(rater="anna")),
    "labelled twice": rating(LABELS, changed()),
    "turn of the patient": turn_labels("1"),
    "no such turn": turn_labels("9"),
    "feature above 1": turn_labels(partnership=1.1),
    "true for a number": turn_labels(partnership=True),
    "no features": rating(changed(turns={"0": {"z": {}}})),
    "no such category": rating(changed(findings=[{"category": "money", "text": "x"}])),
    "finding below 0": rating(changed(matches=[{"finding": -1, "concern": "a", "quote": ""}])),
    "text for labels": rating("x"),
    "labels of others": rating(LABELS, of=OTHER),
    "labels of no JSON": label_text,
    "no label file": lambda folder: list(medconceal_labels.with_labels([CASE], folder / "none.jsonl")),
    "turns without labels": lambda folder: trace(TALK, [CONCERN], {0: labels()}, SHAPE),
    "no clinician": lambda folder: trace(conversation(("patient", "x")), [CONCERN], {}, SHAPE),
    # parameter files of MedConceal
    "unknown key": partial(parameters, reveal={"hihg": 0.9}),
    "low above high": partial(parameters, reveal={"low": 0.8}),
    "decay": partial(parameters, reveal={"decay": 1.0}),
    "no such feature": partial(parameters, reveal={"weights": {"overlapp": 1.0}}),
    "category of parameters": partial(parameters, reveal={"by_category": {"money": {}}}),
    "lag": partial(parameters, address={"lag": -1}),
    "meta probe": partial(parameters, meta_probe="often"),
    "no weight": without_a_weight,
    "no parameter file": lambda folder: parse_parameters(folder / "none.yaml"),
    "no YAML": partial(parameter_text, "a: ["),
    "list of parameters": partial(parameter_text, "- a"),
    "number to extend": partial(parameter_text, "extends: 3"),
    # fitting
    "one case to fit": lambda folder: fitted(TURNS[:16]),
    "two rows of a turn": lambda folder: fitted([*TURNS, TURNS[0]]),
    "row is missing": lambda folder: fitted(TURNS[1:]),
    "features that differ": lambda folder: fitted([TURNS[0].model_copy(update={"z": TURNS[2].z}), *TURNS[1:]]),
    "two addressed": lambda folder: fitted([TURNS[0], TURNS[1].model_copy(update={"addressed": 0}), *TURNS[2:]]),
    "one outcome": lambda folder: fitted([row.model_copy(update={"revealed": 0}) for row in TURNS]),
    "key of a row": turn_rows,
    # preferences of Note2Chat
    "no price of an exchange": lambda folder: rewarded([]),
    "price in the code": lambda folder: rewarded([], rule="code", alpha=0.1),
    "outside in the code": lambda folder: rewarded([], rule="code", outside="term"),
    # coders
    "too few to learn from": lambda folder: read_training_set(corpus(3)),
    "no two labels": lambda folder: read_training_set(corpus(second=True), codes=["question"]),
    "no such code": lambda folder: read_training_set(corpus(), codes=["questions"]),
    "no such label": lambda folder: coded_otherwise(),
    "no codes": lambda folder: evaluate_coder([conversation(("clinician", "Why?"))], CODERS.load("rules")),
    "damaged coder": partial(coder, b"PK\x03\x04 nonsense"),
    "pickled coder": pickled,
    "no coder": lambda folder: load_coder(folder / "absent.npz"),
    # models
    "no model": model,
    "no config": lambda folder: model(folder, "model.safetensors"),
    "no weights": lambda folder: model(folder, "config.json"),
    "weights that run": lambda folder: model(folder, "config.json", "pytorch_model.bin"),
    "two labels": lambda folder: order("entailment", "not_entailment"),
    "four labels": lambda folder: order(*NLI, "other"),
    "other labels": lambda folder: order("entailment", "entailment", "neutral"),
    "unnamed labels": lambda folder: order("LABEL_0", "LABEL_1", "LABEL_2"),
    "no labels": lambda folder: order(),
    "no order": lambda folder: order(asked="yes,no,maybe"),
    "no library": lambda folder: library("nothing_of_that_name", "nli"),
}  # fmt: skip
GOLDEN = {
    "no such coder": "there is no coder 'rulez'; did you mean rules or rules_zh?",
    "number of early turns": "early_turns is 0; give a whole number from 1",
    "coders in a list": "behaviour.coders can't be ['human']; give a value like 'human,rules'",
    "window of consistency": "window is -1; give a number of turns, or 0 for the default",
    "no such parameter": "there is no politeness parameter 'nonsense'; known: model",
    "word for a number": "readability.min_words can't be 'ten'; give a value like 20",
    "number for a choice": "readability.raw can't be 1; give a value like False",
    "no model of a family":
        "FOLDER/none: no model is there; name a folder with config.json and safetensors files, a .gguf file, or an "
        "installed spaCy pipeline",
    "no such rule": "there is no coder 'rule'; did you mean rules or rules_zh?",
    "no such protocol": "there is no protocol 'medconcael'; did you mean medconceal?",
    "key of labels":
        "FOLDER/labels.jsonl:1: finding: unknown key; did you mean findings?; see docs/suites/medconceal.md",
    "labeller":
        "FOLDER/labels.jsonl:1: rater: it must be human:, judge: or algorithm: and a name; see "
        "docs/suites/medconceal.md",
    "labelled twice":
        "FOLDER/labels.jsonl:2: transcript 't1' has labels of human:anna twice; keep one of them; the first is at "
        "FOLDER/labels.jsonl:1",
    "turn of the patient":
        "FOLDER/labels.jsonl:1: in transcript 't1' turn 1 is not the clinician's; turns count from 0",
    "no such turn": "FOLDER/labels.jsonl:1: transcript 't1' has no turn 9; turns count from 0",
    "feature above 1":
        "FOLDER/labels.jsonl:1: turns.0.z.partnership: it must be 1 or less; see "
        "docs/suites/medconceal.md",
    "true for a number":
        "FOLDER/labels.jsonl:1: turns.0.z.partnership: it must be a number; see docs/suites/medconceal.md",
    "no features": "FOLDER/labels.jsonl:1: turns.0.z.data_gathering: it is missing; see docs/suites/medconceal.md",
    "no such category":
        "FOLDER/labels.jsonl:1: findings.0.category: it must be 'misinformation or misconception', 'emotional "
        "discomfort or fear', 'communication barrier' or 'financial or insurance concern'; see "
        "docs/suites/medconceal.md",
    "finding below 0":
        "FOLDER/labels.jsonl:1: matches.0.finding: it must be 0 or more; see "
        "docs/suites/medconceal.md",
    "text for labels":
        "FOLDER/labels.jsonl:1: it must hold keys and values; see "
        "docs/suites/medconceal.md",
    "labels of others":
        "FOLDER/labels.jsonl: there are labels of 1 transcript that is not there ('t1'); check the ids",
    "labels of no JSON": "FOLDER/labels.jsonl:2: not JSON (expecting value at column 1); mend or remove it",
    "no label file": "FOLDER/none.jsonl: there is no such label file; check its path",
    "turns without labels": "no labels of 1 of the 2 clinician turns (2)",
    "no clinician": "no clinician turn",
    "unknown key": "FOLDER/bad.yaml: reveal.hihg: unknown key; did you mean high?; mend this key",
    "low above high": "FOLDER/bad.yaml: reveal: low must not exceed high; mend this key",
    "decay": "FOLDER/bad.yaml: reveal.decay: it must be below 1; mend this key",
    "no such feature":
        "FOLDER/bad.yaml: reveal.weights: no feature is called 'overlapp'; did you mean overlap?; mend this key",
    "category of parameters":
        "FOLDER/bad.yaml: reveal.by_category.money: the key must be 'misinformation or misconception', "
        "'emotional discomfort or fear', 'communication barrier' or 'financial or insurance concern'; mend this key",
    "lag": "FOLDER/bad.yaml: address.lag: it must be 0 or more; mend this key",
    "meta probe": "FOLDER/bad.yaml: meta_probe: it must be a number; mend this key",
    "no weight": "FOLDER/bad.yaml: address.weights: no weight of plan_specificity; mend this key",
    "no parameter file": "FOLDER/none.yaml: there is no such parameter file; check its path",
    "no YAML": "FOLDER/bad.yaml:1: the file is not plain YAML (expected the node content, but found '<stream end>')",
    "list of parameters": "FOLDER/bad.yaml: a parameter file must hold keys and values; see docs/suites/medconceal.md",
    "number to extend": "FOLDER/bad.yaml: it can't extend 3; name a shipped parameter file",
    "one case to fit": "a fit needs 2 cases or more, and has 1; label more",
    "two rows of a turn": "case '0': there are two rows of one turn and concern; keep one of them",
    "row is missing": "case '0': not every concern has a row for every turn; give all turns of a case",
    "features that differ":
        "case '0': turn 0 has different features or intents for different concerns; a turn has one z",
    "two addressed": "case '0': two concerns have 'addressed' labels; label the primary concern only",
    "one outcome":
        "the turns for fitting the reveal (in a fold) have only one outcome; label turns that do and turns that "
        "don't, in several cases",
    "key of a row": "FOLDER/turns.jsonl:1: turn: it is missing; see docs/suites/medconceal.md",
    "no price of an exchange": "`alpha`: the rule paper needs the price of an exchange; name it, or use the rule code",
    "price in the code": "`alpha`: the rule code doesn't know it; leave it out, or use the rule paper",
    "outside in the code": "`outside`: the rule code doesn't know it; leave it out, or use the rule paper",
    "too few to learn from":
        "people coded 3 transcripts of different text; 8 are needed to learn from some and be tried on others; give "
        "more coded transcripts; bedside train test-coder FILE --coder rules needs one",
    "no two labels": "no code has two labels with 10 turns in 3 transcripts; give more coded transcripts",
    "no such code": "`codes`: there is no code 'questions'; did you mean question or reflection?",
    "no such label": "a.jsonl:4, turn 0, coder anna: there is no question label 'Open'; did you mean open?",
    "no codes": "no transcript has people's codes of question; give transcripts whose turns have meta.codes",
    "damaged coder":
        "FOLDER/coder.npz: not a trained coder (File is not a zip file); give a file that bedside train coder wrote",
    "pickled coder":
        "FOLDER/coder.npz: not a trained coder (card.npy doesn't hold the numbers that it says); give a file that "
        "bedside train coder wrote",
    "no coder": "FOLDER/absent.npz: there is no such file; check its path",
    "no model":
        "FOLDER/model: no model is there; name a folder with config.json and safetensors files, a .gguf file, or an "
        "installed spaCy pipeline",
    "no config":
        "FOLDER/model: no model is there: the folder has no config.json; name a folder with config.json and "
        "safetensors files, a .gguf file, or an installed spaCy pipeline",
    "no weights": "FOLDER/model: it has no weights; put model.safetensors beside config.json",
    "weights that run":
        "FOLDER/model: its weights (pytorch_model.bin) are in a form that can run code when it is read; save it as "
        "safetensors: model.save_pretrained(folder, safe_serialization=True)",
    "two labels":
        "the model has 2 labels (entailment, not_entailment), which are not entailment, neutral, contradiction; one "
        "that doesn't tell contradiction from neutral can't serve; name a model for natural-language inference with "
        "these three labels",
    "four labels":
        "the model has 4 labels (entailment, neutral, contradiction, other), which are not entailment, neutral, "
        "contradiction; name a model for natural-language inference with these three labels",
    "other labels":
        "the model has 3 labels (entailment, entailment, neutral), which are not entailment, neutral, contradiction;"
        " name a model for natural-language inference with these three labels",
    "unnamed labels":
        "the model's config doesn't name its labels (LABEL_0, LABEL_1, LABEL_2); state the order of the model's "
        "outputs as its card gives it, for instance consistency.labels=contradiction,neutral,entailment",
    "no labels":
        "the model's config doesn't name its labels (it has no id2label); state the order of the model's outputs as "
        "its card gives it, for instance consistency.labels=contradiction,neutral,entailment",
    "no order":
        "labels 'yes,no,maybe' are not entailment, neutral, contradiction in some order; state the order of the "
        "model's outputs as its card gives it, for instance consistency.labels=contradiction,neutral,entailment",
    "no library":
        "a model on this computer needs nothing_of_that_name, which isn't installed; pip install \"bedside[nli]\"",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
