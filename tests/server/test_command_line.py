"""`strictserve compile`, and `serve` as a real process on a real socket."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from server.__main__ import main

REPOSITORY = Path(__file__).parents[2]

SERVE = """
import sys
from server.engines.scripted import Script, ScriptedEngine
from server.serve import serve
from server.settings import Settings
settings = Settings.model_validate({"server": {"port": int(sys.argv[1])}})
sys.exit(serve(ScriptedEngine(Script(**eval(sys.argv[2]))), settings, say=lambda line: print(line, flush=True)))
"""


def write(path: Path, document: object) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def test_compile_reports_kind_size_and_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "s.json", {"type": "object", "properties": {"a": {"type": "integer"}}})

    assert main(["compile", file]) == 0

    out = capsys.readouterr().out
    assert f"{file}: JSON schema" in out
    assert re.search(r"compile time: \d+\.\d{3} ms", out)
    size = re.search(r"grammar size: (\d+) bytes", out)
    assert size is not None
    assert int(size.group(1)) > 0


@pytest.mark.parametrize("head", [{"type": "structural_tag"}, {}])
def test_compile_tells_a_structural_tag_from_a_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], head: dict[str, str]
) -> None:
    tag = {**head, "format": {"type": "const_string", "value": "x"}}

    assert main(["compile", write(tmp_path / "t.json", tag)]) == 0

    assert "structural tag" in capsys.readouterr().out


def test_compile_shows_the_place_of_an_unsupported_keyword(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "s.json", {"properties": {"a": {"format": "idn-hostname"}}})

    assert main(["compile", file]) == 1

    err = capsys.readouterr().err
    assert "/properties/a" in err
    assert "format" in err
    assert "UnsupportedSchemaError" in err


@pytest.mark.parametrize(("text", "place"), [("{", ":1:2:"), ("\n\n{]", ":3:2:")])
def test_compile_shows_the_place_of_a_json_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, place: str
) -> None:
    (tmp_path / "s.json").write_text(text)

    assert main(["compile", str(tmp_path / "s.json")]) == 1

    assert place in capsys.readouterr().err


def test_serve_without_a_model_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 1
    assert "--model" in capsys.readouterr().err


def test_serve_of_a_directory_without_config_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--model", str(tmp_path)]) == 1
    assert "config.json" in capsys.readouterr().err


@contextmanager
def serving(port: int = 0, script: str = "{}") -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server process with the scripted engine: the process, its URL, the pasted example."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port), script],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        seen = ""
        for line in process.stdout:
            seen += line
            if line.startswith("curl "):
                break
        else:
            raise AssertionError(f"the server did not become ready:\n{seen}")
        url = re.search(r"ready on (http://\S+), model scripted", seen)
        assert url is not None, seen
        yield process, url.group(1), line
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_example_of_the_ready_line_works_when_pasted() -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with serving() as (_, _, example):
        pasted = subprocess.run(["sh", "-c", example], capture_output=True, text=True, timeout=60, check=True)

    choice = json.loads(pasted.stdout)["choices"][0]
    assert choice["finish_reason"] in ("tool_calls", "length")
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "get_weather"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_server_cleanly(number: signal.Signals) -> None:
    with serving() as (process, url, _):
        assert httpx.get(f"{url}/health").status_code == 200
        process.send_signal(number)

        assert process.wait(20) == 0


def test_disconnect_on_a_real_socket_frees_the_request() -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
    with serving(script="{'text': 'abc', 'stall_after': 2}") as (_, url, _):
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
            next(response.iter_raw())
        for _ in range(500):
            text = httpx.get(f"{url}/metrics").text
            if 'strictserve_requests_total{outcome="disconnect"} 1.0' in text:
                break

    assert 'strictserve_requests_total{outcome="disconnect"} 1.0' in text
    assert "scripted_requests_running 0.0" in text


def test_death_of_the_engine_ends_the_process_with_3() -> None:
    body = {"messages": [{"role": "user", "content": "x"}]}
    with serving(script="{'die_after': 1}") as (process, url, _):
        assert httpx.post(f"{url}/v1/chat/completions", json=body).status_code == 503

        assert process.wait(20) == 3


def test_taken_port_is_an_error_before_the_model_loads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "-c", SERVE, str(port), "{}"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert result.returncode == 1
    assert f"cannot bind 127.0.0.1 port {port}" in result.stderr
    assert "loading" not in result.stdout
