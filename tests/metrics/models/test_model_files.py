"""Finding models: by folder, file and name on a hub, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bedside.core import model_files as _files
from bedside.core.errors import ModelError
from bedside.core.model_files import TOY, digest, find_model, read_config
from tests.metrics.models.hub import serving

NAME = "some-people/Some.Model"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a model; what they hold doesn't matter here."""
    path = tmp_path / "my own model"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def test_a_folder_is_called_by_its_name_and_content(folder: Path, tmp_path: Path) -> None:
    found = find_model(str(folder))
    assert found.path == folder
    assert found.name == f"my-own-model-{digest(folder)[:8]}"
    other = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, other)
    assert find_model(str(other)).name == found.name
    (other / "README.md").write_text("no part of the model")
    _files.digest.cache_clear()
    assert find_model(str(other)).name == found.name
    (other / "model.safetensors").write_bytes(b"other weights")
    _files.digest.cache_clear()
    assert find_model(str(other)).name != found.name


def test_a_gguf_file(tmp_path: Path) -> None:
    (tmp_path / "some model.gguf").write_bytes(b"GGUF")
    assert find_model(str(tmp_path / "some model.gguf")).name.startswith("some-model-")


@pytest.mark.parametrize(
    "files",
    [
        None,
        (),
        ("model.safetensors",),
        ("config.json",),
        ("config.json", "pytorch_model.bin"),
        ("config.json", "flax_model.msgpack"),
    ],
)
def test_what_is_no_model(files: tuple[str, ...] | None, tmp_path: Path) -> None:
    path = tmp_path / "model"
    for name in files or ():
        path.mkdir(exist_ok=True)
        (path / name).write_bytes(b"{}")
    if files == ():
        path.mkdir()
    with pytest.raises(ModelError) as caught:
        find_model(str(path))
    assert caught.value.where == str(path)


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"it is a file, but no \.gguf file"):
        find_model(str(tmp_path / "model.bin"))


def test_a_path_is_never_taken_for_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_from_hub", lambda name: pytest.fail(f"{name} would be fetched"))
    monkeypatch.chdir(tmp_path)
    for text in ("./models/mine", "../models", "/models/mine", "~/mine", "models", "models/of/mine", ""):
        with pytest.raises(ModelError):
            find_model(text)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"no config\.json"):  # a folder that is there comes first
        find_model("models/mine")


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_config_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(ModelError, match=r"can't be read|not UTF-8"):
        read_config(tmp_path)


def test_the_toy_has_its_own_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_files, "_toy_file", lambda: tmp_path / "toy.gguf")
    assert find_model(TOY).name == TOY


# -- the hub ----------------------------------------------------------------------------------------


def find(home: Path, *names: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Find models in a process of its own, where nothing is set or imported yet."""
    code = (
        "import sys\n"
        "from bedside.core.errors import BedsideError\n"
        "from bedside.core.model_files import find_model\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        found = find_model(name)\n"
        "        print(found.name, *sorted(path.name for path in found.path.iterdir()))\n"
        "    except BedsideError as error:\n"
        "        print(error)\n"
    )
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "TRANSFORMERS_"))}
    return subprocess.run(
        [sys.executable, "-c", code, *names],
        capture_output=True,
        text=True,
        check=True,
        env={**keep, "HF_HOME": str(home), **environment},
    )


@pytest.mark.server
def test_a_model_of_the_hub_is_fetched_once_and_only_what_it_needs(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    for more in ("pytorch_model.bin", "README.md", "onnx/model.onnx", "own.py", "tokenizer.json"):
        (folder / more).parent.mkdir(exist_ok=True)
        (folder / more).write_bytes(b"{}")
    expected = "config.json model.safetensors tokenizer.json"
    with serving(NAME, folder) as (url, asked):
        first = find(tmp_path / "home", NAME, HF_ENDPOINT=url).stdout
        assert sorted(set(asked)) == expected.split()
        asked.clear()
        second = find(tmp_path / "home", NAME, HF_ENDPOINT=url).stdout
        assert not asked
    again = find(tmp_path / "home", NAME, HF_ENDPOINT="http://127.0.0.1:9").stdout
    assert first == second == again
    name, _, files = first.strip().partition(" ")
    assert name.startswith("Some.Model-")
    assert files == expected


@pytest.mark.server
def test_a_fetch_that_was_stopped_goes_on(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    home = tmp_path / "home"
    with serving(NAME, folder) as (url, _):
        whole = find(home, NAME, HF_ENDPOINT=url).stdout
        (weights,) = home.rglob("model.safetensors")
        weights.unlink()
        assert find(home, NAME, HF_ENDPOINT=url).stdout == whole


@pytest.mark.server
def test_what_cannot_be_fetched_is_one_line(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    with serving(NAME, folder) as (url, asked):
        (line,) = find(tmp_path, NAME, HF_ENDPOINT=url, HF_HUB_OFFLINE="1").stdout.splitlines()
        assert "isn't on this computer, and HF_HUB_OFFLINE forbids" in line
        (line,) = find(tmp_path, "nobody/nothing", HF_ENDPOINT=url).stdout.splitlines()
        assert line.startswith("nobody/nothing: the hub has no such model")
        assert not asked
    (line,) = find(tmp_path, NAME, HF_ENDPOINT="http://127.0.0.1:9").stdout.splitlines()
    assert line.startswith(f"{NAME}: the model can't be fetched")
    assert "check the model's name and the network" in line
