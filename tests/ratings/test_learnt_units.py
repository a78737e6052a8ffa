"""What a rater learnt from is no evidence on it, and evidence on all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from bedside.ratings.learnt_units import LearntUnits, fresh_ratings, learnt_in, unit_digests, with_learnt
from bedside.ratings.table import frame_of

RATER = "judge:m+empathy@1"


def rows() -> list[tuple[object, ...]]:
    return [
        (name, None, case, "transcript", metric, rater, 0, 1.0, None, None, None)
        for name, case in (("a", "1"), ("b", "1"), ("c", None), ("d", "2"))
        for metric in ("empathy", "safety")
        for rater in ("human:x", "judge:m", RATER)
    ]


def test_only_what_the_rater_learnt_from_goes() -> None:
    learnt = LearntUnits(RATER, "empathy", frozenset(unit_digests([("a", "1"), ("c", None)])))
    fresh = fresh_ratings(frame_of(rows()), [learnt])
    left = fresh.ratings.filter(rater=RATER).select("transcript_id", "metric").rows()
    # b is of the case that a is of.
    assert sorted(left) == [("a", "safety"), ("b", "safety"), ("c", "safety"), ("d", "empathy"), ("d", "safety")]
    assert fresh.ratings.filter(rater="judge:m").height == 8
    assert fresh.left_out == {(RATER, "empathy"): 3}


def test_the_manifest_holds_it_and_adds_to_it() -> None:
    first = with_learnt({"format": 2}, LearntUnits(RATER, "empathy", frozenset(["a"])))
    second = with_learnt(first, LearntUnits(RATER, "empathy", frozenset(["b"])))
    third = with_learnt(second, LearntUnits("judge:m", "empathy", frozenset(["c"])))
    assert learnt_in(third) == (
        LearntUnits(RATER, "empathy", frozenset(["a", "b"])),
        LearntUnits("judge:m", "empathy", frozenset(["c"])),
    )
    assert learnt_in({}) == ()


def test_a_damaged_list_is_told_of_with_its_place(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics=["structure"]).run
    file = run.path / "manifest.json"
    file.write_text(json.dumps({**run.manifest, "learnt": [{"rater": "judge:m", "metric": 3}]}), "utf-8")
    with pytest.raises(bedside.BedsideError, match="the manifest is damaged at learnt"):
        bedside.read_run(run.path)
