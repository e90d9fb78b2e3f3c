"""Byte ranges of code points, counted and compared with Python's own encoder."""

from __future__ import annotations

import random

import pytest

from tests.oracle.utf8 import after_byte, complement, encoded_ranges

_BORDERS = (0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)


@pytest.mark.parametrize("seed", range(60))
def test_encoded_ranges_for_random_range_hold_each_code_point_once(seed: int) -> None:
    rng = random.Random(seed)
    low = rng.choice((*_BORDERS, rng.randrange(0x110000), rng.randrange(0x3000)))
    high = min(0x10FFFF, low + rng.choice((0, 1, rng.randrange(200), rng.randrange(9000))))

    products = encoded_ranges(low, high)

    for point in range(low, high + 1):
        if not 0xD800 <= point <= 0xDFFF:
            code = chr(point).encode()
            inside = [
                product
                for product in products
                if len(product) == len(code) and all(a <= byte <= b for byte, (a, b) in zip(code, product, strict=True))
            ]
            assert len(inside) == 1, hex(point)
    total = 0
    for product in products:
        size = 1
        for first, last in product:
            size *= last - first + 1
        total += size
    assert total == sum(not 0xD800 <= point <= 0xDFFF for point in range(low, high + 1))


def test_complement_for_ranges_is_what_they_leave_out() -> None:
    assert complement(((5, 9), (7, 20), (0x10FFFF, 0x10FFFF))) == ((0, 4), (21, 0x10FFFE))
    assert complement(()) == ((0, 0x10FFFF),)
    assert complement(((0, 0x10FFFF),)) == ()


def test_after_byte_for_every_pair_of_bytes_agrees_with_the_decoder() -> None:
    rests = ("", "80", "8080", "bfbf", "808080", "908080", "a080")
    for first in range(256):
        for second in range(256):
            pending = after_byte((), first)
            state = None if pending is None else after_byte(pending, second)
            text = bytes((first, second))
            begins = any(_decodes(text + bytes.fromhex(rest)) for rest in rests)
            assert (state is not None) == begins, text
            assert (state == ()) == _decodes(text), text


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
