"""Spans: what was done, when and for how long. Without a tracer they cost nothing and load nothing.

No span holds what was said, asked or replied, an id of a transcript or a key: only names of models and rubrics,
states, counts, tokens and costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: The tracer of the block that runs; None where nothing is traced.
TRACER: ContextVar[Any] = ContextVar("tracer", default=None)

#: What an attribute of a span can be.
AttributeValue = str | bool | int | float


class TraceSpan:
    """One span, or nothing where nothing is traced.

    Args:
        span: OpenTelemetry's; None for nothing.
    """

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def add(self, **attributes: AttributeValue | None) -> None:
        """Add attributes; in a name, two underscores stand for a point, and None is left out."""
        if self._span is not None:
            for name, value in attributes.items():
                if value is not None:
                    self._span.set_attribute(name.replace("__", "."), value)

    def fail(self, kind: str) -> None:
        """Say that it failed, and how: the kind of error alone, for its words may quote what was said."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR)


@contextmanager
def span(name: str, **attributes: AttributeValue | None) -> Iterator[TraceSpan]:
    """A span that lasts as long as the block; what it does inside is below it.

    Args:
        name: what is done.
        attributes: as :meth:`TraceSpan.add` takes them.
    """
    tracer = TRACER.get()
    if tracer is None:
        yield TraceSpan()
        return
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as current:
        traced = TraceSpan(current)
        traced.add(**attributes)
        try:
            yield traced
        except BaseException as error:
            traced.fail(type(error).__name__)
            raise
