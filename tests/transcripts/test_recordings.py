"""Transcripts of recordings: subtitles, TextGrid, CHAT, ELAN, speech recognisers; each as another library reads it."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path
from typing import Any, Literal

import pytest

from bedside.core.errors import InputError
from bedside.transcripts.contract import READERS
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.readers.chat import spoken_text
from bedside.transcripts.reading import Reading
from bedside.transcripts.timed_speech import joined_text, seconds
from bedside.transcripts.transcript import Role, Transcript
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.conftest import DATA
from tests.transcripts.files import check_question, check_refusal, read, write

FORMS = DATA / "forms"
samples = pytest.mark.skipif(not FORMS.exists(), reason="the samples of forms are not here")


def one(path: Path, **options: Any) -> Transcript:
    (transcript,) = read(path, **options)
    return transcript


def brief(transcript: Transcript) -> list[tuple[Any, ...]]:
    return [(turn.role, turn.text, turn.meta.get("start"), turn.meta.get("stop")) for turn in transcript.turns]


def joined(pieces: list[tuple[float, float, str, str]]) -> list[tuple[str, str, float, float]]:
    """Speaker, text, start and stop of turns, joined here by hand from start, stop, speaker and text of pieces."""
    turns = []
    for speaker, group in itertools.groupby(sorted(pieces, key=lambda piece: piece[0]), lambda piece: piece[2]):
        parts = list(group)
        turns.append((speaker, " ".join(part[3] for part in parts), parts[0][0], max(part[1] for part in parts)))
    return turns


@pytest.mark.parametrize(("text", "value"), [("0:05", 5), ("01:02:03", 3723), ("00:00:01,250", 1.25), ("1:02.5", 62.5)])
def test_times(text: str, value: float) -> None:
    assert seconds(text) == value


def test_texts_are_joined_as_their_script_has_it() -> None:
    assert joined_text(["I sleep", "", "badly."]) == "I sleep badly."
    assert joined_text(["我睡", "不好。"]) == "我睡不好。"


# -- subtitles -----------------------------------------------------------------------------------------

TEAMS = """WEBVTT

NOTE made by hand
over two lines

STYLE
::cue { color: red }

4f1c-0/12-0
00:00:01.000 --> 00:00:02.500 align:start position:0%
<v Dr. Smith>Hello <b>there</b>,</v>

4f1c-0/12-1
00:00:02.500 --> 00:00:03.000
<v Dr. Smith>what&apos;s &lt;new&gt;?</v>

4f1c-0/14-0
00:03.000 --> 00:04.000
<v.loud Mary Ann>I sleep badly.</v>
<v Dr. Smith>Since when?</v>
"""
ZOOM = """WEBVTT

1
00:00:01.000 --> 00:00:02.500
Dr Smith: Hello there.

2
00:00:03.000 --> 00:00:04.000
Mary Ann: I sleep badly.

3
00:00:04.000 --> 00:00:05.000
Since May: no, June,
it was.

4
00:00:06.000 --> 00:00:07.000
Dr Smith: I see.

5
00:00:08.000 --> 00:00:09.000
Mary Ann: Yes.
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
Doctor: Hello <i>there</i>.

