"""A person at the keyboard: what they see, what they can type, what is kept of it."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bedside import simulate
from bedside.core.errors import InputError
from bedside.simulation.person import PersonAtKeyboard, TerminalScreen, TypedLines
from bedside.simulation.simulators.calls import Call, Line
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import SIMULATORS, EarlyForm

CATEGORIES = ["emotional discomfort or fear", "financial or insurance concern"]
FINDINGS = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "items": {"type": "object", "properties": {"category": {"enum": CATEGORIES}, "text": {"type": "string"}}},
        }
    },
}
DIAGNOSES = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "diagnoses": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    },
}
ENDING = {"type": "object", "properties": {"message": {"type": "string"}, "end": {"type": "boolean"}}}


class Paper:
    """What is shown is written down, and what is typed stands there already; each line takes ``seconds``."""

    unseen = 0.0
    ending = ("the end of the paper", "stop")

    def __init__(self, *typed: str, seconds: float = 0.0) -> None:
        self.typed = list(typed)
        self.seconds = seconds
        self.now = 0.0
        self.lines: list[str] = []
        self.reminders: list[tuple[float, str]] = []

    def show(self, text: str, kind: str = "note") -> None:
        self.lines.append(text)

    def line(self, prompt: str) -> str:
        if not self.typed:
            raise EOFError
        self.now += self.seconds
        return self.typed.pop(0)

    def kept(self) -> None:
        """Nobody waits for it."""

    @contextlib.contextmanager
    def reminding(self, reminders: Iterable[tuple[float, str]]) -> Iterator[None]:
        self.reminders += list(reminders)
        yield

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def person(paper: Paper, folder: Path, minutes: float | None = None, **fields: Any) -> PersonAtKeyboard:
    lines = TypedLines(folder / "typed.jsonl")
    return PersonAtKeyboard(paper, lines, minutes=minutes, clock=lambda: paper.now, **fields)


def seeker(paper: Paper, folder: Path) -> PersonAtKeyboard:
    """Somebody who can enter findings after two messages."""
    return person(paper, folder, early_form=lambda call: EarlyForm(2, FINDINGS))


def said(messages: int) -> tuple[Line, ...]:
    """A conversation in which the clinician has said so many messages."""
    return (Line("clinician", "Yes?"), Line("patient", "No.")) * messages


def message(ordinal: int = 1, *history: Line, **fields: Any) -> Call:
    return Call("clinician", "message", ordinal, "You are the doctor.", tuple(history), **fields)


def replied(paper: Paper, folder: Path, call: Call, minutes: float | None = None) -> str:
    return person(paper, folder, minutes).reply("one", call).text


def test_the_brief_the_others_words_and_what_is_typed(tmp_path: Path) -> None:
    paper = Paper("Where does it hurt?", "Since when?")
    somebody = person(paper, tmp_path)
    first = somebody.reply("one", message(1, Line("patient", "I am ill.")))
    history = (Line("patient", "I am ill."), Line("clinician", first.text), Line("patient", "My knee."))
    second = somebody.reply("one", message(2, *history))
    assert (first.text, second.text) == ("Where does it hurt?", "Since when?")
    assert paper.text.count("You are the doctor.") == 1
    assert paper.lines[-2:] == ["Patient: I am ill.", "Patient: My knee."]
    assert "Where does it hurt?" not in paper.text, "the terminal shows what is typed itself"


def test_who_speaks_first_doesnt_see_it_again(tmp_path: Path) -> None:
    paper = Paper("Hello.", "Since when?")
    somebody = person(paper, tmp_path)
    somebody.reply("one", message(1))
    somebody.reply("one", message(2, Line("clinician", "Hello."), Line("patient", "My knee.")))
    assert paper.lines[-1] == "Patient: My knee."
    assert "You: Hello." not in paper.text


def test_of_a_brief_that_changes_what_is_new_is_shown(tmp_path: Path) -> None:
    paper = Paper("a", "b")
    somebody = person(paper, tmp_path)
    somebody.reply("one", Call("patient", "reply", 1, "Your knee hurts.\nYou are shy."))
    somebody.reply("one", Call("patient", "reply", 2, "Your knee hurts.\nSay now that you fell.\nYou are shy."))
    assert paper.lines[-2:] == ["New for you:", "Say now that you fell."]


def test_chart_plan_and_help(tmp_path: Path) -> None:
    paper = Paper("/chart", "/plan", "/help", "/nonsense", "", "Hello.")
    material = {"chart": {"Age": "44"}, "intervention": {"preference": "tablets", "plan": "exercise"}}
    assert replied(paper, tmp_path, message(material=material)) == "Hello."
    assert "Age: 44" in paper.text
    assert "plan: exercise" in paper.text
    assert "/find" not in paper.text, "nothing is found out here"
    assert "There is no command /nonsense here." in paper.text
    assert "Type your message" in paper.text


def test_a_patient_has_no_chart_of_the_clinician(tmp_path: Path) -> None:
    paper = Paper("/plan", "/chart", "Hello.")
    call = Call("patient", "reply", 1, "Your knee hurts.")
    assert replied(paper, tmp_path, call) == "Hello."
    assert "There is no command /plan here." in paper.text
    assert paper.text.count("Your knee hurts.") == 2


FORM = Call("clinician", "findings", 1, history=said(3), kind="data", schema=FINDINGS)


def test_findings_are_entered_once_the_form_is_open_and_handed_in_at_the_end(tmp_path: Path) -> None:
    paper = Paper("/find emotional: too early", "/help", "Hello.")
    somebody = seeker(paper, tmp_path)
    somebody.reply("one", message(2, *said(1)))
    assert "Findings can be entered once 2 of your messages have been answered." in paper.text
    assert "From now on" not in paper.text
    assert paper.text.count("/find CATEGORY: TEXT") == 1
    paper.typed = [
        "/find", "/find emotional: fears the scan", "/find 2:  can't pay", "/find nonsense", "/find money: rent",
        "/find 2: can't pay", "/find", "Go on.",
    ]  # fmt: skip
    somebody.reply("one", message(3, *said(2)))
    assert "You have entered nothing yet." in paper.text
    assert f"Entered: {CATEGORIES[1]}: can't pay" in paper.text
    assert "Write CATEGORY: TEXT" in paper.text
    assert "'money' is none of" in paper.text
    assert f"{CATEGORIES[0]}: fears the scan\n{CATEGORIES[1]}: can't pay" in paper.text
    paper.typed = ["And?"]
    somebody.reply("one", message(4, *said(3)))
    assert paper.text.count("From now on you can enter what you found") == 1
    paper.typed = ["y", "n", "/find 1: dreads it", "/find", "money: rent", "financial: rent", ""]
    assert json.loads(somebody.reply("one", FORM).text) == {
        "findings": [{"category": CATEGORIES[0], "text": "fears the scan"}, {"category": CATEGORIES[1], "text": "rent"}]
    }
    assert paper.text.count("You entered: ") == 2
    assert "too early" not in paper.text
    assert "This is the form" in paper.text


def test_findings_that_were_entered_outlast_a_stop(tmp_path: Path) -> None:
    with pytest.raises(EOFError):
        seeker(Paper("/find 1: too early"), tmp_path).reply("one", message(1))
    with pytest.raises(EOFError):
        seeker(Paper("/find 1: fears the scan", "/find 2: rent"), tmp_path).reply("one", message(3, *said(2)))
    paper = Paper("/find", "Go on.")
    seeker(paper, tmp_path).reply("one", message(3, *said(2)))
    assert paper.lines[-1] == f"{CATEGORIES[0]}: fears the scan\n{CATEGORIES[1]}: rent"
    with pytest.raises(EOFError):
        seeker(Paper("n", "/find 1: late"), tmp_path).reply("one", FORM)
    again = seeker(Paper("y", "emotional: more", ""), tmp_path).reply("one", FORM)
    assert [finding["text"] for finding in json.loads(again.text)["findings"]] == ["rent", "more"]


def test_findings_can_be_entered_while_another_form_is_filled_in(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"decision": {"enum": ["STOP", "CONTINUE"]}}}
    paper = Paper("/find 1: fears the scan", "stop", "y", "")
    somebody = seeker(paper, tmp_path)
    somebody.reply("one", Call("clinician", "decision", 2, history=said(2), kind="data", schema=schema))
    assert "From now on you can enter what you found" in paper.text
    assert [finding["text"] for finding in json.loads(somebody.reply("one", FORM).text)["findings"]] == [
        "fears the scan"
    ]


def test_findings_of_another_conversation_are_not_offered(tmp_path: Path) -> None:
    paper = Paper("/find 1: fears the scan", "Hello.", "")
    somebody = seeker(paper, tmp_path)
    somebody.reply("one", message(3, *said(2)))
    assert json.loads(somebody.reply("two", FORM).text) == {"findings": []}


def test_where_nothing_is_handed_in_no_findings_are_entered(tmp_path: Path) -> None:
    paper = Paper("/find 1: fears the scan", "Hello.")
    replied(paper, tmp_path, message(6, *said(5)))
    assert "There is no command /find here." in paper.text


def test_the_end_is_asked_for_and_brings_the_list_of_diagnoses(tmp_path: Path) -> None:
    paper = Paper("/end", "n", "/end", "y", "", "gout", "arthritis", "")
    assert json.loads(replied(paper, tmp_path, message(schema=DIAGNOSES))) == {
        "message": "1. gout\n2. arthritis",
        "diagnoses": ["gout", "arthritis"],
    }
    assert "At least 1 is wanted." in paper.text
    assert json.loads(replied(Paper("/end", "yes"), tmp_path / "..", message(schema=ENDING), None)) == {
        "message": "",
        "end": True,
    }


def test_a_conversation_that_ends_by_itself_is_not_ended(tmp_path: Path) -> None:
    paper = Paper("/end", "Goodbye.")
    assert replied(paper, tmp_path, message()) == "Goodbye."
    assert "it ends by itself" in paper.text


def test_a_form_of_choices_numbers_and_texts(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "decision": {"enum": ["STOP", "CONTINUE"]},
            "sure": {"type": "boolean"},
            "turns": {"type": "integer", "minimum": 1, "maximum": 3},
            "reason": {"type": "string", "minLength": 1},
            "aims": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "weight": {"type": "number"}}},
            },
        },
    }
    paper = Paper(
        "perhaps", "/end", "cont", "?", "y", "4", "2.5", "2", "", "so", "/help", "warmth", "nan", ".5", ""
    )  # fmt: skip
    call = Call("clinician", "decision", 1, kind="data", schema=schema)
    assert json.loads(replied(paper, tmp_path, call)) == {
        "decision": "CONTINUE",
        "sure": True,
        "turns": 2,
        "reason": "so",
        "aims": [{"name": "warmth", "weight": 0.5}],
    }


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        ({"type": "number"}, ("inf", "-inf", "1e999", "7"), 7.0),
        ({"enum": [0, 1, 2]}, ("3", "2"), 2),
        ({"enum": ["10", "20"]}, ("1", "20"), "20"),
        ({"enum": ["low", "high"]}, ("2",), "high"),
        ({"type": ["string", "null"]}, ("",), None),
        ({"type": ["null", "string"]}, ("gout",), "gout"),
        ({"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, ("",), None),
        ({"type": "string"}, ("",), ""),
    ],
)
def test_a_number_is_the_number_that_was_typed_and_nothing_is_null_where_it_may_be(
    tmp_path: Path, schema: dict[str, Any], typed: tuple[str, ...], value: float | str | None
) -> None:
    form = {"type": "object", "properties": {"x": schema}}
    call = Call("clinician", "decision", 1, kind="data", schema=form)
    assert json.loads(replied(Paper(*typed), tmp_path, call)) == {"x": value}


def test_what_is_no_text_is_typed_as_question_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"caf\xe9 gr\xc3\xbcn\n"), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdin", typed)
    somebody = PersonAtKeyboard(TerminalScreen(), TypedLines(tmp_path / "typed.jsonl"))
    assert somebody.reply("one", message()).text == "caf? grün"
    assert TypedLines(tmp_path / "typed.jsonl").of("one", "clinician")[0].text == "caf? grün"


def test_a_folder_that_takes_no_line_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="what was typed can't be kept"):
        replied(Paper("Hello."), tmp_path / "absent", message())


def test_each_line_is_kept_at_once_and_not_typed_again(tmp_path: Path) -> None:
    call = message(schema=DIAGNOSES)
    with pytest.raises(EOFError):
        replied(Paper("/chart", "/end", "y", "gout"), tmp_path, call)
    kept = [json.loads(line)["text"] for line in (tmp_path / "typed.jsonl").read_text().splitlines()]
    assert kept == ["/chart", "/end", "y", "gout"]
    assert (tmp_path / "typed.jsonl").stat().st_mode & 0o077 == 0
    paper = Paper("arthritis", "")
    assert json.loads(replied(paper, tmp_path, call))["diagnoses"] == ["gout", "arthritis"]
    assert "1. gout" in paper.text


def test_a_line_that_was_cut_off_by_a_stop_is_typed_again(tmp_path: Path) -> None:
    replied(Paper("/chart", "Hello."), tmp_path, message())
    file = tmp_path / "typed.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    assert replied(Paper("Good day."), tmp_path, message()) == "Good day."
    assert [json.loads(line)["text"] for line in file.read_text().splitlines()] == ["/chart", "Good day."]


def test_a_broken_file_of_lines_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "typed.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"typed\.jsonl:1: "):
        TypedLines(tmp_path / "typed.jsonl")


def test_who_comes_back_sees_the_conversation_again(tmp_path: Path) -> None:
    paper = Paper("Since when?")
    replied(paper, tmp_path, message(2, Line("clinician", "Hello."), Line("patient", "My knee.")))
    assert paper.lines[-2:] == ["You: Hello.", "Patient: My knee."]


def test_time_is_told_at_two_minutes_and_ends_the_conversation(tmp_path: Path) -> None:
    paper = Paper("a", "b", "c", "gout", "", seconds=240.0)
    somebody = person(paper, tmp_path, minutes=10)
    replies = [somebody.reply("one", message(n, schema=DIAGNOSES)).text for n in range(1, 5)]
    assert [json.loads(reply)["message"] for reply in replies] == ["a", "b", "c", "1. gout"]
    assert all(json.loads(reply)["diagnoses"] is None for reply in replies[:3])
    assert json.loads(replies[3])["diagnoses"] == ["gout"]
    assert (480.0, "[2 minutes left]") in paper.reminders
    assert (240.0, "[2 minutes left]") in paper.reminders
    assert "Your time for this conversation is over." in paper.text


def test_time_goes_on_where_it_was(tmp_path: Path) -> None:
    replied(Paper("a", seconds=540), tmp_path, message(1), minutes=10)
    paper = Paper("b", seconds=120)
    replied(paper, tmp_path, message(2), minutes=10)
    assert "[1.0 minutes left]" in paper.text
    after = Paper("c")
    assert replied(after, tmp_path, message(3), minutes=10) == "c"
    assert "It can't be ended early" in after.text


def test_nothing_that_is_shown_commands_the_terminal(tmp_path: Path) -> None:
    paper = Paper("x")
    replied(paper, tmp_path, message(1, Line("patient", "red \x1b[31m\x07 bell")))
    assert "\x1b" not in paper.text
    assert "\x07" not in paper.text
    assert "red \\x1b[31m" in paper.text


def test_how_a_reply_is_written_down_is_not_said_to_a_person(tmp_path: Path) -> None:
    paper = Paper("x")
    instruction = "This is your last message.\n\nReply with a JSON object of two keys."
    replied(paper, tmp_path, message(instruction=instruction, schema=DIAGNOSES))
    assert paper.lines[-1] == "This is your last message."
    assert "JSON" not in paper.text


def test_what_is_hidden_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consultation in which nothing is elicited: no hidden text, and nothing of the policy's state."""
    simulator = SIMULATORS.load("medconceal")
    paper = Paper(*[f"Thank you, that is point {n}." for n in range(8)], "")
    monkeypatch.setattr("bedside.simulation.person.TerminalScreen", lambda: paper)
    talks = simulate(None, "medconceal", tmp_path / "talks", clinician="human:anna", sample=1)
    (transcript,) = talks.transcripts()
    (case,) = (case for _, case in read_cases(simulator.cases) if case.id == transcript.case_id)
    hidden = [text for concern in case.hidden.concerns for text in (concern.text, *concern.voiced, *concern.evidence)]
    assert hidden
    assert not [text for text in hidden if text in paper.text]
    assert case.hidden.diagnosis is None or case.hidden.diagnosis not in paper.text
    for heading, text in case.chart.items():
        assert text in paper.text, heading
    assert not [word for word in ("evidence", "revealed", "stance") if word in paper.text]
