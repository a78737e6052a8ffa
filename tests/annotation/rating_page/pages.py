"""A rating page without its network, and what a browser would send to it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_entries import SentEntry, read_entry
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.rating_page.page_state import PageState
from bedside.ratings.run import Run

_numbers = itertools.count()


def written(plan: AnnotationPlan, path: Path) -> AnnotationPlan:
    """The plan as it is read from its file."""
    from bedside.annotation.plan_file import read_plan

    write_plan(plan, path)
    return read_plan(path)


def opened(plan: AnnotationPlan, run: Run) -> tuple[PageState, PageFolder]:
    folder = page_folder(run, plan)
    folder.make()
    return PageState(plan, run, folder), folder


def sent(
    state: str = "submitted",
    *,
    version: int = 0,
    choices: dict[str, Any] | None = None,
    texts: dict[str, Any] | None = None,
    mark: str | None = None,
    seconds: float = 12.0,
) -> SentEntry:
    """What a browser sends; a single choice or text may stand alone."""
    body = {
        "state": state,
        "version": version,
        "mark": mark or f"attempt-{next(_numbers):08d}",
        "seconds": seconds,
        "choices": {name: _listed(value) for name, value in (choices or {}).items()},
        "texts": {name: _listed(value) for name, value in (texts or {}).items()},
    }
    return read_entry(json.dumps(body).encode())


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
