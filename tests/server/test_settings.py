"""The settings file, and which format a model speaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.model_format import default_reasoning, resolve_format
from server.settings import ModelSettings, Settings, SettingsError, load_settings

REPOSITORY = Path(__file__).parents[2]


def test_shipped_file_states_the_defaults() -> None:
    assert load_settings(REPOSITORY / "configs" / "server.toml") == Settings()


def test_shipped_file_names_every_key() -> None:
    text = (REPOSITORY / "configs" / "server.toml").read_text(encoding="utf-8")
    for table, fields in Settings.model_fields.items():
        assert f"[{table}]" in text
        if table != "vllm":
            for key in fields.default.__class__.model_fields:
                assert f"{key} = " in text, f"{table}.{key}"


def test_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('[server]\nport = 1\nhost = "h"\n[vllm]\nmax_num_seqs = 3\n')

    settings = load_settings(file, ({}, {"server": {"port": 2}, "model": {"path": "m"}}))

    assert (settings.server.port, settings.server.host, settings.model.path) == (2, "h", "m")
    assert settings.vllm == {"max_num_seqs": 3}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[server]\nprot = 1", "server.prot"),
        ("[server]\nport = 70000", "server.port"),
        ('[server]\nport = "x"', "server.port"),
        ("[sever]\nport = 1", "sever"),
        ("server = 1", "server must be a table"),
        ("[server]\nport 1", "line 2"),
    ],
)
def test_wrong_file_names_the_key(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)

    with pytest.raises(SettingsError) as caught:
        load_settings(file, ({}, {"server": {}}))

    assert str(file) in str(caught.value)
    assert reason in str(caught.value)


def test_missing_file_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.toml"):
        load_settings(tmp_path / "nothing.toml")


CALLS = '<tool_call>\\n{"name": x, "arguments": y} in tools '
QWEN3 = CALLS + "<think> {% if enable_thinking is defined and enable_thinking is false %}"
ASKED = CALLS + "<think> {% if enable_thinking %}"


@pytest.mark.parametrize(
    ("template", "name", "reasons"),
    [
        (QWEN3, "qwen3", True),
        (ASKED, "hermes_thinking", False),
        (CALLS, "hermes", False),
        ("{{ messages }}", "plain", False),
    ],
)
def test_format_is_told_from_the_chat_template(tmp_path: Path, template: str, name: str, reasons: bool) -> None:
    (tmp_path / "chat_template.jinja").write_text(template)
    model = ModelSettings(path=str(tmp_path))

    model_format = resolve_format(model)

    assert model_format.name == name
    assert default_reasoning(model, model_format) == reasons


def test_format_is_told_from_an_older_models_tokenizer_config(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": [{"name": "tool_use", "template": QWEN3}]})
    )

    assert resolve_format(ModelSettings(path=str(tmp_path))).name == "qwen3"


def test_given_template_replaces_the_models_own(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(QWEN3)
    (tmp_path / "mine.jinja").write_text(CALLS)
    model = ModelSettings(path=str(tmp_path), chat_template=str(tmp_path / "mine.jinja"))

    assert resolve_format(model).name == "hermes"


@pytest.mark.parametrize(("switch", "reasons"), [("on", True), ("off", False)])
def test_reasoning_setting_overrules_the_models_way(switch: str, reasons: bool) -> None:
    model = ModelSettings.model_validate({"tool_format": "qwen3", "reasoning": switch})

    assert default_reasoning(model, resolve_format(model)) == reasons


def test_model_without_reasoning_never_reasons() -> None:
    model = ModelSettings(tool_format="hermes", reasoning="on")

    assert default_reasoning(model, resolve_format(model)) is False


def test_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="hermes"):
        resolve_format(ModelSettings(tool_format="klingon"))
