"""Which format a model speaks: named in the settings, or told from its chat template."""

from __future__ import annotations

import json
from pathlib import Path

from server.settings import ModelSettings, SettingsError
from structural_tags.formats import ModelFormat, get_format

_REASONS_ON_REQUEST = frozenset(("hermes_thinking",))
"""Formats whose model reasons only when a request asks for it."""


def resolve_format(model: ModelSettings) -> ModelFormat:
    """The format of the settings. Raises SettingsError when its name is unknown."""
    name = model.tool_format
    if name == "auto":
        name = _told_by_template(chat_template_text(model))
    try:
        return get_format(name)
    except ValueError as error:
        raise SettingsError(f"model.tool_format: {error}") from error


def default_reasoning(model: ModelSettings, model_format: ModelFormat) -> bool:
    """Whether a request that does not say so reasons."""
    if model_format.reasoning is None or model.reasoning == "off":
        return False
    return model.reasoning == "on" or model_format.name not in _REASONS_ON_REQUEST


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
            # A string, or a list of named templates: searched as text either way.
            template = json.loads(config.read_text(encoding="utf-8")).get("chat_template", "")
            return template if isinstance(template, str) else json.dumps(template)
    except (OSError, ValueError) as error:
        raise SettingsError(f"model.path: {error}") from error
    return ""


def _told_by_template(template: str) -> str:
    """A format's name. Qwen3's template reasons unless told not to; one that merely knows
    `enable_thinking` reasons when told to; anything else is taken for the Hermes family."""
    if "<think>" not in template or "enable_thinking" not in template:
        return "hermes"
    if "enable_thinking is false" in template:
        return "qwen3"
    return "hermes_thinking"
