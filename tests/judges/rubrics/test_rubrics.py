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
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.conftest import Call

FOLDER = Path(__file__).parents[3] / "bedside" / "judges" / "rubrics" / "shipped"
SHIPPED = RUBRICS.names()

PACING: dict[str, Any] = {
    "name": "pacing",
    "title": "Pacing",
    "construct": "Pacing of information",
    "definition": "How well the clinician fits the amount of information to the {background} of the patient.",
    "unit": "transcript",
    "kind": "level",
    "role": "clinician",
    "direction": "higher",
    "scale": [
        {"value": 0, "descriptor": "Delivers everything in one go, without a pause or a question."},
        {"value": 1, "descriptor": "Divides the information and goes on without looking for a reaction."},
        {"value": 2, "descriptor": "Gives a piece, waits for the reaction, and fits the next one to it."},
    ],
    "inputs": [{"name": "background", "description": "What is known of the patient beforehand."}],
    "source": "Ours.",
}


def changed(**keys: Any) -> dict[str, Any]:
    """The rubric ``pacing`` with other values; a key set to None is left out."""
    data = copy.deepcopy(PACING) | keys
    return {key: value for key, value in data.items() if value is not None}


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, not as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write(folder: Path, data: dict[str, Any] | str, name: str = "pacing.yaml") -> Path:
    path = folder / name
    path.write_text(
        data if isinstance(data, str) else yaml.dump(data, Dumper=_Plain, sort_keys=False), "utf-8"
    )
    return path


def levels(*descriptors: str) -> list[dict[str, Any]]:
    return [{"value": value, "descriptor": descriptor} for value, descriptor in enumerate(descriptors)]


# -- the shipped rubrics ----------------------------------------------------------------------------

#: SPEC 5: scales of the protocols' level rubrics.
SCALES = {
    (1, 4): "perceived_susceptibility perceived_severity perceived_benefits conversation_flow",
    (0, 1): "diagnostic_accuracy_soft diagnostic_accuracy_hard safety information_control factual_conflict",
    (
        1,
        5,
    ): "client_consistency softening_sustain_talk cultivating_change_talk empathy partnership reflection_quality "
    "question_quality effectiveness goal_alignment realignment",
    (0, 2): "medconceal_empathy medconceal_collaboration medconceal_rationale medconceal_problem_solving "
    "medconceal_actionability",
    (
        1,
        10,
    ): "professionalism professionalism_by_diagnosis communication_doctor communication_patient fluency_flow "
    "fluency_repetition similarity",
}
OTHERS = {
    "values_detected": "set", "open_question": "label", "turn_evaluator": "vector", "concern_matching": "pairs",
    "finding_extraction": "list", "finding_check": "index", "diagnosis_match": "index", "finding_category": "label",
}  # fmt: skip
#: What simulated patients are checked by.
CHECKS = {"case_contradiction_level": "level", "case_invention": "level", "dominant_trait": "label"}


def test_every_rubric_of_the_protocols_is_shipped_and_no_other() -> None:
    listed = {name: "level" for names in SCALES.values() for name in names.split()} | OTHERS | CHECKS
    assert {name: rubric.kind for name, rubric in RUBRICS.all().items()} == listed


