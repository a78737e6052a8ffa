"""Dialogues in cells of published data: every turn and speaker as a few lines of direct parsing have them."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.labelled_text import cell_labels
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.transcripts.files import check_question, check_refusal, read, workbook, write

FORMS = Path(__file__).resolve().parents[3] / "shared" / "data" / "forms"

ACI: dict[str, Any] = {"roles": {"patient_guest": "other"}}
GUESTS = ("Guest_family", "Guest_family_1", "Guest_family_2", "Guest_family2", "Guest_clinician")
MTS: dict[str, Any] = {"roles": dict.fromkeys(GUESTS, "other")}
CRAFT: dict[str, Any] = {"roles": {"Doctor-AI": "clinician", "Patient-AI": "patient"}}


def sample(name: str) -> Path:
    path = FORMS / name
    if not path.exists():
        pytest.skip("the samples of forms are not here")
    return path


def plain_turns(path: Path, label: str) -> dict[str, list[tuple[str, str]]]:
    """Speaker and text of each turn of each dialogue: the texts between the labels of the sample's own speakers."""
    dialogues = {}
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            parts = re.split(label, row["dialogue"], flags=re.MULTILINE)
            turns = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
            dialogues[f"{path.stem}#{number}"] = [(who, text.strip()) for who, text in turns if who or text.strip()]
    return dialogues


@pytest.mark.parametrize(
    ("name", "label", "options", "left_out"),
    [
        ("aci-bench/aci_guests.csv", r"^\[(doctor|patient|patient_guest)\]", ACI, []),
        # One dialogue begins without a label, one has a turn without a word.
        ("aci-bench/aci_hard.csv", r"^\[(doctor|patient|patient_guest)\]", ACI, [1, 2]),
        # In one dialogue the doctor's turn goes on in the patient's line.
        ("mts-dialog/validation.csv", r"(?:^|(?<=\. ))[ \t]*(Doctor|Patient|Guest_\w+):", MTS, []),
        ("mts-dialog/test1_guests.csv", r"^\"?[ \t]*(Doctor|Patient|Guest_\w+):", MTS, []),
        ("craft-md/dialogues_two_systems.csv", r"^ *(Doctor-AI|Patient-AI) *:", CRAFT, []),
    ],
)
def test_every_turn_of_a_sample(
    name: str, label: str, options: dict[str, Any], left_out: list[int], tmp_path: Path
) -> None:
    path = sample(name)
    expected = plain_turns(path, label)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Some dialogues are of one side only, some of guests and a doctor: they are read too.
    reading = Reading([path], ReadOptions(on_error="skip", columns={"id": ""}, **options))
    found = {one.id: [(turn.speaker, turn.text) for turn in one.turns] for one in reading}
    assert len(expected) == len(rows)
    for number in left_out:
        del expected[f"{path.stem}#{number}"]
    assert found == expected
    assert len(reading.skipped) == len(left_out)


def test_a_guest_is_nobody_else() -> None:
    """37 of 99 turns were counted as the doctor's and the patient's."""
    path = sample("aci-bench/aci_guests.csv")
    one = next(one for one in Reading([path], ReadOptions(**ACI)) if one.id == "D2N185")
    assert {turn.role for turn in one.turns if turn.speaker == "patient_guest"} == {"other"}
    counts = Counter(turn.speaker for turn in one.turns)
    assert counts["patient_guest"] == 37
    assert counts.total() == 99


def test_what_is_hard_in_dialogues_is_told_or_read() -> None:
    path = sample("aci-bench/aci_hard.csv")
    reading = Reading([path], ReadOptions(on_error="skip", drop_empty=True, **ACI))
    found = {one.id: one for one in reading}
    assert sorted(found) == ["D2N072", "D2N076", "D2N138"]
    assert [str(error).partition(": ")[2] for error in reading.skipped] == [
        "the dialogue does not begin with a speaker but with 'hi , susan , how are you ?'; begin each turn with a "
        "label such as Doctor:"
    ]
    (noise,) = (turn for turn in found["D2N138"].turns if "inaudible" in turn.text)
    assert noise.role == "clinician"
    assert reading.account.left_out["empty turns"] == 1
    lines = path.read_text().split("\n")
    check_refusal(
        path,
        "does not begin with a speaker",
        columns={"id": ""},
        on_error="stop",
        roles=ACI["roles"],
        drop_empty=False,
        format="cells",
    )
    empty = write_without_first_errors(path)
    assert lines[empty - 1].strip() == "[doctor]"


