"""What is said of files, options and transcripts that can't be read, word for word."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from bedside.core.errors import BedsideError
from bedside.transcripts.contract import READERS, transcript_endings
from bedside.transcripts.factor_kinds import check_declared, declared_kinds
from bedside.transcripts.memory_reading import open_reading
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.transcripts.files import GOOD, document, read, write
from tests.transcripts.test_bad_input import CASES as BAD_FILES, Content
from tests.transcripts.test_file_kinds import archive
from tests.transcripts.test_labelled_lines import LACKING, WRAPPED
from tests.transcripts.test_recordings import CHAT, DOCTOR, PATIENT, ZOOM, grid
from tests.transcripts.test_request_answers import (
    AGAIN,
    ANSWER,
    CHOICES,
    FIRST,
    GENERATION,
    LAST,
    NEXT,
    QUOTED,
    SAID,
    SENT,
    WORDS,
)
from tests.transcripts.test_tables import TALK

TABLE = "id,speaker,text\na,doctor,Hello.\na,patient,Hi.\n"
LOGGED = {"who": {"model": "A"}, "log": SAID}
TWO_TIERS = {"A words": DOCTOR, "A sounds": DOCTOR, "B words": PATIENT}
ELAN = READERS.load("elan").example
WORD_TABLE = [["Speaker", "English", "Notes"], ["T", "Hello.", "warm"], ["C", "I sleep badly.", "quiet"]]
SIMULATED = {"system": "You are Ruth, a patient with migraine. Stay in character.", "messages": SAID[:2]}


def talk(**changes: Any) -> Callable[[], str]:
    """A line of bedside's own form with other fields."""
    return lambda: json.dumps({**json.loads(GOOD % "a"), **changes})


def turn(**changes: Any) -> Callable[[], str]:
    """A line of bedside's own form whose last turn has other fields."""
    first, last = json.loads(GOOD % "a")["turns"]
    return talk(turns=[first, {**last, **changes}])


def provenance(**item: Any) -> Callable[[], str]:
    return talk(provenance=[item])


def records(*items: Any) -> Callable[[], str]:
    return lambda: "".join(json.dumps(item) + "\n" for item in items)


def messages(*said: tuple[str, str], name: str = "name") -> Callable[[], str]:
    """A log of who and by which name, each saying something."""
    return records({"messages": [{"role": role, name: who, "content": "Hello."} for role, who in said]})


def calls(*changes: dict[str, Any]) -> Callable[[], str]:
    return records(*({**GENERATION, **change} for change in changes))


def cues(*texts: str) -> str:
    return "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}\n\n" for n, text in enumerate(texts, 1))


def sheets(merged: str = "", **rows: list[list[str]]) -> Callable[[], bytes]:
    def content() -> bytes:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, cells in rows.items():
            sheet = book.create_sheet(name)
            for row in cells:
                sheet.append(row)
        if merged:
            book["Talk"].merge_cells(merged)
        file = io.BytesIO()
        book.save(file)
        return file.getvalue()

    return content


def nodes() -> str:
    """A conversation of ChatGPT whose two messages each stand below the other."""
    mapping = {
        here: {
            "id": here,
            "parent": there,
            "children": [there],
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": ["a"]}},
        }
        for here, there, role in (("1", "2", "user"), ("2", "1", "assistant"))
    }
    return json.dumps([{"mapping": mapping, "current_node": "1"}])


