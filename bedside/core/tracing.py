"""Where spans go: to an OpenTelemetry collector that the caller names, or to a provider of the caller's own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bedside.core.errors import InputError, from_extra
from bedside.core.trace_spans import TRACER

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import TracerProvider

#: What the address of a collector is followed by, unless it names a path itself.
_PATH = "/v1/traces"
#: Seconds that a collector has to take spans.
_SECONDS = 10


@contextmanager
def traced(address: str | None = None, *, provider: TracerProvider | None = None) -> Iterator[TraceReport]:
    """Trace what is done in the block.

    Nothing else switches tracing on: neither the variables ``OTEL_…`` nor a provider that another library has set.
    Workers of an engine in other processes or on other machines trace nothing.

    Args:
        address: a collector that takes OTLP over HTTP, such as ``http://127.0.0.1:4318``. The variable
            ``OTEL_EXPORTER_OTLP_HEADERS`` holds the headers that it asks for, such as a key.
        provider: OpenTelemetry's provider to use in its place; the caller ends it.

    Raises:
        InputError: neither or both are given, the address is none, or a variable ``OTEL_…`` holds what it can't
            read.
        MissingExtraError: OpenTelemetry isn't installed.
    """
    if (address is None) == (provider is None):
        raise InputError("name a collector's address or a provider, one of them", where="`address`")
    report = TraceReport()
    own: Any = None
    # What the exporter would write of a collector that is away: it may quote the address, and a key in it.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    if address is not None:
        own = provider = _provider(_checked(address), report)
    from bedside import __version__

    assert provider is not None
    token = TRACER.set(provider.get_tracer("bedside", __version__))
    try:
        yield report
    finally:
        TRACER.reset(token)
        if own is not None:
            own.shutdown()
            report.lost = report.ended - report.sent


class TraceReport:
    """How many spans a collector took, and how many it didn't; known when the block has ended.

    Attributes:
        ended: how many there were.
        sent: how many it took.
        lost: how many it didn't, those among them that were dropped because too many waited.
    """

    def __init__(self) -> None:
        self.ended = 0
        self.sent = 0
        self.lost = 0


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        # What was typed isn't repeated: it may hold a key.
        raise InputError("it is no address of a collector", where="`trace`", todo="write http://host:4318, for example")
    return address if parts.path.strip("/") else address.rstrip("/") + _PATH


def _provider(endpoint: str, report: TraceReport) -> Any:
    with from_extra("telemetry", "traces need OpenTelemetry", where="`trace`"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    lock = threading.Lock()

    class CountingProcessor(BatchSpanProcessor):
        """Counts all spans: what waits is limited, and the library drops the rest without a word."""

        def on_end(self, span: ReadableSpan) -> None:
            with lock:
                report.ended += 1
            super().on_end(span)

    class CountingExporter(SpanExporter):
        """Counts what the collector took; a collector that is away stops nothing."""

        def __init__(self) -> None:
            self._exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_SECONDS)

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = self._exporter.export(spans)
            if result is SpanExportResult.SUCCESS:
                report.sent += len(spans)
            return result

        def shutdown(self) -> None:
            self._exporter.shutdown()  # type: ignore[no-untyped-call]

    from bedside import __version__

    # Neither the machine's name nor what its environment says of it.
    resource = Resource({"service.name": "bedside", "service.version": __version__})
    try:
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(CountingProcessor(CountingExporter()))
    except ValueError as error:
        raise InputError(
            f"OpenTelemetry can't begin ({error})", where="`trace`", todo="look at the variables OTEL_…"
        ) from error
    return provider
