"""Interviews written from notes: tree, dialogue, check, critic, edits. The numbers of edits are arithmetic by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bedside.simulation.simulators.calls import Call, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.guided_dialogue import (
    AddedExchange,
    Edit,
    GuidedDialogue,
    RevisedMessage,
    edited,
    guided_dialogue,
    read_edits,
    read_tree,
)
from bedside.simulation.simulators.note2chat.rule_actors import training_evaluator
from bedside.simulation.simulators.note2chat.vignette import prompt
from tests.simulation.simulators.note2chat.cases_for_tests import case as canary_case
from tests.simulation.simulators.playing import Replies, Table, run_exchange

CASES = [case for _, case in read_cases([SIMULATOR.cases])]
LEAF = {"diagnoses": [{"condition": "qzdiagnosis", "confidence": "high", "is_final": True}]}
TREE = {"criteria": "an ache", "branches": {"yes": {"criteria": "worse at night", "branches": {"no": LEAF}}}}
FIVE = [{"disease": name, "reason": "it fits"} for name in ("qzdiagnosis", "gout", "asthma", "flu", "anaemia")]
TALK = ["It aches.", "Since when?", "Two days.", "And else?", "Nothing."]
NOWHERE = {"opening": False, "last": None, "patient_first": None, "doctor_first": None}
CLEAR = {**NOWHERE, "last": 2, "patient_first": 2}


def lines(number: int) -> tuple[Line, ...]:
    """A conversation of so many messages, the patient first."""
    return tuple(Line("clinician" if index % 2 else "patient", f"m{index}") for index in range(number))


def dialogue(texts: Sequence[str] = TALK, diagnoses: Any = FIVE) -> str:
    messages = [{"role": "doctor" if number % 2 else "patient", "content": text} for number, text in enumerate(texts)]
    return json.dumps({"conversation": messages, "preliminary_diagnoses": diagnoses})


def table(**replies: Any) -> Table:
    whole = {
        "decision_tree": json.dumps({"tree": TREE}),
        "guided_dialogue": dialogue(),
        "finding_place": json.dumps(CLEAR),
        "critic": json.dumps({"edits": []}),
        "diagnosis_place": json.dumps({"candidate": 0}),
    }
    return Table({**whole, **replies})


def written(replies: Replies, case: Case | None = None, rounds: int = 1) -> tuple[GuidedDialogue, list[Call]]:
    made, calls, _ = run_exchange(guided_dialogue(case or canary_case(), rounds=rounds), replies)
    return made, calls


# -- the tree ---------------------------------------------------------------------------------------


def test_a_tree_is_read_and_the_true_diagnosis_is_final_in_it() -> None:
    assert read_tree(TREE, "QZdiagnosis ").criteria == "an ache"


def deep(levels: int) -> Any:
    node: Any = LEAF
    for _ in range(levels):
        node = {"criteria": "x", "branches": {"yes": node}}
    return node


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        (LEAF, "no decision tree"),
        (None, "no decision tree"),
        ({"criteria": "x", "branches": {}}, "nothing follows"),
        ({"criteria": "x", "branches": {"maybe": LEAF}}, "no decision tree"),
        ({"criteria": "x", "branches": {"yes": {"diagnoses": []}}}, "no decision tree"),
        (
            {"criteria": "x", "branches": {"yes": {"diagnoses": [{**LEAF["diagnoses"][0], "is_final": False}]}}},
            "no leaf has a final",
        ),
        (
            {"criteria": "x", "branches": {"yes": {"diagnoses": [{**LEAF["diagnoses"][0], "condition": "flu"}]}}},
            "not final in any leaf",
        ),
        (deep(61), "more than 60"),
        (deep(5000), "more than 60"),
    ],
)
def test_a_bad_tree_is_refused(tree: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_tree(tree, "qzdiagnosis")


# -- edits ------------------------------------------------------------------------------------------


def added(index: int, text: str = "new") -> AddedExchange:
    return AddedExchange(add_turn=index, doctor=f"{text} question {index}", patient=f"{text} answer {index}")


def test_ten_messages_with_two_exchanges_added_are_fourteen() -> None:
    talk = lines(10)
    revision = RevisedMessage(revise_turn=4, content="revised")
    whole = edited(talk, [revision, added(2), added(6), added(3), added(9)])
    assert [line.text for line in whole.lines] == [
        "m0", "m1", "m2", "new question 2", "new answer 2", "m3", "revised", "m5", "m6", "new question 6",
        "new answer 6", "m7", "m8", "m9",
    ]  # fmt: skip
    assert whole.lines[-1] == talk[-1]
    assert whole.taken == (revision, added(2), added(6))
    assert [(edit, reason) for edit, reason in whole.refused] == [
        (added(3), "not after a message of the patient"),
        (added(9), "the diagnosis stays last"),
    ]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (RevisedMessage(revise_turn=0, content="x"), "the opening stays"),
        (RevisedMessage(revise_turn=9, content="x"), "the diagnosis stays last"),
        (RevisedMessage(revise_turn=10, content="x"), "no such message"),
        (RevisedMessage(revise_turn=-1, content="x"), "no such message"),
        (RevisedMessage(revise_turn=4, content=" "), "no words"),
        (AddedExchange(add_turn=4, doctor="x", patient=""), "no words"),
        (added(10), "no such message"),
        (added(-2), "no such message"),
    ],
)
def test_an_edit_that_would_break_the_interview_is_refused(edit: Edit, reason: str) -> None:
    whole = edited(lines(10), [edit])
    assert whole.lines == lines(10)
    assert whole.refused == ((edit, reason),)


def test_two_exchanges_after_one_message_keep_their_order_and_a_message_is_revised_once() -> None:
    first, second = (RevisedMessage(revise_turn=2, content=text) for text in ("first", "second"))
    whole = edited(lines(4), [added(2, "a"), first, added(2, "b"), second])
    assert [line.text for line in whole.lines] == [
        "m0", "m1", "first", "a question 2", "a answer 2", "b question 2", "b answer 2", "m3",
    ]  # fmt: skip
    assert whole.refused == ((second, "revised before"),)


_EDITS = st.lists(
    st.one_of(
        st.builds(
            AddedExchange,
            add_turn=st.integers(-2, 14),
            doctor=st.sampled_from(["", "question"]),
            patient=st.sampled_from([" ", "answer"]),
        ),
        st.builds(RevisedMessage, revise_turn=st.integers(-2, 14), content=st.sampled_from(["", "text"])),
    ),
    max_size=8,
)


@given(st.integers(2, 6), _EDITS)
def test_whatever_the_edits_the_roles_alternate_and_the_ends_stay(pairs: int, edits: list[Edit]) -> None:
    talk = lines(2 * pairs)
    whole = edited(talk, edits)
    assert [line.role for line in whole.lines] == [
        "clinician" if number % 2 else "patient" for number in range(len(whole.lines))
    ]
    assert (whole.lines[0], whole.lines[-1]) == (talk[0], talk[-1])
    assert all(line.text.strip() for line in whole.lines)
    additions = sum(isinstance(edit, AddedExchange) for edit in whole.taken)
    assert len(whole.lines) == len(talk) + 2 * additions
    assert len(whole.taken) + len(whole.refused) == len(edits)
    assert edited(talk, []).lines == talk


@pytest.mark.parametrize("reply", [{}, {"edits": None}, {"edits": [{"add_turn": 1}]}, {"edits": [3]}, []])
def test_what_is_no_list_of_edits_is_refused(reply: Any) -> None:
    with pytest.raises(ValueError, match="edit"):
        read_edits(reply)


# -- the whole --------------------------------------------------------------------------------------


def test_an_interview_is_written_checked_criticised_and_checked_again() -> None:
    edits = {"edits": [{"add_turn": 2, "doctor": "Anything else?", "patient": "It is worse at night.", "comment": ""}]}
    places = [CLEAR, NOWHERE, CLEAR, {**NOWHERE, "last": 4, "patient_first": 4}]
    made, calls = written(table(critic=json.dumps(edits), finding_place=[json.dumps(place) for place in places]))
    assert [(call.purpose, call.ordinal) for call in calls] == [
        ("decision_tree", 1), ("guided_dialogue", 1), ("finding_place", 1), ("finding_place", 2), ("critic", 1),
        ("finding_place", 3), ("finding_place", 4), ("diagnosis_place", 1),
    ]  # fmt: skip
    assert [line.text for line in made.lines[:7]] == [
        "It aches.", "Since when?", "Two days.", "Anything else?", "It is worse at night.", "And else?", "Nothing.",
    ]  # fmt: skip
    assert made.lines[-1].text.splitlines() == [
        "The five likeliest diagnoses:", "1. qzdiagnosis: it fits", "2. gout: it fits", "3. asthma: it fits",
        "4. flu: it fits", "5. anaemia: it fits",
    ]  # fmt: skip
    assert [place.last for place in made.places] == [2, 4]
    assert made.rank == 0
    assert made.flags == {}
    critic = next(call for call in calls if call.purpose == "critic")
    assert "qzfinding two." in critic.instruction
    assert "qzfinding one." not in critic.instruction
    # Diagnosis, tree and what came after treatment are no part of the check; treatment is in no call at all.
    assert not any("qzintervention" in str(call.messages()) for call in calls)
    for call in calls:
        if call.purpose in ("finding_place", "critic"):
            assert "qzdiagnosis" not in str(call.messages()), call.purpose


def test_a_round_after_which_the_doctor_knows_beforehand_is_undone() -> None:
    edits = {"edits": [{"revise_turn": 1, "content": "You said it is worse at night?", "comment": ""}]}
    known = {**CLEAR, "doctor_first": 1}
    made, _ = written(
        table(critic=json.dumps(edits), finding_place=[json.dumps(place) for place in (CLEAR, CLEAR, CLEAR, known)])
    )
    assert made.lines[1].text == "Since when?"
    assert made.flags == {"round undone: the doctor states a finding first": 1}
    assert made.states[-1]["undone"] is True


def test_what_the_doctor_knows_from_the_start_is_told_the_critic_and_counted() -> None:
    made, calls = written(table(finding_place=json.dumps({**CLEAR, "doctor_first": 1})))
    assert made.flags == {"doctor states a finding first": 2}
    critic = next(call for call in calls if call.purpose == "critic")
    assert critic.instruction.count("qzfinding") == 2


def test_more_rounds_are_had_only_while_fewer_findings_are_missing() -> None:
    edit = {"edits": [{"add_turn": 2, "doctor": "q?", "patient": "a", "comment": ""}]}
    nothing = json.dumps(NOWHERE)
    # Two missing, then one, then still one: the third round isn't had.
    places = [nothing, nothing, json.dumps(CLEAR), nothing, json.dumps(CLEAR), nothing]
    _, calls = written(table(critic=json.dumps(edit), finding_place=places), rounds=3)
    assert sum(call.purpose == "critic" for call in calls) == 2
    _, calls = written(table(finding_place=nothing), rounds=0)
    assert not any(call.purpose == "critic" for call in calls)


@pytest.mark.parametrize(
    ("purpose", "reply"),
    [
        ("guided_dialogue", dialogue(TALK[:-1])),
        ("guided_dialogue", dialogue(TALK[:1])),
        ("guided_dialogue", dialogue(["It aches.", " ", "x"])),
        ("guided_dialogue", dialogue(diagnoses=FIVE[:4])),
        ("guided_dialogue", dialogue(diagnoses=[*FIVE[:4], FIVE[0]])),
        ("guided_dialogue", "[]"),
        ("finding_place", json.dumps({**CLEAR, "last": 5})),
        ("finding_place", json.dumps({**CLEAR, "patient_first": 1})),
        ("finding_place", json.dumps({**CLEAR, "doctor_first": 2})),
        ("finding_place", json.dumps({**CLEAR, "last": None})),
        ("finding_place", json.dumps({**CLEAR, "patient_first": 0})),
        ("finding_place", json.dumps({**CLEAR, "last": True})),
        ("finding_place", json.dumps({"opening": False})),
        ("diagnosis_place", json.dumps({"candidate": 5})),
        ("critic", "no"),
    ],
)
def test_what_cannot_be_used_three_times_makes_no_interview(purpose: str, reply: str) -> None:
    with pytest.raises(UnusableConversationError) as caught:
        written(table(**{purpose: reply}))
    assert caught.value.whose == "evaluator"
    assert purpose in caught.value.detail


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_edits_that_only_add_lose_no_finding(case: Case) -> None:
    before, _ = written(training_evaluator, case, rounds=0)
    after, _ = written(training_evaluator, case)
    assert sum(place.missing for place in before.places) >= sum(place.missing for place in after.places)
    assert all(new.last is not None for old, new in zip(before.places, after.places, strict=True) if old.last)
    # A patient that copies its vignette conveys nothing that the vignette doesn't hold.
    assert case.note is not None
    spoken = [line.text for line in after.lines[2:] if line.role == "patient"]
    findings = {finding.text for finding in case.note.findings}
    assert all(text in case.note.vignette or text in findings for text in spoken)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_trees_schema_takes_trees_and_is_one_that_servers_take_strictly(language: str) -> None:
    import jsonschema

    schema = prompt("decision_tree", language, vignette="v", diagnosis="d").schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(dict(schema))
    whole = {"criteria": "x", "branches": {"yes": None, "no": {"criteria": "y", "branches": {"yes": LEAF, "no": None}}}}
    jsonschema.validate({"tree": whole}, dict(schema))
    assert read_tree(whole, "qzdiagnosis").branches.yes is None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"tree": LEAF}, dict(schema))

    def objects(part: Any) -> Any:
        if isinstance(part, dict):
            if part.get("type") == "object":
                yield part
            for value in part.values():
                yield from objects(value)
        elif isinstance(part, list):
            for value in part:
                yield from objects(value)

    for part in objects(dict(schema)):
        # What servers ask of a strict schema: every key required, and no other.
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])
