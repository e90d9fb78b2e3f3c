"""MiroThinker: one call a turn, to a tool of an MCP server.

    <use_mcp_tool>
    <server_name>tools</server_name>
    <tool_name>f</tool_name>
    <arguments>
    {"x": 1}
    </arguments>
    </use_mcp_tool>

Tools of OpenAI's interface have no server. The template makes up its name; whatever the model writes there is read.
"""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Signs, Word
from structural_tags.formats.hermes import THINK

MIROTHINKER = ModelFormat(
    name="mirothinker",
    calls=Calls(
        (
            CallSyntax(
                *("<use_mcp_tool>\n<server_name>", Word("generic-extras"), "</server_name>\n<tool_name>", BARE),
                *("</tool_name>\n<arguments>\n", Arguments(JSON), "\n</arguments>\n</use_mcp_tool>"),
            ),
        ),
        trigger="<use_mcp_tool>",
        lead="\n",
        lead_always=True,
        single=True,
    ),
    reasoning=THINK,
    signs=(Signs(("<use_mcp_tool>", "<server_name>")),),
    sources=(
        "MiroThinker.jinja (ik_llama.cpp 8337e4cd): render_tool_call, render_tool_server, reasoning_content; the "
        "system message allows one call a turn (Jinja cannot render it: its macros use variables of their caller)",
    ),
)
