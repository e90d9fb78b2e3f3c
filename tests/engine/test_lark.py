"""What Lark grammars mean."""

from __future__ import annotations

import pytest

from engine_native import Compiler, EngineError, GrammarSyntaxError, Matcher, UnsupportedSchemaError, Vocabulary
from tests.engine.vocabularies import SPECIAL, STOP, accepts, compiler


def _accepts(text: str, sentence: str) -> bool:
    return accepts(Matcher(compiler().compile_lark(text)), sentence)


def _check(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    assert [each for each in accepted if not _accepts(text, each)] == []
    assert [each for each in refused if _accepts(text, each)] == []


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('start: "x" "y" | "z"', ("xy", "z"), ("", "x", "yz")),
        ('start: "x" |', ("x", ""), ("xx",)),
        ("start:", ("",), ("x",)),
        ('start: [ "x" ] "y"', ("y", "xy"), ("x", "xxy")),
        ('start: ("x" | "y")~2', ("xy", "yy"), ("x", "xyx")),
        ('start: "x"~1..2', ("x", "xx"), ("", "xxx")),
        ('start: "x"{,2} "y"{2} "z"{1,}', ("yyz", "xxyyzz"), ("xxxyyz", "yz", "yy")),
        ('start: "0".."3" "α".."γ"', ("0α", "3γ"), ("4α", "0δ")),
        ('start: "a-B"i', ("a-b", "A-B"), ("a_b",)),
        (r'start: "\x41\u00e9\U0001F600\n\"\\"', ('Aé😀\n"\\',), ("A",)),
        (r'start: "\ud83d\ude00"', ("😀",), ("",)),
        ("start: /a.c/", ("abc", "a\rc"), ("a\nc",)),
        ("start: /a.c/s", ("a\nc",), ("ac",)),
        (r"start: /[k\w]+/iu", ("Kké",), ("k!",)),
        (r"start: /\//", ("/",), ("\\/",)),
        ("start: other // a comment\n# another\nother: FOO\n   | BAR\nFOO: /f/\nBAR: FOO FOO", ("f", "ff"), ("fff",)),
        ("?start: x\n!x: y -> z\ny: /q/", ("q",), ("",)),
        ('start: "(" start ")" | start start | "."', (".", "(.)..", "((.)(.))"), ("", "(", "()")),
        ("start: NUM\nNUM.3: /[0-9]/", ("4",), ("44",)),
        ('start: foo-bar\nfoo-bar: _x\n_x: "1"', ("1",), ("2",)),
    ],
)
def test_rules_and_terminals(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("start: T\nT: /[a-m]+/ & /[g-z]+/", ("g", "mmg"), ("a", "z", "ag")),
        ("start: T\nT: /[ab]/ | /[bc]/ & /[cd]/", ("a", "b", "c"), ("d",)),
        ("start: T\nT: ~/a+/ & /[ab]*/", ("", "b", "ab"), ("a", "aa", "c")),
        ("start: T\nT: (~A)~2 & /a{0,3}/\nA: /a/", ("", "aa", "aaa"), ("aaaa", "b")),
        ("start: T\nT: /x/\n  & /[xy]/", ("x",), ("y",)),
        ('start: "k" T | "z"\nT: /a/ & /b/', ("z",), ("k", "ka")),
    ],
)
def test_intersection_and_complement_in_terminals(
    text: str, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        (r'start: S "!"' + '\nS: /".*?"/', ('"a"!', '""!'), ('"a"b"!',)),
        (r'start: S "!"' + '\nS: "\\"" INNER "\\"" "i"?\nINNER: /.*?/', ('"a"!', '"a"i!'), ('"a"i"!',)),
        (r"%ignore /\/\*(.|\n)*?\*\//" + '\nstart: "a" "b"', ("ab", "a/* x *//**/b"), ("a/* */ */b",)),
        ('start: /a+?/ "b"', ("ab",), ("aab",)),
        ("start: T\nT: /[ab]*?b/ & /.{2}/", ("ab",), ("bb", "b")),
        ('start: "<" r\nr[suffix=">"]: /.*?/', ("<>",), ("<a>",)),
    ],
)
def test_a_lazy_repeat_ends_as_early_as_the_terminal_allows(
    text: str, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    _check(text, accepted, refused)


def test_complement_is_of_valid_utf8() -> None:
    grammar = compiler().compile_lark("start: T\nT: ~/a/")

    assert accepts(Matcher(grammar), "é")
    assert not Matcher(grammar).accept_bytes(b"\xff")


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('%ignore " "\nstart: "a" "b"', ("ab", "a  b ", "ab  "), (" ab",)),
        ('%ignore " "\n%ignore /-+/\nstart: A ("," A)*\nA: "x" "y"', ("xy", "xy- -, xy"), ("x y", "xy,, xy")),
        ('%grammar_options {"allow_initial_skip": true}\n%ignore " "\nstart: "a"', ("  a ",), ("b",)),
        ('%llguidance {"skip_repetition": "once"}\n%ignore / /\nstart: "a" "b"', ("ab", "a b "), ("a  b",)),
        ('%import common.WS\n%ignore WS\nstart: "a" "" "b"', ("a\n\tb",), ("\nab",)),
        ('%ignore " "\nstart: %json {"const": 1} "x"', ("1x", "1  x "), (" 1x",)),
        ('%ignore " "\nstart: "a" %lark { start: "b" "c" } "d"', ("abcd", "a bc d"), ("ab cd",)),
        (r"%ignore /\/\*([^*]|\*[^\/])*\*\//" + '\nstart: "a" "b"', ("ab", "a/* x */b"), ("a/*b",)),
    ],
)
def test_ignored_text_may_follow_each_lexeme(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("DIGIT", ("7",), ("77",)),
        ("HEXDIGIT", ("f", "F"), ("g",)),
        ("INT", ("007",), ("-1",)),
        ("SIGNED_INT", ("-1", "+2", "3"), ("--1",)),
        ("DECIMAL", ("1.", ".1", "1.1"), (".", "1")),
        ("_EXP", ("e1", "E-12"), ("e",)),
        ("FLOAT", ("1e1", "1.", ".5e+3"), ("1", "e1")),
        ("SIGNED_FLOAT", ("-1e1", "+.5"), ("-1",)),
        ("NUMBER", ("1", "1.5", "1e3", ".5"), ("-1", ".")),
        ("SIGNED_NUMBER", ("-1", "+1.5e-3"), ("",)),
        ("ESCAPED_STRING", ('""', r'"a\"b\\"'), (r'"a\"', '"a"b"', '"\n"')),
        ("LCASE_LETTER", ("a",), ("A",)),
        ("UCASE_LETTER", ("A",), ("a",)),
        ("LETTER", ("a", "A"), ("1",)),
        ("WORD", ("abC",), ("a1",)),
        ("CNAME", ("_a1",), ("1a",)),
        ("WS_INLINE", (" \t",), ("\n",)),
        ("WS", (" \n\r\t\f",), ("",)),
        ("CR", ("\r",), ("\n",)),
        ("LF", ("\n",), ("\r",)),
        ("NEWLINE", ("\n", "\r\n\n"), ("\r",)),
        ("SH_COMMENT", ("#", "# x"), ("# x\n", "x")),
        ("CPP_COMMENT", ("//", "// x"), ("/x",)),
        ("C_COMMENT", ("/**/", "/* a * b **/"), ("/*/", "/* */ */")),
        ("SQL_COMMENT", ("--", "-- x"), ("-",)),
    ],
)
def test_common_terminals(name: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(f"%import common.{name}\nstart: {name}", accepted, refused)


def test_imports_are_renamed_and_listed() -> None:
    _check("start: N WORD\n%import common.INT -> N\n%import common (WORD, WS)", ("1a",), ("a1", "1 a"))


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('start: "<" r ">"\nr[lazy]: /[a-z]+/', ("<a>",), ("<ab>", "<>")),
        ('start: r "b"\nr[lazy]: /a|ab/', ("ab",), ("abb",)),
        ('start: r r\nr[suffix=";"]: /.*/s', (";;", "a;b\n;"), (";", "a;b;c;")),
        ('start: r "!"\nr[stop=/x+y/]: /[a-z]*/', ("abxxy!", "xy!"), ("xyxy!", "ab!")),
        ('start: r "!"\nr[suffix="End"i]: /[a-z]*/i', ("abEND!", "end!"), ("endend!",)),
        ('start: r "!"\nr[suffix=STOP]: A+\nA: "a" | "b"\nSTOP: ";"', ("ab;!",), (";!", "ab!")),
        ('start: r "z"\nr[stop=""]: /[a-y]*/', ("abcz", "z"), ("zz",)),
        ('start: r "!"\nr[max_chars=2]: /é*/', ("!", "éé!"), ("ééé!",)),
    ],
)
def test_rules_that_end_early(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


_CALLS = """
start: (f | g)* tail
tail: TEXT
f_head[lazy]: TEXT "<f>"
f: f_head /[a-z]+/ "</f>"
g_head[suffix="<g>"]: TEXT
g: g_head "1" "</g>"
TEXT: /(.|\\n)*/
"""


def test_a_start_rule_of_tools_and_text_is_a_dispatch() -> None:
    _check(_CALLS, ("", "a\n<b", "x<f>ab</f>y<g>1</g>", "<f"), ("<f>", "<f>1</f>", "x<g>", "<f>a</f><g>2</g>"))


@pytest.mark.parametrize(
    "head", ['head[lazy]: TEXT "<f>"', "head[lazy]: /(.|\\n)*<f>/", 'head[suffix="<f>"]: TEXT', 'head[stop="<f>"]: ANY']
)
def test_all_spellings_of_a_head_are_the_same(head: str) -> None:
    text = f"start: f* t\nt: TEXT\n{head}\nf: head /[0-9]/\nTEXT: /[\\s\\S]*/\nANY: TEXT"

    _check(text, ("x<f>1y", "<f", ""), ("x<f>y", "<f>"))


def test_a_special_token_starts_a_tool() -> None:
    grammar = compiler().compile_lark('start: f* t\nt: TEXT\nf: TEXT <s> "1"\nTEXT: /(\\n|.)*/')
    matcher = Matcher(grammar)

    assert matcher.accept_tokens([ord("a"), SPECIAL]) == 2
    assert not matcher.can_terminate()
    assert not matcher.accept_token(ord("2"))
    assert matcher.accept_tokens([ord("1"), ord("b"), SPECIAL]) == 3


def test_special_tokens_are_units() -> None:
    grammar = compiler().compile_lark('start: "a" <s> <[98]> <[^0-255]>')
    matcher = Matcher(grammar)

    assert matcher.accept_tokens([ord("a"), SPECIAL, ord("b")]) == 3
    assert not matcher.accept_token(ord("x"))
    assert matcher.accept_token(SPECIAL)


def test_any_token() -> None:
    grammar = compiler().compile_lark("start: <[*]> <[97-98,100]>")

    assert Matcher(grammar).accept_tokens([SPECIAL, 97]) == 2
    assert Matcher(grammar).accept_tokens([SPECIAL, 99]) == 1


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('start: list{num}\nlist{x}: x ("," x)*\nnum: /[0-9]/', ("1", "1,2"), ("", "1,")),
        ('start: pair{"a", B}\npair{x, y}: x y | x pair{y, x}\nB: "b"', ("ab", "aba"), ("aa",)),
        ('start: a{b{"x"}}\na{p}: "(" p ")"\nb{p}: p p', ("(xx)",), ("(x)",)),
        ('start: nest{"x"}\nnest{p}: p | "[" nest{p} "]"', ("x", "[[x]]"), ("[x",)),
    ],
)
def test_templates(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


def test_a_template_that_grows_forever_reaches_a_limit() -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_lark('start: a{"x"}\na{p}: a{b{p}}\nb{p}: p')

    assert caught.value.code == "limit"


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        (
            'start: p::0\np::_: "" %if is_ones([0:2])\n | "a" p::set_bit(0) %if bit_clear(0)\n'
            ' | "b" p::set_bit(1) %if bit_clear(1)',
            ("ab", "ba"),
            ("", "a", "aa", "aba"),
        ),
        ('start: n::3\nn::_: "a" n::decr(_) %if gt(_, 0) | "" %if eq(_, 0)', ("aaa",), ("aa", "aaaa")),
        (
            'start: n::0\nn::_: "a" n::incr([0:2]) | "b" %if and(ge([0:2], 2), not(is_ones([0:2])))',
            ("aab",),
            ("ab", "aaab"),
        ),
        (
            'start: n::0xF\nn::_: "a" n::bit_and(6) %if bit_set(3) | "b" %if bit_count_eq([0:4], 2)',
            ("ab",),
            ("b", "a", "aab"),
        ),
        (
            'start: n::0\nn::_: "a" n::bit_or(5) | "b" %if or(true, eq([0:1], 0)) | "c" %if bit_count_ge(_, 2)',
            ("b", "ac"),
            ("c",),
        ),
        ('start: n::2\nn::_: m::_\nm::_: "x" %if true() | "y" %if is_zeros(_)', ("x",), ("y",)),
        ('start: n::1\nn::_: "x" n::clear_bit(0) %if ne(_, 0) | "y" %if lt(_, 1)', ("xy",), ("y", "xx")),
    ],
)
def test_parameters(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


def test_nested_grammars_have_their_own_names() -> None:
    text = 'start: x %lark {\n  %ignore " "\n  start: x "!"\n  x: "b"\n} x\nx: "a"'

    _check(text, ("ab!a", "ab ! a"), ("aa!a", "a b!a"))


def test_json_schemas_and_substrings() -> None:
    _check(
        'start: %json {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]} "."',
        ('{"a":1}.',),
        ("{}.",),
    )
    _check('start: %regex {"substring_words": "one two"}', ("one", "two", " ", "one two", ""), ("ne", "onetwo"))
    _check('start: "<" S ">"\nS: %regex {"substring_chars": "aéb"}', ("<aé>", "<>"), ("<ab>",))


def test_captures_leave_out_what_ends_them() -> None:
    grammar = compiler().compile_lark(
        'start: head body\nhead[capture="h", suffix=";", stop_capture="s"]: /[a-z;]*/\nbody[capture]: "x" | "y" body'
    )
    matcher = Matcher(grammar)
    assert matcher.accept_bytes(b"ab;yx")

    assert matcher.captures() == [("h", b"ab"), ("s", b";"), ("body", b"yx"), ("body", b"x")]


def test_what_is_ignored_is_noted() -> None:
    grammar = compiler().compile_lark("start: A\nA.2: /a/\nr[temperature=0.5]: A")

    assert [note.split(":")[0] for note in grammar.notes] == ["A", "rule r"]


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment"),
    [
        ("start: x", 1, 8, "unknown name x"),
        ('start: "a\n', 1, 8, "not closed"),
        ("start: /a", 1, 8, "not closed"),
        ("start: <a", 1, 8, "not closed"),
        ("start: <a b>", 1, 8, "blanks"),
        ("start: <|none|>", 1, 8, "no token"),
        ("start: <[9999]>", 1, 8, "outside the vocabulary"),
        ("start: <[3-1]>", 1, 8, "out of order"),
        ("start: <[,]>", 1, 8, "expected token ids"),
        ("start: <[^*]>", 1, 8, "expected token ids"),
        ("start: ^", 1, 8, "unexpected character"),
        ('start: ("a"', 1, 12, "expected ')'"),
        ('start: "a" )', 1, 12, "end of the line"),
        ('start: "a"\nstart: "b"', 2, 1, "defined twice"),
        ('start: "a"\nrule missing', 2, 6, "expected ':'"),
        ('start: "a"{2,1}', 1, 11, "out of order"),
        ('start: "a"{-1}', 1, 12, "repeat count"),
        ('start: "a"+*', 1, 12, "nothing to repeat"),
        ('start: "ab".."c"', 1, 8, "one character"),
        ('start: "a".."b"i', 1, 13, "flags"),
        ('start: "é"i', 1, 8, "ASCII"),
        ("start: /a/m", 1, 11, "flags"),
        (r'start: "\q"', 1, 9, "unknown escape"),
        ("start: /a(b/", 1, 10, "group is not closed"),
        (r"start: /\ba/", 1, 9, "sees what stands before"),
        (r"start: /(?<!x)a/", 1, 9, "sees what stands before"),
        (r"start: /(a$|b(?!c))d?/", 1, 9, "^ or $"),
        (r"start: /a(?=b$)/", 1, 9, "^ or $"),
        ("start: T\nT: T2\nT2: T", 3, 5, "refer to itself"),
        ('start: T\nT: x\nx: "a"', 2, 4, "cannot refer to the rule x"),
        ("start: T\nT: %json {}", 2, 4, "%json"),
        ("start: T\nT: <s>", 2, 4, "tokens"),
        ("start: A & A\nA: /a/", 1, 8, "only be used in terminals"),
        ("start: ~/a/", 1, 8, "only be used in terminals"),
        ("start: @other", 1, 8, "unknown grammar"),
        ("other: /a/", 1, 1, 'no rule "start"'),
        ("start: %lark { x: /a/ }", 1, 8, 'no rule "start"'),
        ("%import common.NONE\nstart: NONE", 1, 16, "library"),
        ("%import other.X\nstart: X", 1, 9, "only the library"),
        ("%declare X\nstart: X", 2, 8, "declared only"),
        ("%ignore X\nstart: /a/", 1, 9, "unknown name X"),
        ('%grammar_options {"x": 1}\nstart: /a/', 1, 1, "unknown option"),
        ("start: %regex {}", 1, 8, "substring_chunks"),
        ("start[lazy, lazy]: /a/", 1, 13, "twice"),
        ("start[max_tokens=3]: /a/", 1, 7, "max_tokens"),
        ("start[nope]: /a/", 1, 7, "attribute"),
        ('start[capture=""]: /a/', 1, 15, "empty"),
        ("T[lazy]: /a/\nstart: T", 1, 2, "only rules"),
        ('start[lazy]: x\nx: "a"', 1, 14, "a rule cannot stand here"),
        ("start: x\nx::_: /a/", 1, 8, "needs a parameter"),
        ("start: x::0\nx: /a/", 1, 8, "takes no parameter"),
        ("start: x::0\nx::_: /a/ %if eq([3:3], 0)", 2, 18, "past their start"),
        ("start: x::0\nx::_: /a/ %if eq([0:65], 0)", 2, 21, "at most 64"),
        ("start: x::0\nx::_: /a/ %if none(_)", 2, 15, "unknown condition"),
        ("start: x{/a/}\nx{p, q}: p q", 1, 8, "takes 2 arguments"),
    ],
)
def test_malformed_grammar_raises_with_line_and_column(text: str, line: int, column: int, fragment: str) -> None:
    with pytest.raises((GrammarSyntaxError, UnsupportedSchemaError)) as caught:
        compiler().compile_lark(text)

    message, shown, caret = caught.value.message.split("\n")
    assert message.startswith(f"line {line}, column {column}: ")
    assert fragment in message
    assert shown == text.split("\n")[line - 1]
    assert caret == " " * (column - 1) + "^"


