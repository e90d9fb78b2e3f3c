"""Many streams at once, every third of which its client leaves: `python -m tests.load.streams --streams 500`.

Right is: every answer is its own text, whole, in well-formed events; nothing that a request held is held after it;
memory and open files are flat from a fifth of the run on (after the first minute of five).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from tests.load import servers
from tests.load.client import metric, own_text, read, request, session, settled
from tests.load.servers import Usage


@dataclass
class Result:
    """Of one run."""

    answers: int = 0
    left: int = 0
    tokens: int = 0
    seconds: list[float] = field(default_factory=list)
    usages: list[tuple[float, Usage]] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        whole = self.usages[-1][0]
        flat = [usage for at, usage in self.usages if at >= whole / 5] or [self.usages[-1][1]]
        half = max(1, len(flat) // 2)

        def mib(values: list[int]) -> int:
            return round(max(values) / (1 << 20))

        return {
            "seconds": round(whole),
            "answers": self.answers,
            "left_by_clients": self.left,
            "tokens_per_second": round(self.tokens / whole),
            "p50_s": round(statistics.median(self.seconds), 2),
            "max_s": round(max(self.seconds), 2),
            "server_mib_first_and_last": [
                mib([u.resident_bytes for u in part]) for part in (flat[:half], flat[half:] or flat)
            ],
            "engine_mib_first_and_last": [
                mib([u.engine_bytes for u in part]) for part in (flat[:half], flat[half:] or flat)
            ],
            "files_first_most_last": [self.usages[0][1].files, max(u.files for u in flat), self.usages[-1][1].files],
            "threads_last": self.usages[-1][1].threads,
        }


async def run(
    url: str, pid: int, *, streams: int, seconds: float, length: int, leave_every: int, running: tuple[str, ...]
) -> Result:
    """`streams` clients at once, each with one request after the other for `seconds`; AssertionError for any fault.

    `running`: the metrics that must be 0 in the end.
    """
    result = Result()
    began = time.monotonic()

    async def client(number: int) -> None:
        dice = random.Random(number)
        count = number
        while True:
            text = own_text(dice, length)
            leave = dice.randrange(1, length // 2) if leave_every and count % leave_every == 0 else None
            answer = await read(http, url, request(text), leave_after=leave)
            if answer is None:
                result.left += 1
            else:
                assert answer.text == text, f"wanted {text!r}, got {answer.text!r}"
                assert answer.finish_reason == "stop", answer
                result.answers += 1
                assert answer.usage is not None
                result.tokens += answer.usage["completion_tokens"]
                result.seconds.append(answer.seconds)
            count += 1
            if time.monotonic() - began >= seconds:
                return

    async def watch() -> None:
        while True:
            await asyncio.sleep(min(1.0, seconds / 10))
            result.usages.append((time.monotonic() - began, Usage.of(pid)))

    async with session() as http:
        result.usages.append((0.0, Usage.of(pid)))
        watching = asyncio.create_task(watch())
        async with asyncio.TaskGroup() as clients:
            for number in range(streams):
                clients.create_task(client(number))
        watching.cancel()
        await settled(http, url, *running)
        left = await metric(http, url, 'strictserve_requests_total{outcome="disconnect"}')
    async with session() as http:  # the clients' connections are closed
        await asyncio.sleep(0.5)
        result.usages.append((time.monotonic() - began, Usage.of(pid)))
    # A client may leave when the answer is whole already: then the server has not noticed, and need not.
    assert left <= result.left
    return result


RUNNING = {
    "scripted": ("strictserve_requests_running", "scripted_requests_running"),
    "vllm": ("strictserve_requests_running", "vllm:num_requests_running", "vllm:num_requests_waiting"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    servers.add_engine_flag(parser)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--length", type=int, default=100, help="characters of an answer")
    parser.add_argument("--leave-every", type=int, default=3, help="each so many-th request is left; 0: none")
    arguments = parser.parse_args()
    with servers.scripted() if arguments.engine == "scripted" else servers.vllm() as server:
        result = asyncio.run(
            run(
                server.url,
                server.popen.pid,
                streams=arguments.streams,
                seconds=arguments.seconds,
                length=arguments.length,
                leave_every=arguments.leave_every,
                running=RUNNING[arguments.engine],
            )
        )
        print(json.dumps(result.summary(), indent=1))


if __name__ == "__main__":
    main()
