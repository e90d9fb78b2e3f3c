"""compile_regex: what each construct means, what is refused, and where an error is. The whole text must match."""

from __future__ import annotations

import contextlib
import time

import pytest

from engine_native import Compiler, GrammarSyntaxError, LimitError, Limits, Matcher, UnsupportedSchemaError
from tests.engine.vocabularies import accepts, byte_vocabulary, compiler


def _accepts(pattern: str, text: str) -> bool:
    return accepts(Matcher(compiler().compile_regex(pattern)), text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        # classes
        (r"[a-c]", "a b c", "d A"),
        (r"[^a-c]", "d é \n", "a"),
        (r"[\w.-]+", "a.b-c", "a+"),
        (r"[a\-z]+", "a-z", "b"),
        (r"[\]\\^]+", r"]\^", "a"),
        (r"[]a]+", "]a", "b"),
        (r"[^]a]", "b", "] a"),
        (r"[^]", "x \n", "xy"),
        (r"[[:alpha:]_]+", "aZ_", "1 :"),
        (r"[[:^digit:]]", "a", "1"),
        (r"[a[:digit:]]+", "a19", "b"),
        (r"[[a]+", "[a", "]"),
        (r"[\d-x]+", "1-x", "a"),
        (r"[+--]+", "+,-", "."),
        (r"a]}", "a]}", "a"),
        (r"x{y}{", "x{y}{", "xy"),
        # shorthands are ECMA-262's: ASCII, but for \s
        (r"\d\D", "1a", "a1 ١a"),
        (r"\w\W", "_é a-", "éa"),
        (r"\s\S", "\u00a0x \ufeffx \u2028x", "\u0085x \u200bx"),
        (r"(?u)\w\d", "é١", "-1"),
        (r"(?u)a(?-u)\w", "ab", "aé"),
        (r"(?a)\w", "a", "é"),
        # the dot
        (r".", "a \u0085", "\n \r \u2028 \u2029"),
        (r"(?s).", "\n \u2029", "ab"),
        # escapes
        (r"\x41\u0042\u{43}\U00000044\x{45}", "ABCDE", "ABCD"),
        (r"\uD83D\uDE00|\u{1F600}x", "😀 😀x", "x"),
        (r"\cJ\t\v\f\r\a\e\0", "\n\t\v\f\r\a\x1b\x00", "J"),
        (r"\101[\1\b]\012", "A\x01\n A\b\n", "A1\n"),
        (r"\-\_\:\/\@\é", "-_:/@é", "-"),
        # groups
        (r"(a)(?:b)(?<n>c)(?P<m>d)(?'o'e)(?#none)", "abcde", "abcd"),
        (r"(?i)aé(?-i)b(?i:C)", "AÉbc aÉbC", "aéBc"),
        (r"a(?i)b|c", "aB C", "AB"),
        (r"(a(?i)b)c", "aBc", "aBC"),
        ("(?x) a b # comment\n [ ] \\ c", ["ab  c"], ["a b  c", "abc"]),
        # alternation and repeats
        (r"(a|)b(|c)", "b ab bc abc", "ac"),
        (r"a{2}b{1,}c{0,2}", "aab aabbcc", "ab aabccc"),
        (r"a*?b+?c??", "b abc", "ac"),
        (r"(?:a{2,3}){2}", "aaaa aaaaa aaaaaa", "aaa aaaaaaa"),
        (r"(?:a{3}){0,2}", "aaa aaaaaa", "aaaa a"),
        (r"a{0}b", "b", "ab"),
        # anchors that say nothing, everything, or must be looked at
        (r"^a$|^b$", "a b", "ab"),
        (r"(^a|b$)", "a b", "ab"),
        (r"a^b|a$b|c", "c", "ab"),
        (r"\Aa\Z|\Ab\z", "a b", "c"),
        (r"(?:^|,)a(?:,|$)", "a ,a a, ,a,", "xa ax"),
        (r"(?m:^a$(\n^b$)?)", "a a\nb", "a\n"),
        (r"a(?m)$\s+^b", "a\nb a\r\nb a\u2028b", "a b"),
        (r"a(?mR:$)\r\n(?mR:^)b", "a\r\nb", "a\nb"),
        (r"\r(?mR:^)\n|a", "a", "\r\n"),
        # word boundaries
        (r"\ba+\b.*", "a aa-b", "ab -"),
        (r"a\Bb", "ab", "a-"),
        (r"a\b.\b.?", "a-b", "a- a-- ab"),
        (r"é\ba|(?u:é\Ba)b", "éa éab", "é"),
        (r"\b{start}a\b{end}-\b{start-half}a", "a-a", "aa"),
        (r"\B\B", "", "a"),
        # lookaround
        (r"(?=.*\d)(?!.*--)[a-z\d-]+", "a1 1-a", "a a--1"),
        (r"(?!foo$)\w+", "fo food bar", "foo"),
        (r"((?!ab).)*", "ba b", "ab xaby"),
        (r"a(?=b|$)b?", "a ab", "ac"),
        (r"(?:(?=a)\w|-)+", "a-a a", "b -b"),
        (r"\w+(?<=ing|ed)", "king red", "kin"),
        (r"\w*(?<!a.)\w", "xyz", "axz"),
        (r"(?<=^|,)a", "a", ",a"),
        (r"(?:,|(?<=,)a|b)+", "b,a ,a", "a ba"),
        (r".*(?<!\bno) x", ["a x", "ano x"], ["no x", "a no x"]),
        (r"(?=(?!b)a(?=c))..", "ac", "ab bc"),
        (r"a(?=)b(?!)|c", "c", "ab"),
    ],
)
def test_pattern_accepts_and_rejects(pattern: str, yes: str | list[str], no: str | list[str]) -> None:
    assert [word for word in _words(yes) if not _accepts(pattern, word)] == []
    assert [word for word in _words(no) if _accepts(pattern, word)] == []


