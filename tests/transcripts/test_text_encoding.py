"""Encodings: what is recognised is what was written, and where that can't be told, reading stops and names two."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.byte_source import MAX_WHOLE
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.transcripts.files import check_refusal, read, write

SAID = {
    "de": ("Wie schlafen Sie? Schön, daß Sie hier sind.", "Übel. Ich weiß nicht, früher ging es."),
    "fr": ("Comment ça va ? « Bien » ?", "Je ne dors pas très bien, à cause de mes problèmes… J’ai été fatigué."),
    "es": ("¿Cómo duerme usted?", "Mal, señora. ¡No sé qué año!"),
    "da": ("Hvordan sover du?", "Jeg sover dårligt, og jeg får ondt. Øh, ja."),
    "en": ("How’s your sleep?", "It’s “bad” — I can’t rest…"),
    "zh": ("最近睡得怎么样？", "我睡不着，总是很累，什么都不想做。"),
    "plain": ("How do you sleep?", "Badly."),
    "pl": ("Jak pan śpi?", "Nie mogę spać, jestem zmęczony, źle się czuję."),
    "cs": ("Jak spíte?", "Spím špatně, příliš mnoho přemýšlím o všem."),
    "hu": ("Hogyan alszik?", "Rosszul alszom, őrült, fáradt vagyok, nagyon jól tűröm a gyógyszert, köszönöm."),
    "ru": ("Как вы спите?", "Я плохо сплю и очень устаю."),
    "ko": ("잠은 잘 주무세요?", "잠을 못 자요. 저는 너무 피곤해요."),
    "tw": ("最近睡得好嗎？", "我最近睡不著，總是很累，醫生。"),
}  # fmt: skip
KNOWN = [
    *((language, "cp1252", "CP1252") for language in ("de", "fr", "es", "da", "en")),
    ("zh", "gb18030", "GB18030"),
    ("zh", "gbk", "GB18030"),
    *(
        (language, encoding, "UTF-16")
        for language in ("plain", "fr", "zh", "ru")
        for encoding in ("utf-16", "utf-16-le", "utf-16-be")
    ),
    *((language, encoding, "") for language in SAID for encoding in ("utf-8", "utf-8-sig")),
]
DOUBTFUL = [
    ("pl", "cp1250"),
    ("cs", "cp1250"),
    ("hu", "cp1250"),
    ("ru", "cp1251"),
    ("ru", "koi8_r"),
    ("ko", "euc_kr"),
    ("tw", "big5"),
    ("de", "mac_roman"),
    ("es", "cp850"),
]


def as_table(said: tuple[str, str]) -> str:
    return f'id,speaker,text\na,doctor,{json.dumps(said[0], ensure_ascii=False)}\na,patient,"{said[1]}"\n'


def as_lines(said: tuple[str, str]) -> str:
    turns = [{"role": role, "text": text} for role, text in zip(("clinician", "patient"), said, strict=True)]
    return json.dumps({"id": "a", "turns": turns}, ensure_ascii=False) + "\n"


def as_array(said: tuple[str, str]) -> str:
    return f"[{as_lines(said)}]"


@pytest.mark.parametrize(("language", "encoding", "told"), KNOWN)
@pytest.mark.parametrize(("name", "content"), [("t.csv", as_table), ("t.jsonl", as_lines), ("t.json", as_array)])
def test_a_text_reads_the_same_in_any_encoding(
    language: str, encoding: str, told: str, name: str, content: object, tmp_path: Path
) -> None:
    assert callable(content)
    path = write(tmp_path, name, content(SAID[language]).encode(encoding))
    reading = Reading([path])
    (one,) = reading
    assert tuple(turn.text for turn in one.turns) == SAID[language]
    assert reading.account.kinds
    (kind,) = reading.account.kinds
    assert kind.encoding == told


@pytest.mark.parametrize(("language", "encoding"), DOUBTFUL)
def test_a_text_in_doubt_stops_with_likely_encodings_and_reads_with_the_right_one(
    language: str, encoding: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "t.csv", as_table(SAID[language]).encode(encoding))
    with pytest.raises(AmbiguousError) as caught:
        read(path)
    assert 1 < str(caught.value.todo).count("`encoding=") < 4
    # How the line reads in the right one is among what is shown.
    line = as_table(SAID[language]).splitlines()[int(str(caught.value.where).rpartition(":")[2]) - 1]
    at = next(at for at, letter in enumerate(line) if not letter.isascii())
    assert line[max(0, at - 20) : at + 20] in caught.value.what
    (one,) = read(path, encoding=encoding)
    assert tuple(turn.text for turn in one.turns) == SAID[language]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_large_file_is_recoded_as_it_streams(encoding: str, zipped: bool, tmp_path: Path) -> None:
    text = "id,speaker,text\n" + "".join(
        f't{n},doctor,Wie geht es — schön?\nt{n},patient,"Übel, {"weiß " * 400}"\n' for n in range(2_200)
    )
    data = text.encode(encoding)
    assert len(data) > MAX_WHOLE
    expected = read(write(tmp_path, "t.csv", text))
    found = read(write(tmp_path, "u.csv.gz" if zipped else "u.csv", gzip.compress(data, 1) if zipped else data))
    assert [one.to_json() for one in found] == [one.to_json() for one in expected]
    assert found[-1].source.rpartition(":")[2] == expected[-1].source.rpartition(":")[2]


def test_what_its_encoding_does_not_have_is_told_where_it_stands(tmp_path: Path) -> None:
    data = as_table(SAID["de"]).encode("cp1252") + b"b,doctor,Schn\x81\nb,patient,Ja\nc,doctor,A\nc,patient,O\n"
    path = write(tmp_path, "t.csv", data)
    with pytest.raises(InputError) as caught:
        read(path, encoding="cp1252")
    assert caught.value.where == f"{path}:4"
    reading = Reading([path], ReadOptions(encoding="cp1252", on_error="skip"))
    assert [one.id for one in reading] == ["c"]


@pytest.mark.slow
def test_latin_bytes_far_into_a_large_file_are_told_as_what_they_may_be(tmp_path: Path) -> None:
    rows = "".join(f"t{n},doctor,How are you?\nt{n},patient,{'bad ' * 400}\n" for n in range(3_000))
    path = write(tmp_path, "t.csv", b"id,speaker,text\n" + rows.encode() + "z,doctor,Schön\n".encode("cp1252"))
    assert path.stat().st_size > MAX_WHOLE
    check_refusal(path, "0xf6", "`encoding=cp1252`", where=f"{path}:6002")
