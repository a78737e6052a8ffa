"""Who is clinician and who patient, by names and by how they talk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bedside.core.errors import AmbiguousError
from bedside.transcripts.reading import Reading
from bedside.transcripts.role_evidence import MEASURES, check_roles, exchanged, model, role_evidence
from bedside.transcripts.told_roles import told_role
from bedside.transcripts.transcript import Role, role_of
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.transcripts.files import check_question, read, write

MODEL = Path(__file__).parents[2] / "bedside" / "transcripts" / "role_evidence.json"

ENGLISH = (
    [
        "What brings you here today?",
        "How long have you felt like that?",
        "Do you sleep well, and how is your appetite?",
    ],
    ["I feel so tired, I can't do my work.", "Since my mother died I cry a lot.", "No, I lie awake and I worry."],
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
def test_a_log_of_a_played_patient_stops_and_that_of_a_clinician_does_not(talk: tuple[list[str], list[str]]) -> None:
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
    known: dict[Role, list[str]] = {"clinician": ENGLISH[0], "patient": ENGLISH[1]}
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


@pytest.mark.parametrize("name", ["mother", "Mutter", "madre", "mère", "الأم", "어머니", "母", "家属", "Guest_family"])
def test_a_third_party_is_one_beside_both_sides(name: str) -> None:
    assert role_of(name, partners=["clinician", "patient"]) == "other"
    assert role_of(name, partners=["clinician"]) is None


@pytest.mark.parametrize(
    ("lines", "guess"),
    [
        (["No duermo bien desde hace meses.", "¿Desde cuándo le pasa?", "Me siento cansada."], "C=patient,P=clinician"),
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
    assert {name for name, each in logs.items() if each.get("stopped_of_exchanged", 100) < 95} == {"esconv", "craft-md"}
    assert {name for name, each in logs.items() if each["stopped_though_right"] > 1} == {"hh-rlhf"}


# -- what prompts tell ---------------------------------------------------------------------------------

PLAYS_THE_PATIENT = """
You are an AI assistant role-playing a patient named Ruth with migraine.
You are an assistant that plays a standardized patient.
You are a helpful assistant. In this conversation you play the patient.
You are an expert in simulating patients.
You are an AI teaching assistant, and your job is to help trainees. You will play the role of the patient in this case.
You are roleplaying a station. The user is the doctor; you are the patient.
The user is a therapist in training. You are their client.
You are a doctor's patient.
You are a patient and the user is a doctor.
You are a 40-year-old woman with chest pain, a patient of Dr. Lee.
You are Maria. You have had headaches for two weeks. A medical student will interview you.
Play the role of Mr. Jones, a 60-year-old man who comes to his GP with chest pain.
You are a person who suffers from panic attacks and calls a helpline.
Act as if you were visiting a doctor, and answer his questions.
Respond as the patient would.
Tu es un patient qui consulte pour une douleur au dos.
Eres un paciente con ansiedad que habla con su psicólogo.
Actúa como un paciente con dolor.
Você é um paciente com dor lombar.
Sei un paziente con mal di schiena.
Ты пациент с бессонницей. Отвечай врачу.
Du bist Frau Weber, Patientin mit Rückenschmerzen.
Eres María, una paciente con migraña.
Recita la parte di un paziente con emicrania.
Please be my client with social anxiety.
ROLE: standardized patient. CASE: appendicitis.
Simulated patient: Ana, 30. The user is the doctor.
Tu es une personne âgée qui a des vertiges. L'utilisateur est le médecin.
أنت مريض تعاني من الأرق.
请你扮演一位失眠的患者，与医生对话。
你是一位对生活失望的患者，正在咨询。
あなたは不眠に悩む患者です。医師の質問に答えてください。
당신은 불면증 환자입니다. 의사의 질문에 대답하세요.
"""
PLAYS_NO_PATIENT = """
You are a patient and kind listener.
You are a warm, patient, and knowledgeable therapist.
You are a patient tutor.
You are patient with the user.
You are a client-centered therapist.
You are a patient education assistant.
You are a patient-facing health assistant.
You are a doctor. The user is a patient.
You are a therapist. The user will play the client.
You are a doctor. I will act as a patient.
You are an assistant supporting patients.
You are an AI that encourages people to see a doctor.
You are given a conversation between a doctor and a patient.
You play a crucial role in helping patients.
Simulate a consultation with a patient.
Tu es patient et empathique.
Tu es médecin; tu parles avec un patient.
Eres una psicóloga que atiende a un paciente.
Be my therapist and listen.
You interview a simulated patient. The user is the patient.
Standardized patient education matters; you are a nurse.
Du bist eine Therapeutin und sprichst mit einem Patienten.
Ты врач. Ты говоришь с пациентом.
أنت طبيب تتحدث مع مريض.
你是一位帮助来访者的咨询师。
你将为失眠的患者提供帮助。
あなたは患者を支援する医師です。
당신은 환자를 돕는 의사입니다.
"""


@pytest.mark.parametrize("prompt", PLAYS_THE_PATIENT.strip().splitlines())
def test_a_prompt_tells_the_model_to_be_the_patient(prompt: str, tmp_path: Path) -> None:
    assert told_role(prompt) == "patient"
    # Where the instruction is the user's first message, it is seen too.
    with pytest.raises(AmbiguousError):
        check_roles(["user", "assistant"], [prompt, "Hello."], {}, "here")


@pytest.mark.parametrize("prompt", PLAYS_NO_PATIENT.strip().splitlines())
def test_a_prompt_of_another_tells_no_patient(prompt: str) -> None:
    assert told_role(prompt) != "patient"


def test_that_it_is_an_assistant_does_not_silence_how_it_talks() -> None:
    speakers, texts = as_log(*ENGLISH)
    with pytest.raises(AmbiguousError):
        check_roles(["system", *speakers], ["You are a helpful assistant.", *texts], {}, "here")


MESSAGES = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good morning."}]
TOLD = "You are Ruth, a patient with migraine. Stay in character."


@pytest.mark.parametrize(
    "record",
    [
        {"system_prompt": TOLD, "messages": MESSAGES},
        {"model": "m", "system": TOLD, "messages": MESSAGES},
        {"persona": TOLD, "messages": MESSAGES},
        {"chatbot_role": "a patient with migraine", "turns": MESSAGES},
        {"instructions": TOLD, "messages": MESSAGES},
        {"systemInstruction": {"parts": [{"text": TOLD}]}, "contents": MESSAGES},
        {"system": TOLD, "conversations": [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]},
    ],
)
def test_a_prompt_beside_the_messages_tells_it_too(record: dict[str, object], tmp_path: Path) -> None:
    path = write(tmp_path, "log.json", json.dumps(record))
    check_question(path)
    (transcript,) = read(
        path, roles={"user": "clinician", "human": "clinician", "assistant": "patient", "gpt": "patient"}
    )
    assert [turn.role for turn in transcript.turns] == ["clinician", "patient"]


def log_in(form: str, log: tuple[list[str], list[str]]) -> str:
    """A log in a form."""
    pairs = list(zip(*log, strict=True))
    if form == "rows.jsonl":
        return "\n".join(json.dumps({"dialogue_id": "1", "role": who, "content": text}) for who, text in pairs)
    if form == "rows.csv":
        return "id,role,content\n" + "\n".join(f'1,{who},"{text}"' for who, text in pairs)
    if form == "exchanges.csv":
        texts = log[1]
        return "id,user,assistant\n" + "\n".join(
            f'1,"{one}","{two}"' for one, two in zip(texts[::2], texts[1::2], strict=True)
        )
    lines = "\n".join(f"{who.title()}: {text}" for who, text in pairs)
    if form == "turns.jsonl":
        return json.dumps({"turns": [{"role": who, "text": text} for who, text in pairs]})
    return f'id,dialogue\n1,"{lines}"\n' if form == "cells.csv" else lines


@pytest.mark.parametrize("form", ["rows.jsonl", "rows.csv", "exchanges.csv", "cells.csv", "talk.txt", "turns.jsonl"])
def test_in_whatever_form_a_played_patient_stops_the_reading(form: str, tmp_path: Path) -> None:
    clinician, patient = ENGLISH
    check_question(write(tmp_path, form, log_in(form, as_log(clinician, patient))))
    (transcript,) = read(write(tmp_path, form, log_in(form, as_log(patient, clinician))))
    assert [turn.role for turn in transcript.turns] == ["patient", "clinician"] * 3


def test_roles_that_bedside_wrote_are_read_again_as_they_are(tmp_path: Path) -> None:
    speakers, texts = as_log(*ENGLISH)
    for named in ({"user": "clinician", "assistant": "patient"}, {"user": "patient", "assistant": "clinician"}):
        path = write(tmp_path, "talk.txt", log_in("talk.txt", (speakers, texts)))
        (transcript,) = read(path, roles=named)
        again = read(write(tmp_path, "own.jsonl", transcript.to_json()))
        assert [turn.role for turn in again[0].turns] == [named[speaker] for speaker in speakers]


# -- labels that don't agree ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"), [("user", "patient"), ("assistant", "doctor"), ("human", "Klient"), ("AI", "therapist")]
)
def test_labels_of_logs_and_of_people_for_one_side_stop(one: str, other: str, tmp_path: Path) -> None:
    messages = [{"role": one, "content": "Hello."}, {"role": other, "content": "Good morning."}]
    path = write(tmp_path, "log.json", json.dumps({"messages": messages}))
    with pytest.raises(AmbiguousError, match=f"roles={one}=ROLE"):
        read(path)
    (transcript,) = read(path, roles={one: "other"})
    assert transcript.turns[0].role == "other"


@pytest.mark.parametrize("key", ["speaker", "name"])
def test_a_label_and_a_name_that_contradict_stop(key: str, tmp_path: Path) -> None:
    messages = [
        {"role": "user", key: "Doctor", "content": "Hello."},
        {"role": "assistant", key: "PatientAgent", "content": "Good morning."},
    ]
    path = write(tmp_path, "log.json", json.dumps({"messages": messages}))
    check_question(path, "roles=assistant=patient,user=clinician")
    (transcript,) = read(path, roles={"user": "clinician", "assistant": "patient"})
    assert [turn.role for turn in transcript.turns] == ["clinician", "patient"]
    agreeing = [{**messages[0], key: "Pt"}, {**messages[1], key: "Dr. Kim"}]
    assert read(write(tmp_path, "log.json", json.dumps({"messages": agreeing})))


def test_columns_that_contradict_stop(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.csv", "id,role,speaker,text\na,user,Doctor,Hello.\na,assistant,Patient,Hello.\n")
    check_question(path, "roles=Doctor=clinician,Patient=patient")
    assert [turn.role for turn in read(path, roles={"Doctor": "clinician", "Patient": "patient"})[0].turns] == [
        "clinician",
        "patient",
    ]


def test_a_third_person_under_the_users_label_is_asked_about(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "name": "Anna", "content": "I sleep badly."},
        {"role": "user", "name": "Mother of Anna", "content": "She does."},
        {"role": "assistant", "content": "Since when?"},
    ]
    path = write(tmp_path, "log.json", json.dumps({"messages": messages}))
    check_question(path, 'roles="Mother of Anna"=other')
    turns = read(path, roles={"Mother of Anna": "other"})[0].turns
    assert [(turn.role, turn.speaker) for turn in turns] == [
        ("patient", "user"),
        ("other", "Mother of Anna"),
        ("clinician", "assistant"),
    ]
    # One who alone speaks for that side may be it.
    assert read(write(tmp_path, "log.json", json.dumps({"messages": messages[1:]})))


@pytest.mark.parametrize(
    ("third", "beside", "role"), [("Student", "Patient", "clinician"), ("Mother of Anna", "Doctor", "patient")]
)
def test_a_third_beside_one_side_alone_is_the_other(third: str, beside: str, role: str) -> None:
    side = role_of(beside)
    assert side is not None
    found = role_evidence({third: ["It began in May, I think."]}, {side: ["Hello, sit down please."]})
    assert found[third][0] == role
