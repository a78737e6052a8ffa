from __future__ import annotations

import dataclasses
import hashlib

import orjson
import pytest

from bedside.transcripts.transcript import CODE_ROLES, CODES, ROLE_ALIASES, Transcript, Turn, new_turns, role_of


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        ("Therapist", "clinician"),
        ("counsellor", "clinician"),
        ("counselor", "clinician"),
        ("DOCTOR:", "clinician"),
        (" sense_maker ", "clinician"),
        ("assistant", "clinician"),
        ("医生：", "clinician"),
        ("Client", "patient"),
        ("user", "patient"),
        ("患者", "patient"),
        ("system", "other"),
        ("Anna", None),
        ("", None),
    ],
)
def test_speakers_are_understood_by_their_names(speaker: str, role: str | None) -> None:
    assert role_of(speaker) == role


def test_a_mapping_goes_before_the_known_names() -> None:
    assert role_of("Client", {"client": "clinician"}) == "clinician"
    assert role_of("dr smith:", {"Dr Smith": "clinician"}) == "clinician"


def test_every_code_has_a_role() -> None:
    assert CODES.keys() == CODE_ROLES.keys()
    assert set(ROLE_ALIASES.values()) == {"clinician", "patient", "other"}


def test_turns_made_in_bulk_are_turns() -> None:
    made = new_turns(["clinician", "patient"], ["Dr", "Pt"], ["Hello.", "Hi."], [{"stage": "exit"}, {}])
    assert made == [Turn(0, "clinician", "Dr", "Hello.", {"stage": "exit"}), Turn(1, "patient", "Pt", "Hi.")]
    assert all(type(turn) is Turn for turn in made)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made[0].text = "changed"  # type: ignore[misc]
    assert dataclasses.asdict(made[1]) == {
        "index": 1, "role": "patient", "speaker": "Pt", "text": "Hi.", "meta": {},
    }  # fmt: skip
    assert made[0].meta is not made[1].meta


def test_the_hash_is_of_the_content_and_not_of_its_place() -> None:
    turns = tuple(new_turns(["clinician", "patient"], ["a", "b"], ["Hello.", "Hi."]))
    one = Transcript("t", turns, factors={"b": 1, "a": 2}, source="x:1")
    other = Transcript("t", turns, factors={"a": 2, "b": 1}, source="y:2")
    assert one.content_hash() == other.content_hash() == hashlib.sha256(one.to_json()).hexdigest()
    assert "source" not in orjson.loads(one.to_json())
    assert dataclasses.replace(one, system="A").content_hash() != one.content_hash()
    assert [turn.text for turn in one.of("patient")] == ["Hi."]
