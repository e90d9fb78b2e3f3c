"""How a server process ends: by a signal, with its engine, by a hang; and how it begins again."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import Any

import httpx
import openai
import pytest

from server.restart import failures_in_a_row, wait_seconds
from tests.server.bodies import body
from tests.server.processes import Process, serving


class Stream(threading.Thread):
    """One streaming request, read in a thread of its own."""

    def __init__(self, server: Process) -> None:
        super().__init__(daemon=True)
        self.text = ""
        self.error: Exception | None = None
        self.began = threading.Event()
        self._url = server.url
        self.start()
        assert self.began.wait(20)

    def run(self) -> None:
        try:
            with httpx.stream("POST", f"{self._url}/v1/chat/completions", json=body(stream=True), timeout=30) as answer:
                for part in answer.iter_text():
                    self.text += part
                    self.began.set()
        except Exception as error:
            self.error = error

    def ended(self) -> list[Any]:
        """All events."""
        self.join(20)
        assert not self.is_alive()
        assert self.error is None
        data = [event.removeprefix("data: ") for event in self.text.split("\n\n") if event]
        return [event if event == "[DONE]" else json.loads(event) for event in data]


def test_sigterm_lets_a_stream_end() -> None:
    with serving({"text": "a" * 15, "step_seconds": 0.1}) as server:
        stream = Stream(server)
        server.popen.send_signal(signal.SIGTERM)
        server.wait_for("stopping; 1 requests may end within 10 s")
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/health")

        assert stream.ended()[-1] == "[DONE]"
        assert server.wait() == 0


def test_stream_that_does_not_end_in_time_gets_an_error_event() -> None:
    with serving({"text": "abc", "stall_after": 2}, "--shutdown-seconds", "1") as server:
        stream = Stream(server)
        began = time.monotonic()
        server.popen.send_signal(signal.SIGTERM)

        assert stream.ended()[-1]["error"]["code"] == "engine_unavailable"
        assert server.wait() == 0
        assert 1 <= time.monotonic() - began < 8


def test_second_signal_does_not_wait() -> None:
    with serving({"text": "abc", "stall_after": 2}, "--shutdown-seconds", "60") as server:
        Stream(server)
        server.popen.send_signal(signal.SIGTERM)
        server.wait_for("stopping")
        server.popen.send_signal(signal.SIGTERM)

        assert server.wait() == 0


def test_stop_closes_idle_connections() -> None:
    with serving() as server, httpx.Client() as client:
        client.get(f"{server.url}/health")
        began = time.monotonic()
        server.popen.send_signal(signal.SIGTERM)

        assert server.wait() == 0
        assert time.monotonic() - began < 4


def test_engine_that_dies_in_a_stream_is_an_error_event_and_exit_code_3() -> None:
    with serving({"text": "abc", "die_after": 2}) as server:
        assert Stream(server).ended()[-1]["error"]["code"] == "engine_unavailable"
        assert server.wait() == 3
        server.wait_for("the engine died; leaving")


def test_hung_engine_is_an_error_event_and_exit_code_3() -> None:
    with serving({"text": "abc", "stall_after": 2}, "--watchdog-seconds", "0.4") as server:
        assert Stream(server).ended()[-1]["error"]["code"] == "engine_unavailable"
        assert server.wait() == 3
        server.wait_for("the engine hangs; leaving")


def test_hung_engine_is_only_reported_where_that_is_wished() -> None:
    with serving({"text": "abc", "stall_after": 2}, "--watchdog-seconds", "0.4", "--on-hang", "report") as server:
        stream = Stream(server)
        server.wait_for("the engine hangs")
        assert httpx.get(f"{server.url}/health").status_code == 503
        server.popen.send_signal(signal.SIGTERM)

        assert stream.ended()[-1]["error"]["code"] == "engine_unavailable"
        assert server.wait() == 0


def test_server_begins_again_where_that_is_wished() -> None:
    with serving({"text": "abc", "die_after": 2}, "--on-engine-failure", "restart") as server:
        first = server.url
        assert Stream(server).ended()[-1]["error"]["code"] == "engine_unavailable"
        server.wait_for("restart 1 in 1 s(?s:.*)ready on ")
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["scripted"]
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(**body())
        server.wait_for("restart 2 in 2 s")
        server.popen.send_signal(signal.SIGTERM)

        assert server.wait() == 0
        assert server.url != first or server.output.count("ready on") == 2


def test_restarts_in_a_row_are_counted_and_wait_longer_each_time() -> None:
    assert [wait_seconds(count) for count in (1, 2, 3, 6, 7, 1000)] == [1, 2, 4, 32, 60, 60]
    assert failures_in_a_row("3 1000", 1500) == 3
    assert failures_in_a_row("3 1000", 1600) == 0
    assert failures_in_a_row("", 0) == failures_in_a_row("x", 0) == failures_in_a_row("1", 0) == 0
