"""Places of a chat request in the words of the request that it was translated from.

Each wire format is translated to a chat request, and whatever is wrong is found there. What the client is told
must name the place in what it sent: `response_format.json_schema.schema` is `text.format.schema` in one format and
`output_config.format.schema` in another.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass

from server.errors import ApiError


@dataclass(frozen=True)
class Names:
    """`places` are (pattern, template) pairs for the beginning of a place, the first match wins; `words` are such
    pairs for fields that messages speak of. `messages[i]` is where message i came from."""

    places: tuple[tuple[str, str], ...]
    words: tuple[tuple[str, str], ...] = ()
    messages: Sequence[str] = ()

    def place(self, param: str) -> str:
        """The place in the client's words; as it is where the two formats agree."""
        message = re.match(r"messages\[(\d+)\]", param)
        if message and int(message.group(1)) < len(self.messages):
            return self.messages[int(message.group(1))]
        for pattern, template in self.places:
            found = re.match(pattern + r"(?![A-Za-z0-9_])", param)
            if found:
                return found.expand(template) + param[found.end() :]
        return param

    def told(self, error: ApiError) -> ApiError:
        """The same error, about the client's own request."""
        renamed = copy.copy(error)
        rest = error.message
        if error.param is not None:
            renamed.param = self.place(error.param)
            if rest.startswith(error.param):
                rest = renamed.param + rest.removeprefix(error.param)
        renamed.message = self.text(rest)
        return renamed

    def text(self, message: str) -> str:
        """A message that speaks of fields, in the client's words."""
        for chat, own in self.words:
            message = re.sub(rf"\b{chat}\b", own, message)
        return message
