"""The hidden states of simulated conversations, beside the numbers that rest on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import orjson

from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import RunError
from bedside.ratings.run import run_simulations
from bedside.reports.number_text import DASH, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.transcripts.simulation_folder import STATES

#: States shown; all are in the JSON.
SHOWN = 60
#: Longest text of a state that is shown.
_LONGEST = 160
_PLACE = ("id", "turn", "purpose")


def states_tables(view: RatingsView, transcripts: Collection[str]) -> list[Table]:
    """What the simulation knew at each turn of these transcripts; no table where none was simulated.

    Raises:
        RunError: what the run keeps of its simulations, or a simulation's file of states, is damaged.
    """
    if view.run is None:
        return []
    tables = []
    for simulation in run_simulations(view.run.path):
        file = Path(simulation.path) / STATES
        if not file.is_file():
            tables.append(_table([], 0, f"They stood in {file}, which isn't there any more."))
            continue
        states = list(_states(file, frozenset(transcripts)))
        if states:
            more = len(states) - SHOWN
            note = f"{more:,} more are not shown; --json has all. " if more > 0 else ""
            tables.append(
                _table(states, len(states), f"{note}From {file}; no rater saw them. Turns count from 0.")
            )
    return tables


def _states(file: Path, transcripts: Collection[str]) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for place, line in enumerate(lines, start=1):
            try:
                state = orjson.loads(line)
                wanted = state["id"] in transcripts
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                raise RunError(
                    "the hidden states of the simulation can't be read",
                    where=f"{file}:{place}",
                    todo="bedside simulate with the same options writes them again",
                ) from error
            if wanted:
                yield state


def _table(states: list[dict[str, Any]], count: int, note: str) -> Table:
    return Table(
        name="states",
        title=f"The {count:,} hidden states behind it" if count else "The hidden states behind it",
        columns=(Column("Turn"), Column("Purpose", "left"), Column("State", "left")),
        rows=tuple(
            Row(
                (
                    Cell(str(state.get("turn", DASH))),
                    Cell(str(state.get("purpose", DASH))),
                    Cell(_words(state)),
                ),
                str(state["id"]),
            )
            for state in states[:SHOWN]
        ),
        notes=(note,),
        records=tuple(states),
    )


def _words(state: dict[str, Any]) -> str:
    """What a state holds, as names and values in one line."""
    parts = (f"{name} {_value(value)}" for name, value in state.items() if name not in _PLACE)
    text = ", ".join(parts)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return number(value, 3)
    if isinstance(value, dict):
        return "; ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_value, value)) or DASH
    return DASH if value is None else str(value)
