"""What a system was told and which tools it called is no turn, in every form: it is kept, and nobody counts it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from bedside.ratings.table import parse_transcript
from bedside.transcripts.contract import READERS
from bedside.transcripts.memory_reading import open_reading
from bedside.transcripts.transcript import Provenance, Role, Transcript, Turn
from tests.transcripts.files import check_refusal, read, write
from tests.transcripts.provenance_examples import CANARIES, EXAMPLES, PROMPT, READERS_KNOWN, SAID, SYSTEM, TOOLS


def test_every_reader_has_an_example_or_says_why_not() -> None:
    assert set(READERS.names()) == READERS_KNOWN


def of(name: str, folder: Path, *, apart: bool) -> list[Transcript]:
    example = EXAMPLES[name]
    return read(write(folder / str(apart), example.name, example.content(apart)), **example.options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_turns_are_the_same_with_and_without_it(name: str, tmp_path: Path) -> None:
    reader = name.partition(",")[0]
    blind, told = (of(name, tmp_path, apart=apart) for apart in (False, True))
    assert len(told) == len(blind) > 0
    for one, other in zip(told, blind, strict=True):
        assert [turn.text for turn in one.turns] == list(SAID), reader
        assert [(turn.index, turn.role, turn.speaker) for turn in one.turns] == [
            (turn.index, turn.role, turn.speaker) for turn in other.turns
        ]
        assert not other.provenance
        for kind, canary in zip(("system", "tools"), CANARIES, strict=True):
            there = any(canary in item.text for item in one.provenance if item.kind == kind)
            assert there == (kind in EXAMPLES[name].kinds), (kind, one.provenance)
        assert all(0 <= item.before <= len(one.turns) for item in one.provenance)
        rest = orjson.dumps([json.loads(one.to_json()) | {"provenance": None}]).decode()
        assert not any(canary in rest for canary in CANARIES), rest
        assert one.system == other.system


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_run_keeps_is_what_was_read(name: str, tmp_path: Path) -> None:
    for transcript in of(name, tmp_path, apart=True):
        assert parse_transcript(transcript.to_json(), transcript.source) == transcript
        path = write(tmp_path, f"kept/{transcript.id.replace('/', '-')}.jsonl", transcript.to_json())
        assert [replace(again, source="") for again in read(path)] == [replace(transcript, source="")]
        assert [replace(again, source="") for again in open_reading([transcript])] == [replace(transcript, source="")]


def test_without_provenance_the_content_is_what_it_was() -> None:
    turns = (Turn(0, "clinician", "Dr", "Hello."), Turn(1, "patient", "Pt", "Hi."))
    assert json.loads(Transcript("a", turns).to_json()).keys() == {
        "case_id", "factors", "id", "language", "reference", "system", "turns",
    }  # fmt: skip


def test_turns_of_systems_and_tools_in_memory_are_told_apart() -> None:
    turns = [
        Turn(0, "other", "system", PROMPT),
        Turn(1, "clinician", "Dr", "Hello."),
        Turn(2, "other", "mother", "He is tired."),
        Turn(3, "other", "Tool", "found"),
        Turn(4, "patient", "Pt", "Hi."),
    ]
    stated = (Provenance("tools", 4, "before the patient", "tool"),)
    (one,) = open_reading([Transcript("a", tuple(turns), provenance=stated)])
    assert [(turn.index, turn.speaker) for turn in one.turns] == [(0, "Dr"), (1, "mother"), (2, "Pt")]
    assert [(item.kind, item.before, item.text) for item in one.provenance] == [
        ("system", 0, PROMPT),
        ("tools", 2, "before the patient"),
        ("tools", 2, "found"),
    ]


def test_a_third_speaker_takes_part_and_so_does_whom_the_user_gives_a_role(tmp_path: Path) -> None:
    said = [("clinician", "Hello."), ("mother", "He is tired."), ("system", "Beep."), ("patient", "Hi.")]
    text = "speaker,text\n" + "".join(f"{who},{words}\n" for who, words in said)
    path = write(tmp_path, "t.csv", text)
    (one,) = read(path, roles={"mother": "other"})
    assert [(turn.speaker, turn.role) for turn in one.turns] == [
        ("clinician", "clinician"), ("mother", "other"), ("patient", "patient"),
    ]  # fmt: skip
    (one,) = read(path, roles={"mother": "other", "system": "other"})
    assert [turn.speaker for turn in one.turns] == ["clinician", "mother", "system", "patient"]
    assert not one.provenance


@pytest.mark.parametrize(
    ("item", "system", "prompt"),
    [
        ({"system": "A"}, "A", None),
        ({"system": "A", "model": "gpt"}, "A", None),
        ({"system": "GPT-4o vs. others", "model": "gpt"}, "GPT-4o vs. others", None),
        ({"system": PROMPT}, None, PROMPT),
        ({"system": PROMPT, "model": "gpt"}, "gpt", PROMPT),
        ({"system": "Be kind", "model": "gpt", "max_tokens": 9}, "gpt", "Be kind"),
        ({"system": [{"type": "text", "text": "Be kind"}], "model": "gpt"}, "gpt", "Be kind"),
        ({"system_prompt": "Be kind. Be brief.", "model": "gpt"}, "gpt", "Be kind. Be brief."),
    ],
)
def test_a_prompt_is_no_name_of_a_system(
    item: dict[str, object], system: str | None, prompt: str | None, tmp_path: Path
) -> None:
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    (one,) = read(write(tmp_path, "m.jsonl", json.dumps({"id": "a", **item, "messages": messages})))
    assert one.system == system
    assert [entry.text for entry in one.provenance] == ([] if prompt is None else [prompt])
    assert not one.reference


def test_the_user_says_that_it_is_the_name_or_that_another_is(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    path = write(tmp_path, "m.jsonl", json.dumps({"system": PROMPT, "model": "gpt", "messages": messages}))
    (one,) = read(path, columns={"system": "system"})
    assert (one.system, one.provenance) == (PROMPT, ())
    path = write(tmp_path, "m.jsonl", json.dumps({"system": "Be kind", "model": "gpt", "messages": messages}))
    (one,) = read(path, columns={"system": "model"})
    assert (one.system, [item.text for item in one.provenance]) == ("gpt", ["Be kind"])


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "x", "text": "a"},
        {"kind": "system", "text": "a", "before": 3},
        {"kind": "system", "text": " "},
        {"kind": "system", "text": "a", "turn": 1},
    ],
)
def test_provenance_that_is_none_is_refused(item: dict[str, object], tmp_path: Path) -> None:
    line = {
        "id": "a",
        "provenance": [item],
        "turns": [{"role": "clinician", "text": "a"}, {"role": "patient", "text": "b"}],
    }
    path = write(tmp_path, "t.jsonl", json.dumps(line))
    check_refusal(path, where=f"{path}:1, provenance 0")


def test_what_was_told_apart_is_counted_and_said(tmp_path: Path) -> None:
    from bedside.transcripts.reading import Reading

    example = EXAMPLES["messages"]
    reading = Reading([write(tmp_path, example.name, example.content(True))])
    list(reading)
    assert reading.account.provenance == {"system": 2, "tools": 4}
    assert reading.account.turns == len(SAID)
    assert "system messages (2)" in str(reading.account)
    assert SYSTEM not in str(reading.account)
    assert TOOLS not in str(reading.account)


def test_tools_of_old_logs_are_no_turns_where_their_role_is_other(tmp_path: Path) -> None:
    said = [("patient", "I cough."), ("function_call", TOOLS), ("clinician", "Fever?"), ("observation", TOOLS)]
    turns: list[dict[str, Any]] = [
        {"role": who if who in ("patient", "clinician") else "other", "speaker": who, "text": text}
        for who, text in said
    ]
    (one,) = read(write(tmp_path, "own.jsonl", json.dumps({"id": "a", "turns": turns})))
    (other,) = open_reading(
        [Transcript("a", tuple(Turn(at, turn["role"], turn["speaker"], turn["text"]) for at, turn in enumerate(turns)))]
    )
    for transcript in (one, other):
        assert [turn.text for turn in transcript.turns] == ["I cough.", "Fever?"]
        assert [(item.kind, item.before) for item in transcript.provenance] == [("tools", 1), ("tools", 2)]
    (kept,) = read(tmp_path / "own.jsonl", roles={"function_call": "other", "observation": "other"})
    assert len(kept.turns) == 4


def test_tools_of_a_table_are_no_turns_and_an_observation_is_asked_about(tmp_path: Path) -> None:
    rows = "speaker,text\npatient,I cough.\nfunction,found\ntool_result,found\ndoctor,Fever?\n"
    (one,) = read(write(tmp_path, "a.csv", rows))
    assert [turn.speaker for turn in one.turns] == ["patient", "doctor"]
    assert [item.before for item in one.provenance] == [1, 1]
    check_refusal(write(tmp_path, "b.csv", rows + "observation,He looks tired.\n"), "observation")


@pytest.mark.parametrize(
    ("name", "side", "lines"),
    [
        ("System", "clinician", "Patient: I feel low.\nSystem: Since when?\nPatient: Since May.\n"),
        ("Tool", "patient", "Doctor: Good morning, Mr Tool.\nTool: I feel low.\nDoctor: Since when?\n"),
    ],
)
def test_who_is_called_so_and_may_be_a_side_is_named(name: str, side: Role, lines: str, tmp_path: Path) -> None:
    from bedside.transcripts.reading import Reading

    path = write(tmp_path, "talk.txt", lines)
    reading = Reading([path])
    assert [len(one.turns) for one in reading] == [2]
    assert f"roles={name}={side}" in " ".join(str(reading.account).split()).replace("--roles ", "roles=")
    (one,) = read(path, roles={name: side})
    assert [turn.role for turn in one.turns].count(side) == 1


def test_logs_whose_model_only_calls_are_not_taken_for_talks_with_a_tool(tmp_path: Path) -> None:
    from bedside.transcripts.reading import Reading

    messages = [
        {"role": "user", "content": "I cough."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "found"},
        {"role": "user", "content": "And?"},
    ]
    reading = Reading([write(tmp_path, "m.jsonl", json.dumps({"messages": messages}))])
    assert [len(one.turns) for one in reading] == [2]
    assert "speaks where" not in str(reading.account)


@pytest.mark.parametrize("empty", [None, "", [{"type": "thinking", "thinking": "hm"}]])
def test_a_call_written_otherwise_in_the_next_request_doubles_nothing(empty: object, tmp_path: Path) -> None:
    calls = [{"function": {"name": "look"}}]
    user, found = {"role": "user", "content": "I cough."}, {"role": "tool", "content": "x"}
    traced: list[dict[str, Any]] = [
        {"input": [user], "output": {"role": "assistant", "content": empty, "tool_calls": calls}},
        {
            "input": [user, {"role": "assistant", "content": "", "tool_calls": calls}, found],
            "output": {"role": "assistant", "content": "Fever?"},
        },
    ]
    lines = [{"type": "GENERATION", "traceId": "t", "startTime": str(at), **call} for at, call in enumerate(traced)]
    (one,) = read(write(tmp_path, "o.jsonl", "\n".join(map(json.dumps, lines))))
    assert [turn.text for turn in one.turns] == ["I cough.", "Fever?"]


@pytest.mark.parametrize(
    ("call", "gave"), [("functionCall", "functionResponse"), ("function_call", "function_response")]
)
def test_geminis_parts_in_both_ways_of_writing(call: str, gave: str, tmp_path: Path) -> None:
    from bedside.transcripts.reading import Reading

    contents = [
        {"role": "user", "parts": [{"text": "I itch."}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
        {"role": "model", "parts": [{call: {"name": TOOLS}}]},
        {"role": "user", "parts": [{gave: {"name": TOOLS}}]},
        {"role": "model", "parts": [{"executableCode": {"code": TOOLS}}, {"text": "Where?"}]},
    ]
    reading = Reading([write(tmp_path, "g.jsonl", json.dumps({"contents": contents}))])
    (one,) = reading
    assert [turn.text for turn in one.turns] == ["I itch.", "Where?"]
    assert [item.kind for item in one.provenance] == ["tools"] * 3
    assert "pictures, sound and files within messages (1)" in " ".join(str(reading.account).split())


def test_a_refusal_is_what_the_model_said(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Help."},
        {"role": "assistant", "content": None, "refusal": "I can't."},
        {"role": "user", "content": "Please."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I won't."}]},
    ]
    (one,) = read(write(tmp_path, "m.jsonl", json.dumps({"messages": messages})))
    assert [turn.text for turn in one.turns if turn.role == "clinician"] == ["I can't.", "I won't."]
