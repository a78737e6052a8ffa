"""Tables of utterances and of exchanges: which rows are one transcript is told, or asked for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.transcripts.files import check_question, check_refusal, read, workbook, write

SESSIONS = (
    "{0},Speaker,Utterance\nS1,therapist,Hello.\nS1,client,Hi.\nS2,therapist,Well?\nS2,client,Fine.\n"
    "S2,therapist,Good.\n"
)


@pytest.mark.parametrize(
    "name",
    [
        "Session",
        "session ID",
        "conversation",
        "Dialogue",
        "dialogID",
        "Encounter",
        "interview",
        "Visit",
        "file",
        "Case",
    ],
)
def test_two_sessions_are_two_transcripts(name: str, tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, "t.csv", SESSIONS.format(name))])
    assert [(one.id, len(one.turns)) for one in reading] == [("S1", 2), ("S2", 3)]
    (kind,) = reading.account.kinds
    assert dict(kind.columns) == {"id": name, "speaker": "Speaker", "text": "Utterance"} | (
        {"case_id": name} if name == "Case" else {}
    )


def test_what_may_be_an_id_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", SESSIONS.format("Block"))
    check_question(path, "`columns=id=Block`", "`columns=id=`", where=str(path))
    assert [one.id for one in read(path, columns={"id": "Block"})] == ["S1", "S2"]
    (one,) = read(path, columns={"id": ""})
    assert [turn.meta for turn in one.turns][1:3] == [{"Block": "S1"}, {"Block": "S2"}]


def test_a_column_that_is_not_in_blocks_is_no_id(tmp_path: Path) -> None:
    text = "mood,speaker,text\nlow,doctor,A\nlow,patient,B\nhigh,doctor,C\nlow,patient,D\n"
    (one,) = read(write(tmp_path, "t.csv", text))
    assert len(one.turns) == 4


NUMBERED = (
    "id,{0}speaker,text\n163_0,{1}doctor,Hello.\n163_1,{1}patient,Hi.\n163_2,{2}doctor,Well?\n163_3,{2}patient,No.\n"
)


def test_the_number_of_an_utterance_is_no_id(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", NUMBERED.format("", "", ""))
    check_question(path, "`columns=id=id`", "`columns=id=`", where=str(path))
    (one,) = read(path, columns={"id": ""})
    assert [turn.meta["id"] for turn in one.turns] == ["163_0", "163_1", "163_2", "163_3"]
    other = write(tmp_path, "u.csv", NUMBERED.format("visit,", "v1,", "v2,"))
    assert [(each.id, len(each.turns)) for each in read(other)] == [("v1", 2), ("v2", 2)]


def test_the_header_may_stand_below_other_rows(tmp_path: Path) -> None:
    text = "Export of Monday, 3 May\n\nid;speaker;text\na;doctor;3,5 hours?\na;patient;Yes, three.\n"
    path = write(tmp_path, "t.csv", text)
    for options in (ReadOptions(), ReadOptions(header_row=3)):
        reading = Reading([path], options)
        (one,) = reading
        assert [turn.text for turn in one.turns] == ["3,5 hours?", "Yes, three."]
        assert [kind.header for kind in reading.account.kinds] == [3]
        assert reading.account.lost["rows above the column names"].number == 1
    check_refusal(path, "`header_row`", header_row=9, format="rows")


def test_worksheets_with_the_same_ids(tmp_path: Path) -> None:
    import openpyxl

    rows = [["id", "speaker", "text"], ["a", "doctor", "Hello."], ["a", "patient", "Hi."]]
    book = openpyxl.load_workbook(io.BytesIO(workbook(rows)))
    other = book.create_sheet("Two")
    for row in rows:
        other.append(row[::-1])
    file = io.BytesIO()
    book.save(file)
    path = write(tmp_path, "t.xlsx", file.getvalue())
    check_question(path, "`sheet=all`")
    found = read(path, sheet="all", columns={"system": "sheet"})
    assert [(one.id, one.case_id, one.system) for one in found] == [("Sheet/a", "a", "Sheet"), ("Two/a", "a", "Two")]
    (one,) = read(path, sheet="two")
    assert [turn.text for turn in one.turns] == ["Hello.", "Hi."]
    check_refusal(path, "'Three'", "`sheet`", sheet="Three")


# -- exchanges ------------------------------------------------------------------------------------------

EXCHANGES = "{0},{1},{2}\na,Hello there.,Hi you.\na,Well then?,\nb,How now?,So so.\n"


@pytest.mark.parametrize(
    ("columns", "options", "roles"),
    [
        (("doctor", "patient"), {}, ["clinician", "patient", "clinician"]),
        (("patient", "doctor"), {}, ["patient", "clinician", "patient"]),
        (("user", "assistant"), {}, ["patient", "clinician", "patient"]),
        (
            ("Question", "Answer"),
            {"roles": {"question": "clinician", "answer": "patient"}},
            ["clinician", "patient", "clinician"],
        ),
        (
            ("input", "output"),
            {"roles": {"input": "patient", "output": "clinician"}},
            ["patient", "clinician", "patient"],
        ),
        (
            ("they", "we"),
            {"roles": {"they": "patient", "we": "clinician"}, "columns": {"question": "they", "answer": "we"}},
            ["patient", "clinician", "patient"],
        ),
    ],
)
def test_an_exchange_a_row(columns: tuple[str, str], options: dict[str, Any], roles: list[str], tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", EXCHANGES.format("id", *columns))
    reading = Reading([path], ReadOptions(**options))
    one, two = reading
    assert reading.inputs[0].format == "exchanges"
    assert [turn.role for turn in one.turns] == roles
    assert [turn.text for turn in one.turns] == ["Hello there.", "Hi you.", "Well then?"]
    assert [turn.speaker for turn in two.turns] == list(columns)
    assert reading.account.left_out == {"empty cells of those who speak": 1}


def test_questions_and_answers_tell_no_role(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", EXCHANGES.format("id", "question", "answer"))
    with pytest.raises(UnknownSpeakerError, match="question"):
        read(path)


def test_without_an_id_which_rows_are_one_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", EXCHANGES.format("note", "doctor", "patient"))
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    assert "`columns=id=row`" in str(caught.value.todo)
    assert [len(one.turns) for one in read(path, columns={"id": ""})] == [5]
    found = read(path, columns={"id": "row"})
    assert [(one.id, len(one.turns)) for one in found] == [("t#0", 2), ("t#1", 1), ("t#2", 2)]


def test_columns_of_who_is_treated_by_whom_are_no_exchange(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "patient,doctor,words\nP01,D07,Hello there.\nP02,D08,Hi.\n")
    check_refusal(path, "`columns=")


NESTED = "{0},session,speaker,text\nP1,1,therapist,Hello.\nP1,1,client,Hi.\n{1}P2,1,therapist,Well?\nP2,1,client,No.\n"
SECOND = "P1,2,therapist,Again?\nP1,2,client,Yes.\n"


@pytest.mark.parametrize("between", ["", SECOND])
@pytest.mark.parametrize("whose", ["participant_id", "Subject", "site", "doc_id", "case", "model"])
def test_sessions_of_several_people_are_asked_about(whose: str, between: str, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", NESTED.format(whose, between))
    answers = f"`columns=id={whose}+session`", "`columns=id=session`"
    check_question(path, *answers, where=f"{path}:{6 if between else 2}")
    both = read(path, columns={"id": f"{whose}+session"})
    assert [one.id for one in both] == ["P1/1", *["P1/2"] * bool(between), "P2/1"]
    assert all(len(one.turns) == 2 and str(one.factors["session"]) == one.id[-1] for one in both)


@pytest.mark.parametrize("name", ["segment_id", "topic", "stage", "client_mood"])
def test_parts_of_a_talk_are_not_asked_about(name: str, tmp_path: Path) -> None:
    (one,) = read(write(tmp_path, "t.csv", NESTED.format(name, "")))
    assert len(one.turns) == 4


def test_exchanges_of_several_people_are_asked_about(tmp_path: Path) -> None:
    rows = "P1,1,Hello.,Hi.\nP1,1,Well?,No.\nP2,1,So?,Yes.\n"
    path = write(tmp_path, "t.csv", f"subject,session,doctor,patient\n{rows}")
    with pytest.raises(AmbiguousError, match="id=subject\\+session"):
        read(path)
    both = read(path, columns={"id": "subject+session"})
    assert [(one.id, len(one.turns)) for one in both] == [("P1/1", 4), ("P2/1", 2)]


def _ordered(tmp_path: Path, name: str, cells: str) -> list[str]:
    """The texts of rows whose column has such cells, as they are read; each text is its cell's letter."""
    rows = [
        f"a,{cell},{who},{text}\n"
        for cell, who, text in zip(cells.split("|"), ["doctor", "patient"] * 2, "ABCD", strict=False)
    ]
    (one,) = read(write(tmp_path, "t.csv", f"id,{name},speaker,text\n{''.join(rows)}"))
    return [turn.text for turn in one.turns]


