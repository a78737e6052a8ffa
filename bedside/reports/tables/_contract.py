"""What a kind of table states about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bedside.evaluation import Evaluation
from bedside.registry import Registry
from bedside.reports.table import Table


@dataclass(frozen=True, slots=True)
class TableKind:
    """One kind of table.

    Attributes:
        name: equal to the file's name.
        title: what it shows, in a few words.
        order: position in a report.
        build: the table of an evaluation with its figures drawn from a seed; None where the evaluation has nothing
            for it.
    """

    name: str
    title: str
    order: int
    build: Callable[[Evaluation, int], Table | None]


TABLES: Registry[TableKind] = Registry(
    "bedside.reports.tables", "TABLE", "table", TableKind, group="bedside.tables"
)
