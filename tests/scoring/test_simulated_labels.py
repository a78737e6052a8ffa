"""What a simulation says of its turns is what every rater's trace rests on, and isn't asked again unless named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.metrics import FAMILIES
from bedside.metrics.families.hidden_concerns import CASE, RATER, TALK
from bedside.metrics.protocols import medconceal
from bedside.metrics.protocols.medconceal import PARAMETERS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.preview import preview_judging
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.scoring.test_pipelines import (
    ANSWERS,
    ASKS,
    JudgeServer,
    as_said_by_a_judge,
    bedside_tables,
    cases,
    derived,
    judged,
    replies_to,
    run,
    scripted,
    view,
    written,
)

EVALUATOR = "judge:openai/the-evaluator"


def labels_of(transcript: Transcript, place: int) -> dict[str, Any]:
    """What the scripted judge says of a clinician turn of these conversations, by its place, as a label."""
    said = {
        "steady-alcohol": view(ASKS if place <= 2 else ANSWERS),
        "brisk-heart": view(),
        "careless-sleep": view(intent="meta_probe"),
    }[transcript.id]
    return {
        "z": {name: said[name] for name in medconceal.FEATURES},
        "intent": max(said["intent_probabilities"], key=said["intent_probabilities"].__getitem__),
        "reason": "r",
    }


def simulated(transcript: Transcript, **simulation: Any) -> Transcript:
    """The conversation as if its patient had gone by labels of its turns."""
    turns = list(transcript.turns)
    for place, turn in enumerate(transcript.of("clinician"), start=1):
        meta = {**turn.meta, "medconceal": {EVALUATOR: labels_of(transcript, place)}}
        turns[turn.index] = replace(turn, meta=meta)
    reference = {**transcript.reference, "simulation": {"turn_rater": EVALUATOR, **simulation}}
    return replace(transcript, turns=tuple(turns), reference=reference)


@pytest.mark.server
def test_a_simulations_turn_labels_are_every_raters_and_are_asked_where_they_are_named(
    tmp_path: Path,
) -> None:
    talks = cases()
    clinician = sum(len(list(talk.of("clinician"))) for talk in talks)
    with JudgeServer(scripted(talks, replies_to(talks))) as server:
        command = ("--suite", "medconceal", "--judge", server.judge, "--out")
        run("score", written(tmp_path, talks), *command, tmp_path / "asked")
        asked = len(server.received)
        again = written(tmp_path, map(simulated, talks))
        suite = JudgingWork(tuple(map(RUBRICS.load, SUITES.load("medconceal").rubrics)), from_suite=True)
        planned = preview_judging(
            tmp_path / "simulated", [again], [server.judge], suite, settings=JudgeSettings()
        )
        assert sum(plan.calls for plan in planned) == asked - clinician
        run("score", again, *command, tmp_path / "simulated")
        assert len(server.received) - asked == asked - clinician
        before, after = judged(tmp_path / "asked"), judged(tmp_path / "simulated")
        traces = [metric.name for metric in FAMILIES.load("hidden_concerns").metrics]
        key = ["transcript_id", "unit", "metric"]
        columns = [*key, "value", "error"]
        ours = pl.col("metric").is_in(traces) & (pl.col("rater") != EVALUATOR)
        assert (
            after.filter(ours).select(columns).sort(key).equals(before.filter(ours).select(columns).sort(key))
        )
        assert after.filter(metric="reveal_rate")["value"].sum() == 1
        assert not after.filter(pl.col("metric").str.starts_with("turn_evaluator")).height
        sent = len(server.received)
        run(
            "score",
            again,
            "--rubrics",
            "turn_evaluator",
            "--judge",
            server.judge,
            "--out",
            tmp_path / "simulated",
        )
        assert len(server.received) - sent == clinician, "named, it is asked: how reliable the evaluator is"
        assert Run(tmp_path / "simulated").ratings.filter(metric="turn_evaluator.data_gathering").height > 0


def test_the_judges_own_labels_give_way_to_the_simulations() -> None:
    talk = conversation(*TALK, **CASE, language="en")
    said = as_said_by_a_judge(talk)
    wanted = derived("medconceal", talk, said)
    there = replace(talk, reference={**talk.reference, "simulation": {"turn_rater": RATER}})
    without = {name: answers for name, answers in said.items() if name != "turn_evaluator"}
    all_zero = [replace(each, answer={**(each.answer or {}), **view()}) for each in said["turn_evaluator"]]
    for answers in (said, {**said, "turn_evaluator": all_zero}, {**without, "turn_evaluator": []}):
        assert derived("medconceal", there, answers) == wanted
    assert derived("medconceal", talk, {**said, "turn_evaluator": all_zero})["reveal_rate"] == 0
    gone = replace(there, turns=tuple(replace(turn, meta={}) for turn in there.turns))
    assert (
        "which the patient went by, are not in the transcript"
        in derived("medconceal", gone, said)["reveal_rate"]
    )
    assert derived("medconceal", gone, said)["concern_recall"] == wanted["concern_recall"]


def test_a_persons_findings_are_grounded_in_the_simulations_trace(tmp_path: Path) -> None:
    talk = conversation(*TALK, **CASE, language="en")
    # The evaluator's labels are the example's; another person gives findings and matches and no turns.
    reference = {
        **talk.reference,
        "medconceal": {"human:ben": talk.reference["medconceal"][RATER]},
        "simulation": {"turn_rater": RATER},
    }
    values = {
        (each.rater, each.metric): each.value
        for each in FAMILIES.load("hidden_concerns").compute(
            replace(talk, reference=reference),
            frozenset({"grounded_recall", "reveal_rate"}),
            parameters="default",
        )
    }
    assert values["human:ben", "grounded_recall"] == 0.5
    assert values["human:ben", "reveal_rate"] == values[RATER, "reveal_rate"] == 1
    assert (RATER, "grounded_recall") not in values


def test_the_turn_limit_is_the_settings() -> None:
    talk = conversation(*TALK, **CASE, language="en")
    for limit, share in ((2, 0.0), (3, 1.0), (8, 1.0)):
        reference = {**talk.reference, "simulation": {"turn_limit": limit}}
        (by_limit,) = FAMILIES.load("hidden_concerns").compute(
            replace(talk, reference=reference), frozenset({"revealed_by_limit"}), parameters="default"
        )
        assert by_limit.value == share


def test_scoring_with_other_parameters_than_the_patients_warns_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    default, guarded = PARAMETERS.load("default"), PARAMETERS.load("guarded")
    talks = []
    for number, parameters in enumerate((default, guarded, guarded)):
        talk = replace(
            conversation(*TALK, **CASE, language="en"),
            id=f"t{number}", system="one", factors={"task": "confirmation"},
        )  # fmt: skip
        hashed = {"name": parameters.name, "sha256": parameters.digest()}
        simulation = {"turn_rater": RATER, "parameters": hashed}
        talks.append(replace(talk, reference={**talk.reference, "simulation": simulation}))
    run("score", written(tmp_path, talks), "--suite", "medconceal", "--out", tmp_path / "run")
    said = "Warning: scored with the parameters default, and the patient went by guarded (2 transcripts)."
    assert said in " ".join(capsys.readouterr().out.split())
    ratings = Run(tmp_path / "run").ratings.filter(metric="reveal_rate")
    why = "Warning: scored with the parameters default, and the patient went by guarded"
    assert dict(ratings.select("transcript_id", "reason").iter_rows()) == {"t0": None, "t1": why, "t2": why}
    table = next(table for table in bedside_tables(tmp_path / "run") if table.name == "confirmation")
    (note,) = [note for note in table.notes if note.startswith("Warning")]
    assert "the patient went by guarded (2 transcripts; " in note
    assert "Reveal rate" in note
    assert "Precision" not in note.partition(";")[2].replace("Process-grounded precision", "")
    unlike = {"name": "default", "sha256": "0" * 64}
    talk = replace(
        talks[0], reference={**talks[0].reference, "simulation": {"turn_rater": RATER, "parameters": unlike}}
    )
    (value,) = FAMILIES.load("hidden_concerns").compute(
        talk, frozenset({"reveal_rate"}), parameters="default"
    )
    assert value.reason is not None
    assert "of that name, which has changed since" in value.reason


def test_findings_that_were_handed_in_are_counted_without_a_judge() -> None:
    talk = conversation(*TALK, **CASE, language="en")
    findings = talk.reference["medconceal"][RATER]["findings"]
    concerns = {"concerns": talk.reference["concerns"], "simulation": {"turn_rater": RATER}}

    def values(**reference: object) -> dict[str, Any]:
        handed_in = replace(talk, reference={**concerns, **reference})
        names = frozenset({"coarse_f1", "submitted_findings", "concern_f1", "reveal_rate"})
        computed = FAMILIES.load("hidden_concerns").compute(handed_in, names, parameters="default")
        return {each.metric: each.value if each.error is None else each.error for each in computed}

    handed = values(submitted_findings=findings)
    # Three findings, two of them fears, and two concerns, one a fear: 2 · 1 / (3 + 2).
    assert (handed["coarse_f1"], handed["submitted_findings"], handed["reveal_rate"]) == (2 / 5, 3, 1)
    assert handed["concern_f1"] == "no labels of matches between findings and concerns"
    assert values()["coarse_f1"] == "no labels of the submitted findings"
    assert values(submitted_findings=[])["coarse_f1"] == 0
    assert "submitted_findings can't be read" in values(submitted_findings=[{"text": "x"}])["coarse_f1"]
