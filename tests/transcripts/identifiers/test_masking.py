"""Copies with identifiers covered, and what of an identifier is shown."""

from __future__ import annotations

from bedside.transcripts.identifiers.masking import masked
from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier, language_of, names_somebody
from bedside.transcripts.transcript import Transcript, Turn


def seen(turn: int | None, field: str, whole: str, part: str, kind: str = "name") -> SeenIdentifier:
    start = whole.index(part)
    return SeenIdentifier("t", "t.jsonl", turn, field, kind, start, start + len(part), part)


def test_each_is_its_kind_where_it_stands_and_all_else_stays() -> None:
    text, note = "I'm Ann Lee, born 1.2.1990, Ann for short.", "Ann's mother"
    talk = Transcript(
        "ann-1",
        (
            Turn(0, "patient", "Ann Lee", text, {"codes": {"x": {"question": "open"}}, "remarks": [note, 3]}),
            Turn(1, "clinician", "Doctor", "Hello."),
        ),
        case_id="ann",
        factors={"age": 30},
        reference={"people": {"Ann": note}},
    )
    copy = masked(
        talk,
        [
            seen(0, "speaker", "Ann Lee", "Ann Lee"),
            seen(0, "text", text, "Ann Lee"),
            seen(0, "text", text, "1.2.1990", "date"),
            SeenIdentifier("t", "", 0, "text", "name", 28, 31, "Ann"),
            seen(0, "meta.remarks.0", note, "Ann"),
            seen(None, "reference.people.Ann", note, "Ann"),
        ],
    )
    assert copy.turns[0].text == "I'm [NAME], born [DATE], [NAME] for short."
    assert copy.turns[0].speaker == "patient"
    assert copy.turns[0].meta == {"codes": {"x": {"question": "open"}}, "remarks": ["[NAME]'s mother", 3]}
    assert copy.turns[1] == talk.turns[1]
    assert copy.reference == {"people": {"Ann": "[NAME]'s mother"}}
    assert (copy.id, copy.case_id, copy.factors) == (talk.id, talk.case_id, talk.factors)


def test_what_is_shown_of_an_identifier() -> None:
    for text, shown in (
        ("Jenny Brown", "J•••• B••••"),
        ("(415) 555-0134", "(•••) •••-••••"),
        ("jo@example.org", "••@e••••••.o••"),
        ("李小红", "•••"),
    ):
        assert seen(0, "text", text, text).masked == shown


def test_speakers_that_name_nobody() -> None:
    for speaker in ("Doctor", "patient:", "Speaker 2", "T", "gpt-4o", "SPEAKER_01", "P3", "医生"):
        assert not names_somebody(speaker), speaker
    for speaker in ("Anna", "Dr Smith", "李小红"):
        assert names_somebody(speaker), speaker


def test_languages() -> None:
    def of(text: str, tag: str | None = None) -> str:
        return language_of(Transcript("t", (Turn(0, "patient", "P", text),), language=tag))

    assert of("Ich kann nicht schlafen und das ist nicht gut für mich") == "de"
    assert of("我晚上睡不着。") == "zh"
    assert of("I can't sleep at night.") == "en"
    assert of("夜眠れないんです。") == "und"
    assert of("Je ne dors pas", "fr-CA") == "fr"
