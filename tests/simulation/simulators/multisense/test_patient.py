"""The patient: what is prepared once, what it is told in which stage, and what it is never told."""

from __future__ import annotations

from typing import Any, cast

import pytest

from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.multisense import SIMULATOR
from bedside.simulation.simulators.multisense.conversation import background, known_facts, persona_text
from bedside.simulation.simulators.multisense.stages import NAMES, guides
from tests.simulation.simulators.multisense.scenes import Talk, cases, personas, talked

OWN = guides("en")
STUDY = {"multisense": {"study": "A man sleeps badly. He works at night. His pulse is 70."}}


def case(**more: Any) -> Case:
    return Case.model_validate({"id": "c", "origin": "invented", "hidden": {"diagnosis": "Gout"}, **more})


# -- preparation --------------------------------------------------------------------------------------


def test_what_a_case_brings_isnt_asked_for() -> None:
    talk = talked(Talk(), "panic")
    assert {call.purpose for call in talk.calls if call.scope == "case"} == set()
    some = talked(Talk(), about=case(extra={"multisense": {**STUDY["multisense"], "goal": "longevity"}}))
    assert [call.purpose for call in some.calls if call.scope == "case"] == ["decomposition", "intent"]
    assert some.ended.reference["goal"].startswith("longevity: ")
    told = talked(Talk(), about=case(patient={"facts": ["I sleep badly."]}))
    assert [call.purpose for call in told.calls if call.scope == "case"] == ["intent", "goal"]


def test_preparation_is_the_cases_and_the_opening_the_personas() -> None:
    talk = talked(Talk(), "bipolar")
    assert [(call.purpose, call.scope) for call in talk.calls[:4]] == [
        ("decomposition", "case"), ("intent", "case"), ("goal", "case"), ("opening", "persona"),
    ]  # fmt: skip
    assert {call.scope for call in talk.calls[4:]} == {"conversation"}
    # What is shared by all personas holds nothing of one; what all clinicians share, nothing of the setting.
    digests = {
        tuple(call.digest() for call in talked(Talk(), "bipolar", persona=persona).calls if call.scope == "case")
        for persona in personas().values()
    }
    assert len(digests) == 1
    free = talked(Talk(), "bipolar", setting="free", options={"risk_line": True})
    assert [call.digest() for call in free.calls[:4]] == [call.digest() for call in talk.calls[:4]]


def test_what_is_prepared_is_what_is_used() -> None:
    talk = talked(Talk(), about=case(extra=STUDY))
    opening = talk.asked("opening")[0]
    assert opening.material["facts"] == (OWN.intents["lifestyle"].definition, "I sleep badly.", "I work at night.")
    assert all("Pulse 70." in call.brief for call in talk.asked("candidates"))
    assert not any("Pulse 70." in call.brief for call in talk.calls if call.actor == "patient")
    reference = talk.ended.reference
    assert reference["background"] == STUDY["multisense"]["study"]
    assert reference["diagnosis"] == "Gout"
    assert reference["intent"] == f"lifestyle: {OWN.intents['lifestyle'].definition}"
    purposes = [state["purpose"] for state in talk.ended.states[:4]]
    assert purposes == ["decomposition", "intent", "goal", "opening"]


@pytest.mark.parametrize(
    ("changes", "purpose"),
    [
        ({"decomposition": {"vitals": [], "facts": []}}, "decomposition"),
        ({"intent": {"intent": "money"}}, "intent"),
        ({"goal": "Comfort."}, "goal"),
        ({"opening": ""}, "opening"),
        ({"selection": {"facts": [99]}}, "selection"),
        ({"selection": {"facts": [1, 2, 3, 4]}}, "selection"),
        ({"answer": '{"reasoning": "x", "mess'}, "answer"),
    ],
)
def test_what_the_patient_cant_say_makes_the_conversation_missing(changes: dict[str, Any], purpose: str) -> None:
    talk = talked(Talk(**changes), about=case(extra=STUDY))
    assert talk.failure is not None
    assert talk.failure.whose == "patient"
    assert len(talk.asked(purpose)) == 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "neither `facts` under `patient` nor a `study`"),
        ({"extra": {"multisense": {"studdy": "A man."}}}, "studdy"),
        ({"extra": {"multisense": {"study": "A man.", "goal": "money"}}}, "goal"),
    ],
)
def test_a_case_that_cant_be_used_is_told(bad: dict[str, Any], message: str) -> None:
    (problem,) = SIMULATOR.check_case(case(**bad))
    assert message in problem


def test_what_is_true_of_the_patient_is_in_facts_or_study() -> None:
    assert known_facts(cases()["bipolar"]) == (background(cases()["bipolar"]),)
    panic = cases()["panic"]
    assert set(panic.patient.facts) < set(known_facts(panic))
    assert not any(str(panic.hidden.diagnosis) in text for text in known_facts(panic))


# -- answers ------------------------------------------------------------------------------------------


def answers(**changes: Any) -> list[tuple[int, Call, Call]]:
    """Of each answer the stage, the selection and the call that made the words."""
    talk = talked(Talk([False, False, True, False, True], **changes))
    made = [call for call in talk.calls if call.purpose in ("answer", "no_facts")]
    return [
        (select.material["stage"], select, call) for select, call in zip(talk.asked("selection"), made, strict=True)
    ]


