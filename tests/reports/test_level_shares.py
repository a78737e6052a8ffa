"""What the dimensions of a flow come to, as shares: by system and by people's factors, on the leaderboard, compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import bedside
from bedside.analysis.label_numbers import with_shares
from bedside.analysis.leaderboard import standings
from bedside.analysis.metric_facts import LevelShare
from bedside.analysis.ratings_view import open_ratings_view
from bedside.judges.rubrics.rubric import as_data
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_tables
from bedside.reports.finding_words import sentences
from bedside.reports.notes import NoteText
from bedside.reports.tables import TABLES
from bedside.scoring.score import score
from bedside.simulation.simulators.protocol_file import GALLERY
from tests.conftest import Call, conversation, works
from tests.judges.llm.server import Action, JudgeServer, Received

RUBRIC = GALLERY / "risk" / "response.yaml"
QUESTIONS = {question.id: question.question for question in parse_rubric(RUBRIC).questions}
#: System, risk, and the questions that are answered Yes; the others are answered No.
TALKS = (
    ("A", "low", "hint asked asked_more help help_fits stays next_step"),  # all good
    ("A", "low", "hint"),  # failed but for harm
    ("A", "high", "hint asked help stays"),  # lacking but for harm
    ("A", "none", ""),  # not relevant
    ("B", "low", "hint asked asked_more help help_fits stays next_step harm"),  # good, and harm
    ("B", "high", "hint promise"),  # failed, and harm lacking
)


def reply(request: Received, yes: Callable[[str], bool]) -> Action:
    (name,) = [name for name, text in QUESTIONS.items() if f"The question: {text}" in request.prompt]
    return Action(text=json.dumps({"reason": f"As {name} is.", "label": "Yes" if yes(name) else "No"}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    talks = [
        conversation(
            ("clinician", f"Yes to: {yes}."), ("patient", f"Talk {number}."),
            id=f"t{number}", system=system, case_id=f"c{number}", factors={"risk": risk},
        )
        for number, (system, risk, yes) in enumerate(TALKS)
    ]  # fmt: skip
    score(talks, tmp_path / "run", metrics=["structure"])

    def script(request: Received, _: int) -> Action:
        said = request.prompt.partition("Yes to: ")[2].partition(".")[0].split()
        return reply(request, lambda name: name in said)

    with JudgeServer(script) as server:
        bedside.judge(tmp_path / "run", server.judge, rubrics=str(RUBRIC))
    return tmp_path / "run"


def shares(run: Path, **options: Any) -> dict[str, Any]:
    kind = TABLES.load("level_shares")
    assert kind.options is not None
    table = kind.make(open_ratings_view(run), 0, kind.options.model_validate(options))
    assert table is not None
    return {record["cell"]: (record["share"], record["n"], record["of"]) for record in table.records}


def test_shares_of_levels_by_system_and_by_what_people_have(run: Path) -> None:
    cells = shares(run, by="risk")
    asked = {cell.removeprefix("response_asked_directly/"): own for cell, own in cells.items() if "asked" in cell}
    third, half = pytest.approx(1 / 3), 0.5
    assert asked == {
        "A/failed": (third, 3, 4), "A/lacking": (third, 3, 4), "A/good": (third, 3, 4),
        "B/failed": (half, 2, 2), "B/lacking": (0, 2, 2), "B/good": (half, 2, 2),
        "high/A/failed": (0, 1, 1), "high/A/lacking": (1, 1, 1), "high/A/good": (0, 1, 1),
        "high/B/failed": (1, 1, 1), "high/B/lacking": (0, 1, 1), "high/B/good": (0, 1, 1),
        "low/A/failed": (half, 2, 2), "low/A/lacking": (0, 2, 2), "low/A/good": (half, 2, 2),
        "low/B/failed": (0, 1, 1), "low/B/lacking": (0, 1, 1), "low/B/good": (1, 1, 1),
        "none/A/failed": (None, 0, 1), "none/A/lacking": (None, 0, 1), "none/A/good": (None, 0, 1),
    }  # fmt: skip
    assert cells["response_did_no_harm/B/failed"][0] == cells["response_did_no_harm/B/lacking"][0] == half


def test_the_table_has_declared_levels_in_their_order_and_stands_in_every_report(run: Path) -> None:
    (table,) = (table for table in make_tables(open_ratings_view(run)) if table.name == "level_shares")
    assert [column.title for column in table.columns] == [
        "People", "System", "Conversations", "failed", "lacking", "good",
    ]  # fmt: skip
    rows = {(row.group, row.cells[0].text, row.cells[1].text): [cell.text for cell in row.cells[2:]]
            for row in table.rows}  # fmt: skip
    assert rows["Asked directly", "all", "A"] == ["3 of 4", "33", "33", "33"]
    assert rows["Asked directly", "risk: low", "A"] == ["2", "50", "0", "50"]
    assert any("not relevant: question hint is answered No" in note for note in table.notes)


def test_a_flow_with_a_direction_is_compared_by_the_places_of_its_levels(run: Path) -> None:
    answer = bedside.compare(run, metrics=["response_asked_directly", "response_did_no_harm"])
    (note,) = (note for table in answer for note in table.notes if "by their place" in note)
    assert note.startswith("Asked directly, Did no harm: labels by their place, from 0 for ")
    assert isinstance(note, NoteText)
    assert note.warns
    pair = bedside.compare(run, metrics=["response_asked_directly"]).results.pairs[0]
    # Of 0, 1 and 2: A has 2, 0 and 1; B has 2 and 0.
    assert pair.difference.estimate == pytest.approx(0.0)
    stayed = bedside.compare(run, metrics=["response_did_no_harm"]).results.pairs[0]
    assert abs(stayed.difference.estimate or 0) == pytest.approx(2 - 0.5)


def test_two_levels_of_one_metric_need_another_table() -> None:
    twice = [{"metric": "response_stayed", "level": level, "direction": "lower"} for level in ("failed", "lacking")]
    kind = TABLES.load("results")
    assert kind.options is not None
    with pytest.raises(ValidationError, match="two levels of response_stayed"):
        kind.options.model_validate({"metrics": twice})


def test_the_explanation_of_a_share_is_by_case_as_on_the_leaderboard(tmp_path: Path) -> None:
    """Of 4, 3 and 4 talks of three cases all, all and none failed: 2 of 3 by case, 7 of 11 by talk."""
    sizes = {"a": 4, "b": 3, "c": 4}
    names = [(f"{case}{number}", case) for case, size in sizes.items() for number in range(size)]
    talks = [conversation(("clinician", "Yes."), ("patient", "No."), id=name, system="A", case_id=case)
             for name, case in names]  # fmt: skip
    own = score(talks, tmp_path / "run", metrics=["structure"]).run
    rows = [
        (name, "A", case, "transcript", "response_stayed", "judge:invented/model", 0, None,
         "good" if case == "c" else "failed", None, None) for name, case in names
    ]  # fmt: skip
    with own.locked():
        own.add(frame_of(rows).lazy(), {**own.manifest, "rubrics": {"response": as_data(parse_rubric(RUBRIC))}})
    view = open_ratings_view(tmp_path / "run")
    explained = bedside.explain(tmp_path / "run", "response_stayed/A/failed", table="level_shares")
    by_case, by_talk = (finding.measures[0] for finding in explained.tables.findings)
    assert (by_case.title, by_case.n, by_case.of, by_talk.n) == ("Stayed: failed", 3, 3, 11)
    assert [by_case.estimate, by_talk.estimate] == pytest.approx([2 / 3, 7 / 11])
    shown = with_shares(view, {"response_stayed": LevelShare("failed", "lower")})
    board = standings(shown, "response_stayed")[0].systems[0].mean
    assert board.interval is not None
    assert board.estimate == by_case.estimate
    assert (board.interval.low, board.interval.high) == (by_case.low, by_case.high)
    first, second = sentences(explained.tables.findings)
    assert first.startswith("Stayed: failed of A is 0.67 [")
    assert "the mean of 3 cases" in first
    assert "the mean of 11 transcripts" in second
    results = bedside.explain(tmp_path / "run", "response_stayed/A").tables.findings[0].measures[0]
    assert results.title == "Stayed: good"
    assert results.estimate == pytest.approx(4 / 11)


# -- a brought protocol from its folder to the leaderboard --------------------------------------------------


@pytest.fixture
def judge() -> Iterator[str]:
    """Hints are there, no harm is done, and only the rules ask, help and stay."""

    def script(request: Received, _: int) -> Action:
        good = "What would you like to talk about today?" in request.prompt
        return reply(request, lambda name: name == "hint" or (good and name not in ("harm", "promise")))

    with JudgeServer(script) as server:
        yield server.judge


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize(("level", "values"), [("", (100, 0)), (", level: failed, direction: lower", (0, 100))])
def test_a_leaderboard_by_labels_has_the_share_of_the_best_or_the_named_level(
    call: Call, tmp_path: Path, judge: str, level: str, values: tuple[int, int]
) -> None:
    works(call, "simulate", "new", "own", "--like", "risk")
    suite = tmp_path / "own" / "suite.yaml"
    text = suite.read_text("utf-8")
    text = text.replace("response_stayed, percent: true", f"response_stayed, percent: true{level}")
    suite.write_text(re.sub("^main: .*", "main: [response_stayed]", text, flags=re.MULTILINE), "utf-8")
    works(call, "benchmark", "own/protocol.yaml", "--clinician", "trivial:echo", "--clinician", "rules",
          "--judge", judge, "--out", "bench")  # fmt: skip
    (board,) = make_tables(open_ratings_view(tmp_path / "bench" / "run"), ["leaderboard"])
    first = [(row["system"], 100 * row["mean"], row["n"]) for row in board.records if row["orders"]]
    assert first == [("rules-toy", values[0], 8), ("trivial:echo", values[1], 8)]
    assert "Stayed: failed" in board.columns[2].title if level else "Stayed: good" in board.columns[2].title
    title = "Stayed: failed" if level else "Stayed: good"
    assert f"Rated by: judge tiny ({title})." in board.notes
    assert list((tmp_path / "bench").rglob("levels-by-risk.svg"))
    (finding,) = bedside.explain(
        tmp_path / "bench" / "run", "response_stayed/rules-toy", table="leaderboard"
    ).tables.findings
    assert f"of rules-toy is {values[0] / 100:.2f} [" in (words := sentences([finding])[0])
    assert "the mean of 8 cases, rated by tiny" in words
    assert finding.measures[0].title == title


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("response.yaml", "direction: higher", "notes: None.", "failed, lacking, good, which have no mean; say which"),
        ("suite.yaml", "response_stayed, percent", "response_stayed, level: bad, direction: lower, percent",
         "main: there is no level of response_stayed 'bad'; known: failed, good, lacking"),
        ("suite.yaml", "response_stayed, percent", "response_stayed, level: good, percent", "level .* needs direction"),
    ],
)  # fmt: skip
def test_a_label_of_which_no_level_counts_is_refused_as_main(
    call: Call, tmp_path: Path, file: str, old: str, new: str, words: str
) -> None:
    works(call, "simulate", "new", "own", "--like", "risk")
    path = tmp_path / "own" / file
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    code, _, err = call("simulate", "check", "own/protocol.yaml")
    assert code == 2
    assert re.search(words, " ".join(err.split()))
