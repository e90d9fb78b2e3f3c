"""Small runs of the loads in `tests/load`: what they look for, they would find."""

from __future__ import annotations

import json

from tests.load import hostile, streams


def test_streams_side_by_side_are_whole_and_nothing_is_left_running() -> None:
    report = streams.scripted(30, 3)

    assert not report.faults
    assert report.running_at_end == 0
    assert min(report.whole, report.left) > 20


def test_good_requests_are_answered_beside_hostile_ones() -> None:
    report = hostile.scripted(40, 0.5)

    assert not report.failed, report.summary()
    assert {"200", "400", "413", "slow"} <= set(report.hostile)


def test_fault_of_a_stream_is_seen() -> None:
    def event(text: str, finish: str | None = None, id_: str = "a") -> str:
        choices = [{"delta": {"content": text}, "finish_reason": finish}]
        return "data: " + json.dumps({"id": id_, "choices": choices, "usage": None})

    usage = 'data: {"id": "a", "choices": [], "usage": {"total_tokens": 2}}'
    whole = [event("ab"), event("c", "stop"), usage, "data: [DONE]"]

    assert streams.fault_of(whole, "abc") is None
    assert streams.fault_of(whole[:-1], "abc") == "no [DONE]"
    assert streams.fault_of(whole, "abd") == "another text"
    assert streams.fault_of([event("ab"), event("c", "stop", "b"), *whole[2:]], "abc") is not None
    assert streams.fault_of([event("ab"), event("c", "length"), *whole[2:]], "abc") is not None
    assert streams.fault_of([*whole[:2], *whole[3:]], "abc") is not None
    assert streams.fault_of(["id: 7", *whole], "abc") == "a line that is no event"
