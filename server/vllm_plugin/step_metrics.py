"""The engine processes' numbers as Prometheus metrics, for the front end's `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from server.vllm_plugin.step_stats import HISTOGRAMS, LEVELS, Histogram, read_directory

_LABEL = ["engine"]


class _StepCollector(Collector):
    """Reads the files of one directory at scrape time; one label value per engine process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterator[Metric]:
        engines = list(read_directory(self._directory))
        for histogram in HISTOGRAMS:
            family = HistogramMetricFamily(histogram.name, histogram.help, labels=_LABEL)
            for engine, fields in engines:
                buckets, total = _cumulative(histogram, fields)
                family.add_metric([engine], buckets, sum_value=total)
            yield family
        for kind in ("hits", "misses"):
            counter = CounterMetricFamily(
                f"strictserve_engine_cache_{kind}",
                f"Cache {kind} of the engine process's compiler by level.",
                labels=[*_LABEL, "level"],
            )
            for engine, fields in engines:
                for level in LEVELS:
                    counter.add_metric([engine, level], fields[f"{level}/{kind}"])
            yield counter
        for name, field, text in (
            ("strictserve_engine_grammars_alive", "grammars", "Compiled grammars held by the engine process."),
            ("strictserve_engine_cache_bytes", "bytes", "Bytes held by the engine process's compiler."),
        ):
            gauge = GaugeMetricFamily(name, text, labels=_LABEL)
            for engine, fields in engines:
                gauge.add_metric([engine], fields[field])
            yield gauge
        evictions = CounterMetricFamily(
            "strictserve_engine_cache_evictions", "Cache entries dropped by the engine process.", labels=_LABEL
        )
        for engine, fields in engines:
            evictions.add_metric([engine], fields["evictions"])
        yield evictions


def _cumulative(histogram: Histogram, fields: dict[str, float]) -> tuple[list[tuple[str, float]], float]:
    """((upper bound, count up to it) ..., sum) as Prometheus wants them."""
    *counts, total = (fields[name] for name in histogram.fields)
    running = 0.0
    buckets = []
    for bound, count in zip((*(str(float(b)) for b in histogram.bounds), "+Inf"), counts, strict=True):
        running += count
        buckets.append((bound, running))
    return buckets, total


def exposition(directory: Path) -> bytes:
    """All engine processes' metrics in Prometheus text format."""
    registry = CollectorRegistry()
    registry.register(_StepCollector(directory))
    text: bytes = generate_latest(registry)
    return text
