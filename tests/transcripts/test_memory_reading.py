"""Transcripts in memory: scored as files are, held to the same rules, and told of truly in the manifest."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.engines.contract import open_engine
from bedside.core.errors import InputError
from bedside.reports.methods import methods
from bedside.transcripts.memory_reading import MemoryReading, open_reading
from bedside.transcripts.transcript import Transcript, Turn
from bedside.transcripts.transcription_tags import THOUGHTS
from tests.conftest import conversation

TALKS = bedside.EXAMPLES / "transcripts.jsonl"
Talk = Callable[..., Transcript]


def transcripts() -> list[Transcript]:
    return list(bedside.read_transcripts(TALKS))


def test_what_is_in_memory_is_scored_as_a_file(tmp_path: Path) -> None:
    of_file = bedside.score(TALKS, tmp_path / "file", metrics="structure").run
    in_memory = bedside.score(iter(transcripts()), tmp_path / "memory", metrics="structure").run
    assert in_memory.ratings.equals(of_file.ratings)
    assert in_memory.index.equals(of_file.index)
    # Either may be scored again from the other, and from itself.
    for run, source in ((of_file, transcripts()), (in_memory, TALKS), (in_memory, of_file.transcripts())):
        again = bedside.score(source, run.path, metrics=["structure"])
        assert again.replaced == again.ratings == of_file.ratings.height


def test_the_manifest_says_what_was_there(tmp_path: Path) -> None:
    """The hash is that of the file of JSON lines that the same transcripts make."""
    given = transcripts()[:3]
    run = bedside.score(given, tmp_path / "run", metrics="turns").run
    file = tmp_path / "same.jsonl"
    file.write_bytes(b"".join(one.to_json() + b"\n" for one in given))
    assert list(bedside.read_transcripts(file)) == [
        dataclasses.replace(one, source=f"{file}:{number}") for number, one in enumerate(given, 1)
    ]
    content = file.read_bytes()
    kept = bedside.read_run(run.path).manifest["transcripts"]
    assert kept["inputs"] == [
        {
            "path": None, "format": "memory", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content),
            "transcripts": 3, "skipped": 0,
        }
    ]  # fmt: skip
    assert (kept["count"], kept["skipped"], kept["ignored"]) == (3, [], [])
    digest = hashlib.sha256(content).hexdigest()[:12]
    words = f"3 transcripts with {kept['turns']} turns were read from memory (SHA-256 of their JSON lines: {digest}…)."
    assert words in methods(run, open_ratings_view(run))[0]


def test_a_lone_transcript_is_one(tmp_path: Path) -> None:
    first = transcripts()[0]
    assert bedside.score(first, tmp_path / "run", metrics="turns").run.index["id"].to_list() == [first.id]


def test_it_is_kept_as_a_file_would_give_it(talk: Talk, tmp_path: Path) -> None:
    """Tuples are lists in JSON, and a whole number as an id is text."""
    given = talk(("clinician", "How are you?", {"time": (1, 2)}), ("patient", "Well."), reference={"goals": ("a", "b")})
    given = dataclasses.replace(given, id=7, case_id=3)  # type: ignore[arg-type]
    (kept,) = MemoryReading([given])
    assert (kept.id, kept.case_id, kept.reference, kept.turns[0].meta) == (
        "7",
        "3",
        {"goals": ["a", "b"]},
        {"time": [1, 2]},
    )
    assert kept.source == "transcript 0 in memory"
    run = bedside.score(given, tmp_path / "run", metrics="turns").run
    assert run.transcript("7") == kept
    assert bedside.score(given, run.path, metrics="turns").replaced == run.ratings.height


def _with_turn(**fields: Any) -> Callable[[Transcript], Any]:
    return lambda one: dataclasses.replace(one, turns=(dataclasses.replace(one.turns[0], **fields), *one.turns[1:]))


def _with(**fields: Any) -> Callable[[Transcript], Any]:
    return lambda one: dataclasses.replace(one, **fields)


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (_with_turn(text=" "), "t, turn 0"),
        (_with_turn(text=5), "t, turn 0"),
        (_with_turn(role="doctor"), "t, turn 0"),
        (_with_turn(speaker=""), "t, turn 0"),
        (_with_turn(index=4), "t, turn 0"),
        (_with_turn(meta={"codes": {"anna": "open"}}), "t, turn 0"),
        (_with_turn(meta=[1]), "t, turn 0"),
        (_with(turns=()), "t"),
        (_with(turns=(Turn(0, "other", "p", "Hello."),)), "t"),
        (_with(turns=("Hello.",)), "t, turn 0"),
        (_with(id=""), "t"),
        (_with(id=None), "t"),
        (_with(system=1.5), "t"),
        (_with(language="English, US"), "t"),
        (_with(factors={"a": [1]}), "t"),
        (_with(factors=[1]), "t"),
        (_with(reference={"a": {1, 2}}), "t"),
        (lambda one: {"id": "t"}, None),
    ],
)  # fmt: skip
def test_what_a_file_may_not_hold_memory_may_not(
    spoil: Callable[[Transcript], Any], where: str | None, talk: Talk, tmp_path: Path
) -> None:
    sound = talk(("clinician", "How are you?"), ("patient", "Well."), source="t")
    for given in ([sound, spoil(dataclasses.replace(sound, id="u"))], [spoil(sound)]):
        with pytest.raises(InputError) as error:
            bedside.score(given, tmp_path / "run", metrics="turns")
        assert where in (None, error.value.where)
    assert not list(tmp_path.iterdir())


def test_two_of_one_id(talk: Talk, tmp_path: Path) -> None:
    sound = talk(("clinician", "How are you?"), ("patient", "Well."))
    with pytest.raises(InputError, match="'t'"):
        bedside.score([sound, sound], tmp_path / "run", metrics="turns")


def test_what_is_said_of_files_is_not_said_of_memory(tmp_path: Path) -> None:
    with pytest.raises(bedside.BedsideError, match="`options`"):
        bedside.score(transcripts(), tmp_path / "run", options=bedside.ReadOptions(on_error="skip"))
    with open_engine("local", workers=1) as engine, pytest.raises(bedside.BedsideError, match="`engine`"):
        bedside.score(transcripts(), tmp_path / "run", engine=engine)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(bedside.BedsideError, match="DataFrame"):
        bedside.score(pandas.DataFrame({"id": ["a"]}), tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_other_transcripts_are_refused(tmp_path: Path) -> None:
    given = transcripts()
    run = bedside.score(given, tmp_path / "run", metrics="turns").run
    with pytest.raises(bedside.BedsideError, match="the run has 12 transcripts, and 11 of them were given"):
        bedside.score(given[1:], run.path, metrics="words")
    changed = dataclasses.replace(given[0], case_id="other")
    with pytest.raises(bedside.BedsideError, match="differs from those of the run"):
        bedside.score([changed, *given[1:]], run.path, metrics="words")
    assert orjson.loads((run.path / "manifest.json").read_bytes()) == run.manifest


def test_thoughts_in_memory_are_counted_as_those_of_files_are() -> None:
    thought = conversation(("patient", "I sleep badly."), ("clinician", "<think>Ask more.</think>Since when?"))
    reading = open_reading([thought])
    (read,) = reading
    assert read.turns[1].text == "Since when?"
    assert reading.account.left_out == {THOUGHTS: 1}
