"""Random grammars and vocabularies: tiny, and mean on purpose.

Everything is drawn from one ``random.Random``, so a case is named by its seed.
Grammars have recursion of every kind, empty and ambiguous rules, rules that
derive nothing, bounded repeats, characters of one to four bytes. Vocabularies
have single bytes, pieces of sentences of the language (so that a token crosses
several rules), cut code points, duplicates, empty, special and stop tokens.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.oracle.grammar import (
    MAX_CODE_POINT,
    TOKEN_BASE,
    Characters,
    Choice,
    Expression,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from tests.oracle.parser import Parser
from tests.oracle.productions import lower
from tests.oracle.vocabulary import TokenList

_CHARACTERS = (
    *("a", "b", "c", "0", " ", "\n", '"', "\\", "]", "-", "^", "\x00"),
    *("é", "ß", "€", "日", "\ud7ff", "\ue000", "😀", "\U0010ffff"),
)
_RULE_NAMES = ("root", "r1", "a-b", "Rule_2", "_x")
_MARKER = "<s>"
_LARGE_SET = 600
"""Items of an Earley set at which a sentence is cut short."""
_SMALL_SET = 30
"""Items of the first Earley set up to which tokens may be long; ambiguity makes long texts slow."""


@dataclass(frozen=True)
class Alphabet:
    """The characters of one case, and the texts that a special token may have."""

    characters: tuple[str, ...]
    special_texts: tuple[str, ...]

    def text(self, rng: random.Random, most: int) -> str:
        """Up to ``most`` characters, now and then around a special token's text."""
        text = "".join(rng.choices(self.characters, k=rng.randint(0, most)))
        if rng.random() < 0.15:
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(self.special_texts) + text[at:]
        return text


def draw_alphabet(rng: random.Random) -> Alphabet:
    """Two to four characters; the special text is a marker of its own or made of the same characters."""
    characters = ("a", *rng.sample(_CHARACTERS[1:], rng.randint(1, 3)))
    special = _MARKER if rng.random() < 0.8 else "".join(rng.choices(characters, k=2))
    return Alphabet(characters, (special,))


def draw_grammar(rng: random.Random, alphabet: Alphabet) -> Grammar:
    """One to five rules that refer to each other freely; now and then the language is empty."""
    while True:
        names = _RULE_NAMES[: rng.randint(1, len(_RULE_NAMES))]
        grammar = Grammar({name: draw_expression(rng, alphabet, names, depth=3) for name in names})
        if lower(grammar, {}).start is not None or rng.random() < 0.05:
            return grammar


def draw_expression(rng: random.Random, alphabet: Alphabet, names: tuple[str, ...], depth: int) -> Expression:
    """An expression nested at most ``depth`` deep; without ``names`` it is regular."""
    kinds = ["literal", "characters"] + (["reference"] * 2 if names else [])
    if depth > 0:
        kinds += ["sequence"] * 4 + ["choice"] * 4 + ["repeat"] * 2
    match rng.choice(kinds):
        case "literal":
            return Literal(alphabet.text(rng, 3).encode())
        case "characters":
            return draw_characters(rng, alphabet)
        case "reference":
            return Reference(rng.choice(names))
        case "sequence":
            return Sequence(_draw_parts(rng, alphabet, names, depth, rng.choice((0, 1, 2, 2, 2, 3))))
        case "choice":
            return Choice(_draw_parts(rng, alphabet, names, depth, rng.choice((1, 2, 2, 2, 3))))
    low, high = _draw_bounds(rng)
    return Repeat(draw_expression(rng, alphabet, names, depth - 1), low, high)


def _draw_parts(
    rng: random.Random, alphabet: Alphabet, names: tuple[str, ...], depth: int, count: int
) -> tuple[Expression, ...]:
    return tuple(draw_expression(rng, alphabet, names, depth - 1) for _ in range(count))


def _draw_bounds(rng: random.Random) -> tuple[int, int | None]:
    low = rng.choice((0, 0, 0, 0, 1, 1, 1, 2, 3, rng.randint(0, 20)))
    high = rng.choice((None, None, low, low + 1, low + 1, low + rng.randint(0, 3), low + rng.randint(0, 40)))
    return low, high


def draw_characters(rng: random.Random, alphabet: Alphabet) -> Characters:
    """A class around the alphabet: single characters, narrow and wide ranges, complements."""
    ranges: list[tuple[int, int]] = []
    for _ in range(rng.randint(1, 2)):
        point = ord(rng.choice(alphabet.characters))
        below = rng.choice((0, 0, 1, 0x20, 0x7FF, MAX_CODE_POINT))
        above = rng.choice((0, 0, 1, 0x20, 0x7FF, MAX_CODE_POINT))
        first = _not_surrogate(max(0, point - below), 0xD7FF)
        last = _not_surrogate(min(MAX_CODE_POINT, point + above), 0xE000)
        ranges.append((first, last))
    return Characters(tuple(ranges), rng.random() < 0.25)


