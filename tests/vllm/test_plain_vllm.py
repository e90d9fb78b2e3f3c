"""vLLM's own entry points, with nothing of ours but the installed plugin: masks and refusals are our engine's."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vllm.conftest import TRIPWIRES, needs_vllm

pytestmark = needs_vllm

CODE = """
import json, sys

def main():
    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMClientError
    from vllm.sampling_params import StructuredOutputsParams

    import torch
    fast = torch.cpu._is_avx512_supported()
    llm = LLM(sys.argv[1], dtype="bfloat16" if fast else "float32", max_model_len=512, enforce_eager=True,
              kv_cache_memory_bytes=1 << 28, max_num_seqs=8, disable_log_stats=True)
    sampling = [
        SamplingParams(max_tokens=40, temperature=1.0, structured_outputs=StructuredOutputsParams(**kind))
        for kind in (
            {"regex": "[0-9]{3}-[a-c]{4}"},
            {"choice": ["Paris", "Rome"]},
            {"json": {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"],
                      "additionalProperties": False}},
        )
    ]
    word = {"json": {"type": "array", "items": {"type": "string"}, "minItems": 3}}
    whole = dict(temperature=1.0, extra_args={"complete_within_budget": 1})
    sampling += [SamplingParams(max_tokens=most, structured_outputs=StructuredOutputsParams(**word), **whole)
                 for most in (12, 14, 20)]
    outputs = llm.generate(["Answer:"] * len(sampling), sampling, use_tqdm=False)
    answers = [output.outputs[0].text for output in outputs]
    refusals = []
    for kind, more in (({"json": {"type": "nothing"}}, {}), (word, {"max_tokens": 3, **whole})):
        try:
            params = SamplingParams(structured_outputs=StructuredOutputsParams(**kind), **more)
            llm.generate(["Answer:"], params, use_tqdm=False)
        except VLLMClientError as error:
            refusals.append(str(error))
    print("RESULT", json.dumps([answers, refusals]))

if __name__ == "__main__":
    main()
"""


def test_the_installed_plugin_masks(model_directory: Path, tmp_path: Path) -> None:
    points = importlib.metadata.entry_points(group="vllm.general_plugins")
    if "strictserve" not in points.names:
        pytest.skip("strictserve is not installed here, so vLLM cannot find its plugin")
    script = tmp_path / "plain.py"
    script.write_text(CODE, encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if key != "STRICTSERVE_VLLM_PLUGIN"}
    env.update(
        PYTHONPATH=str(TRIPWIRES),
        VLLM_LOGGING_LEVEL="ERROR",
        TORCH_COMPILE_DISABLE="1",
        VLLM_CPU_OMP_THREADS_BIND="nobind",
        OMP_WAIT_POLICY="PASSIVE",
    )
    done = subprocess.run(
        [sys.executable, str(script), str(model_directory)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    (code, city, answer, *whole), (refusal, too_few) = json.loads(line.removeprefix("RESULT "))
    assert (len(code), code[3], code[:3].isdigit(), set(code[4:]) <= set("abc")) == (8, "-", True, True)
    assert city in ("Paris", "Rome")
    assert json.loads(answer) in ({"n": 1}, {"n": 2})
    assert all(len(json.loads(words)) >= 3 for words in whole)
    assert "needs at least" in too_few
    assert "nothing" in refusal or "type" in refusal
