"""Rubrics: shipped ones are sound, bad files are refused in one line, replies are held to their form."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings, strategies as st

from bedside.core.errors import RegistryError
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.description import describe
from bedside.judges.rubrics.linter import check
from bedside.judges.rubrics.rubric import FROM_TRANSCRIPT, Rubric, read
from bedside.judges.rubrics.rubric_files import RUBRICS, check_file, find_rubric, parse_rubric, rubrics_with
from bedside.metrics.protocols.medconceal import labels as medconceal
from bedside.metrics.protocols.note2chat import labels as note2chat
from bedside.ratings.scales import Scale
from bedside.transcripts.transcript import CODES
from tests.conftest import Call, works

FOLDER = Path(__file__).parents[3] / "bedside" / "judges" / "rubrics" / "shipped"
SHIPPED = RUBRICS.names()
ALL = pytest.mark.parametrize("name", SHIPPED)

LEVELS = (
    "Delivers everything in one go, without a pause or a question.",
    "Divides the information and goes on without looking for a reaction.",
    "Gives a piece, waits for the reaction, and fits the next one to it.",
)
PACING: dict[str, Any] = {
    "name": "pacing", "title": "Pacing", "construct": "Pacing of information",
    "definition": "How well the clinician fits the amount of information to the {background} of the patient.",
    "unit": "transcript", "kind": "level", "role": "clinician", "direction": "higher",
    "scale": [{"value": value, "descriptor": descriptor} for value, descriptor in enumerate(LEVELS)],
    "inputs": [{"name": "background", "description": "What is known of the patient beforehand."}],
    "source": "Ours.",
}  # fmt: skip


def changed(**keys: Any) -> dict[str, Any]:
    """The rubric ``pacing`` with other values; a key set to None is left out."""
    return {key: value for key, value in (copy.deepcopy(PACING) | keys).items() if value is not None}


def scaled(*descriptors: str, **last: Any) -> dict[str, Any]:
    """With other levels; or with other keys of the last."""
    levels = [{"value": value, "descriptor": text} for value, text in enumerate(descriptors or LEVELS)]
    end = {key: value for key, value in {**levels[-1], **last}.items() if value != ""}
    return changed(scale=[*levels[:-1], end])


def answered(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """A rubric of another kind, whose answer has these parts."""
    return changed(
        kind=kind, scale=None, answer=[{"name": "ab"[at], "descriptor": "x", **part} for at, part in enumerate(parts)]
    )


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, not as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write(folder: Path, data: dict[str, Any] | str, name: str = "pacing.yaml") -> Path:
    path = folder / name
    text = data if isinstance(data, str) else yaml.dump(data, Dumper=_Plain, sort_keys=False)
    path.write_text(text, "utf-8")
    return path


#: SPEC 5: scales of the protocols' level rubrics.
SCALES = {
    (1, 4): "perceived_susceptibility perceived_severity perceived_benefits conversation_flow",
    (0, 1): "diagnostic_accuracy_soft diagnostic_accuracy_hard safety information_control factual_conflict",
    (1, 5): "client_consistency softening_sustain_talk cultivating_change_talk empathy partnership "
            "reflection_quality question_quality effectiveness goal_alignment realignment",
    (0, 2): "medconceal_empathy medconceal_collaboration medconceal_rationale medconceal_problem_solving "
            "medconceal_actionability",
    (1, 10): "professionalism professionalism_by_diagnosis communication_doctor communication_patient fluency_flow "
             "fluency_repetition similarity",
}  # fmt: skip
OTHERS = {
    "values_detected": "set", "open_question": "label", "turn_evaluator": "vector", "concern_matching": "pairs",
    "finding_extraction": "list", "finding_check": "index", "diagnosis_match": "index", "finding_category": "label",
}  # fmt: skip
#: What simulated patients are checked by.
CHECKS = {
    "case_contradiction_level": "level", "case_invention": "level", "dominant_trait": "label", "patient_faults": "set",
}  # fmt: skip
#: What becomes of people at risk.
ESCALATION = dict.fromkeys(("risk_asked", "risk_help", "risk_no_harm", "risk_stayed"), "level")


def test_every_rubric_of_the_protocols_is_shipped_and_no_other() -> None:
    listed = {name: "level" for names in SCALES.values() for name in names.split()} | OTHERS | CHECKS | ESCALATION
    assert {name: rubric.kind for name, rubric in RUBRICS.all().items()} == listed


@pytest.mark.parametrize(("ends", "names"), SCALES.items(), ids=str)
def test_scales_are_those_of_the_protocols(ends: tuple[int, int], names: str) -> None:
    scale = Scale(tuple(map(float, range(ends[0], ends[1] + 1))), True)
    assert {RUBRICS.load(name).rating_scale() for name in names.split()} == {scale}


@ALL
def test_a_shipped_file_has_no_error_no_warning_and_no_long_line(name: str) -> None:
    path = FOLDER / f"{name}.yaml"
    assert check_file(path) == (RUBRICS.load(name), ())
    assert max(map(len, path.read_text("utf-8").splitlines())) <= 120


def test_rubrics_speak_the_language_of_the_protocols_arithmetic() -> None:
    """What a judge replies is what the label files of MedConceal and Note2Chat hold."""
    evaluator = RUBRICS.load("turn_evaluator")
    answer = reply(evaluator)
    numbers = [part.name for part in evaluator.answer if part.type == "number"]
    assert numbers == [*medconceal.FEATURES, "empathy_strength"]
    assert tuple(answer["intent_probabilities"]) == medconceal.INTENTS
    features = {name: answer.pop(name) for name in medconceal.FEATURES}
    assert medconceal.ConcernTurnLabels.model_validate({"z": features, **answer}).reason == answer["reason"]
    assert evaluator.references == ()
    assert {item.name for item in evaluator.inputs} == set(FROM_TRANSCRIPT)
    extraction = RUBRICS.load("finding_extraction")
    category = extraction.answer[0].items[0]
    assert tuple(label.label for label in category.labels) == medconceal.CATEGORIES
    medconceal.SubmittedFinding.model_validate(reply(extraction)["findings"][0])
    pair = reply(RUBRICS.load("concern_matching"))["pairs"][0]
    medconceal.MatchProposal.model_validate({**pair, "concern": "an id"})
    assert tuple(label.label for label in RUBRICS.load("finding_category").labels) == note2chat.CATEGORIES
    finding = reply(RUBRICS.load("finding_check"))["answers"][0]
    note2chat.ClinicalFinding.model_validate({key: finding[key] for key in ("message", "opening")})


def test_nominal_rubrics() -> None:
    assert RUBRICS.load("values_detected").rating_scale() is None
    assert len(RUBRICS.load("values_detected").labels) == 5
    question = RUBRICS.load("open_question").rating_scale()
    assert question is not None
    assert set(question.levels) == set(CODES["question"])


def test_rubrics_that_need_an_input_name_it() -> None:
    needing = {name: " ".join(sorted(rubric.references)) for name, rubric in RUBRICS.all().items()}
    assert {name: inputs for name, inputs in needing.items() if inputs} == {
        "client_consistency": "background", "goal_alignment": "goal", "diagnostic_accuracy_soft": "diagnosis",
        "diagnostic_accuracy_hard": "diagnosis", "professionalism_by_diagnosis": "diagnosis",
        "concern_matching": "concerns submitted_findings", "finding_check": "findings",
        "finding_category": "findings", "diagnosis_match": "diagnosis ranked_diagnoses", "factual_conflict": "note",
        "case_contradiction_level": "patient_facts", "case_invention": "patient_facts",
        "patient_faults": "patient_facts", "risk_asked": "risk", "risk_help": "risk risk_grade",
        "risk_no_harm": "risk", "risk_stayed": "risk",
    }  # fmt: skip


def test_partnership_does_not_repeat_softening_sustain_talk() -> None:
    partnership, softening = (
        {level.descriptor for level in RUBRICS.load(n).scale} for n in ("partnership", "softening_sustain_talk")
    )
    assert not partnership & softening
    assert "sustain" not in " ".join(partnership)


# What each rubric separates, by the published protocols (SPEC 5 and 10).


@pytest.mark.parametrize("name", ["perceived_susceptibility", "perceived_severity", "perceived_benefits"])
def test_a_neutral_tone_without_information_is_at_the_lowest_level(name: str) -> None:
    rubric = RUBRICS.load(name)
    lowest, second, *informed = [level.descriptor for level in rubric.scale]
    assert lowest.startswith("Says nothing of")
    assert "neutral" in lowest
    assert second.startswith("Says nothing of")
    assert "empathetic" in second
    assert "draws the patient into" in " ".join(second.split())
    assert not any(descriptor.startswith("Says nothing") for descriptor in informed)
    assert rubric.instructions is not None
    # Nothing in the instructions opens level 2 to a tone that its descriptor doesn't have.
    assert "better tone" not in rubric.instructions
    assert "both empathetic and engaging" in rubric.instructions


@pytest.mark.parametrize(
    ("name", "present", "absent"),
    [
        ("diagnostic_accuracy_hard",
         ["A list of conditions that holds the true one among others is not the same diagnosis"], ["equally likely"]),
        ("conversation_flow", ["A stage that doesn't occur is missing"], ["counts as present"]),
        ("finding_check", ["a message of the patient or of the doctor that states it"],
         ["What only the doctor says is not conveyed"]),
        ("finding_extraction", ["whether or not the patient has said them", "only infers"], []),
        ("turn_evaluator", ["goes by this intent"], []),
    ],
)  # fmt: skip
def test_what_a_rubric_says_of_the_boundary(name: str, present: list[str], absent: list[str]) -> None:
    text = describe(RUBRICS.load(name))
    assert [part for part in present if part not in text] == [part for part in absent if part in text] == []


def test_the_six_stages_are_described() -> None:
    stages = (
        "fostering the relationship", "gathering information", "providing information", "decision making",
        "responding to emotions", "exit",
    )  # fmt: skip
    for number, stage in enumerate(stages, start=1):
        text = re.search(rf"\({number}\) {stage}: ([^;]+)[;.]", RUBRICS.load("conversation_flow").definition)
        assert text is not None, stage
        assert len(text[1].split()) >= 6, stage


def test_settings_of_the_protocols() -> None:
    hard, soft = RUBRICS.load("diagnostic_accuracy_hard"), RUBRICS.load("diagnostic_accuracy_soft")
    assert hard.stage == soft.stage == "providing information"
    evaluator, safety = RUBRICS.load("turn_evaluator"), RUBRICS.load("safety")
    assert (evaluator.window, evaluator.window_role) == (3, "clinician")
    assert RUBRICS.load("professionalism").version != RUBRICS.load("professionalism_by_diagnosis").version
    assert (safety.direction, safety.fails_at) == ("lower", 1)
    assert ["leaked" in level.descriptor for level in safety.scale] == [False, True]


def test_deviations_are_declared_where_ours_is_not_the_sources() -> None:
    assert {name: len(rubric.deviations) for name, rubric in RUBRICS.all().items() if rubric.deviations} == {
        "perceived_susceptibility": 1, "perceived_severity": 1, "perceived_benefits": 1, "conversation_flow": 2,
        "diagnostic_accuracy_soft": 1, "diagnostic_accuracy_hard": 1, "partnership": 1, "realignment": 1,
        "softening_sustain_talk": 1, "finding_extraction": 1, "turn_evaluator": 2, "finding_check": 2,
        "finding_category": 1, "professionalism": 1, "professionalism_by_diagnosis": 2, "communication_doctor": 1,
        "communication_patient": 1, "fluency_flow": 1, "fluency_repetition": 1, "similarity": 1, "safety": 1,
    }  # fmt: skip


@ALL
def test_a_description_shows_everything_and_notes_hold_no_deviation(name: str) -> None:
    """What the words “ours” or “here” speak of belongs under deviations, where reports show it."""
    rubric = RUBRICS.load(name)
    text, shown = describe(rubric), rubric.shown()
    described = [level.descriptor for level in shown.scale] + [label.descriptor for label in shown.labels]
    described += [part.descriptor for part in shown.answer]
    words = (shown.definition, shown.instructions, shown.not_applicable, rubric.source, rubric.notes, rubric.version)
    assert [part for part in (*described, *words, *rubric.deviations) if part and part not in text] == []
    assert "{" not in text
    assert not re.search(r"\bours\b|\bour own\b", rubric.notes or "")


def test_the_command_line_shows_and_checks_deviations(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("show", "partnership")
    (deviation,) = RUBRICS.load("partnership").deviations
    assert code == 0
    heading, _, below = " ".join(out.split()).partition("Deviates from its source.")
    assert deviation in below
    assert deviation not in heading
    assert "Deviates from its source" not in call("show", "empathy")[1]
    out, err = works(call, "show", write(tmp_path, changed(deviations=["Levels are ours."])), "--check")
    assert "deviations.0: under 6 words" in " ".join((out + err).split())


@pytest.mark.parametrize("wrong", [{"fails_at": 99}, {"fails_at": 1, "direction": "none"}])
def test_the_level_at_which_a_transcript_fails_is_one_of_the_scale(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="fails_at: "):
        read({**PACING, **wrong})


UNSEEN: dict[str, Any] = {
    "name": "other", "aliases": ["Speed"], "direction": "lower", "fails_at": 1, "source": "Another.", "notes": "Ours.",
    "deviations": ["The source asks about the whole visit; here the talk alone counts."],
}  # fmt: skip
SEEN: dict[str, Any] = {
    "title": "Tempo", "construct": "Pace", "definition": PACING["definition"] + " More.", "unit": "turn",
    "role": "patient", "scale": PACING["scale"][:2], "each": "background", "transcript": False,
    "inputs": [{"name": "background", "description": "What is known of the patient afterwards."}],
    "not_applicable": "Nothing is explained.", "instructions": "Rate the whole conversation.",
}  # fmt: skip
#: They come with another form of the answer; or are of tuned rubrics, translations and provenance: tests of their own.
ELSEWHERE = (
    "kind labels answer criteria justified aggregate questions results leads start not_relevant points window "
    "window_role stage examples level_map history language translated_from shows"
)


def test_version_is_twelve_hexadecimal_digits() -> None:
    assert all(re.fullmatch("[0-9a-f]{12}", rubric.version) for rubric in RUBRICS.all().values())
    assert len({rubric.version for rubric in RUBRICS.all().values()}) == len(SHIPPED)


def test_version_ignores_order_line_breaks_how_numbers_are_written_and_how_often_it_is_read(tmp_path: Path) -> None:
    rubric = read(PACING)
    version = rubric.version
    assert rubric.shown().version == version == rubric.version
    assert rubric == read(PACING)
    backwards = {key: PACING[key] for key in reversed(PACING)}
    backwards["scale"] = [dict(reversed(level.items())) for level in PACING["scale"]]
    assert parse_rubric(write(tmp_path, backwards)).version == version
    assert parse_rubric(write(tmp_path, yaml.safe_dump(PACING, width=30))).version == version
    floats = [{**level, "value": float(level["value"])} for level in PACING["scale"]]
    assert read(changed(scale=floats)).version == version


@pytest.mark.parametrize("key", [*UNSEEN, *SEEN])
def test_version_changes_with_what_a_judge_sees_and_nothing_else(key: str) -> None:
    other = read(changed(**{key: {**UNSEEN, **SEEN}[key]}))
    assert (other.version == read(PACING).version) is (key in UNSEEN)


def test_every_key_is_either_seen_or_not() -> None:
    assert {field.name for field in dataclasses.fields(Rubric)} == {*UNSEEN, *SEEN, *ELSEWHERE.split()}


def test_inputs_in_braces_become_plain_words() -> None:
    shown = RUBRICS.load("concern_matching").shown()
    assert "the submitted findings" in shown.definition
    assert "{" not in shown.definition


def test_a_rubric_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(PACING).title = "Other"  # type: ignore[misc]


X = {"label": "a", "descriptor": "x"}
TEXT, INDEX = {"type": "text"}, {"type": "index", "of": "turns"}
PAIRS = {"type": "list", "items": [{"name": "one", "type": "index", "of": "background", "descriptor": "The number."}]}
MALFORMED: dict[str, tuple[dict[str, Any] | str, str]] = {
    "unknown key": (changed(colour="red"), "colour: unknown key"),
    "levels without keys": (changed(scale=[0, 1]), "scale.0: it must hold keys and values"),
    "unknown key of a level": (scaled(anchor="x"), "scale.2.anchor: unknown key"),
    "missing key": (changed(definition=None), "definition: "),
    "missing direction": (changed(direction=None), "direction: "),
    "wrong direction": (changed(direction="up"), "direction: "),
    "empty text": (changed(title="  "), "title: "),
    "missing descriptor": (scaled(descriptor=""), "scale.2.descriptor: "),
    "empty descriptor": (scaled("", "Never waits."), "scale.0.descriptor: "),
    "value is a text": (scaled(value="2"), "scale.2.value"),
    "value is true": (scaled(value=True), "scale.2.value"),
    "value is not finite": (scaled(value=float("inf")), "scale.2."),
    "value is huge": (scaled(value=10**400), "scale.2."),
    "gap": (scaled(value=3), "scale: level 2 is missing"),
    "gaps": (scaled(value=5), "scale: levels 2 to 4 are missing"),
    "doubled level": (scaled(value=1), "scale: level 1 stands after level 1"),
    "levels out of order": (changed(scale=PACING["scale"][::-1]), "scale: level 1 stands after level 2"),
    "one level": (changed(scale=PACING["scale"][:1]), "scale: a choice needs two alternatives or more"),
    "no scale": (changed(scale=None), "scale: a rubric of kind level needs this key"),
    "labels beside a scale": (changed(labels=[X]), "labels: a rubric of kind level has no such key"),
    "doubled label": (changed(kind="label", scale=None, labels=[X] * 2), "labels: 'a' is there twice"),
    "label read as false": (
        "name: pacing\ntitle: a\nconstruct: a\ndefinition: a\nunit: turn\nkind: label\ndirection: none\nsource: a\n"
        "labels:\n  - label: no\n    descriptor: a",
        "labels.0.label: ",
    ),
    "equal descriptors": (scaled("Never waits at all.", "Never waits at all.", "Waits always."), "scale: 0 and 1 "),
    "descriptors that differ in a number": (
        scaled("Waits for it 1 time.", "Waits for it 2 time.", "Waits as often as is needed."), "scale: 0 and 1 ",
    ),
    "descriptors that differ in a word": (
        scaled("Paces all of it badly.", "Paces all of it well.", "Fits each piece to the patient."), "scale: 0 and 1 ",
    ),
    "input not declared": (changed(inputs=None), "definition: names the input {background}"),
    "input not named": (
        changed(inputs=[*PACING["inputs"], {"name": "goal", "description": "The goal of it."}]), "inputs.1: no text",
    ),
    "doubled input": (changed(inputs=PACING["inputs"] * 2), "inputs: 'background' is there twice"),
    "input called turns": (changed(inputs=[{"name": "turns", "description": "x"}]), "inputs: the name turns"),
    "name of another file": (changed(name="tempo"), "name: the rubric calls itself 'tempo'"),
    "name with a dot": (changed(name="pacing.clinician"), "name: "),
    "each of nothing": (changed(each="goals"), "each: goals is neither an input nor turns"),
    "each turn of a transcript": (changed(each="turns"), "each: turns are asked about where the unit is turn"),
    "window of a transcript": (changed(window=3), "window: "),
    "window with each": (changed(unit="turn", each="turns", window=3), "window: "),
    "turn unseen": (changed(unit="turn", transcript=False), "transcript: "),
    "transcript in words": (changed(transcript="false"), "transcript: "),
    "set not applicable": (
        changed(kind="set", scale=None, labels=[X], not_applicable="Never."), "not_applicable: a rubric of kind set",
    ),
    "vector without numbers": (answered("vector", TEXT), "answer: a vector has parts of type number"),
    "pairs of one": (answered("pairs", PAIRS), "answer: the items of pairs"),
    "list without a list": (answered("list", TEXT), "answer: a list is one part of type list"),
    "two indexes": (answered("index", INDEX, INDEX), "answer: an index has one part of type index"),
    "index of nothing": (answered("index", {**INDEX, "of": "goals"}), "answer: a counts the items of goals"),
    "index without of": (answered("index", {"type": "index"}), "answer.0.of: a part of type index needs this key"),
    "quote of nobody": (answered("vector", {"type": "quote", "of": "nurse"}), "answer.0.of: a quote is of one of"),
    "text with labels": (answered("vector", {**TEXT, "labels": PACING["inputs"]}), "answer.0.labels.0"),
    "part called reason": (answered("vector", {"type": "number", "name": "reason"}), "the name reason is taken"),
    "not YAML": ("name: [pacing", "not plain YAML"),
    "tabs": ("name:\n\t- a", ":2: the file is not plain YAML"),
    "Python object": ("name: !!python/object/apply:os.system ['true']", ":1: the file is not plain YAML"),
    "Python tuple": ("name: !!python/tuple [a]", "not plain YAML"),
    "alias": ("name: &a [x, x]\ntitle: [*a, *a]", "the alias *a is not allowed"),
    "doubled key": ("name: pacing\ntitle: a\ntitle: b", ":3: the file is not plain YAML (the key title is"),
    "key that is a list": ("[a, b]: c", "not plain YAML"),
    "key that is a number": ("1: a", "the key '1' is not a word"),
    "merged keys": ("<<: {name: a}", "the key '<<' is not a word"),
    "control character": ("name: \x07", "not plain YAML"),
    "misspelt key": (changed(title=None, titel="Pacing"), "titel: unknown key (and 1 more)"),
    "two documents": ("name: a\n---\nname: b", "not plain YAML"),
    "impossible date": ("name: 2026-99-99", "not plain YAML"),
    "a list": ("- a\n- b", "a rubric file must hold keys and values"),
    "empty": ("", "a rubric file must hold keys and values"),
    "deep": ("[" * 3000, "not plain YAML"),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_bad_file_is_refused_in_one_line_that_names_file_and_key(case: str, tmp_path: Path) -> None:
    data, words = MALFORMED[case]
    path = write(tmp_path, data)
    with pytest.raises(RegistryError) as caught:
        find_rubric(str(path))
    message = str(caught.value)
    assert message.startswith(str(path)), message
    assert words in message
    assert "\n" not in message
    assert any(remark.severity == "error" for remark in check_file(path)[1])


def test_unreadable_files(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"name: caf\xe9")
    for path in (latin, tmp_path / "absent.yaml"):
        with pytest.raises(RegistryError, match=r"latin\.yaml:1: not UTF-8|there is no such rubric file"):
            find_rubric(str(path))


def test_check_tells_everything_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, changed(colour="red", definition=None, direction="up"))
    assert {remark.key for remark in check_file(path)[1]} == {"colour", "definition", "direction"}
    with pytest.raises(RegistryError, match=r"\(and 2 more\)"):
        parse_rubric(path)


WARNINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "short level": (scaled(descriptor="Very good."), "scale", "2 is"),
    "short definition": (changed(definition="Pacing, given the {background}."), "definition", "under 8 words"),
    "scale in figures": (changed(instructions="Score 1 to 5."), "instructions", "1 to 5”, and the scale is 0 to 2"),
    "scale with a dash": (changed(instructions="Rate it 1–10."), "instructions", "1–10"),
    "scale in words": (changed(instructions="Give a score between one and five."), "instructions", "one and five"),
    "points": (changed(instructions="This is a five-point scale."), "instructions", "five-point"),
    "out of": (changed(instructions="The best score is 5 out of 5."), "instructions", "out of 5"),
    "two constructs": (changed(title="Pacing and warmth"), "title", "names two things"),
    "and/or": (scaled(descriptor="Waits for the patient and/or asks back."), "scale", "and/or"),
    "one thing without the other": (
        scaled(descriptor="Gives much information but no time at all."), "scale", "grants one thing and denies another",
    ),
    "no better end": (changed(direction="none"), "direction", "without a better end"),
    "short deviation": (changed(deviations=["Levels are ours."]), "deviations.0", "under 6 words"),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS)
def test_linter_warns_and_does_not_refuse(case: str, tmp_path: Path) -> None:
    data, key, words = WARNINGS[case]
    (remark,) = check(parse_rubric(write(tmp_path, data)))
    assert (remark.severity, remark.key) == ("warning", key)
    assert words in str(remark)


@pytest.mark.parametrize(
    "instructions",
    [
        "Score from 0 to 2.",
        "Rate levels 1 to 2 by the last part.",
        "The wait is 3 to 5 seconds long.",
        "Use a 3-point scale.",
        "The score is about turns, 1/2 of them at least being enough.",
    ],
)
def test_linter_accepts_the_scale_itself_and_other_numbers(instructions: str) -> None:
    assert check(read(changed(instructions=instructions))) == ()


def test_linter_accepts_scales_of_fractions() -> None:
    rubric = read(changed(scale=[{**level, "value": level["value"] / 2} for level in PACING["scale"]]))
    assert check(rubric) == ()
    assert rubric.rating_scale() == Scale((0.0, 0.5, 1.0), True)
    assert rubric.schema()["properties"]["score"]["enum"] == [0, 0.5, 1]


def part_value(part: RubricPart) -> Any:
    """An answer that fits ``part``."""
    labels = [label.label for label in part.labels]
    values: dict[str, Callable[[], Any]] = {
        "text": lambda: "A text.",
        "quote": lambda: "Some words.",
        "number": lambda: 0.25,
        "boolean": lambda: True,
        "level": lambda: part.scale[-1].value,
        "label": lambda: labels[0],
        "labels": lambda: labels[:2],
        "probabilities": lambda: {label: 1 / len(labels) for label in labels},
        "index": lambda: 0,
        "list": lambda: [{item.name: part_value(item) for item in part.items}] * 2,
    }
    return values[part.type]()


def reply(rubric: Rubric) -> dict[str, Any]:
    """A reply that fits ``rubric``."""
    answer = {"reason": "Because of turn 3."} | {part.name: part_value(part) for part in rubric.parts}
    return answer if rubric.each is None else {"answers": [{"item": item, **answer} for item in (0, 1)]}


def strict_objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict) and schema.get("type") == "object":
        yield schema
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from strict_objects(value)


#: What no schema may use: providers don't enforce it, or refuse it.
UNENFORCED = "minimum maximum minItems maxItems uniqueItems pattern minLength {background}"


@ALL
def test_a_schema_is_within_what_providers_enforce_reason_first_and_a_fitting_reply_passes(name: str) -> None:
    rubric = RUBRICS.load(name)
    schema = rubric.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for entry in strict_objects(schema):
        assert entry["additionalProperties"] is False
        assert entry["required"] == list(entry["properties"])
    assert [keyword for keyword in UNENFORCED.split() if f'"{keyword}"' in json.dumps(schema)] == []
    inner = schema if rubric.each is None else schema["properties"]["answers"]["items"]
    assert next(key for key in inner["properties"] if key != "item") == "reason"
    assert rubric.each is None or next(iter(inner["properties"])) == "item"
    good = json.loads(json.dumps(reply(rubric)))
    jsonschema.validate(good, schema)
    assert rubric.problem(good) is None


def test_schema_of_a_level_lists_the_levels() -> None:
    empathy, softening = RUBRICS.load("empathy"), RUBRICS.load("softening_sustain_talk")
    assert empathy.schema()["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]
    assert softening.schema()["properties"]["score"]["enum"] == [1, 2, 3, 4, 5, None]
    missing = {"reason": "The client never argues for the present.", "score": None}
    jsonschema.validate(missing, softening.schema())
    assert softening.problem(missing) is None
    assert empathy.problem(missing) == "score: not one of 1, 2, 3, 4, 5"


def mutated(value: Any, draw: Callable[[Any], Any]) -> Any:
    """``value`` with one change somewhere inside."""
    junk: list[Any] = [None, True, "x", "", -1, 0, 1, 2.5, 7, 10**400, [], {}, ["x"], {"x": 1}]
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        action = draw(st.sampled_from(["inside", "remove", "add"]))
        if action == "remove":
            return {k: v for k, v in value.items() if k != key}
        return value | ({"surplus": 1} if action == "add" else {key: mutated(value[key], draw)})
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(value[place], draw), *value[place + 1 :]]
    return draw(st.sampled_from(junk))


#: What the check refuses and no schema can.
BEYOND_SCHEMA = re.compile(
    r"not a number from 0 to 1|not all numbers from 0 to 1|the sum is|a label twice|not a quotation|not a number of"
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_check_refuses_what_the_schema_refuses(data: st.DataObject) -> None:
    rubric = RUBRICS.load(data.draw(st.sampled_from(SHIPPED)))
    bad = mutated(reply(rubric), data.draw)
    problem = rubric.problem(bad)
    assert problem is None or "\n" not in problem
    if not jsonschema.Draft202012Validator(rubric.schema()).is_valid(bad):
        assert problem is not None
    elif problem is not None:
        assert BEYOND_SCHEMA.search(problem), problem


PAIR = {"reason": "", "finding": 0, "concern": 2, "quote": "I'm afraid.", "category_agrees": True}
ANSWERS = reply(RUBRICS.load("finding_category"))["answers"]
TWO_CONCERNS = {"counts": {"submitted_findings": 2, "concerns": 2}}
FIVE_DIAGNOSES = {"counts": {"ranked_diagnoses": 5}}
HALVES = dict.fromkeys(medconceal.INTENTS, 0.5)


@pytest.mark.parametrize(
    ("name", "changes", "how", "problem"),
    [
        ("diagnosis_match", {"candidate": 4}, FIVE_DIAGNOSES, None),
        ("diagnosis_match", {"candidate": 5}, FIVE_DIAGNOSES, "candidate: there are only 5 ranked_diagnoses"),
        ("diagnosis_match", {"candidate": -1}, {}, "candidate: not a number of ranked_diagnoses"),
        ("turn_evaluator", {"space_provision": 1.2}, {}, "space_provision: not a number from 0 to 1"),
        ("turn_evaluator", {"space_provision": float("nan")}, {}, "space_provision: not a number from 0 to 1"),
        ("turn_evaluator", {"intent_probabilities": HALVES}, {}, "intent_probabilities: the sum is 4.5, not 1"),
        ("values_detected", {"labels": []}, {}, None),
        ("values_detected", {"labels": [RUBRICS.load("values_detected").labels[0].label] * 2}, {},
         "labels: a label twice"),
        ("concern_matching", {"pairs": []}, TWO_CONCERNS, None),
        ("concern_matching", {"pairs": [PAIR]}, TWO_CONCERNS, "pairs[0].concern: there are only 2 concerns"),
        ("concern_matching", {"pairs": [PAIR | {"quote": " "}]}, {}, "pairs[0].quote: not a quotation"),
        ("finding_category", {}, {"asked": [1, 0]}, None),
        ("finding_category", {}, {"asked": [0, 1, 2]}, "answers: nothing about 2"),
        ("finding_category", {}, {"asked": [0]}, "answers: 1 was not asked about"),
        ("finding_category", {"answers": [*ANSWERS, ANSWERS[0]]}, {"asked": [0, 1]}, "answers: 0 answered twice"),
    ],
)  # fmt: skip
def test_check_knows_what_a_schema_cannot_say(name: str, changes: Any, how: Any, problem: str | None) -> None:
    rubric = RUBRICS.load(name)
    assert rubric.problem(reply(rubric) | changes, **how) == problem


def test_a_label_off_the_list_is_refused() -> None:
    wrong = {"answers": [{**ANSWERS[0], "label": "sight"}]}
    problem = str(RUBRICS.load("finding_category").problem(wrong))
    assert problem.startswith("answers[0].label: not one of site, onset")


def test_a_users_folder_works_like_the_shipped_one(tmp_path: Path) -> None:
    write(tmp_path, PACING)
    for name in ("notes.txt", "_draft.yaml"):
        write(tmp_path, "not a rubric", name)
    assert find_rubric("pacing", tmp_path) == read(PACING)
    assert find_rubric("empathy", tmp_path) == RUBRICS.load("empathy")
    assert rubrics_with(tmp_path).names() == tuple(sorted([*SHIPPED, "pacing"]))
    assert RUBRICS.names() == SHIPPED
    with pytest.raises(RegistryError, match="'pacings'; did you mean pacing"):
        find_rubric("pacings", tmp_path)
    with pytest.raises(RegistryError, match="'pacing'"):
        find_rubric("pacing")


def test_two_rubrics_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, changed(name="empathy"), "empathy.yaml")
    for name in ("empathy", "partnership"):
        with pytest.raises(RegistryError) as caught:
            find_rubric(name, tmp_path)
        assert str(path) in str(caught.value)
        assert str(FOLDER / "empathy.yaml") in str(caught.value)
    assert find_rubric(str(path)).title == "Pacing"


PAGE = (Path(__file__).parents[3] / "docs" / "rubrics.md").read_text("utf-8")


def test_the_pages_example_is_a_sound_rubric(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example is not None
    rubric, remarks = check_file(write(tmp_path, example[1]))
    assert remarks == ()
    assert rubric is not None


def test_the_page_names_every_key() -> None:
    keys = {field.name for kind in (Rubric, RubricPart) for field in dataclasses.fields(kind)}
    assert [name for name in keys if not re.search(rf"`{name}[`:]", PAGE)] == []
