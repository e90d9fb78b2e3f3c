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


@dataclass(frozen=True)
class Braces:
    """`{KEY:VALUE,KEY:VALUE}` with bare keys; strings between two `quote` marks, objects and arrays alike inside."""

    style: str
    quote: str


@dataclass(frozen=True)
class Keywords:
    """`KEY=VALUE, KEY=VALUE`, Python's literals; ends before the bracket that closes the call."""

    style: str = "pythonic"


ArgumentStyle = Json | Fields | Braces | Keywords

_BAR = "\uff5c"
_QUOTES = (("&", "&amp;"), ('"', "&quot;"))

JSON = Json()
QWEN = Fields("qwen_xml", "<parameter=", ">", "</parameter>", line="\n")
QWEN_BARE = Fields("qwen_xml", "<parameter=", ">", "</parameter>")
QWEN_PADDED = Fields("qwen_padded_xml", "<parameter=", ">\n", "\n</parameter>", line="\n")
MINIMAX = Fields("minimax_xml", '<parameter name="', '">', "</parameter>", line="\n")
STEP = Fields("step_xml", '<steptml:parameter name="', '">', "</steptml:parameter>")
GLM = Fields("glm_xml", "<arg_key>", "</arg_key>", "</arg_value>", middle2="<arg_value>")
GLM_LINES = Fields("glm_xml", "<arg_key>", "</arg_key>\n", "</arg_value>", middle2="<arg_value>", line="\n")
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
GEMMA = Braces("gemma", '<|"|>')
FUNCTION_GEMMA = Braces("function_gemma", "<escape>")
PYTHONIC = Keywords()

STYLES: tuple[ArgumentStyle, ...] = (
    *(JSON, QWEN, QWEN_BARE, QWEN_PADDED, MINIMAX, STEP, GLM, GLM_LINES, DSML, DSML_SPACED, GCML, KIMI_K3),
    *(GEMMA, FUNCTION_GEMMA, PYTHONIC),
)
