"""``bedside scrub``: what it prints, how it ends, what it writes, and that it reaches for no network."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.cli import main
from bedside.transcripts.identifiers.kinds import NO_PROMISE
from bedside.transcripts.reading import read_transcripts
from tests.conftest import exit_code
from tests.installed import need

need("presidio_analyzer")
pytestmark = [pytest.mark.model, pytest.mark.slow]

TALKS = """\
{"id": "one", "language": "en", "turns": [{"role": "clinician", "speaker": "Dr Osei", "text": "What is your name?"}, \
{"role": "patient", "speaker": "patient", "text": "my name is jenny brown, born 1.2.1990, call 0113 496 0982"}]}
{"id": "two", "language": "en", "turns": [{"role": "patient", "speaker": "patient", \
"text": "jan@example.org \\u001b[2J"}]}
"""
NOTHING = """\
{"id": "three", "language": "en", "turns": [{"role": "patient", "speaker": "patient", "text": "I sleep badly."}]}
{"id": "four", "language": "fr", "turns": [{"role": "patient", "speaker": "patient", "text": "Je dors mal."}]}
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with talks, and no way out."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a network was tried")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    (tmp_path / "talks.jsonl").write_text(TALKS, "utf-8")
    (tmp_path / "nothing.jsonl").write_text(NOTHING, "utf-8")


def scrubbed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, str, str]:
    """How the command ended, and what it printed to either side."""
    with pytest.raises(SystemExit) as ended:
        main(["scrub", *words, "--model", "none"])
    printed = capsys.readouterr()
    return ended.value.code or 0, printed.out, printed.err


def test_what_is_seen_is_told_covered_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = scrubbed(capsys, "talks.jsonl")
    assert code == 1
    assert "talks.jsonl" in out
    assert "j•••• b••••" in out
    assert "turn 1" in out
    for word in ("jenny", "brown", "Osei", "1990", "0982", "jan@"):
        assert word not in out
    assert " ".join(NO_PROMISE.split()) in " ".join(out.split())
    assert "no model of names" in " ".join(out.split())


def test_what_is_seen_is_shown_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = scrubbed(capsys, "talks.jsonl", "--show")
    assert code == 1
    for word in ("jenny brown", "Dr Osei", "1.2.1990", "0113 496 0982", "jan@example.org"):
        assert word in out
    assert "\x1b" not in out


def test_nothing_seen_ends_with_0_and_says_what_could_not_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = scrubbed(capsys, "nothing.jsonl")
    assert code == 0
    assert "1 transcript in languages that can't be looked at" in " ".join(out.split())
    assert " ".join(NO_PROMISE.split()) in " ".join(out.split())


def test_json_is_two_tables_with_places(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = scrubbed(capsys, "talks.jsonl", "--json")
    assert code == 1
    places, counts = json.loads(out)
    texts = {(talk.id, turn.index): turn.text for talk in read_transcripts("talks.jsonl") for turn in talk.turns}
    dates = [record for record in places["rows"] if record["kind"] == "date"]
    assert [texts["one", 1][date["start"] : date["end"]] for date in dates] == ["1.2.1990"]
    assert sum(record["identifiers"] for record in counts["rows"]) == len(places["rows"])
    assert NO_PROMISE in counts["notes"]
    assert "1990" not in out


def test_copies_are_covered_read_again_and_overwrite_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = scrubbed(capsys, "talks.jsonl", "--out", "masked")
    assert code == 1
    assert "Wrote 2 masked transcripts" in err
    copies = {talk.id: talk for talk in read_transcripts(tmp_path / "masked")}
    assert copies["one"].turns[0].speaker == "clinician"
    assert copies["one"].turns[1].text == "my name is [NAME], born [DATE], call [PHONE]"
    before = (tmp_path / "masked" / "transcripts.jsonl").read_bytes()
    code, _, err = scrubbed(capsys, "talks.jsonl", "--out", "masked")
    assert code == 2
    assert "nothing is overwritten" in err
    assert (tmp_path / "masked" / "transcripts.jsonl").read_bytes() == before


def test_numbers_and_times_in_data_are_looked_at_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number of JSON without quotation marks was left in the copies, and so was the day of a chat."""
    talk = {
        "id": "five",
        "language": "en",
        "factors": {"completed": True, "target_length": 20},
        "reference": {"mrn": 4471829, "wardPatient": {"patientId": 5566778}, "words": 61234},
        "turns": [
            {
                "role": "patient",
                "text": "I sleep badly.",
                "meta": {"time": "2024-03-05T10:11:12Z", "start": 12000, "ssn": [123456789]},
            },
            {"role": "clinician", "text": "Since when?", "meta": {"time": "00:01:23.000"}},
        ],
    }
    (tmp_path / "data.json").write_text(json.dumps(talk), "utf-8")
    code, out, _ = scrubbed(capsys, "data.json", "--out", "masked", "--json", "--show")
    assert code == 1
    assert {(row["field"], row["seen"]) for row in json.loads(out)[0]["rows"]} == {
        ("reference.mrn", "4471829"),
        ("reference.wardPatient.patientId", "5566778"),
        ("meta.time", "2024-03-05"),
        ("meta.ssn.0", "123456789"),
    }
    [copy] = read_transcripts(tmp_path / "masked")
    assert copy.reference == {"mrn": "[RECORD_NUMBER]", "wardPatient": {"patientId": "[RECORD_NUMBER]"}, "words": 61234}
    assert copy.factors == talk["factors"]
    assert copy.turns[0].meta == {"time": "[DATE]T10:11:12Z", "start": 12000, "ssn": ["[RECORD_NUMBER]"]}
    assert copy.turns[1].meta == {"time": "00:01:23.000"}


def test_where_nothing_could_be_looked_at_nothing_is_called_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cut.jsonl").write_text('{"id": "six"', "utf-8")
    code, out, err = scrubbed(capsys, "cut.jsonl", "--on-error", "skip", "--out", "masked", "--json")
    assert (code, out) == (2, "")
    assert "every transcript was skipped, the first because: cut.jsonl:1: not JSON" in err
    assert not (tmp_path / "masked" / "transcripts.jsonl").exists()


def test_from_python_it_is_the_same() -> None:
    tables = bedside.scrub("talks.jsonl", model="")
    assert [table.name for table in tables] == ["identifiers", "identifiers_by_kind"]
    assert tables.results.counts["date"] == 1
    assert "jenny brown" in {seen.text for seen in tables.results.identifiers}


def test_a_model_is_printed_as_it_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        exit_code("scrub", "talks.jsonl", "--json", *words)
        by_kind = json.loads(capsys.readouterr().out)[1]
        return " ".join(by_kind["notes"])

    model = re.search(r"\b(en_core_web_sm\w*) [\d.]+", printed())
    assert model is not None
    assert model[0] in printed("--model", model[1])


def test_a_model_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("scrub", "talks.jsonl", "--model", "no_such_model") == 2
    assert capsys.readouterr().err.count("\n") == 1
