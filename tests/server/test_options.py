"""Flags, variables and the file: every key has all three, and which one wins."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

import pytest

from server.__main__ import main
from server.options import (
    add_flags,
    from_environment,
    from_flags,
    names_of_flags,
    names_of_variables,
    options,
    unknown_variables,
)
from server.settings import Settings, SettingsError, load_settings

EXAMPLES: dict[str, tuple[str, Any]] = {"switch": ("true", True), "number": ("1", 1), "list": ("*,/b", ("*", "/b"))}


def settings_of(
    file: Path | None = None, *, environment: dict[str, str] | None = None, flags: list[str] | None = None
) -> Settings:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return load_settings(
        file,
        (names_of_variables(), from_environment(environment or {})),
        (names_of_flags(), from_flags(parser.parse_args(flags or []))),
    )


def test_every_key_is_settable_by_flag_by_variable_and_by_file_alike(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    for option in options():
        text, value = EXAMPLES.get(option.kind, ("x", "x"))
        if option.choices:
            text = value = option.choices[-1]
        by_flag = settings_of(flags=[option.flag] if option.kind == "switch" else [option.flag, text])
        by_variable = settings_of(environment={option.variable: text})
        shown = {"switch": "true", "number": "1", "list": "['*', '/b']"}.get(option.kind, f'"{text}"')
        file.write_text(f"[{option.table}]\n{option.key} = {shown}\n")

        assert by_flag == by_variable == settings_of(file), option
        assert getattr(getattr(by_flag, option.table), option.key) == value, option


def test_names_are_different() -> None:
    names = [option.name for option in options()]

    assert len(set(names)) == len(names)
    assert {"host", "port", "api-key", "model", "log-format", "tls-certfile", "compiler-threads"} <= set(names)


def test_flag_wins_over_variable_over_file_over_default(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[server]\nport = 1\nmax_json_depth = 11\nmax_body_bytes = 21\n[vllm]\na = 1\nb = 1\nc = 1")

    server = settings_of(
        file,
        environment={
            "STRICTSERVE_PORT": "2",
            "STRICTSERVE_MAX_JSON_DEPTH": "12",
            "STRICTSERVE_HOST": "",
            "STRICTSERVE_VLLM": '{"b": 2, "c": 2}',
        },
        flags=["--port", "3", "--vllm", "c=3"],
    )

    assert (server.server.port, server.server.max_json_depth, server.server.max_body_bytes) == (3, 12, 21)
    assert server.server.host == "127.0.0.1"
    assert server.vllm == {"a": 1, "b": 2, "c": 3}


def test_a_list_of_a_flag_replaces_the_one_below() -> None:
    server = settings_of(
        environment={"STRICTSERVE_API_KEY": "a, b"}, flags=["--api-key", "c,d", "--api-key", "e"]
    ).server

    assert server.api_key == ("c", "d", "e")


def test_engine_arguments_are_json_or_text() -> None:
    assert settings_of(flags=["--vllm", "max-num-seqs=8", "--vllm", "dtype=float32", "--vllm", "x=[1]"]).vllm == {
        "max_num_seqs": 8,
        "dtype": "float32",
        "x": [1],
    }


@pytest.mark.parametrize(
    ("flags", "environment", "place"),
    [
        (["--port", "x"], {}, "--port: "),
        (["--port", "70000"], {}, "--port: "),
        ([], {"STRICTSERVE_PORT": "tcp://10.0.0.1:80"}, "STRICTSERVE_PORT: "),
        (["--log-format", "xml"], {}, "--log-format: "),
        (["--workers", "2"], {}, "--workers: .*one process serves one engine"),
        (["--vllm", "x"], {}, "--vllm: 'x' is not KEY=VALUE"),
        ([], {"STRICTSERVE_VLLM": "[]"}, "STRICTSERVE_VLLM: it must be a JSON object"),
    ],
)
def test_wrong_value_names_flag_or_variable(flags: list[str], environment: dict[str, str], place: str) -> None:
    with pytest.raises(SettingsError, match=f"^{place}"):
        settings_of(flags=flags, environment=environment)


def test_mistyped_variable_is_told() -> None:
    names = {"STRICTSERVE_PROT": "1", "STRICTSERVE_PORT": "1", "STRICTSERVE_CONFIG": "x", "OTHER": "1"}

    assert unknown_variables(names) == ["STRICTSERVE_PROT"]


def test_help_is_in_groups_with_every_flag_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["serve", "--help"])

    text = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    for title in ("HTTP server", "model", "grammar compiler", "CORS", "TLS", "logs", "tracing", "vLLM"):
        assert f"{title} ([" in text
    for option in options():
        assert f"{option.flag} " in text or f"{option.flag}," in text
        assert f"{option.variable})" in text
        assert option.help, option
    assert "default: 8000; STRICTSERVE_PORT" in text


def test_variable_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text("[server]\nprot = 1")
    monkeypatch.setenv("STRICTSERVE_CONFIG", str(tmp_path / "s.toml"))

    assert main(["serve"]) == 1

    assert f"{tmp_path / 's.toml'}: server.prot" in capsys.readouterr().err


def test_shipped_file_is_toml_with_all_tables() -> None:
    text = (Path(__file__).parents[2] / "configs" / "server.toml").read_text(encoding="utf-8")

    assert set(Settings.model_fields) - {"vllm"} == set(tomllib.loads(text))