def _not_surrogate(point: int, instead: int) -> int:
    return instead if 0xD800 <= point <= 0xDFFF else point


def draw_vocabulary(rng: random.Random, alphabet: Alphabet, grammar: Grammar) -> TokenList:
    """Around 10 to 30 tokens that make the most of ``grammar``."""
    pieces: list[bytes] = []
    single = sorted({bytes((byte,)) for char in alphabet.characters for byte in char.encode()})
    pieces += single if rng.random() < 0.7 else rng.sample(single, rng.randint(0, len(single)))
    parser = Parser(lower(grammar, {}))
    for _ in range(rng.randint(2, 8)):
        sentence = draw_sentence(rng, parser, alphabet, 12)
        if sentence:
            start = rng.randrange(len(sentence))
            pieces.append(sentence[start : start + rng.choice((1, 2, 2, 3, 4, 8))])
    for _ in range(rng.randint(0, 5)):
        text = "".join(rng.choices(alphabet.characters, k=rng.randint(1, 3))).encode()
        start = rng.randrange(len(text))
        pieces.append(text[start : start + rng.randint(1, 4)])
    begin = parser.begin()
    pieces += _draw_strangers(rng, alphabet, most=40 if begin is not None and begin.size < _SMALL_SET else 4)
    if rng.random() < 0.5:
        pieces.append(alphabet.special_texts[0].encode())
    if pieces and rng.random() < 0.3:
        pieces.append(rng.choice(pieces))
    if rng.random() < 0.3:
        pieces.append(b"")
    if rng.random() < 0.1:
        pieces += [bytes((0xFF,)), bytes((0x80,)), b"\xed\xa0\x80"]
    rng.shuffle(pieces)
    return _with_roles(rng, pieces, alphabet)


def _draw_strangers(rng: random.Random, alphabet: Alphabet, most: int) -> list[bytes]:
    """Pieces that the language may not know, runs of a character, now and then enough for several words of a mask."""
    words = ("the", " a", "Zx", '"', '",', "\\n", "\t", "ü", "日本", "😀😀", "<", "}")
    pieces = [rng.choice(words).encode() for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.1:
        pieces += [rng.choice(alphabet.characters).encode() * rng.randint(4, most) for _ in range(2)]
    if rng.random() < 0.04:
        texts = ["".join(rng.choices((*alphabet.characters, *words), k=rng.randint(1, 4))) for _ in range(80)]
        pieces += [text.encode() for text in texts]
    return pieces


def _with_roles(rng: random.Random, pieces: list[bytes], alphabet: Alphabet) -> TokenList:
    """Add special and stop tokens at random ids."""
    special_texts = [alphabet.special_texts[0].encode()] * rng.choice((0, 1, 1, 1, 2))
    stop_is_special = rng.random() < 0.7
    stop_text = rng.choice((b"</s>", b"</s>", b"", b"a", alphabet.special_texts[0].encode()))
    stop_texts = [stop_text] * rng.choice((0, 1, 1, 1, 2))
    roles = [(text, "") for text in pieces]
    for text, role in [(text, "special") for text in special_texts] + [(text, "stop") for text in stop_texts]:
        roles.insert(rng.randint(0, len(roles)), (text, role))
    if not roles:
        roles = [(b"a", "")]
    special = {token for token, (_, role) in enumerate(roles) if role == "special"}
    stop = {token for token, (_, role) in enumerate(roles) if role == "stop"}
    if stop_is_special:
        special |= stop
    return TokenList(tuple(text for text, _ in roles), frozenset(special), frozenset(stop))


def draw_sentence(rng: random.Random, parser: Parser, alphabet: Alphabet, most: int) -> bytes:
    """A beginning of a string of the language, at most ``most`` bytes."""
    favourites = {byte for char in alphabet.characters for byte in char.encode()}
    position = parser.begin()
    sentence = bytearray()
    while position is not None and len(sentence) < most and position.size < _LARGE_SET:
        symbols = sorted(symbol for symbol in parser.next_symbols(position) if symbol < TOKEN_BASE)
        if not symbols or (position.accepting and rng.random() < 0.1):
            break
        near = [symbol for symbol in symbols if symbol in favourites]
        byte = rng.choice(near if near and rng.random() < 0.9 else symbols)
        sentence.append(byte)
        position = parser.step(position, byte)
    return bytes(sentence)
