"""What the researcher's page shows while raters rate: the tables of ``annotate status``, and what goes wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import FOLDER
from bedside.annotation.rating_page.page_collection import uncollected
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.core.errors import BedsideError
from bedside.ratings.run import Run
from bedside.ratings.run_folder import MANIFEST
from bedside.reports.renderers.html import html
from bedside.reports.table import Table

#: How many of the server's last lines are shown.
_MOST_LINES = 5


class StudyPage:
    """What the page of a plan shows, to be called in any thread.

    Args:
        run: the plan's run.
        folder: the page's.
        plan: gives the plan as it is assigned now.
        tables: gives the tables of the run as it is now.
    """

    def __init__(
        self, run: Run, folder: PageFolder, plan: Callable[[], AnnotationPlan], tables: Callable[[], Iterable[Table]]
    ) -> None:
        self._run, self._folder, self._plan, self._tables = run, folder, plan, tables
        self._lines: deque[dict[str, str]] = deque(maxlen=_MOST_LINES)
        self._computed: list[dict[str, Any]] = []
        self._stamp: object = None

    def keep_line(self, line: str) -> None:
        """Show a line that the server said."""
        self._lines.append({"time": _now(), "text": line})

    def __call__(self) -> dict[str, Any]:
        """``time`` when this was so, ``tables`` with ``name``, ``title``, ``html`` and ``rows`` (the records), how many
        answers are ``waiting`` to go into the run, ``since`` when the first of them, and the server's ``lines``. Where
        the run can't be read, ``error`` says why."""
        shown: dict[str, Any] = {"time": _now(), "lines": list(self._lines.copy()), "error": None}
        try:
            waiting = uncollected(self._folder, self._run, self._plan())
            stamp = self._changed()
            if stamp != self._stamp:
                self._computed = [
                    {"name": table.name, "title": table.title, "html": html(table), "rows": list(table.records)}
                    for table in self._tables()
                ]
                self._stamp = stamp
        except BedsideError as error:
            return {**shown, "error": str(error), "tables": [], "waiting": 0, "since": None}
        since = min((answer.updated for answer in waiting), default=None)
        return {**shown, "tables": self._computed, "waiting": len(waiting), "since": since}

    def _changed(self) -> object:
        """What is another once anything that the tables are made of has changed."""
        annotations = Path(self._run.path) / FOLDER
        files = [
            *annotations.glob("*/*"),
            *Path(self._run.path).glob("*.json"),
            *Path(self._run.path).glob("*.parquet"),
        ]
        states = ((str(file), file.stat()) for file in sorted(files))
        return [(name, state.st_mtime_ns, state.st_size) for name, state in states]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