def test_intent_gives_way_to_the_goal_when_decisions_are_made() -> None:
    stages = set()
    for stage, select, _ in answers():
        first = OWN.goals["function"] if stage >= 4 else OWN.intents["interpretation"]
        assert select.material["facts"][0] == first.definition
        assert select.material["facts"][1:] == (*cases()["panic"].patient.facts, *cases()["panic"].patient.psychosocial)
        stages.add(stage)
    assert stages == {1, 2, 3, 4, 5}


def test_the_closed_world_ends_where_decisions_are_made() -> None:
    for stage, _, call in answers():
        assert call.prompt.startswith("answer_inquiry" if stage <= 3 else "answer_decision")
        assert ("is not so" in call.instruction) is (stage <= 3)
        assert "no treatment" in call.instruction


def test_an_answer_holds_the_chosen_facts_and_no_others() -> None:
    chosen = [5, 2, 5, 7]
    for _, select, call in answers(selection={"reasoning": "", "facts": chosen}):
        facts = select.material["facts"]
        assert call.material["facts"] == (facts[4], facts[1], facts[6])
        assert all((fact in call.brief) is (n in (4, 1, 6)) for n, fact in enumerate(facts))


def test_without_facts_there_is_another_call_that_holds_none() -> None:
    facts = cases()["panic"].patient.facts
    for _, _, call in answers(selection={"reasoning": "", "facts": []}):
        assert call.purpose == "no_facts"
        assert not any(fact in call.brief + call.instruction for fact in facts)


def test_the_patient_is_shown_the_last_message_and_none_before() -> None:
    talk = talked(Talk([False]))
    said = [turn.text for turn in talk.ended.turns if turn.role == "clinician"]
    for call in talk.calls:
        if call.purpose in ("selection", "answer"):
            assert [line.text for line in call.history] == [said[call.ordinal - 1]]
            assert not any(text in call.brief + call.instruction for text in said)


def test_its_words_are_the_message_and_the_reasoning_is_for_the_states() -> None:
    talk = talked(Talk(answer={"reasoning": "He would be short.", "message": "  Only at night. "}))
    assert talk.ended.turns[2].text == "Only at night."
    states = [state for state in talk.ended.states if state["purpose"] == "answer"]
    assert states[0]["reasoning"] == "He would be short."
    plain = talked(Talk(answer="Only at night.")).ended
    assert plain.turns[2].text == "Only at night."


def test_each_message_carries_the_stage_that_it_answers() -> None:
    turns = talked(Talk([False, True])).ended.turns
    assert turns[0].meta["stage"] == NAMES[1]
    for asked, answered in zip(turns[1::2], turns[2::2], strict=False):
        assert asked.meta["stage"] == answered.meta["stage"]


# -- personas -----------------------------------------------------------------------------------------


def test_ten_personas_of_five_profiles_and_two_literacies() -> None:
    assert len(personas()) == 10
    for persona in personas().values():
        high = [trait for trait, level in persona.traits.items() if level == "high"]
        assert set(persona.traits) == set(OWN.traits)
        assert persona.factors == {"persona": high[0], "health_literacy": persona.health_literacy}
        assert persona.id == f"{high[0]}-{persona.health_literacy}"
    assert len({tuple(persona.factors.values()) for persona in personas().values()}) == 10


@pytest.mark.parametrize("name", ["neuroticism-basic", "openness-advanced"])
def test_traits_and_literacy_stand_in_each_prompt_that_makes_words(name: str) -> None:
    persona = personas()[name]
    for chosen in ([2], []):
        talk = talked(Talk(selection={"reasoning": "", "facts": chosen}), persona=persona)
        made = [call for call in talk.calls if call.purpose in ("opening", "answer", "no_facts")]
        assert len(made) >= 5
        for call in made:
            for trait, level in persona.traits.items():
                guide = OWN.traits[cast(Any, trait)]
                assert guide.definition in call.brief
                assert (guide.high if level == "high" else guide.low) in call.brief
                assert (guide.low if level == "high" else guide.high) not in call.brief
            assert persona.health_literacy is not None
            assert OWN.literacy[persona.health_literacy] in call.brief
            assert "never quote it" in call.brief


def test_a_persona_of_ones_own() -> None:
    persona = Persona(id="p", manner="You speak of your garden.", health_literacy="functional", sentences=1)
    text = persona_text(case(), persona)
    assert "You speak of your garden." in text
    assert OWN.literacy["functional"] in text
    assert not any(guide.definition in text for guide in OWN.traits.values())
    talk = talked(Talk(answer={"message": "One. Two. Three."}), persona=persona)
    assert talk.ended.flags["patient: too long"] == 4
    assert persona_text(case(), None) == ""
    assert OWN.caregiver in persona_text(case(speaker="caregiver"), None)


def test_the_diagnosis_is_in_no_call_to_patient_or_clinician() -> None:
    token = "zq777xk"
    for name in ("bipolar", "panic"):
        content = cases()[name].model_dump()
        content["hidden"]["diagnosis"] = token
        for setting in ("scaffold", "free"):
            talk = talked(Talk(), about=Case.model_validate(content), setting=setting)
            assert talk.ended.reference["diagnosis"] == token
            assert not any(token in str(call) for call in talk.calls)
