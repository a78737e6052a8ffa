"""Processes that begin at once: forked by a server that has everything imported."""

from __future__ import annotations

import multiprocessing

#: Processes are made with it.
CONTEXT = multiprocessing.get_context("forkserver")
_preloaded: list[str] = []


def preload(*modules: str) -> None:
    """Have the server import these when it begins. Nothing of it may start a thread that is needed: a fork loses it."""
    _preloaded.extend(module for module in modules if module not in _preloaded)
    CONTEXT.set_forkserver_preload(_preloaded)
