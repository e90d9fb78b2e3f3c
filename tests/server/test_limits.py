"""Bodies that are too long or too slow, headers that are, and bytes that are no HTTP: over real sockets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.server.bodies import body
from tests.server.processes import Process, serving

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with serving(None, "--receive-seconds", "0.5", "--max-body-bytes", "10000") as process:
        yield process


def connect(server: Process) -> socket.socket:
    address = urlsplit(server.url)
    assert address.hostname is not None
    return socket.create_connection((address.hostname, address.port or 0), timeout=10)


def answer(connection: socket.socket) -> tuple[int, dict[str, object]]:
    """Status and error of all that the server says before it closes."""
    data = b""
    while part := connection.recv(1 << 16):
        data += part
    head, _, content = data.partition(b"\r\n\r\n")
    error = json.loads(content)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return int(head.split(b" ")[1]), error


def assert_alive(server: Process) -> None:
    assert httpx.post(f"{server.url}/v1/chat/completions", json=body()).status_code == 200


def test_body_that_says_it_is_too_long_is_refused_before_it_is_sent(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b"content-length: 10001\r\nconnection: close\r\n\r\n")
        status, error = answer(connection)

    assert (status, error["code"]) == (413, "request_too_large")


def test_chunked_body_is_refused_once_it_is_too_long(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 4)
        status, error = answer(connection)

    assert (status, error["code"]) == (413, "request_too_large")


def test_client_that_sends_a_long_body_whole_reads_the_413(server: Process) -> None:
    answers = [httpx.post(f"{server.url}/v1/chat/completions", content=b"x" * 3_000_000) for _ in range(3)]

    assert [one.status_code for one in answers] == [413] * 3
    assert_alive(server)


def test_connection_is_used_again_after_a_413(server: Process) -> None:
    with httpx.Client(base_url=server.url, limits=httpx.Limits(max_connections=1)) as client:
        for _ in range(20):
            assert client.post("/v1/chat/completions", content=b"x" * 3_000_000).status_code == 413
            assert client.get("/health").status_code == 200


def test_body_that_does_not_come_is_a_408(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b"content-length: 100\r\n\r\n{")
        began = time.monotonic()
        status, error = answer(connection)

    assert (status, error["code"]) == (408, "request_timeout")
    assert time.monotonic() - began < 5


def test_body_that_drips_is_a_408_all_the_same(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b"content-length: 100\r\n\r\n")
        connection.settimeout(0.1)
        data = b""
        for _ in range(50):
            try:
                connection.sendall(b" ")
                data += connection.recv(4096)
            except TimeoutError:
                continue
            if data:
                break

    assert data.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("start", [b"", b"POST /v1/chat", HEAD, HEAD + b"x-slow: "])
def test_headers_that_do_not_come_are_a_408(server: Process, start: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(start)
        status, error = answer(connection)

    assert status == 408
    assert error["message"] == "the headers did not arrive within 0.5 s"


def test_endless_headers_are_a_431(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b"x: " + b"y" * 70_000)
        status, _ = answer(connection)

    assert status == 431


def test_bytes_that_are_no_http_are_a_400(server: Process) -> None:
    with connect(server) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\r\n\r\n")
        status, error = answer(connection)

    assert status == 400
    assert error["message"] == "this is no HTTP/1.1 request"


def test_idle_connection_is_used_again(server: Process) -> None:
    with httpx.Client() as client:
        for _ in range(3):
            assert client.post(f"{server.url}/v1/chat/completions", json=body()).status_code == 200
            time.sleep(0.7)  # longer than headers may take


def test_stream_longer_than_the_limits_is_not_cut() -> None:
    text = "a" * 12
    with serving({"text": text, "step_seconds": 0.1}, "--receive-seconds", "0.3") as server:
        answer = httpx.post(f"{server.url}/v1/chat/completions", json=body(stream=True), timeout=30)

    assert answer.text.count('"content":"a"') == len(text)
    assert answer.text.endswith("data: [DONE]\n\n")
