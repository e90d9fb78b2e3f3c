"""compile_choice: exactly the given strings, however many there are."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from engine_native import Matcher
from tests.engine.vocabularies import SPECIAL, accepts, compiler


@pytest.mark.parametrize("seed", range(30))
def test_random_choice_accepts_its_strings_and_no_others(seed: int) -> None:
    random_ = random.Random(seed)
    letters = random_.choice(["ab", "abc", "aé😀", "a\n\x00"])
    every = ["".join(text) for n in range(5) for text in itertools.product(letters, repeat=n)]
    choices = random_.sample(every, random_.randint(1, len(every)))
    choices += random_.sample(choices, len(choices) // 3)  # some twice, in no order

    grammar = compiler().compile_choice(choices)

    assert [text for text in every if accepts(Matcher(grammar), text) != (text in choices)] == []


def test_equal_sets_of_strings_in_any_order_are_one_rule() -> None:
    words = ["go", "stop", "goes", "stops", ""]
    rules = compiler().stats()["rules"]
    kept = [compiler().compile_choice(order) for order in (words, words[::-1], [*words, "go"])]

    assert compiler().stats()["rules"] == rules + 1
    assert len({id(grammar) for grammar in kept}) == 3


def test_string_with_the_text_of_a_special_token_takes_the_token() -> None:
    matcher = Matcher(compiler().compile_choice(["a<s>b", "ac", "<s>"]))

    assert [matcher.accept_token(token) for token in (ord("a"), SPECIAL, ord("b"))] == [True, True, True]
    assert matcher.can_terminate()
    assert not Matcher(compiler().compile_choice(["a<s>b"])).accept_bytes(b"a<")


@pytest.mark.parametrize(
    ("name", "words", "bytes_most"),
    [
        ("numbers", [str(i) for i in range(100_000)], 2_000),
        ("one prefix and one suffix", [f"https://example.com/item/{i * 7:06}/page" for i in range(100_000)], 100_000),
        ("hardly anything shared", [f"{random.Random(i).getrandbits(48):x}" for i in range(100_000)], 100_000_000),
    ],
)
def test_hundred_thousand_strings_compile_small_and_in_time(name: str, words: list[str], bytes_most: int) -> None:
    started = time.monotonic()
    grammar = compiler().compile_choice(words)

    assert time.monotonic() - started < 5, name  # half a second where nothing else runs
    assert grammar.memory_bytes < bytes_most
    assert all(accepts(Matcher(grammar), word) for word in words[::1009])
    assert not accepts(Matcher(grammar), words[5] + "~")
    assert not accepts(Matcher(grammar), words[5][:-1] + "~")
