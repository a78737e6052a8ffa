"""Every tuning on a set of labels is counted, and what so many tries mean is said."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.ratings.run import Run
from bedside.tuning.tuning_ledger import chance_of_false_gain, tries_words
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.safety.test_removed_files import unnoticed
from tests.tuning.tuned_run import FaultyJudge, compressed, qualities, rated_run

pytestmark = pytest.mark.server


def test_the_chance_is_that_of_independent_tries_and_of_alike_ones_less() -> None:
    assert chance_of_false_gain(16) == pytest.approx(0.333, abs=0.001)
    random = np.random.default_rng(0)
    shared, own = random.normal(size=(40_000, 1)), random.normal(size=(40_000, 16))
    shown = {weight: ((weight**0.5 * shared + (1 - weight) ** 0.5 * own).max(axis=1) > 1.96).mean()
             for weight in (0.0, 0.5)}  # fmt: skip
    assert shown[0.0] == pytest.approx(chance_of_false_gain(16), abs=0.01)
    assert shown[0.5] < chance_of_false_gain(16)


def test_sixteen_tries_are_said_at_the_tuning_and_at_validate(tmp_path: Path) -> None:
    run, model = rated_run(tmp_path), FaultyJudge(compressed, [])

    def script(received: Received, number: int) -> Action:
        assert received.schema is not None
        return Action(text=model.reply(received.prompt, received.schema))

    def tuned(seed: int) -> bedside.api.judge_tuning.TunedJudge:  # type: ignore[name-defined]
        return bedside.tune_judge(run, server.judge, rubric="empathy", wordings=0, examples=0, seed=seed)

    with JudgeServer(script) as server:
        first = tuned(0)
        assert not [note for note in first.tables[0].notes if "tunings were tried" in note]
        for seed in range(16):
            last = tuned(seed)  # the first seed again is the same try
        assert len(last.tries) == 16
        (note,) = [note for note in last.tables[0].notes if "tunings were tried" in note]
        tested = sum(entry.gain is not None for entry in last.tries)
        assert "16 tunings were tried on these labels, in this run and those beside it. If none helped" in note
        assert f"up to {100 * chance_of_false_gain(tested):.0f} % (2.5 % for each of {tested}," in note
        assert last.rubric is not None
        bedside.judge(run, server.judge, rubrics=[last.rubric])
    assert unnoticed(run.path) == set()
    checked = bedside.validate(bedside.read_run(run.path), judges=f"judge:tiny+{last.rubric.key}")
    assert [note for table in checked for note in table.notes if "16 tunings were tried" in note]
    assert tries_words(last.tries[:1]) == ""


def test_what_makes_another_judge_is_another_try_and_runs_beside_count_where_labels_are_the_same(
    tmp_path: Path,
) -> None:
    run, quality = rated_run(tmp_path), qualities(60)

    def script(received: Received, number: int) -> Action:
        (talk,) = re.findall(r"visit(\d+)", received.prompt)
        return Action(text=json.dumps({"reason": "So.", "score": int(np.clip(round(3 + quality[int(talk)]), 1, 5))}))

    def tries(run: Run, **asked: object) -> int:
        tuned = bedside.tune_judge(run, server.judge, rubric="empathy", wordings=0, examples=0, **asked)  # type: ignore[arg-type]
        return len(tuned.tries)

    with JudgeServer(script) as server:
        assert tries(run) == 1
        assert [tries(run, **asked) for asked in (
            {"temperature": 0.5}, {"reasoning_effort": "low"}, {"extra": {"top_k": 3}}, {"prompt_language": "de"},
            {"order": "rubric-first"}, {"max_tokens": 900}, {"temperature": 0.5},
        )] == [2, 3, 4, 5, 6, 7, 7]  # fmt: skip

        # The same labels in another run: scored anew into the same folder, and rated as in the first.
        again = bedside.score(tmp_path / "talks.jsonl", tmp_path / "again", metrics=["structure"]).run
        labels = run.ratings.filter(pl.col("rater").str.starts_with("human:"))
        with again.locked():
            again.add(labels.lazy(), again.manifest)
        assert [tries(again), tries(again, temperature=0.9)] == [7, 8]
        shutil.rmtree(run.path)
        assert tries(again) == 2

        # Transcripts and cases of the same names whose content is another are other labels.
        text = (tmp_path / "talks.jsonl").read_text().replace("everything is grey", "everything is dull")
        (tmp_path / "other.jsonl").write_text(text)
        other = bedside.score(tmp_path / "other.jsonl", tmp_path / "other", metrics=["structure"]).run
        with other.locked():
            other.add(labels.lazy(), other.manifest)
        assert tries(other) == 1
