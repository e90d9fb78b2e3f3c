"""The page at `/`: what is sent, and that it works in a browser without any other network."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from server import playground
from tests.clients.listening import CALL, listening
from tests.server.running import running

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.parametrize("path", playground.PATHS)
def test_file_is_served_and_names_nothing_outside(path: str) -> None:
    async def answers() -> list[httpx.Response]:
        async with running() as server:
            return [await server.http.get(path), await server.http.head(path)]

    response, head = asyncio.run(answers())

    assert (response.status_code, head.status_code) == (200, 200)
    assert response.headers["content-security-policy"] == playground.POLICY
    assert not re.search(r"https?:|//[a-z]|\son[a-z]+=|style=|innerHTML", response.text)


def test_page_is_open_where_the_api_wants_a_key_and_can_be_turned_off() -> None:
    async def statuses(**server: Any) -> list[int]:
        async with running(**server) as one:
            return [(await one.http.get(path)).status_code for path in ("/", "/playground.js", "/v1/models")]

    assert asyncio.run(statuses(api_key="k")) == [200, 200, 401]
    assert asyncio.run(statuses(playground=False)) == [404, 404, 200]
    assert asyncio.run(statuses(playground=False, api_key="k")) == [401, 401, 401]


class _Page:
    """One tab, over the DevTools protocol."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._sent = 0

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        self._connection.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            said = json.loads(self._connection.recv(timeout=20))
            if said.get("id") == self._sent:
                assert "error" not in said, said
                return dict(said["result"])

    def value(self, expression: str) -> Any:
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str, *, seconds: float = 20) -> None:
        until = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < until, (expression, self.value("document.body.innerText"))
            time.sleep(0.05)


@contextmanager
def _browser(url: str, profile: Path) -> Iterator[_Page]:
    assert _BROWSER is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [_BROWSER, *flags, f"--user-data-dir={profile}", url],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        port = profile / "DevToolsActivePort"
        until = time.monotonic() + 30
        while not (port.exists() and port.read_text().count("\n")):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < until, "the browser did not start"
            time.sleep(0.05)
        tabs = httpx.get(f"http://127.0.0.1:{port.read_text().splitlines()[0]}/json/list").json()
        tab = next(tab for tab in tabs if tab["type"] == "page")
        with connect(tab["webSocketDebuggerUrl"], max_size=None) as connection:
            page = _Page(connection)
            page.wait_for("document.readyState === 'complete' && !!document.getElementById('send')")
            yield page
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.skipif(_BROWSER is None, reason="no chromium on this machine")
def test_page_in_a_browser_streams_calls_and_answers_and_shows_errors(tmp_path: Path) -> None:
    said = (
        CALL % ("get_weather", '{"city": "Paris", "unit": "celsius"}'),
        '{"name": "Ada", "born": 1815}',
    )
    with listening(*said) as server, _browser(server.url, tmp_path / "profile") as page:
        page.wait_for("document.getElementById('model').textContent === 'scripted'")
        page.value("document.getElementById('send').click()")
        page.wait_for("document.body.dataset.state === 'done'")
        assert json.loads(page.value("document.querySelector('#calls mark').textContent")) == {
            "city": "Paris",
            "unit": "celsius",
        }
        assert page.value("document.getElementById('calls').textContent").startswith("get_weather ")
        figures = page.value("document.getElementById('figures').textContent")
        assert "compiling" in figures
        assert "finish_reasontool_calls" in figures

        page.value(
            "delete document.body.dataset.state; document.getElementById('example').selectedIndex = 1;"
            "document.getElementById('example').dispatchEvent(new Event('change'));"
            "document.getElementById('send').click()"
        )
        page.wait_for("document.body.dataset.state === 'done'")
        assert json.loads(page.value("document.querySelector('#text mark').textContent")) == {
            "name": "Ada",
            "born": 1815,
        }

        page.value(
            "delete document.body.dataset.state;"
            """document.getElementById('spec').value = '{"properties": {"a": {"pattern": "("}}}';"""
            "document.getElementById('send').click()"
        )
        page.wait_for("document.body.dataset.state === 'failed'")
        assert "pointer: /properties/a/pattern" in page.value("document.getElementById('error').textContent")


@pytest.mark.skipif(_BROWSER is None, reason="no chromium on this machine")
def test_page_in_a_browser_marks_no_free_text_of_a_structural_tag(tmp_path: Path) -> None:
    tag = {
        "type": "sequence",
        "elements": [
            {"type": "any_text", "excludes": ["<"]},
            {
                "type": "tag",
                "begin": "<n>",
                "end": "</n>",
                "capture": "n",
                "content": {"type": "regex", "pattern": "[0-9]"},
            },
        ],
    }
    with listening("free words <n>7</n>") as server, _browser(server.url, tmp_path / "profile") as page:
        page.value(
            "document.getElementById('kind').value = 'tag';"
            f"document.getElementById('spec').value = {json.dumps(json.dumps(tag))};"
            "document.getElementById('send').click()"
        )
        page.wait_for("!!document.body.dataset.state")
        assert page.value("document.getElementById('text').textContent") == "free words <n>7</n>"
        assert page.value("document.querySelectorAll('#text mark').length") == 0
        assert page.value("document.querySelector('#captures mark').textContent") == "<n>7</n>"


@pytest.mark.skipif(_BROWSER is None, reason="no chromium on this machine")
def test_page_in_a_browser_shows_reasoning_apart(tmp_path: Path) -> None:
    model = {"tool_format": "qwen3", "reasoning": "on"}
    with (
        listening("<think>\nhm\n</think>\n\nyes.", model=model) as server,
        _browser(server.url, tmp_path / "profile") as page,
    ):
        page.value(
            "document.getElementById('kind').value = 'regex';"
            "document.getElementById('spec').value = 'yes[.]';"
            "document.getElementById('send').click()"
        )
        page.wait_for("!!document.body.dataset.state")
        assert page.value("document.getElementById('reasoning').textContent") == "hm"
        assert page.value("document.querySelectorAll('#reasoning mark').length") == 0
        assert page.value("document.querySelector('#text mark').textContent") == "yes."


@pytest.mark.skipif(_BROWSER is None, reason="no chromium on this machine")
def test_stop_in_a_browser_aborts_the_request(tmp_path: Path) -> None:
    with (
        listening("Hello there.", script={"stall_after": 5}) as server,
        _browser(server.url, tmp_path / "profile") as page,
    ):
        page.value("document.getElementById('kind').value = 'none'; document.getElementById('send').click()")
        page.wait_for("document.getElementById('text').textContent === 'Hello'")
        page.value("document.getElementById('stop').click()")
        page.wait_for("document.body.dataset.state === 'failed'")
        assert page.value("document.getElementById('error').textContent") == "stopped"
        until = time.monotonic() + 10
        while not server.engine.aborted:
            assert time.monotonic() < until, "the engine went on"
            time.sleep(0.02)