def write_without_first_errors(path: Path) -> int:
    """The line that is told of the turn without a word."""
    reading = Reading([path], ReadOptions(on_error="skip", **ACI))
    list(reading)
    (error,) = (error for error in reading.skipped if "no text" in str(error))
    match = re.search(r":(\d+), turn 8:", str(error))
    assert match
    return int(match[1])


@pytest.mark.parametrize(
    ("cell", "speakers"),
    [
        ("[doctor] Hello.\n[patient] Hi.\n[patient_guest] He sleeps badly.", ["doctor", "patient", "patient_guest"]),
        ("doctor: Hello.\npatient: Hi.\nmother: He sleeps badly.", ["doctor", "patient", "mother"]),
        ("Doctor: Hello.\nPatient: Hi.\nnurse: Come in.", ["Doctor", "Patient", "nurse"]),
        ("Doctor: Hello.\nPatient: Hi.\npatient's wife: No.", ["Doctor", "Patient", "patient's wife"]),
        ("Doctor: Hello. Mother: He sleeps badly. Patient: Hi.", ["Doctor", "Mother", "Patient"]),
        ("doctor: Hello. mother: He sleeps badly. patient: Hi.", ["doctor", "mother", "patient"]),
        ("医生：你好。母亲：他睡不着。患者：是的。", ["医生", "母亲", "患者"]),
        ("Doctor: Hello. Patient: Hi.\nDoctor: Well?\nPatient: No.", ["Doctor", "Patient", "Doctor", "Patient"]),
        ("[doctor] Hello. [patient] Hi.\n[doctor] Well?", ["doctor", "patient", "doctor"]),
        ("[doctor] Hello.\n[ inaudible 00:09:25 ] sick.\n[patient] Hi.", ["doctor", "patient"]),
        ("[doctor] Hello.\n[laughs] well.\n[patient] Hi.", ["doctor", "patient"]),
        ("Doctor: Hello.\nPatient: See http://a.b or\nhttps://a.b", ["Doctor", "Patient"]),
        ("Doctor: Hello.\nPatient: I think\nof it like so: no.", ["Doctor", "Patient"]),
        ('"Doctor: Hello.\nPatient: Hi."', ["Doctor", "Patient"]),
        ("**Doctor:** Hello.\n**Patient:** Hi.", ["Doctor", "Patient"]),
        ("Doctor-AI : Hello. \n Patient-AI : Hi.", ["Doctor-AI", "Patient-AI"]),
    ],
)
def test_labels(cell: str, speakers: list[str]) -> None:
    assert [label.name for label in cell_labels(cell, {})] == speakers


def test_messages_in_a_cell_are_read(tmp_path: Path) -> None:
    messages = [{"role": "assistant", "content": "What brings you?"}, {"role": "user", "content": 'Sleep, "bad"'}]
    sharegpt = {"conversations": [{"from": "gpt", "value": "Hello."}, {"from": "human", "value": "Hi."}]}
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "log"], ["a", json.dumps(messages)], ["b", json.dumps(sharegpt, indent=1)]])
    one, two = read(path)
    assert [(turn.role, turn.text) for turn in one.turns] == [
        ("clinician", "What brings you?"),
        ("patient", 'Sleep, "bad"'),
    ]
    assert [(turn.role, turn.speaker) for turn in two.turns] == [("clinician", "gpt"), ("patient", "human")]


