"""Label files: read, checked, laid over transcripts, and scored as any transcripts are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import bedside
from bedside.cli.schemas import schema_text
from bedside.core.errors import RegistryError
from bedside.metrics import FAMILIES
from bedside.metrics.protocols.medconceal import (
    labels as medconceal_labels,
    policy as medconceal_policy,
    trace as medconceal_trace,
)
from bedside.metrics.protocols.note2chat import labels as note2chat_labels
from bedside.ratings.values import Value
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation

PAGES = Path(__file__).parents[3] / "docs" / "suites"
Z = dict.fromkeys(medconceal_labels.FEATURES, 0.0)
CONCERNS = [{"id": "a", "category": "communication barrier", "text": "Needs an interpreter"}]
CASE = conversation(
    ("clinician", "What would help you?"),
    ("patient", "Somebody who speaks Polish."),
    ("clinician", "Of course."),
    ("patient", "Thank you."),
    id="t1",
    language="en",
    reference={"concerns": CONCERNS},
)
OTHER = conversation(("clinician", "Hello."), ("patient", "Hello."), id="t2")
LABELS: dict[str, Any] = {
    "id": "t1",
    "rater": "human:anna",
    "findings": [{"category": "Communication  Barrier", "text": "Language"}],
    "matches": [{"finding": 0, "concern": "a", "quote": "somebody who speaks Polish"}],
    "turns": {"0": {"z": {**Z, "concern_elicitation": 1}}, "2": {"z": Z, "intent": "explain"}},
}


def written(folder: Path, *items: Any, name: str = "labels.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return path


def example_with(key: str, page: str) -> Any:
    """The JSON block of a page that has a key."""
    text = (PAGES / page).read_text("utf-8")
    blocks = [json.loads(part.split("```")[0]) for part in text.split("```json\n")[1:]]
    return next(block for block in blocks if key in block)


@pytest.mark.parametrize("protocol", ["medconceal", "note2chat"])
def test_examples_of_the_docs_are_of_the_schema_and_are_read(protocol: str, tmp_path: Path) -> None:
    found = {"medconceal": medconceal_labels, "note2chat": note2chat_labels}[protocol]
    example = example_with("rater", f"{protocol}.md")
    jsonschema.validate(example, json.loads(schema_text(f"labels-{protocol}")))
    path = written(tmp_path, example)
    roles = {"medconceal": ("clinician", "patient"), "note2chat": ("patient", "clinician")}[protocol]
    made = conversation(*[(role, "x") for role in roles * 6], id=example["id"])
    assert found.label_raters(next(iter(found.with_labels([made], path)))) == [example["rater"]]


def test_docs_example_of_labelled_turns_is_read(tmp_path: Path) -> None:
    example = example_with("revealed", "medconceal.md")
    jsonschema.validate(example, json.loads(schema_text("turns-medconceal")))
    (row,) = medconceal_trace.read_turns(written(tmp_path, example))
    assert row.case == example["case"]


def test_docs_worked_example_is_what_the_trace_gives() -> None:
    family = FAMILIES.load("hidden_concerns")
    example = family.metric("reveal_rate").examples[0]
    transcript = conversation(*example.turns, **example.transcript)
    labels = medconceal_labels.rater_labels(transcript, "human:anna")
    concerns = medconceal_labels.concerns_of(transcript)
    found = medconceal_trace.trace(
        transcript, concerns, labels.turns, medconceal_policy.PARAMETERS.load("published-shape")
    )
    page = (PAGES / "medconceal.md").read_text("utf-8")
    for state in found.history:
        (a, b), (p, q) = state.evidence, state.step.reveal
        row = " | ".join(f"{each:.3f}"[1:] for each in (p, a, q, b, state.step.address, state.address_evidence))
        assert f"| {row} |" in page


def test_labels_stand_by_rater_and_survive_writing(tmp_path: Path) -> None:
    other = {"id": "t1", "rater": "judge:m", "findings": []}
    labelled, untouched = medconceal_labels.with_labels([CASE, OTHER], written(tmp_path, LABELS, other))
    assert untouched is OTHER
    assert CASE.reference == {"concerns": CONCERNS}, "the input is not changed"
    assert medconceal_labels.label_raters(labelled) == ["human:anna", "judge:m"]
    path = tmp_path / "transcripts.jsonl"
    path.write_bytes(labelled.to_json() + b"\n")
    (again,) = bedside.read_transcripts([path])
    found = medconceal_labels.rater_labels(again, "human:anna")
    assert found == medconceal_labels.rater_labels(labelled, "human:anna")
    assert found.findings is not None
    assert found.findings[0].category == "communication barrier"
    assert found.turns[2].intent == "explain"
    assert medconceal_labels.rater_labels(again, "judge:m").findings == ()
    assert medconceal_labels.rater_labels(again, "judge:m").matches is None


def test_parts_come_in_several_files_and_replace_older_ones(tmp_path: Path) -> None:
    head = {"id": "t1", "rater": "human:anna"}
    first = written(tmp_path, {**head, "findings": LABELS["findings"]}, name="a.jsonl")
    second = written(tmp_path, {**head, "turns": LABELS["turns"]}, name="b.jsonl")
    third = written(tmp_path, {**head, "findings": []}, name="c.jsonl")
    found: Any = [CASE]
    for path in (first, second, third):
        found = medconceal_labels.with_labels(found, path)
    labels = medconceal_labels.rater_labels(next(iter(found)), "human:anna")
    assert labels.findings == ()
    assert set(labels.turns) == {0, 2}


def test_array_and_single_object_are_read_too(tmp_path: Path) -> None:
    for text in (json.dumps([LABELS], indent=1), json.dumps(LABELS, indent=1)):
        path = tmp_path / "labels.json"
        path.write_text(text)
        (labelled,) = medconceal_labels.with_labels([CASE], path)
        assert medconceal_labels.label_raters(labelled) == ["human:anna"]


def changed(**values: Any) -> dict[str, Any]:
    return {**LABELS, **values}


# -- the metric family ------------------------------------------------------------------------------------------


def values(transcript: Transcript, *names: str, family: str = "hidden_concerns", **given: Any) -> list[Value]:
    loaded = FAMILIES.load(family)
    return list(loaded.compute(transcript, frozenset(names), **loaded.settings(given)))


def labelled(tmp_path: Path, **labels: Any) -> Transcript:
    given = {"id": "t1", "rater": "human:anna", **labels}
    return next(iter(medconceal_labels.with_labels([CASE], written(tmp_path, given))))


def test_what_is_not_labelled_is_missing_with_the_reason(tmp_path: Path) -> None:
    everything = [metric.name for metric in FAMILIES.load("hidden_concerns").metrics]
    for value in values(CASE, *everything):
        assert value.value is None
        assert str(value.error).startswith("no labels of ")
    only = labelled(tmp_path, findings=LABELS["findings"])
    (coarse,), (fine,), (trace,) = (values(only, each) for each in ("coarse_f1", "concern_f1", "reveal_rate"))
    assert (coarse.value, coarse.rater) == (1, "human:anna")
    assert fine.error == "no labels of matches between findings and concerns"
    assert trace.error == "no labels of the clinician turns"
    half = labelled(tmp_path, turns={"0": LABELS["turns"]["0"]})
    (trace,), (blocked,) = values(half, "reveal_rate"), values(half, "blocked_turns")
    assert trace.error == "no labels of 1 of the 2 clinician turns (2)"
    assert blocked.error == "no labels of 1 of the 2 clinician turns"


def test_no_concerns_or_bad_labels_are_missing_with_the_reason(tmp_path: Path) -> None:
    whole = labelled(tmp_path, **{key: LABELS[key] for key in ("findings", "matches", "turns")})
    without = Transcript(id="t1", turns=whole.turns, reference={"medconceal": whole.reference["medconceal"]})
    (value,) = values(without, "concern_f1")
    assert value.error == "no hidden concerns in the reference"
    for concerns, reason in (
        ([{"id": "a"}], "the reference's concerns can't be read: 0.category: Field required"),
        ([*CONCERNS, *CONCERNS], "two hidden concerns of the reference have one id"),
        (7, "the reference's concerns can't be read"),
    ):
        bad = Transcript(id="t1", turns=whole.turns, reference={**whole.reference, "concerns": concerns})
        (value,) = values(bad, "concern_f1")
        assert str(value.error).startswith(reason)
    for labels in ({"human:anna": {"findings": 3}}, {"human:anna": 3}):
        bad = Transcript(id="t1", turns=CASE.turns, reference={"concerns": CONCERNS, "medconceal": labels})
        (value,) = values(bad, "concern_f1")
        assert str(value.error).startswith("labels of human:anna can't be read")
        (value,) = values(bad, "blocked_turns")
        assert value.error


def test_parameter_files_stand_in_the_raters_name(tmp_path: Path) -> None:
    whole = labelled(tmp_path, **{key: LABELS[key] for key in ("findings", "matches", "turns")})
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nextends: default\ntitle: x\norigin: y\nreveal: {low: 0.4, consecutive: 1}\n")
    (value,) = values(whole, "reveal_rate", parameters=str(path))
    assert (value.value, value.rater) == (1, "human:anna+parameters=mine")
    with pytest.raises(RegistryError, match="'defualt'"):
        values(whole, "reveal_rate", parameters="defualt")
    with pytest.raises(RegistryError):
        values(whole, "reveal_rate", parameters=str(tmp_path / "none.yaml"))
    with pytest.raises(RegistryError, match="parameters"):
        values(whole, "reveal_rate", parameters=3)


def test_scored_as_any_other_transcripts(tmp_path: Path) -> None:
    talk = conversation(
        ("patient", "My chest hurts."), ("clinician", "Since when?"), ("patient", "Monday."),
        ("clinician", "Angina."), id="t1", reference={"concerns": CONCERNS},
    )  # fmt: skip
    history = {"id": "t1", "rater": "judge:m", "findings": [{"message": 2}], "diagnosis_rank": 0}
    concerns = {"id": "t1", "rater": "judge:m", "turns": {"1": {"z": Z}, "3": {"z": Z}}}
    labelled = note2chat_labels.with_labels([talk], written(tmp_path, history, name="h.jsonl"))
    labelled = medconceal_labels.with_labels(labelled, written(tmp_path, concerns, name="c.jsonl"))
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"".join(each.to_json() + b"\n" for each in labelled))
    done = bedside.score([path], tmp_path / "run", metrics=["hidden_concerns", "history_taking"])
    table = bedside.read_run(done.run.path).ratings
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    mine = {row["metric"]: row["value"] for row in table.filter(pl.col("rater") == "judge:m").to_dicts()}
    assert (mine["history_recall"], mine["history_f1"], mine["diagnosis_top_1"]) == (1, 1, 1)
    assert (mine["reveal_rate"], mine["concern_f1"]) == (0, None)
    assert table.filter(pl.col("value").is_null() & pl.col("error").is_null()).is_empty()


def test_the_bundled_examples_concerns_are_read() -> None:
    path = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
    for transcript in bedside.read_transcripts([path]):
        assert medconceal_labels.concerns_of(transcript)
