"""Plain text and Word documents: who speaks, what goes on, what is left out, and where reading stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import THIRD_PARTIES, Role
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.conftest import DATA
from tests.transcripts.files import GOOD, check_question, check_refusal, document, read, workbook, write

FORMS = DATA / "forms"
HELLO = [("clinician", "Hello."), ("patient", "I sleep badly.")]
TRACKED = "<w:ins w:id='1' w:author='a'><w:r><w:t>x</w:t></w:r></w:ins>"


def turns(path: Path, **options: Any) -> list[tuple[str, str]]:
    (transcript,) = read(path, **options)
    return [(turn.role, turn.text) for turn in transcript.turns]


@pytest.mark.parametrize(
    "text",
    [
        "Doctor: Hello.\nPatient: I sleep badly.\n",
        "DOCTOR: Hello.\r\n\r\nPATIENT: I sleep badly.\r\n",
        "Doctor: Hello.\rPatient: I sleep badly.",
        "T: Hello.\nC: I sleep badly.",
        "Dr: Hello.\nPt: I sleep badly.",
        "1. T: Hello.\n2. C: I sleep badly.",
        "T1: Hello.\nC1: I sleep badly.\nT2: Why?\nC2: May.",
        "**Doctor:** Hello.\n\n**Patient:** I sleep badly.",
        "**Doctor**: Hello.\n\n**Patient**: I sleep badly.",
        "- Doctor: Hello.\n- Patient: I sleep badly.",
        "> Doctor: Hello.\n> Patient: I sleep badly.",
        "Doctor - Hello.\nPatient – I sleep badly.",
        "[doctor] Hello.\n[patient] I sleep badly.",
        "Doctor\nHello.\n\nPatient\nI sleep badly.",
        "Doctor  0:00\nHello.\n\nPatient  0:15\nI sleep badly.",
        "咨询师：Hello.\n\n来访者：I sleep badly.",
        "## Doctor\n\nHello.\n\n## Patient\n\nI sleep badly.\n\n## Doctor\n\nSince when?",
    ],
)
def test_the_ways_of_naming_who_speaks(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", text)
    assert turns(path)[:2] == HELLO
    reading = Reading([path])
    list(reading)
    assert reading.inputs[0].format == "text"


@pytest.mark.parametrize(
    ("clinician", "patient"),
    [("[Dr. Jane Lee] 10:00:0{}", "[Sam] 10:00:0{}"), ("Lee, Jane (Therapist)   0:0{}", "Sam   0:0{}")],
)
def test_names_as_zoom_and_teams_write_them(clinician: str, patient: str, tmp_path: Path) -> None:
    said = ["Hello.", "I sleep badly.", "Since when?", "Since May."]
    heads = [clinician, patient] * 2
    text = "".join(f"{head.format(n)}\n{line}\n\n" for n, (head, line) in enumerate(zip(heads, said, strict=True)))
    path = write(tmp_path, "talk.txt", text)
    with pytest.raises(UnknownSpeakerError):
        read(path)
    roles = {"Dr. Jane Lee": "clinician", "Lee, Jane (Therapist)": "clinician", "Sam": "patient"}
    assert turns(path, roles=roles)[:2] == HELLO


def test_paragraphs_of_a_turn_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("Therapist: One.\nTwo.\n\n\nThree.\n\nClient: Four.\n\n", "utf-8")
    assert turns(path) == [("clinician", "One.\nTwo.\n\nThree."), ("patient", "Four.")]


def test_names_that_recur_are_speakers_and_a_colon_in_running_text_is_none(tmp_path: Path) -> None:
    text = (
        "Interview, 12 May\nTranscribed by hand: A. B.\n\nAnna: What now?\nBob: One thing: sleep.\nNote: it is bad.\n"
        "At 10:30 it is worse\nAnna: I see.\nBob: https://example.org helps.\n"
    )
    path = write(tmp_path, "talk.txt", text)
    reading = Reading([path], ReadOptions(roles={"Anna": "clinician", "Bob": "patient"}))
    (transcript,) = reading
    assert [(turn.speaker, turn.text) for turn in transcript.turns] == [
        ("Anna", "What now?"),
        ("Bob", "One thing: sleep.\nNote: it is bad.\nAt 10:30 it is worse"),
        ("Anna", "I see."),
        ("Bob", "https://example.org helps."),
    ]
    assert reading.account.lost["lines above the first speaker"].number == 2
    (remark,) = reading.account.remarks
    assert "'Note'" in remark
    assert "line 6" in remark


def test_a_third_who_speaks_once_is_not_swallowed(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", "Doctor: Hello.\nMother of Anna: He sleeps badly.\nPatient: Yes.\n")
    with pytest.raises(UnknownSpeakerError, match="Mother of Anna") as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2")
    assert [role for role, _ in turns(path, roles={"Mother of Anna": "other"})] == ["clinician", "other", "patient"]


@pytest.mark.parametrize("text", ["A: Hello.\nB: Hi.\nA: Why?\nB: May.", "I: Hello.\nR: Hi.\nI: Why?\nR: May."])
def test_letters_that_say_no_role_are_told_all_at_once(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownSpeakerError):
        read(write(tmp_path, "talk.txt", text))
    first, second = text[0], text.split("\n")[1][0]
    path = write(tmp_path, "talk.txt", text)
    assert turns(path, roles={first: "clinician", second: "patient"})[0] == ("clinician", "Hello.")


def test_times_of_labels(tmp_path: Path) -> None:
    text = "[00:12] Doctor: Hello.\n(1:02:03.5) Patient: I sleep badly.\n00:01:00 - 00:01:05 Doctor: Why?\n"
    (transcript,) = read(write(tmp_path, "talk.txt", text))
    assert [dict(turn.meta) for turn in transcript.turns] == [
        {"start": 12},
        {"start": 3723.5},
        {"start": 60, "stop": 65},
    ]


@pytest.mark.parametrize("time", ["00:00:1{}", "[0:1{}]", "[00:00:1{}]\n", "0:1{} --> 0:20", "(00:1{})"])
def test_times_above_labels_are_no_words(time: str, tmp_path: Path) -> None:
    said = ["Doctor: Hello.", "Patient: Hi.", "Mother: Hm.", "Patient: At\n10:30 or so.", "Doctor: I see."]
    text = "\n\n".join(f"{time.format(n)}\n{line}" for n, line in enumerate(said))
    (one,) = read(write(tmp_path, "talk.txt", text))
    assert [turn.text for turn in one.turns] == [line.partition(": ")[2] for line in said]
    assert [turn.meta["start"] for turn in one.turns] == [10, 11, 12, 13, 14]
    words = write(tmp_path, "words.txt", "Doctor: When?\nPatient: At\n10:30\nDoctor: I see.\nPatient: Yes.\n")
    assert turns(words)[1] == ("patient", "At\n10:30")


def test_several_sessions_in_a_file_are_not_made_one(tmp_path: Path) -> None:
    text = "Session 1\nT: Hello.\nC: Hi.\n\nSession 2\nT: Again?\nC: Yes.\n"
    check_refusal(write(tmp_path, "talk.txt", text), "the text is of 2 conversations")
    assert len(turns(write(tmp_path, "one.txt", text.replace("Session 2\n", "")))) == 4


def test_headings_and_rules_of_markdown_are_counted(tmp_path: Path) -> None:
    text = "# Talk\n\n## Opening\n\n**T:** Hello.\n\n---\n\n## Exploration\n\n**C:** Hi.\n\nMore.\n"
    reading = Reading([write(tmp_path, "talk.md", text)])
    (transcript,) = reading
    assert [turn.text for turn in transcript.turns] == ["Hello.", "Hi.\n\nMore."]
    assert reading.account.left_out == {"rules": 1}
    assert {name: texts.number for name, texts in reading.account.lost.items()} == {
        "lines above the first speaker": 2,
        "headings": 1,
    }
    assert reading.account.remarks == ["T is taken for the clinician and C is taken for the patient."]


def test_plain_text_without_speakers_is_left_alone_in_a_folder_and_an_error_by_name(tmp_path: Path) -> None:
    notes = write(tmp_path, "README.md", "# Data\n\nThese are data: see, for example, the paper.\n")
    write(tmp_path, "a.jsonl", GOOD % "a")
    reading = Reading([tmp_path])
    assert [transcript.id for transcript in reading] == ["a"]
    assert reading.ignored == [notes]
    check_refusal(notes, "no lines begin with the names of two speakers")


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("t.txt", "id,speaker,text\na,doctor,Hello.\na,patient,I sleep badly.\n", "rows"),
        ("t.txt", "id\tspeaker\ttext\na\tdoctor\tHello.\na\tpatient\tI sleep badly.\n", "rows"),
        ("t.txt", 'id,dialogue\na,"Doctor: Hello.\nPatient: I sleep badly."\n', "cells"),
        ("t.csv", "Session 3, 12 May\nDoctor: Hello, there.\nPatient: I sleep, badly.\n", "text"),
    ],
)
def test_the_content_tells_text_from_tables(name: str, content: str, form: str, tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, name, content)])
    assert len(next(iter(reading)).turns) == 2
    assert reading.inputs[0].format == form


@pytest.mark.skipif(not FORMS.exists(), reason="the samples of forms are not here")
def test_chinese_counselling_as_a_direct_count_has_it() -> None:
    for path in sorted((FORMS / "cpsycoun").glob("*.txt")):
        (transcript,) = read(path)
        blocks = [block for block in path.read_text("utf-8").split("\n") if block.strip()]
        labelled = [block for block in blocks if block.startswith(("来访者：", "心理咨询师："))]
        assert len(transcript.turns) == len(labelled)
        assert sum(turn.role == "patient" for turn in transcript.turns) == sum(
            block.startswith("来") for block in labelled
        )
        said = "".join(f"{turn.speaker}：{turn.text}" for turn in transcript.turns)
        assert "".join(said.split()) == "".join("".join(blocks).split())


ADVICE = (
    "Anna: I feel so low.\nSome days I can't get up.\n\nBob: Here is help.\n\nCrisis Text Line: text HOME.\n\n"
    "About 988: call.\n\nStep 1: breathe.\nSee https://example.org at 10:30.\n\nAnna: Thank you.\n\nBob: Do this.\n\n"
    "First: sleep.\n- Note: it takes time.\n\nAnna: I will.\n\nBob: Good.\nStep 1: is the hardest.\n\nAnna: Bye.\n"
)
NAMED: dict[str, Role | Literal["text"]] = {"Anna": "patient", "Bob": "clinician"}


@pytest.mark.parametrize("name", ["mother", "guest_family", "Mother of Anna", "patient's wife", "INTERPRETER 2"])
@pytest.mark.parametrize("line", ["{}: He sleeps badly.", "[{}] He sleeps badly."])
def test_a_third_person_is_a_speaker_however_written(name: str, line: str, tmp_path: Path) -> None:
    lines = ["Doctor: Hello.", "Tell me.", "Patient: I sleep badly.", "Since May.", line.format(name), "Doctor: I see."]
    for path in (
        write(tmp_path, "a.txt", "\n".join(lines)),
        write(tmp_path, "a.docx", document(*lines)),
        write(
            tmp_path, "a.srt", "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{x}\n\n" for n, x in enumerate(lines))
        ),
    ):
        if name not in THIRD_PARTIES:
            with pytest.raises(UnknownSpeakerError):
                read(path)
        (one,) = read(path, roles={} if name in THIRD_PARTIES else {name: "other"})
        assert [turn.text for turn in one.turns if turn.role == "other"] == ["He sleeps badly."]


def test_words_before_a_colon_stop_and_no_guess_makes_them_speakers(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", ADVICE)
    with pytest.raises(UnknownSpeakerError) as caught:
        read(path)
    message = str(caught.value)
    assert "Anna=" in message
    assert "'Crisis Text Line' (1 line, such as line 6: Crisis Text Line: text HOME.)" in message
    assert "'Step 1' (2 lines" in message
    assert "First=patient" not in message
    known = write(tmp_path, "known.txt", ADVICE.replace("Anna:", "Client:").replace("Bob:", "Therapist:"))
    with pytest.raises(AmbiguousError, match="'Step 1' \\(2 lines") as doubt:
        read(known)
    assert "=text" in str(doubt.value.todo)
    named = turns(path, roles=NAMED)
    as_text = {"Crisis*": "text", "About*": "text", "Step 1": "text", "first": "text", "Note": "text"}
    assert turns(known, roles=as_text) == named
    assert [role for role, _ in named] == [
        "patient",
        "clinician",
        "patient",
        "clinician",
        "patient",
        "clinician",
        "patient",
    ]
    assert named[3][1] == "Do this.\n\nFirst: sleep.\n- Note: it takes time."


def test_what_is_taken_for_text_is_told_with_its_lines_unless_it_repeats(tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, "talk.txt", ADVICE)], ReadOptions(roles=NAMED))
    list(reading)
    (remark,) = reading.account.remarks
    assert "'Step 1'" in remark
    assert "line 10" in remark
    path = write(tmp_path, "more.txt", ADVICE.replace("Good.", "Good.\nStep 1: breathe."))
    with pytest.raises(AmbiguousError, match="'Step 1' \\(3 lines"):
        read(path, roles=NAMED)
    assert turns(path, roles={**NAMED, "Step 1": "text"})


@pytest.mark.parametrize("missing", ["Therapist: I see.", "Client: Hm."])
def test_a_line_that_lacks_its_label_stops(missing: str, tmp_path: Path) -> None:
    text = "Therapist: Why?\nClient: It hurts me a lot.\n" * 4
    for number in (2, 5, 7):
        lines = text.splitlines()
        lines[number] = "That is what I said."
        path = write(tmp_path, "talk.txt", "\n".join(lines))
        check_question(path, where=f"{path}:{number + 1}")
        assert len(turns(path, roles={"Therapist": "clinician", "Client": "patient"})) == 7


@pytest.mark.parametrize("missing", [(4, 7), (2, 5), (3, 6)])
def test_two_lines_that_lack_their_labels_stop(missing: tuple[int, int], tmp_path: Path) -> None:
    lines = ("Therapist: Why?\nClient: It hurts me a lot.\n" * 6).splitlines()
    for number in missing:
        lines[number] = "That is what I said."
    path = write(tmp_path, "talk.txt", "\n".join(lines))
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    assert caught.value.where == f"{path}:{missing[0] + 1}"


def test_a_sentence_above_the_first_speaker_stops(tmp_path: Path) -> None:
    path = write(
        tmp_path, "talk.txt", "Session of 12 May\nI slept very badly.\nDoctor: Hello.\nPatient: I sleep badly.\n"
    )
    check_question(path, where=f"{path}:2")
    reading = Reading([path], ReadOptions(leave_out=["lines above the first speaker"]))
    (one,) = reading
    assert len(one.turns) == 2
    assert reading.account.lost["lines above the first speaker"].number == 2


def test_dialogues_below_ids_are_transcripts_of_their_own(tmp_path: Path) -> None:
    text = "".join(
        f"id={n}\nhttps://example.org/{n}\n\nDescription\nI sleep badly.\nIs it bad?\n\nDialogue\nPatient:\nHi {n}.\n\n"
        "Doctor:\nHello.\nRest.\n\n"
        for n in (1, 2)
    )
    reading = Reading([write(tmp_path, "talks.txt", text)])
    first, second = reading
    assert (first.id, second.id) == ("1", "2")
    assert [(turn.role, turn.text) for turn in second.turns] == [("patient", "Hi 2."), ("clinician", "Hello.\nRest.")]
    assert second.reference == {"description": "I sleep badly.\nIs it bad?"}
    assert reading.account.lost["lines above the first speaker"].number == 2
    check_refusal(write(tmp_path, "twice.txt", text.replace("id=2", "id=1")), "'1'", where=f"{tmp_path}/twice.txt:1")


@pytest.mark.parametrize(
    "marks",
    [
        ["---", "---"],
        ["### Session 1", "### Session 2"],
        ["", "Session 2"],
        ["Session One", "Session Two"],
        ["Sitzung 1", "Sitzung 2"],
        ["12 May 2024", "19 May 2024"],
        ["12.05.2024", "19.05.2024"],
        ["# P03", "# P04"],
        ["P03", "P04"],
        ["Case A", "Case B"],
        ["Interview with Anna", "Interview with Ben"],
        ["Anna", "Ben"],
        ["第一次", "第二次"],
    ],
)
@pytest.mark.parametrize("end", ["Patient: May.", "Patient: May.\nDoctor: Goodbye."])
def test_parts_that_may_be_talks_of_their_own_stop(marks: list[str], end: str, tmp_path: Path) -> None:
    part = f"Doctor: Hello.\nPatient: Hi.\nDoctor: Why?\n{end}\n\n"
    path = write(tmp_path, "talk.txt", "".join(f"{mark}\n{part}" for mark in marks))
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    option = str(caught.value.todo).partition("leave_out=")[2].rstrip("`")
    one = turns(path, leave_out=[option])
    assert [text for _, text in one] == [line.partition(": ")[2] for line in part.split("\n") if line] * 2


@pytest.mark.parametrize(
    ("title", "middle"),
    [
        ("Session 1", ""),
        ("Session of 12 May 2024", "12 May 2024"),
        ("Transcript", "Okay, I see"),
        ("# Talk", "## Middle"),
        ("", "---"),
        ("Interview with Anna", "Yes"),
    ],
)
def test_a_title_above_and_a_line_within_a_talk_make_no_two_of_it(title: str, middle: str, tmp_path: Path) -> None:
    text = f"{title}\n\nDoctor: Hello.\nPatient: Hi.\nDoctor: Why?\n\n{middle}\n\nPatient: May.\nDoctor: I see.\n"
    assert len(turns(write(tmp_path, "talk.txt", text))) == 5


def test_whatsapp_counts_what_nobody_said(tmp_path: Path) -> None:
    text = (
        "12/05/2024, 10:00 - Messages and calls are end-to-end encrypted. No one can read them.\n"
        "12/05/2024, 10:01 - Doctor: Hello.\n12/05/2024, 10:02 - Patient: I sleep badly.\nSince May.\n"
        "12/05/2024, 10:03 - Patient: <Media omitted>\n12/05/2024, 10:04 - Doctor added Anna\n"
        "12/05/2024, 10:05\u202fPM - Doctor: I see.\n"
    )
    reading = Reading([write(tmp_path, "talk.txt", text)])
    (one,) = reading
    assert [turn.text for turn in one.turns] == ["Hello.", "I sleep badly.\nSince May.", "I see."]
    assert [dict(turn.meta) for turn in one.turns] == [
        {"time": "12/05/2024, 10:01"},
        {"time": "12/05/2024, 10:02"},
        {"time": "12/05/2024, 10:05 PM"},
    ]
    assert reading.account.left_out == {"omitted media": 1}
    assert {name: texts.number for name, texts in reading.account.lost.items()} == {
        "lines with a time and no speaker": 2
    }


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("\u200eimage omitted", "omitted media"),
        ("<Medien ausgeschlossen>", "omitted media"),
        ("This message was deleted", "deleted messages"),
        ("\u200eYou deleted this message.", "deleted messages"),
        ("Diese Nachricht wurde gelöscht.", "deleted messages"),
        ("Ce message a été supprimé", "deleted messages"),
    ],
)
def test_an_export_of_an_iphone_counts_what_nobody_said(text: str, count: str, tmp_path: Path) -> None:
    stamp = "[12.05.24, 10:0{}:00] "
    said = [
        "Messages and calls are end-to-end encrypted. No one outside can read them.",
        "Doctor: \u200eMessages are end-to-end encrypted. No one can read them.",
        "Doctor: Hello.",
        f"Patient: {text}",
        "Patient: I sleep badly.",
    ]
    path = write(tmp_path, "talk.txt", "\n".join(stamp.format(n) + line for n, line in enumerate(said)))
    reading = Reading([path])
    (one,) = reading
    assert [(turn.role, turn.text) for turn in one.turns] == HELLO
    assert reading.account.left_out == {count: 1}
    assert set(reading.account.lost) == {"lines with a time and no speaker", "lines of the app, not of a speaker"}


@pytest.mark.parametrize("end", ["END OF TRANSCRIPT", "[End of session]", "Transcribed by Anna B.", "Recording ends."])
def test_what_stands_below_the_end_is_no_turn(end: str, tmp_path: Path) -> None:
    talk = "Doctor: Hello.\nPatient: I sleep badly.\n" * 4
    reading = Reading([write(tmp_path, "a.txt", f"{talk}\n{end}\n")])
    (one,) = reading
    assert one.turns[-1].text == "I sleep badly."
    assert reading.account.lost["lines below the end"].number == 1
    path = write(tmp_path, "b.txt", f"{talk}\n{end}\nThe patient seemed tired.\nNote: none\n")
    check_question(path, "'lines below the end' would be lost")
    assert turns(path, leave_out=["lines below the end"])[-1] == HELLO[1]


def test_headings_within_a_turn_and_notes_of_transcribers_stay(tmp_path: Path) -> None:
    text = "Doctor: Do this:\n## At home\nRest a lot.\nPage 2 of 3\nPatient: Yes.\n[cries]\n## Part 2\nDoctor: I see.\n"
    reading = Reading([write(tmp_path, "talk.txt", text)])
    (one,) = reading
    assert [turn.text for turn in one.turns] == ["Do this:\n## At home\nRest a lot.", "Yes.\n[cries]", "I see."]
    assert set(reading.account.lost) == {"numbers of pages", "headings"}
    assert any("brackets" in remark for remark in reading.account.remarks)


# -- Word documents --------------------------------------------------------------------------------


def test_paragraphs_are_read_as_lines(tmp_path: Path) -> None:
    content = document("Session of 12 May", "Therapist: Hello.", "", "Client: I sleep badly.", "Since May.")
    assert turns(write(tmp_path, "a.docx", content)) == [
        ("clinician", "Hello."),
        ("patient", "I sleep badly.\nSince May."),
    ]


@pytest.mark.parametrize(
    "table",
    [
        [["Therapist", "Hello."], ["Client", "I sleep badly."]],
        [["Speaker", "Text"], ["Therapist:", "Hello."], ["Client:", "I sleep badly."]],
        [["1", "00:01", "T", "Hello."], ["2", "00:04", "C", "I sleep badly."]],
        [["Text", "Who"], ["Hello.", "Therapist"], ["I sleep", "Client"], ["badly.", ""]],
    ],
)
def test_tables_of_speakers_and_what_they_say(table: list[list[str]], tmp_path: Path) -> None:
    (transcript,) = read(write(tmp_path, "a.docx", document("Title", table)))
    assert [(turn.role, " ".join(turn.text.split())) for turn in transcript.turns] == HELLO
    if len(table[0]) == 4:
        assert [dict(turn.meta) for turn in transcript.turns] == [{"start": 1}, {"start": 4}]


def test_two_columns_that_may_be_the_text_stop(tmp_path: Path) -> None:
    table = [["Speaker", "English", "Notes"], ["T", "Hello.", "warm"], ["C", "I sleep badly.", "quiet"]]
    path = write(tmp_path, "a.docx", document(table))
    check_question(path, "columns=text=NAME")
    assert turns(path, columns={"text": "English"}) == HELLO
    check_refusal(path, "'German'", columns={"text": "German"})


def test_a_document_with_tracked_changes_is_not_read_as_either_text(tmp_path: Path) -> None:
    import io

    import docx
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    made = docx.Document(io.BytesIO(document("Doctor: Hello.", "Patient: Hi.")))
    made.paragraphs[0]._p.append(parse_xml(TRACKED.replace("<w:ins", f"<w:ins {nsdecls('w')}")))
    file = io.BytesIO()
    made.save(file)
    check_refusal(write(tmp_path, "a.docx", file.getvalue()), "tracked changes")


def test_a_document_and_a_workbook_are_told_apart_whatever_they_are_called(tmp_path: Path) -> None:
    read(write(tmp_path, "a.xlsx", document("Doctor: Hello.", "Patient: Hi.")))
    cells = [["id", "speaker", "text"], ["a", "doctor", "Hello."], ["a", "patient", "Hi."]]
    read(write(tmp_path, "b.docx", workbook(cells)))


def test_without_its_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from bedside.core.errors import MissingExtraError

    path = write(tmp_path, "a.docx", document("Doctor: Hello.", "Patient: Hi."))
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"bedside\[forms\]\""):
        read(path)


def test_what_a_document_has_beside_its_paragraphs_is_counted_or_stops(tmp_path: Path) -> None:
    import io

    import docx

    made = docx.Document(io.BytesIO(document("Doctor: Hello.", "Patient: Hi.", [["Place", "Bern"], ["Day", "3"]])))
    made.sections[0].header.paragraphs[0].text = "Confidential"
    made.sections[0].footer.paragraphs[0].text = "Clinic of Bern"
    file = io.BytesIO()
    made.save(file)
    reading = Reading([write(tmp_path, "a.docx", file.getvalue())])
    assert len(list(reading)) == 1
    assert {name: texts.number for name, texts in reading.account.lost.items()} == {
        "headers": 1,
        "footers": 1,
        "tables": 4,
    }
    made.tables[0].rows[0].cells[1].text = "I never slept at all."
    file = io.BytesIO()
    made.save(file)
    path = write(tmp_path, "b.docx", file.getvalue())
    check_question(path, "I never slept at all")
    assert turns(path, leave_out=["tables"])


TALK = "Doctor: Hello.\nPatient: I cough at night.\nDoctor: Since when?\n{}\nDoctor: Do you smoke?\nPatient: No.\n"
WRAPPED = (
    "Doctor: Good morning, what brings you in today? I have read the\nletter.\nPatient: I have had a cough for weeks.\n"
    "Doctor: How long has that been going on, and did you see anyone\nabout it before?\n{}\nDoctor: Do you smoke, "
    "or did you ever smoke in your life, even\nif only at parties?\nPatient: No.\nDoctor: Good.\nPatient: Fine.\n"
)


@pytest.mark.parametrize("talk", [TALK, WRAPPED])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Patient (crying): I can't.", "(crying) I can't."),
        ("Patient [crying]: I can't.", "[crying] I can't."),
        ("Patient, crying: I can't.", "(crying) I can't."),
        ("Patient (crying) (03:15): I can't.", "(crying) I can't."),
        ("Patient (03:15) I can't.", "I can't."),
        ("-Patient: I can't.", "I can't."),
    ],
)
def test_what_stands_behind_a_known_name_is_no_other_speaker(talk: str, line: str, said: str, tmp_path: Path) -> None:
    assert ("patient", said) in turns(write(tmp_path, "talk.txt", talk.format(line)))


def test_a_note_is_part_of_a_name_that_the_user_gives(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", TALK.format("Patient (Ben): Hi."))
    assert ("other", "Hi.") in turns(path, roles={"Patient (Ben)": "other"})


def test_notes_behind_names_in_chinese(tmp_path: Path) -> None:
    talk = "咨询师：你现在安全吗？\n来访者（哭泣）：我不想活了\n咨询师：多久了？\n来访者：三个月\n"
    assert turns(write(tmp_path, "talk.txt", talk))[1] == ("patient", "（哭泣）我不想活了")


@pytest.mark.parametrize("talk", [TALK, WRAPPED])
@pytest.mark.parametrize(
    "name",
    ["Patient's wife Maria", "Maria (wife)", "Patient and wife", "Patient via the interpreter", "Doctor, one thing"],
)
def test_a_label_that_says_one_who_speaks_with_other_words_stops(talk: str, name: str, tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", talk.format(f"{name}: I can't."))
    with pytest.raises(InputError, match=name.replace("(", r"\(").replace(")", r"\)")):
        read(path)
    assert ("other", "I can't.") in turns(path, roles={name: "other"})
    two = {"Doctor": "clinician", "Patient": "patient"}
    with pytest.raises(InputError):
        read(path, roles=two)
    clinicians = [text for role, text in turns(path, roles={**two, name: "text"}) if role == "clinician"]
    assert f"\n{name}: I can't." in "".join(clinicians)


@pytest.mark.parametrize("line", ["Patient; I can't.", "Patient. I can't.", '"Patient: I can\'t."'])
def test_a_label_with_another_mark_stops(line: str, tmp_path: Path) -> None:
    with pytest.raises(AmbiguousError) as caught:
        read(write(tmp_path, "talk.txt", WRAPPED.format(line)))
    assert "=text`" in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "I asked the clinic, where everyone knows me, and then there the\npatient advocate said: wait.",
        "He said the patient said: no.",
        "- Patient safety: it counts.\n- First: rest.",
        "Thank you so much for all of that, it really helps me a lot, my\nPatient. I mean it.",
    ],
)
def test_a_role_word_within_running_text_is_no_label(line: str, tmp_path: Path) -> None:
    assert len(turns(write(tmp_path, "talk.txt", WRAPPED.format(f"Patient: Yes.\n{line}")))) == 8


@pytest.mark.parametrize(
    "text",
    [
        "Doctor: Hello. Patient: Hi.\nDoctor: Since when?  Patient: May.\n",
        "Doctor: Hello.\nPatient: Hi.\nDoctor: Since\nwhen? Patient: May.\n",
        "Anna: Hello.\nBen: Hi.\nAnna: Since when? Ben: May.\nAnna: Ah.\nBen: Yes.\n",
        "1. Doctor: Hello.\n2. Patient: Hi.\n3. Doctor: Since when? Patient: May.\n",
        "**Doctor:** Hello.\n**Patient:** Hi.\n**Doctor:** Since when? **Patient:** May.\n",
        "咨询师：你好。\n来访者：你好。\n咨询师：多久了？来访者：三个月。\n",
        "咨询师：你好。来访者：你好。\n咨询师：多久了？来访者：三个月。\n",
    ],
)
def test_two_turns_on_a_line_are_two(text: str, tmp_path: Path) -> None:
    roles = {"Anna": "clinician", "Ben": "patient"}
    told = turns(write(tmp_path, "talk.txt", text), roles=roles)
    assert [role for role, _ in told][:4] == ["clinician", "patient"] * 2
    assert told[3][1] in ("May.", "三个月。")


def test_a_side_that_no_line_names_stops_within_a_line(tmp_path: Path) -> None:
    check_question(
        write(tmp_path, "talk.txt", "Doctor: Hello.\nPatient: Bad. Therapist: Why?\nDoctor: Ok.\n"), "'Therapist'"
    )


def test_a_label_of_a_third_within_a_line_stops_and_the_user_decides(tmp_path: Path) -> None:
    text = "Doctor: Hello.\nPatient: I told the other Doctor: it hurts.\nDoctor: I see. Mother: He never says.\n"
    path = write(tmp_path, "talk.txt", text)
    with pytest.raises(AmbiguousError, match="'Mother'") as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:3")
    assert turns(path, roles={"Mother": "text"})[2] == ("clinician", "I see. Mother: He never says.")
    assert turns(path, roles={"Mother": "other"})[2:] == [("clinician", "I see."), ("other", "He never says.")]


LACKING = "".join(f"Doctor: Hello {n}\nPatient: Hi {n}\n" for n in range(5)) + (
    "Doctor: And then?\n{}\nDoctor: Are you safe?\nPatient: Yes\n"
)


@pytest.mark.parametrize("line", ["I do not want to live any more", "我真的不想活了，怎么办"])
def test_a_line_that_lacks_its_label_stops_without_a_full_stop(line: str, tmp_path: Path) -> None:
    text = LACKING.format(line)
    with pytest.raises(AmbiguousError) as caught:
        read(write(tmp_path, "talk.txt", text))
    assert ":12" in str(caught.value)


@pytest.mark.parametrize(
    "line", ["[cries for a long time]", "Clinic A - do not share", "Page 2 of 3", "Part Two Of It", "Codes: empathy 4"]
)
def test_a_line_that_is_no_speech_between_two_labels_of_one_goes_on(line: str, tmp_path: Path) -> None:
    text = LACKING.format(line)
    text += f"{line}\n" if line.startswith("Clinic") else ""
    assert len(turns(write(tmp_path, "talk.txt", text), roles={"Codes": "text"})) == 13


def test_a_summary_below_the_talk_is_no_turn(tmp_path: Path) -> None:
    text = "Doctor: Hello.\nPatient: Hi.\n\nSummary\nThe patient coughs since March.\n"
    path = write(tmp_path, "talk.txt", text)
    check_question(path, "lines below the end")
    assert turns(path, leave_out=("lines below the end",))[1] == ("patient", "Hi.")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Doctor 1: Hello.\nPatient: Hi.\nDoctor 2: Why?\nPatient: May.\n", "'Doctor 1'.*'Doctor 2'"),
        ("DOCTOR 001: Hello.\nPATIENT 002: Hi.\n", "'DOCTOR 001'.*'PATIENT 002'"),
        ("1 Doctor: Hello.\n2 Patient: Hi.\n", "'Doctor' stands in line 1 behind '1'"),
        ("Doctor: There are the\nfollowing: rest.\nPatient: Ok.\n", "`roles=following=text`"),
    ],
)
def test_what_stands_instead_of_labels_is_named(text: str, names: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=names):
        read(write(tmp_path, "talk.txt", text))


def test_lines_in_brackets_are_told_once(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.txt", "Doctor: Hello.\n(Hola.)\nPatient: Hi.\n(Hola.)\n")
    reading = Reading([path])
    list(reading)
    assert sum("in brackets" in remark for remark in reading.account.remarks) == 1


LINES = [
    "Crisis Line: Text HOME to 12345",
    "Lifeline: Call 123",
    "First: breathe in slowly.",
    "Note: you are not alone.",
]


@pytest.mark.parametrize("roles", [{}, {"user": "patient", "agent": "clinician"}])
@pytest.mark.parametrize("rounds", [1, 4])
def test_labels_of_programs_that_take_turns_leave_no_other_speaker(
    rounds: int, roles: dict[str, str], tmp_path: Path
) -> None:
    """Paragraphs, lists and forms of an answer begin as labels do, however often; user and agent say who they are."""
    said = "\n\n".join(LINES)
    talk = "".join(f"user: I feel low, {turn}.\n\nAnd tired.\nagent: I hear you.\n\n{said}\n" for turn in range(rounds))
    path = write(tmp_path, "talk.txt", f"{talk}user: Thanks.\n")
    agent = " ".join(("I hear you.", *LINES))
    expected = [
        turn for at in range(rounds) for turn in (("patient", f"I feel low, {at}. And tired."), ("clinician", agent))
    ]
    read = [(role, " ".join(text.split())) for role, text in turns(path, roles=roles)]
    assert read == [*expected, ("patient", "Thanks.")]


def test_names_in_a_form_that_labels_of_programs_hold_are_words(tmp_path: Path) -> None:
    """Whoever stands in a form, a list or a time of day speaks at no place where the two take turns."""
    form = (
        "Student: ______\nSister/friend: ______\n- 4:30p: Eat.\n- 5:30p: Walk.\n- 6:30p: Rest.\ncounselor/grades: who?"
    )
    talk = "".join(f"user: Turn {turn}.\nagent: {'See the form.' if turn else form}\n" for turn in range(5))
    spoken = turns(write(tmp_path, "talk.txt", talk))
    assert [role for role, _ in spoken] == ["patient", "clinician"] * 5
    assert " ".join(spoken[1][1].split()) == " ".join(form.split())


def test_user_and_agent_beside_a_third_name_are_asked_of(tmp_path: Path) -> None:
    talk = "Anna: I feel low.\nAgent: I hear you.\n" * 3
    with pytest.raises(UnknownSpeakerError, match="'Agent'"):
        turns(write(tmp_path, "talk.txt", talk))


@pytest.mark.parametrize("other", ["mother", "Mother"])
def test_a_third_among_labels_of_programs_is_not_swallowed(other: str, tmp_path: Path) -> None:
    talk = f"user: I feel low.\nagent: I hear you.\n{other}: So do I.\n" * 3
    spoken = turns(write(tmp_path, "talk.txt", talk), roles={"user": "patient", "agent": "clinician"})
    assert ("other", "So do I.") in spoken


def test_one_who_speaks_twice_in_a_row_is_no_label_of_programs(tmp_path: Path) -> None:
    talk = "user: I feel low.\nagent: I hear you.\nNote: so.\nagent: Go on.\nNote: so.\n" * 3
    with pytest.raises(UnknownSpeakerError, match="'Note'"):
        turns(write(tmp_path, "talk.txt", talk), roles={"user": "patient", "agent": "clinician"})
