"""``--trace``: spans of what a command does, for an OpenTelemetry collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from bedside.cli.options import OUTPUT
from bedside.cli.output import note
from bedside.core.plurals import counted

TraceOption = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="URL",
        help="Collector that spans of scoring and of judgements are sent to, by OTLP over HTTP. They hold names of "
        "models and rubrics, counts, tokens and costs, and no text.",
        rich_help_panel=OUTPUT,
    ),
]


@contextmanager
def trace_to(address: str | None) -> Iterator[None]:
    """Trace what is done in the block, where an address is given; a collector that is away stops nothing."""
    if address is None:
        yield
        return
    from bedside.core.tracing import traced

    with traced(address) as report:
        yield
    if report.lost:
        note(f"The collector did not take {counted(report.lost, 'span')}. What was scored is complete.")
