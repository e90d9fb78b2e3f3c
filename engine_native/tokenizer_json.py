"""Token bytes from Hugging Face tokenizers.

A fast tokenizer (``tokenizer.json``) spells tokens in one of two ways:

* byte level (GPT-2 and its heirs): every byte is a printable character; the
  table is rebuilt here from its definition: printable Latin-1 bytes stand for
  themselves, the others are numbered from U+0100 in byte order.
* byte fallback (SentencePiece): U+2581 is a space, ``<0xNN>`` is one byte, all
  else is UTF-8.

Special tokens are spelled as themselves in both. Sources: the ``decoder`` and
``added_tokens`` sections of the files; ``tokenizers`` decoders ``ByteLevel``,
``ByteFallback`` and ``Replace``.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


def _byte_level_table() -> npt.NDArray[np.int16]:
    """The byte that each code point below U+0200 stands for; -1 for those that stand for none."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in set(printable)]
    table = np.full(0x200, -1, dtype=np.int16)
    table[printable] = printable
    table[0x100 : 0x100 + len(rest)] = rest
    return table


def _parts(section: Any) -> Iterator[dict[str, Any]]:
    """The section and everything nested in it (decoders and pre-tokenizers come in sequences)."""
    if not isinstance(section, dict):
        return
    yield section
    for key in ("decoders", "pretokenizers", "normalizers"):
        for part in section.get(key) or ():
            yield from _parts(part)


def _is_byte_level(document: dict[str, Any]) -> bool:
    sections = (document.get("decoder"), document.get("pre_tokenizer"))
    return any(part.get("type") == "ByteLevel" for section in sections for part in _parts(section))


def _space_pieces(document: dict[str, Any]) -> bool:
    """Does the decoder turn U+2581 into a space?"""
    for part in _parts(document.get("decoder")):
        if part.get("type") == "Metaspace":
            return True
        if part.get("type") == "Replace" and part.get("pattern", {}).get("String") == "\u2581":
            return True
    return False


def _decode_byte_level(pieces: list[str]) -> list[bytes]:
    codes = np.frombuffer("".join(pieces).encode("utf-32-le"), dtype=np.uint32)  # a byte each, so all at once
    values = _byte_level_table()[np.minimum(codes, 0x1FF)]
    data = values.astype(np.uint8).tobytes()
    ends = list(accumulate(map(len, pieces), initial=0))
    decoded = [data[begin:end] for begin, end in pairwise(ends)]
    for at in np.flatnonzero(values < 0):  # not spelled in the alphabet: as written
        i = bisect.bisect_right(ends, at) - 1
        decoded[i] = pieces[i].encode()
    return decoded


def _decode_fallback(piece: str, spaces: bool) -> bytes:
    if match := _BYTE_PIECE.match(piece):
        return bytes([int(match.group(1), 16)])
    return (piece.replace("\u2581", " ") if spaces else piece).encode()


def read_tokens(document: dict[str, Any], vocab_size: int | None = None) -> tuple[list[bytes], set[int]]:
    """Token bytes by id, and the ids of special tokens.

    Args:
        document: Parsed ``tokenizer.json``.
        vocab_size: Length of the result; default one past the largest id. Ids
            without a token are empty.

    Returns:
        ``(tokens, special)``: bytes of each id, and the ids marked special.

    Raises:
        ValueError: The file has no vocabulary of a known form.
    """
    if not isinstance(document, dict):
        raise ValueError("tokenizer.json is not an object")
    model = document.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list):  # Unigram: [[piece, score], ...]
        pieces = {entry[0]: i for i, entry in enumerate(vocab)}
    elif isinstance(vocab, dict):
        pieces = vocab
    else:
        raise ValueError("tokenizer.json has no model.vocab")
    added = {entry["id"]: entry for entry in document.get("added_tokens") or ()}
    size = max([*pieces.values(), *added], default=-1) + 1
    if vocab_size is not None:
        size = vocab_size
    tokens = [b""] * size
    special = {token for token, entry in added.items() if entry.get("special") and token < size}
    spelled = {**{token: piece for piece, token in pieces.items()}, **{t: e["content"] for t, e in added.items()}}
    for token in special:
        tokens[token] = spelled.pop(token).encode()
    if _is_byte_level(document):
        decoded = _decode_byte_level(list(spelled.values()))
    else:
        spaces = _space_pieces(document)
        decoded = [_decode_fallback(piece, spaces) for piece in spelled.values()]
    for token, data in zip(spelled, decoded, strict=True):
        if token < size:
            tokens[token] = data
    return tokens, special
