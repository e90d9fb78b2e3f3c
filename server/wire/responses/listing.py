"""Items of a stored conversation, each with an id, in pages of OpenAI's list shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server.errors import refuse
from server.wire.responses.items import Item
from server.wire.responses.reply import new_id

_MOST = 100
_USUAL = 20


def with_ids(given: str | Sequence[Item] | None) -> list[dict[str, Any]]:
    """The input of a checked request as items that can be stored; those without an id get one."""
    if isinstance(given, str):
        part = {"type": "input_text", "text": given}
        return [{"id": new_id("message"), "type": "message", "role": "user", "content": [part]}]
    items = []
    for item in given or ():
        plain = item.model_dump(by_alias=True, exclude_none=True)
        if isinstance(plain.get("content"), str):
            kind = "output_text" if plain.get("role") == "assistant" else "input_text"
            plain["content"] = [{"type": kind, "text": plain["content"]}]
        items.append({"id": new_id(item.type), **plain})
    return items


def page(items: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """One page: `limit` items in `order` (desc unless it says asc) from the one `after`.

    Raises:
        ApiError: 400 for a limit, an order or an item that is none.
    """
    limit = query.get("limit", str(_USUAL))
    if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit[:9]) <= _MOST:
        refuse("limit", f"must be a number from 1 to {_MOST}")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        refuse("order", "must be 'asc' or 'desc'")
    ordered = list(items) if order == "asc" else list(reversed(items))
    ids = [item["id"] for item in ordered]
    after = query.get("after")
    if after is not None:
        if after not in ids:
            refuse("after", f"no item {after[:128]!r} is in this list")
        ordered = ordered[ids.index(after) + 1 :]
    shown = ordered[: int(limit)]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(shown) < len(ordered),
    }
