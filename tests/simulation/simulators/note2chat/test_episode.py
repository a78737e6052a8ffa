"""The interview: who speaks, when it ends and why, what is written down; actors say what the test wants."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.note2chat import SIMULATOR
from tests.simulation.simulators.note2chat.cases_for_tests import FIVE, actors, case, questions, said
from tests.simulation.simulators.playing import Played, by_rules, play, situation


def interview(*arguments: Any, **more: Any) -> Played:
    return play(SIMULATOR, case(), actors(*arguments), **more)


def test_it_is_an_entry_of_the_registry() -> None:
    assert SIMULATORS.load("note2chat") is SIMULATOR


def test_the_patient_opens_and_the_diagnosis_ends_it() -> None:
    ended = interview(questions(3)).ended
    assert [turn.role for turn in ended.turns] == ["patient", "clinician"] * 4
    assert (ended.turns[0].text, ended.turns[-1].text) == ("I have this ache.", "It is this.")
    assert (ended.stop, ended.completed, ended.flags) == ("diagnosis", True, {})
    assert ended.reference == {
        "findings": [{"text": "qzfinding one.", "categories": ["onset"]}, {"text": "qzfinding two.", "categories": []}],
        "diagnosis": "qzdiagnosis",
        "ranked_diagnoses": FIVE,
        "note": "The qzvignette ache began two days ago. It is worse at night.",
        "patient_sentences": {
            "dont_know": "Sorry, I don't know.",
            "already_asked": "Sorry, you've already asked this question.",
        },
    }


def test_a_clinician_that_diagnoses_at_once_has_two_messages() -> None:
    # The published model that asks nothing has 2.02 on average: what is counted is messages.
    assert len(interview(questions(0)).ended.turns) == 2


@pytest.mark.parametrize(("setting", "cap"), [("26-messages", 26), ("40-messages", 40)])
def test_at_the_cap_the_diagnosis_is_asked_for(setting: str, cap: int) -> None:
    played = interview(questions(cap), setting=setting)
    ended = played.ended
    assert len(ended.turns) == cap
    # The released code's cap of 26 is that of 13 messages of the doctor.
    asked = played.asked("message")
    assert len(asked) == cap // 2
    assert [call.material["last"] for call in asked] == [False] * (cap // 2 - 1) + [True]
    assert "exactly five" in asked[-1].instruction
    assert not any("your last message" in call.instruction for call in asked[:-1])
    assert (ended.stop, ended.completed) == ("forced", False)
    assert ended.reference["ranked_diagnoses"] == []
    assert ended.flags["clinician: not 5 diagnoses"] == 1


def test_a_diagnosis_in_the_last_message_completes_it() -> None:
    ended = interview(questions(12)).ended
    assert (ended.stop, ended.completed, len(ended.turns)) == ("forced", True, 26)


@pytest.mark.parametrize("number", [1, 4, 6])
def test_a_ranking_of_another_length_is_kept_and_flagged(number: int) -> None:
    names = [f"illness {place}" for place in range(number)]
    ended = interview(questions(1, names)).ended
    assert ended.reference["ranked_diagnoses"] == names
    assert (ended.stop, ended.completed) == ("diagnosis", True)
    assert ended.flags == {"clinician: not 5 diagnoses": 1}


def test_a_list_without_words_is_written_out_and_flagged() -> None:
    ended = interview([said("", FIVE)]).ended
    assert ended.turns[-1].text == "1. asthma\n2. pneumonia\n3. gout\n4. anaemia\n5. migraine"
    assert ended.turns[-1].meta == {"flags": ["diagnosis without words"]}
    assert ended.stop == "diagnosis"


def test_brackets_and_headings_in_a_message_end_nothing() -> None:
    message = "Diagnosis: {disease: asthma} [or] do you (ever) wheeze? My first thoughts are: 1. asthma"
    ended = interview([said(message), said("It is this.", FIVE)]).ended
    assert (ended.turns[1].text, ended.stop, len(ended.turns)) == (message, "diagnosis", 4)


# -- agents that reply words only -------------------------------------------------------------------


def verdicts(call: Call) -> str:
    return json.dumps({"diagnoses": FIVE if "thoughts" in call.material["message"] else None})


WORDS = ["Where does it hurt?", "My thoughts: asthma first."]


def test_a_clinician_that_replies_words_is_asked_what_they_were() -> None:
    played = interview(WORDS, "In my chest.", {"decision": verdicts})
    assert played.ended.stop == "diagnosis"
    assert played.ended.reference["ranked_diagnoses"] == FIVE
    first, second = played.asked("decision")
    assert (first.actor, first.kind, first.ordinal, second.ordinal) == ("clinician", "data", 1, 2)
    assert "Where does it hurt?" in first.instruction
    assert first.history == ()
    # The cost is one call more for each message.
    assert len(played.asked("message")) == len(played.asked("decision"))
    assert [state["by"] for state in played.ended.states] == ["clinician"] * 2


def test_the_evaluator_can_read_the_messages_instead() -> None:
    played = interview(WORDS, "In my chest.", {"decision": verdicts}, options={"decision": "evaluator"})
    assert [call.actor for call in played.asked("decision")] == ["evaluator"] * 2
    assert all(call.schema is None for call in played.asked("message"))
    assert "JSON" not in played.asked("message")[0].instruction
    assert played.ended.reference["ranked_diagnoses"] == FIVE


def test_an_unreadable_decision_of_the_clinician_means_that_it_goes_on() -> None:
    played = interview(["Where does it hurt?", said("It is this.", FIVE)], "In my chest.", {"decision": "well"})
    assert played.ended.stop == "diagnosis"
    assert played.ended.flags == {"clinician: decision can't be read": 1}
    assert [call.attempt for call in played.asked("decision")] == [1, 2, 3]


def test_an_unreadable_decision_of_the_evaluator_is_missing_data() -> None:
    played = interview(WORDS, "Chest.", {"decision": "well"}, options={"decision": "evaluator"})
    assert played.failure is not None
    assert (played.failure.whose, played.failure.reason) == ("evaluator", "reply can't be read")


def test_a_refused_message_keeps_its_state_where_the_evaluator_cannot_be_read_afterwards() -> None:
    messages: list[str | ActorReply] = [ActorReply("", cut=True), "Where does it hurt?"]
    played = interview(messages, "Chest.", {"decision": "well"}, options={"decision": "evaluator"})
    assert played.failure is not None
    kept = [state for state in played.failure.states if state["purpose"] == "message"]
    assert kept == [{"turn": 1, "purpose": "message", "refused": "", "reason": "empty"}]


@pytest.mark.parametrize("wrong", ["asthma", [{"disease": "asthma"}], [""], {"1": "asthma"}])
def test_a_field_that_holds_no_list_of_names_is_asked_about(wrong: Any) -> None:
    first = json.dumps({"message": "My thoughts: asthma.", "diagnoses": wrong})
    played = interview([first], "In my chest.", {"decision": verdicts})
    assert played.ended.reference["ranked_diagnoses"] == FIVE
    assert len(played.asked("decision")) == 1


def test_models_tuned_for_the_interview_get_no_form_to_reply_in() -> None:
    played = interview(WORDS, "In my chest.", {"decision": verdicts}, options={"brief": "tuned"})
    (first, _) = played.asked("message")
    assert first.schema is None
    assert first.instruction == ""
    assert "decision tree" in first.brief


# -- the clinician's faults are results -------------------------------------------------------------


def test_a_thought_is_kept_apart_from_the_words() -> None:
    ended = interview(["<think>secret plan</think>" + said("Since when?"), said("This.", FIVE)]).ended
    assert (ended.turns[1].text, ended.turns[1].meta) == ("Since when?", {"thought": "secret plan"})
    assert all("secret" not in turn.text for turn in ended.turns)


def test_a_thought_of_the_clinician_never_reaches_the_patient() -> None:
    played = interview(["<think>secret plan</think>" + said("Since when?"), said("This.", FIVE)])
    assert all("secret" not in str(call.messages()) for call in played.calls)


def test_a_silent_clinician_is_asked_once_more_and_then_the_interview_ends() -> None:
    played = interview([said("")])
    assert (played.ended.stop, played.ended.completed) == ("clinician empty", False)
    assert len(played.asked("message")) == 2
    assert [turn.role for turn in played.ended.turns] == ["patient"]
    assert played.ended.reference["ranked_diagnoses"] == []
    assert played.ended.flags == {"clinician: empty": 1}


def test_a_clinician_whose_provider_declines_ends_the_interview() -> None:
    played = interview([said("Since when?"), ActorReply("I", declined="content filter")])
    assert (played.ended.stop, played.ended.completed) == ("refused", False)
    assert [turn.role for turn in played.ended.turns] == ["patient", "clinician", "patient"]
    assert played.ended.flags == {"clinician: refusal": 1}


def test_a_refusal_in_words_is_flagged_and_ends_nothing() -> None:
    refusal = "As an AI language model I can't say."
    ended = interview([said(refusal), said("This.", FIVE)]).ended
    assert ended.turns[1].meta == {"flags": ["refusal"]}
    assert (ended.stop, ended.flags) == ("diagnosis", {"clinician: refusal": 1})


@pytest.mark.parametrize(
    ("message", "flag"),
    [
        ("Patient: it hurts.\nDoctor: where?", "speaks for the patient"),
        ("*nods* Where does it hurt?", "stage directions"),
        ("Reasoning: it may be gout. Where does it hurt?", "leaked reasoning"),
        ("word " * 401, "too long"),
        ("您哪里不舒服，多久了？", "wrong language"),
    ],
)
def test_what_is_wrong_with_a_message_of_the_clinician_is_flagged_and_the_message_kept(message: str, flag: str) -> None:
    played = interview([said(message), said("This.", FIVE)])
    assert played.ended.turns[1].text == message.strip()
    assert played.ended.turns[1].meta == {"flags": [flag]}
    assert (played.ended.stop, played.ended.flags) == ("diagnosis", {f"clinician: {flag}": 1})
    assert len(played.asked("message")) == 2


def test_three_repetitions_in_a_row_end_it_after_the_patients_reply() -> None:
    ended = interview([said("Where exactly does it hurt you?")]).ended
    assert ended.stop == "clinician repeats"
    # The first isn't a repetition; the last message is the patient's, so that no message is taken for a diagnosis.
    assert [turn.role for turn in ended.turns] == [*["patient", "clinician"] * 4, "patient"]
    assert ended.flags == {"clinician: repeats itself": 3}


def test_a_different_question_between_them_lets_it_go_on() -> None:
    again = said("Where exactly does it hurt you?")
    others = questions(20)
    ended = interview([again, again, again, *others[:2], again, again, said("This.", FIVE)]).ended
    assert ended.stop == "diagnosis"


def test_a_cut_off_message_is_asked_for_once_more_and_then_taken() -> None:
    ended = interview([ActorReply("Where does", cut=True)] * 2 + [said("This.", FIVE)],
                      "Chest.", {"decision": '{"diagnoses": null}'}).ended  # fmt: skip
    assert ended.turns[1].text == "Where does"
    assert ended.turns[1].meta == {"flags": ["cut off"]}


# -- what holds for any actors ----------------------------------------------------------------------


ANYTHING = st.one_of(
    st.text(max_size=12),
    st.builds(lambda text: said(text), st.text(max_size=12)),
    st.builds(lambda text, names: said(text, names), st.text(max_size=8), st.lists(st.text(max_size=5), max_size=6)),
    st.sampled_from(["null", "[]", '{"diagnoses": ["x"]}', "", "As an AI I can't", "Doctor: hi", "*nods*", "<think>"]),
    st.builds(lambda cut, no: ActorReply("hm hm", cut, no), st.booleans(), st.sampled_from(["", "filter"])),
)
OPTIONS = st.fixed_dictionaries(
    {
        "strict": st.sampled_from(["rules", "judge", "off"]),
        "decision": st.sampled_from(["clinician", "evaluator"]),
        "brief": st.sampled_from(["general", "tuned"]),
    }
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(ANYTHING, min_size=1, max_size=40), OPTIONS, st.sampled_from(["26-messages", "40-messages"]))
def test_it_ends_for_any_replies(replies: list[Any], options: dict[str, str], setting: str) -> None:
    place = 0

    def reply(call: Call) -> str | ActorReply:
        nonlocal place
        place += 1
        return cast(str | ActorReply, replies[place % len(replies)])

    played = play(SIMULATOR, case(), reply, setting=setting, options=options, most=1000)
    start = situation(SIMULATOR, case(), setting=setting, options=options)
    for role, most in SIMULATOR.most_calls(start).items():
        assert sum(call.actor == role for call in played.calls) <= most
    place = 0
    again = play(SIMULATOR, case(), reply, setting=setting, options=options)
    assert (again.calls, again.outcome) == (played.calls, played.outcome)
    if played.outcome is None:
        assert played.failure is not None
        assert played.failure.whose in ("patient", "evaluator")
        return
    ended = played.outcome
    assert len(ended.turns) <= int(setting.split("-")[0])
    assert all(turn.text.strip() for turn in ended.turns)
    roles = [turn.role for turn in ended.turns]
    assert roles == [("patient", "clinician")[place % 2] for place in range(len(roles))]
    assert ended.stop in {"diagnosis", "forced", "refused", "clinician empty", "clinician repeats"}
    assert ended.completed == (ended.stop in ("diagnosis", "forced") and bool(ended.reference["ranked_diagnoses"]))


def test_the_most_calls_can_be_needed() -> None:
    def worst(call: Call) -> str:
        if call.purpose == "decision":
            return '{"diagnoses": null}' if call.attempt == 3 else "?"
        if call.purpose == "reply_check":
            return '{"only_what_was_asked": false, "conflict": false}' if call.attempt == 3 else "?"
        if call.actor == "clinician":
            return "" if call.attempt == 1 else f"Word{call.ordinal}?"
        return "I have it." if call.purpose == "reply" or call.attempt == 3 else ""

    for decision in ("clinician", "evaluator"):
        options = {"strict": "judge", "decision": decision}
        played = play(SIMULATOR, case(), worst, options=options)
        assert len(played.ended.turns) == 26
        most = SIMULATOR.most_calls(situation(SIMULATOR, case(), options=options))
        assert {role: sum(call.actor == role for call in played.calls) for role in most} == dict(most)


def test_each_option_changes_something() -> None:
    def marks(**options: Any) -> Any:
        played = play(SIMULATOR, case(), by_rules(SIMULATOR), options=options)
        return played.calls, played.outcome

    plain = marks()
    for option in SIMULATOR.options:
        for value in option.choices or ("I couldn't tell.",):
            if value == option.default or option.name.endswith("_zh"):
                continue
            # What is off where nothing is wrong shows in nothing: that is tested with a reply that is too long.
            if (option.name, value) != ("strict", "off"):
                assert marks(**{option.name: value}) != plain, (option.name, value)


def test_what_is_wrong_with_a_case_is_said() -> None:
    assert list(SIMULATOR.check_case(case())) == []
    (missing,) = SIMULATOR.check_case(case().model_copy(update={"note": None}))
    assert "has no `note`" in missing
    assert "no `vignette`" in next(SIMULATOR.check_case(case(vignette="")))
    assert "word for word" in next(SIMULATOR.check_case(case(vignette="Something else.")))
    assert "no `findings`" in next(SIMULATOR.check_case(case(findings=())))
    (wrong,) = SIMULATOR.check_case(case(findings=({"text": "x", "categories": ("place",)},)))
    assert "'place'" in wrong
    assert list(SIMULATOR.check_case(case(text=""))) == []


@pytest.mark.parametrize("options", [{}, {"decision": "evaluator", "strict": "judge"}, {"brief": "tuned"}], ids=str)
def test_an_interview_in_chinese_is_asked_for_in_chinese(options: dict[str, str]) -> None:
    chinese = case(
        chief_complaint="左腿肿",
        text="左腿肿胀三天，走路加重。无发热。急诊给予抗凝。",
        vignette="左腿肿胀三天，走路加重。无发热。",
    ).model_copy(update={"language": "zh"})
    played = play(SIMULATOR, chinese, by_rules(SIMULATOR), options=options)
    assert (played.ended.stop, played.ended.completed) == ("diagnosis", True)
    for call in played.calls:
        assert all(reference.partition("@")[0].endswith(".zh") for reference in call.prompt.split())
    answers = {turn.text for turn in played.ended.turns[2::2]}
    assert {"左腿肿胀三天，走路加重。", "抱歉，我不知道。"} <= answers