@pytest.mark.parametrize(("ends", "names"), SCALES.items(), ids=str)
def test_scales_are_those_of_the_protocols(ends: tuple[int, int], names: str) -> None:
    low, high = ends
    for name in names.split():
        rubric = RUBRICS.load(name)
        assert rubric.rating_scale() == Scale(tuple(map(float, range(low, high + 1))), True), name
        assert rubric.schema()  # a schema can be made


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_rubric_has_no_error_and_no_warning(name: str) -> None:
    rubric, remarks = check_file(FOLDER / f"{name}.yaml")
    assert remarks == ()
    assert rubric == RUBRICS.load(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_file_stays_within_the_line_length(name: str) -> None:
    assert max(map(len, (FOLDER / f"{name}.yaml").read_text("utf-8").splitlines())) <= 120


def test_rubrics_speak_the_language_of_the_protocols_arithmetic() -> None:
    """What a judge replies is what the label files of MedConceal and Note2Chat hold."""
    evaluator = RUBRICS.load("turn_evaluator")
    given = reply(evaluator)
    assert [part.name for part in evaluator.answer if part.type == "number"] == [
        *medconceal.FEATURES,
        "empathy_strength",
    ]
    assert tuple(given["intent_probabilities"]) == medconceal.INTENTS
    features = {name: given.pop(name) for name in medconceal.FEATURES}
    assert medconceal.ConcernTurnLabels.model_validate({"z": features, **given}).reason == given["reason"]
    assert evaluator.references == ()
    assert {item.name for item in evaluator.inputs} == set(FROM_TRANSCRIPT)

    extraction = RUBRICS.load("finding_extraction")
    category = extraction.answer[0].items[0]
    assert tuple(label.label for label in category.labels) == medconceal.CATEGORIES
    medconceal.SubmittedFinding.model_validate(reply(extraction)["findings"][0])
    pair = reply(RUBRICS.load("concern_matching"))["pairs"][0]
    medconceal.MatchProposal.model_validate({**pair, "concern": "an id"})

    labels = tuple(label.label for label in RUBRICS.load("finding_category").labels)
    assert labels == note2chat.CATEGORIES
    found = reply(RUBRICS.load("finding_check"))["answers"][0]
    note2chat.ClinicalFinding.model_validate({key: found[key] for key in ("message", "opening")})


def test_nominal_rubrics() -> None:
    assert RUBRICS.load("values_detected").rating_scale() is None
    assert len(RUBRICS.load("values_detected").labels) == 5
    question = RUBRICS.load("open_question").rating_scale()
    assert question is not None
    assert set(question.levels) == set(CODES["question"])


def test_rubrics_that_need_an_input_name_it() -> None:
    needing = {name: set(rubric.references) for name, rubric in RUBRICS.all().items() if rubric.references}
    assert needing == {
        "client_consistency": {"background"},
        "goal_alignment": {"goal"},
        "diagnostic_accuracy_soft": {"diagnosis"},
        "diagnostic_accuracy_hard": {"diagnosis"},
        "professionalism_by_diagnosis": {"diagnosis"},
        "concern_matching": {"submitted_findings", "concerns"},
        "finding_check": {"findings"},
        "finding_category": {"findings"},
        "diagnosis_match": {"diagnosis", "ranked_diagnoses"},
        "factual_conflict": {"note"},
        "case_contradiction_level": {"patient_facts"},
        "case_invention": {"patient_facts"},
    }


def test_partnership_does_not_repeat_softening_sustain_talk() -> None:
    descriptors = [
        {level.descriptor for level in RUBRICS.load(name).scale}
        for name in ("partnership", "softening_sustain_talk")
    ]
    assert not descriptors[0] & descriptors[1]
    assert "sustain" not in json.dumps(list(descriptors[0]))


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


def test_a_hard_diagnosis_is_an_exact_match() -> None:
    hard, soft = RUBRICS.load("diagnostic_accuracy_hard"), RUBRICS.load("diagnostic_accuracy_soft")
    assert hard.stage == soft.stage == "providing information"
    assert hard.instructions is not None
    assert (
        "A list of conditions that holds the true one among others is not the same diagnosis"
        in hard.instructions
    )
    assert "equally likely" not in hard.instructions


def test_the_six_stages_are_told_and_an_absent_one_is_missing() -> None:
    flow = RUBRICS.load("conversation_flow")
    stages = (
        "fostering the relationship", "gathering information", "providing information", "decision making",
        "responding to emotions", "exit",
    )  # fmt: skip
    for number, stage in enumerate(stages, start=1):
        told = re.search(rf"\({number}\) {stage}: ([^;]+)[;.]", flow.definition)
        assert told is not None, stage
        assert len(told[1].split()) >= 6, stage
    assert flow.instructions is not None
    assert "A stage that doesn't occur is missing" in flow.instructions
    assert "counts as present" not in flow.instructions


def test_what_either_side_says_conveys_a_finding_and_what_a_clinician_infers_is_one() -> None:
    check_text = describe(RUBRICS.load("finding_check"))
    assert "a message of the patient or of the doctor that states it" in check_text
    assert "What only the doctor says is not conveyed" not in check_text
    extraction = RUBRICS.load("finding_extraction")
    assert extraction.instructions is not None
    assert "whether or not the patient has said them" in extraction.definition
    assert "only infers" in extraction.instructions


def test_a_meta_probe_goes_by_the_intent_and_the_window_is_of_clinician_turns() -> None:
    evaluator = RUBRICS.load("turn_evaluator")
    assert (evaluator.window, evaluator.window_role) == (3, "clinician")
    assert evaluator.notes is not None
    assert "goes by this intent" in evaluator.notes


def test_interviews_without_a_label_are_rated_for_professionalism() -> None:
    professionalism, variant = RUBRICS.load("professionalism"), RUBRICS.load("professionalism_by_diagnosis")
    assert professionalism.references == ()
    assert variant.references == ("diagnosis",)
    assert professionalism.version != variant.version


def test_safety_counts_leaks() -> None:
    safety = RUBRICS.load("safety")
    assert safety.direction == "lower"
    assert "leaked" in safety.scale[1].descriptor
    assert "leaked" not in safety.scale[0].descriptor


def test_deviations_are_declared_where_ours_is_not_the_sources() -> None:
    declared = {name: len(rubric.deviations) for name, rubric in RUBRICS.all().items() if rubric.deviations}
    assert declared == {
        "perceived_susceptibility": 1, "perceived_severity": 1, "perceived_benefits": 1, "conversation_flow": 2,
        "diagnostic_accuracy_soft": 1, "diagnostic_accuracy_hard": 1, "partnership": 1, "realignment": 1,
        "softening_sustain_talk": 1, "finding_extraction": 1, "turn_evaluator": 2, "finding_check": 2,
        "finding_category": 1, "professionalism": 1, "professionalism_by_diagnosis": 2, "communication_doctor": 1,
        "communication_patient": 1, "fluency_flow": 1, "fluency_repetition": 1, "similarity": 1, "safety": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_notes_hold_no_deviation(name: str) -> None:
    """What the words “ours” or “here” speak of belongs under deviations, where reports show it."""
    notes = RUBRICS.load(name).notes or ""
    assert not re.search(r"\bours\b|\bour own\b", notes), notes


@pytest.mark.parametrize("name", SHIPPED)
def test_description_shows_everything(name: str) -> None:
    rubric = RUBRICS.load(name)
    text = describe(rubric)
    shown = rubric.shown()
    for level in shown.scale:
        assert level.descriptor in text
    for label in shown.labels:
        assert label.descriptor in text
    for part in shown.answer:
        assert part.descriptor in text
    said = (shown.definition, shown.instructions, shown.not_applicable, rubric.source, rubric.notes)
    for words in (*said, *rubric.deviations):
        assert words is None or words in text
    assert rubric.version in text
    assert "{" not in text


def test_the_command_line_shows_and_checks_deviations(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("rubrics", "show", "partnership")
    (deviation,) = RUBRICS.load("partnership").deviations
    assert code == 0
    heading, _, below = " ".join(out.split()).partition("Deviates from its source.")
    assert deviation in below
    assert deviation not in heading
    assert "Deviates from its source" not in call("rubrics", "show", "empathy")[1]
    path = write(tmp_path, changed(deviations=["Levels are ours."]))
    code, out, err = call("rubrics", "check", path)
    assert code == 0
    assert "deviations.0: under 6 words don't say" in " ".join((out + err).split())


def test_the_level_at_which_a_transcript_fails_is_one_of_the_scale() -> None:
    assert RUBRICS.load("safety").fails_at == 1
    for wrong in ({"fails_at": 99}, {"fails_at": 1, "direction": "none"}):
        with pytest.raises(ValueError, match="fails_at: one of the scale's levels"):
            read({**PACING, **wrong})


# -- versions ---------------------------------------------------------------------------------------

UNSEEN = {"name": "other", "aliases": ["Speed"], "direction": "lower", "fails_at": 1,
          "source": "Another.", "notes": "A note.",
          "deviations": ["The source asks about the whole visit; here the talk alone counts."]}  # fmt: skip
SEEN: dict[str, Any] = {
    "title": "Tempo",
    "construct": "Pace",
    "definition": PACING["definition"] + " More.",
    "unit": "turn",
    "role": "patient",
    "scale": PACING["scale"][:2],
    "inputs": [{"name": "background", "description": "What is known of the patient afterwards."}],
    "each": "background",
    "transcript": False,
    "not_applicable": "Nothing is explained.",
    "instructions": "Rate the whole conversation.",
}


def test_version_is_twelve_hexadecimal_digits() -> None:
    assert all(re.fullmatch("[0-9a-f]{12}", rubric.version) for rubric in RUBRICS.all().values())
    assert len({rubric.version for rubric in RUBRICS.all().values()}) == len(SHIPPED)


def test_version_ignores_the_order_of_keys_and_line_breaks(tmp_path: Path) -> None:
    ordered = read(PACING)
    backwards = {key: PACING[key] for key in reversed(PACING)}
    backwards["scale"] = [
        {"descriptor": level["descriptor"], "value": level["value"]} for level in PACING["scale"]
    ]
    assert parse_rubric(write(tmp_path, backwards)).version == ordered.version
    wide = yaml.safe_dump(PACING, width=30)
    assert parse_rubric(write(tmp_path, wide)).version == ordered.version


def test_version_is_the_same_however_often_and_in_whatever_order_it_is_asked_for() -> None:
    rubric = read(PACING)
    first = rubric.version
    assert rubric.shown().version == first == rubric.version
    assert rubric == read(PACING)
    assert (
        read(changed(scale=[{**level, "value": float(level["value"])} for level in PACING["scale"]])).version
        == first
    )


@pytest.mark.parametrize("key", UNSEEN)
def test_version_ignores_what_a_judge_does_not_see(key: str) -> None:
    assert read(changed(**{key: UNSEEN[key]})).version == read(PACING).version


@pytest.mark.parametrize("key", SEEN)
def test_version_changes_with_what_a_judge_sees(key: str) -> None:
    assert read(changed(**{key: SEEN[key]})).version != read(PACING).version


def test_every_key_is_either_seen_or_not() -> None:
    rest = {
        "kind",
        "labels",
        "answer",
        "window",
        "window_role",
        "stage",  # they come with another form of the answer
        "examples",
        "level_map",
        "history",  # of tuned rubrics, in tests of their own
        "language",
        "translated_from",  # of translations, likewise
        "shows",  # of provenance, likewise
    }
    assert {field.name for field in dataclasses.fields(Rubric)} == set(UNSEEN) | set(SEEN) | rest


def test_inputs_in_braces_become_plain_words() -> None:
    shown = RUBRICS.load("concern_matching").shown()
    assert "the submitted findings" in shown.definition
    assert "{" not in shown.definition


def test_a_rubric_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(PACING).title = "Other"  # type: ignore[misc]


# -- bad files --------------------------------------------------------------------------------------

PAIRS = {
    "name": "pairs", "type": "list", "descriptor": "Pairs of the background.",
    "items": [{"name": "one", "type": "index", "of": "background", "descriptor": "The number of one."}],
}  # fmt: skip
MALFORMED: dict[str, tuple[dict[str, Any] | str, str]] = {
    "unknown key": (changed(colour="red"), "colour: unknown key"),
    "levels without keys": (
        changed(scale=[0, 1]),
        "scale.0: it must hold keys and values, at least value and descriptor",
    ),
    "unknown key of a level": (
        changed(scale=[*PACING["scale"][:2], {**PACING["scale"][2], "anchor": "x"}]),
        "scale.2.anchor: unknown key",
    ),
    "missing key": (changed(definition=None), "definition: "),
    "missing direction": (changed(direction=None), "direction: "),
    "wrong direction": (changed(direction="up"), "direction: "),
    "empty text": (changed(title="  "), "title: "),
    "missing descriptor": (changed(scale=[*PACING["scale"][:2], {"value": 2}]), "scale.2.descriptor: "),
    "empty descriptor": (changed(scale=[{"value": 0, "descriptor": ""}, *PACING["scale"][1:]]), "scale.0.descriptor: "),
    "value is a text": (changed(scale=[{"value": "0", "descriptor": "x"}, *PACING["scale"][1:]]), "scale.0.value"),
    "value is true": (changed(scale=[{"value": True, "descriptor": "x"}, *PACING["scale"][1:]]), "scale.0.value"),
    "value is not finite": (changed(scale=[*PACING["scale"], {"value": float("inf"), "descriptor": "x"}]), "scale.3."),
    "value is huge": (changed(scale=[*PACING["scale"], {"value": 10**400, "descriptor": "x"}]), "scale.3."),
    "gap": (changed(scale=[*PACING["scale"][:2], {**PACING["scale"][2], "value": 3}]), "scale: level 2 is missing"),
    "gaps": (
        changed(scale=[*PACING["scale"][:2], {**PACING["scale"][2], "value": 5}]),
        "scale: levels 2 to 4 are missing",
    ),
    "doubled level": (changed(scale=[*PACING["scale"], PACING["scale"][2]]), "scale: level 2 stands after level 2"),
    "levels out of order": (changed(scale=PACING["scale"][::-1]), "scale: level 1 stands after level 2"),
    "one level": (changed(scale=PACING["scale"][:1]), "scale: a choice needs two alternatives or more"),
    "no scale": (changed(scale=None), "scale: a rubric of kind level needs this key"),
    "labels beside a scale": (
        changed(labels=[{"label": "a", "descriptor": "x"}]),
        "labels: a rubric of kind level has no such key",
    ),
    "doubled label": (
        changed(kind="label", scale=None, labels=[{"label": "a", "descriptor": "x"}] * 2),
        "labels: 'a' is there twice",
    ),
    "label read as false": (
        "\n".join(["name: pacing", "title: a", "construct: a", "definition: a", "unit: turn", "kind: label",
                   "direction: none", "source: a", "labels:", "  - label: no", "    descriptor: a"]),
        "labels.0.label: ",
    ),
    "equal descriptors": (
        changed(scale=levels("Never waits at all.", "Never waits at all.", "Waits for the patient always.")),
        "scale: 0 and 1 are described alike",
    ),
    "descriptors that differ in a number": (
        changed(scale=levels("Waits for it 1 time.", "Waits for it 2 time.", "Waits as often as is needed.")),
        "scale: 0 and 1 are described alike",
    ),
    "descriptors that differ in a word": (
        changed(scale=levels("Paces all of it badly.", "Paces all of it well.", "Fits each piece to the patient.")),
        "scale: 0 and 1 are described alike",
    ),
    "input not declared": (changed(inputs=None), "definition: names the input {background}"),
    "input not named": (
        changed(inputs=[*PACING["inputs"], {"name": "goal", "description": "The goal of it."}]),
        "inputs.1: no text names the input",
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
        changed(kind="set", scale=None, labels=[{"label": "a", "descriptor": "x"}], not_applicable="Never."),
        "not_applicable: a rubric of kind set",
    ),
    "vector without numbers": (
        changed(kind="vector", scale=None, answer=[{"name": "a", "type": "text", "descriptor": "x"}]),
        "answer: a vector has parts of type number",
    ),
    "pairs of one": (changed(kind="pairs", scale=None, answer=[PAIRS]), "answer: the items of pairs"),
    "list without a list": (
        changed(kind="list", scale=None, answer=[{"name": "a", "type": "text", "descriptor": "x"}]),
        "answer: a list is one part of type list",
    ),
    "two indexes": (
        changed(kind="index", scale=None, answer=[{"name": name, "type": "index", "of": "turns", "descriptor": "x"}
                                                  for name in "ab"]),
        "answer: an index has one part of type index",
    ),
    "index of nothing": (
        changed(kind="index", scale=None, answer=[{"name": "a", "type": "index", "of": "goals", "descriptor": "x"}]),
        "answer: a counts the items of goals, which is not one of its inputs",
    ),
    "index without of": (
        changed(kind="index", scale=None, answer=[{"name": "a", "type": "index", "descriptor": "x"}]),
        "answer.0.of: a part of type index needs this key",
    ),
    "quote of nobody": (
        changed(kind="vector", scale=None, answer=[{"name": "a", "type": "quote", "of": "nurse", "descriptor": "x"}]),
        "answer.0.of: a quote is of one of the roles",
    ),
    "text with labels": (
        changed(kind="vector", scale=None,
                answer=[{"name": "a", "type": "text", "descriptor": "x", "labels": PACING["inputs"]}]),
        "answer.0.labels.0",
    ),
    "one deviation twice": (changed(deviations=["It asks for more."] * 2), "deviations: 'It asks for more.' is there"),
    "a deviation that is no text": (changed(deviations=[3]), "deviations.0: "),
    "deviations that are no list": (changed(deviations="It asks for more."), "deviations: "),
    "a stage of single turns": (changed(unit="turn", stage="exit"), "stage: which turns are shown"),
    "a stage of nothing": (changed(transcript=False, stage="exit"), "stage: which turns are shown"),
    "a role's window of the whole": (changed(window_role="clinician"), "window_role: whose turns are shown"),
    "a window of no turns": (
        changed(unit="turn", window=0, window_role="clinician"), "window_role: no turn before the rated one"
    ),
    "an input in a deviation": (
        changed(deviations=["The source shows no {background}; here the rater is shown it."]),
        "deviations.0: writes {background}",
    ),
    "part called reason": (
        changed(kind="vector", scale=None, answer=[{"name": "reason", "type": "number", "descriptor": "x"}]),
        "answer: the name reason is taken",
    ),
    "not YAML": ("name: [pacing", "not plain YAML"),
    "tabs": ("name:\n\t- a", ":2: the file is not plain YAML"),
    "Python object": ("name: !!python/object/apply:os.system ['true']", ":1: the file is not plain YAML"),
    "Python tuple": ("name: !!python/tuple [a]", "not plain YAML"),
    "alias": ("name: &a [x, x]\ntitle: [*a, *a]", "the alias *a is not allowed"),
    "doubled key": (
        "name: pacing\ntitle: a\ntitle: b",
        ":3: the file is not plain YAML (the key title is there twice)",
    ),
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
    data, told = MALFORMED[case]
    path = write(tmp_path, data)
    with pytest.raises(RegistryError) as caught:
        find_rubric(str(path))
    message = str(caught.value)
    assert message.startswith(str(path)), message
    assert told in message
    assert "\n" not in message
    _, remarks = check_file(path)
    assert any(remark.severity == "error" for remark in remarks)


def test_unreadable_files(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"name: caf\xe9")
    for path in (latin, tmp_path / "absent.yaml"):
        with pytest.raises(RegistryError, match="the rubric file can't be read"):
            find_rubric(str(path))


def test_check_tells_everything_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, changed(colour="red", definition=None, direction="up"))
    _, remarks = check_file(path)
    assert {remark.key for remark in remarks} == {"colour", "definition", "direction"}
    with pytest.raises(RegistryError, match=r"\(and 2 more\)"):
        parse_rubric(path)


# -- the linter -------------------------------------------------------------------------------------

WARNINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "short level": (changed(scale=[*PACING["scale"][:2], {"value": 2, "descriptor": "Very good."}]), "scale", "2 is"),
    "short definition": (changed(definition="Pacing, given the {background}."), "definition", "under 8 words"),
    "scale in figures": (changed(instructions="Score 1 to 5."), "instructions", "1 to 5”, and the scale is 0 to 2"),
    "scale with a dash": (changed(instructions="Rate it 1–10."), "instructions", "1–10"),
    "scale in words": (changed(instructions="Give a score between one and five."), "instructions", "one and five"),
    "points": (changed(instructions="This is a five-point scale."), "instructions", "five-point"),
    "out of": (changed(instructions="The best score is 5 out of 5."), "instructions", "out of 5"),
    "two constructs": (changed(title="Pacing and warmth"), "title", "names two things"),
    "and/or": (
        changed(scale=[*PACING["scale"][:2], {"value": 2, "descriptor": "Waits for the patient and/or asks back."}]),
        "scale",
        "and/or",
    ),
    "one thing without the other": (
        changed(scale=[*PACING["scale"][:2], {"value": 2, "descriptor": "Gives much information but no time at all."}]),
        "scale",
        "grants one thing and denies another",
    ),
    "no better end": (changed(direction="none"), "direction", "without a better end"),
    "short deviation": (changed(deviations=["Levels are ours."]), "deviations.0", "under 6 words"),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS)
def test_linter_warns_and_does_not_refuse(case: str, tmp_path: Path) -> None:
    data, key, told = WARNINGS[case]
    rubric = parse_rubric(write(tmp_path, data))
    remarks = check(rubric)
    assert [(remark.severity, remark.key) for remark in remarks] == [("warning", key)]
    assert told in str(remarks[0])


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
    halves = [{**level, "value": level["value"] / 2} for level in PACING["scale"]]
    rubric = read(changed(scale=halves))
    assert check(rubric) == ()
    assert rubric.rating_scale() == Scale((0.0, 0.5, 1.0), True)
    assert rubric.schema()["properties"]["score"]["enum"] == [0, 0.5, 1]


# -- replies ----------------------------------------------------------------------------------------


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
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from strict_objects(value)
    if isinstance(schema, list):
        for value in schema:
            yield from strict_objects(value)


@pytest.mark.parametrize("name", SHIPPED)
def test_schema_is_valid_and_within_what_providers_enforce(name: str) -> None:
    schema = RUBRICS.load(name).schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    objects = list(strict_objects(schema))
    assert all(entry["additionalProperties"] is False for entry in objects)
    assert all(entry["required"] == list(entry["properties"]) for entry in objects)
    text = json.dumps(schema)
    for keyword in (
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "uniqueItems",
        "pattern",
        "minLength",
        "{background}",
    ):
        assert f'"{keyword}"' not in text


@pytest.mark.parametrize("name", SHIPPED)
def test_reason_comes_before_the_answer(name: str) -> None:
    rubric = RUBRICS.load(name)
    schema = rubric.schema()
    if rubric.each is not None:
        schema = schema["properties"]["answers"]["items"]
        assert list(schema["properties"])[:2] == ["item", "reason"]
    else:
        assert next(iter(schema["properties"])) == "reason"


@pytest.mark.parametrize("name", SHIPPED)
def test_fitting_reply_passes_schema_and_check(name: str) -> None:
    rubric = RUBRICS.load(name)
    good = json.loads(json.dumps(reply(rubric)))
    jsonschema.validate(good, rubric.schema())
    assert rubric.problem(good) is None


def test_schema_of_a_level_lists_the_levels() -> None:
    assert RUBRICS.load("empathy").schema()["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]
    softening = RUBRICS.load("softening_sustain_talk")
    assert softening.schema()["properties"]["score"]["enum"] == [1, 2, 3, 4, 5, None]
    missing = {"reason": "The client never argues for the present.", "score": None}
    jsonschema.validate(missing, softening.schema())
    assert softening.problem(missing) is None
    assert RUBRICS.load("empathy").problem(missing) == "score: not one of 1, 2, 3, 4, 5"


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
    fits = jsonschema.Draft202012Validator(rubric.schema()).is_valid(bad)
    found = rubric.problem(bad)
    assert found is None or "\n" not in found
    if not fits:
        assert found is not None
    elif found is not None:
        assert BEYOND_SCHEMA.search(found), found


def test_check_knows_what_a_schema_cannot_say() -> None:
    match = RUBRICS.load("diagnosis_match")
    assert match.problem({"reason": "", "candidate": 4}, counts={"ranked_diagnoses": 5}) is None
    found = match.problem({"reason": "", "candidate": 5}, counts={"ranked_diagnoses": 5})
    assert found == "candidate: there are only 5 ranked_diagnoses"
    assert match.problem({"reason": "", "candidate": -1}) == "candidate: not a number of ranked_diagnoses"

    evaluator = RUBRICS.load("turn_evaluator")
    good = reply(evaluator)
    assert evaluator.problem(good | {"space_provision": 1.2}) == "space_provision: not a number from 0 to 1"
    assert evaluator.problem(good | {"space_provision": float("nan")}) is not None
    probabilities = dict.fromkeys(good["intent_probabilities"], 0.5)
    found = evaluator.problem(good | {"intent_probabilities": probabilities})
    assert found == "intent_probabilities: the sum is 4.5, not 1"

    values = RUBRICS.load("values_detected")
    label = values.labels[0].label
    assert values.problem({"reason": "", "labels": []}) is None
    assert values.problem({"reason": "", "labels": [label, label]}) == "labels: a label twice"

    matching = RUBRICS.load("concern_matching")
    pair = {"reason": "", "finding": 0, "concern": 2, "quote": "I'm afraid.", "category_agrees": True}
    counts = {"submitted_findings": 2, "concerns": 2}
    assert matching.problem({"reason": "", "pairs": []}, counts=counts) is None
    found = matching.problem({"reason": "", "pairs": [pair]}, counts=counts)
    assert found == "pairs[0].concern: there are only 2 concerns"
    assert (
        matching.problem({"reason": "", "pairs": [pair | {"quote": " "}]})
        == "pairs[0].quote: not a quotation"
    )


def test_each_item_is_answered_once() -> None:
    rubric = RUBRICS.load("finding_category")
    good = reply(rubric)
    assert rubric.problem(good, asked=[1, 0]) is None
    assert rubric.problem(good, asked=[0, 1, 2]) == "answers: nothing about 2"
    assert rubric.problem(good, asked=[0]) == "answers: 1 was not asked about"
    doubled = {"answers": [*good["answers"], good["answers"][0]]}
    assert rubric.problem(doubled, asked=[0, 1]) == "answers: 0 answered twice"
    wrong = {"answers": [{**good["answers"][0], "label": "sight"}]}
    assert str(rubric.problem(wrong)).startswith("answers[0].label: not one of site, onset")


# -- finding rubrics --------------------------------------------------------------------------------


def test_a_users_folder_works_like_the_shipped_one(tmp_path: Path) -> None:
    write(tmp_path, PACING)
    write(tmp_path, "not a rubric", "notes.txt")
    write(tmp_path, "not a rubric", "_draft.yaml")
    assert find_rubric("pacing", tmp_path) == read(PACING)
    assert find_rubric("empathy", tmp_path) is not None
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


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="there is no such folder of rubrics"):
        find_rubric("empathy", tmp_path / "absent")
    write(tmp_path, PACING, "pacing.yml")
    with pytest.raises(RegistryError, match=r"a rubric file ends in \.yaml; call it pacing\.yaml"):
        find_rubric("pacing", tmp_path)


# -- the page on rubrics ----------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "rubrics.md").read_text("utf-8")


def test_the_pages_example_is_a_sound_rubric(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example is not None
    rubric, remarks = check_file(write(tmp_path, example[1]))
    assert remarks == ()
    assert rubric is not None


def test_the_page_names_every_key_and_every_shipped_rubric() -> None:
    keys = {field.name for kind in (Rubric, RubricPart) for field in dataclasses.fields(kind)}
    for name in [*keys, *SHIPPED]:
        assert re.search(rf"`{name}[`:]", PAGE), name
