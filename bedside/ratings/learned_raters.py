"""Learned raters of a run: algorithms that people's ratings made, which any judge should beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The manifest's key.
LEARNED_RATERS = "learned_raters"


def learned_raters(manifest: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The learned raters that have rated a run, by name in the ratings table, with what their files say of them."""
    raters: Mapping[str, Mapping[str, Any]] = manifest.get(LEARNED_RATERS) or {}
    return raters
