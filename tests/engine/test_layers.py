"""The C files include only what their layer may see."""

from __future__ import annotations

import pathlib
import re

_SOURCES = pathlib.Path(__file__).resolve().parents[2] / "engine_native" / "src"


def _layers() -> dict[str, int]:
    layers = {}
    for line in (_SOURCES / "LAYERS").read_text().splitlines():
        if line and not line.startswith("#"):
            number, *names = line.split()
            layers.update(dict.fromkeys(names, int(number)))
    return layers


def test_every_c_file_has_a_layer() -> None:
    assert {path.stem for path in _SOURCES.glob("*.[ch]")} == set(_layers())


def test_includes_go_to_the_same_layer_or_a_lower_one() -> None:
    layers = _layers()
    upward = [
        (path.name, included)
        for path in _SOURCES.glob("*.[ch]")
        for included in re.findall(r'#include "(\w+)\.h"', path.read_text())
        if included != "ste" and layers[included] > layers[path.stem]
    ]

    assert upward == []