#: A file that isn't read, and how it was asked for.
FILES: dict[str, tuple[str, Content] | tuple[str, Content, dict[str, Any]]] = {
    **{name: (file, content) for name, file, content, _ in BAD_FILES},
    # bedside's own lines
    "unknown key": ("t.jsonl", talk(turn=[])),
    "factors in a list": ("t.jsonl", talk(factors=[])),
    "factor of several values": ("t.jsonl", talk(factors={"a": []})),
    "language": ("t.jsonl", talk(language="English")),
    "id": ("t.jsonl", talk(id=True)),
    "unknown key of a turn": ("t.jsonl", turn(who="x")),
    "number of a turn": ("t.jsonl", turn(index=4)),
    "no speaker": ("t.jsonl", turn(role=None)),
    "meta": ("t.jsonl", turn(meta=[1])),
    "codes": ("t.jsonl", turn(meta={"codes": {"anna": "open"}})),
    "kind of provenance": ("t.jsonl", provenance(kind="x", text="a")),
    "place of provenance": ("t.jsonl", provenance(kind="system", text="a", before=3)),
    "key of provenance": ("t.jsonl", provenance(kind="system", text="a", turn=1)),
    # tables
    "no speaker's column": ("t.csv", "id,text\na,Hello.\n"),
    "too few cells": ("t.csv", TABLE + "b,doctor\n"),
    "quotes": ("t.csv", 'id,speaker,text\na,doctor,"Hello." she said\n'),
    "column twice": ("t.csv", "id,text,text\na,doctor,Hello.\n"),
    "rows apart": ("t.csv", TABLE + "b,doctor,Hello.\nb,patient,Hi.\na,patient,Ah.\n"),
    "turn twice": ("t.csv", "id,turn,speaker,text\na,0,doctor,Hello.\na,0,patient,Hi.\n"),
    "two texts": ("t.csv", "id,turn,speaker,text,coder\na,0,doctor,Hello.,x\na,0,doctor,Hallo.,y\n"),
    "coder twice": ("t.csv", "id,turn,speaker,text,coder\na,0,doctor,Hello.,x\na,0,doctor,Hello.,x\n"),
    "coders without turns": ("t.csv", "id,speaker,text,coder\na,doctor,Hello.,x\n"),
    "label": ("t.csv", "id,speaker,text,question\na,doctor,Hello.,maybe\na,patient,Hi.,\n"),
    "system changes": ("t.csv", "id,speaker,text,system\na,doctor,Hello.,A\na,patient,Hi.,B\n"),
    "no id": ("t.csv", "id,speaker,text\n,doctor,Hello.\n"),
    "cell without text": ("t.csv", "id,speaker,text\na,doctor,Hello.\na,patient,\n"),
    "no number": ("t.csv", "id,turn,speaker,text\na,3,doctor,A\na,,patient,B\na,1,doctor,C\n"),
    "no such column": ("t.csv", TABLE, {"columns": {"text": "sad"}}),
    "no such field": ("t.csv", TABLE, {"columns": {"txt": "text"}}),
    "no such row": ("t.csv", TABLE, {"header_row": 9, "format": "rows"}),
    "no such encoding": ("t.csv", TABLE.replace("i", "ü"), {"encoding": "latin-17"}),
    "other encoding": ("t.csv", TABLE.encode() + b"b,doctor,Schn\x81\n", {"encoding": "cp1252"}),
    "encodings in doubt": ("t.csv", TABLE.replace("Hello.", "Jak pan śpi?").encode("cp1250")),
    "talk above the header": ("t.csv", f"Doctor: Was it you who called?\n\n{TABLE}".replace(",", ";")),
    "second header": ("t.csv", "id,patient,doctor\na,Bad.,Why?\nid,patient,doctor\nb,I worry.,Well?\n"),
    "id in doubt": ("t.csv", "Block,speaker,text\nS1,doctor,A\nS1,patient,B\nS2,doctor,C\nS2,patient,D\n"),
    "id or number": ("t.csv", "id,speaker,text\nx_0,doctor,Hello.\nx_1,patient,Hi.\nx_2,doctor,Well?\n"),
    "two ids": ("t.csv", "dialogue_id,visit,speaker,text\na,1,doctor,A\na,1,patient,B\na,2,doctor,C\nb,2,patient,D\n"),
    "sessions": ("t.csv", "site,session,speaker,text\nP,1,doctor,A\nP,1,patient,B\nQ,1,doctor,C\nQ,1,patient,D\n"),
    "exchanges": ("t.csv", "note,doctor,patient\na,Hello there.,Hi you.\na,Well then?,\nb,How now?,So so.\n"),
    "words of a third": ("t.csv", "id,patient,doctor,mother\na,I am ill.,Why?,He is awake.\na,No.,Well?,Not at all.\n"),
    "two dialogues in a row": ("t.csv", 'id,first,second\n1,"Doctor: A\nPatient: B","Doctor: A\nPatient: B"\n'),
    "dialogue without a speaker": ("t.csv", 'id,dialogue\na,"hi , susan\nDoctor: Hello.\nPatient: Hi."\n'),
    "answer without a speaker": (
        "t.csv",
        'id,talk,response\na,"Patient: It hurts.\nDoctor: Where?\nPatient: Here.",Please rest your knee.\n',
        {"columns": {"dialogue": "talk+response"}},
    ),
    "one side": (
        "t.csv",
        "id,talk,response\na,Patient: It hurts.,Please rest your knee.\n",
        {"columns": {"dialogue": "talk", "answer": "response"}},
    ),
    "label within a text": (
        "t.csv",
        "id,speaker,text\na,Doctor,A.\na,Patient,B.\na,Doctor,C? Patient: May.\na,Patient,D.\n",
    ),
    "judgements": (
        "t.jsonl",
        records({"question_id": 1, "model_1": "A", "model_2": "B", "winner": "A", "judge": ["J", "pair"]}),
    ),
    "record of another kind": (
        "t.jsonl",
        records(*({"dialogue_id": "a", "role": role, "content": "A b."} for role in ("user", "assistant")), [1]),
    ),
    "merged cells": ("t.xlsx", sheets(Talk=[*TALK, ["b", "doctor", "And now?"]], merged="C3:C4")),
    "hidden table": ("t.xlsx", sheets(Talk=TALK, More=[["Doctor: How did you sleep?"], ["Patient: Not well."]])),
    "tables alike": ("t.xlsx", sheets(One=TALK, Two=TALK)),
    "no such worksheet": ("t.xlsx", sheets(One=TALK, Two=TALK), {"sheet": "Three"}),
    # lines and documents
    "no speakers": ("t.md", "# Case\n\n## Patient\n\nAged 30.\n\n## Doctor\n\nA resident.\n"),
    "line without a speaker": ("t.txt", LACKING.format("I do not want to live any more")),
    "speaker in doubt": ("t.txt", WRAPPED.format('"Patient: I can\'t."')),
    "two conversations": ("t.txt", "Doctor: Hello.\nPatient: Hi.\n\nSession 2\nDoctor: Hello.\nPatient: Hi.\n"),
    "dialogue's id twice": ("t.txt", "id=1\n\nDialogue\nPatient:\nHi.\n\nDoctor:\nHello.\n\n" * 2),
    "sentence above": ("t.txt", "Session of 12 May\nI slept very badly.\nDoctor: Hello.\nPatient: I sleep badly.\n"),
    "two columns of words": ("t.docx", lambda: document(WORD_TABLE)),
    "no such column of words": ("t.docx", lambda: document(WORD_TABLE), {"columns": {"text": "German"}}),
    "half a document": ("t.docx", lambda: document("Doctor: Hello.", "Patient: Hi.")[:9000]),
    # recordings
    "time of a cue": ("t.vtt", ZOOM.replace("00:00:04.000 --> 00:00:05.000", "00:00:04.000 -> 00:00:05.000")),
    "nobody in subtitles": ("t.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello.\n\n00:03.000 --> 00:04.000\nHi.\n"),
    "dashes": ("t.srt", cues("Doctor: Hello.", "Patient: Hi.", "- Why?\n- Why not?", "Patient: I sleep badly.")),
    "another speaks": ("t.srt", cues(">> DOCTOR: Hello.", ">> PATIENT: Hi.", ">> Since when?", ">> PATIENT: May.")),
    "number in a TextGrid": ("t.TextGrid", grid(TWO_TIERS).replace("intervals: size = ", "intervals: size = -1 ! ")),
    "half a TextGrid": ("t.TextGrid", grid(TWO_TIERS)[:300].rpartition("\n")[0]),
    "no such tier": ("t.TextGrid", grid(TWO_TIERS), {"columns": {"text": "C*"}}),
    "tier chosen twice": ("t.TextGrid", grid(TWO_TIERS), {"columns": {"text": "A words", "patient": "* words"}}),
    "two tiers": ("t.eaf", ELAN.replace('PARTICIPANT="Patient"', 'PARTICIPANT="Doctor"')),
    "half of ELAN": ("t.eaf", "\n".join(ELAN.splitlines()[:9])),
    "entities in ELAN": (
        "t.eaf",
        ELAN.replace("<ANNOTATION_DOCUMENT", "<!DOCTYPE x>\n<ANNOTATION_DOCUMENT"),
        {"format": "elan"},
    ),
    "line of CHAT": ("t.cha", CHAT.replace("%com:", "com:")),
    # logs of models
    "no such messages": ("t.jsonl", records(LOGGED), {"columns": {"messages": "talk"}}),
    "no such system": ("t.jsonl", records(LOGGED), {"columns": {"messages": "log", "system": "who.x"}}),
    "message that is none": ("t.json", records({"messages": [*SAID, "x"]})),
    "played patient": ("t.json", records(SIMULATED)),
    "two labels of a side": ("t.json", messages(("user", "a"), ("patient", "b"), name="at")),
    "label and name": ("t.json", messages(("user", "Doctor"), ("assistant", "PatientAgent"))),
    "third under a label": ("t.json", messages(("user", "Anna"), ("user", "Mother of Anna"), ("assistant", ""))),
    "two lists": ("t.jsonl", records({"prompt": SAID[:2], "later": SAID[2:]})),
    "two answers": ("t.jsonl", records({"messages": SENT, "choices": [{"text": LAST}, {"text": "Take a walk."}]})),
    "answer under two keys": ("t.jsonl", records({"messages": SENT, "response": LAST, "output": "Take a walk."})),
    "another answer": ("t.jsonl", records({"messages": SAID, "response": "Take a walk each day."})),
    "answer in doubt": ("t.jsonl", records({"messages": SENT, "zzz": "Take a walk each day."})),
    "question in doubt": ("t.jsonl", records({"messages": SENT, "prompt": "Be kind to all.", "response": LAST})),
    "message elsewhere": ("t.jsonl", records({"messages": SENT, "made": [{"message": ANSWER}]})),
    "talk quoted": ("t.jsonl", records({"messages": [{"role": "user", "content": QUOTED}, ANSWER]})),
    "record before": ("t.jsonl", records({"messages": SAID, "previous_response_id": "r1"})),
    "record that goes on": ("t.jsonl", records({"messages": SAID[:2]}, {"messages": SAID})),
    "words lost": ("t.jsonl", records({"messages": SENT, "response": {**CHOICES, "note": "This was made by hand."}})),
    "call made again": ("t.jsonl", calls(FIRST, AGAIN)),
    "call of another": ("t.jsonl", calls(FIRST, {**AGAIN, "input": "My knee hurts."}, NEXT)),
    "no times": ("t.jsonl", calls(*({"input": WORDS[at], "output": WORDS[at + 1]} for at in (0, 2)))),
    "times that differ": (
        "t.jsonl",
        calls(*({"id": when, "startTime": when, "input": when, "output": LAST} for when in ("soon", "later"))),
    ),
    "no calls": ("t.jsonl", records({"run_type": "tool", "inputs": {}, "outputs": {}})),
    "half an archive": ("t.eval", archive(header_json='{"eval": {"model": "A"}}', samples__1_json="{}")[:200]),
    "circle": ("conversations.json", nodes),
    "replies alone": ("t.jsonl", records({"custom_id": "x", "response": {"status_code": 200, "body": {}}})),
    # what bedside doesn't read
    "another kind of file": ("t.pdf", b"%PDF-1.7"),
    "fields of a path": ("A/1.jsonl", GOOD % "a", {"path_fields": "{system}-{case_id}"}),
    "no pattern": ("A/1.jsonl", GOOD % "a", {"path_fields": "{a}/{a}"}),
    "format": ("t.jsonl", GOOD % "a", {"format": "mdd5"}),
}  # fmt: skip


