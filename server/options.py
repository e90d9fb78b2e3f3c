"""Every key of the settings as a flag of the command line and as an environment variable.

Read off the settings' models, so that a key added there has both at once:

    [server] max_body_bytes   --max-body-bytes      STRICTSERVE_MAX_BODY_BYTES
    [log] format              --log-format          STRICTSERVE_LOG_FORMAT
    [vllm] max_num_seqs       --vllm max_num_seqs=8 STRICTSERVE_VLLM='{"max_num_seqs": 8}'

Keys of `[server]` and `[model]` go by their own name, those of other tables by the table's name first.
A flag wins over a variable, a variable over the file, the file over the default.
"""

from __future__ import annotations

import argparse
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from server.settings import Settings, SettingsError, Tables

PREFIX = "STRICTSERVE_"
NOT_OPTIONS = frozenset({"STRICTSERVE_CONFIG", "STRICTSERVE_RESTARTS", "STRICTSERVE_STATS_DIR"})
"""Variables of ours that are no keys of the settings."""

_BARE_TABLES = ("server", "model")
_NAMES = {("model", "path"): "model"}
_TITLES = {
    "server": "HTTP server",
    "model": "model",
    "compiler": "grammar compiler",
    "cors": "CORS",
    "tls": "TLS",
    "log": "logs",
    "tracing": "tracing",
}


@dataclass(frozen=True)
class Option:
    """One key of the settings."""

    table: str
    key: str
    name: str
    """As in `--name`."""
    kind: Literal["text", "number", "switch", "list"]
    choices: tuple[str, ...]
    help: str
    default: Any

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace("-", "_")

    def value(self, text: str) -> Any:
        """What a variable says; the settings' model checks it."""
        return [part.strip() for part in text.split(",") if part.strip()] if self.kind == "list" else text


def options() -> Iterator[Option]:
    """All keys, table by table, in the order of the settings."""
    for table, field in Settings.model_fields.items():
        if table == "vllm":
            continue
        for key, entry in type(field.default).model_fields.items():
            yield _option(table, key, entry)


def _option(table: str, key: str, entry: FieldInfo) -> Option:
    bare = key if table in _BARE_TABLES else f"{table}_{key}"
    annotation = entry.annotation
    alternatives = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    choices: tuple[str, ...] = ()
    kind: Literal["text", "number", "switch", "list"] = "text"
    for one in alternatives:
        if get_origin(one) is Literal:
            choices = tuple(str(choice) for choice in get_args(one))
        elif get_origin(one) is tuple:
            kind = "list"
        elif one is bool:
            kind = "switch"
        elif one in (int, float):
            kind = "number"
    return Option(
        table=table,
        key=key,
        name=_NAMES.get((table, key), bare.replace("_", "-")),
        kind=kind,
        choices=choices,
        help=" ".join((entry.description or "").split()),
        default=entry.default,
    )


def add_flags(parser: argparse.ArgumentParser) -> None:
    """One group of flags per table. A flag that is not given leaves None behind."""
    groups: dict[str, Any] = {}
    for option in options():
        if option.table not in groups:
            title = f"{_TITLES.get(option.table, option.table)} ([{option.table}])"
            groups[option.table] = parser.add_argument_group(title)
        _add(groups[option.table], option)
    vllm = parser.add_argument_group("vLLM ([vllm])")
    vllm.add_argument(
        "--vllm",
        action="append",
        metavar="KEY=VALUE",
        help=f"an engine argument of vLLM, value in JSON or a text; may be repeated ({PREFIX}VLLM: a JSON object)",
    )


def _add(group: Any, option: Option) -> None:
    default = ""
    if option.default not in (None, ()):
        shown = ",".join(option.default) if isinstance(option.default, tuple) else str(option.default)
        default = f"default: {shown.lower() if option.kind == 'switch' else shown}; "
    text = f"{option.help} ({default}{option.variable})".replace("%", "%%")
    arguments: dict[str, Any] = {"dest": _destination(option), "default": None, "help": text}
    if option.kind == "switch":
        arguments["action"] = argparse.BooleanOptionalAction
    elif option.kind == "list":
        arguments.update(action="append", metavar="VALUE[,VALUE]")
    elif option.choices:
        arguments["metavar"] = "{" + ",".join(option.choices) + "}"
    else:
        arguments["metavar"] = "N" if option.kind == "number" else "VALUE"
    group.add_argument(option.flag, **arguments)


def _destination(option: Option) -> str:
    return f"{option.table}.{option.key}"


def names_of_flags() -> dict[tuple[str, str], str]:
    """(table, key) -> the flag, for error messages."""
    return {(option.table, option.key): option.flag for option in options()}


def names_of_variables() -> dict[tuple[str, str], str]:
    """(table, key) -> the variable, for error messages."""
    return {(option.table, option.key): option.variable for option in options()}


def from_flags(arguments: argparse.Namespace) -> Tables:
    """What the command line says, in the shape of the settings file.

    Raises:
        SettingsError: `--vllm` without `=`.
    """
    tables: Tables = {}
    for option in options():
        given = getattr(arguments, _destination(option), None)
        if given is not None:
            if option.kind == "list":
                given = [part for text in given for part in option.value(text)]
            tables.setdefault(option.table, {})[option.key] = given
    for text in arguments.vllm or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsError(f"--vllm: {text!r} is not KEY=VALUE")
        tables.setdefault("vllm", {})[key.strip().replace("-", "_")] = _json_or_text(value)
    return tables


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def from_environment(environment: Mapping[str, str]) -> Tables:
    """What the variables say; an empty one says nothing.

    Raises:
        SettingsError: STRICTSERVE_VLLM is no JSON object.
    """
    tables: Tables = {}
    for option in options():
        text = environment.get(option.variable, "")
        if text:
            tables.setdefault(option.table, {})[option.key] = option.value(text)
    text = environment.get(f"{PREFIX}VLLM", "")
    if text:
        value = _json_or_text(text)
        if not isinstance(value, dict):
            raise SettingsError(f"{PREFIX}VLLM: it must be a JSON object")
        tables["vllm"] = value
    return tables


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables that begin like ours and are none: mistyped, most likely."""
    known = {option.variable for option in options()} | NOT_OPTIONS | {f"{PREFIX}VLLM"}
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
