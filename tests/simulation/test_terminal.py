"""A person's conversation in a real terminal: typed, stopped in every way, gone on with, and scored."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges.llm.server import Action, JudgeServer, Received

pexpect = pytest.importorskip("pexpect", reason="there are no such terminals here")
pytestmark = pytest.mark.slow

BEDSIDE = Path(sys.executable).parent / "bedside"
#: What the terminal shows before it waits.
YOU = "You: "
#: Types a command in a terminal of its own.
Type = Callable[..., Any]


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Type]:
    terminals = []

    def begin(*arguments: str) -> Any:
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        terminal = pexpect.spawn(
            str(BEDSIDE), list(arguments), cwd=tmp_path, env=environment, encoding="utf-8", timeout=60,
            dimensions=(50, 100),
        )  # fmt: skip
        terminals.append(terminal)
        return terminal

    yield begin
    for terminal in terminals:
        terminal.close(force=True)


def say(terminal: Any, *lines: str) -> str:
    """Type messages, each when one is asked for; what was shown on the way."""
    shown = ""
    for line in lines:
        terminal.expect(YOU)
        shown += terminal.before
        terminal.sendline(line)
    return shown


def ended(terminal: Any) -> tuple[int, str]:
    """What is shown to the end, and the exit code."""
    terminal.expect(pexpect.EOF)
    shown = str(terminal.before)
    terminal.close()
    return terminal.exitstatus, shown


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


INTERVIEW = (
    "simulate", "--protocol", "note2chat", "--clinician", "human:anna", "--sample", "1", "--minutes", "10",
)  # fmt: skip


def test_a_clinician_types_stops_comes_back_and_ends(typed: Type, tmp_path: Path) -> None:
    first = typed(*INTERVIEW)
    shown = say(first, "Where does it hurt?", "/help", "/chart")
    first.expect(YOU)
    shown += first.before
    assert "Patient: Doctor" in shown
    assert "/plan" in shown
    assert "/find" not in shown, "no findings are handed in here"
    assert shown.count("You are a doctor") == 2, "at the start and by /chart"
    first.sendcontrol("c")
    code, shown = ended(first)
    assert code == 2
    assert "Run the same command again to go on" in shown
    assert [line["text"] for line in lines(tmp_path / "talks" / "typed.jsonl")] == [
        "Where does it hurt?", "/help", "/chart",
    ]  # fmt: skip

    second = typed(*INTERVIEW)
    second.expect_exact("You: Where does it hurt?")
    shown = say(second, "Do you have a fever?")
    second.expect(YOU)
    second.sendcontrol("d")
    assert ended(second)[0] == 2

    third = typed(*INTERVIEW)
    third.expect_exact("You: Where does it hurt?")
    third.expect_exact("You: Do you have a fever?")
    third.expect(YOU)
    third.sendline("/end")
    third.expect_exact("(y or n): ")
    third.sendline("y")
    for number, diagnosis in enumerate(("pneumonia", "bronchitis", ""), 1):
        third.expect_exact(f"{number}. ")
        third.sendline(diagnosis)
    code, shown = ended(third)
    assert code == 0
    assert "1 conversation of 1 in talks" in shown

    (transcript,) = lines(tmp_path / "talks" / "transcripts.jsonl")
    said = [turn["text"] for turn in transcript["turns"] if turn["role"] == "clinician"]
    assert said == ["Where does it hurt?", "Do you have a fever?", "1. pneumonia\n2. bronchitis"]
    assert transcript["system"] == "human:anna"
    again = typed(*INTERVIEW)
    code, shown = ended(again)
    assert code == 0
    assert "0 calls asked now" in shown, "nothing is typed twice"
    assert ended(typed("score", "talks", "--out", "run"))[0] == 0


def test_a_kill_loses_no_line(typed: Type, tmp_path: Path) -> None:
    first = typed(*INTERVIEW)
    say(first, "Where does it hurt?")
    first.expect(YOU)
    first.kill(9)
    first.close()
    second = typed(*INTERVIEW)
    second.expect_exact("You: Where does it hurt?")
    second.expect("Patient: ")
    second.expect(YOU)
    second.sendcontrol("c")
    assert ended(second)[0] == 2


def test_a_person_is_the_patient(typed: Type, tmp_path: Path) -> None:
    terminal = typed(
        "simulate", "--protocol", "note2chat", "--clinician", "script:brisk", "--patient", "human:ben",
        "--evaluator", "rules", "--sample", "1",
    )  # fmt: skip
    terminal.expect_exact("You are the patient.")
    answers = ["It is my leg.", "Quite bad.", "No, none."]
    for answer in answers:
        terminal.expect(YOU)
        terminal.sendline(answer)
    code, shown = ended(terminal)
    assert code == 0, shown
    (transcript,) = lines(tmp_path / "talks" / "transcripts.jsonl")
    assert [turn["text"] for turn in transcript["turns"] if turn["role"] == "patient"] == answers
    assert transcript["factors"]["patient_model"] == "human:ben"


def test_the_time_is_told_and_ends_the_conversation(typed: Type, tmp_path: Path) -> None:
    terminal = typed(*INTERVIEW[:-1], "0.02")
    terminal.expect_exact("minutes left]")
    terminal.expect_exact("[Your time is over: finish this message.]")
    terminal.sendline("Where does it hurt?")
    terminal.expect_exact("Your time for this conversation is over.")
    terminal.expect_exact("1. ")
    terminal.sendline("pneumonia")
    terminal.expect_exact("2. ")
    terminal.sendline("")
    assert ended(terminal)[0] == 0


CONFIRMATION = (
    "simulate", "--protocol", "medconceal", "--clinician", "human:anna", "--sample", "1",
)  # fmt: skip


def test_findings_are_entered_after_five_messages_outlast_a_kill_and_are_handed_in(typed: Type, tmp_path: Path) -> None:
    first = typed(*CONFIRMATION)
    shown = say(first, "/find emotional: too early", *(f"What else, {number}?" for number in range(5)))
    assert "Findings can be entered once 5 of your messages have been answered." in shown
    assert "From now on" not in shown
    shown = say(first, "/find emotional: Is afraid of the scan.", "/find nonsense")
    first.expect(YOU)
    assert "From now on you can enter what you found" in shown
    assert "Entered: emotional discomfort or fear: Is afraid of the scan." in shown
    first.kill(9)
    first.close()

    second = typed(*CONFIRMATION)
    second.expect_exact("You: What else, 4?")
    shown = say(second, "/find", "What else, 5?", "What else, 6?", "What else, 7?")
    assert shown.count("From now on you can enter what you found") == 1
    second.expect_exact("You entered: emotional discomfort or fear: Is afraid of the scan.")
    assert "emotional discomfort or fear: Is afraid of the scan." in shown
    for prompt, line in (("(y or n): ", "y"), ("2. ", "financial: Can't pay the rent."), ("3. ", "")):
        second.expect_exact(prompt)
        second.sendline(line)
    code, shown = ended(second)
    assert code == 0, shown
    (transcript,) = lines(tmp_path / "talks" / "transcripts.jsonl")
    assert [finding["text"] for finding in transcript["reference"]["submitted_findings"]] == [
        "Is afraid of the scan.",
        "Can't pay the rent.",
    ]
    spoken = [turn["text"] for turn in transcript["turns"] if turn["role"] == "clinician"]
    assert spoken == [f"What else, {number}?" for number in range(8)]


@pytest.mark.server
def test_the_patient_is_a_model_at_a_server(typed: Type, tmp_path: Path) -> None:
    def patient(request: Received, number: int) -> Action:
        return Action(text=f"It began {number + 2} days ago.")

    with JudgeServer(patient) as server:
        terminal = typed(*INTERVIEW, "--patient", server.judge, "--evaluator", "rules")
        say(terminal, "Since when?")
        terminal.expect("Patient: It began")
        time.sleep(1)  # the connection waits with the person
        say(terminal, "And before that?")
        terminal.expect("Patient: It began")
        terminal.expect(YOU)
        terminal.sendcontrol("c")
        assert ended(terminal)[0] == 2
        asked = server.count
        again = typed(*INTERVIEW, "--patient", server.judge, "--evaluator", "rules")
        again.expect_exact("You: And before that?")
        again.expect(YOU)
        again.sendcontrol("c")
        assert ended(again)[0] == 2
        assert server.count == asked, "nothing is paid for twice"