def empty_folder(folder: Path) -> object:
    write(folder, "notes.odd", "notes")
    return read(folder)


def companions(folder: Path) -> object:
    write(folder, "patient_1_label.json", '{"ICD_Code": "F41", "Diagnosis_Result": "x"}')
    return read(folder)


def same_ids(folder: Path) -> object:
    for system in ("A", "B"):
        write(folder, f"{system}.jsonl", GOOD % "1")
    return read(folder)


def half_alone(folder: Path) -> object:
    write(folder, "v1_doctor.TextGrid", grid({"Doctor": DOCTOR}))
    return read(write(folder, "v1_patient.TextGrid", grid({"Patient": PATIENT})))


def stopped_simulation(folder: Path) -> object:
    write(folder, "log.sqlite", "")
    return read(folder)


def in_memory(*changed: Any, **changes: Any) -> object:
    """Transcripts that are given as they are; without any, a sound one with other fields."""
    sound = conversation(("clinician", "How are you?"), ("patient", "Well."), source="t")
    return list(open_reading(list(changed) or [replace(sound, **changes)]))


def first_turn(**changes: Any) -> object:
    made: Transcript = conversation(("clinician", "How are you?"), ("patient", "Well."))
    return in_memory(turns=(replace(made.turns[0], **changes), made.turns[1]))


