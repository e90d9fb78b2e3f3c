"""Spans, received as a collector receives them."""

from __future__ import annotations

import builtins
import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from server.engines.scripted import Script
from server.settings import SettingsError, TracingSettings
from server.tracing import Tracer
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """Its endpoint and the spans that it has got."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                attributes = plain(resource.resource.attributes)
                spans.extend((attributes, span) for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    server.server_close()


def plain(attributes: Any) -> dict[str, Any]:
    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        return [value(item) for item in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {attribute.key: value(attribute.value) for attribute in attributes}


async def test_request_becomes_a_span_of_the_clients_trace() -> None:
    with collector() as (endpoint, spans):
        tables = {"tracing": {"endpoint": endpoint, "service_name": "ours"}}
        async with running(Script(text="abc"), tables=tables) as server:
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "mine"}
            answer = await server.http.post("/v1/chat/completions", json=body(stream=True), headers=headers)
            await server.http.get("/health")

    ((resource, span),) = spans
    assert resource["service.name"] == "ours"
    assert span.name == "POST /v1/chat/completions"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = plain(span.attributes)
    assert attributes["http.response.status_code"] == 200
    assert attributes["strictserve.request_id"] == "mine"
    assert attributes["gen_ai.response.id"] in answer.text
    assert attributes["gen_ai.usage.output_tokens"] == 4
    assert attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert attributes["strictserve.constrained"] is False
    planned, first = span.events
    assert (planned.name, first.name) == ("planned", "first token")
    assert span.start_time_unix_nano < planned.time_unix_nano <= first.time_unix_nano <= span.end_time_unix_nano


async def test_failures_are_errors_and_refusals_are_not() -> None:
    with collector() as (endpoint, spans):
        async with running(Script(text="abc", fail_after=2), tables={"tracing": {"endpoint": endpoint}}) as server:
            await server.chat(**body(n=0))
            await server.chat(**body())
            await server.chat(**body(stream=True))

    seen = [(span.status.code, plain(span.attributes)["error.type"]) for _, span in spans]
    assert seen == [(0, "invalid_value"), (2, "internal_error"), (2, "internal_error")]


@pytest.mark.parametrize("endpoint", ["localhost:4317", "grpc://x"])
def test_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(SettingsError, match=r"tracing\.endpoint"):
        Tracer(TracingSettings(endpoint=endpoint))


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("opentelemetry.exporter"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"is not installed: pip install 'strictserve\[tracing\]'"):
        Tracer(TracingSettings(endpoint="http://localhost:4318"))
