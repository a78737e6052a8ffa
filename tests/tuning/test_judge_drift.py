"""A judge that is asked again: its anchors are drawn and kept, a change is found, and nothing of the run changes."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.api.judge_tuning import JudgeDriftSettings, _drift_order
from bedside.core.errors import DataError
from bedside.judges.llm.prices import Price
from bedside.tuning.judge_drift import draw_anchors, kept_anchors
from tests.conftest import exit_code
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.safety.test_removed_files import unnoticed
from tests.stats.results import ends

pytestmark = pytest.mark.server


@dataclass
class Model:
    """A model that reads its level in the conversation; a part of conversations gets a level more."""

    version: str = "tiny-1"
    moved: float = 0.0

    def __call__(self, request: Received, number: int) -> Action:
        found = re.search(r"LEVEL(\d) (\S+)", request.prompt)
        assert found is not None
        level = int(found[1]) + (random.Random(f"{found[2]} {self.version}").random() < self.moved)
        return Action(text=json.dumps({"reason": "because", "score": min(5, level)}), extra={"model": self.version})


@dataclass
class Labels:
    """A model that reads its label in the conversation, and calls a part of one label another."""

    moved: float = 0.0

    def __call__(self, request: Received, number: int) -> Action:
        found = re.search(r"LABEL (\S+) (\S+)", request.prompt)
        assert found is not None
        turns = found[1] == "openness" and random.Random(found[2]).random() < self.moved
        return Action(text=json.dumps({"reason": "because", "label": "neuroticism" if turns else found[1]}))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def judged(tmp_path: Path, model: Model) -> bedside.Run:
    """A run of 120 conversations on 60 cases, of levels 1 to 4; the judge's server is gone."""
    draws = random.Random(0)
    talks = [
        bedside.Transcript(
            id=f"{system}-{case}", system=system, case_id=f"c{case}",
            turns=tuple(bedside.Turn(at, "patient" if at % 2 else "clinician", "x", f"LEVEL{level} {system}-{case}")
                        for at in range(4)),
        )
        for case in range(60) for system in ("new", "old") for level in [draws.choice([1, 2, 2, 3, 3, 3, 4])]
    ]  # fmt: skip
    run = bedside.score(talks, tmp_path / "run", metrics="turns").run
    with JudgeServer(model) as server:
        bedside.judge(run, server.judge, rubrics="empathy")
    return bedside.read_run(run.path)


def test_a_change_is_found_and_what_it_does_to_the_run_is_said(judged: bedside.Run, model: Model) -> None:
    before = judged.ratings
    model.version, model.moved = "tiny-2", 0.5
    with JudgeServer(model) as server:
        answer = bedside.judge_drift(judged, server.judge)
        assert server.count == 86
        again = bedside.judge_drift(judged, server.judge)  # on the same day, nothing is asked twice
        assert server.count == 86
    assert unnoticed(judged.path) == set()
    (drift,) = answer.results
    assert again.results[0].change == drift.change
    assert (drift.verdict, drift.anchors, drift.answered, drift.rater) == ("changed", 86, 86, "judge:tiny")
    assert drift.versions == ({"tiny-1": 120}, {"tiny-2": 86})
    assert drift.change.estimate == pytest.approx(0.5, abs=0.12)
    assert drift.change.interval is not None
    assert drift.change.interval.low < 0.5 < drift.change.interval.high
    means = {number.quantity: number for number in drift.numbers if number.kind == "mean"}
    for system, number in means.items():
        old = before.filter(pl.col("system") == system, pl.col("metric") == "empathy")["value"].mean()
        assert number.before.estimate == pytest.approx(old)
        assert number.now.estimate is not None
        assert number.now.estimate == pytest.approx(old + 0.5, abs=0.2)  # type: ignore[operator]
        low, high = ends(number.now)
        assert high - low > np.subtract(*ends(number.before)[::-1])
    assert {level.level for level in drift.levels} == {"1", "2", "3", "4"}
    assert answer.sentences()[0].startswith("tiny has changed on empathy: its mean level changed by +0.")
    assert bedside.read_run(judged.path).ratings.equals(before)


def test_no_change_is_shown_and_the_anchors_stay(judged: bedside.Run, model: Model) -> None:
    with JudgeServer(model) as server:
        (drift,) = bedside.judge_drift(judged, server.judge, anchors=70).results
        (more,) = bedside.judge_drift(judged, server.judge, anchors=90, seed=5).results
    assert (drift.verdict, drift.change.estimate, drift.moved.estimate) == ("same", 0, 0)
    assert [number.kind for number in drift.numbers] == ["mean", "mean", "difference"]
    for number in drift.numbers:  # nothing changed, so the cases that the run has are all that is not known
        assert ends(number.now) == pytest.approx(ends(number.before))
    assert (more.anchors, more.verdict) == (70, "same")
    kept = kept_anchors(judged.path)["judge:tiny"]["empathy"][1]
    assert len({anchor.transcript for anchor in kept}) == 70
    assert Counter(anchor.stratum.split(" / ")[0] for anchor in kept) == {"new": 35, "old": 35}


def test_at_another_address_the_same_day_it_is_asked_anew(judged: bedside.Run, model: Model) -> None:
    with JudgeServer(model) as server:
        (same,) = bedside.judge_drift(judged, server.judge, anchors=70).results
    model.moved = 0.9
    with JudgeServer(model) as elsewhere:
        (moved,) = bedside.judge_drift(judged, elsewhere.judge).results
        assert elsewhere.count == 70
    assert (same.verdict, moved.verdict) == ("same", "changed")


