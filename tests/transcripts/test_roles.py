"""Who is clinician and who patient, by names and by how they talk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bedside.support.errors import AmbiguousError
from bedside.transcripts.reading import Reading
from bedside.transcripts.role_evidence import MEASURES, check_roles, exchanged, model, role_evidence
from bedside.transcripts.transcript import role_of
from bedside.transcripts.transcript_maker import UnknownSpeakerError

MODEL = Path(__file__).parents[2] / "bedside" / "transcripts" / "role_evidence.json"

ENGLISH = (
    [
        "What brings you here today?",
        "How long have you felt like that?",
        "Do you sleep well, and how is your appetite?",
    ],
    [
        "I feel so tired, I can't do my work.",
        "Since my mother died I cry a lot.",
        "No, I lie awake and I worry.",
    ],
)
GERMAN = (
    [
        "Was führt Sie zu mir?",
        "Wie lange haben Sie das schon, und wann begann es?",
        "Wie geht es Ihnen mit Ihrer Arbeit?",
    ],
    [
        "Ich bin müde und habe Schmerzen.",
        "Ich weiß nicht, ich habe Angst um mich.",
        "Ich kann nicht, mir ist alles zu viel.",
    ],
)
CHINESE = (
    ["你今天想聊什么？", "你这样多久了？", "你睡得怎么样？"],
    ["我觉得很累，我不知道怎么办。", "我妈妈去世以后我一直很难过。", "我睡不着，我总是担心。"],
)
HELP = (
    ["How do I make bread?", "Can you give me a recipe with rye?", "Thanks. What is a sourdough?"],
    [
        "Mix flour and water, and let it rest.\n1. Knead.\n2. Bake.",
        "Certainly! Here's a recipe.",
        "It's a natural leaven.",
    ],
)


def as_log(user: list[str], assistant: list[str]) -> tuple[list[str], list[str]]:
    speakers, texts = [], []
    for asked, answered in zip(user, assistant, strict=True):
        speakers += ["user", "assistant"]
        texts += [asked, answered]
    return speakers, texts


@pytest.mark.parametrize("talk", [ENGLISH, GERMAN, CHINESE])
def test_a_log_of_a_played_patient_stops_and_that_of_a_clinician_does_not(
    talk: tuple[list[str], list[str]],
) -> None:
    clinician, patient = talk
    with pytest.raises(AmbiguousError, match="roles=assistant=patient,user=clinician"):
        check_roles(*as_log(clinician, patient), {}, "here")
    check_roles(*as_log(clinician, patient), {"user": "clinician", "assistant": "patient"}, "here")
    check_roles(*as_log(patient, clinician), {}, "here")


def test_other_names_of_a_model_are_told_as_written() -> None:
    speakers, texts = as_log(*ENGLISH)
    named = [{"user": "human", "assistant": "gpt"}[name] for name in speakers]
    with pytest.raises(AmbiguousError, match="roles=gpt=patient,human=clinician"):
        check_roles(named, texts, {}, "here")


def test_who_asks_for_help_is_no_clinician() -> None:
    check_roles(*as_log(*HELP), {}, "here")


def test_an_instruction_in_the_users_first_message_counts() -> None:
    speakers, texts = as_log(*ENGLISH)
    check_roles(["user", *speakers], ["You are an AI doctor. Ask questions.", *texts], {}, "here")


def test_one_turn_a_side_tells_nothing() -> None:
    assert exchanged(ENGLISH[1][:1], ENGLISH[0][:1]) is None


@pytest.mark.parametrize("talk", [ENGLISH, GERMAN, CHINESE])
def test_two_unknown_speakers_are_told_apart(talk: tuple[list[str], list[str]]) -> None:
    found = role_evidence({"A": talk[1], "B": talk[0]})
    assert {name: role for name, (role, _) in found.items()} == {"A": "patient", "B": "clinician"}
    assert all(0.9 < probability < 1 for _, probability in found.values())


def test_a_third_is_sure_by_its_name_only() -> None:
    known = {"clinician": ENGLISH[0], "patient": ENGLISH[1]}
    found = role_evidence({"Guest_family 2": ["He sleeps."], "Kim": ["He sleeps."]}, known)
    assert found["Guest_family 2"][0] == "other"
    assert found["Guest_family 2"][1] > 0.9
    assert found["Kim"][1] <= 0.5


@pytest.mark.parametrize(
    ("names", "role"),
    [
        ("Therapeutin Ärztin Psychologe Th. Dr.", "clinician"),
        ("Klientin Patientin Pat. Pt", "patient"),
        ("Médica psicologa Psicólogo terapeuta", "clinician"),
        ("paciente Entrevistada", "patient"),
        ("Thérapeute medecin Médecin psychologue", "clinician"),
        ("patiente cliente", "patient"),
        ("الطبيب المعالج", "clinician"),
        ("المريضة", "patient"),
        ("상담사 의사", "clinician"),
        ("내담자 환자", "patient"),
        ("医師 カウンセラー", "clinician"),
        ("クライエント 患者", "patient"),
        ("治疗师 醫師", "clinician"),
        ("病人 求助者", "patient"),
    ],
)
def test_names_of_roles(names: str, role: str) -> None:
    assert {role_of(name) for name in names.split()} == {role}


@pytest.mark.parametrize("name", ["T", "C", "P", "Pat", "D"])
def test_a_letter_or_a_persons_name_says_nothing(name: str) -> None:
    assert role_of(name) is None


@pytest.mark.parametrize(
    "name", ["mother", "Mutter", "madre", "mère", "الأم", "어머니", "母", "家属", "Guest_family"]
)
def test_a_third_party_is_one_beside_both_sides(name: str) -> None:
    assert role_of(name, partners=["clinician", "patient"]) == "other"
    assert role_of(name, partners=["clinician"]) is None


@pytest.mark.parametrize(
    ("lines", "guess"),
    [
        (
            ["No duermo bien desde hace meses.", "¿Desde cuándo le pasa?", "Me siento cansada."],
            "C=patient,P=clinician",
        ),
        (
            ["What brings you here?", "I sleep badly and I worry.", "How long have you felt so?"],
            "C=clinician,P=patient",
        ),
    ],
)
def test_c_and_p_stop_for_either_may_be_the_clinician(lines: list[str], guess: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("\n".join(f"{name}: {line}" for name, line in zip("CPC", lines, strict=True)), "utf-8")
    with pytest.raises(UnknownSpeakerError, match=guess):
        list(Reading([path]))


def test_what_is_shipped_fits_the_measures_and_keeps_its_promise() -> None:
    """Figures are of models that never saw the set; these two sets fall short, and the docs say so."""
    shipped = json.loads(MODEL.read_text("utf-8"))
    assert list(shipped["weights"]) == list(MEASURES)
    assert len(model().assistant) == len(MEASURES)
    logs = {name: figures["logs"]["3 turns a side or more"] for name, figures in shipped["sets"].items()}
    assert {name for name, each in logs.items() if each.get("stopped_of_exchanged", 100) < 95} == {
        "esconv",
        "craft-md",
    }
    assert {name for name, each in logs.items() if each["stopped_though_right"] > 1} == {"hh-rlhf"}