2
00:00:03,000 --> 00:00:04,000
{\\an8}Patient: I count
7
"""
PEOPLE: dict[str, Role | Literal["text"]] = {"Dr. Smith": "clinician", "Dr Smith": "clinician", "Mary Ann": "patient"}


def test_voice_tags(tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, "a.vtt", TEAMS)], ReadOptions(roles=PEOPLE))
    (transcript,) = reading
    assert brief(transcript) == [
        ("clinician", "Hello there, what's <new>?", 1, 3),
        ("patient", "I sleep badly.", 3, 4),
        ("clinician", "Since when?", 3, 4),
    ]
    assert reading.account.left_out == {"styles": 1}
    assert reading.account.lost["notes"].number == 1
    assert reading.account.lost["notes"].example == "made by hand over two lines"


def test_names_before_the_text(tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, "a.vtt", ZOOM)], ReadOptions(roles=PEOPLE))
    (transcript,) = reading
    assert brief(transcript) == [
        ("clinician", "Hello there.", 1, 2.5),
        ("patient", "I sleep badly. Since May: no, June, it was.", 3, 5),
        ("clinician", "I see.", 6, 7),
        ("patient", "Yes.", 8, 9),
    ]
    assert "A cue that names nobody is of who spoke in the cue before it." in reading.account.remarks


@pytest.mark.parametrize("text", [SRT, SRT.replace("\n", "\r\n"), SRT.replace("\n\n", "\n")])
def test_subrip(text: str, tmp_path: Path) -> None:
    assert brief(one(write(tmp_path, "a.srt", text))) == [
        ("clinician", "Hello there.", 1, 2.5),
        ("patient", "I count 7", 3, 4),
    ]


def test_cues_are_those_that_another_library_reads(tmp_path: Path) -> None:
    import webvtt

    for name, text in (("a.vtt", TEAMS), ("b.vtt", ZOOM), ("c.srt", SRT)):
        path = write(tmp_path, name, text)
        library = webvtt.from_srt if name.endswith("srt") else webvtt.read
        captions = library(str(path)).captions
        spans = [(caption.start_in_seconds, caption.end_in_seconds) for caption in captions]
        ours = brief(one(path, roles=PEOPLE))
        assert (ours[0][2], ours[-1][3]) == pytest.approx((spans[0][0], spans[-1][1]), abs=1)
        words = [word for *_, text in [(turn[1],) for turn in ours] for word in text.split()]
        theirs = "\n".join(caption.text for caption in captions)
        for label in ("Dr Smith:", "Mary Ann:", "Doctor:", "Patient:", "<i>", "</i>", "{\\an8}"):
            theirs = theirs.replace(label, "")
        for entity, sign in (("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">")):
            theirs = theirs.replace(entity, sign)
        assert words == theirs.split()


@pytest.mark.parametrize(
    ("cue", "stops"),
    [
        ("- No.\n- Why not?", True),
        ("- No. - Why not?", True),
        ("Doctor: - No.\n- Why not?", True),
        ("- Doctor: No.\n- Patient: Why not?", False),
        ("Patient: It was - well.", False),
        ("- No.", False),
    ],
)
def test_dashes_are_of_two_who_speak(cue: str, stops: bool, tmp_path: Path) -> None:
    cues = ["Doctor: Hello.", "Patient: Hi.", cue, "Patient: I sleep badly."]
    text = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{each}\n\n" for n, each in enumerate(cues, 1))
    path = write(tmp_path, "a.srt", text)
    if not stops:
        assert one(path).turns
        return
    check_refusal(path)


# -- TextGrid ------------------------------------------------------------------------------------------


def grid(tiers: dict[str, list[tuple[float, float, str]]], short: bool = False) -> str:
    """A TextGrid as Praat writes it."""
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "xmin = 0", "xmax = 9", "tiers? <exists>"]
    lines.append(f"size = {len(tiers)}")
    for at, (name, intervals) in enumerate(tiers.items(), 1):
        lines += [f"    item [{at}]:", '        class = "IntervalTier"', f'        name = "{name}"', "        xmin = 0"]
        lines += ["        xmax = 9", f"        intervals: size = {len(intervals)}"]
        for number, (start, stop, text) in enumerate(intervals, 1):
            quoted = text.replace('"', '""')
            lines += [f"        intervals [{number}]:", f"            xmin = {start}", f"            xmax = {stop}"]
            lines.append(f'            text = "{quoted}"')
    if short:
        lines = [line.strip().partition(" = ")[2] or line for line in lines if not line.strip().endswith(":")]
        lines = [line.replace("tiers? ", "") for line in lines]
        lines[:2] = ['File type = "ooTextFile"', 'Object class = "TextGrid"']
    return "\n".join(lines) + "\n"


DOCTOR = [(0.0, 2.0, 'Say "hello",\nintervals [1]: text = x'), (2.0, 5.0, ""), (5.0, 6.0, "Since when?")]
PATIENT = [(0.0, 1.0, ""), (1.0, 3.0, "Item [2]: <UNIN/>"), (3.0, 4.0, "I sleep badly.")]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tiers_of_one_file(short: bool, encoding: str, tmp_path: Path) -> None:
    content = grid({"Doctor": DOCTOR, "Patient": PATIENT}, short).encode(encoding)
    assert brief(one(write(tmp_path, "a.TextGrid", content))) == [
        ("clinician", 'Say "hello", intervals [1]: text = x', 0, 2),
        ("patient", "Item [2]: <UNIN/> I sleep badly.", 1, 4),
        ("clinician", "Since when?", 5, 6),
    ]


@pytest.mark.parametrize("tiers", [("Doctor", "Patient"), ("speech", "speech")])
def test_a_file_for_each_speaker(tiers: tuple[str, str], tmp_path: Path) -> None:
    for visit in ("v1", "v2"):
        write(tmp_path, f"{visit}_doctor.TextGrid", grid({tiers[0]: DOCTOR}))
        write(tmp_path, f"{visit}_patient.TextGrid", grid({tiers[1]: PATIENT}))
    reading = Reading([tmp_path])
    transcripts = list(reading)
    assert [(transcript.id, len(transcript.turns)) for transcript in transcripts] == [("v1", 3), ("v2", 3)]
    assert [file.format for file in reading.inputs] == ["textgrid", "textgrid (companion)"] * 2
    assert [turn.role for turn in transcripts[0].turns] == ["clinician", "patient", "clinician"]
    # Named one by one, and in any order, they are the same.
    again = Reading(sorted(tmp_path.glob("v1*"), reverse=True))
    assert [transcript.to_json() for transcript in again] == [transcripts[0].to_json()]


def test_tiers_can_be_chosen(tmp_path: Path) -> None:
    notes = [(0.0, 6.0, "He looks tired.")]
    sounds = [(start, stop, "w o t") for start, stop, _ in DOCTOR]
    tiers = {"A words": DOCTOR, "A sounds": sounds, "B words": PATIENT, "notes": notes, "empty": []}
    path = write(tmp_path, "a.TextGrid", grid(tiers))
    with pytest.raises(UnknownSpeakerError):
        one(path)
    roles = {"A words": "clinician", "B words": "patient"}
    by_text = one(path, columns={"text": "* words"}, roles=roles)
    by_role = one(path, columns={"clinician": "A words", "patient": "B *"})
    plain = one(write(tmp_path, "b.TextGrid", grid({"A words": DOCTOR, "B words": PATIENT})), roles=roles)
    assert brief(by_text) == brief(by_role) == brief(plain)
    assert {turn.speaker for turn in by_role.turns} == {"A words", "B words"}
    reading = Reading([path], ReadOptions(columns={"clinician": "A words", "patient": "B words"}))
    assert len(list(reading)) == 1
    told = " ".join("\n".join(reading.account.lines()).split())
    assert "clinician = A words, patient = B words; not used: A sounds, notes, empty" in told
    for columns, named in (
        ({"text": "C*"}, "'C*'"),
        ({"text": "A words", "patient": "* words"}, "'A words'"),
        ({"tier": "A words"}, "'tier'"),
        ({"tier": ""}, "'tier'"),
    ):
        check_refusal(path, named, columns=columns)


def test_tiers_of_a_file_for_each_speaker_can_be_chosen(tmp_path: Path) -> None:
    for who, said in (("doctor", DOCTOR), ("patient", PATIENT)):
        sounds = [(start, stop, "w o t") for start, stop, _ in said]
        write(tmp_path, f"v1_{who}.TextGrid", grid({"words": said, "sounds": sounds}))
        write(tmp_path / "plain", f"v1_{who}.TextGrid", grid({"words": said}))
    check_refusal(tmp_path / "v1_doctor.TextGrid", "v1_doctor", "'words', 'sounds'")
    # A third tier of one name in both files is no reason to take all of them for one speaker's words.
    for who, said in (("Doctor", DOCTOR), ("Patient", PATIENT)):
        write(tmp_path / "notes", f"v1_{who}.TextGrid", grid({who: said, "notes": [(0.0, 1.0, "calm")]}))
    check_refusal(tmp_path / "notes", "'Doctor', 'notes'")
    (noted,) = Reading(tmp_path / "notes", ReadOptions(columns={"clinician": "Doctor", "patient": "Patient"}))
    (chosen,) = Reading(tmp_path / "v1_doctor.TextGrid", ReadOptions(columns={"text": "words"}))
    (plain,) = Reading(tmp_path / "plain")
    assert brief(chosen) == brief(plain) == brief(noted)


def test_one_speakers_file_alone_says_what_is_missing(tmp_path: Path) -> None:
    first = write(tmp_path, "v1_doctor.TextGrid", grid({"Doctor": DOCTOR}))
    second = write(tmp_path, "v1_patient.TextGrid", grid({"Patient": PATIENT}))
    check_refusal(second, str(first), where=str(second))
    # Beside others it isn't left out without a word, either.
    other = write(tmp_path, "talk.txt", "Doctor: What brings you here?\nPatient: I sleep badly.\n")
    with pytest.raises(InputError) as caught:
        list(Reading([other, second]))
    assert caught.value.where == str(second)
    reading = Reading([other, second], ReadOptions(on_error="skip"))
    assert [transcript.id for transcript in reading] == ["talk"]
    assert ["v1_doctor" in str(error) for error in reading.skipped] == [True]
    # The first brings the other along.
    (joined,) = Reading(first)
    assert {turn.role for turn in joined.turns} == {"clinician", "patient"}


def test_files_that_share_a_stem_and_name_no_speaker_are_not_joined(tmp_path: Path) -> None:
    both = grid({"Doctor": DOCTOR, "Patient": PATIENT})
    for name in ("study_one.TextGrid", "study_two.TextGrid", "visit_1.TextGrid", "visit_2.TextGrid"):
        write(tmp_path, name, both)
    assert [transcript.id for transcript in Reading([tmp_path])] == ["study_one", "study_two", "visit_1", "visit_2"]


def test_a_damaged_textgrid_says_where(tmp_path: Path) -> None:
    text = grid({"Doctor": DOCTOR, "Patient": PATIENT})
    path = write(tmp_path, "a.TextGrid", text.replace("xmin = 1.0", "xmin = one"))
    line = text[: text.index("xmin = 1.0")].count("\n") + 2
    check_refusal(path, where=f"{path}:{line + 1}")
    check_refusal(write(tmp_path, "b.TextGrid", text[: len(text) // 2].rpartition("\n")[0]))
    for count in ("1e999", "-1", "2.5"):
        changed = text.replace("intervals: size = ", f"intervals: size = {count} ! ", 1)
        check_refusal(write(tmp_path, "c.TextGrid", changed), f"'{count}'")


@samples
def test_consultations_are_those_that_another_library_reads() -> None:
    import textgrid

    folder = FORMS / "primock57"
    reading = Reading([folder])
    transcripts = {transcript.id: transcript for transcript in reading}
    assert transcripts.keys() == {"day1_consultation01", "day3_consultation01"}
    for name, transcript in transcripts.items():
        pieces = []
        for who in ("doctor", "patient"):
            for tier in textgrid.TextGrid.fromFile(str(folder / f"{name}_{who}.TextGrid")):
                for interval in tier:
                    if interval.mark.strip():
                        pieces.append((interval.minTime, interval.maxTime, who, " ".join(interval.mark.split())))
        expected = joined(pieces)
        assert len(expected) == len(transcript.turns)
        for turn, (speaker, text, start, stop) in zip(transcript.turns, expected, strict=True):
            assert (turn.speaker.lower(), turn.text) == (speaker, text)
            assert (turn.meta["start"], turn.meta["stop"]) == pytest.approx((start, stop), abs=1e-5)
    assert {turn.role for turn in transcripts["day1_consultation01"].turns} == {"clinician", "patient"}


# -- CHAT ----------------------------------------------------------------------------------------------

CHAT = (
    "@UTF8\n@Begin\n@Languages:\teng\n@Participants:\tTHE Smith Therapist , P01 Anna Patient , OBS Investigator\n"
    "@ID:\teng|corpus|THE|||||Therapist|||\n@Comment:\tx\n"
    "*THE:\twhat's that &=laughs ? \x151000_2000\x15\n%com:\tpoints\n"
    "*P01:\t<the the> [/] the dog\n\tgoes@o home +/. \x152000_3500\x15\n%mor:\tdet|the n|dog\n"
    "*P01:\tyes .\n*P01:\t&=nods .\n*THE:\tI see .\n@End\n"
)


def test_chat(tmp_path: Path) -> None:
    reading = Reading([write(tmp_path, "a.cha", CHAT)])
    (transcript,) = reading
    assert brief(transcript) == [
        ("clinician", "what's that?", 1, 2),
        ("patient", "the the the dog goes home… yes.", 2, 3.5),
        ("clinician", "I see.", None, None),
    ]
    assert transcript.language == "en"
    assert [turn.speaker for turn in transcript.turns] == ["Therapist", "Patient", "Therapist"]
    assert reading.account.left_out == {"utterances without a word": 1}
    assert {name: texts.number for name, texts in reading.account.lost.items()} == {
        "@ID": 1,
        "@Comment": 1,
        "%com": 1,
        "%mor": 1,
    }


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("but &-um here's &+w &~uh some", "but um here's w uh some"),
        ("<I like> [//] I like (be)cause", "I like I like because"),
        ("well (.) I (..) want (1.5) it", "well I want it"),
        ("a doggie [: dog] [*] barks [=! loud]", "a doggie barks"),
        ("dog@s:eng goes@o New_York", "dog goes New York"),
        ("no:: you ⌈2 know ⌉2 ‡ right „ eh", "no you know, right, eh"),
        ('+" he said &*INV:mhm so +"/.', "he said so…"),
        ("you 0is going +..?", "you going?"),
        ("xxx yyy www", "xxx yyy www"),
    ],
)
def test_codes_of_chat(code: str, words: str) -> None:
    assert spoken_text(code) == words


@samples
def test_utterances_of_chat_are_those_that_another_library_reads() -> None:
    import pylangacq

    path = FORMS / "chat" / "test.cha"
    with pytest.raises(UnknownSpeakerError, match="'Participant'"):
        read(path)
    transcript = one(path, roles={"PAR0": "patient"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        utterances = list(pylangacq.read_chat(str(path), strict=False).utterances())
    (turn,) = transcript.turns
    audible = " ".join(str(utterance.audible) for utterance in utterances)
    assert turn.text.replace(".", " .").split() == audible.split()
    first, last = utterances[0].time_marks, utterances[-1].time_marks
    assert first is not None
    assert last is not None
    assert (turn.meta["start"] * 1000, turn.meta["stop"] * 1000) == (first[0], last[1])


# -- ELAN ----------------------------------------------------------------------------------------------


def test_elan_as_another_library_reads_and_writes_it(tmp_path: Path) -> None:
    from pympi import Elan

    eaf = Elan.Eaf(author="bedside")
    for tier, who in (("D", "Doctor"), ("P", "Patient")):
        eaf.add_tier(tier, part=who)
    eaf.add_linguistic_type("gloss", constraints="Symbolic_Association", timealignable=False)
    eaf.add_tier("D-gloss", ling="gloss", parent="D")
    said = [
        ("D", 0, 2000, "Hello & <welcome>."),
        ("D", 2500, 3000, "How are you?"),
        ("P", 2800, 4000, "I sleep badly."),
    ]
    for tier, start, stop, text in said:
        eaf.add_annotation(tier, start, stop, text)
    eaf.add_annotation("P", 4000, 5000, "")
    eaf.add_ref_annotation("D-gloss", "D", 100, "greeting")
    path = tmp_path / "a.eaf"
    eaf.to_file(str(path))
    reading = Reading([path])
    (transcript,) = reading
    again = Elan.Eaf(str(path))
    names = {"D": "Doctor", "P": "Patient"}
    pieces = [
        (start / 1000, stop / 1000, names[tier], text)
        for tier in names
        for start, stop, text in again.get_annotation_data_for_tier(tier)
        if text
    ]
    assert [(turn.speaker, turn.text, turn.meta["start"], turn.meta["stop"]) for turn in transcript.turns] == joined(
        pieces
    )
    assert reading.account.left_out == {"empty annotations": 1}
    assert reading.account.lost["D-gloss"].number == 1


def test_tiers_of_elan_can_be_chosen(tmp_path: Path) -> None:
    """Of each speaker a tier of words and one of notes, and a translation, which has the times of the words."""
    from pympi import Elan

    eaf = Elan.Eaf(author="bedside")
    eaf.add_linguistic_type("translation", constraints="Symbolic_Association", timealignable=False)
    said = {"D": [(0, 2000, "你好。"), (2500, 3000, "睡得好吗？")], "P": [(2800, 4000, "睡不好。")]}
    translated = {"D": ["Hello.", "Do you sleep well?"], "P": ["I sleep badly."]}
    for who, pieces in said.items():
        for kind in ("words", "notes"):
            eaf.add_tier(f"{who}-{kind}", part=who)
        eaf.add_tier(f"{who}-english", ling="translation", parent=f"{who}-words", part=who)
        for (start, stop, text), english in zip(pieces, translated[who], strict=True):
            eaf.add_annotation(f"{who}-words", start, stop, text)
            eaf.add_annotation(f"{who}-notes", start, stop, "calm")
            eaf.add_ref_annotation(f"{who}-english", f"{who}-words", start + 1, english)
    path = tmp_path / "a.eaf"
    eaf.to_file(str(path))
    check_refusal(path, "'D-words', 'D-notes'")
    for tier, texts in (
        ("words", ["你好。睡得好吗？", "睡不好。"]),
        ("english", ["Hello. Do you sleep well?", "I sleep badly."]),
    ):
        transcript = one(path, columns={"clinician": f"D-{tier}", "patient": f"P-{tier}"})
        assert [turn.text for turn in transcript.turns] == texts
        spans = [(turn.role, turn.speaker, turn.meta["start"], turn.meta["stop"]) for turn in transcript.turns]
        assert spans == [("clinician", "D", 0.0, 3.0), ("patient", "P", 2.8, 4.0)]
        by_text = one(path, columns={"text": f"*-{tier}"}, roles={"D": "clinician", "P": "patient"})
        assert by_text.to_json() == transcript.to_json()


def test_elan_that_declares_entities_is_refused(tmp_path: Path) -> None:
    example = READERS.load("elan").example
    declared = example.replace(
        "<ANNOTATION_DOCUMENT", '<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>\n<ANNOTATION_DOCUMENT'
    )
    path = write(tmp_path, "a.eaf", declared.replace("I sleep", "&a;"))
    check_refusal(path, where=f"{path}:2", format="elan")
    check_refusal(path)


# -- speech recognisers --------------------------------------------------------------------------------

PAIR = {"0": "clinician", "1": "patient", "A": "clinician", "B": "patient", "2": "other"}
WORDS: dict[str, Any] = {
    "deepgram": {
        "metadata": {},
        "results": {
            "channels": [
                {
                    "detected_language": "en",
                    "alternatives": [
                        {
                            "transcript": "x",
                            "words": [
                                {"word": "why", "punctuated_word": "Why", "start": 0.1, "end": 0.3, "speaker": 0},
                                {"word": "now", "punctuated_word": "now?", "start": 0.4, "end": 0.6, "speaker": 0},
                                {"word": "pain", "punctuated_word": "Pain.", "start": 0.9, "end": 1.2, "speaker": 1},
                            ],
                        }
                    ],
                }
            ]
        },
    },
    "assemblyai": {
        "language_code": "en_us",
        "utterances": None,
        "words": [
            {"text": "Why", "start": 100, "end": 300, "speaker": "A"},
            {"text": "now?", "start": 400, "end": 600, "speaker": "A"},
            {"text": "Pain.", "start": 900, "end": 1200, "speaker": "B"},
        ],
    },
    "aws": {
        "jobName": "x",
        "results": {
            "language_code": "en-US",
            "transcripts": [{"transcript": "x"}],
            "speaker_labels": {
                "segments": [
                    {
                        "speaker_label": "0",
                        "items": [
                            {"start_time": "0.1", "speaker_label": "0"},
                            {"start_time": "0.4", "speaker_label": "0"},
                        ],
                    },
                    {"speaker_label": "1", "items": [{"start_time": "0.9", "speaker_label": "1"}]},
                ]
            },
            "items": [
                {"type": "pronunciation", "start_time": "0.1", "end_time": "0.3", "alternatives": [{"content": "Why"}]},
                {"type": "pronunciation", "start_time": "0.4", "end_time": "0.6", "alternatives": [{"content": "now"}]},
                {"type": "punctuation", "alternatives": [{"content": "?"}]},
                {
                    "type": "pronunciation",
                    "start_time": "0.9",
                    "end_time": "1.2",
                    "alternatives": [{"content": "Pain"}],
                },
                {"type": "punctuation", "alternatives": [{"content": "."}]},
            ],
        },
    },
    "aws segments": {
        "results": {
            "transcripts": [],
            "items": [],
            "language_code": "en-US",
            "audio_segments": [
                {"speaker_label": "0", "transcript": "Why now?", "start_time": "0.1", "end_time": "0.6"},
                {"speaker_label": "1", "transcript": "Pain.", "start_time": "0.9", "end_time": "1.2"},
            ],
        }
    },
    "google": {
        "results": [
            {
                "alternatives": [
                    {"transcript": "Why now? Pain.", "words": [{"word": "Why", "startTime": "0.1s", "endTime": "0.3s"}]}
                ],
                "languageCode": "en-us",
            },
            {
                "alternatives": [
                    {
                        "words": [
                            {
                                "word": "Why",
                                "startTime": "0.100s",
                                "endTime": "0.300s",
                                "speakerTag": 0,
                                "speakerLabel": "0",
                            },
                            {"word": "now?", "startTime": "0.400s", "endTime": "0.600s", "speakerLabel": "0"},
                            {"word": "Pain.", "startTime": "0.900s", "endTime": "1.200s", "speakerLabel": "1"},
                        ]
                    }
                ]
            },
        ]
    },
    "whisperx": {
        "language": "en",
        "segments": [
            {
                "start": 0.1,
                "end": 1.2,
                "text": " Why now? Pain.",
                "words": [
                    {"word": "Why", "start": 0.1, "end": 0.3, "speaker": "0"},
                    {"word": "now?", "start": 0.4, "end": 0.6, "speaker": "0"},
                    {"word": "Pain.", "start": 0.9, "end": 1.2, "speaker": "1"},
                ],
            }
        ],
    },
}


@pytest.mark.parametrize("product", WORDS)
def test_words_are_grouped_by_their_speakers(product: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", json.dumps(WORDS[product]))
    transcript = one(path, roles=PAIR)
    assert brief(transcript) == [("clinician", "Why now?", 0.1, 0.6), ("patient", "Pain.", 0.9, 1.2)]
    assert (transcript.language or "").lower().startswith("en")
    with pytest.raises(UnknownSpeakerError) as caught:
        read(path)
    names = {turn.speaker for turn in transcript.turns}
    assert all(f"{name!r} (1 turn in 1 transcript)" in str(caught.value) for name in names)


def test_channels_are_speakers(tmp_path: Path) -> None:
    def channel(word: str, start: float) -> dict[str, Any]:
        return {"alternatives": [{"words": [{"word": word, "start": start, "end": start + 1}]}]}

    item = {"metadata": {}, "results": {"channels": [channel("why", 1), channel("pain", 3)]}}
    roles = {"channel 0": "clinician", "channel 1": "patient"}
    assert brief(one(write(tmp_path, "a.json", json.dumps(item)), roles=roles)) == [
        ("clinician", "why", 1, 2),
        ("patient", "pain", 3, 4),
    ]


def test_words_of_nobody_are_told(tmp_path: Path) -> None:
    segments: list[dict[str, Any]] = [
        {"start": 0, "end": 1, "text": "Why?", "speaker": "SPEAKER_00"},
        {"start": 1, "end": 2, "text": "Hm."},
        {"start": 2, "end": 3, "text": "Pain.", "speaker": "SPEAKER_01"},
    ]
    roles = {"SPEAKER_00": "clinician", "SPEAKER_01": "patient", "no speaker": "other"}
    for number, nobody in enumerate((None, "", "absent")):
        segments[1]["speaker"] = nobody
        if nobody == "absent":
            del segments[1]["speaker"]
        path = write(tmp_path, f"{number}.json", json.dumps({"segments": segments}))
        with pytest.raises(UnknownSpeakerError, match="no speaker"):
            read(path)
        assert [role for role, *_ in brief(one(path, roles=roles))] == ["clinician", "other", "patient"]


def test_a_text_beside_recognised_speech_is_not_lost(tmp_path: Path) -> None:
    segments = [
        {"start": 0, "end": 1, "text": "What brings you here?", "speaker": "Doctor"},
        {"start": 1, "end": 2, "text": "[sighs very deeply] I sleep badly.", "speaker": "Patient"},
    ]
    recognised = {"text": "What brings you here? [sighs very deeply] I sleep badly.", "segments": segments}
    path = write(tmp_path, "talk.json", json.dumps(recognised))
    (talk,) = read(path, drop_tags=True)
    assert [turn.text for turn in talk.turns] == ["What brings you here?", "I sleep badly."]
    path = write(tmp_path, "talk.json", json.dumps({**recognised, "summary": "Somebody cannot sleep at night."}))
    check_question(path, "'summary' would be lost")
    reading = Reading(path, ReadOptions(leave_out=("summary",)))
    assert len(list(reading)) == 1
    assert [*reading.account.lost] == ["summary"]


@samples
def test_recognised_recordings_as_a_direct_reading_has_them() -> None:
    folder = FORMS / "asr-json"
    utterances = json.loads((folder / "dg_speakers.json").read_text())["results"]["utterances"]
    pieces = [(each["start"], each["end"], str(each["speaker"]), each["transcript"]) for each in utterances]
    transcript = one(folder / "dg_speakers.json", roles=PAIR)
    assert [(turn.speaker, turn.text, turn.meta["start"], turn.meta["stop"]) for turn in transcript.turns] == joined(
        pieces
    )
    (only,) = json.loads((folder / "assemblyai_utterances.json").read_text())["utterances"]
    (turn,) = one(folder / "assemblyai_utterances.json", roles=PAIR).turns
    assert (turn.text, turn.meta["start"], turn.meta["stop"]) == (only["text"], 0.17, 25.14)
    check_refusal(folder / "whisper_timestamped.json", "without telling its speakers apart")


def test_two_who_speak_in_a_cue_and_a_note_behind_a_name(tmp_path: Path) -> None:
    cues = ["Doctor: Hello.", "Patient (crying): I can't. Doctor: Since when?", "Patient: May."]
    text = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{cue}\n\n" for n, cue in enumerate(cues, 1))
    (one,) = read(write(tmp_path, "talk.srt", text))
    assert [turn.text for turn in one.turns] == ["Hello.", "(crying) I can't.", "Since when?", "May."]
