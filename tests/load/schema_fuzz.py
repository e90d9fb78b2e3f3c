"""Requests made from `/openapi.json` by schemathesis, good and bad ones, to every operation: no answer is a 5xx.

    python -m tests.load.schema_fuzz --examples 500

The scripted engine answers, over a socket. Prints for each operation how many answers had which status.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.errors import InvalidSchema
from schemathesis.generation import GenerationMode

from tests.clients.listening import listening

_TOGETHER = 25
"""Examples of one run of the generator; a case that it cannot make costs the rest of them."""

FEW_TOKENS = 400
"""Most tokens of prompt and answer together: what is made asks for as many as it likes."""


@dataclass
class Report:
    """`statuses` counts answers; `wrong` has those that must not be: 5xx, and errors without the body of their API."""

    operation: str
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def fuzz(examples: int) -> Iterator[Report]:
    """One report for each operation; about half of the examples are meant to be good."""
    with listening(script={"phrases": ("</think>", "<tool_call>")}, max_model_len=FEW_TOKENS) as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        for result in schema.get_all_operations():
            operation = result.ok()
            report = Report(f"{operation.method.upper()} {operation.path}")
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _run(operation, mode, max(1, examples // 2), report)
            yield report


def _run(operation: Any, mode: GenerationMode, examples: int, report: Report) -> None:
    cases = operation.as_strategy(generation_mode=mode)

    def call(case: Any) -> None:
        response = case.call()
        report.statuses[response.status_code] += 1
        if response.status_code >= 500 or (
            response.status_code >= 400 and not _is_error(operation.path, response.text)
        ):
            sent = json.dumps(case.body, default=str)[:2000]
            report.wrong.append(f"{response.status_code} {response.text[:300]} to {sent}")

    for part in range(0, examples, _TOGETHER):
        options = settings(
            max_examples=min(_TOGETHER, examples - part),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        # Nothing about the operation can be wrong, or the generator meets a case that it cannot make.
        with suppress(Unsatisfiable, InvalidSchema):
            seed(part)(options(given(case=cases)(call)))()


def _is_error(path: str, text: str) -> bool:
    keys = {"message", "type"} if path.startswith("/v1/messages") else {"message", "type", "param", "code"}
    try:
        error = json.loads(text)["error"]
        return set(error) == keys and isinstance(error["message"], str)
    except (ValueError, KeyError, TypeError):
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200, help="for each operation")
    began = time.monotonic()
    failed = False
    for report in fuzz(parser.parse_args().examples):
        counts = ", ".join(f"{count} x {status}" for status, count in sorted(report.statuses.items()))
        print(f"{report.operation}: {counts}", flush=True)
        for wrong in report.wrong[:5]:
            failed = True
            print(f"  {wrong}")
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
