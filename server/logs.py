"""Log lines: text for people, JSON for collectors, each with the id of its request, none with the text of a prompt.

Errors can quote what a client sent, so unless `prompts` is set the text of an exception is left out where its type does
not rule that out; its type and where it was raised stay.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

from server import record
from server.engines.base import EngineUnavailable
from server.settings import LogSettings

LOGGERS = ("strictserve", "uvicorn")
"""Ours, and the HTTP server's."""

_QUOTES_NOTHING = (OSError, MemoryError, TimeoutError, EngineUnavailable)
"""Exceptions whose text comes from the system or from us."""


def configure(settings: LogSettings) -> None:
    """Let the loggers of this process write to standard error as the settings say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings))
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    logging.getLogger("strictserve").setLevel(settings.level.upper())
    # uvicorn's own lines say what ours say; its warnings are about connections that are no requests.
    logging.getLogger("uvicorn").setLevel(logging.ERROR if settings.level == "error" else logging.WARNING)
    logging.captureWarnings(True)


def formatter(settings: LogSettings) -> logging.Formatter:
    """The formatter of the settings."""
    kind = _Json if settings.format == "json" else _Text
    return kind(prompts=settings.prompts)


def facts(line: logging.LogRecord) -> Mapping[str, Any]:
    """What was logged with `extra={"facts": {...}}`."""
    given = getattr(line, "facts", None)
    return given if isinstance(given, Mapping) else {}


class _Formatter(logging.Formatter):
    def __init__(self, *, prompts: bool) -> None:
        super().__init__()
        self._prompts = prompts

    def _exception(self, line: logging.LogRecord) -> str | None:
        if line.exc_info is None or line.exc_info[1] is None:
            return None
        return describe(line.exc_info[1], prompts=self._prompts)


class _Json(_Formatter):
    def format(self, line: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": _time(line.created),
            "level": line.levelname.lower(),
            "logger": line.name,
            "message": line.getMessage(),
        }
        request_id = record.current().request_id
        if request_id:
            entry["request_id"] = request_id
        entry.update(facts(line))
        exception = self._exception(line)
        if exception is not None:
            entry["exception"] = exception
        # Clients choose some of these texts, lone surrogates included: stay in ASCII.
        return json.dumps(entry, ensure_ascii=True, default=str)


class _Text(_Formatter):
    def format(self, line: logging.LogRecord) -> str:
        words = [_time(line.created), line.levelname, _printable(line.getMessage())]
        request_id = record.current().request_id
        if request_id:
            words.append(f"request_id={request_id}")
        words.extend(f"{key}={_printable(str(value))}" for key, value in facts(line).items())
        exception = self._exception(line)
        return " ".join(words) + (f"\n{exception}" if exception is not None else "")


def describe(error: BaseException, *, prompts: bool) -> str:
    """The chain of an exception, oldest first: where each was raised, its type and, if it may be told, its text."""
    parts = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        frames = "".join(traceback.format_tb(link.__traceback__))
        told = prompts or isinstance(link, _QUOTES_NOTHING)
        text = f": {link}" if told else ""
        parts.append(f"{frames}{type(link).__module__}.{type(link).__qualname__}{text}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\nled to\n".join(reversed(parts))


def _time(seconds: float) -> str:
    """UTC, RFC 3339, milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def _printable(text: str) -> str:
    """One line without control characters: nobody forges a line of ours."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
