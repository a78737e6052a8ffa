"""The recipes for MLflow and Weights & Biases, run as they are printed, against stores of this machine.

Neither library goes with all that the other tests need: ``tools/check_package.py`` runs this file where they are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import bedside
from tests.conftest import Call

PAGE = Path(__file__).parents[2] / "docs" / "tracking.md"
#: Bytes of a block of LevelDB's log.
_BLOCK = 2**15
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
RECIPES = {
    library: code
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    for library in re.findall(r"import (mlflow|wandb)", code)[:1]
}


@pytest.fixture
def scored(call: Call) -> Path:
    """A run in the test's folder, with its tables."""
    assert call("score", EXAMPLE, "--metrics", "turns,question", "--out", "run")[0] == 0
    assert call("report", "run", "--format", "csv")[0] == 0
    return Path("run")


def means(run: Path) -> dict[str, float]:
    """Each rater's mean of each metric, by a way of its own."""
    sums: dict[str, list[float]] = {}
    for row in bedside.read_run(run).ratings.iter_rows(named=True):
        if row["value"] is not None:
            sums.setdefault(f"{row['metric']}/{row['rater']}", []).append(row["value"])
    return {name: sum(values) / len(values) for name, values in sums.items()}


def test_a_recipe_has_ten_lines() -> None:
    assert set(RECIPES) == {"mlflow", "wandb"}
    assert all(len([line for line in code.splitlines() if line.strip()]) <= 10 for code in RECIPES.values())


def test_mlflow(scored: Path, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    pytest.importorskip("mlflow.store.db_migrations", reason="mlflow-skinny has no database")
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    exec(RECIPES["mlflow"], {})
    (kept,) = mlflow.search_runs(experiment_names=["bedside"], output_format="list")
    expected = {name.replace("@", " "): mean for name, mean in means(scored).items()}
    assert kept.data.metrics == pytest.approx(expected)
    assert kept.data.params == {"bedside": bedside.__version__, "transcripts": "12"}
    names = {file.path for file in mlflow.MlflowClient().list_artifacts(kept.info.run_id, "tables")}
    assert "tables/results.csv" in names
    assert (tmp_path / "mlflow.db").is_file()


def test_wandb(scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_SILENT", "true")
    exec(RECIPES["wandb"], {})
    wandb.teardown()  # its own process writes the rest of the file
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    logged: dict[str, float] = {}
    for data in records(file.read_bytes()):
        for item in Record.FromString(data).history.item:
            name = item.key or "/".join(item.nested_key)
            if not name.startswith("_"):
                logged[name] = float(item.value_json)
    assert logged == pytest.approx(means(scored))


def records(content: bytes) -> Iterator[bytes]:
    """The records of an offline run's file: a log of LevelDB's form after a header of seven bytes."""
    at, whole = 7, b""
    while at + 7 <= len(content):
        left = _BLOCK - at % _BLOCK
        if left < 7:  # too little for another head: the rest of the block is empty
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", content[at : at + 7])
        whole += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield whole
            whole = b""
