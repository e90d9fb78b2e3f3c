"""With the real engine, a scrape has every metric that the dashboard reads and the page describes."""

from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from engine_native import Compiler
from server.metrics import Metrics
from tests.server.dashboard import metrics, queries
from tests.server.test_dashboard import documented, families
from tests.vllm.conftest import LiveEngine


def test_scrape_has_every_metric_of_the_dashboard_and_the_page(live: LiveEngine) -> None:
    tag = '{"type":"structural_tag","format":{"type":"const_string","value":"x"}}'
    live.generate(live.request("hi", tag, max_tokens=4))
    server = Metrics(Compiler(live.engine.vocabulary).stats)
    server.watch_ready(lambda: True)
    server.describe(format="", model="", version="")
    server.responded(200)
    server.choice_finished("stop")

    text = server.exposition(live.engine.metrics()).decode()

    samples = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    wanted = {name for _, query in queries() for name in metrics(query)}
    assert wanted - samples == set()
    scraped = families(text)
    for name, (kind, labels) in documented().items():
        assert scraped[name] == (kind, labels), name
    assert not {name for name in scraped if name.startswith("strictserve_")} - set(documented())


def test_steps_are_counted_while_requests_run(live: LiveEngine) -> None:
    before = live.engine.activity()

    live.generate(live.request("hi", None, max_tokens=5, min_tokens=5))

    after = live.engine.activity()
    assert before.running == after.running == 0
    assert after.steps >= before.steps + 5
    assert re.search(r"vllm:iteration_tokens_total_count\S* [1-9]", live.engine.metrics().decode())