def test_notes_with_labels_are_not_the_dialogue(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", 'id,note,chat\n1,"Allergies: none.\nPlan: sleep.","Doctor: Hello.\nPatient: Hi."\n')
    (one,) = read(path)
    assert [turn.text for turn in one.turns] == ["Hello.", "Hi."]


def test_two_columns_of_dialogues_are_asked_for(tmp_path: Path) -> None:
    cell = '"Doctor: Hello.\nPatient: Hi."'
    path = write(tmp_path, "t.csv", f"id,first,second\n1,{cell},{cell}\n")
    check_question(path, "`columns=dialogue=first`", "`columns=dialogue=second`", where=str(path))
    assert len(read(path, columns={"dialogue": "second"})) == 1


@pytest.mark.slow
def test_the_experts_workbook_as_published() -> None:
    path = sample("craft-md/expert1_as_published.xlsx")
    check_question(path, "`sheet=all`")
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    expected = {
        f"{sheet.title}/{row[0]}": row[3]
        for sheet in book.worksheets
        for row in sheet.iter_rows(min_row=7, values_only=True)
        if row[0]
    }
    reading = Reading([path], ReadOptions(sheet="all", **CRAFT))
    found = {one.id: one for one in reading}
    assert found.keys() == expected.keys()
    for name, one in found.items():
        system, _, case = name.partition("/")
        assert (one.case_id, one.factors["sheet"]) == (case, system)
        assert [turn.text for turn in one.turns] == [
            turn.strip() for turn in re.split(r"(?:Doctor|Patient)-AI\s*:", expected[name])[1:]
        ]
    (kind,) = reading.account.kinds
    assert kind.header == 6
    assert kind.sheets == ("GPT-4", "GPT-3.5", "LLaMA2", "Mistral-v2")
    assert reading.account.lost["rows above the column names"].number == 16
    assert {one.system for one in Reading([path], ReadOptions(sheet="LLaMA2", **CRAFT))} == {None}


def test_a_sheet_of_notes_beside_the_table(tmp_path: Path) -> None:
    import io

    import openpyxl

    rows = [["id", "speaker", "text"], ["a", "doctor", "Hello."], ["a", "patient", "Hi."]]
    book = openpyxl.load_workbook(io.BytesIO(workbook(rows)))
    book.create_sheet("Notes", 0).append(["Only for internal use."])
    file = io.BytesIO()
    book.save(file)
    reading = Reading([write(tmp_path, "t.xlsx", file.getvalue())])
    (one,) = reading
    assert one.source.endswith("t.xlsx sheet Sheet:2")
    (kind,) = reading.account.kinds
    assert (kind.sheets, kind.other_sheets) == (("Sheet",), ("Notes",))


LABELLED = "Patient: It hurts.\nDoctor: Where?\nPatient: Here."
MESSAGES = json.dumps(
    [{"from": who, "value": text} for who, text in (("human", "It hurts."), ("gpt", "Where?"), ("human", "Here."))]
).replace('"', '""')


@pytest.mark.parametrize("talk", [LABELLED, MESSAGES])
def test_the_answer_in_a_column_of_its_own(talk: str, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", f'id,talk,response\na,"{talk}",Please rest your knee.\nb,"{talk}",Let me see it.\n')
    with pytest.raises(AmbiguousError, match="columns=dialogue=talk,answer=response"):
        read(path)
    for one in read(path, columns={"dialogue": "talk", "answer": "response"}):
        assert [turn.role for turn in one.turns] == ["patient", "clinician"] * 2
        assert one.turns[3].text in ("Please rest your knee.", "Let me see it.")


def test_a_dialogue_goes_on_behind_a_label_only(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", f'id,talk,response\na,"{LABELLED}",Please rest your knee.\n')
    with pytest.raises(InputError, match="'response'"):
        read(path, columns={"dialogue": "talk+response"})
    path = write(tmp_path, "u.csv", "id,talk,response\na,Patient: It hurts.,Please rest your knee.\n")
    check_refusal(path, where=f"{path}:2", columns={"dialogue": "talk", "answer": "response"})


def test_a_row_whose_text_goes_on_with_another_speaker_stops(tmp_path: Path) -> None:
    table = "id,speaker,text\na,Doctor,Hello.\na,Patient,Hi.\na,Doctor,Since when? Patient: May.\na,Patient,Yes.\n"
    path = write(tmp_path, "rows.csv", table)
    check_question(path, "'Patient'", where=f"{path}:4")
    (one,) = read(path, leave_out=("labels within texts",))
    assert one.turns[2].text == "Since when? Patient: May."


def test_a_note_behind_a_name_stays_with_the_turn(tmp_path: Path) -> None:
    dialogue = "Doctor: Hello.\nPatient (crying): I can't. Doctor (softly): Why?"
    path = write(tmp_path, "talk.csv", f'id,dialogue\na,"{dialogue}"\n')
    (one,) = read(path)
    assert [(turn.role, turn.text) for turn in one.turns] == [
        ("clinician", "Hello."),
        ("patient", "(crying): I can't."),
        ("clinician", "(softly): Why?"),
    ]
