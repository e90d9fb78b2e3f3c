"""OpenTelemetry traces: one server span per request, with the names of the semantic conventions.

The packages are an extra (`pip install strictserve[tracing]`) and are imported only when an endpoint is set. Spans
carry numbers and names, never text of prompts or answers. A `traceparent` header makes the span part of the client's
trace (W3C Trace Context).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from server import __version__
from server.record import Record
from server.settings import SettingsError, TracingSettings


class Tracer:
    """Makes spans and sends them in the background. Thread-safe, as the SDK is."""

    def __init__(self, settings: TracingSettings) -> None:
        """Raises SettingsError when the packages are missing or the endpoint is no URL."""
        endpoint = settings.endpoint or ""
        if not endpoint.startswith(("http://", "https://")):
            raise SettingsError(f"tracing.endpoint: {endpoint!r} is no http:// or https:// URL")
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import SpanKind, Status, StatusCode
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise SettingsError(
                f"tracing.endpoint is set, but {error.name or 'OpenTelemetry'} is not installed: "
                "pip install 'strictserve[tracing]'"
            ) from error
        resource = Resource.create({"service.name": settings.service_name, "service.version": __version__})
        self._provider = TracerProvider(resource=resource)
        path = "" if endpoint.rstrip("/").endswith("/v1/traces") else "/v1/traces"
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + path)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("strictserve", __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._server = SpanKind.SERVER
        self._failed = Status(StatusCode.ERROR)

    @contextmanager
    def request(self, method: str, path: str, headers: Mapping[str, str], record: Record) -> Iterator[None]:
        """A span around one request; what its record holds at the end becomes attributes and events."""
        began = time.time_ns()
        span = self._tracer.start_span(
            f"{method} {path}",
            context=self._propagator.extract(dict(headers)),
            kind=self._server,
            start_time=began,
            attributes={"http.request.method": method, "url.path": path, "strictserve.request_id": record.request_id},
        )
        try:
            yield
        finally:
            span.set_attributes(_attributes(record))
            for name, seconds in (("planned", record.planned_seconds), ("first token", record.first_token_seconds)):
                if seconds is not None:
                    span.add_event(name, timestamp=began + int(seconds * 1e9))
            if record.status is None or record.status >= 500 or (record.status < 400 and record.error is not None):
                span.set_status(self._failed)
            span.end()

    def close(self) -> None:
        """Send what is left; waits some seconds at most."""
        self._provider.force_flush(3000)
        self._provider.shutdown()


def _attributes(record: Record) -> dict[str, Any]:
    """The record as attributes: OpenTelemetry's names where it has some."""
    named = {
        "http.response.status_code": record.status,
        "gen_ai.request.model": record.model,
        "gen_ai.response.id": record.response_id,
        "gen_ai.usage.input_tokens": record.prompt_tokens,
        "gen_ai.usage.output_tokens": record.completion_tokens,
        "gen_ai.response.finish_reasons": record.finish_reason and record.finish_reason.split(","),
        "strictserve.constrained": record.constrained,
        "error.type": record.error,
    }
    return {name: value for name, value in named.items() if value is not None}
