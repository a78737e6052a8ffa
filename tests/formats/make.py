"""Writes one of each thing that bedside writes and reads again, small: what a release freezes.

    python -m tests.formats.make 0.1.0

makes ``tests/formats/0.1.0``, which is never made again once that version is released.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import chdir, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import bedside
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_database import PageDatabase, PageEntry
from bedside.annotation.rating_page.study_people import People
from bedside.core.files import read_sealed, write_sealed
from bedside.judges.llm.protocol import SentBatch
from bedside.judges.llm.provider_batches import BatchRounds
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import FILE_NAME, Store
from bedside.metrics.coders.learned.trained_coder import save_coder
from bedside.metrics.coders.learned.training import train
from bedside.ratings.run import Run
from bedside.reports.build import WRITTEN
from bedside.tuning.probes.probe_record import keep_record
from tests.annotation.builders import keep
from tests.annotation.study import new_study, rating_plan
from tests.judges.test_store import PIECES, SCHEMA, judgement, using
from tests.metrics.coders.test_trained_coder import corpus
from tests.safety.test_changed_files import OWN_FILES
from tests.tuning.probes.test_recovery import noisy_record
from tests.tuning.test_learned_raters import study

HERE = Path(__file__).parent


def make(folder: Path) -> None:
    """Write one of each into a folder that isn't there yet."""
    folder.mkdir()
    with chdir(folder):
        _rated(new_study(Path(), 4))
        bedside.simulate(None, "note2chat", "talks", clinician="script:brisk", sample=1)
        for name in sorted(OWN_FILES.keys() - {"learned.npz"}):  # which is no rater that can be loaded
            (Path("own") / name).parent.mkdir(parents=True, exist_ok=True)
            OWN_FILES[name](Path("own") / name)
        _learned()


def _learned() -> None:
    with TemporaryDirectory() as work:
        bedside.learn_rater(study(Path(work) / "run", 24), "empathy", "own/rater.npz")
    save_coder(train(corpus(), "tiny", folds=2, day="2026-12-01").coder, Path("own/coder.npz"))


def _rated(run: Run) -> None:
    """Have people and a judge rate a run, on the page and elsewhere."""
    plan = rating_plan(run, raters=("anna", "ben"))
    write_plan(plan, "plan.json")
    levels = {item: 1 + number % 5 for number, item in enumerate(sorted(item.id for item in plan.items))}
    keep(run, plan, lambda item, rater: _said(levels[item], rater))
    with closing(PageDatabase(Path("page.sqlite"), plan)) as database:
        entry = PageEntry("submitted", {"empathy": ("4",), "goal_alignment": ("5",)}, seconds=9.5)
        database.save(plan.items[0].id, "anna", entry, "first")
    People(Path("people.sqlite")).close()
    using(run.path / FILE_NAME, partial(_judged, run.index["id"].to_list()[:2]))
    with run.locked():
        keep_record(run, noisy_record(np.random.default_rng(0), 1, 1, 0.3))
    rounds = BatchRounds(Path("batches.json"), [], JudgeSettings(), Path())
    rounds._ledger.append(SentBatch("tag", "openai/gpt-4.1", "https://host", "/v1", ["a-1"], 1.5, 0.25, "batch_1"))
    rounds._keep()
    bedside.report(run, formats=["csv"])
    report = run.path / "report"
    kept = {"raters.csv": read_sealed(report / WRITTEN, "record")["files"]["raters.csv"]}
    for file in {*report.iterdir()} - {report / "raters.csv"}:
        file.unlink()
    write_sealed(report / WRITTEN, {"files": kept})
    Path("in.jsonl").unlink()


def _said(level: int, rater: str) -> dict[str, Any]:
    return {"empathy": str(level), "goal_alignment": str(max(1, level - (rater == "ben")))}


async def _judged(transcripts: list[str], store: Store) -> None:
    for name in transcripts:
        await store.finish(judgement(name, transcript=name, answer={"score": 4}), PIECES, SCHEMA)


def main(version: str, write: Callable[[Path], None] = make) -> None:
    with TemporaryDirectory() as work:
        write(Path(work) / "made")
        for file in (Path(work) / "made").rglob("*"):
            assert not file.is_file() or os.fsencode(work) not in file.read_bytes(), f"{file} names this machine"
        shutil.copytree(Path(work) / "made", HERE / version)


if __name__ == "__main__":
    main(sys.argv[1])