def _words(texts: str | list[str]) -> list[str]:
    return texts.split(" ") if isinstance(texts, str) else texts


@pytest.mark.parametrize(
    ("letter", "others"), [("k", "K\u212a"), ("ſ", "sS"), ("ß", "ẞ"), ("σ", "Σς"), ("i", "I"), ("Ǆ", "ǅǆ"), ("µ", "Μμ")]
)
def test_case_insensitive_letter_matches_all_that_fold_to_the_same(letter: str, others: str) -> None:
    for other in others:
        assert _accepts(f"(?i){letter}", other)
        assert _accepts(f"(?i)[{other}]", letter)
        assert not _accepts(f"(?i)[^{letter}]", other)


@pytest.mark.parametrize("other", ["ı", "İ", "ss"])
def test_case_insensitive_match_folds_simply_and_not_the_turkish_way(other: str) -> None:
    assert not _accepts("(?i)[iß]", other)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"\p{Lu}", "AÉ", "a1"),
        (r"\pL", "aé中", "1"),
        (r"\PL", "1 ", "a"),
        (r"\p{^L}", "1", "a"),
        (r"\p{Uppercase_Letter}", "A", "a"),
        (r"\p{gc=Nd}", "1١", "a"),
        (r"\p{General_Category=Decimal_Number}", "1", "½"),
        (r"\p{L&}", "aAǅ", "中"),
        (r"\p{Script=Greek}", "αΩ", "a"),
        (r"\p{sc=Grek}", "α", "a"),
        (r"\p{Greek}", "α", "a"),
        (r"\p{Script_Extensions=Deva}", "अ।", "a"),
        (r"\p{Alphabetic}", "aⅷ", "1"),
        (r"\p{White_Space}", " \u0085", "a"),
        (r"\p{Emoji}", "😀1", "a"),
        (r"\p{Any}", "a\n😀", ""),
        (r"\p{ASCII}", "a~", "é"),
        (r"\p{Assigned}", "a", "\u0378"),
        (r"\p{ uppercase-letter }", "A", "a"),
        (r"[^\p{L}\d]", "-", "é1"),
        (r"(?i)\p{Lu}", "aA", "1"),
        (r"(?i)\P{Lu}", "aA1", ""),
        (r"(?i)[^\p{Lu}]", "1", "aA"),
    ],
)
def test_unicode_property_holds_its_characters(pattern: str, yes: str, no: str) -> None:
    assert [character for character in yes if not _accepts(pattern, character)] == []
    assert [character for character in no if _accepts(pattern, character)] == []


@pytest.mark.parametrize("text", ["", "a", "a" * 999, "a" * 1000, "a" * 1001])
def test_counted_repeat_counts_and_is_not_written_out(text: str) -> None:
    grammar = compiler().compile_regex("a{1000,100000}")

    assert accepts(Matcher(grammar), text) == (len(text) >= 1000)
    assert grammar.memory_bytes < 10_000


@pytest.mark.parametrize(("length", "expected"), [(100_000, True), (100_001, False)])
def test_counted_repeat_ends_at_its_upper_bound(length: int, expected: bool) -> None:
    assert _accepts("a{1000,100000}", "a" * length) == expected


def test_nested_counted_repeats_count_together() -> None:
    grammar = compiler().compile_regex("(?:(?:a{1,100}){1,100}){1,100}")

    assert accepts(Matcher(grammar), "a" * 5000)
    assert not accepts(Matcher(grammar), "")
    assert grammar.memory_bytes < 10_000


