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

import re
from collections.abc import Iterator
from typing import Any

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


def _byte_level_table() -> dict[str, int]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in set(printable)]
    table = {chr(b): b for b in printable}
    table.update({chr(0x100 + i): b for i, b in enumerate(rest)})
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


def _decode(piece: str, table: dict[str, int] | None, spaces: bool) -> bytes:
    if table is not None:
        try:
            return bytes([table[c] for c in piece])
        except KeyError:  # not spelled in the table's alphabet: as written
            return piece.encode()
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
    table = _byte_level_table() if _is_byte_level(document) else None
    spaces = _space_pieces(document)
    special = {token for token, entry in added.items() if entry.get("special") and token < size}
    spelled = {**{token: piece for piece, token in pieces.items()}, **{t: e["content"] for t, e in added.items()}}
    for token, piece in spelled.items():
        if token < size:
            tokens[token] = piece.encode() if token in special else _decode(piece, table, spaces)
    return tokens, special
