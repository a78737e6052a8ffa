"""What is said of ratings that nothing can be learnt from, and of juries that are none, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.jury_agreement import jury_agreement
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError
from bedside.core.files import write_sealed
from bedside.tuning.label_split import split_labels
from bedside.tuning.learned_rater import load_rater
from bedside.tuning.probes.probe_record import PROBE_FILE, keep_record, probe_records
from tests.tuning.probes.test_recovery import noisy_record
from tests.tuning.rated_run import rated_run
from tests.tuning.test_label_split import view_of

EIGHT = {"human:anna": [1, 2, 3, 4, 5, 1, 2, 3]}
TWO = {"judge:a": [1, 2], "judge:b": [1, 2], "human:anna": [1, 2]}


def jury(folder: Path, *members: str, **how: Any) -> object:
    return bedside.jury(rated_run(folder / "run", 2, TWO), "panel", members, **how)


def learn(folder: Path, ratings: Any = EIGHT, metric: str = "empathy", **how: Any) -> object:
    run = rated_run(folder / "run", len(ratings["human:anna"]), ratings, metric=metric)
    return bedside.learn_rater(run, metric, folder / "r.npz", **how)


def probes(old: str, new: str, folder: Path) -> object:
    """The record of what judges were probed with, after a change in its file."""
    run = rated_run(folder / "run", 2, TWO)
    with run.locked():
        keep_record(run, noisy_record(np.random.default_rng(0), 2, 4, 0.3))
    file = run.path / PROBE_FILE
    text = json.dumps(json.loads(file.read_text("utf-8")))
    file.write_text(text[:50], "utf-8")
    if old:
        write_sealed(file, json.loads(text.replace(old, new, 1)))
    return probe_records(run.path)


def rater_file(content: str, folder: Path) -> object:
    (folder / "r.npz").write_text(content)
    return load_rater(folder / "r.npz")


CASES: dict[str, Callable[[Path], object]] = {
    "few labels": lambda folder: split_labels(view_of(8, per_case=1), "empathy"),
    "one level": lambda folder: split_labels(view_of(20, level=3), "empathy"),
    "share": lambda folder: split_labels(view_of(20), "empathy", share=1),
    "few to learn from": learn,
    "few to learn and try": lambda folder: learn(folder, split=1),
    "features": lambda folder: learn(folder, features="magic"),
    "no scale": lambda folder: learn(folder, {"human:anna": np.arange(40) / 7}, "length_score"),
    "no rater": lambda folder: load_rater(folder / "absent.npz"),
    "text for a rater": lambda folder: rater_file("no archive", folder),
    "one member": lambda folder: jury(folder, "judge:a"),
    "person in a jury": lambda folder: jury(folder, "judge:a", "human:anna"),
    "no such judge": lambda folder: jury(folder, "judge:a", "judge:x"),
    "quorum": lambda folder: jury(folder, "judge:a", "judge:b", quorum=3),
    "no such jury": lambda folder: jury_agreement(open_ratings_view(rated_run(folder / "run", 2, TWO)), "panel"),
    "half a record of probes": lambda folder: probes("", "", folder),
    "key of probes": lambda folder: probes('"before"', '"befor"', folder),
    "passes of probes": lambda folder: probes('"passes": 1', '"passes": "1"', folder),
    "format of probes": lambda folder: probes('"format": 1', '"format": 2', folder),
    "rounds": lambda folder: bedside.preview_tuning(
        rated_run(folder / "run", 2, TWO),
        "http://h/v1#m",
        rubric="empathy",
        rounds=3,  # type: ignore[arg-type]
    ),
}
GOLDEN = {
    "few labels":
        "a file: people rated 8 units of 8 cases by empathy, and a split at 0.5 needs 24 of 11: 12 of 6 cases on "
        "either side, as fewer can show nothing; have people rate at least 16 more units of other cases, drawn at "
        "random",
    "one level":
        "a file: people gave a single level of empathy to all units to learn from: agreement beyond chance can't be "
        "told there; have people rate more cases, or give another `seed`",
    "share": "`split`: a share lies above 0 and below 1, and 1 doesn't; give .5 for half",
    "few to learn from":
        "FOLDER/run: people rated 8 units of 8 cases by empathy, and a split at 0.5 needs 24 of 11: 12 of 6 cases on"
        " either side, as fewer can show nothing; have people rate at least 16 more units of other cases, drawn at "
        "random",
    "few to learn and try":
        "FOLDER/run: people rated 8 units of 8 cases by empathy, and 24 of 12 are needed to learn from some and be "
        "tried on others; have people rate more cases",
    "features":
        "`features`: 'magic' says no features; give text, or embeddings:MODEL with a folder or the name of a package",
    "no scale":
        "FOLDER/run: length_score is on no scale, and a learned rater gives levels or labels; give its scale with "
        "`scales`",
    "no rater": "FOLDER/absent.npz: there is no such file; check its path",
    "text for a rater":
        "FOLDER/r.npz: not a learned rater (File is not a zip file); give a file that bedside judge learn wrote",
    "one member": "`jury`: a jury has two members or more; name several judges",
    "person in a jury":
        "`jury`: human:anna is a person, and no member of a jury; name judges or algorithms; what people say "
        "together is their consensus",
    "no such judge": "FOLDER/run: there is no rater 'judge:x'; did you mean judge:b or judge:a?",
    "quorum": "`quorum`: a quorum of 3 of 2 judges can't be reached or asks for nobody; give a number from 1 to 2",
    "no such jury": "FOLDER/run: there is no jury 'panel'; make one with bedside judge jury",
    "half a record of probes":
        "FOLDER/run/probes.json: the record of what the run's judges were probed with can't be read (Unterminated "
        "string starting at: line 1 column 48 (char 47)); remove it and probe again: answers are kept in the run's "
        "judgements",
    "key of probes":
        "FOLDER/run/probes.json: the record of what the run's judges were probed with has keys that are none; remove "
        "it and probe again: answers are kept in the run's judgements",
    "passes of probes":
        "FOLDER/run/probes.json: the record of what the run's judges were probed with can't be read "
        "(records.0.passes); remove it and probe again: answers are kept in the run's judgements",
    "format of probes":
        "FOLDER/run/probes.json: the record of what the run's judges were probed with was made by a newer bedside (its "
        "format is 2, this bedside reads 1); update bedside",
    "rounds": "`rounds`: names are text, and 3 is not; give one name as a string, or several in a list",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
