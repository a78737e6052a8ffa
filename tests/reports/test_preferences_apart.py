"""Preferences are in no other table, which says so; what stands behind one is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import bedside
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.pair_judging import PairingWork, judge_run_pairs
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import paired_transcripts
from tests.conftest import Call
from tests.judges.simulated_judge import SimulatedJudge, simulated_talks, true_qualities

TALKS = simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=6, seed=1)
APART = "36 preferences between two conversations are left to bedside preferences."


def add_levels(run: Run) -> None:
    rows = [
        (
            name,
            system,
            case,
            "transcript",
            "empathy",
            rater,
            0,
            float(1 + (len(name) + place) % 5),
            None,
            None,
            None,
        )
        for place, (name, system, case) in enumerate(run.index.select("id", "system", "case_id").iter_rows())
        for rater in ("human:anna", "human:ben", "judge:simulated")
    ]
    with run.locked():
        run.add(frame_of(rows, "pilot").lazy(), run.manifest)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = score(TALKS, tmp_path_factory.mktemp("compared") / "run", metrics=["structure"]).run
    work = PairingWork(paired_transcripts(run), (RUBRICS.load("empathy"),))
    judge_run_pairs(
        run, "http://127.0.0.1:1/v1#simulated", work, client=SimulatedJudge(true_qualities(TALKS)).client
    )
    return run.path


@pytest.fixture(scope="module")
def rated(compared: Path) -> Path:
    import shutil

    run = Run(shutil.copytree(compared, compared.parent / "rated"))
    add_levels(run)
    return run.path


@pytest.mark.slow
def test_numbers_are_those_without_preferences_and_the_tables_say_so(rated: Path, tmp_path: Path) -> None:
    plain = score(TALKS, tmp_path / "plain", metrics=["structure"]).run
    add_levels(plain)
    for question in (bedside.agree, bedside.compare):
        with_them, without = question(rated, seed=1), question(plain.path, seed=1)
        assert [table.records for table in with_them] == [table.records for table in without]
        assert APART in "\n".join(note for table in with_them for note in table.notes)
        assert APART not in str(without)
    validated, plainly = bedside.validate(rated, seed=1), bedside.validate(plain.path, seed=1)
    names = {table.name: table.records for table in plainly}
    differing = {table.name for table in validated if table.records != names[table.name]}
    # The card says how much the place counts in what the judge compared.
    assert differing == {"judge_card_1"}
    (results,) = bedside.tables(rated, "results")
    assert "preference" not in {str(record["metric"]) for record in results.records}
    assert APART in results.notes


@pytest.mark.parametrize("question", ["agree", "validate"])
def test_where_there_is_nothing_else_the_message_names_them(
    call: Call, compared: Path, question: str
) -> None:
    code, _, err = call(question, compared)
    assert code == 2
    assert "36 preferences are shown by bedside preferences" in err


@pytest.mark.slow
def test_what_stands_behind_a_preference_is_shown(compared: Path) -> None:
    of_system = bedside.explain(compared, "empathy.preference/A", table="strengths")
    (ratings,) = (table for table in of_system.tables if table.name == "ratings")
    shown = {(record["transcript_id"], record["unit"]) for record in ratings.records}
    assert len(shown) == 24
    assert all(name.startswith("A") or unit.startswith("pair:A") for name, unit in shown)
    assert RUBRICS.load("empathy").definition in of_system.definitions[0]
    of_two = bedside.explain(compared, "empathy.preference/A/B", table="win_rates")
    (ratings,) = (table for table in of_two.tables if table.name == "ratings")
    assert {(record["transcript_id"][0], record["unit"][5]) for record in ratings.records} == {
        ("A", "B"),
        ("B", "A"),
    }


def test_judgements_are_listed_by_either_conversation(call: Call, compared: Path) -> None:
    code, out, _ = call("judgements", "list", compared, "--transcript", "A-0-0")
    assert code == 0
    assert "4 judgements" in out
    key = next(line.split()[0] for line in out.splitlines() if "pair:A-0-0" in line)
    code, out, _ = call("judgements", "show", compared, key)
    assert code == 0
    assert "Unit: pair:A-0-0" in out
    assert out.index("first conversation begins") < out.index("second conversation begins")
    assert '"better":' in out
