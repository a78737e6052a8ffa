"""A case that is removed from a simulation leaves no byte there, that some was stays, and nothing of others changes."""

from __future__ import annotations

import shutil
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest

import bedside
from bedside.api.simulating import simulate
from bedside.api.verifying import all_as_written, verify
from bedside.core.errors import InputError
from bedside.core.files import unpacked
from bedside.simulation.conversation_log import opened_log, removed_conversations, spent_by_role
from bedside.simulation.talks_folder import check_rows_kept
from bedside.transcripts.simulation_folder import LOG_FILE, checked_manifest
from tests.durability.recorder import recorded
from tests.durability.states import is_temporary
from tests.simulation.tiny import cases, install

GONE = cases(3)[1].id
#: What is known of it: its name, as text stands in JSON and in ids, and its words.
WORDS = (f'"{GONE}"', f"/{GONE}/", "SECRET1", "DIAGNOSIS1", "Person 1.")


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cases of a simulation in which conversations share what is asked of a case."""
    install(monkeypatch)
    simulate(cases(3), "tiny", tmp_path / "study" / "talks", clinician="rules")
    return tmp_path / "study" / "talks"


def traces(folder: Path) -> list[str]:
    """Words of the case in files and in what cells of the log hold compressed."""
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    with opened_log(folder / LOG_FILE) as log:
        rows = (row for table in ("replies", "conversations") for row in log.execute(f"SELECT * FROM {table}"))
        texts += [unpacked(cell) for row in rows for cell in row if isinstance(cell, bytes)]
    return [word for word in WORDS if any(word.encode() in text for text in texts)]


def of_others(folder: Path) -> list[bytes]:
    lines = (folder / "transcripts.jsonl").read_bytes().splitlines()
    return [line for line in lines if WORDS[0].encode() not in line]


def removed(folder: Path) -> list[dict[str, object]]:
    with opened_log(folder / LOG_FILE) as log:
        return removed_conversations(log)


def test_no_byte_of_the_case_stays_and_the_log_says_that_some_was(talks: Path) -> None:
    assert len(traces(talks)) > 3
    kept, number = of_others(talks), len((talks / "transcripts.jsonl").read_bytes().splitlines())
    with pytest.raises(InputError, match="no such case nobody"):
        bedside.forget(talks, case="nobody")
    with pytest.raises(InputError, match="cases alone"):
        bedside.forget(talks, before="2030-01-01")
    with opened_log(talks / LOG_FILE) as log:
        spent = spent_by_role(log)
    done = bedside.forget(talks, case=GONE, by="the owner")
    for other in ("nobody", GONE):
        with pytest.raises(InputError, match="no such case"):
            bedside.forget(talks, case=other)
    assert done.transcripts == number - len(kept) > 0
    assert traces(talks) == []
    assert (talks / "transcripts.jsonl").read_bytes().splitlines() == kept
    assert all_as_written(verify([talks]).results)
    check_rows_kept(talks)
    (record,) = removed(talks)
    with opened_log(talks / LOG_FILE) as log:
        assert spent_by_role(log) == checked_manifest(talks)["spent"] == spent
    assert record["spent"]
    assert (record["by"], record["transcripts"], record["replies"]) == ("the owner", done.transcripts, done.replies)
    simulate([case for case in cases(3) if case.id != GONE], "tiny", talks, clinician="rules")
    assert checked_manifest(talks)["removed"] == [record]
    assert of_others(talks) == kept


@pytest.mark.slow
def test_killed_at_any_step_the_same_call_ends(talks: Path, tmp_path: Path) -> None:
    kept, seen = of_others(talks), set()
    recording = recorded(partial(bedside.forget, "talks", case=GONE), talks.parent, tmp_path / "recording")
    for number, (_, _, tree) in enumerate(recording.states):
        folder = recording.put(tree, tmp_path / "states" / str(number)) / "talks"
        seen.add(len(removed(folder)))
        with suppress(InputError) if traces(folder) == [] else nullcontext():
            bedside.forget(folder, case=GONE)
        assert traces(folder) == []
        assert of_others(folder) == kept
        assert all_as_written(verify([folder]).results)
        assert len(removed(folder)) == 1
        assert not [path for path in folder.rglob("*") if is_temporary(path.name)]
        shutil.rmtree(folder)
    assert number > 10
    assert seen == {0, 1}