def test_a_label_that_is_given_less_often_is_found(tmp_path: Path) -> None:
    """Of 60 conversations in 120 that were called openness, about half are called another now."""
    names = ["openness", "neuroticism", "extraversion", "openness"]
    talks = [
        bedside.Transcript(
            id=f"t{case}", system="new", case_id=f"c{case}",
            turns=tuple(bedside.Turn(at, "patient" if at % 2 else "clinician", "x", f"LABEL {names[case % 4]} t{case}")
                        for at in range(4)),
        )
        for case in range(120)
    ]  # fmt: skip
    run = bedside.score(talks, tmp_path / "run", metrics="turns").run
    model = Labels()
    with JudgeServer(model) as server:
        bedside.judge(run, server.judge, rubrics="dominant_trait")
        (same,) = bedside.judge_drift(bedside.read_run(run.path), server.judge, anchors=100, margin=0.1).results
    shutil.rmtree(run.path / "drift")
    model.moved = 0.5
    with JudgeServer(model) as server:
        (drift,) = bedside.judge_drift(bedside.read_run(run.path), server.judge, anchors=120).results
    assert (same.verdict, same.answered, same.moved.estimate) == ("same", 100, 0)
    turned = sum(random.Random(f"t{case}").random() < 0.5 for case in range(120) if names[case % 4] == "openness")
    assert (drift.verdict, drift.answered, drift.numbers) == ("changed", 120, ())
    assert drift.moved.estimate == pytest.approx(turned / 120)
    assert abs(drift.change.estimate or 0) == pytest.approx(turned / 120)
    levels = {level.level: level for level in drift.levels}
    assert {name: level.units for name, level in levels.items()} == {
        "openness": 60, "neuroticism": 30, "extraversion": 30,
    }  # fmt: skip
    assert levels["openness"].kept.estimate == pytest.approx(1 - turned / 60)
    shares = {name: level.share.estimate for name, level in levels.items() if level.share is not None}
    assert shares == pytest.approx({"openness": -turned / 120, "neuroticism": turned / 120, "extraversion": 0})


def test_it_can_be_counted_and_limited_first(
    judged: bedside.Run, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer(model) as server:
        how = ("judge", "drift", judged.path, "--judge", server.judge)
        assert exit_code(*how, "--dry-run") == 0
        assert server.count == 0
        assert not (judged.path / "drift").exists()
        assert exit_code(*how, "--max-calls", "20") == 0
        assert server.count == 20
        assert exit_code(*how) == 0
        assert server.count == 86
    said = capsys.readouterr()  # the new version isn't in the run, so no question can take it apart
    assert "Next:" not in said.out + said.err


def test_a_limit_that_is_reached_is_said(judged: bedside.Run, model: Model) -> None:
    """The price is that of the first time, or the one given; a reply to these prompts has 3 tokens at least."""
    with JudgeServer(model) as server:
        how = {"price": (0.0, 1e6), "max_cost": 300.0, "max_concurrency": 1}
        answer = bedside.judge_drift(judged, server.judge, **how)  # type: ignore[arg-type]
        asked = server.count
        assert 1 <= asked < 86
        (drift,) = answer.results
        assert (drift.anchors, drift.answered, drift.left) == (86, asked, 86 - asked)
        assert any(f"{asked} of 86 anchors were asked" in note for note in answer["judge_drift"].notes)
        (whole,) = bedside.judge_drift(judged, server.judge).results
        assert (whole.left, server.count) == (0, 86)


def test_a_judge_is_named_as_elsewhere_and_asked_as_it_was(judged: bedside.Run, model: Model) -> None:
    with JudgeServer(model) as server:
        bedside.judge(judged, server.judge, rubrics="empathy", expected=True, temperature=0.5, price=(1, 2))
        for name in ("tiny", "judge:tiny", server.judge, None):
            order = _drift_order(bedside.read_run(judged.path), JudgeDriftSettings(judge=name))
            assert (order.rater, order.name.text) == ("judge:tiny", server.judge)
            assert order.settings.price == Price(1, 2)
            assert (order.settings.expected, order.settings.temperature) == (True, 0.5)
    with pytest.raises(DataError, match="has not rated the run"):
        bedside.preview_drift(judged, "tinier")


def test_who_did_not_rate_is_refused(judged: bedside.Run) -> None:
    with pytest.raises(DataError, match="has not rated the run"):
        bedside.preview_drift(judged, "openai/gpt-5")
    with pytest.raises(DataError, match="rated nothing by 'partnership'"):
        bedside.preview_drift(judged, rubrics="partnership")


def test_anchors_are_drawn_in_proportion_with_two_of_each_stratum() -> None:
    levels = [1.0] * 3 + [3.0] * 60 + [4.0] * 137
    table = pl.DataFrame({
        "transcript_id": [f"t{place}" for place in range(200)], "system": ["a"] * 200, "value": levels,
        "label": [None] * 200,
    }, schema_overrides={"label": pl.String()})  # fmt: skip
    anchors = draw_anchors(table, lambda strata: 20 * strata, 0)
    assert Counter(anchor.stratum for anchor in anchors) == {"a / 1.0": 2, "a / 3.0": 18, "a / 4.0": 41}
    assert {anchor.size for anchor in anchors} == {3, 60, 137}
    assert draw_anchors(table, lambda strata: 60, 0) == anchors