@pytest.mark.parametrize(
    ("name", "cells", "order"),
    [
        ("turn", "1.0|10.0|2.0", "ACB"),
        ("turn", "T2|T10|T1", "CAB"),
        ("turn", "1|2b|10|2a", "ADBC"),
        ("utterance_id", "c-3|c-1|c-20", "BAC"),
        ("utterance_id", "f3|a1|c2", "ABC"),
        ("order", "3|1|2", "BCA"),
        ("Line", "10|9|8", "CBA"),
        ("order", "AB|BA|AB", "ABC"),
        ("line", "2|1|2", "ABC"),
        ("timestamp", "2024-05-01 10:02|2024-05-01 10:01|2024-05-01 10:01", "CBA"),
        ("created_at", "2024-05-01T10:00:00+01:00|2024-05-01T09:30:00Z|2024-05-01T09:10:00.5Z", "ACB"),
        ("time", "13.05.2024 10:05|13.05.2024 9:05", "BA"),
        ("time", "1:05 PM|12:10 PM|9:05 AM", "CBA"),
        ("time", "9:05|10:05|11:00", "ABC"),
        ("time", "23:58|23:59|00:01", "ABC"),
        ("start", "0.5|7.5|0.2", "ABC"),
    ],
)
def test_rows_are_read_in_order(name: str, cells: str, order: str, tmp_path: Path) -> None:
    assert "".join(_ordered(tmp_path, name, cells)) == order


