"""Small vocabularies for contract tests."""

from __future__ import annotations

from functools import cache

from engine_native import Compiler, Matcher, Vocabulary

STOP = 256
SPECIAL = 257


@cache
def byte_vocabulary() -> Vocabulary:
    """All 256 bytes (id = byte), ``</s>`` as stop token 256, ``<s>`` as special token 257, then some words."""
    tokens = [bytes((byte,)) for byte in range(256)]
    tokens += [b"</s>", b"<s>", b"true", b'{"', b'": ', b"ab", b"abc", b"  ", b'"}', b"12", "é".encode()]
    return Vocabulary(tokens, special_token_ids=(STOP, SPECIAL), stop_token_ids=(STOP,))


@cache
def compiler() -> Compiler:
    """A compiler over ``byte_vocabulary`` that tests share; its caches must not matter."""
    return Compiler(byte_vocabulary())


def accepts(matcher: Matcher, text: str | bytes) -> bool:
    """Whether ``text`` as a whole is in the language; ``matcher`` is moved."""
    encoded = text.encode() if isinstance(text, str) else text
    return matcher.accept_bytes(encoded) and matcher.can_terminate()
