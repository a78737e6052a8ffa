"""Tables: the same data in six containers, ids that divide it, cells that would vanish, published sets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript
from tests.transcripts.files import check_question, check_refusal, read, workbook, write

Row = dict[str, Any]

ROWS: list[Row] = [
    {"id": "a", "turn": 0, "speaker": "therapist", "text": "Was führt Sie her?", "question": "open", "age": 34},
    {"id": "a", "turn": 1, "speaker": "client", "text": "我睡得不好，已经三个月了。", "question": None, "age": 34},
    {"id": "b", "turn": 0, "speaker": "therapist", "text": "And now?", "question": "closed", "age": 0.5},
    {"id": "b", "turn": 1, "speaker": "client", "text": "12", "question": None, "age": 0.5},
]
CELLS: list[Row] = [
    {"id": "a", "dialogue": "Doctor: Hello, how are you?\nPatient: Nicht gut.", "score": 7, "note": None},
    {"id": "b", "dialogue": '[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yes?"}]', "score": 2.5},
]
EXCHANGES: list[Row] = [
    {"id": "a", "patient": "I sleep badly.", "doctor": "Since when?", "mood": 3},
    {"id": "a", "patient": "Since May.", "doctor": None, "mood": 4},
    {"id": "b", "patient": "Es geht.", "doctor": "Gut.", "mood": 5},
]


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _delimited(rows: list[Row], mark: str) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, _names(rows), delimiter=mark)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _parquet(rows: list[Row]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(rows, strict=False, infer_schema_length=None).write_parquet(file)
    return file.getvalue()


def _workbook(rows: list[Row]) -> bytes:
    return workbook([_names(rows), *([row.get(name) for name in _names(rows)] for row in rows)])


def _lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


CONTAINERS: dict[str, Callable[[list[Row]], bytes]] = {
    "csv": lambda rows: _delimited(rows, ","),
    "tsv": lambda rows: _delimited(rows, "\t"),
    "xlsx": _workbook,
    "parquet": _parquet,
    "json": lambda rows: json.dumps(rows, ensure_ascii=False).encode(),
    "jsonl": _lines,
}


def _json(found: list[Transcript]) -> list[bytes]:
    return [replace(one, source="").to_json() for one in found]


@pytest.mark.parametrize(("rows", "form"), [(ROWS, "rows"), (CELLS, "cells"), (EXCHANGES, "exchanges")])
def test_six_containers_give_the_same_transcripts(rows: list[Row], form: str, tmp_path: Path) -> None:
    by_container = {}
    for ending, written in CONTAINERS.items():
        reading = Reading([write(tmp_path / ending, f"t.{ending}", written(rows))])
        by_container[ending] = _json(list(reading))
        assert [one.format for one in reading.inputs] == [form], ending
    assert len(by_container["csv"]) == 2
    assert all(found == by_container["csv"] for found in by_container.values())


MESSAGES: list[Row] = [
    {"dialogue_id": "a", "role": "user", "content": "I sleep badly."},
    {"dialogue_id": "a", "role": "assistant", "content": "Since when?"},
    {"dialogue_id": "b", "role": "user", "content": "I worry."},
    {"dialogue_id": "b", "role": "assistant", "content": "About what?"},
]


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_messages_of_two_ids_are_two_transcripts(ending: str, tmp_path: Path) -> None:
    found = read(write(tmp_path, f"t.{ending}", CONTAINERS[ending](MESSAGES)))
    assert [(one.id, [turn.text for turn in one.turns]) for one in found] == [
        ("a", ["I sleep badly.", "Since when?"]),
        ("b", ["I worry.", "About what?"]),
    ]


def test_a_bare_list_of_messages_stays_one_conversation(tmp_path: Path) -> None:
    numbered = [{**row, "id": f"m{n}"} for n, row in enumerate(MESSAGES)]
    plain = [{key: value for key, value in row.items() if key != "dialogue_id"} for row in numbered]
    reading = Reading([write(tmp_path, "t.json", CONTAINERS["json"](plain))])
    (one,) = reading
    assert (one.id, len(one.turns), reading.inputs[0].format) == ("t", 4, "messages")


def test_messages_that_a_key_may_divide_are_asked_for(tmp_path: Path) -> None:
    rows = [{"talk_no": row["dialogue_id"], **{key: row[key] for key in ("role", "content")}} for row in MESSAGES]
    check_question(write(tmp_path, "t.json", CONTAINERS["json"](rows)), "talk_no")


def test_two_columns_of_ids_that_differ_are_asked_for(tmp_path: Path) -> None:
    text = "dialogue_id,visit,speaker,text\na,1,doctor,A\na,1,patient,B\na,2,doctor,C\nb,2,patient,D\n"
    with pytest.raises(AmbiguousError) as caught:
        read(write(tmp_path, "t.csv", text))
    assert '`columns=id=dialogue_id`, `columns=id=visit`, or `columns="id=dialogue_id+visit"` if' in str(caught.value)
    # Where both divide the rows alike, nothing hangs on which.
    found = read(write(tmp_path, "u.csv", text.replace("a,2", "b,2")))
    assert [(one.id, one.factors) for one in found] == [("a", {"visit": 1}), ("b", {"visit": 2})]


def test_nested_values_of_records_are_kept(tmp_path: Path) -> None:
    rows = [{**row, "labels": ["low", {"n": n % 2}]} for n, row in enumerate(MESSAGES)]
    rows = [{**row, "site": {"city": "Bern"}} for row in rows]
    first, _ = read(write(tmp_path, "t.jsonl", _lines(rows)))
    assert [json.loads(turn.meta["labels"]) for turn in first.turns] == [["low", {"n": 0}], ["low", {"n": 1}]]
    assert [json.loads(str(value)) for value in (first.factors["site"],)] == [{"city": "Bern"}]


def test_a_bad_record_is_told_by_its_place(tmp_path: Path) -> None:
    lines = _lines(MESSAGES).splitlines()
    path = write(tmp_path, "t.jsonl", b"\n".join([*lines[:2], b"[1]", *lines[2:]]))
    check_refusal(path, where=f"{path}:3")


def _sheets(**sheets: list[list[Any]]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


def _saved(book: openpyxl.Workbook, folder: Path) -> Path:
    file = io.BytesIO()
    book.save(file)
    return write(folder, "t.xlsx", file.getvalue())


TALK = [["id", "speaker", "text"], ["a", "doctor", "What brings you here?"], ["a", "patient", "I sleep very badly."]]


def test_a_hidden_worksheet_with_a_talk_is_asked_for(tmp_path: Path) -> None:
    book = _sheets(Talk=TALK, Old=TALK, Lists=[["low"], ["high"]])
    book["Old"].sheet_state = book["Lists"].sheet_state = "hidden"
    path = _saved(book, tmp_path)
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    assert {"`sheet=Talk`", "`sheet=Old`"} <= {*str(caught.value).split()}
    reading = Reading([path], ReadOptions(sheet="Talk"))
    assert len(list(reading)) == 1
    assert [kind.other_sheets for kind in reading.account.kinds] == [("Old", "Lists")]


def test_a_worksheet_of_one_column_with_a_talk_is_asked_for(tmp_path: Path) -> None:
    lines = [["Doctor: How did you sleep?"], ["Patient: Not well at all."]]
    check_question(_saved(_sheets(Talk=TALK, More=lines), tmp_path), "'More'")


def test_comments_on_cells_are_no_silent_loss(tmp_path: Path) -> None:
    book = _sheets(Talk=TALK)
    book["Talk"]["C3"].comment = Comment("This is where she begins to cry.", "coder")
    path = _saved(book, tmp_path)
    check_question(path, where=f"{path}:C3")
    reading = Reading([path], ReadOptions(leave_out=["comments"]))
    assert len(list(reading)) == 1
    assert reading.account.lost["comments"].number == 1


def test_a_merged_cell_counts_for_its_rectangle_and_a_merged_text_stops(tmp_path: Path) -> None:
    book = _sheets(Talk=[["Clinic North"], *TALK, ["b", "doctor", "And now?"]])
    book["Talk"].merge_cells("A1:C1")
    assert len(read(_saved(book, tmp_path / "title"))) == 2
    book["Talk"].merge_cells("A3:A4")
    reading = Reading([_saved(book, tmp_path / "id")])
    assert [(one.id, len(one.turns)) for one in reading] == [("a", 2), ("b", 1)]
    assert any("1 merged cell" in remark for remark in reading.account.remarks)
    book["Talk"].merge_cells("C4:C5")
    check_refusal(_saved(book, tmp_path / "text"), "C4:C5")


def test_what_is_hidden_or_struck_through_is_read_and_told(tmp_path: Path) -> None:
    book = _sheets(Talk=TALK)
    book["Talk"].row_dimensions[3].hidden = True
    book["Talk"].column_dimensions["B"].hidden = True
    book["Talk"]["C2"].font = Font(strike=True)
    reading = Reading([_saved(book, tmp_path)])
    (one,) = reading
    assert len(one.turns) == 2
    told = " ".join(reading.account.remarks)
    assert all(words in told for words in ("1 hidden row", "1 hidden column", "1 cell struck"))


def test_columns_without_a_name_are_kept(tmp_path: Path) -> None:
    text = ",id,speaker,,text\n0,a,doctor,x,Hello.\n1,a,patient,x,Hi.\n"
    (one,) = read(write(tmp_path, "t.csv", text))
    assert one.factors == {"column 4": "x"}
    assert [turn.meta for turn in one.turns] == [{"column 1": "0"}, {"column 1": "1"}]


def test_rows_above_the_header_are_a_told_loss(tmp_path: Path) -> None:
    text = "Export of Monday, 3 May\n\nid;speaker;text\na;doctor;Hello.\na;patient;Hi.\n"
    reading = Reading([write(tmp_path, "t.csv", text)])
    assert len(list(reading)) == 1
    (lost,) = reading.account.lost.values()
    assert (lost.number, lost.example) == (1, "Export of Monday, 3 May")
    with pytest.raises(AmbiguousError):
        read(write(tmp_path, "u.csv", text.replace("Export of Monday, 3 May", "Doctor: Was it you who called?")))


def test_a_second_header_stops(tmp_path: Path) -> None:
    text = "id,patient,doctor\na,I sleep badly.,Why?\nid,patient,doctor\nb,I worry.,Well?\n"
    with pytest.raises(InputError) as caught:
        read(write(tmp_path, "t.csv", text))
    assert str(caught.value.where).endswith("t.csv:3")


def test_a_column_that_is_left_out_is_counted(tmp_path: Path) -> None:
    text = "id,speaker,text,note\na,doctor,Hello.,one\na,patient,Hi.,two\n"
    reading = Reading([write(tmp_path, "t.csv", text)], ReadOptions(leave_out=["note"]))
    (one,) = reading
    assert [turn.meta for turn in one.turns] == [{}, {}]
    assert reading.account.lost["note"].number == 2
    assert [kind.unused for kind in reading.account.kinds] == [("note",)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id,speaker,text,reply\na,client,I am ill.,Since when is it?\na,client,No.,That is long ago.\n", "reply"),
        ("id,patient,doctor,mother\na,I am ill.,Why?,He does not sleep.\na,No.,Well?,Not at all.\n", "mother"),
        ("id,input,output,instruction\na,No.,Yes.,How do I feel?\na,No.,Why?,How are you?\n", "instruction"),
    ],
)  # fmt: skip
def test_a_column_of_a_further_speaker_stops(text: str, name: str, tmp_path: Path) -> None:
    roles: dict[str, Any] = {"input": "patient", "output": "clinician"}
    check_question(write(tmp_path, "t.csv", text), f"`leave_out={name}`", roles=roles)


def test_a_corrected_text_stands_with_the_turn(tmp_path: Path) -> None:
    text = "id,speaker,utterance,utterance_corrected\na,doctor,Helo there you.,Hello there you.\na,patient,Hi.,Hi!\n"
    (one,) = read(write(tmp_path, "t.csv", text))
    assert [turn.meta["utterance_corrected"] for turn in one.turns] == ["Hello there you.", "Hi!"]


@pytest.mark.parametrize("name", ["mother", "guest_family"])
def test_a_third_speaker_is_never_the_patient(name: str, tmp_path: Path) -> None:
    rows = f"id,speaker,text\na,doctor,Hello.\na,{name},Hi.\n"
    cell = f'id,dialogue\na,"Doctor: Hello.\nPatient: Hi.\n{name}: He sleeps."\n'
    with pytest.raises(InputError, match=name):
        read(write(tmp_path, "rows.csv", rows))
    (one,) = read(write(tmp_path, "cell.csv", cell))
    assert [turn.role for turn in one.turns] == ["clinician", "patient", "other"]


def test_all_that_is_missing_is_asked_at_once(tmp_path: Path) -> None:
    text = "Gespraech,Nr,Wer,Inhalt\n" + "".join(
        f"{talk},{n},{'T' if n % 2 else 'K'},{'Seit wann ist das so?' if n % 2 else 'Ich schlafe sehr schlecht.'}\n"
        for talk in ("g1", "g2")
        for n in range(4)
    )
    path = write(tmp_path, "t.csv", text)
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert "`columns=text=Inhalt,speaker=Wer,id=Gespraech`" in message
    assert "`roles=" in message
    roles = dict(pair.split("=") for pair in message.split("`roles=")[1].split("`")[0].split(","))
    assert roles == {"T": "clinician", "K": "patient"}
    columns = {"text": "Inhalt", "speaker": "Wer", "id": "Gespraech"}
    assert len(read(path, columns=columns, roles=roles)) == 2


def test_exchanges_ask_for_ids_and_roles_at_once(tmp_path: Path) -> None:
    text = "question,answer\nI sleep badly.,Since when?\nIn May.,Why?\n"
    check_question(write(tmp_path, "t.csv", text), "`columns=id=row`", "`roles=")


PUBLISHED: dict[str, tuple[list[Row], list[list[tuple[str, str]]]]] = {
    "HOPE": (
        [
            {"ID": 1, "Type": "T", "Utterance": "How are you today?", "Dialogue_Act": "gt"},
            {"ID": 2, "Type": "P", "Utterance": "Not so well.", "Dialogue_Act": "id"},
            {"ID": 3, "Type": "T", "Utterance": "I see.", "Dialogue_Act": "ack"},
        ],
        [[("clinician", "How are you today?"), ("patient", "Not so well."), ("clinician", "I see.")]],
    ),
    "HOPE of another spelling": (
        [
            {"ID": "9_0", "Type": "T", "Utterance": "How are you today?", "Dialog_Act": "gt"},
            {"ID": "9_1", "Type": "P", "Utterance": "Not so well.", "Dialog_Act": "id"},
        ],
        [[("clinician", "How are you today?"), ("patient", "Not so well.")]],
    ),
    "DAIC-WOZ": (
        [
            {"start_time": 0.5, "stop_time": 2, "speaker": "Ellie", "value": "are you okay with this"},
            {"start_time": 3, "stop_time": 3.5, "speaker": "Participant", "value": "yes"},
        ],
        [[("clinician", "are you okay with this"), ("patient", "yes")]],
    ),
    "Psych8k": (
        [
            {"instruction": "Answer as a psychologist would.", "input": said, "output": "Tell me more of it."}
            for said in ("I am sad since May.", "I worry about work.")
        ],
        [
            [("patient", "I am sad since May."), ("clinician", "Tell me more of it.")],
            [("patient", "I worry about work."), ("clinician", "Tell me more of it.")],
        ],
    ),
    "CACTUS": (
        [
            {
                "thought": "I fail.",
                "intake_form": "Name: A.\nOccupation: cook.",
                "cbt_technique": "questioning",
                "cbt_plan": "First: ask.\nThen: listen.",
                "dialogue": "Counselor: Hello, welcome.\nClient: I fail at all.",
            }
        ],
        [[("clinician", "Hello, welcome."), ("patient", "I fail at all.")]],
    ),
    "FED": (
        [
            {
                "context": "User: Hi there.\nSystem: Hello.\nUser: I am bored.",
                "response": "System: Go out.",
                "system": "A",
                "annotations": {"Engaging": [1, 2]},
            }
        ],
        [[("patient", "Hi there."), ("clinician", "Hello."), ("patient", "I am bored."), ("clinician", "Go out.")]],
    ),
    "MedDialog": (
        [
            {
                "description": "Cough since May, what is it?",
                "utterances": ["patient: I cough.", "doctor: Since when?"],
            }
        ],
        [[("patient", "I cough."), ("clinician", "Since when?")]],
    ),
    "MedDialog of utterances alone": (
        [{"utterances": ["patient: I cough.", "doctor: Since when?"]}],
        [[("patient", "I cough."), ("clinician", "Since when?")]],
    ),
    "MedDialog or COVID-Dialogue": (
        [
            {
                "dialogue_id": 1,
                "dialogue_url": "https://example.org/1",
                "dialogue_turns": {"speaker": [0, 1], "utterance": ["I cough a lot.", "Since when?"]},
            }
        ],
        [[("patient", "I cough a lot."), ("clinician", "Since when?")]],
    ),
    "AugESC": (
        [{"text": json.dumps([["usr", "I lost my job."], ["sys", "When was that?"]])}],
        [[("patient", "I lost my job."), ("clinician", "When was that?")]],
    ),
    "IMCS-21": (
        [
            {"sentence_id": 1, "speaker": "患者", "sentence": "孩子咳嗽三天了。", "dialogue_act": "Inform"},
            {"sentence_id": 2, "speaker": "医生", "sentence": "发烧吗？", "dialogue_act": "Request"},
        ],
        [[("patient", "孩子咳嗽三天了。"), ("clinician", "发烧吗？")]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("ending", ["csv", "json", "tsv"])
def test_published_tables_need_no_options(name: str, ending: str, tmp_path: Path) -> None:
    rows, talks = PUBLISHED[name]
    flat = [
        {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in row.items()}
        for row in rows
    ]
    reading = Reading([write(tmp_path, f"t.{ending}", CONTAINERS[ending](rows if ending == "json" else flat))])
    assert [[(turn.role, turn.text) for turn in one.turns] for one in reading] == talks
    assert any(name.partition(" of ")[0] in remark for remark in reading.account.remarks)


def test_names_alone_tell_no_set_that_its_cells_tell(tmp_path: Path) -> None:
    long = "I sleep badly and worry. " * 4000
    path = write(tmp_path, "t.csv", f"id,speaker,text\na,patient,{long}\na,doctor,Since when?\n")
    (one,) = read(path)
    assert [turn.role for turn in one.turns] == ["patient", "clinician"]


def test_times_of_turns_are_seconds(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path, "t.csv", CONTAINERS["tsv"](PUBLISHED["DAIC-WOZ"][0])))
    assert [dict(turn.meta) for turn in one.turns] == [{"start": 0.5, "stop": 2.0}, {"start": 3.0, "stop": 3.5}]


def test_the_user_is_asked_before_a_published_set(tmp_path: Path) -> None:
    rows, _ = PUBLISHED["HOPE"]
    (one,) = read(write(tmp_path, "t.csv", CONTAINERS["csv"](rows)), roles={"T": "patient", "P": "clinician"})
    assert [turn.role for turn in one.turns] == ["patient", "clinician", "patient"]


def test_two_columns_of_speech_may_be_exchanges(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "talk.csv",
        "user_message,bot_response\nI sleep so badly.,Since when is that?\nI worry a lot.,And why?\n",
    )
    check_refusal(path, "columns=question=user_message,answer=bot_response")
    told = {"question": "user_message", "answer": "bot_response", "id": ""}
    (transcript,) = read(path, columns=told, roles={"user_message": "patient", "bot_response": "clinician"})
    assert len(transcript.turns) == 4
