"""Checking simulated patients from the command line: algorithms alone, with a judge, beside real sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bedside.api.simulating import simulate
from tests.conftest import Call, works


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation of a scripted clinician."""
    folder = tmp_path_factory.mktemp("simulated") / "talks"
    simulate(None, "note2chat", folder, clinician="script:brisk", sample=2, repeats=2)
    return folder


def test_algorithms_alone(call: Call, talks: Path, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions.jsonl"
    turns = [{"role": "clinician", "text": "How are you?"}, {"role": "patient", "text": "I sleep badly these days."}]
    sessions.write_text(json.dumps({"id": "real-1", "language": "en", "turns": turns}) + "\n", "utf-8")
    out, _ = works(call, "simulate", "quality", talks, "--out", "quality", "--reference", sessions, "--json")
    table, alike = json.loads(out)
    assert {row["verdict"] for row in alike["rows"]} == {"not known", None}, "one real session tells nothing"
    rows = {(row["metric"], row["system"]): row for row in table["rows"]}
    assert rows["words_per_turn.patient", "script:brisk"]["reference"] == 5
    assert rows["self_bleu_repeats", "script:brisk"]["n"] == 4
    assert not [row for row in table["rows"] if row["aspect"] == "case"]
    assert (tmp_path / "quality-reference" / "manifest.json").is_file()


def test_a_simulated_reference_is_called_so_and_another_margin_named(call: Call, talks: Path) -> None:
    command = ("simulate", "quality", talks, "--out", "quality", "--reference", talks, "--margin", "0.2")
    out, _ = works(call, *command, "--all", "--notes")
    words = " ".join(out.split())
    assert words.startswith("With script:brisk, patients talk like those of the reference (simulated) in 0 of")
    assert "features within ± 0.2 SDs" in words
    assert "They were not held against real sessions: --reference does." in words
    assert "Beside sessions that are simulated too" in words
    assert "real ones" not in words
    assert "Real cases" not in words


def test_it_fits_a_screen(call: Call, talks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = works(call, "simulate", "quality", talks, "--out", "quality")
    lines = out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    shown = [tuple(map(str.strip, line.strip().rsplit(" ", 1))) for line in lines]
    assert {("Hidden text sent to a side", "0.000"), ("Self-BLEU between repeats", "1.000")} <= set(shown)
    whole, _ = works(call, "simulate", "quality", talks, "--out", "quality", "--all")
    assert len(whole.splitlines()) > len(lines)


def test_another_folder_is_refused(call: Call, tmp_path: Path) -> None:
    code, out, err = call("simulate", "quality", tmp_path, "--out", "quality")
    assert (code, out) == (2, "")
    assert (
        err
        == f"bedside: {tmp_path}: this is not the folder of a simulation; name a folder that bedside simulate made\n"
    )
    assert not (tmp_path / "quality").exists()


@pytest.mark.server
def test_a_judge_is_asked_once_and_sees_the_case(call: Call, talks: Path) -> None:
    from tests.judges.llm.server import JudgeServer

    with JudgeServer() as server:
        command = ("simulate", "quality", talks, "--judge", server.judge, "--out", "judged", "--json")
        out, _ = works(call, *command)
        asked = server.count
        # Three rubrics of two cases, whose repeats by rules are the same words; note2chat has no personas with a trait.
        assert asked == 6
        fact = json.loads((talks / "transcripts.jsonl").read_text("utf-8").splitlines()[0])["reference"][
            "patient_facts"
        ][0]
        assert any(fact in received.prompt for received in server.received)
        assert call(*command)[0] == 0
        assert server.count == asked
    (table,) = json.loads(out)
    judged = {row["metric"] for row in table["rows"] if row["raters"].startswith("judge:")}
    assert judged == {"case_contradiction_level", "case_invention", "patient_faults"}


def test_the_card_says_that_nobody_checked(call: Call, talks: Path) -> None:
    assert call("score", talks, "--out", "run")[0] == 0
    works(call, "report", "run", "--format", "md")
    report = next(Path("run/report").glob("*.md")).read_text("utf-8")
    assert "Nobody has checked whether the simulated patients keep to their cases" in report
