"""What EBNF grammars mean beyond plain rules: macros, rule options, tokens, hints."""

from __future__ import annotations

import pytest

from engine_native import EngineError, GrammarSyntaxError, LimitError, Matcher, UnsupportedSchemaError
from tests.engine.vocabularies import SPECIAL, accepts, compiler


def _check(text: str, accepted: tuple[str, ...], refused: tuple[str, ...], root: str = "root") -> None:
    grammar = compiler().compile_ebnf(text, root=root)
    assert [each for each in accepted if not accepts(Matcher(grammar), each)] == []
    assert [each for each in refused if accepts(Matcher(grammar), each)] == []


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('root ::= | "a" | ', ("", "a"), ("aa",)),
        ('root ::= () "a" ()', ("a",), ("",)),
        ('root ::= "a"{2,-1}', ("aa", "aaaa"), ("a",)),
        (r'root ::= "\xe9\u00E9\u{1F600}\U0001F600\e\'\?\/"', ("éé😀😀\x1b'?/",), ("",)),
        (r"root ::= [\]\[\-\^\\] [^]", ("]a", "[\n", "-é", "^^", "\\\\"), ("a]", "]")),
        ("root ::= 1st\n1st ::= [x]", ("x",), ("",)),
        ("root ::= a.b [c]\na.b ::= [a]", ("ac",), ("a",)),
        ('# first\nroot ::= x # x ::= "z"\n  y\nx ::= "a" |\n  "b"\ny ::= "c"', ("ac", "bc"), ("zc",)),
        ('root ::= root "+" root | [0-9]', ("1", "1+2+3"), ("", "1+")),
        ('root ::= a "b" (= c "d")\na ::= "a"\nc ::= "c"', ("ab",), ("abcd",)),
    ],
)
def test_rules(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        (r'root ::= Regex("[a-c]+\\d") "!"', ("ab1!",), ("ab!", "1!")),
        ('root ::= Regex("a.c")', ("a\nc", "abc"), ("ac",)),
        ('root ::= Regex("a.c", flags="")', ("a\rc",), ("a\nc",)),
        ('root ::= Regex("a.c", flags="si")', ("A\nC",), ("ac",)),
        (r'root ::= Regex("\\w", flags="u")', ("é",), ("!",)),
        ('root ::= Regex("k", flags="i")', ("K",), ("\u212a",)),
        ('root ::= Regex("(a|\\"|\\n){1,2}", json_string=true)', ("a", "aa"), ('"', 'a"', "\n")),
        ('root ::= Regex("a", json_string=false)', ("a",), ("b",)),
        (r'root ::= Regex("a(?!b)[a-c]")', ("ac",), ("ab",)),
        ('root ::= Substring("ab", "c", "ab")', ("", "ab", "c", "abc", "cab", "abcab"), ("a", "b", "abab", "bc")),
        ('root ::= Substring() "x"', ("x",), ("",)),
        (
            'root ::= TagDispatch(("<a>", x), ("<b>", y))\nx ::= "1"\ny ::= "2"',
            ("", "u<a>1v<b>2", "<a"),
            ("<a>", "<a>2"),
        ),
        ('root ::= TagDispatch(("<a>", x), loop_after_dispatch=false)\nx ::= "1"', ("u<a>1", "u"), ("<a>1v",)),
        ('root ::= TagDispatch(excludes=("no", "nil")) "."', ("n.", "ni."), ("no.", "nil.")),
        ('root ::= t "e"\nt ::= TagDispatch(("<a>", x), excludes=("e"))\nx ::= "e"', ("<a>ee", "ue"), ("uee",)),
    ],
)
def test_macros(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("text", "prefix", "accepted", "refused"),
    [
        ('root ::= Token(97, "<s>")', [], [97, SPECIAL], [98]),
        ('root ::= ExcludeToken(97, "<s>")', [], [98], [97, SPECIAL]),
        ("root ::= <[257]> !<[98]>", [SPECIAL], [97, SPECIAL], [98]),
        ("root ::= <s> !<s>", [SPECIAL], [97], [SPECIAL]),
        ('root ::= TokenTagDispatch((257, x))\nx ::= "1"', [97, SPECIAL, 49, SPECIAL], [49], [97, SPECIAL]),
        ('root ::= TokenTagDispatch(("<s>", x), excludes=(98))\nx ::= "1"', [97], [97, SPECIAL], [98]),
        ('root ::= TokenTagDispatch((257, x), loop_after_dispatch=false)\nx ::= "1"', [97, SPECIAL], [49], [97]),
    ],
)
def test_tokens_as_units(text: str, prefix: list[int], accepted: list[int], refused: list[int]) -> None:
    matcher = Matcher(compiler().compile_ebnf(text))
    assert matcher.accept_tokens(prefix) == len(prefix)

    assert [token for token in accepted if matcher.validate_tokens([token]) != 1] == []
    assert [token for token in refused if matcher.validate_tokens([token]) != 0] == []


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('root ::= "<" r ">"\nr[lazy] ::= [a-z]+', ("<a>",), ("<ab>", "<>")),
        ('root ::= r "!"\nr[lazy] ::= x* ";"\nx ::= [a-z;]', ("ab;!", ";!"), ("a;b;!",)),
        ("root ::= r\nr[max_chars=3] ::= [aé]{2,5000}", ("aé", "ééé"), ("a", "aaaa")),
        ('root ::= r\nr[max_chars=2, lazy] ::= ("a"?){2,300} "b"', ("b", "ab"), ("aab",)),
    ],
)
def test_rule_options(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


def test_captures_are_named_after_the_rule_or_as_given() -> None:
    matcher = Matcher(
        compiler().compile_ebnf('root ::= a b\na[capture] ::= "x"+\nb[capture="n", temperature=0.5] ::= "y"')
    )
    assert matcher.accept_bytes(b"xxy")

    assert matcher.captures() == [("a", b"xx"), ("n", b"y")]


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment"),
    [
        ("root ::= x", 1, 10, "undefined rule x"),
        ('root ::= "a', 1, 10, "not closed"),
        ("root ::= [a", 1, 10, "not closed"),
        ("root ::= []", 1, 10, "without characters"),
        ("root ::= (", 1, 11, "expected a literal"),
        ('root ::= ("a"\nx ::= "b"', 2, 1, "expected ')'"),
        ('root ::= "a"++', 1, 14, "nothing to repeat"),
        ('root ::= "a"{,2}', 1, 14, "write {0,n}"),
        ('root ::= "é" ^', 1, 14, "expected a literal"),
        ('root ::= "a" (= "b" | "c")', 1, 22, "choice in a lookahead"),
        ('root ::= "a" (= Substring("b"))', 1, 17, "lookahead"),
        ('root ::= "a" (= "b") "c"', 1, 22, "last part"),
        ('root ::= Regex("a(")', 1, 16, "group is not closed"),
        (r'root ::= Regex("\\bx")', 1, 16, "sees what stands before"),
        ('root ::= Regex("a", flags="x")', 1, 27, "i, s and u"),
        ('root ::= Regex("a", other="x")', 1, 27, "unknown argument"),
        ('root ::= Regex("a", json_string=1)', 1, 33, "true or false"),
        ("root ::= Token(70000)", 1, 16, "outside the vocabulary"),
        ('root ::= Token("zz")', 1, 16, "no token"),
        ("root ::= <[1>", 1, 13, "expected"),
        ('root ::= TagDispatch(("a", "b"))', 1, 22, "(trigger, rule)"),
        ('root ::= TagDispatch(("ab", x), excludes=("a"))\nx ::= "1"', 1, 43, "begins a trigger"),
        ('root[lazy, lazy] ::= "a"', 1, 12, "twice"),
        ('root[nope] ::= "a"', 1, 6, "option"),
        ('root[max_tokens=3] ::= "a"', 1, 6, "max_tokens"),
        ('root[lazy] ::= "a" root | "b"', 1, 5, "refers to itself"),
        ('root ::= "a"\nroot ::= "b"', 2, 1, "exists already"),
    ],
)
def test_malformed_grammar_raises_with_line_and_column(text: str, line: int, column: int, fragment: str) -> None:
    with pytest.raises((GrammarSyntaxError, UnsupportedSchemaError)) as caught:
        compiler().compile_ebnf(text)

    message, shown, caret = caught.value.message.split("\n")
    assert message.startswith(f"line {line}, column {column}: ")
    assert fragment in message
    assert shown == text.split("\n")[line - 1]
    assert caret == " " * (column - 1) + "^"


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_ebnf('root ::= "' + "é" * 200 + '" missing "' + "b" * 200 + '"')

    _, shown, caret = caught.value.message.split("\n")
    assert shown[len(caret) - 1 :].startswith("missing")
    assert len(shown) < 80


def test_a_regular_expression_shows_its_place() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        compiler().compile_regex("a(b")

    assert caught.value.message == "line 1, column 2: regular expression, offset 1: a group is not closed\na(b\n ^"


def test_a_large_lazy_repeat_reaches_a_limit() -> None:
    with pytest.raises(LimitError):
        compiler().compile_ebnf("root[lazy] ::= ([a-c]{1,5000} [b-d]{1,5000}){1,5000}")
