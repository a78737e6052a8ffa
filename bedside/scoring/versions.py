"""The versions that a manifest names: bedside's, Python's, and those of libraries that can change a number."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import bedside

#: Libraries whose version can change a number.
_LIBRARIES = (
    "numpy", "polars", "orjson", "pyphen", "scipy", "scikit-learn", "statsmodels", "torch", "transformers",
    "onnxruntime", "convokit", "spacy", "textstat", "vaderSentiment",
)  # fmt: skip


def run_versions() -> dict[str, Any]:
    """Date, bedside's and the libraries' versions, for a manifest."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bedside": bedside.__version__,
        "python": platform.python_version(),
        "platform": platform.system(),
        "libraries": library_versions(),
    }


@cache
def library_versions() -> dict[str, str]:
    """Versions of the libraries that can change a number and are installed, by name."""
    libraries = {}
    for name in _LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:  # an optional library
            continue
    return libraries
