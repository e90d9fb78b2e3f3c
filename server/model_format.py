"""Which format the model speaks: named in the settings, or told from its name, its chat template and its vocabulary.

`structural_tags/known_models/*.toml` maps model names to formats, for families whose chat templates do not show how the
model calls; `model.known_models` names another folder in its place.
A template that the settings give in place of the model's own is taken at its word.
"""

from __future__ import annotations

import fnmatch
import json
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from server.settings import ModelSettings, SettingsError
from structural_tags.formats import FORMATS, ModelFormat, get_format
from structural_tags.formats.recognise import recognise

KNOWN_MODELS = files("structural_tags") / "known_models"
"""The files that the package brings."""


def resolve_format(model: ModelSettings) -> ModelFormat:
    """The format of the settings; Hermes where there is no model at all (the scripted engine).

    Raises:
        SettingsError: its name is unknown, or nothing tells the model's format.
    """
    if model.tool_format != "auto":
        return _named(model.tool_format, "model.tool_format")
    template = chat_template_text(model)
    known = _known_by_name(model) if model.chat_template is None else None
    if known is not None:
        return known
    if not template:
        return FORMATS["plain" if model.path is not None else "hermes"]
    found = recognise(template, tokens=vocabulary_tokens(model))
    if found is None:
        known_names = ", ".join(sorted(FORMATS))
        raise SettingsError(
            f"model.tool_format: the chat template does not tell how the model calls tools; name one of {known_names}"
        )
    return found


def default_reasoning(model: ModelSettings, model_format: ModelFormat) -> bool:
    """Whether a request that does not say so reasons."""
    if model_format.reasoning is None or model.reasoning == "off":
        return False
    return model.reasoning == "on" or model_format.reasoning.by_default


def known_models(folder: Traversable) -> dict[str, str]:
    """All patterns of model names in the folder's files, and the names of their formats.

    Raises:
        SettingsError: a file cannot be read, or names an unknown format.
    """
    known: dict[str, str] = {}
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if not path.name.endswith(".toml"):
            continue
        try:
            formats = tomllib.loads(path.read_text(encoding="utf-8")).get("formats", {})
        except (OSError, ValueError) as error:
            raise SettingsError(f"{path}: {error}") from error
        for pattern, name in formats.items():
            known[pattern] = _named(name, f"{path}: formats.{pattern}").name
    return known


def vocabulary_tokens(model: ModelSettings) -> frozenset[str] | None:
    """The texts of the added tokens of the model's vocabulary, None when it has no tokenizer file."""
    path = Path(model.path, "tokenizer.json") if model.path is not None else None
    if path is None or not path.is_file():
        return None
    try:
        added = json.loads(path.read_text(encoding="utf-8")).get("added_tokens", [])
        return frozenset(token["content"] for token in added)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def chat_template_text(model: ModelSettings) -> str:
    """The chat template that will be used, "" when there is none.

    Hugging Face models keep it in `chat_template.jinja` or, older ones, in `tokenizer_config.json`.
    """
    if model.chat_template is not None:
        try:
            return Path(model.chat_template).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"model.chat_template: {error}") from error
    if model.path is None:
        return ""
    own = Path(model.path, "chat_template.jinja")
    config = Path(model.path, "tokenizer_config.json")
    try:
        if own.is_file():
            return own.read_text(encoding="utf-8")
        if config.is_file():
            return _templates(json.loads(config.read_text(encoding="utf-8")).get("chat_template"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"model.path: {error}") from error
    return ""


def _templates(template: object) -> str:
    """A string; or a list of named templates, searched as one text."""
    if isinstance(template, list):
        return "\n".join(str(each.get("template", "")) for each in template if isinstance(each, dict))
    return template if isinstance(template, str) else ""


def _named(name: object, place: str) -> ModelFormat:
    try:
        return get_format(str(name))
    except ValueError as error:
        raise SettingsError(f"{place}: {error}") from error


def _known_by_name(model: ModelSettings) -> ModelFormat | None:
    folder: Traversable = KNOWN_MODELS if model.known_models is None else Path(model.known_models)
    if model.known_models is not None and not folder.is_dir():
        raise SettingsError(f"model.known_models: no folder {folder}")
    names = [model.served_name or "", Path(model.path).name if model.path is not None else ""]
    for pattern, fmt in known_models(folder).items():
        if any(fnmatch.fnmatch(name.lower(), pattern.lower()) for name in names if name):
            return get_format(fmt)
    return None
