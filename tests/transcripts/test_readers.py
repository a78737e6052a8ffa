"""Every format: its example, its recognition by content, and what its reader makes of its fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast
from unicodedata import category

import jsonschema
import orjson
import pytest
from hypothesis import given, settings, strategies as st

from bedside.cli.schemas import schema_text
from bedside.core.errors import AmbiguousError
from bedside.transcripts.contract import FACTS, READERS
from bedside.transcripts.message_lists import PICTURES
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import PROVENANCE_SPEAKERS, Transcript, Turn, plain_name
from tests.soak import budget
from tests.transcripts.files import GOOD, as_written, check_refusal, document, examples, packed, read, workbook, write

SCHEMA = json.loads(schema_text("transcript"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", READERS.names())
def test_every_reader_says_what_it_reads(name: str) -> None:
    reader = READERS.load(name)
    assert reader.name == name
    assert reader.title
    assert reader.description.endswith(".")
    assert reader.facts.keys() == {"family", *FACTS}
    assert all(0 < len(reader.facts[key].split()) <= 25 for key in FACTS)


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", examples())
def test_examples_are_recognised_by_content_and_read(name: str, gzipped: bool, tmp_path: Path) -> None:
    file_name, content = examples()[name]
    content = packed(content) if gzipped else content
    path = write(tmp_path, file_name + (".gz" if gzipped else ""), content)
    reading = Reading([tmp_path])
    transcripts = list(reading)
    assert transcripts
    assert [(file.format, file.sha256, file.bytes, file.transcripts) for file in reading.inputs] == [
        (name.split()[0], hashlib.sha256(content).hexdigest(), len(content), len(transcripts))
    ]
    assert not reading.skipped
    assert not reading.ignored
    forced = read(path, format=name.split()[0])
    assert [each.to_json() for each in forced] == [each.to_json() for each in transcripts]
    for transcript in transcripts:
        VALIDATOR.validate(orjson.loads(transcript.to_json()))


@pytest.mark.parametrize("name", examples())
def test_examples_are_claimed_by_one_reader_alone_under_any_ending(name: str, tmp_path: Path) -> None:
    """What decides is the content: a file of JSON lines may be called .json, a workbook .csv."""
    _, content = examples()[name]
    if name == "convokit":
        endings = [".jsonl", ".json"]
    else:
        endings = [".json", ".jsonl"] if content[:1] in b"{[" else [".csv", ".txt", ".xlsx"]
    for ending in endings:
        reading = Reading([write(tmp_path, f"file{ending}", content)])
        if ending == ".jsonl" and content.count(b"\n") == 1 and content[:1] == b"[":
            continue  # One line that holds a list is one list of messages, not a list of transcripts.
        assert list(reading)
        assert reading.inputs[0].format == name.split()[0]


# -- bedside's own -------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
#: What can be a turn's text or speaker: marks of no width alone are none.
SEEN = TEXT.filter(lambda text: any(not mark.isspace() and category(mark) != "Cf" for mark in text))
#: Who is called like a tool says no turn, and what stands in tags of thought isn't said.
SPEAKER = SEEN.filter(lambda name: plain_name(name) not in PROVENANCE_SPEAKERS)
SPOKEN = SEEN.filter(lambda text: "<" not in text)
SINGLE = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(
    st.characters(exclude_categories=["Cs"])
)  # fmt: skip
FINITE = SINGLE.filter(lambda value: value not in (float("inf"), float("-inf")))
KEY = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NESTED = st.recursive(
    FINITE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3), max_leaves=5
)
CODED = st.fixed_dictionaries({"codes": st.dictionaries(KEY, st.dictionaries(KEY, TEXT, max_size=2), max_size=2)})
META = st.dictionaries(KEY.filter(lambda key: key != "codes"), NESTED, max_size=3) | CODED


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    roles = ["clinician", "patient", *draw(st.lists(st.sampled_from(["clinician", "patient", "other"]), max_size=3))]
    return Transcript(
        id=draw(TEXT),
        turns=tuple(
            Turn(index, role, draw(SPEAKER), draw(SPOKEN), draw(META))
            for index, role in enumerate(draw(st.permutations(roles)))
        ),
        system=draw(st.none() | TEXT),
        case_id=draw(st.none() | TEXT),
        language=draw(st.sampled_from([None, "en", "zh", "zh-CN"])),
        factors=draw(st.dictionaries(KEY, FINITE, max_size=3)),
        reference=draw(st.dictionaries(KEY, NESTED, max_size=3)),
    )


@pytest.mark.slow
@pytest.mark.soak
@settings(max_examples=budget(40, 5000), deadline=None)
@given(transcripts())
def test_what_is_written_is_read_again(transcript: Transcript) -> None:
    import tempfile

    line = transcript.to_json()
    VALIDATOR.validate(orjson.loads(line))
    with tempfile.TemporaryDirectory() as folder:
        (again,) = read(write(Path(folder), "t.jsonl", line + b"\n"))
    assert again.to_json() == line
    assert again.content_hash() == transcript.content_hash()


def test_a_line_may_be_as_short_as_its_turns(tmp_path: Path) -> None:
    line = '{"turns": [{"speaker": "Doctor", "text": "Hello."}, {"role": "client", "text": "Hi."}]}\n'
    VALIDATOR.validate(json.loads(line))
    one, two = read(write(tmp_path, "short.jsonl", line + "\n" + line))
    assert one.id == "short#0"
    assert two.id == "short#1"
    assert one.turns == (Turn(0, "clinician", "Doctor", "Hello."), Turn(1, "patient", "client", "Hi."))
    assert two.source.endswith("short.jsonl:3")


def test_the_same_transcripts_may_stand_in_an_array(tmp_path: Path) -> None:
    text = json.dumps([json.loads(GOOD % "a"), json.loads(GOOD % "b")], indent=1)
    assert [each.id for each in read(write(tmp_path, "list.json", text))] == ["a", "b"]
    assert [each.id for each in read(write(tmp_path, "one.json", json.dumps(json.loads(GOOD % "c"), indent=1)))] == [
        "c"
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"turn": []}, "'turn'"),
        ({"turns": {}}, "'turns'"),
        ({"factors": []}, "'factors'"),
        ({"factors": {"a": []}}, "'a'"),
        ({"language": "English"}, "'English'"),
        ({"id": True}, "'id'"),
        ({"system": 1.5}, "'system'"),
        ({"case_id": []}, "'case_id'"),
    ],
)
def test_a_line_that_does_not_follow_the_schema_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    item = {**json.loads(GOOD % "a"), **change}
    assert not VALIDATOR.is_valid(item)
    path = write(tmp_path, "t.jsonl", json.dumps(item))
    check_refusal(path, named, where=f"{path}:1")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"who": "x"}, "'who'"),
        ({"index": 4}, "'index'"),
        ({"speaker": 3}, "3"),
        ({"role": None}, "speaker"),
        ({"meta": []}, "'meta'"),
        ({"meta": [1]}, "'meta'"),
        ({"meta": {"codes": {"anna": {"question": 1}}}}, "'codes'"),
        ({"meta": {"codes": {"anna": "open"}}}, "'codes'"),
    ],
)
def test_a_turn_that_does_not_follow_the_schema_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    item = json.loads(GOOD % "a")
    item["turns"][1] |= change
    path = write(tmp_path, "t.jsonl", json.dumps(item))
    check_refusal(path, named, where=f"{path}:1, turn 1")


# -- messages ------------------------------------------------------------------------------------------


def test_openai_messages(tmp_path: Path) -> None:
    item = {
        "conversation_id": 7,
        "model": "gpt",
        "patient_id": "p1",
        "language": "en",
        "target_length": 20,
        "persona": "anxious",
        "metadata": {"setting": "clinic", "notes": ["a"]},
        "reference": {"diagnosis": "insomnia"},
        "factors": {"literacy": "low"},
        "tools": [],
        "background": "x" * 101,
        "messages": [
            {"role": "system", "content": "You are a doctor."},
            {"role": "assistant", "content": [{"type": "text", "text": "What"}, {"type": "text", "text": "now?"}]},
            {"role": "user", "content": "I sleep badly.", "name": "Anna", "timestamp": "10:00"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "found"},
        ],
    }
    (one,) = read(write(tmp_path, "m.jsonl", json.dumps(item)))
    assert (one.id, one.system, one.case_id, one.language) == ("7", "gpt", "p1", "en")
    assert one.factors == {"target_length": 20, "persona": "anxious", "setting": "clinic", "literacy": "low"}
    assert one.reference == {
        "diagnosis": "insomnia", "notes": ["a"], "tools": [], "background": "x" * 101,
    }  # fmt: skip
    assert as_written(one) == [
        ("system", "system", "You are a doctor."),
        ("clinician", "assistant", "What\nnow?"),
        ("patient", "user", "I sleep badly."),
        ("tools", "tool", '[{"id":"1"}]'),
        ("tools", "tool", "found"),
    ]
    assert one.turns[1].meta == {"name": "Anna", "time": "10:00"}


SAID = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}]


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("a.jsonl", json.dumps(SAID) + "\n" + json.dumps(SAID), ["a#0", "a#1"]),
        ("a.jsonl", json.dumps(SAID), ["a#0"]),
        ("a.json", json.dumps(SAID), ["a"]),
        ("a.json", json.dumps(SAID, indent=2), ["a"]),
        ("a.json", json.dumps([SAID, SAID]), ["a#0", "a#1"]),
        ("a.json", json.dumps({"messages": SAID}, indent=2), ["a"]),
        ("a.json", json.dumps([{"messages": SAID, "id": "x"}, {"messages": SAID}]), ["x", "a#1"]),
        ("a.json", json.dumps({"history": SAID}) + "\n" + json.dumps({"history": SAID}), ["a#0", "a#1"]),
    ],
)
def test_conversations_stand_alone_in_lists_or_on_lines(
    name: str, content: str, ids: list[str], tmp_path: Path
) -> None:
    reading = Reading([write(tmp_path, name, content)])
    assert [each.id for each in reading] == ids
    assert reading.inputs[0].format == "messages"


def test_sharegpt(tmp_path: Path) -> None:
    item = {
        "id": "s",
        "system": "You are a therapist.",
        "conversations": [{"from": "human", "value": "I sleep badly."}, {"from": "gpt", "value": "Since when?"}],
    }
    (one,) = read(write(tmp_path, "s.json", json.dumps([item])))
    assert [(turn.role, turn.speaker) for turn in one.turns] == [("patient", "human"), ("clinician", "gpt")]
    assert one.system is None
    assert one.reference == {}
    assert as_written(one)[0] == ("system", "system_prompt", "You are a therapist.")


@pytest.mark.parametrize("key", ["dialog_history", "turns"])
def test_turns_of_role_message_and_stage(key: str, tmp_path: Path) -> None:
    item = {
        "session_id": "s1",
        key: [
            {"role": "Sensemaker", "message": "What brings you here?", "stage": "gathering information"},
            {"role": "Patient", "message": "I sleep badly.", "stage": None},
        ],
    }
    reading = Reading([write(tmp_path, "d.json", json.dumps(item))])
    (one,) = reading
    assert reading.inputs[0].format == "messages"
    assert one.id == "s1"
    assert [turn.meta for turn in one.turns] == [{"stage": "gathering information"}, {}]


def test_a_part_that_is_no_text_is_counted_and_an_unknown_one_with_text_stops(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {}}
    item: list[dict[str, Any]] = [{"role": "user", "content": [picture, {"type": "text", "text": "My arm."}]}, SAID[0]]
    reading = Reading([write(tmp_path, "i.json", json.dumps(item))])
    (one,) = reading
    assert [turn.text for turn in one.turns] == ["My arm.", "Hello."]
    assert reading.account.left_out == {PICTURES: 1}
    item[0]["content"] = [{"type": "memo", "memo": "I forgot to say this."}, {"type": "text", "text": "My arm."}]
    path = write(tmp_path, "m.json", json.dumps(item))
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    assert "leave_out=memo" in str(caught.value)
    reading = Reading([path], ReadOptions(leave_out=["memo"]))
    assert [turn.text for turn in next(iter(reading)).turns] == ["My arm.", "Hello."]


# -- rows ----------------------------------------------------------------------------------------------

ROWS = (
    "dlg,n,who,said,coder,question,client_talk,setting,target_length,mood,system,case_id\n"
    "b,1,Anna,I sleep badly.,r1,,sustain,clinic,20,low,A,007\n"
    "b,0,Dr Smith,What brings you here?,r1,Open,n/a,clinic,20,calm,A,007\n"
    "b,0,Dr Smith,What brings you here?,r2,closed,n/a,clinic,20,calm,A,007\n"
    "b,1,Anna,I sleep badly.,r2,,neutral,clinic,20,low,A,007\n"
)
MAPPED: dict[str, Any] = {
    "columns": {"id": "dlg", "turn": "n", "speaker": "who", "text": "said"},
    "roles": {"Dr Smith": "clinician", "Anna": "patient"},
}


def test_rows_of_several_coders_become_one_turn(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path, "t.csv", ROWS), **MAPPED)
    assert (one.id, one.system, one.case_id) == ("b", "A", "007")
    assert one.factors == {"setting": "clinic", "target_length": 20}
    assert [(turn.role, turn.speaker, turn.text, turn.meta) for turn in one.turns] == [
        (
            "clinician", "Dr Smith", "What brings you here?",
            {"mood": "calm", "codes": {"r1": {"question": "open"}, "r2": {"question": "closed"}}},
        ),
        (
            "patient", "Anna", "I sleep badly.",
            {"mood": "low", "codes": {"r1": {"client_talk": "sustain"}, "r2": {"client_talk": "neutral"}}},
        ),
    ]  # fmt: skip
    assert one.source.endswith("t.csv:2")


@pytest.mark.parametrize("mark", ["\t", ";"])
def test_tables_may_have_other_delimiters(mark: str, tmp_path: Path) -> None:
    text = ROWS.replace(",", mark)
    (one,) = read(write(tmp_path, "t.csv", ROWS), **MAPPED)
    (other,) = read(write(tmp_path, "t.tsv", text), **MAPPED)
    assert other.to_json() == one.to_json()


def test_a_workbook_gives_the_same_as_text(tmp_path: Path) -> None:
    rows = [line.split(",") for line in ROWS.splitlines()]
    (one,) = read(write(tmp_path, "t.csv", ROWS), **MAPPED)
    (other,) = read(write(tmp_path, "t.xlsx", workbook(rows)), **MAPPED)
    assert other.to_json() == one.to_json()


def test_a_table_without_an_id_is_one_transcript(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path, "s.csv", "speaker,text,time\ndoctor,Hello.,1s\npatient,Hi.,2s\n"))
    assert one.id == "s"
    assert [turn.meta for turn in one.turns] == [{"time": "1s"}, {"time": "2s"}]


def test_a_bad_row_takes_its_transcript_and_no_other(tmp_path: Path) -> None:
    text = "id,speaker,text\n" + "".join(
        f"{name},doctor,Hello.\n{name},patient,Hi{', there' if name == 'b' else ''}.\n{name},doctor,Bye.\n"
        for name in "abc"
    )
    reading = Reading([write(tmp_path, "t.csv", text)], ReadOptions(on_error="skip"))
    assert [each.id for each in reading] == ["a", "c"]
    assert [error.what for error in reading.skipped] == [
        "the row has 4 cells and the header 3, so transcript 'b' is left out"
    ]
    assert reading.inputs[0].skipped == 1


def test_a_bad_row_between_two_transcripts_takes_both(tmp_path: Path) -> None:
    text = "id,speaker,text\n" + "".join(f"{name},doctor,Hello.\n{name},patient,Hi.\n" for name in "abcd")
    text = text.replace("b,patient,Hi.", "b,patient,Hi, there.")
    reading = Reading([write(tmp_path, "t.csv", text)], ReadOptions(on_error="skip"))
    assert [each.id for each in reading] == ["a", "d"]
    assert len(reading.skipped) == 2


def test_a_transcript_in_two_places_stops_the_reading_even_where_errors_are_skipped(tmp_path: Path) -> None:
    text = "id,speaker,text\na,doctor,Hello.\na,patient,Hi.\nb,doctor,Hello.\nb,patient,Hi.\na,doctor,Bye.\n"
    check_refusal(write(tmp_path, "t.csv", text), where=f"{tmp_path}/t.csv:6", on_error="skip")


def test_annomis_codes(tmp_path: Path) -> None:
    header = (
        "mi_quality,transcript_id,video_title,video_url,topic,utterance_id,interlocutor,timestamp,utterance_text,"
        "annotator_id,therapist_input_exists,therapist_input_subtype,reflection_exists,reflection_subtype,"
        "question_exists,question_subtype,main_therapist_behaviour,client_talk_type\n"
    )
    start = "low,1,A film,https://example.org/1,sleep ,"
    rows = [
        start + "0,therapist,00:00:01,Do you sleep?,3,False,n/a,True,simple,True,closed,question,n/a\n",
        start + "0,therapist,00:00:01,Do you sleep?,4,True,advice,False,n/a,True,n/a,therapist_input,n/a\n",
        start + "1,client,00:00:03,Badly.,3,n/a,n/a,n/a,n/a,n/a,n/a,n/a,change\n",
    ]
    (one,) = read(write(tmp_path, "a.csv", header + "".join(rows)))
    assert (one.id, one.system, one.language) == ("1", "human", "en")
    assert one.factors == {"mi_quality": "low", "topic": "sleep"}
    assert one.reference == {"video_title": "A film", "video_url": "https://example.org/1"}
    assert one.turns[0].meta == {
        "time": "00:00:01",
        "codes": {
            "3": {
                "question": "closed", "reflection": "simple", "therapist_input": "none", "main_behaviour": "question",
            },
            # A question is there, but which kind was not coded.
            "4": {"reflection": "none", "therapist_input": "advice", "main_behaviour": "therapist_input"},
        },
    }  # fmt: skip
    assert one.turns[1].meta == {"time": "00:00:03", "codes": {"3": {"client_talk": "change"}}}
    path = write(tmp_path, "b.csv", header + rows[0].replace("False,n/a", "False,advice"))
    check_refusal(path, "therapist_input_exists is 'false'", "therapist_input_subtype 'advice'", where=f"{path}:2")


# -- cells ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Doctor: Hello.\nPatient: Hi.", ["Hello.", "Hi."]),
        ("Dr.: Hello. Patient: Hi.", ["Hello.", "Hi."]),
        ("医生：你好。患者：我睡不着。", ["你好。", "我睡不着。"]),
        ("[doctor] Hello.\n[patient] Hi.", ["Hello.", "Hi."]),
        (
            "Therapist: As the doctor: said\nso it is.\nClient: Yes: true.",
            ["As the doctor: said\nso it is.", "Yes: true."],
        ),
        ("Doctor: I heard the patient: well? Patient: Hi.", ["I heard the patient: well?", "Hi."]),
        ("doctor: Hello. patient: Hi.", ["Hello.", "Hi."]),
        ("\n Dr Smith: Hello.\n Patient 2: Hi.", ["Hello.", "Hi."]),
    ],
)
def test_a_dialogue_is_cut_at_its_labels(cell: str, expected: list[str], tmp_path: Path) -> None:
    quoted = cell.replace('"', '""')
    path = write(tmp_path, "c.csv", f'setting,chat,note\nclinic,"{quoted}",{"n" * 101}\n')
    reading = Reading([path], ReadOptions(roles={"Dr Smith": "clinician", "Patient 2": "patient"}))
    (one,) = reading
    assert reading.inputs[0].format == "cells"
    assert [turn.role for turn in one.turns] == ["clinician", "patient"]
    assert [turn.text for turn in one.turns] == expected
    assert one.id == "c#0"
    assert one.factors == {"setting": "clinic"}
    assert one.reference == {"note": "n" * 101}


def test_an_unknown_label_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write(tmp_path, "c.csv", 'id,chat\n1,"Doctor: Hello.\nPatient: Hi.\nHead_nurse: He sleeps badly."\n')
    check_refusal(path, "'Head_nurse' (1 turn in 1 transcript)", "`roles=Head_nurse=other`", where=f"{path}:4, turn 2")
    (one,) = read(path, roles={"head_nurse": "other"})
    assert one.turns[2].role == "other"


def test_text_before_the_first_label_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "c.csv", 'id,chat\n1,"On Monday.\nDoctor: Hello.\nPatient: Hi."\n')
    check_refusal(path, "'On Monday.'", "Doctor:", where=f"{path}:4")


# -- ConvoKit ------------------------------------------------------------------------------------------


def _corpus(folder: Path, *, old: bool = False) -> None:
    speaker, conversation = ("user", "root") if old else ("speaker", "conversation_id")
    lines = [
        {"id": "u0", conversation: "c0", speaker: "s1", "text": "Hello.", "timestamp": 5, "meta": {"stage": "exit"}},
        {"id": "u1", conversation: "c0", speaker: "s2", "text": "Hi.", "timestamp": 4, "meta": {}},
        {"id": "u2", conversation: "c1", speaker: "s1", "text": "Hello.", "timestamp": None, "meta": {}},
        {"id": "u3", conversation: "c1", speaker: "s2", "text": "Hi.", "timestamp": None, "meta": {}},
    ]
    write(folder, "utterances.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    metas: dict[str, Any] = {"c0": {"topic": "sleep", "model": "A"}, "c1": {"topic": "work", "notes": ["n"]}}
    speakers: dict[str, Any] = {"s1": {"role": "Therapist"}, "s2": {"role": "Client"}}
    if not old:
        metas = {key: {"meta": meta, "vectors": []} for key, meta in metas.items()}
        speakers = {key: {"meta": meta, "vectors": []} for key, meta in speakers.items()}
    write(folder, "conversations.json", json.dumps(metas))
    write(folder, "users.json" if old else "speakers.json", json.dumps(speakers))
    write(folder, "corpus.json", '{"name": "corpus"}')
    write(folder, "index.json", '{"utterances-index": {}, "version": 1}')


@pytest.mark.parametrize("old", [False, True], ids=["current", "older"])
def test_a_convokit_corpus(old: bool, tmp_path: Path) -> None:
    _corpus(tmp_path, old=old)
    reading = Reading([tmp_path])
    one, two = reading
    assert (one.id, one.system, one.factors, one.reference) == ("c0", "A", {"topic": "sleep"}, {})
    assert (two.id, two.factors, two.reference) == ("c1", {"topic": "work"}, {"notes": ["n"]})
    assert [(turn.role, turn.speaker, turn.meta) for turn in one.turns] == [
        ("patient", "s2", {"time": 4, "utterance_id": "u1"}),
        ("clinician", "s1", {"stage": "exit", "time": 5, "utterance_id": "u0"}),
    ]
    assert [turn.role for turn in two.turns] == ["clinician", "patient"]
    assert [(Path(str(file.path)).name, file.format, file.transcripts) for file in reading.inputs] == [
        ("utterances.jsonl", "convokit", 2),
        ("conversations.json", "convokit (companion)", 0),
        ("users.json" if old else "speakers.json", "convokit (companion)", 0),
    ]


def test_what_a_corpus_says_beside_texts_is_kept(tmp_path: Path) -> None:
    _corpus(tmp_path)
    path = tmp_path / "utterances.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([json.dumps({**json.loads(first), "note": "Smiles.", "vectors": ["v"]}) + "\n", *others]))
    speakers = {"s1": {"meta": {"role": "Therapist"}}, "s2": {"meta": {"role": "Client", "age": 40}}}
    write(tmp_path, "speakers.json", json.dumps(speakers))
    one, two = read(tmp_path)
    assert one.turns[1].meta == {"stage": "exit", "note": "Smiles.", "time": 5, "utterance_id": "u0"}
    assert one.reference == {"speakers": {"s2": {"age": 40}}}
    assert two.reference == {"speakers": {"s2": {"age": 40}}, "notes": ["n"]}


def test_speakers_of_a_corpus_alone_say_what_is_missing(tmp_path: Path) -> None:
    _corpus(tmp_path)
    check_refusal(tmp_path / "speakers.json", "utterances.jsonl")


def test_a_corpus_whose_conversations_are_mixed_must_be_sorted(tmp_path: Path) -> None:
    _corpus(tmp_path)
    path = tmp_path / "utterances.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
    check_refusal(tmp_path, "'c0'", where=f"{path}:3", roles={"s1": "clinician", "s2": "patient"}, on_error="skip")


# -- DeepEval ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("camel", [False, True])
def test_deepeval_test_cases(camel: bool, tmp_path: Path) -> None:
    case = {
        "name": "t1",
        "scenario": "Bad sleep",
        "expectedOutcome" if camel else "expected_outcome": "Advice",
        "userDescription" if camel else "user_description": "A man of 40",
        "chatbotRole" if camel else "chatbot_role": "doctor",
        "context": ["background"],
        "additionalMetadata" if camel else "metadata": {"model": "A", "case_id": 3, "length": 20},
        "tags": None,
        "multimodal": False,
        "turns": [
            {"role": "user", "content": "I sleep badly."},
            {"role": "assistant", "content": "Why?", "retrievalContext" if camel else "retrieval_context": ["x"]},
        ],
    }
    reading = Reading([write(tmp_path, "cases.json", json.dumps([case, {**case, "name": None}]))])
    one, two = reading
    assert reading.inputs[0].format == "deepeval"
    assert (one.id, one.system, one.case_id, one.factors) == ("t1", "A", "3", {"length": 20})
    assert two.id == "cases#1"
    assert one.reference == {
        "scenario": "Bad sleep",
        "expected_outcome": "Advice",
        "user_description": "A man of 40",
        "chatbot_role": "doctor",
        "context": ["background"],
    }
    assert [turn.role for turn in one.turns] == ["patient", "clinician"]
    assert one.turns[1].meta == {"retrieval_context": ["x"]}


# -- MDD-5k --------------------------------------------------------------------------------------------

MDD = '[{"conversation": [{"doctor": "a", "patient": "b"}]}, {"conversation": [{"doctor": "c", "patient": "d"}]}]'
LABEL = '{"ICD_Code": "F41", "Diagnosis_Result": "焦虑"}'


def test_what_stands_beside_an_mdd5k_dialogue_is_kept(tmp_path: Path) -> None:
    dialogue = {**json.loads(MDD)[0], "remark": "long\nremark", "round": 2}
    write(tmp_path, "conversations/p.json", json.dumps([dialogue]))
    write(tmp_path, "labels/p_label.json", LABEL)
    (read_back,) = read(tmp_path)
    assert read_back.reference == {"remark": "long\nremark", "diagnosis": "焦虑", "icd_code": "F41"}
    assert (read_back.factors, read_back.case_id) == ({"round": 2}, "p")


def test_the_folders_of_the_public_release_of_mdd5k_are_known(tmp_path: Path) -> None:
    write(tmp_path, "MDD_5k/p.json", MDD)
    write(tmp_path, "Label/p_label.json", LABEL)
    transcripts = read(tmp_path)
    assert [one.id for one in transcripts] == ["p#0", "p#1"]
    assert [one.reference["icd_code"] for one in transcripts] == ["F41", "F41"]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (["one"], ["patient_1#0", "patient_1#1"]),
        (["one/conversations"], ["patient_1#0", "patient_1#1"]),
        (["one/conversations/patient_1.json"], ["patient_1#0", "patient_1#1"]),
        ([""], ["one/patient_1#0", "one/patient_1#1", "two/patient_1#0", "two/patient_1#1"]),
        (["one", "two/conversations"], ["one/patient_1#0", "one/patient_1#1", "two/patient_1#0", "two/patient_1#1"]),
    ],
)
def test_mdd5k_dialogues_are_named_by_patient_and_copy(given: list[str], ids: list[str], tmp_path: Path) -> None:
    for copy in ("one", "two"):
        write(tmp_path, f"{copy}/conversations/patient_1.json", MDD)
        write(tmp_path, f"{copy}/labels/patient_1_label.json", LABEL)
    reading = Reading([tmp_path / each for each in given])
    transcripts = list(reading)
    assert [each.id for each in transcripts] == ids
    assert {(each.case_id, each.language, each.reference["diagnosis"]) for each in transcripts} == {
        ("patient_1", "zh", "焦虑")
    }
    assert [file.format for file in reading.inputs] == ["mdd5k", "mdd5k (companion)"] * (len(ids) // 2)


# -- options -------------------------------------------------------------------------------------------


def test_fields_come_from_the_path(tmp_path: Path) -> None:
    for system in ("A", "B"):
        write(tmp_path, f"{system}/20/007.json", json.dumps(SAID))
    found = read(tmp_path, path_fields="{system}/{target_length}/{case_id}")
    assert [(each.id, each.system, each.case_id, each.factors) for each in found] == [
        ("A/20/007", "A", "007", {"target_length": 20}),
        ("B/20/007", "B", "007", {"target_length": 20}),
    ]


def test_what_the_file_says_goes_before_the_path(tmp_path: Path) -> None:
    write(tmp_path, "A/1.json", json.dumps({"messages": SAID, "model": "B"}))
    (one,) = read(tmp_path, path_fields="{system}/{case_id}")
    assert (one.system, one.case_id) == ("B", "1")


def test_folders_globs_and_files(tmp_path: Path) -> None:
    write(tmp_path, "x/b.jsonl", GOOD % "b")
    write(tmp_path, "x/a.jsonl", GOOD % "a")
    write(tmp_path, "x/y/c.jsonl", GOOD % "c")
    write(tmp_path, "x/.hidden.jsonl", GOOD % "h")
    notes = write(tmp_path, "x/notes.txt", "notes")
    reading = Reading([tmp_path])
    assert [each.id for each in reading] == ["a", "b", "c"]
    assert reading.ignored == [notes]
    assert [each.id for each in read(tmp_path / "x" / "*.jsonl")] == ["a", "b"]
    assert [each.id for each in read(tmp_path / "x" / "b.jsonl", tmp_path)] == ["b", "a", "c"]


def test_paths_may_be_relative_and_absolute_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = GOOD.replace('"id": "%s", ', "")
    write(tmp_path, "x/a.jsonl", line)
    other = write(tmp_path, "y/b.jsonl", line)
    monkeypatch.chdir(tmp_path)
    assert [each.id for each in read(Path("x"), other)] == ["x/a#0", "y/b#0"]


def test_a_file_is_hashed_whole_and_closed_where_the_reading_stops_early(tmp_path: Path) -> None:
    import gc
    import warnings

    content = (GOOD % "a" + GOOD % "b").encode() + b"\n" * 5_000_000
    for name, data in (("t.jsonl", content), ("t.jsonl.gz", packed(content))):
        path = write(tmp_path, name, data)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reading = Reading([path])
            iterator = cast(Generator[Transcript, None, None], iter(reading))
            assert next(iterator).id == "a"
            iterator.close()
            del iterator
            gc.collect()
        assert reading.inputs[0].sha256 == hashlib.sha256(data).hexdigest()
        assert reading.inputs[0].bytes == len(data)


# -- the documentation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READERS.names())
def test_the_documented_example_of_a_format_is_read_as_that_format(name: str, tmp_path: Path) -> None:
    import re

    docs = Path(__file__).resolve().parents[2] / "docs"
    parts = [part for page in docs.glob("*.md") for part in page.read_text("utf-8").split("\n## ")]
    written = [part for part in parts if part.partition("\n")[0].endswith(f": `{name}`")]
    shown = [re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[0] for section in written]
    reader = READERS.load(name)
    for number, (kind, example) in enumerate([(reader.example_name.rpartition(".")[2], reader.example), *shown]):
        file_name = "utterances.jsonl" if name == "convokit" else f"example.{kind}"
        content = document(*example.splitlines()) if name == "docx" else example
        reading = Reading([write(tmp_path / str(number), file_name, content)])
        assert list(reading)
        assert reading.inputs[0].format == name
