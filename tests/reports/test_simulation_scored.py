"""From a simulation to its card: rules simulate, a judge is asked again, and the report has both side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.metrics.protocols.medconceal import FEATURES
from bedside.reports.build import build_tables
from tests.judges.llm.server import Action, JudgeServer, fitting


@pytest.mark.server
def test_a_judge_asked_again_stands_beside_the_simulations_evaluator(tmp_path: Path) -> None:
    made = bedside.simulate(
        None, "medconceal", tmp_path / "talks", clinician=["script:good", "script:brisk"], sample=2, repeats=2
    )
    assert made.folder == tmp_path / "talks"
    with JudgeServer(lambda request, number: Action(text=fitting(request))) as server:
        run = bedside.judge(
            made.folder, [server.judge], out=tmp_path / "run", rubrics=["turn_evaluator"], suite="medconceal"
        ).run
    view = open_ratings_view(run)
    table = build_tables(view, ["simulation_evaluator"])[0]
    assert [record["statistic"] for record in table.records] == ["ICC(2,1)"] * (len(FEATURES) + 1) + ["kappa"]
    intents = table.rows[-1].cells
    assert [cell.text for cell in (intents[0], intents[3], intents[5], intents[-1])] == [
        "Intent",
        "–",
        "–",
        "kappa",
    ]
    turns = sum(len(list(talk.of("clinician"))) for talk in made.transcripts())
    assert {record["turns"] for record in table.records} == {turns}
    assert {record["cases"] for record in table.records} == {2}
    # The rules say the same whenever they are asked: repeats differ in nothing.
    spread = build_tables(view, ["simulation_repeats"])[0]
    ours = [
        record
        for record in spread.records
        if record.get("system") and record["raters"].startswith("algorithm")
    ]
    assert all(record["variance_between_repeats"] == pytest.approx(0) for record in ours)
    card = build_tables(view, ["simulation_card"])[0]
    assert any("script:brisk" in note and note.startswith("Toys") for note in card.notes)
    loss = build_tables(view, ["simulation_loss"])[0]
    assert [record["planned"] for record in loss.records] == [4, 4]
