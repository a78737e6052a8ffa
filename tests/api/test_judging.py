"""Judging from Python: a run or transcripts go in, a judged run comes out, in a notebook's event loop too."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.suites import SUITES
from tests.conftest import exit_code
from tests.judges.llm.server import JudgeServer

pytestmark = pytest.mark.server
TALKS = bedside.EXAMPLES / "transcripts.jsonl"


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def run(tmp_path: Path) -> bedside.Run:
    return bedside.score(TALKS, tmp_path / "run", metrics="turns").run


def transcripts() -> list[bedside.Transcript]:
    return list(bedside.read_transcripts(TALKS))


def judged(run: bedside.Run) -> pl.DataFrame:
    return run.ratings.filter(pl.col("rater") == "judge:tiny").sort("metric", "transcript_id", "replicate")


def test_a_run_is_judged_by_its_folder_and_a_model(run: bedside.Run, server: JudgeServer) -> None:
    before = len(server.received)
    seen: list[tuple[str, int]] = []
    found = bedside.judge(
        str(run.path), server.judge, rubrics=["empathy"], progress=lambda judge, state: seen.append((judge, state.done))
    )
    assert judged(found.run).height == 12
    assert found.complete
    assert found.scoring is None
    assert (seen[-1][1], found.judges[0].calls, len(server.received) - before) == (12, 12, 12)
    assert repr(found) == f"JudgedRun({found.run!r}, judged by judge:tiny)"
    assert "<th" in found._repr_html_()
    assert "Empathy" in str(found)
    # What is there is not asked again.
    again = bedside.judge(found.run, [server.judge], rubrics="empathy")
    assert (again.judges[0].calls, len(server.received) - before) == (0, 12)
    assert judged(again.run).equals(judged(found.run))


def test_it_is_what_the_command_does(tmp_path: Path, server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--suite", "calm-it", "--judge", server.judge, "--passes", "2", "--out", str(tmp_path / "a"))
    assert exit_code("score", TALKS, *how) == 0
    found = bedside.judge(transcripts(), server.judge, suite="calm-it", passes=2, out=tmp_path / "b").run
    assert found.ratings.sort(pl.all()).equals(bedside.read_run(tmp_path / "a").ratings.sort(pl.all()))
    assert [entry["suite"] for entry in found.manifest["scorings"]] == ["calm-it", "calm-it"]
    capsys.readouterr()
    # The run's own suite says what it is judged by.
    again = bedside.judge(found, server.judge, passes=2)
    assert again.judges[0].calls == 0
    assert {count.rubric for count in again.judges[0].rubrics} == set(SUITES.load("calm-it").rubrics)


def test_it_works_in_a_running_loop(run: bedside.Run, server: JudgeServer) -> None:
    """As in a notebook, whose cells run in one."""

    async def cell() -> int:
        first = bedside.judge(run, server.judge, rubrics="empathy")
        await asyncio.sleep(0)
        return sum(judge.ratings for judge in bedside.judge(first.run, server.judge, rubrics="partnership").judges)

    assert asyncio.run(cell()) == 12
    assert set(judged(bedside.read_run(run.path))["metric"]) == {"empathy", "partnership"}


def test_a_limit_leaves_the_rest_for_the_same_call(tmp_path: Path, server: JudgeServer) -> None:
    def ask(**options: Any) -> Any:
        return bedside.judge(
            iter(transcripts()), server.judge, rubrics="empathy", out=tmp_path / "run", metrics=(), **options
        )

    first = ask(max_calls=5)
    assert not first.complete
    assert repr(first).endswith("judged by judge:tiny; not everything was answered)")
    assert judged(first.run)["value"].count() == 5
    second = ask()
    assert second.complete
    assert second.judges[0].calls == 7
    assert second.scoring.transcripts == 12
    assert second.run.ratings.height == 12  # no algorithm rated: metrics=()


def test_a_run_without_text_is_judged_from_what_is_in_memory(tmp_path: Path, server: JudgeServer) -> None:
    given = transcripts()
    found = bedside.judge(
        (one for one in given), server.judge, rubrics="empathy", out=tmp_path / "run", metrics="turns", text=False
    )
    assert judged(found.run)["value"].count() == 12
    assert found.run.index["id"].len() == 12
    with pytest.raises(bedside.BedsideError, match="in memory when they were scored, and the run keeps no text"):
        bedside.judge(found.run, server.judge, rubrics="partnership")
    again = bedside.judge(given, server.judge, rubrics="partnership", out=tmp_path / "run", metrics="turns")
    assert set(judged(again.run)["metric"]) == {"empathy", "partnership"}
    with pytest.raises(bedside.BedsideError, match="differs from those of the run"):
        bedside.judge(
            [dataclasses.replace(one, system="x") for one in given],
            server.judge, rubrics="empathy", out=tmp_path / "run",
        )  # fmt: skip


def test_rubrics_of_ones_own(run: bedside.Run, server: JudgeServer) -> None:
    own = dataclasses.replace(RUBRICS.load("empathy"), name="my_empathy", title="My empathy")
    found = bedside.judge(run, server.judge, rubrics=[own, "empathy"])
    assert set(judged(found.run)["metric"]) == {"my_empathy", "empathy"}
    # The run knows it from then on.
    assert bedside.judge(found.run, server.judge, rubrics="my_empathy").judges[0].calls == 0
    with pytest.raises(bedside.BedsideError, match="two rubrics are called 'partnership'"):
        bedside.judge(run, server.judge, rubrics=[dataclasses.replace(own, name="partnership")])


def test_codes_in_place_of_rubrics(run: bedside.Run, server: JudgeServer) -> None:
    found = bedside.judge(run, server.judge, codes="question").run
    assert set(found.ratings.filter(pl.col("rater") == "judge:tiny+codebook")["metric"]) >= {"question"}


def test_what_it_would_take(run: bedside.Run, server: JudgeServer, tmp_path: Path) -> None:
    before = len(server.received)
    (plan,) = bedside.preview_judging(run, server.judge, rubrics="empathy", price=(1, 2)).results
    assert (plan.calls, plan.stored) == (12, 0)
    assert plan.cost == pytest.approx((plan.input_tokens + 2 * plan.output_tokens) / 1e6)
    assert len(server.received) == before
    bedside.judge(run, server.judge, rubrics="empathy", max_calls=5)
    shown = bedside.preview_judging(run, server.judge, rubrics=["empathy", "partnership"])
    assert [(plan.calls, plan.stored) for plan in shown.results] == [(7, 5), (12, 0)]
    of_files = bedside.preview_judging(TALKS, server.judge, rubrics="empathy")
    assert of_files == bedside.preview_judging(iter(transcripts()), server.judge, rubrics="empathy")
    assert of_files.results[0].calls == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"judges": []}, "`judges`: no judge is named"),
        ({"judges": "gpt"}, "'gpt' is not the name of a model"),
        ({"rubrics": "empathyy"}, "'empathyy'; did you mean empathy"),
        ({"rubrics": None}, "the suite has no rubrics for a judge; name some with `rubrics`"),
        ({"codes": "question"}, "codes are given in place of rubrics"),
        ({"rubrics": None, "codes": "questio"}, "`codes`: there is no code 'questio'; did you mean question"),
        ({"suite": "calm"}, "'calm'"),
        ({"passes": 0}, "`passes` must be 1 or more, and is 0"),
        ({"passes": "3"}, "`passes` must be 1 or more, and is '3'"),
        ({"max_calls": -1}, "`max_calls` must be 0 or more, and is -1"),
        ({"temperature": 9}, "`temperature`: a temperature must lie between 0 and 2"),
        ({"order": "x"}, "`order`: there is no order 'x'; known: rubric-first, transcript-first"),
        ({"price": 3}, "`price`: 3 is not a price"),
        ({"metrics": "turns"}, "`metrics`: a run that is there is judged, and not scored again"),
        ({"out": "elsewhere"}, "`out`: a run is judged where it is"),
        ({"source": "nowhere"}, "nowhere: this is not a run, and transcripts are judged in one"),
        ({"source": str(TALKS)}, "this is not a run, and transcripts are judged in one; .*with `out` the folder"),
        ({"source": str(TALKS), "out": "new", "metrics": "turnss"}, "'turnss'"),
        ({"source": 3, "out": "new"}, "transcripts can't be read from what is of type int"),
        ({"source": pl.DataFrame({"id": ["a"]}), "out": "new"}, "can't be read from what is of type DataFrame"),
    ],
)  # fmt: skip
def test_bad_calls_ask_and_write_nothing(
    options: dict[str, Any],
    words: str,
    run: bedside.Run,
    server: JudgeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before, ratings = len(server.received), run.ratings
    call = {"source": run, "judges": server.judge, "rubrics": "empathy", **options}
    with pytest.raises(bedside.BedsideError, match=words):
        bedside.judge(call.pop("source"), call.pop("judges"), **call)
    assert len(server.received) == before
    assert bedside.read_run(run.path).ratings.equals(ratings)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
