"""The numbers' way from the engine process to /metrics."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.vllm_plugin import step_metrics, step_stats
from server.vllm_plugin.step_stats import COMPILE_SECONDS, FILL_SECONDS, ROWS, StatsWriter


def samples(directory: Path) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(step_metrics.exposition(directory).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_observations_arrive_as_histograms(tmp_path: Path) -> None:
    writer = StatsWriter(tmp_path / "0.stats")
    for rows, seconds in ((1, 0.00002), (3, 0.0002), (600, 9.0)):
        writer.observe((FILL_SECONDS, seconds), (ROWS, rows))
    found = samples(tmp_path)

    def rows_up_to(bound: str) -> float:
        return found["strictserve_mask_rows_bucket", (("engine", "0"), ("le", bound))]

    assert [rows_up_to(bound) for bound in ("1.0", "2.0", "4.0", "512.0", "+Inf")] == [1, 1, 2, 2, 3]
    assert found["strictserve_mask_rows_sum", (("engine", "0"),)] == 604
    assert found["strictserve_mask_fill_seconds_count", (("engine", "0"),)] == 3
    assert found["strictserve_mask_fill_seconds_sum", (("engine", "0"),)] == pytest.approx(9.00022)
    assert found["strictserve_engine_compile_seconds_count", (("engine", "0"),)] == 0


def test_engines_have_a_label_each_and_come_in_order(tmp_path: Path) -> None:
    for index in (10, 2):
        StatsWriter(tmp_path / f"{index}.stats").observe((COMPILE_SECONDS, float(index)))
    assert [engine for engine, _ in step_stats.read_directory(tmp_path)] == ["2", "10"]
    found = samples(tmp_path)
    assert found["strictserve_engine_compile_seconds_sum", (("engine", "10"),)] == 10


def test_compiler_numbers_are_those_of_the_last_call(tmp_path: Path) -> None:
    writer = StatsWriter(tmp_path / "0.stats")
    levels = {level: {"hits": 5, "misses": 1} for level in step_stats.LEVELS}
    stats: dict[str, Any] = {"levels": levels, "grammars": 2, "bytes": 4096, "evictions": 0}
    writer.set_compiler(stats)
    levels["row"]["hits"] = 7
    writer.set_compiler(stats)
    found = samples(tmp_path)
    assert found["strictserve_engine_cache_hits_total", (("engine", "0"), ("level", "row"))] == 7
    assert found["strictserve_engine_cache_misses_total", (("engine", "0"), ("level", "rule"))] == 1
    assert found["strictserve_engine_cache_bytes", (("engine", "0"),)] == 4096


def test_levels_are_those_of_the_compiler() -> None:
    from engine_native import Compiler, Vocabulary

    stats = Compiler(Vocabulary([b"a"])).stats()
    assert set(stats["levels"]) == set(step_stats.LEVELS)
    assert set(step_stats.TOTALS) <= set(stats)


def test_a_reader_never_sees_half_a_write(tmp_path: Path) -> None:
    path = tmp_path / "0.stats"
    writer = StatsWriter(path)
    enough = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not enough.is_set():
            writer.observe((ROWS, 1.0), (FILL_SECONDS, 1.0))
            written += 1
            time.sleep(0)  # let the reader run, whatever the scheduler does

    thread = threading.Thread(target=write)
    thread.start()
    seen = 0
    deadline = time.monotonic() + 10
    while seen < 200 and time.monotonic() < deadline:
        fields = step_stats.read(path)
        if fields is not None:
            seen += 1
            if fields["strictserve_mask_rows/sum"] != fields["strictserve_mask_fill_seconds/sum"]:
                break
    enough.set()
    thread.join()
    assert seen == 200
    assert step_stats.read(path) == {**dict.fromkeys(step_stats.FIELDS, 0.0), **_after(written)}


def _after(count: int) -> dict[str, float]:
    return {
        "strictserve_mask_rows/0": count,
        "strictserve_mask_rows/sum": count,
        f"strictserve_mask_fill_seconds/{len(FILL_SECONDS.bounds)}": count,
        "strictserve_mask_fill_seconds/sum": count,
    }


def test_foreign_and_unfinished_files(tmp_path: Path) -> None:
    (tmp_path / "0.stats").write_bytes(b"")
    assert list(step_stats.read_directory(tmp_path)) == []
    (tmp_path / "0.stats").write_bytes(b"x" * 10_000)
    with pytest.raises(ValueError, match=r"0\.stats is not a statistics file"):
        list(step_stats.read_directory(tmp_path))


def test_no_directory_means_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(step_stats.DIRECTORY_VARIABLE, raising=False)
    assert step_stats.open_writer(0) is None
    monkeypatch.setenv(step_stats.DIRECTORY_VARIABLE, str(tmp_path))
    writer = step_stats.open_writer(3)
    assert writer is not None
    assert (tmp_path / "3.stats").is_file()
    writer.close()
    writer.close()