@pytest.mark.parametrize(("name", "cells"), [("turn", "2|1"), ("created_at", "2024-05-01 10:05|2024-05-01 10:00")])
def test_exchanges_are_read_in_order(name: str, cells: str, tmp_path: Path) -> None:
    late, early = cells.split("|")
    path = write(tmp_path, "t.csv", f"id,{name},user,assistant\na,{late},It hurts.,Where?\na,{early},Help me.,Yes?\n")
    (one,) = read(path)
    assert [turn.text for turn in one.turns] == ["Help me.", "Yes?", "It hurts.", "Where?"]


@pytest.mark.parametrize(("first", "second"), [("assistant", "user"), ("user", "assistant")])
def test_of_models_the_user_asks(first: str, second: str, tmp_path: Path) -> None:
    texts = {"user": "It hurts.", "assistant": "Where?"}
    path = write(tmp_path, "t.csv", f"{first},id,{second}\n{texts[first]},a,{texts[second]}\n")
    (one,) = read(path)
    assert [turn.text for turn in one.turns] == ["It hurts.", "Where?"]


@pytest.mark.parametrize("name", ["mother", "nurse"])
def test_a_third_who_says_one_thing_is_asked_about(name: str, tmp_path: Path) -> None:
    rows = "a,How are you today?,Not well I fear.,He did not sleep at all.\na,Since when?,Since May.,\n"
    path = write(tmp_path, "t.csv", f"id,doctor,patient,{name}\n{rows}")
    check_question(path, f"leave_out={name}")
