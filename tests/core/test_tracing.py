"""Spans of scoring and judging, as OpenTelemetry's own exporters and a collector on loopback take them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core import trace_spans
from bedside.core.errors import InputError
from bedside.core.tracing import traced
from tests.conftest import Call, works
from tests.judges.llm.server import JudgeServer

trace_sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra telemetry is not installed")
pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.http.trace_exporter", reason="the extra telemetry is not installed"
)
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
SCORED = ("score", EXAMPLE, "--metrics", "turns", "--out", "run")
#: Attributes that a span may have, and no other.
KNOWN = {
    "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.request.temperature",
    "gen_ai.request.max_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "error.type",
    "bedside.suite", "bedside.metrics", "bedside.transcripts", "bedside.turns", "bedside.ratings", "bedside.missing",
    "bedside.skipped", "bedside.requests", "bedside.complete", "bedside.rubric", "bedside.rubric_version",
    "bedside.pass", "bedside.state", "bedside.cost_usd",
}  # fmt: skip


class Collector:
    """Takes OTLP over HTTP; a context manager."""

    def __init__(self, status: int = 200) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.paths.append(self.path)
                collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def spans(self) -> list[tuple[str, dict[str, Any]]]:
        """Each span's name with its attributes, as the protocol's own messages read them."""
        import gzip

        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        spans = []
        for body in self.bodies:
            data = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                assert {item.key for item in resource.resource.attributes} == {"service.name", "service.version"}
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        values = {
                            item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes
                        }
                        spans.append((span.name, values))
                        assert not span.events
        return spans


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that switch other programs' traces on, and name who runs them."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=somewhere,user=anna")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")


def test_nothing_is_traced_unless_it_is_asked_for(
    call: Call, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        assert call(*SCORED)[0] == 0
        assert not collector.bodies


def test_a_collector_takes_what_was_scored(call: Call, environment: None) -> None:
    with Collector() as collector:
        works(call, *SCORED, "--trace", collector.address)
        assert set(collector.paths) == {"/v1/traces"}
        ((name, values),) = collector.spans()
    assert name == "bedside score"
    assert (values["bedside.transcripts"], values["bedside.turns"]) == (12, 264)
    assert values["bedside.ratings"] == len(bedside.read_run("run").ratings)


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, None])
def test_a_collector_that_is_away_stops_nothing(call: Call, status: int | None) -> None:
    with Collector(status or 200) as collector:
        address = collector.address
        if status is not None:
            code, _, err = call(*SCORED, "--trace", address)
    if status is None:
        code, _, err = call(*SCORED, "--trace", address)
    assert code == 0
    assert "The collector did not take 1 span. What was scored is complete." in err
    assert "Traceback" not in err
    assert len(bedside.read_run("run").index) == 12


@pytest.mark.parametrize("away", [False, True])
def test_what_was_dropped_on_its_way_is_lost_too(away: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library lets only so many spans wait, and drops the others without a word."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    with Collector(400 if away else 200) as collector, traced(collector.address) as report:
        for _ in range(500):
            with trace_spans.span("work"):
                pass
    assert (report.ended, report.sent + report.lost) == (500, 500)
    assert len(collector.spans()) == report.sent if not away else report.sent == 0
    assert report.lost > 0


def test_variables_that_cannot_be_read_are_one_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many")
    code, out, err = call(*SCORED, "--trace", "http://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert err.startswith("bedside: --trace: OpenTelemetry can't begin (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT must be")
    assert err.count("\n") == 1


@pytest.mark.parametrize("address", ["localhost:4318", "file:///tmp/traces", "http://", "http://x:port"])
def test_what_is_no_address_is_refused(call: Call, tmp_path: Path, address: str) -> None:
    code, out, err = call(*SCORED, "--trace", address)
    assert (code, out) == (2, "")
    assert err == "bedside: --trace: it is no address of a collector; write http://host:4318, for example\n"
    assert not (tmp_path / "run").exists()


def test_one_of_two_ways_must_be_named() -> None:
    for named in ({}, {"address": "http://127.0.0.1:1", "provider": trace_sdk.TracerProvider()}):
        with pytest.raises(InputError, match="one of them"), traced(**named):
            pass


@pytest.mark.server
def test_judgements_are_spans_without_a_word_of_what_was_said(tmp_path: Path) -> None:
    """In OpenTelemetry's own exporter: the spans' tree, their attributes, and no text, id or key in any of them."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = trace_sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    run = bedside.score(EXAMPLE, tmp_path / "run", metrics=["turns"]).run
    with JudgeServer() as server, traced(provider=provider):
        bedside.judge(run, [server.judge], rubrics=["empathy"])
        asked = len(server.received)
        replies = run.path
    spans = exporter.get_finished_spans()
    provider.shutdown()
    (whole,) = [span for span in spans if span.name == "bedside judge"]
    calls = [span for span in spans if span.name == "chat tiny"]
    assert len(calls) == asked == 12
    assert len(spans) == 13
    assert {span.parent and span.parent.span_id for span in calls} == {whole.context.span_id}
    expected = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny", "bedside.rubric": "empathy",
        "bedside.state": "answered", "gen_ai.request.temperature": 0,
    }  # fmt: skip
    for span in calls:
        assert dict(span.attributes or {}).items() >= expected.items()
    judgements = bedside.read_run(replies).ratings
    rated = judgements.filter(judgements["metric"] == "empathy").height
    assert (whole.attributes or {})["bedside.ratings"] == rated
    said = {turn.text for talk in bedside.read_transcripts(EXAMPLE) for turn in talk.turns}
    ids = {talk.id for talk in bedside.read_transcripts(EXAMPLE)}
    for span in spans:
        attributes = span.attributes or {}
        assert attributes.keys() <= KNOWN
        assert not span.events
        values = {str(value) for value in attributes.values()}
        assert not values & (said | ids)
        assert "because of turn" not in " ".join(values)