#: What is asked for, where it isn't one file.
OTHERS: dict[str, Callable[[Path], object]] = {
    "no path": lambda folder: Reading([]),
    "no such file": lambda folder: read(folder / "none.jsonl"),
    "no file in a folder": empty_folder,
    "companions alone": companions,
    "id in two files": same_ids,
    "file that goes with another": half_alone,
    "stopped simulation": stopped_simulation,
    "no transcripts": lambda folder: open_reading(7),  # type: ignore[arg-type]
    "dict": lambda folder: open_reading([{"id": "t"}]),  # type: ignore[arg-type]
    "dict among transcripts": lambda folder: in_memory(conversation(("clinician", "A"), ("patient", "B")), {}),
    "options of files": lambda folder: open_reading([conversation()], ReadOptions(on_error="skip")),
    "twice in memory": lambda folder: in_memory(*[conversation(("clinician", "A"), ("patient", "B"))] * 2),
    "no id in memory": lambda folder: in_memory(id=""),
    "no JSON": lambda folder: in_memory(reference={"a": {1}}),
    "turn of another type": lambda folder: in_memory(turns=("Hello.",)),
    "number of a turn in memory": lambda folder: first_turn(index=4),
    "role in memory": lambda folder: first_turn(role="doctor"),
    "speaker in memory": lambda folder: first_turn(speaker=""),
    "condition and outcome": lambda folder: declared_kinds(ReadOptions(conditions=("site",), outcomes=("site",))),
    "no such factor": lambda folder: check_declared(declared_kinds(ReadOptions(outcomes=("setting",))), ["settings"]),
}
GOLDEN = {
    "empty": "FOLDER/t.jsonl: the file is empty; remove it",
    "blank": "FOLDER/t.csv: the file is empty; remove it",
    "truncated gzip": "FOLDER/t.jsonl.gz: the gzip file is truncated or damaged; copy or download it again",
    "damaged gzip": "FOLDER/t.jsonl.gz: the gzip file is truncated or damaged; copy or download it again",
    "third line is no JSON":
        "FOLDER/t.jsonl:3: not JSON (unexpected character, expected a JSON value at column 1); mend or remove it",
    "first line is no JSON":
        "FOLDER/t.jsonl:1: not JSON (unexpected character, expected a JSON value at column 1); mend or remove it",
    "turn without text":
        "FOLDER/t.jsonl:3, turn 1: the turn has no text; give its text as a string, remove the turn, or leave out "
        "all empty ones with `drop_empty`",
    "turn with blank text":
        "FOLDER/t.jsonl:3, turn 1: the turn has no text; give its text as a string, remove the turn, or leave out "
        "all empty ones with `drop_empty`",
    "text is a number":
        "FOLDER/t.jsonl:3, turn 1: the text is not text but the number 3.5; give its text as a string, or remove the"
        " turn",
    "unknown speaker":
        "FOLDER/t.jsonl:3, turn 1: unknown speaker 'Anna' (1 turn in 1 transcript); say who each is: clinician, "
        "patient or other; a guess by their names and by how they talk is `roles=Anna=patient`",
    "unknown speaker of two words":
        "FOLDER/t.jsonl:3, turn 1: unknown speaker 'Dr Smith' (1 turn in 1 transcript); say who each is: clinician, "
        'patient or other; a guess by their names and by how they talk is `roles="Dr Smith=clinician"`',
    "an id twice": "FOLDER/t.jsonl:1 and FOLDER/t.jsonl:3: two transcripts have the id 'a'; give each its own id",
    "mixed encodings":
        "FOLDER/t.jsonl:3: not UTF-8 (byte 0xe9 at column 56); mend it, or say which encoding the file is in with "
        "`encoding=cp1252` (this line may be in it)",
    "mixed encodings in an array":
        "FOLDER/t.json:1: not UTF-8 (byte 0xed at column 94 of the item); mend it, or say which encoding the file is"
        " in with `encoding=cp1252` (this line may be in it)",
    "mixed encodings in a table":
        "FOLDER/t.csv:4: not UTF-8 (byte 0xe9 at column 12); mend it, or say which encoding the file is in with "
        "`encoding=cp1252` (this line may be in it)",
    "line of 20 MB": "FOLDER/t.jsonl:3: the line is longer than 16 MB; put one transcript on a line",
    "item of 20 MB": "FOLDER/t.json:2: not JSON (an item of the array is longer than 16 MB); mend or remove it",
    "object of 20 MB":
        "FOLDER/t.json: the file is larger than 16 MB and neither a JSON array nor JSON lines; write one transcript "
        "a line",
    "neither side":
        "FOLDER/t.jsonl:3: the transcript has neither a clinician nor a patient; say who speaks with `roles`",
    "no turns": "FOLDER/t.jsonl:3: the transcript has no turns; remove it",
    "a column is missing":
        "FOLDER/t.csv:1: no column holds the text; say which with `columns=text=NAME`; columns: id (a), speaker "
        "(doctor)",
    "too many cells":
        "FOLDER/t.csv:4: the row has 4 cells and the header 3; quote cells that hold commas or line breaks",
    "NUL bytes": "FOLDER/t.jsonl: this is not a text file; give a transcript file",
    "NUL byte far into a table": "FOLDER/t.csv:8002: the row holds a NUL byte; save the table as UTF-8 text",
    "lone surrogate": "FOLDER/t.jsonl:3: not JSON (no low surrogate in string at column 93); mend or remove it",
    "deep nesting": "FOLDER/t.jsonl:3: not JSON (depth limit exceeded at column 5155); mend or remove it",
    "nesting that could not be written": "FOLDER/t.jsonl:3: it is nested more than 50 levels deep; flatten it",
    "number too large":
        "FOLDER/t.jsonl:3: not JSON (number is infinity when parsed as double at column 8); mend or remove it",
    "large whole number": "FOLDER/t.jsonl:3: 'id' is not text but the number 1e+30; make it a string",
    "NaN": "FOLDER/t.jsonl:3: not JSON (unexpected character, expected a JSON value at column 8); mend or remove it",
    "object instead of a list": "FOLDER/t.jsonl:3: there is no list called 'turns'; see bedside show jsonl",
    "list instead of an object":
        "FOLDER/t.jsonl:3: a transcript must be an object, not a list; see bedside show jsonl",
    "no workbook": "FOLDER/t.xlsx: the XLSX workbook can't be read; save it again as XLSX or CSV",
    "half a workbook": "FOLDER/t.xlsx: the XLSX workbook can't be read; save it again as XLSX or CSV",
    "entities in a workbook": "FOLDER/t.xlsx: the XLSX workbook can't be read; save it again as XLSX or CSV",
    "bomb of a workbook": "FOLDER/t.xlsx: the workbook is larger than 128 MB; save it as CSV or split it",
    "array that ends early": "FOLDER/t.json:4: not JSON (the file ends before the array does); mend or remove it",
    "bad item of an array":
        "FOLDER/t.json:3: not JSON (unexpected character, expected a string key at column 2 of the item); mend or "
        "remove it",
    "empty array": "FOLDER/t.json: the file holds no transcript; remove it",
    "table without rows": "FOLDER/t.csv: the file holds no transcript; remove it",
    "something else":
        "FOLDER/t.json: bedside knows no transcript format that fits this file; see bedside list readers, or force one "
        "with `format`",
    "records within an object":
        "FOLDER/t.json: bedside knows no transcript format that fits this file; if the list under 'data' holds its "
        "transcripts, write that list as a file of its own",
    "prose":
        "FOLDER/t.csv: bedside knows no transcript format that fits this file; see bedside list readers, or force one "
        "with `format`",
    "unknown key":
        "FOLDER/t.jsonl:1: unknown key 'turn'; known keys: case_id, factors, id, language, provenance, reference, "
        "system, turns",
    "factors in a list": "FOLDER/t.jsonl:1: 'factors' must be an object, not a list; see bedside show jsonl",
    "factor of several values":
        "FOLDER/t.jsonl:1: the factor 'a' is not a single value but a list; put lists and objects in 'reference'",
    "language": "FOLDER/t.jsonl:1: the language 'English' is not a language tag; write it as en or zh-CN",
    "id": "FOLDER/t.jsonl:1: 'id' is not text but true or false; make it a string",
    "unknown key of a turn":
        "FOLDER/t.jsonl:1, turn 1: unknown key 'who'; known keys: index, meta, role, speaker, text",
    "number of a turn":
        "FOLDER/t.jsonl:1, turn 1: the turn says it is number 4; number turns from 0 in order, or leave 'index' out",
    "no speaker": "FOLDER/t.jsonl:1, turn 1: the turn has no speaker; say who speaks, as a string",
    "meta": "FOLDER/t.jsonl:1, turn 1: 'meta' must be an object, not a list; see bedside show jsonl",
    "codes":
        "FOLDER/t.jsonl:1, turn 1: 'codes' must hold {coder: {code: label}}, labels as strings; write for example "
        '{"anna": {"question": "open"}}',
    "kind of provenance": "FOLDER/t.jsonl:1, provenance 0: no provenance is of kind 'x'; its kind is system or tools",
    "place of provenance":
        "FOLDER/t.jsonl:1, provenance 0: there is no turn 3 that it stands before; give 'before' as a number from 0 "
        "to 2",
    "key of provenance":
        "FOLDER/t.jsonl:1, provenance 0: unknown key 'turn'; known keys: before, kind, meta, speaker, text",
    "no speaker's column":
        "FOLDER/t.csv:1: no column holds the speaker; say which with `columns=speaker=NAME`; columns: id (a), text "
        "(Hello.)",
    "too few cells":
        "FOLDER/t.csv:4: the row has 2 cells and the header 3; quote cells that hold commas or line breaks",
    "quotes": "FOLDER/t.csv:2: the table can't be read (',' expected after '\"'); mend the quotes of this row",
    "column twice":
        "FOLDER/t.csv:1: column 'text' stands twice in the header; rename one of them, or say with "
        "`header_row=NUMBER` which row names the columns",
    "rows apart":
        "FOLDER/t.csv:6: the rows of transcript 'a' don't stand together (it began at 2); sort the file by "
        "transcript",
    "turn twice":
        "FOLDER/t.csv:2 and FOLDER/t.csv:3: turn '0' stands twice; number each turn once, or name the column of "
        "coders with `columns=coder=NAME`",
    "two texts":
        "FOLDER/t.csv:2 and FOLDER/t.csv:3: the utterance '0' has two texts; make its rows agree, or number the "
        "turns anew",
    "coder twice": "FOLDER/t.csv:3: coder 'x' coded turn '0' twice; keep one of the rows",
    "coders without turns":
        "FOLDER/t.csv:1: there are coders but no column of turn numbers, so an utterance can't be told from the "
        "next; say which column numbers the turns with `columns=turn=NAME`",
    "label": "FOLDER/t.csv:2: question has no label 'maybe'; labels: none, open, closed",
    "system changes":
        "FOLDER/t.csv:2 and FOLDER/t.csv:3: the system changes within the transcript: 'A' and 'B'; give it one, or "
        "an id of its own",
    "no id": "FOLDER/t.csv:2: the row has no transcript id; fill it",
    "cell without text":
        "FOLDER/t.csv:3: the turn has no text; give its text as a string, remove the turn, or leave out all empty "
        "ones with `drop_empty`",
    "no number":
        "FOLDER/t.csv:3: '' doesn't number a turn as '3' does; number all turns alike, or say with `columns=turn=` "
        "that the rows stand in order",
    "no such column": "FOLDER/t.csv:1: there is no column 'sad'; columns: id, speaker, text",
    "no such field": "FOLDER/t.csv: bedside knows no column 'txt' (`columns`); did you mean text or start?",
    "no such row": "FOLDER/t.csv: the table has no row 9 (`header_row`); check the number",
    "no such encoding":
        "there is no encoding 'latin-17' (`encoding`); name one such as utf-8, utf-16, cp1252 or gb18030",
    "other encoding":
        "FOLDER/t.csv:4: not CP1252 (at column 14); mend it, or say which encoding the file is in with "
        "`encoding=NAME`",
    "encodings in doubt":
        "FOLDER/t.csv:2: the text is not UTF-8, and may be CP1252 ('a,doctor,Jak pan œpi?') or CP1250 ('a,doctor,Jak"
        " pan śpi?') or KOI8_R ('a,doctor,Jak pan °pi?'); say in which the line reads right: `encoding=cp1252`, "
        "`encoding=cp1250`, `encoding=koi8_r` or another, or save it as UTF-8",
    "talk above the header":
        "FOLDER/t.csv:1: above the column names somebody speaks: Doctor: Was it you who called?; leave the rows "
        'above the column names out with `leave_out="rows above the column names"`, or say which row names the '
        "columns with `header_row=NUMBER`",
    "second header":
        "FOLDER/t.csv:3: the names of the columns stand here again, as if another table began; remove the row, or "
        "put the other table in a file of its own",
    "id in doubt":
        "FOLDER/t.csv: no column is known to hold the id of a transcript, and 'Block' has 2 values, each in rows "
        "that stand together: they may be 2 transcripts, or parts of one; say `columns=id=Block` for 2 transcripts, "
        "`columns=id=` for one, or `columns=id=Block+OTHER` if another column tells them too",
    "id or number":
        "FOLDER/t.csv: the column 'id' has another value in each row: it may tell the transcripts, each of one turn,"
        " or number the utterances; say `columns=id=id` if it tells the transcripts, `columns=id=NAME` if another "
        "column does, or `columns=id=` if the file is one transcript",
    "two ids":
        "FOLDER/t.csv: the columns 'dialogue_id' and 'visit' may both tell the transcripts, and not the same ones; "
        'say `columns=id=dialogue_id`, `columns=id=visit`, or `columns="id=dialogue_id+visit"` if both do',
    "sessions":
        "FOLDER/t.csv:2: session '1' is of several in 'site': 'P' and 'Q'; say `columns=\"id=site+session\"` if both "
        "tell a transcript, or `columns=id=session` if it alone does",
    "exchanges":
        "FOLDER/t.csv: each row holds an exchange ('doctor' and 'patient'), and no column is known to hold an id: "
        "each row may be a transcript, or all rows one; say `columns=id=row` if each row is one, `columns=id=` if "
        "all are one, or `columns=id=NAME` if a column tells",
    "words of a third":
        "FOLDER/t.csv:1: the column 'mother' holds what may have been said, beside 'patient' and 'doctor': He is "
        "awake.; leave it out with `leave_out=mother`, or name the columns of those who speak with `columns`",
    "two dialogues in a row":
        "FOLDER/t.csv: the columns 'first' and 'second' both hold dialogues; say which with `columns=dialogue=first`"
        " or `columns=dialogue=second`",
    "dialogue without a speaker":
        "FOLDER/t.csv:4: the dialogue does not begin with a speaker but with 'hi , susan'; begin each turn with a "
        "label such as Doctor:",
    "answer without a speaker":
        "FOLDER/t.csv:4: the cell of 'response' begins with no speaker: Please rest your knee.; say "
        '`columns="dialogue=talk,answer=response"` if it answers the dialogue',
    "one side":
        "FOLDER/t.csv:2: one side speaks in the dialogue, so nothing tells who answers it; write the answer behind "
        "its speaker's label",
    "label within a text":
        "FOLDER/t.csv:4: the text of 'Doctor' goes on with the label of 'Patient': C? Patient: May.; give what each "
        'says a row of its own, or say with `leave_out="labels within texts"` that they are words of one',
    "judgements":
        "FOLDER/t.jsonl: the columns are those of MT-bench; these are judges' preferences: read them as ratings",
    "record of another kind": "FOLDER/t.jsonl:3: this is no object, as the other rows are; mend or remove it",
    "merged cells":
        "FOLDER/t.xlsx: the value of C3:C4 can't be read: they are merged into one; write the value into each cell, "
        "and save the file again",
    "hidden table":
        "FOLDER/t.xlsx: the worksheet 'More', which isn't read, may hold a talk, too; say `sheet=Talk` to read that "
        "alone, or `sheet=More`",
    "tables alike":
        "FOLDER/t.xlsx: 2 worksheets have the same columns, and may be read as one table or one alone: 'One', 'Two';"
        " `sheet=all` reads all of them, `sheet=One` reads one of them",
    "no such worksheet":
        "FOLDER/t.xlsx: the workbook has no worksheet 'Three' (`sheet`); name one of 'One', 'Two', or all",
    "no speakers":
        "FOLDER/t.md: no lines begin with the names of two speakers; begin each turn with who speaks, such as "
        "Doctor: and Patient:, or say who is who with `roles=NAME=clinician`",
    "line without a speaker":
        "FOLDER/t.txt:12: this line begins with no speaker, as nearly all others do: I do not want to live any more;"
        " begin it with who says it; it goes on with the turn before where `roles` names two who speak",
    "speaker in doubt":
        "FOLDER/t.txt:6: '\"Patient' (1 line, such as line 6: \"Patient: I can't.\") may be who speaks, or words of the"
        ' turn before; say that it is no speaker with `roles="?Patient"=text`, or begin it with who says it',
    "two conversations":
        "FOLDER/t.txt: the text is of 2 conversations, or of one with headings in it: 'Session 2' (line 4); save "
        "each as a file of its own, or say that it is one with `leave_out=headings`",
    "dialogue's id twice": "FOLDER/t.txt:1: two dialogues have the id '1'; give each an id of its own",
    "sentence above":
        "FOLDER/t.txt:2: the text under 'lines above the first speaker' would be lost, which may have been said: I "
        'slept very badly.; leave it out with `leave_out="lines above the first speaker"`, or begin it with who says'
        " it",
    "two columns of words":
        "FOLDER/t.docx, table 1, row 1: columns 2 and 3 of the table may both hold what is said; name the columns in"
        " its first row and say which with `columns=text=NAME`",
    "no such column of words":
        "FOLDER/t.docx, table 1, row 1: there is no column 'German'; columns: Speaker, English, Notes",
    "half a document": "FOLDER/t.docx: the archive is damaged; copy or save it again",
    "time of a cue":
        "FOLDER/t.vtt:11: this is no time of a cue, and no text of one: '3'; write the time as 00:00:01.000 --> "
        "00:00:04.000, with the cue's text on the next line",
    "nobody in subtitles":
        "FOLDER/t.vtt: the subtitles name nobody who speaks; export them with the speakers' names, as <v Name> or "
        "before each text as Name:",
    "dashes":
        "FOLDER/t.srt:12: dashes say that two speak in this cue, and not who: - Why not?; write each one's name and "
        "a colon instead of the dash",
    "another speaks":
        "FOLDER/t.srt:11: >> says that another speaks, and not who: >> Since when?; write the name and a colon "
        "behind it",
    "number in a TextGrid":
        "FOLDER/t.TextGrid:13: '-1' stands where the number of a tier's intervals should; save it again in Praat",
    "half a TextGrid":
        "FOLDER/t.TextGrid:16: the TextGrid ends where the text of an interval should stand; save it again in Praat",
    "no such tier": "FOLDER/t.TextGrid: there is no tier 'C*'; tiers: A words, A sounds, B words",
    "tier chosen twice":
        "FOLDER/t.TextGrid: the tier 'A words' is chosen as text and as patient (`columns`); choose it as one of "
        "them",
    "two tiers":
        "FOLDER/t.eaf: the participant 'Doctor' has 2 tiers that may hold the words: 'D', 'P'; say which do with "
        "`columns=clinician=TIER,patient=TIER`, or with `columns=text=PATTERN`, in which * stands for any letters",
    "half of ELAN": "FOLDER/t.eaf:9: not XML (no element found); save it again in ELAN",
    "entities in ELAN": "FOLDER/t.eaf:2: the file declares a document type, which ELAN's files have none of; remove it",
    "line of CHAT":
        "FOLDER/t.cha:8: the line begins with neither *, % nor @: 'com:\\tpoints'; begin an utterance with *CODE:, "
        "and a line that goes on with a tab",
    "no such messages":
        "FOLDER/t.jsonl:1: there is nothing under talk; name where the messages stand with `columns=messages=PATH`; "
        "keys: who, log",
    "no such system": "FOLDER/t.jsonl:1: under who.x stands no system; name another with `columns=system=PATH`",
    "message that is none": "FOLDER/t.json, turn 4: a message must be an object, not a string; give role and content",
    "played patient":
        "FOLDER/t.json: in this conversation the assistant may be the patient: the instructions tell it to be one; "
        "say who is who with `roles=assistant=patient,user=clinician`, or with "
        "`roles=assistant=clinician,user=patient`",
    "two labels of a side":
        "FOLDER/t.json: 'user' and 'patient' both speak, and either may be the patient; say with `roles=user=ROLE` "
        "who 'user' is: clinician, patient or other",
    "label and name":
        "FOLDER/t.json: 'assistant' says clinician, and 'PatientAgent' of the same turn patient; say who is who with"
        " `roles=assistant=patient,user=clinician`, or with `roles=assistant=clinician,user=patient`",
    "third under a label":
        "FOLDER/t.json: 'Mother of Anna' speaks as 'user' too, and may be no patient; say who that is with "
        '`roles="Mother of Anna"=other` or `roles="Mother of Anna"=patient`',
    "two lists":
        "FOLDER/t.jsonl:1: the objects hold 2 lists of messages: prompt, later; take one with "
        "`columns=messages=prompt`, or another with `columns=messages=later`",
    "two answers":
        "FOLDER/t.jsonl:1: 2 answers stand under choices; take one with `columns=answer=choices.0`, or another with "
        "`columns=answer=choices.1`",
    "answer under two keys":
        "FOLDER/t.jsonl:1: the model's answer may stand under 'response' or under 'output'; say "
        "`columns=answer=response` or `columns=answer=output`",
    "another answer":
        "FOLDER/t.jsonl:1: the messages end with the model's turn, and another answer stands under 'response'; say "
        "`columns=answer=response` if it was said after them, or leave it out with `leave_out=response`",
    "answer in doubt":
        "FOLDER/t.jsonl:1: the messages end with the user, and 'zzz' may be the model's answer; say "
        "`columns=answer=zzz` if it is, `columns=answer=` if not, or `leave_out=zzz`",
    "question in doubt":
        "FOLDER/t.jsonl:1: 'prompt' may be what the model was asked last, or no part of the conversation; say "
        "`columns=question=prompt` or `columns=question=`",
    "message elsewhere":
        "FOLDER/t.jsonl:1: a message stands under made.0.message too, apart from the others; say "
        "`columns=answer=made.0.message` if it was said after them, or leave it out with `leave_out=made`",
    "talk quoted":
        "FOLDER/t.jsonl:1, turn 0: one turn holds a talk of 3 lines (Patient, Doctor); write each line as a message;"
        " if all are words of this turn, say `roles=Patient=text`",
    "record before":
        "FOLDER/t.jsonl:1: the record goes on from 'r1', which is another; join the records of a talk, or read each "
        "as one with `leave_out=previous_response_id`",
    "record that goes on":
        "FOLDER/t.jsonl:2: the conversation repeats 't#0' and goes on: it may be the same, later on, or another; say"
        " `columns=id=` if the last record of a conversation holds it whole, `columns=id=row` if each record is a "
        "conversation, or name the key that tells with `columns=id=PATH`",
    "words lost":
        "FOLDER/t.jsonl:1: the text under 'note' would be lost, which may have been said: This was made by hand.; "
        "leave it out with `leave_out=note`",
    "call made again":
        "FOLDER/t.jsonl:2: the call '1' was made again ('2') and answered otherwise; leave one out with "
        "`leave_out=1` or `leave_out=2`",
    "call of another":
        "FOLDER/t.jsonl:2: the calls '1' and '2' of 't' don't go on from each other; leave a call out, `leave_out=1`"
        " or `leave_out=2`, or part talks with `columns=id=PATH`",
    "no times":
        "FOLDER/t.jsonl:2: the calls of 't' hold no time and don't repeat each other, so nothing tells their order; "
        "name the time with `columns=time=PATH`, or say `columns=time=` if they stand in order",
    "times that differ":
        "FOLDER/t.jsonl:1: the time 'soon' of a call of 't' can't be compared with the others; name another with "
        "`columns=time=PATH`, or say `columns=time=` if the calls stand in order",
    "no calls":
        "FOLDER/t.jsonl: no record holds the messages of a model's call; export the calls of models with their input"
        " and output",
    "half an archive": "FOLDER/t.eval: the archive is damaged; copy or save it again",
    "circle":
        "FOLDER/conversations.json item 0: the conversation's nodes don't hang together; see bedside show "
        "chatgpt",
    "replies alone":
        "FOLDER/t.jsonl: these are the replies of a batch without what was asked; put the file of requests beside it"
        " and read that",
    "another kind of file":
        "FOLDER/t.pdf: this is a PDF, which bedside doesn't read; save its text as DOCX or as plain text, as "
        "pdftotext -layout t.pdf does",
    "fields of a path":
        "FOLDER/A/1.jsonl: the path does not match `path_fields={system}-{case_id}`; give a pattern for the end of "
        "the path, such as {system}/{case_id}",
    "no pattern":
        "`path_fields={a}/{a}` is not a pattern (redefinition of group name 'a' as group 2; was group 1 at position "
        "29); write it as {system}/{case_id}",
    "format": "there is no reader 'mdd5'; did you mean mdd5k?",
    "no path": "no files were given; name files, folders or patterns",
    "no such file": "FOLDER/none.jsonl: there is no such file; check the path",
    "no file in a folder":
        f"FOLDER: the folder holds no transcript file; transcript files end in {', '.join(transcript_endings())} "
        "(or those with .gz)",
    "companions alone": "FOLDER: none of the files holds a transcript; see bedside list readers",
    "id in two files":
        "FOLDER/A.jsonl:1 and FOLDER/B.jsonl:1: two transcripts have the id '1'; give each its own id, or say with "
        "`path_fields={system}` that each file or folder is of another system",
    "file that goes with another":
        "FOLDER/v1_patient.TextGrid: this file is read along with v1_doctor.TextGrid, which is not among the files; "
        "give FOLDER/v1_doctor.TextGrid too, or the folder that holds both",
    "stopped simulation":
        "FOLDER: the folder is that of a simulation without transcripts, as none has come to its end; run the same "
        "bedside simulate again, which goes on; bedside simulate failed says why",
    "no transcripts":
        "`transcripts`: transcripts can't be read from what is of type int; name files, or give `bedside.Transcript`"
        " objects",
    "dict":
        "`transcripts`: what is of type dict is neither a path nor a transcript; name files, or give "
        "`bedside.Transcript` objects",
    "dict among transcripts":
        "transcript 1 in memory: something of type dict stands among transcripts; make a `bedside.Transcript` of it",
    "options of files":
        "`options`: options say how files are read, and transcripts in memory are read already; leave them out, but "
        "for `conditions` and `outcomes`",
    "twice in memory":
        "transcript 0 in memory and transcript 1 in memory: two transcripts have the id 't'; give each its own id",
    "no id in memory": "t: the transcript has no id; give each its own id",
    "no JSON":
        "t: the transcript can't be written as JSON (Type is not JSON serializable: set); keep only text, numbers, "
        "lists and objects beside the words",
    "turn of another type": "t, turn 0: something of type str stands among the turns; make a `bedside.Turn` of it",
    "number of a turn in memory": "t, turn 0: the turn says it is number 4; number turns from 0 in order",
    "role in memory": "t, turn 0: no role is called 'doctor'; a turn's role is clinician, patient, other",
    "speaker in memory": "t, turn 0: the turn has no speaker; say who speaks, as a string",
    "condition and outcome":
        "`conditions`: site is named as a condition and as an outcome; name it under one: a condition is set before "
        "the conversation, an outcome is known after it",
    "no such factor": "`outcomes`: no transcript has the factor 'setting'; did you mean settings?",
}  # fmt: skip


def refuse(case: str, folder: Path) -> object:
    if case in OTHERS:
        return OTHERS[case](folder)
    name, content, *options = FILES[case]
    path = write(folder, name, content() if callable(content) else content)
    return read(path, **(options[0] if options else {}))


@pytest.mark.parametrize("case", [*FILES, *OTHERS])
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        refuse(case, tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
