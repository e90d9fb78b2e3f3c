"""How a model family writes the arguments of a call: the styles of the structural-tag language, for the way back.

`style` is the name under which the grammar engine writes the style (docs/STRUCTURAL_TAGS.md, *Styles*); the
other fields are what a reader and a writer must know about it. JSON arguments are an object; the others are
members one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Json:
    """A JSON object."""

    style: str = "json"


@dataclass(frozen=True)
class Fields:
    """One marked field per argument: `member` KEY `middle` (white space `middle2`) (LABEL `after_label`) VALUE `close`.

    A value is the text of a string, or JSON. Without labels the tool's schema tells which.
    """

    style: str
    member: str
    middle: str
    close: str
    middle2: str = ""
    string_label: str = ""
    """The label of strings; "" where there are no labels."""
    json_label: str = ""
    """The label of all other values; "" where it is the JSON type."""
    after_label: str = ""
    escapes: tuple[tuple[str, str], ...] = ()
    """Characters of keys and what is written for them."""
    line: str = ""
    """Written by templates after each field."""
    python: bool = False
    """True, false and null may stand as Python prints them, which templates do."""
    literals: bool = False
    """And so may arrays and objects."""


@dataclass(frozen=True)
class Nested:
    """Marks inside of marks: members of objects and items of arrays have them at every level.

    A member is `member` KEY `middle` (LABEL `after_label`) VALUE `close`, an item `item` (LABEL `after_label`) VALUE
    `close`. The text of a string ends at the first `guard`; other scalars are JSON. Without labels the tool's schema
    tells what a text is, and whether marks inside of a value are members or items.
    """

    style: str
    member: str
    middle: str
    close: str
    guard: str
    item: str = ""
    """"" where items are members called `item`."""
    close_end: str = ""
    """Where it is not "", the key (or `item`) and this stand after `close`."""
    labels: tuple[tuple[str, str], ...] = ()
    """JSON types and their labels; no labels: no types."""
    after_label: str = ""
    escapes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Braces:
    """`{KEY:VALUE,KEY:VALUE}` with bare keys; strings between two `quote` marks, objects and arrays alike inside."""

    style: str
    quote: str
    null: str = "null"
    """What templates print for null; the model may write JSON's word as well."""


@dataclass(frozen=True)
class Keywords:
    """`KEY=VALUE, KEY=VALUE`, Python's literals; ends before the bracket that closes the call."""

    style: str = "pythonic"


ArgumentStyle = Json | Fields | Nested | Braces | Keywords

_BAR = "\uff5c"


_QUOTES = (("&", "&amp;"), ('"', "&quot;"))

JSON = Json()
QWEN = Fields("qwen_xml", "<parameter=", ">", "</parameter>", line="\n", python=True, literals=True)
QWEN_BARE = Fields("qwen_xml", "<parameter=", ">", "</parameter>", python=True, literals=True)
QWEN_PADDED = Fields("qwen_padded_xml", "<parameter=", ">\n", "\n</parameter>", line="\n", python=True)
MINIMAX = Fields("minimax_xml", '<parameter name="', '">', "</parameter>", line="\n")
STEP = Fields("step_xml", '<steptml:parameter name="', '">', "</steptml:parameter>")
GLM = Fields("glm_xml", "<arg_key>", "</arg_key>", "</arg_value>", middle2="<arg_value>")
GLM_LINES = Fields("glm_xml", "<arg_key>", "</arg_key>\n", "</arg_value>", middle2="<arg_value>", line="\n")
LONGCAT = Fields(
    "longcat_xml",
    "<longcat_arg_key>",
    "</longcat_arg_key>\n",
    "</longcat_arg_value>",
    middle2="<longcat_arg_value>",
    line="\n",
)
DSML = Fields(
    "deepseek_xml",
    f'<{_BAR}DSML{_BAR}parameter name="',
    '" string="',
    f"</{_BAR}DSML{_BAR}parameter>",
    string_label="true",
    json_label="false",
    after_label='">',
    line="\n",
)
DSML_SPACED = Fields(
    "deepseek_v4_1_xml",
    f'<{_BAR}DSML{_BAR} parameter name="',
    '" string="',
    f"</{_BAR}DSML{_BAR} parameter>",
    string_label="true",
    json_label="false",
    after_label='">',
    line="\n",
)
GCML = Fields(
    "gigachat_xml",
    f'<{_BAR}GCML{_BAR}parameter name="',
    '" string="',
    f"</{_BAR}GCML{_BAR}parameter>",
    string_label="true",
    json_label="false",
    after_label='">',
    line="\n",
)
KIMI_K3 = Fields(
    "kimi_k3_xml",
    '<|open|>argument key="',
    '" type="',
    "<|close|>argument<|sep|>",
    string_label="string",
    after_label='"<|sep|>',
    escapes=_QUOTES,
)
_M3 = "]<]minimax[>["
MINIMAX_M3 = Nested(
    "minimax_m3_xml",
    _M3 + "<",
    ">",
    _M3 + "</",
    _M3,
    close_end=">",
)
COHERE = Nested(
    "cohere_xml",
    '<cofl:value name="',
    '" type="',
    "</cofl:value>",
    "</cofl:value>",
    item='<cofl:value type="',
    labels=(("string", "raw"), ("array", "list"), ("object", "dict"), ("", "json")),
    after_label='">',
    escapes=(("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")),
)
GEMMA = Braces("gemma", '<|"|>', null="None")
FUNCTION_GEMMA = Braces("function_gemma", "<escape>")
PYTHONIC = Keywords()

STYLES: tuple[ArgumentStyle, ...] = (
    *(JSON, QWEN, QWEN_BARE, QWEN_PADDED, MINIMAX, STEP, GLM, GLM_LINES, LONGCAT, DSML, DSML_SPACED, GCML, KIMI_K3),
    *(MINIMAX_M3, COHERE, GEMMA, FUNCTION_GEMMA, PYTHONIC),
)
