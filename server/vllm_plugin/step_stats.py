"""Numbers from the engine process to the front end, through a small memory-mapped file.

The engine process (one writer per file) observes mask fills and compiles; the front end reads all files of a
directory when it is scraped. The directory is private to one server and named by the environment variable
`STRICTSERVE_STATS_DIR`, which child processes inherit; without it nothing is written.

Layout, little endian: magic (8 bytes), sequence (uint64), then one float64 per entry of `FIELDS`. The
sequence is odd while a write is going on, so that a reader takes a consistent copy or tries again. A write
costs microseconds and makes no system call.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIRECTORY_VARIABLE = "STRICTSERVE_STATS_DIR"

_MAGIC = b"STESTAT1"
_HEADER = struct.Struct("<8sQ")


@dataclass(frozen=True)
class Histogram:
    """Upper bounds of the buckets, ascending; one more bucket catches the rest."""

    name: str
    help: str
    bounds: tuple[float, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Field names: one per bucket (not cumulative), then the sum."""
        buckets = tuple(f"{self.name}/{i}" for i in range(len(self.bounds) + 1))
        return (*buckets, f"{self.name}/sum")


FILL_SECONDS = Histogram(
    "strictserve_mask_fill_seconds",
    "Seconds per step to fill the mask rows of all its requests.",
    (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3),
)
ROWS = Histogram(
    "strictserve_mask_rows",
    "Mask rows per step, draft positions included.",
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
)
COMPILE_SECONDS = Histogram(
    "strictserve_engine_compile_seconds",
    "Seconds per grammar compile in the engine process, cache hits included.",
    (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0),
)
HISTOGRAMS = (FILL_SECONDS, ROWS, COMPILE_SECONDS)

LEVELS = ("grammar", "text", "rule", "row", "local")
"""Cache levels, as `Compiler.stats()` names them."""
TOTALS = ("grammars", "bytes", "evictions")

FIELDS: tuple[str, ...] = (
    *(field for histogram in HISTOGRAMS for field in histogram.fields),
    *(f"{level}/{kind}" for level in LEVELS for kind in ("hits", "misses")),
    *TOTALS,
)
_INDEX = {name: i for i, name in enumerate(FIELDS)}
_SIZE = _HEADER.size + 8 * len(FIELDS)


class StatsWriter:
    """The engine process's side. Thread-safe (compiles observe from their own threads)."""

    def __init__(self, path: Path) -> None:
        """Create `path`; numbers start at 0. Raises OSError."""
        with path.open("w+b") as file:
            file.write(_HEADER.pack(_MAGIC, 0) + bytes(8 * len(FIELDS)))
            file.flush()
            self._map = mmap.mmap(file.fileno(), _SIZE)
        self._sequence = memoryview(self._map)[8:16].cast("Q")
        self._values = memoryview(self._map)[_HEADER.size :].cast("d")
        self._lock = threading.Lock()

    def observe(self, *observations: tuple[Histogram, float]) -> None:
        """Add one observation to each histogram, as one write."""
        with self._lock:
            self._sequence[0] += 1
            for histogram, value in observations:
                first = _INDEX[f"{histogram.name}/0"]
                self._values[first + bisect_left(histogram.bounds, value)] += 1
                self._values[first + len(histogram.bounds) + 1] += value
            self._sequence[0] += 1

    def set_compiler(self, stats: Mapping[str, Any]) -> None:
        """Replace the compiler's numbers by those of `Compiler.stats()`."""
        with self._lock:
            self._sequence[0] += 1
            for level in LEVELS:
                counts = stats["levels"][level]
                self._values[_INDEX[f"{level}/hits"]] = counts["hits"]
                self._values[_INDEX[f"{level}/misses"]] = counts["misses"]
            for name in TOTALS:
                self._values[_INDEX[name]] = stats[name]
            self._sequence[0] += 1

    def close(self) -> None:
        """Release the file; idempotent."""
        self._sequence.release()
        self._values.release()
        self._map.close()


def open_writer(engine_index: int) -> StatsWriter | None:
    """A writer for this engine process, or None where the front end asked for none."""
    directory = os.environ.get(DIRECTORY_VARIABLE)
    return StatsWriter(Path(directory) / f"{engine_index}.stats") if directory else None


def read(path: Path) -> dict[str, float] | None:
    """Field -> value of one engine process; None while its file is incomplete.

    Raises:
        ValueError: the file is none of ours.
    """
    for _ in range(100):
        data = path.read_bytes()
        if len(data) < _SIZE:
            return None
        magic, sequence = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError(f"{path} is not a statistics file")
        again = path.read_bytes()
        if sequence % 2 == 0 and data == again:
            return dict(zip(FIELDS, struct.unpack_from(f"<{len(FIELDS)}d", data, _HEADER.size), strict=True))
        time.sleep(0.0002)
    return None


def read_directory(directory: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """(engine index, fields) of every engine process that has written, in order of the index."""
    for path in sorted(directory.glob("*.stats"), key=lambda path: (len(path.stem), path.stem)):
        fields = read(path)
        if fields is not None:
            yield path.stem, fields
