"""Faults of messages: examples of each in English and Chinese, what looks like them and is none, and properties."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import bedside
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.asking import Fault, ask_patient
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import SIMULATORS, UnusableConversationError
from bedside.simulation.simulators.faults import clinician_flags, patient_fault, sentence_count, word_count
from bedside.transcripts.transcript import Transcript
from tests.simulation.simulators.playing import Table, by_rules, play, run_exchange


def reason(
    text: str, language: str = "en", earlier: Sequence[str] = (), sentences: int | None = 3, words: int | None = 60
) -> str | None:
    fault = patient_fault(text, language=language, earlier=earlier, sentences=sentences, words=words)
    return None if fault is None else fault.reason


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("...", "en", "empty"),
        ("***", "en", "empty"),
        ("I feel tired.\nDoctor: How long has that been so?", "en", "speaks for the clinician"),
        ("**Therapist:** And how was that?", "en", "speaks for the clinician"),
        ("Dr. Lee: Any pain?", "en", "speaks for the clinician"),
        ("我很累。\n医生：多久了？", "zh", "speaks for the clinician"),
        ("Patient: My chest hurts.", "en", "speaker label"),
        ("患者：我胸口疼。", "zh", "speaker label"),
        ("<think>They want sleep details.", "en", "leaked reasoning"),
        ("The clinician asked about sleep.</think> I sleep badly.", "en", "leaked reasoning"),
        ("Okay, I need to respond as the patient. I sleep badly.", "en", "leaked reasoning"),
        ("The patient would say that they are tired.", "en", "leaked reasoning"),
        ("我应该以患者的口吻回答：睡不好。", "zh", "leaked reasoning"),
        ("As an AI language model, I have no symptoms.", "en", "refusal"),
        ("I'm sorry, but I can't assist with that.", "en", "refusal"),
        ("I'm sorry, but I cannot continue this role.", "en", "refusal"),
        ("作为一个人工智能，我没有症状。", "zh", "refusal"),
        ("我无法扮演这个角色。", "zh", "refusal"),
        ("The vignette doesn't mention my sleep.", "en", "speaks of the case"),
        ("My prompt doesn't say.", "en", "speaks of the case"),
        ("病例中没有提到我的睡眠。", "zh", "speaks of the case"),
        ("Of course. How can I help you today?", "en", "becomes the helper"),
        ("I'd recommend that you see a specialist about that.", "en", "becomes the helper"),
        ("You should talk to a mental health professional.", "en", "becomes the helper"),
        ("As your doctor, I'd run some tests.", "en", "becomes the helper"),
        ("How long have you been experiencing these symptoms?", "en", "becomes the helper"),
        ("请问有什么可以帮您的吗？", "zh", "becomes the helper"),
        ("我建议您去看心理科。", "zh", "becomes the helper"),
        ("*sighs* I don't know.", "en", "stage directions"),
        ("(long pause) I suppose so.", "en", "stage directions"),
        ("I suppose so. (looks down at her hands)", "en", "stage directions"),
        ("My name is [name].", "en", "stage directions"),
        ("（叹气）我不知道。", "zh", "stage directions"),
        ("（沉默了一会儿）可能吧。", "zh", "stage directions"),
        ("I really don't know what to say.", "zh", "wrong language"),
        ("我真的不知道该怎么说才好，最近总是睡不着。", "en", "wrong language"),
        ("Ich habe seit zwei Wochen Schmerzen in der Brust.", "en", "wrong language"),
        ("Je suis très fatigué et j'ai mal à la tête.", "en", "wrong language"),
        ("Estoy muy cansada y no duermo por las noches.", "en", "wrong language"),
        ("It hurts. It burns. It stings. It itches.", "en", "too long"),
        ("pain " * 61, "en", "too long"),
        ("疼。很疼。非常疼。一直疼。", "zh", "too long"),
    ],
)
def test_a_fault_is_named(text: str, language: str, expected: str) -> None:
    assert reason(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I'm sorry, but I can't help it.", "en"),
        ("I'm sorry, but I can't continue with this medicine.", "en"),
        ("I'm sorry, but I cannot sleep at night.", "en"),
        ("My wife said you should see a doctor, so here I am.", "en"),
        ("Thanks for the prompt reply.", "en"),
        ("How long have you been a doctor?", "en"),
        ("I take metoprolol (50 mg) and something for the stomach (I forget its name).", "en"),
        ("My leg (looks swollen to me) hurts.", "en"),
        ("I should answer as honestly as I can.", "en"),
        ("We did role-playing in my therapy group.", "en"),
        ("Are you saying I need a specialist?", "en"),
        ("What do you suggest I do?", "en"),
        ("I'd suggest you ask my daughter, she keeps the list.", "en"),
        ("It went from 120 to 140. Dr. Brown said that's high.", "en"),
        ("The doctor said: rest. So I did.", "en"),
        ("f*** this, I'm so tired of it all.", "en"),
        ("Metformin, lisinopril, atorvastatin, insulin glargine, aspirin, calcium, vitamin D, zinc." * 4, "en"),
        ("El Niño, la Traviata, Los Angeles: I've forgotten which one it was.", "en"),
        ("我在吃 sertraline 和 quetiapine，每天晚上各一片。", "zh"),
        ("朋友建议我来看看。", "zh"),
        ("我吃的是药（50毫克）。", "zh"),
        ("嗯。", "zh"),
        ("OK", "zh"),
        ("No.", "en"),
    ],
)
def test_what_only_looks_like_a_fault_is_none(text: str, language: str) -> None:
    assert reason(text, language, sentences=None) is None


@pytest.mark.parametrize(
    ("text", "earlier", "expected"),
    [
        ("It started two weeks ago!", ["it started two  weeks ago"], "repeats itself"),
        (
            "It started two weeks ago, after the flu I had in autumn, you see.",
            ["It started two weeks ago, after the flu I had in autumn."],
            None,  # 11 of 13 words are shared
        ),
        (
            "It started about two weeks ago right after the bad flu I had.",
            ["Right after the bad flu I had it started, about two weeks ago."],
            "repeats itself",
        ),
        ("No, never.", ["No, never."], None),
        ("我最近总是睡不着觉", ["我最近，总是睡不着觉。"], "repeats itself"),
        ("不是。", ["不是。"], None),
        ("Hello doctor, I'm here because of my back.", ["Hi, my back hurts a lot."], "begins anew"),
        ("Hello doctor, I'm here because of my back.", [], None),
        ("医生您好，我是来看头疼的。", ["我头疼。"], "begins anew"),
        ("Hi. Sorry, it's worse at night.", ["Hi, my back hurts a lot."], None),
    ],
)
def test_what_was_said_before_is_not_said_again(text: str, earlier: list[str], expected: str | None) -> None:
    assert reason(text, "zh" if ord(text[0]) > 255 else "en", earlier) == expected


def test_faults_that_are_kept_are_those_of_manner() -> None:
    kept = {"repeats itself", "begins anew", "too long"}
    for text, earlier in [
        ("It hurts every single night.", ["It hurts every single night."]),
        ("Hello, I'm here because of pain.", ["It hurts."]),
        ("One. Two. Three. Four.", []),
        ("*sighs* Well.", []),
        ("As an AI, I feel nothing.", []),
    ]:
        fault = patient_fault(text, language="en", earlier=earlier, sentences=3, words=60)
        assert fault is not None
        assert fault.kept == (fault.reason in kept)


def test_a_limit_is_told_as_it_is() -> None:
    fault = patient_fault("One. Two.", language="en", sentences=1, words=20)
    assert fault is not None
    assert fault.objection == "Your last reply was too long. Answer in at most 1 sentence and 20 words."
    assert patient_fault("One. Two. " * 300, language="en", sentences=None, words=None) is None


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("As an AI language model, I can't diagnose. See a doctor.", "en", ("refusal",)),
        ("Patient: I'm fine.\nDoctor: Good.", "en", ("speaks for the patient",)),
        ("*nods* Go on.", "en", ("stage directions",)),
        ("Tell me more about it.", "zh", ("wrong language",)),
        ("word " * 401, "en", ("too long",)),
        ("<think>x", "en", ("leaked reasoning",)),
        ("How can I help you today? I'd recommend that you rest.", "en", ()),
        ("How long have you had these headaches, and how bad are they?", "en", ()),
    ],
)
def test_a_clinician_is_flagged(text: str, language: str, expected: tuple[str, ...]) -> None:
    assert clinician_flags(text, language=language) == expected


def test_a_clinician_that_says_the_same_again_is_flagged() -> None:
    assert clinician_flags("Tell me about it!", language="en", earlier=["Tell me about it."]) == ("repeats itself",)


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("It's 37.5 degrees. Dr. Brown said so at 8 a.m. today.", 11, 2),
        ("Well... I don't know!? Maybe.", 5, 3),
        ("我很累。真的。", 4, 2),
        ("我吃sertraline", 3, 1),
        ("one\ntwo", 2, 2),
        ("—", 0, 0),
    ],
)
def test_words_and_sentences_are_counted(text: str, words: int, sentences: int) -> None:
    assert (word_count(text), sentence_count(text)) == (words, sentences)


TEXTS = st.text(max_size=200)


@given(TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from(["en", "zh"]))
def test_any_text_is_judged_and_an_objection_never_quotes_it(text: str, earlier: list[str], language: str) -> None:
    fault = patient_fault(text, language=language, earlier=earlier, sentences=3, words=60)
    clinician_flags(text, language=language, earlier=earlier)
    if fault is not None and len(text.strip()) > 20:
        assert text.strip() not in fault.objection


@given(st.lists(st.sampled_from("the a pain in my left knee is worse at night when I walk".split()), min_size=4))
def test_a_message_of_four_words_is_never_said_twice_unseen(words: list[str]) -> None:
    text = " ".join(words)
    assert patient_fault(text, language="en", earlier=[text.upper() + "!"], sentences=None, words=None) is not None


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_more_of_what_was_said_never_takes_a_repetition_away(earlier: list[str], more: list[str]) -> None:
    text = "the pain is worse at night when I lie down"
    before = reason(text, earlier=earlier)
    assert before is None or reason(text, earlier=[*more, *earlier]) == before


@given(st.integers(0, 90), st.integers(1, 80))
def test_the_limit_itself_is_allowed(count: int, limit: int) -> None:
    text = " ".join(["night"] * count) or "!"
    fault = patient_fault(text, language="zh", sentences=None, words=limit)
    if count == 0:
        assert fault is not None
        assert fault.reason == "empty"
    english = patient_fault(" ".join(["the"] * count), language="en", sentences=None, words=limit)
    if count:
        assert (english is not None and english.reason == "too long") == (count > limit)


def reasons_of_people(transcripts: Iterable[Transcript], language: str) -> tuple[Counter[str], int]:
    """The faults that are seen in what real people said, and how many messages that is."""
    reasons: Counter[str] = Counter()
    messages = 0
    for transcript in transcripts:
        earlier: dict[str, list[str]] = {"patient": [], "clinician": []}
        for turn in transcript.turns:
            text = re.sub(r"\[[^\]]*\]", " ", turn.text)  # transcribers' marks
            if not any(map(str.isalnum, text)):
                continue
            own = earlier[turn.role]
            if turn.role == "patient":
                found = reason(text, language, own, sentences=None, words=None)
                reasons.update([found] if found else [])
            else:
                flags = clinician_flags(text, language=language, earlier=own)
                reasons.update(set(flags) - {"too long"})
            own.append(text)
            messages += 1
    return reasons, messages


@pytest.mark.slow
def test_real_people_commit_no_faults_but_that_some_repeat_themselves(annomi: Path, mdd5k: Path) -> None:
    english, turns = reasons_of_people(bedside.read_transcripts(annomi), "en")
    assert set(english) <= {"repeats itself"}
    assert english["repeats itself"] < 0.005 * turns
    files = sorted((mdd5k / "conversations").glob("*.json"))
    chinese, turns = reasons_of_people((talk for file in files for talk in bedside.read_transcripts(file)), "zh")
    assert turns > 1000
    assert set(chinese) <= {"repeats itself"}
    assert chinese["repeats itself"] < 0.005 * turns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"foo": 1}', "form"),
        ("{'foo': 1}", "form"),
        ('{"message": "It hurts."}', "form"),
        ("[1, 2]", "form"),
        ("null", "form"),
        ("```json\n{}\nIt hurts.\n```", "form"),
        ("<reply>It hurts.</reply>", "form"),
        ('It hurts <b class="x">a lot</b>.', "form"),
        ("<?xml version='1.0'?>It hurts.", "form"),
        ("# My answer\nIt hurts.", "form"),
        ("| since | pain |\n| 2 days | bad |", "form"),
        ("Sure! Here is what I think: it may be the pills.", "answers as an assistant"),
        ("Certainly! Here's a realistic patient response: It hurts.", "answers as an assistant"),
        ("Here is my reply: It hurts.", "answers as an assistant"),
        ("Let me know if you would like me to change it.", "answers as an assistant"),
        ("As an AI, I can't feel pain.", "refusal"),
        ("Doctor: How are you?", "speaks for the clinician"),
        ("Doctor: How are you?\nPatient: Fine.", "speaks for the clinician"),
        ("My pain is < 3 most days, and > 5 at night.", None),
        ("Sure, here's what happened: I fell off my bike.", None),
        ("Sure. Here is the list of my pills that you wanted.", None),
        ("I take two: one in the morning, one at night.", None),
        ("None.", None),
        ("I am 52 and I <3 my dog.", None),
        ("I'd be happy to help if it's for the study.", None),
        ("Let me know if you need my insurance card.", None),
    ],
)
def test_forms_and_answers_of_assistants_are_no_words_of_a_patient(text: str, expected: str | None) -> None:
    assert reason(text, "en") == expected


def test_chinese_answers_of_assistants() -> None:
    assert reason("好的，以下是患者的回答：我头疼。", "zh") == "answers as an assistant"
    assert reason("好的，我以后注意休息，下面我再说说睡眠。", "zh") is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["It hurts all day long."] * 1, "repeats itself"),
        (["It hurts all day long."] * 2, "stuck"),
        (["It hurts all day long.", "A bit better.", "It hurts all day long!", "Yes."], "stuck"),
        (["Yes."] * 20, None),
    ],
)
def test_a_patient_is_stuck_at_what_it_says_the_third_time(said: list[str], expected: str | None) -> None:
    assert reason("It hurts all day long.", "en", said) == expected
    # "Yes.", "No, never." and "I don't know." answer many questions, however often.
    for short in ("Yes.", "No, never.", "I don't know."):
        assert reason(short, "en", [short] * 30) is None


def test_lines_that_the_case_gives_are_said_as_often_as_it_likes() -> None:
    line = "I would rather not say."
    for lines, expected in (((), "stuck"), ((line,), "repeats itself")):
        fault = patient_fault(line, language="en", earlier=[line] * 3, case_lines=lines, sentences=None, words=None)
        assert fault is not None
        assert fault.reason == expected


def test_what_a_person_typed_has_no_fault_of_form() -> None:
    def check(text: str) -> Fault | None:
        return patient_fault(text, language="en", earlier=["as above"] * 9, sentences=1, words=5)

    call = Call("patient", "reply", 1)
    for text in ('{"foo": 1}', "*shrugs*", "Sure! Here is what I think.", "One. Two. Three four five six."):
        typed = Table({"reply": ActorReply(text, typed=True)})
        spoken, calls, _ = run_exchange(ask_patient(call, check), typed)
        assert (spoken.text, spoken.flags, len(calls)) == (text, (), 1)
        with pytest.raises(UnusableConversationError) if "Two" not in text else nullcontext():
            run_exchange(ask_patient(call, check), Table({"reply": text}))


def test_what_a_person_typed_can_still_be_wrong_otherwise() -> None:
    leak = Fault("reveals what is hidden", "Don't.")
    form = Fault("form", "Write words.", form=True, beneath=leak)
    with pytest.raises(UnusableConversationError, match="reveals what is hidden"):
        run_exchange(
            ask_patient(Call("patient", "reply", 1), lambda text: form), lambda _: ActorReply("{}", typed=True)
        )


@pytest.mark.parametrize("name", ["calm-it", "mdd5k", "medconceal", "multisense", "note2chat"])
def test_the_toys_of_all_protocols_commit_no_faults_of_these_kinds(name: str) -> None:
    simulator = SIMULATORS.load(name)
    plan = SimulationRequest(protocol=name, clinicians=("rules",)).plan()
    length = 12 if name == "calm-it" else None
    messages = 0
    for setting in simulator.settings:
        for case in plan.cases:
            talk = play(simulator, case, by_rules(simulator), setting=setting.name, length=length)
            assert talk.failure is None
            messages += sum(turn.role == "patient" for turn in talk.ended.turns)
            refused = [flag for flag in talk.ended.flags if flag.startswith("patient")]
            assert not {"form", "answers as an assistant", "stuck"} & {flag.partition(": ")[2] for flag in refused}
    assert messages > 20


def test_the_bundled_conversations_have_no_faults_of_these_kinds() -> None:
    reasons, messages = reasons_of_people(bedside.read_transcripts(bedside.EXAMPLES / "transcripts.jsonl"), "en")
    assert messages > 50
    assert not {"form", "answers as an assistant", "stuck", "refusal", "speaks for the clinician"} & set(reasons)
