"""The pages "Ten minutes on your own data" as they stand: each page's commands, in order, on files made here."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

ROOT = Path(__file__).parents[2]


def ratings(folder: Path) -> None:
    """A workbook with a column for each rater, a judge among them, and a folder with a workbook for each person."""
    chance = random.Random(1)
    head = ("session", "system", "case", "measure", "anna", "ben", "judge:gpt-5-mini")
    rows: list[tuple[object, ...]] = []
    alone: dict[str, list[tuple[object, ...]]] = {"anna": [], "ben": []}
    for case in range(1, 41):
        hard = chance.gauss(0, 0.8)
        for system, better in (("old", 0.0), ("new", 0.8)):
            session = (f"{system}-{case:02}", system, case)
            levels = [_levels(chance, 2.9 + better + hard, 0.4), _levels(chance, 3.1 + better / 4 + hard, 1.2)]
            for measure, (anna, ben, judge) in zip(("empathy", "clarity"), levels, strict=True):
                people = (anna, ben) if case <= 20 else (None, None)
                rows.append((*session, measure, *people, judge))
            if case <= 20:
                for number, of_one in enumerate(alone.values()):
                    of_one.append((*session, *(rated[number] for rated in levels)))
    _workbook(folder / "ratings.xlsx", head, rows)
    for rater, of_one in alone.items():
        _workbook(folder / "sheets" / f"{rater}.xlsx", (*head[:3], "empathy", "clarity"), of_one)


def _levels(chance: random.Random, middle: float, astray: float) -> list[int]:
    """What two people and a judge give, from 1 to 5; the judge is ``astray`` by so many levels (SD)."""
    truth = chance.gauss(middle, 0.6)
    return [min(5, max(1, round(chance.gauss(truth, spread)))) for spread in (0.6, 0.6, astray)]


def _workbook(file: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (head, *rows):
        sheet.append(row)
    file.parent.mkdir(exist_ok=True)
    book.save(file)


#: What a therapist says, by kind of turn, and what a client does.
_OPEN = ("What brings you here today?", "How do you feel about {0}?", "What would change without {0}?")
_CLOSED = ("Is {0} a problem every day?", "Did you try to stop?", "Is that more than last year?")
_SIMPLE = ("So {0} has been on your mind.", "You have thought about stopping before.")
_COMPLEX = ("{0} helps you to rest, and it frightens you as well.", "You want your children to be proud of you again.")
_ADVICE = ("You should cut {0} down.", "There is a group for people who stop {0}.")
_CHANGE = ("I want to stop {0}, for my children.", "I could start on Monday, I think.")
_SUSTAIN = ("{0} helps me after work.", "I can't see how I would stop.")
_TOPICS = ("drinking", "smoking", "gambling")
#: The codes of question and reflection of each kind.
_KINDS = {
    _OPEN: ("open", "none"), _CLOSED: ("closed", "none"), _SIMPLE: ("none", "simple"), _COMPLEX: ("none", "complex"),
    _ADVICE: ("none", "none"),
}  # fmt: skip


def _session(chance: random.Random, topic: str, skill: float) -> list[tuple[str, ...]]:
    """A talk of twenty turns: who speaks, what is said, and its codes."""
    turns: list[tuple[str, ...]] = []
    weights = (skill, 1 - skill, 0.3, skill / 2, 1 - skill)
    for _ in range(10):
        (kind,) = chance.choices(tuple(_KINDS), weights)
        turns.append(("therapist", chance.choice(kind).format(topic).capitalize(), *_KINDS[kind], ""))
        talk = "change" if chance.random() < skill else "sustain"
        said = chance.choice(_CHANGE if talk == "change" else _SUSTAIN).format(topic)
        turns.append(("client", said[0].upper() + said[1:], "", "", talk))
    return turns


def sessions(folder: Path) -> None:
    """A table of coded sessions with one utterance a row."""
    chance = random.Random(2)
    with (folder / "sessions.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("session", "quality", "topic", "speaker", "text", "question", "reflection", "client_talk"))
        for number in range(1, 31):
            quality = "high" if number % 3 else "low"
            topic = chance.choice(_TOPICS)
            for turn in _session(chance, topic, 0.65 if quality == "high" else 0.4):
                table.writerow((number, quality, topic, *turn))


#: What a user writes, turn by turn, and what a model answers that asks and one that tells.
_USER = (
    "I sleep badly and wake {0}.",
    "It began after my father died.",
    "I am {0} most mornings.",
    "Should I take pills?",
)
_ASKING = (
    "I'm sorry. What is it like to be {0}?", "What have you tried so far?", "It sounds as if mornings are lonely.",
)  # fmt: skip
_TELLING = (
    "Avoid screens and coffee.", "Sleep hygiene matters. Keep fixed hours.", "Melatonin may help. Ask your doctor.",
)  # fmt: skip


def logs(folder: Path) -> None:
    """Logs of two models, a request with its answer on each line."""
    chance = random.Random(3)
    (folder / "logs").mkdir()
    for model, replies in (("gpt-5-mini", _ASKING), ("gpt-5", _TELLING)):
        with (folder / "logs" / f"{model}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(1, 13):
                messages = [{"role": "system", "content": "You are a nurse who listens."}]
                for turn in range(4):
                    feeling = chance.choice(("afraid", "exhausted", "empty"))
                    messages.append({"role": "user", "content": _USER[turn].format(feeling)})
                    messages.append(
                        {
                            "role": "assistant",
                            "content": chance.choice(replies if chance.random() < 0.8 else _ASKING).format(feeling),
                        }
                    )
                reply = messages.pop()
                file.write(json.dumps({
                    "id": f"chatcmpl-{model}-{number}",
                    "request": {"model": model, "messages": messages},
                    "response": {"model": model, "choices": [{"message": reply, "finish_reason": "stop"}]},
                }) + "\n")  # fmt: skip


def nothing(folder: Path) -> None:
    """No data: the conversations are yet to be had."""


def fill_in(folder: Path) -> None:
    """Rate in the workbooks that raters were sent, as two people do who nearly agree."""
    chance = random.Random(4)
    for file in sorted((folder / "to-rate").glob("*.xlsx")):
        book = openpyxl.load_workbook(file)
        sheet = book["Answers"]
        for row in range(2, sheet.max_row + 1):
            talk = " ".join(str(cell.value) for cell in book[str(row - 1)]["C"] if cell.value)
            sheet.cell(row, 4).value = min(
                5, 1 + sum(talk.count(said[:9]) for said in _ASKING) + (chance.random() < 0.3)
            )
        book.save(file)


@pytest.mark.slow
@pytest.mark.parametrize("data", [ratings, sessions, logs, nothing])
def test_the_page_as_it_stands(data: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.setenv("COLUMNS", "80")
    from printed_commands import page_outcomes

    data(tmp_path)
    for outcome in page_outcomes(ROOT / "docs" / PAGES[data], tmp_path):
        assert outcome.code == 0, outcome
        assert outcome.fault is None, f"{outcome.command.line}\n{outcome.fault}"
        if outcome.command.words[:2] == ["annotate", "export"]:
            fill_in(tmp_path)


PAGES: dict[Callable[[Path], None], str] = {
    ratings: "start-ratings.md",
    sessions: "start-csv.md",
    logs: "start-logs.md",
    nothing: "start-simulate.md",
}
