"""Whether a library is installed, asked without importing it: some take seconds, in every process that collects."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need(library: str) -> None:
    """Skip the module that asks, or the test, where a library isn't installed."""
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed", allow_module_level=True)