def test_a_mistake_in_a_schema_names_both_places() -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_lark('start: "a"\n   | %json {"type": "text"}')

    assert caught.value.message.startswith("line 2, column 6: %json: ")
    assert caught.value.path == "/type"
    assert caught.value.message.endswith("^")


def test_special_text_in_a_string_is_the_token() -> None:
    vocabulary = Vocabulary([b"a", b"<s>", b"<", b"s", b">"], special_token_ids=[1], stop_token_ids=[])
    matcher = Matcher(Compiler(vocabulary).compile_lark('start: "a<s>"'))

    assert matcher.accept_token(0)
    assert matcher.validate_tokens([2]) == 0
    assert matcher.accept_token(1)


def test_end_of_text_is_allowed_where_the_grammar_ends() -> None:
    matcher = Matcher(compiler().compile_lark('start: "ab"'))

    assert not matcher.accept_token(STOP)
    assert matcher.accept_bytes(b"ab")
    assert matcher.accept_token(STOP)


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment"),
    [
        ('root ::= "a"', 1, 6, '"::=" is EBNF'),
        ('start: "a"\n%ignore\n', 2, 8, "expected a terminal"),
        ('start: %json {"a": }', 1, 14, "%json: JSON: expected a value"),
        ("start: /a/\n%grammar_options {", 2, 18, "%grammar_options: JSON: expected"),
        ("start: %lark", 1, 13, "expected '{'"),
        ("start: x::", 1, 11, "expected a number"),
        ("start[: /a/", 1, 7, "attribute"),
        ("%declare x", 1, 10, "name of a terminal"),
        ("start: " + "(" * 300, 1, 264, "nested too deep"),
        ("start: " + "~" * 300 + "/a/", 1, 264, "nested too deep"),
    ],
)
def test_what_strangers_write_is_answered_with_its_place(text: str, line: int, column: int, fragment: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_lark(text)

    message, _, caret = caught.value.message.split("\n")
    assert message.startswith(f"line {line}, column {column}: ")
    assert fragment in message
    assert caret.endswith("^")


def test_many_extensions_nest_nothing() -> None:
    grammar = compiler().compile_lark('start: "a"\n' + "".join(f'%extend start: "{i:04d}"\n' for i in range(5000)))

    assert accepts(Matcher(grammar), "4999")
    assert not accepts(Matcher(grammar), "5000")


def test_a_byte_order_mark_is_skipped() -> None:
    assert accepts(Matcher(compiler().compile_lark('\ufeffstart: "a"')), "a")
    assert accepts(Matcher(compiler().compile_ebnf('\ufeffroot ::= "a"')), "a")


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("%import common.INT\n%override INT: /[0-3]+/\nstart: INT", ("12",), ("4",)),
        ("%import common.INT\n%extend INT: /[a-f]/ | /z/\nstart: INT", ("12", "f", "z"), ("ff", "1f")),
        ('start: x\nx: "a" | "b"\n%extend x: "c" x', ("a", "cb", "cca"), ("c", "ab")),
        ('start: x\n?x: "a"\n%override ?x: "b"\n%extend x: "c"', ("b", "c"), ("a",)),
        ("%declare T\nstart: T\n%override T.2: /t/", ("t",), ("",)),
        ('x: "a"\nstart: %lark { start: x\nx: "b"\n%extend x: "c" } x', ("ba", "ca"), ("aa", "bb")),
    ],
)
def test_definitions_are_changed(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    _check(text, accepted, refused)


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment"),
    [
        ('start: "a"\n%extend x: "b"', 2, 9, "not defined so far"),
        ('start: "a"\n%override 3', 2, 11, "name of a rule"),
        ('start: "a"\n%override start', 2, 16, "':' after the name"),
        ('start: x{"a"}\nx{p}: p\n%extend x: "b"', 3, 9, "has parameters"),
        ("%declare T\nstart: T\n%extend T: /t/", 2, 8, "declared only"),
    ],
)
def test_a_change_of_what_cannot_be_changed_is_refused(text: str, line: int, column: int, fragment: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_lark(text)

    assert caught.value.message.startswith(f"line {line}, column {column}: ")
    assert fragment in caught.value.message
