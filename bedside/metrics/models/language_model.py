"""Loading causal language models: from a folder of transformers' format, or from a GGUF file."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from bedside.core.errors import ModelError
from bedside.core.files import cache_folder, saying_where, sync
from bedside.core.model_files import digest, error_text, library, quiet

_EXTRA = "local"
_LOG = logging.getLogger(__name__)
_reading = Lock()


def load_language_model(path: Path) -> tuple[Any, Any]:
    """A model in 32 bits on the CPU, ready to be asked, and its tokenizer.

    A GGUF file is converted at its first use, which takes a quarter of a minute, and read from the user's cache
    afterwards (:func:`bedside.core.files.cache_folder`), which takes half a second.

    Args:
        path: as :func:`bedside.core.model_files.find_model` gives it.

    Raises:
        ModelError: the model can't be loaded.
        MissingExtraError: a library isn't installed.
        RunError: the folder for converted models can't be written.
    """
    return _from_folder(_converted(path) if path.is_file() else path)


def _from_folder(folder: Path, file: str | None = None) -> tuple[Any, Any]:
    """A model and its tokenizer; with ``file``, from that GGUF file in the folder."""
    torch, transformers = library("torch", _EXTRA), library("transformers", _EXTRA)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if file is not None:
        library("accelerate", _EXTRA)
        options["gguf_file"] = file
    else:
        options["use_safetensors"] = True  # other weights are pickles
    reading = nullcontext() if file is None else _asked_once(library("gguf", _EXTRA))
    try:
        with quiet(), reading:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options)
    except Exception as error:  # whatever a model's own code raises
        raise ModelError(
            f"the model can't be loaded ({error_text(error)})", where=str(folder / (file or ""))
        ) from error
    return model.eval(), tokenizer


@contextmanager
def _asked_once(gguf: Any) -> Iterator[None]:
    """Remembers what transformers asks of gguf: else the file is parsed four times."""
    with _reading:
        functions = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        try:
            for name, function in functions.items():
                setattr(gguf, name, cache(function))
            yield
        finally:
            for name, function in functions.items():
                setattr(gguf, name, function)


def _converted(file: Path) -> Path:
    """The folder with a GGUF file's model in transformers' format; made if it isn't there."""
    target = cache_folder("models") / f"{file.stem}-{digest(file)[:12]}"
    if target.is_dir():
        return target
    _LOG.warning("Converting %s once: about a quarter of a minute. It is kept in %s.", file.name, target.parent)
    model, tokenizer = _from_folder(file.parent, file.name)
    # What is written is no longer quantized, and is refused where it says that it is.
    model.hf_quantizer = None
    del model.config.quantization_config
    with saying_where(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent, ignore_cleanup_errors=True) as new:
            folder = Path(new) / target.name
            with quiet():
                tokenizer.save_pretrained(folder)
                model.save_pretrained(folder)
            for part in folder.iterdir():
                sync(part)
            try:
                folder.rename(target)
            except OSError:
                if not target.is_dir():  # unless another process was first
                    raise
            sync(target.parent)
    return target
