"""Simulated conversations in a run: what is lost, for whom, and what is complete."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.simulated_talks import reasons_of, simulated_spreads, simulated_talks, with_complete_cases
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from tests.analysis.builders import definite
from tests.analysis.simulated_run import CASES, LOST, SYSTEMS, simulated_run, simulation


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulated_run(tmp_path_factory.mktemp("simulated"))


def test_all_conversations_are_known_with_and_without_a_transcript(run: Run) -> None:
    talks = definite(simulated_talks(open_ratings_view(run)))
    assert (len(talks.talks), len(talks.finished), talks.others) == (24, 21, 0)
    assert talks.systems == SYSTEMS
    assert {
        (talk.system, talk.case, talk.persona, int(talk.repeat)): (talk.whose, talk.reason)
        for talk in talks.talks
        if talk.lost
    } == LOST
    assert {talk.setting for talk in talks.talks} == {"26"}
    assert reasons_of(talks.talks) == {"patient: wrong language": 2, "evaluator: reply can't be read": 1}
    assert sum(talk.completed for talk in talks.talks) == 13


def test_loss_is_counted_by_system_and_persona(run: Run) -> None:
    talks = definite(simulated_talks(open_ratings_view(run)))
    by_system, by_persona = (definite(talks.loss(name)) for name in ("system", "persona"))
    assert (by_system.levels, by_system.lost, by_system.planned) == (SYSTEMS, (3, 0), (12, 12))
    assert (by_persona.levels, by_persona.lost) == (("open", "terse"), (0, 3))
    assert by_system.differs
    # Of eight ways to permute systems within three cases, two are as extreme: all lost with one system.
    assert by_system.test.p == pytest.approx(0.5, abs=0.03)
    assert talks.loss("setting") is None


def test_only_complete_cases_can_be_looked_at(run: Run) -> None:
    view = with_complete_cases(open_ratings_view(run))
    left = view.transcripts()
    assert left.height == 16
    assert left.group_by("system").len()["len"].to_list() == [8, 8]
    assert view.part.sentences() == [
        "Only cases that are complete for all systems are looked at: 4 of 6 combinations of case, persona, setting "
        "and length have every conversation."
    ]
    talks = definite(simulated_talks(view))
    assert not any(talk.lost for talk in talks.talks)


def test_a_part_of_a_study_has_its_own_losses(run: Run) -> None:
    talks = definite(simulated_talks(open_ratings_view(run).where({"persona": ["open"]})))
    assert len(talks.talks) == 12
    talks = definite(simulated_talks(open_ratings_view(run).where({"setting": ["26 messages"], "repeat": ["2"]})))
    assert (len(talks.talks), sum(talk.lost for talk in talks.talks)) == (12, 2)


def test_transcripts_without_the_folder_know_of_no_failures(tmp_path: Path) -> None:
    talks_file = tmp_path / "copied.jsonl"
    shutil.copy(simulation(tmp_path / "talks") / "transcripts.jsonl", talks_file)
    run = bedside.score(talks_file, tmp_path / "run", metrics=["structure"]).run
    talks = definite(simulated_talks(open_ratings_view(run)))
    assert (len(talks.talks), talks.simulations) == (21, ())
    assert talks.loss("system") is None
    with pytest.raises(DataError, match="score the folder"):
        with_complete_cases(open_ratings_view(run))


def test_other_transcripts_are_counted_beside(tmp_path: Path) -> None:
    folder = simulation(tmp_path / "talks")
    failed = folder / "failed.jsonl"
    lost = json.loads(failed.read_text("utf-8").splitlines()[0])
    everywhere = {**lost, "id": lost["id"].replace("gout", "croup"), "case": "croup"}
    failed.write_text(failed.read_text("utf-8") + json.dumps(everywhere) + "\n", "utf-8")
    real = tmp_path / "real.jsonl"
    real.write_text(json.dumps({"id": "r", "turns": [{"role": "patient", "text": "Hello."}]}) + "\n", "utf-8")
    run = bedside.score([folder, real], tmp_path / "run", metrics=["structure"]).run
    talks = definite(simulated_talks(open_ratings_view(run)))
    assert talks.others == 1
    alone = open_ratings_view(run, where={"synthetic": ["False"]})
    assert alone.transcripts()["transcript_id"].to_list() == ["r"]
    assert simulated_talks(alone) is None
    plain = bedside.score(real, tmp_path / "plain", metrics=["structure"]).run
    assert simulated_talks(open_ratings_view(plain)) is None
    with pytest.raises(DataError, match="simulated"):
        with_complete_cases(open_ratings_view(plain))


def test_a_run_without_texts_knows_all_but_flags(tmp_path: Path) -> None:
    run = simulated_run(tmp_path, text=False)
    talks = definite(simulated_talks(open_ratings_view(run)))
    assert len(talks.talks) == 24
    assert all(talk.flags is None for talk in talks.talks)


def test_spread_between_repeats_is_that_of_the_numbers_made(run: Run) -> None:
    view = open_ratings_view(run)
    metric = next(name for name in view.metrics() if name.startswith("words") and name.endswith("patient"))
    spreads, pairs = simulated_spreads(view, [metric])
    first = next(spread for spread in spreads if spread.system == SYSTEMS[1])
    # Repeats differ by two words: variance 2; cases by ten: 100, where both personas say the same.
    assert first.spread.within == pytest.approx(2)
    assert first.spread.between == pytest.approx(100 - 2 / 4)
    assert first.spread.cases == len(CASES)
    (pair,) = pairs
    assert pair.needed.difference == pytest.approx(4, abs=0.4)
