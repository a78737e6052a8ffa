"""What is said of transcripts, metrics and runs that can't be scored, word for word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core.errors import BedsideError
from bedside.scoring.plan import make_plan
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import paired_transcripts
from tests.scoring.test_pair_judging import a_run, talk
from tests.scoring.test_score import lines
from tests.scoring.test_spread import Here

TALKS = bedside.EXAMPLES / "transcripts.jsonl"


def again(folder: Path, *names: str, **system: str) -> object:
    """Score two transcripts, and others into the run."""
    file = folder / "t.jsonl"
    file.write_text(lines("one", "two"))
    run = score([file], folder / "run", metrics=["turns"]).run
    file.write_text(lines(*names, **system))
    return score([file], run.path, metrics=["words"])


def scored(folder: Path, **how: Any) -> bedside.Run:
    (folder / "t.jsonl").write_text(lines("one", "two"))
    return score([folder / "t.jsonl"], folder / "run", **{"metrics": ["turns"], **how}).run


def without_text(folder: Path) -> object:
    return list(scored(folder, text=False).transcripts())


def damaged(file: str, folder: Path) -> object:
    run = scored(folder)
    (run.path / file).write_bytes(b"PAR1 nonsense")
    return bedside.read_run(run.path).ratings


def two_at_once(folder: Path) -> object:
    with scored(folder).locked():
        return scored(folder)


def foreign(folder: Path) -> object:
    (folder / "thesis.txt").write_text("mine")
    return score(TALKS, folder)


def pairs(folder: Path, systems: list[str] | None = None, most: int | None = None) -> object:
    run = a_run(folder, [talk("a", "A", "x"), talk("b", "B", "x"), talk("d", "D", "z")])
    return paired_transcripts(run, systems, most=most)


def labelled(folder: Path, **how: Any) -> object:
    return scored(folder, labels=folder / "t.jsonl", **how)


CASES: dict[str, Callable[[Path], object]] = {
    "fewer transcripts": lambda folder: again(folder, "one"),
    "another transcript": lambda folder: again(folder, "one", "two", "three"),
    "changed transcript": lambda folder: again(folder, "one", "two", system="B"),
    "foreign folder": foreign,
    "no text": without_text,
    "damaged table": lambda folder: damaged("ratings.parquet", folder),
    "damaged manifest": lambda folder: damaged("manifest.json", folder),
    "two at once": two_at_once,
    "no such metric": lambda folder: make_plan(["exchange"]),
    "family that isn't scored": lambda folder: make_plan(["turns"], {"readability": {"raw": True}}),
    "labels of no protocol": labelled,
    "labels on workers": lambda folder: labelled(folder, suite="medconceal", metrics=None, engine=Here()),
    "no such system": lambda folder: pairs(folder, ["A", "Q"]),
    "one system": lambda folder: pairs(folder, ["A"]),
    "no pairs": lambda folder: pairs(folder, most=0),
    "no case of both": lambda folder: pairs(folder, ["A", "D"]),
    "no words of a judge": lambda folder: bedside.judge(
        TALKS, "http://h/v1#m", out=folder / "run", metrics="deepeval:turn_relevancy", text=False
    ),
}
GOLDEN = {
    "fewer transcripts":
        "FOLDER/run: the run has 2 transcripts, and 1 of them were given; score the same transcripts, or choose "
        "another folder with `out`",
    "another transcript":
        "`out`: transcript 'three' (FOLDER/t.jsonl:3) is not among those of the run; choose another folder with "
        "`out`",
    "changed transcript":
        "`out`: transcript 'one' (FOLDER/t.jsonl:1) differs from those of the run; choose another folder with `out`",
    "foreign folder": "FOLDER: this exists and is not a run; choose another folder with `out`",
    "no text":
        "FOLDER/run: the run keeps no text of transcript 'one'; score again into a new run with bedside score, "
        "without `text=False`",
    "damaged table":
        "FOLDER/run/ratings.parquet: the file isn't as bedside wrote it (its SHA-256 is another); restore it from a "
        "copy, or score again into a new run; bedside verify says what can be used",
    "damaged manifest":
        "FOLDER/run/manifest.json: the manifest can't be read (Expecting value: line 1 column 1 (char 0)); restore "
        "it, or score again",
    "two at once": "FOLDER/run: another bedside process is changing this run; wait until it ends",
    "no such metric":
        "there is no metric or family 'exchange'; did you mean exchanges or delta_change_talk or dale_chall_new?",
    "family that isn't scored": "`parameters`: there is no scored family 'readability'; known: structure",
    "labels of no protocol":
        "`labels`: labels are for the metrics of one protocol; score one: `suite=medconceal` or `suite=note2chat`",
    "labels on workers": "`labels`: labels are read by one process only; leave `engine` out",
    "no such system": "`systems`: there is no system 'Q'; known: A, B, D",
    "one system": "`systems`: conversations of two systems are compared, and there is A; name two of the run's systems",
    "no pairs": "`pairs` must be 1 or more, and is 0",
    "no case of both":
        "FOLDER/run: no case has comparable conversations of two systems (A, D); score conversations of two systems "
        "on the same cases; bedside reads the case from case_id",
    "no words of a judge":
        "deepeval:turn_relevancy: what a metric of deepeval asks is made of the judge's words, and a run without "
        "text keeps none; keep the text",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
