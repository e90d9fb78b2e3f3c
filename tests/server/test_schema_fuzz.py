"""A few requests of `tests/load/schema_fuzz.py` to each operation: good and bad bodies, and no answer is a 5xx."""

from __future__ import annotations

from tests.load.schema_fuzz import fuzz


def test_no_request_made_from_the_description_is_answered_with_a_5xx() -> None:
    reports = list(fuzz(examples=8))

    assert {report.operation: report.wrong for report in reports if report.wrong} == {}
    statuses = {report.operation: set(report.statuses) for report in reports}
    assert len(statuses) >= 15
    for path in ("/v1/chat/completions", "/v1/completions", "/tokenize"):
        assert {200, 400} <= statuses[f"POST {path}"]