@pytest.mark.parametrize(
    ("pattern", "offset", "message"),
    [
        ("a(b", 1, "a group is not closed"),
        ("ab)", 2, "without its"),
        ("x[a", 1, "a character class is not closed"),
        ("[b-a]", 2, "out of order"),
        ("a{3,2}", 1, "out of order"),
        ("a{,3}", 1, "write {0,n}"),
        ("a**", 2, "nothing to repeat"),
        ("a|*", 2, "nothing to repeat"),
        ("(?i)+", 4, "nothing to repeat"),
        ("a\\", 1, "ends in a backslash"),
        ("\\y", 0, "unknown escape"),
        ("\\u12", 4, "hexadecimal"),
        ("\\u{110000}", 0, "no such character"),
        ("\\x{41", 5, "expected '}'"),
        ("\\p{L", 1, "not closed"),
        ("(?<>a)", 3, "group name"),
        ("(?<1a>a)", 3, "group name"),
        ("(?#a", 0, "comment is not closed"),
        ("(?)", 0, "without flags"),
        ("(?--i)a", 3, "two '-'"),
        ("\\c1", 0, "letter after"),
    ],
)
def test_malformed_pattern_raises_with_its_offset(pattern: str, offset: int, message: str) -> None:
    with pytest.raises(GrammarSyntaxError, match=message.replace("{", r"\{")) as caught:
        compiler().compile_regex(pattern)

    assert caught.value.offset == offset
    assert f"offset {offset}:" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a+)\1", "back-reference to a group of endlessly many texts"),
        (r"(.)\1", "back-reference to a group of more than 1000 texts"),
        (r"(a|\b)\1", "back-reference to a group with assertions"),
        (r"(a)?\1", "back-reference to a group that need not have matched"),
        (r"(a)|\1", "back-reference to a group that need not have matched"),
        (r"(?:a|(b))\1", "back-reference to a group that need not have matched"),
        (r"(?=(a))\1", "back-reference to a group that need not have matched"),
        (r"(?<=(a))\1", "back-reference to a group that need not have matched"),
        (r"\1(a)", "back-reference to a group that need not have matched"),
        (r"(a\1)", "back-reference to a group that need not have matched"),
        (r"(a)\2", "back-reference to a group that need not have matched"),
        (r"(?<n>a)\k<m>", "back-reference to a group that need not have matched"),
        (r"(?:(?<n>a)|(?<n>b))(?P=n)", "back-reference to a group that need not have matched"),
        (
            "".join(f"(?<n{i}>a)" for i in range(101)) + "".join(rf"\k<n{i}>" for i in range(101)),
            "more than 100 groups",
        ),
        (r"(?>a)", "atomic groups"),
        (r"a++", "possessive"),
        (r"a{2}+", "possessive"),
        (r"a(?R)?", "recursion"),
        (r"(a)(?1)", "recursion"),
        (r"(?P>n)", "recursion"),
        (r"(a)?(?(1)b|c)", "conditional"),
        (r"(?|a|b)", "branch resets"),
        (r"(*ACCEPT)a", "verbs"),
        (r"\R", "this escape"),
        (r"\Qa\E", "this escape"),
        (r"(?L)a", "group or flag"),
        (r"(?<=a(?=b))c", "lookahead inside a lookbehind"),
        (r"\p{Nonsense}", "Unicode property"),
        (r"\p{gc=Greek}", "Unicode property"),
        (r"[\uD800-\uDFFF]", "surrogate"),
    ],
)
def test_construct_that_is_not_regular_or_not_known_is_refused_by_name(pattern: str, message: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=message):
        compiler().compile_regex(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", "a(?!)", r"a\b\B", "a^b", "[^\\s\\S]", "[]"])
def test_pattern_that_nothing_matches_raises(pattern: str) -> None:
    with pytest.raises(GrammarSyntaxError, match="nothing can match"):
        compiler().compile_regex(pattern)


_EXPLODING = {
    "nested plus": "(a+)+b",
    "overlapping alternatives": "(x|xx)*y",
    "long optional parts": ".{0,5000}a.{0,5000}",
    "many nullable parts": "(a?){1000}a{1000}",
    "nested counts": "((((a{1,100}){1,100}){1,100}){1,100})",
    "doubly bounded": r"(\w{1,100}-?){1,100}",
    "far lookbehind": "(?<=a.{20})b|c",
    "far lookaheads": "(?=.*a.{18}$)(?=.*b.{17}$)(?=.*c.{16}$).*",
    "all letters in any order": "".join(f"(?=.*{c})" for c in "abcdefghijklmnop") + ".*",
    "a lookahead in a count": "(?:(?=a)a|b){1,50000}",
    "many lookaheads": "(?!a)" * 20_000,
    "lookaheads over a count": r"(?!.*://)(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)",
    "many words": "|".join(f"{i * 7919:x}" for i in range(20_000)),
}


@pytest.mark.parametrize("name", _EXPLODING)
def test_pattern_that_makes_others_explode_compiles_or_reaches_a_limit_in_time(name: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(LimitError):
        Compiler(byte_vocabulary(), limits=Limits()).compile_regex(_EXPLODING[name])

    assert time.monotonic() - started < 8  # below a second where nothing else runs


def test_patterns_that_end_in_the_limits_of_a_deterministic_automaton_compile_without_one() -> None:
    assert _accepts("(?!b)[ab]*a[ab]{20}", "a" * 21)
    assert not _accepts("(?!b)[ab]*a[ab]{20}", "b" + "a" * 21)
    assert not _accepts("(?!b)[ab]*a[ab]{20}", "a" + "b" * 21)
