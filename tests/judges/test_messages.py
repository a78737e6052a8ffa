"""What judging and scoring tell a person who must act: each message whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core.errors import BedsideError
from bedside.judges.counts import JudgingSummary, Tally
from bedside.judges.pair_question import PairQuestion
from bedside.judges.rubrics.rubric_files import RUBRICS, find_rubric
from bedside.judges.store import Store
from bedside.judges.store_merge import merge_store
from bedside.judges.turn_codes import plan_coding
from bedside.reports.judgements import missing
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import paired_transcripts
from tests.conftest import conversation
from tests.judges.rubrics.test_rubrics import PACING, changed, scaled, write
from tests.judges.rubrics.tuned import tuned
from tests.judges.test_store import finish, judgement

TALKS = [conversation(("clinician", "Hello."), ("patient", "Hi."), id=name, system=name) for name in "AB"]
EMPATHY = RUBRICS.load("empathy")


def judge(folder: Path, **how: Any) -> object:
    return bedside.judge(TALKS, "http://h:9/v1#x", out=folder / "run", rubrics="empathy", **how)


def code(folder: Path, **how: Any) -> object:
    return plan_coding(TALKS, "http://h:9/v1#x", store_path=folder / "s", **how)


def file_of(folder: Path, content: Any, name: str = "pacing.yaml", **how: Any) -> object:
    return find_rubric(str(write(folder, content, name)), **how)


def other_format(folder: Path) -> object:
    Store(folder / "s").close()
    with closing(sqlite3.connect(folder / "s")) as connection:
        connection.execute("PRAGMA user_version = 99")
    return Store(folder / "s")


def damaged(folder: Path) -> object:
    (folder / "s").write_bytes(b"no database" * 100)
    return Store(folder / "s")


def again(folder: Path, talks: list[Any]) -> object:
    run = score(TALKS, folder / "run", metrics=["turns"]).run
    return score(talks, run.path, metrics=["words"])


def foreign(folder: Path) -> object:
    (folder / "thesis.txt").write_text("mine")
    return score(TALKS, folder, metrics=["turns"])


CASES: dict[str, Callable[[Path], object]] = {
    "costs unknown": lambda folder: judge(folder, max_cost=1.0),
    "no limit": lambda folder: judge(folder, max_cost=-1.0),
    "no passes": lambda folder: judge(folder, passes=0),
    "no such code": lambda folder: code(folder, codes=("questions",)),
    "no codes": lambda folder: code(folder, codes=()),
    "no turns in a call": lambda folder: code(folder, turns_per_call=0),
    "no context": lambda folder: code(folder, context=-1),
    "no such rubric": lambda folder: find_rubric("empathyy"),
    "no such folder": lambda folder: find_rubric("empathy", folder / "absent"),
    "another ending": lambda folder: write(folder, PACING, "pacing.yml") and find_rubric("pacing", folder),
    "no translation": lambda folder: file_of(folder, PACING, language="zh"),
    "no such language": lambda folder: find_rubric("empathy", language="fr"),
    "a level is missing": lambda folder: file_of(folder, scaled(value=3)),
    "two faults": lambda folder: file_of(folder, changed(title=None, titel="Pacing")),
    "two languages": lambda folder: JudgingWork((EMPATHY, find_rubric("safety", language="de"))),
    "two raters": lambda folder: JudgingWork((tuned(), RUBRICS.load("safety"))),
    "incomparable": lambda folder: PairQuestion(RUBRICS.load("open_question")),
    "tuned for levels": lambda folder: PairQuestion(tuned()),
    "another format": other_format,
    "damaged": damaged,
    "words to be kept": lambda folder: merge_store(folder / "t", finish(folder / "s", [judgement()]), text=False),
    "no such system": lambda folder: paired_transcripts(score(TALKS, folder / "run").run, ["A", "Q"]),
    "fewer transcripts": lambda folder: again(folder, TALKS[:1]),
    "a foreign folder": foreign,
}  # fmt: skip
GOLDEN = {
    "costs unknown": "`max_cost`: what x costs isn't known; say it with `price`, or limit calls with `max_calls`",
    "no limit": "`max_cost` must be above 0, and is -1.0",
    "no passes": "`passes` must be 1 or more, and is 0",
    "no such code": "there is no code 'questions'; did you mean question or reflection?",
    "no codes":
        "no codes are named; name some of question, reflection, therapist_input, main_behaviour, client_talk "
        "with `codes`",
    "no turns in a call": "`turns_per_call` must be 1 or more, and is 0",
    "no context": "`context` must be 0 or more, and is -1",
    "no such rubric": "there is no rubric 'empathyy'; did you mean empathy or medconceal_empathy?",
    "no such folder": "FOLDER/absent: there is no such folder of rubrics; check its path",
    "another ending": "FOLDER/pacing.yml: a rubric file ends in .yaml; call it pacing.yaml",
    "no translation":
        "FOLDER/pacing.yaml: the rubric pacing has no texts in zh; write them into zh/pacing.yaml beside it, "
        "or ask in en",
    "no such language": "there is no prompt language 'fr'; known: de, en, zh",
    "a level is missing": "FOLDER/pacing.yaml:10: scale: level 2 is missing",
    "two faults": "FOLDER/pacing.yaml:20: titel: unknown key (and 1 more)",
    "two languages":
        "`rubrics`: the rubrics are in several languages (de, en), so that a judge by them is several raters;"
        " ask in one language, and in the other in another command",
    "two raters":
        "`rubrics`: the rubric Empathy is tuned, so that a judge by it is another rater than by other "
        "rubrics; ask about it alone, and about the others in another command",
    "incomparable":
        "`rubrics`: two conversations can't be compared by open_question: its answers are no levels, but of "
        "kind label; name rubrics that rate whole conversations on levels and aren't tuned; see bedside list "
        "rubrics",
    "tuned for levels":
        "`rubrics`: two conversations can't be compared by empathy: it is tuned for levels, with examples of "
        "them; name rubrics that rate whole conversations on levels and aren't tuned; see bedside list "
        "rubrics",
    "another format":
        "FOLDER/s: the store of judgements was made by a newer bedside (its format is 99, this bedside reads 1 to "
        "5); update bedside",
    "damaged":
        "FOLDER/s: the store of judgements is damaged (file is not a database); restore it from a copy, or "
        "move it away to judge anew",
    "words to be kept":
        "FOLDER/s: the store holds what was asked and replied, and the run keeps no text; merge into a run "
        "that keeps text, or judge without text",
    "no such system": "`systems`: there is no system 'Q'; known: A, B",
    "fewer transcripts":
        "FOLDER/run: the run has 2 transcripts, and 1 of them were given; score the same transcripts, or "
        "choose another folder with `out`",
    "a foreign folder": "FOLDER: this exists and is not a run; choose another folder with `out`",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]


@pytest.mark.parametrize(("number", "words"), [(1, "1 reply that could"), (2, "2 replies that could")])
def test_replies_that_are_missing_are_counted_in_words_that_fit(number: int, words: str) -> None:
    count = Tally(judgements=number, unusable=number).of("empathy", "1")
    (note,) = missing.texts([JudgingSummary("judge:x", {}, 1, (count,), 0, number)])
    assert note == f"{words} not be used."
