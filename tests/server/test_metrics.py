"""`/metrics`, read with prometheus-client's own parser."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.engines.scripted import Script
from tests.server.bodies import JSON_SCHEMA_FORMAT, body
from tests.server.running import Running, running

pytestmark = pytest.mark.anyio


async def scrape(server: Running) -> dict[str, float]:
    """sample with labels -> value, after checking that no family or sample appears twice."""
    response = await server.http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    families = list(text_string_to_metric_families(response.text))
    names = [family.name for family in families]
    assert len(set(names)) == len(names)
    assert all(family.type != "unknown" and family.documentation for family in families)
    samples: dict[str, float] = {}
    for family in families:
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            key = f"{sample.name}{{{labels}}}" if labels else sample.name
            assert key not in samples
            samples[key] = sample.value
    return samples


async def test_every_family_is_there_before_the_first_request() -> None:
    async with running() as server:
        samples = await scrape(server)

    for outcome in ("success", "invalid", "error", "disconnect"):
        assert samples[f"strictserve_requests_total{{outcome={outcome}}}"] == 0
    for name in (
        "strictserve_prompt_tokens_total",
        "strictserve_completion_tokens_total",
        "strictserve_time_to_first_token_seconds_count",
        "strictserve_compile_seconds_count",
        "strictserve_cache_evictions_total",
    ):
        assert samples[name] == 0
    assert samples["strictserve_cache_bytes"] >= 0
    assert samples["strictserve_grammars_alive"] == 0
    levels = {key for key in samples if key.startswith("strictserve_cache_hits_total")}
    assert {
        f"strictserve_cache_hits_total{{level={level}}}" for level in ("grammar", "text", "rule", "row", "local")
    } == levels
    assert {key.replace("_hits_", "_misses_") for key in levels} <= set(samples)


async def test_requests_tokens_and_compiles_are_counted() -> None:
    async with running(Script(text="abc")) as server:
        plain = (await server.chat(**body())).json()["usage"]
        structured = (await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))).json()["usage"]
        await server.chat(**body(n=0))
        samples = await scrape(server)

    assert samples["strictserve_requests_total{outcome=success}"] == 2
    assert samples["strictserve_requests_total{outcome=invalid}"] == 1
    assert samples["strictserve_choices_total{finish_reason=stop}"] == 2
    prompt = plain["prompt_tokens"] + structured["prompt_tokens"]
    completion = plain["completion_tokens"] + structured["completion_tokens"]
    assert samples["strictserve_prompt_tokens_total"] == prompt
    assert samples["strictserve_completion_tokens_total"] == completion
    assert samples["strictserve_time_to_first_token_seconds_count"] == 2
    assert samples["strictserve_compile_seconds_count"] == 2


async def test_same_schema_again_is_a_grammar_hit() -> None:
    async with running() as server:
        await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))
        before = await scrape(server)
        await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))
        after = await scrape(server)

    hits, misses = (f"strictserve_cache_{kind}_total{{level=grammar}}" for kind in ("hits", "misses"))
    assert after[hits] == before[hits] + 2
    assert after[misses] == before[misses] == 2
    assert after["strictserve_cache_bytes"] > 0


async def test_failed_and_streamed_requests_are_counted_once() -> None:
    async with running(Script(text="abc", fail_after=2)) as server:
        await server.chat(**body(stream=True))
        await server.chat(**body())
        samples = await scrape(server)

    assert samples["strictserve_requests_total{outcome=error}"] == 2
    assert samples["strictserve_requests_total{outcome=success}"] == 0


async def test_engines_text_is_appended() -> None:
    async with running() as server:
        samples = await scrape(server)

    assert samples["scripted_requests_running"] == 0
