"""UTF-8 as byte ranges (RFC 3629, section 4), in the shapes the oracle needs."""

from __future__ import annotations

ByteRanges = tuple[tuple[int, int], ...]

_SURROGATES = (0xD800, 0xDFFF)
_LENGTH_BORDERS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)

_LEADS: tuple[tuple[int, int, ByteRanges], ...] = (
    (0x00, 0x7F, ()),
    (0xC2, 0xDF, ((0x80, 0xBF),)),
    (0xE0, 0xE0, ((0xA0, 0xBF), (0x80, 0xBF))),
    (0xE1, 0xEC, ((0x80, 0xBF), (0x80, 0xBF))),
    (0xED, 0xED, ((0x80, 0x9F), (0x80, 0xBF))),
    (0xEE, 0xEF, ((0x80, 0xBF), (0x80, 0xBF))),
    (0xF0, 0xF0, ((0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF))),
    (0xF1, 0xF3, ((0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF))),
    (0xF4, 0xF4, ((0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF))),
)


def after_byte(pending: ByteRanges, byte: int) -> ByteRanges | None:
    """What must follow ``byte`` when ``pending`` had to follow before it.

    ``()`` means a code point border; ``None`` means that ``byte`` is not valid here.
    """
    if pending:
        low, high = pending[0]
        return pending[1:] if low <= byte <= high else None
    for low, high, rest in _LEADS:
        if low <= byte <= high:
            return rest
    return None


def _alike() -> tuple[frozenset[int], ...]:
    """Bytes that ``after_byte`` treats alike in every state."""
    rests = {rest[start:] for _, _, rest in _LEADS for start in range(len(rest) + 1)}
    classes: dict[tuple[ByteRanges | None, ...], set[int]] = {}
    for byte in range(256):
        classes.setdefault(tuple(after_byte(pending, byte) for pending in rests), set()).add(byte)
    return tuple(frozenset(alike) for alike in classes.values())


ALIKE = _alike()
"""All bytes, as sets of which UTF-8 does not tell the members apart."""


def complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The code points outside ``ranges``, as sorted ranges."""
    outside: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            outside.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _LENGTH_BORDERS[-1]:
        outside.append((start, _LENGTH_BORDERS[-1]))
    return tuple(outside)


def encoded_ranges(low: int, high: int) -> list[ByteRanges]:
    """Byte-range products that together are the encodings of ``low..high``, surrogates left out."""
    found: list[ByteRanges] = []
    pending = [(low, high)]
    while pending:
        low, high = pending.pop()
        if low > high:
            continue
        if low <= _SURROGATES[1] and high >= _SURROGATES[0]:
            pending += [(low, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, high)]
            continue
        border = next(b for b in _LENGTH_BORDERS if low <= b)
        if high > border:
            pending += [(low, border), (border + 1, high)]
            continue
        split = _unaligned_border(low, high)
        if split is not None:
            pending += [(low, split), (split + 1, high)]
            continue
        found.append(tuple(zip(chr(low).encode(), chr(high).encode(), strict=True)))
    return sorted(found)


def _unaligned_border(low: int, high: int) -> int | None:
    """Where ``low..high`` must be cut so that its encodings are a product of byte ranges.

    The range is a product when, below the first byte in which its ends differ, it
    covers all continuation bytes: low ends in zeros and high in ones there.
    """
    for bits in (6, 12, 18):
        mask = (1 << bits) - 1
        if low >> bits == high >> bits:
            return None
        if low & mask:
            return low | mask
        if high & mask != mask:
            return (high & ~mask) - 1
    return None
