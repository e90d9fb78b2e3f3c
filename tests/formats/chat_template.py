"""Chat templates rendered the way the server's model does it: by transformers."""

from __future__ import annotations

from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template


def render_template(
    template: str, messages: list[dict[str, Any]], *, tools: list[Any] | None = None, **variables: Any
) -> str:
    rendered = render_jinja_template([messages], tools=tools, chat_template=template, **variables)
    return str(rendered[0][0])
