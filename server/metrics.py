"""What the server counts, in Prometheus text format, with the engine's own text after it.

The registry belongs to the app, not to the process: two apps in one process (tests) do not mix, and the
engine may use prometheus-client's default registry without a name clash. Numbers about compiling come from
the front end's compiler, the one that every request passes; numbers about masks (seconds per step, rows per
step) arise in the engine process and arrive through `Engine.metrics()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Outcome = Literal["success", "invalid", "error", "disconnect"]
OUTCOMES: tuple[Outcome, ...] = ("success", "invalid", "error", "disconnect")

_COMPILE_BUCKETS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0)
_REQUEST_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_FIRST_TOKEN_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters of one app. Thread-safe, as prometheus-client's are."""

    def __init__(self, compiler_stats: Callable[[], Mapping[str, Any]]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "strictserve_requests",
            "Generation requests by outcome: success, invalid (4xx), error (5xx), disconnect.",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in OUTCOMES:  # a series that starts at 0 can be alerted on
            self._requests.labels(outcome=outcome)
        self._choices = Counter(
            "strictserve_choices",
            "Finished choices by finish reason.",
            ["finish_reason"],
            registry=self.registry,
        )
        self._prompt_tokens = Counter(
            "strictserve_prompt_tokens",
            "Prompt tokens given to the engine.",
            registry=self.registry,
        )
        self._completion_tokens = Counter("strictserve_completion_tokens", "Tokens generated.", registry=self.registry)
        self._first_token = Histogram(
            "strictserve_time_to_first_token_seconds",
            "From the request's arrival to its first token.",
            buckets=_FIRST_TOKEN_BUCKETS,
            registry=self.registry,
        )
        self._running = Gauge(
            "strictserve_requests_running", "Requests that the engine works on.", registry=self.registry
        )
        self._seconds = Histogram(
            "strictserve_request_seconds",
            "From the arrival of a request that reached the engine to its end, whichever way it ended.",
            buckets=_REQUEST_BUCKETS,
            registry=self.registry,
        )
        self._responses = Counter(
            "strictserve_http_responses",
            "HTTP answers by status, those of every path.",
            ["status"],
            registry=self.registry,
        )
        self.compile_seconds = Histogram(
            "strictserve_compile_seconds",
            "Seconds per compile in the front end, cache hits included.",
            buckets=_COMPILE_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(_CompilerCollector(compiler_stats))

    def request_ended(self, outcome: Outcome) -> None:
        self._requests.labels(outcome=outcome).inc()

    def choice_finished(self, finish_reason: str) -> None:
        self._choices.labels(finish_reason=finish_reason).inc()

    def prompt(self, tokens: int) -> None:
        self._prompt_tokens.inc(tokens)

    def generated(self, tokens: int) -> None:
        self._completion_tokens.inc(tokens)

    def first_token(self, seconds: float) -> None:
        self._first_token.observe(seconds)

    def running(self) -> AbstractContextManager[object]:
        """Counts a request of the engine while it is entered."""
        return self._running.track_inprogress()

    def request_took(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def responded(self, status: int) -> None:
        self._responses.labels(status=str(status)).inc()

    def watch_ready(self, ready: Callable[[], bool]) -> None:
        """`ready` is asked at every scrape, once per app."""
        gauge = Gauge("strictserve_ready", "1 while new requests are welcome, as /ready says.", registry=self.registry)
        gauge.set_function(lambda: float(ready()))

    def describe(self, **labels: str) -> None:
        """Texts that do not change, once per app."""
        names = sorted(labels)
        info = Gauge("strictserve_info", "1; the labels say what runs.", names, registry=self.registry)
        info.labels(**labels).set(1)

    def exposition(self, engine_text: bytes) -> bytes:
        """Everything for one scrape: ours, then the engine's text as it came."""
        ours: bytes = generate_latest(self.registry)
        if engine_text and not engine_text.endswith(b"\n"):
            engine_text += b"\n"
        return ours + engine_text


class _CompilerCollector(Collector):
    """Reads `Compiler.stats()` at scrape time."""

    def __init__(self, stats: Callable[[], Mapping[str, Any]]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        stats = self._stats()
        hits = CounterMetricFamily("strictserve_cache_hits", "Cache hits of the compiler by level.", labels=["level"])
        misses = CounterMetricFamily(
            "strictserve_cache_misses", "Cache misses of the compiler by level.", labels=["level"]
        )
        for level, counts in stats["levels"].items():
            hits.add_metric([level], counts["hits"])
            misses.add_metric([level], counts["misses"])
        yield hits
        yield misses
        yield GaugeMetricFamily(
            "strictserve_grammars_alive",
            "Compiled grammars held.",
            value=stats["grammars"],
        )
        yield GaugeMetricFamily("strictserve_cache_bytes", "Bytes held by the compiler.", value=stats["bytes"])
        yield CounterMetricFamily(
            "strictserve_cache_evictions",
            "Cache entries dropped.",
            value=stats["evictions"],
        )
