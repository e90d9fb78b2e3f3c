"""The engine that generates: vLLM's AsyncLLM, with our masks in its engine process and its workers.

This side only configures and carries. Grammars travel as structural-tag text in the sampling parameters; the
backend in the engine process (`server.vllm_plugin`) compiles and fills, the workers apply.

vLLM is imported in `start`, which blocks the event loop for the seconds or minutes that loading takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.engines.base import (
    LOGPROB_FLOOR,
    PLAIN_TEMPLATE,
    Activity,
    Delta,
    EngineError,
    EngineUnavailable,
    FinishReason,
    GenerationRequest,
    PromptError,
    TemplateOptions,
    TokenLogprob,
)
from server.model_format import chat_template_text
from server.settings import Settings
from server.vllm_plugin import step_metrics, version
from server.vllm_plugin.budget import COMPLETE_WITHIN_BUDGET
from server.vllm_plugin.plugin import SWITCH
from server.vllm_plugin.step_stats import DIRECTORY_VARIABLE
from server.vllm_plugin.stop_tokens import stop_token_ids
from structural_tags.formats import reasoning_switches

if TYPE_CHECKING:
    from vllm.outputs import CompletionOutput, RequestOutput
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    from engine_native import Vocabulary

SCHEDULER = "server.vllm_plugin.scheduler.make_scheduler"
CPU_WORKER = "server.vllm_plugin.cpu_worker.CpuWorker"
CUDA_WORKER = "server.vllm_plugin.cuda_worker.CudaWorker"

_OURS = ("model", "scheduler_cls", "worker_cls", "served_model_name", "max_model_len")
"""Engine arguments that the `[vllm]` table of the settings must not contain."""

_FINISH: Mapping[str, FinishReason] = {"stop": "stop", "length": "length", "abort": "abort"}
"""vLLM's finish reasons; any other is an error."""

_DEFAULTED = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
)
"""Options for which the model may have a default of its own."""

_GIB = 1 << 30


class VllmEngine:
    """AsyncLLM behind the Engine protocol of `server.engines.base`, which documents the methods."""

    def __init__(self, settings: Settings) -> None:
        model = settings.model
        if model.path is None:
            raise EngineUnavailable("no model directory is set")
        self._settings = settings
        self._path = model.path
        self._model_id = model.served_name or Path(model.path).resolve().name
        self._llm: AsyncLLM | None = None
        self._params_cls: type[SamplingParams] | None = None
        self._defaults: dict[str, Any] = {}
        self._vocabulary: Vocabulary | None = None
        self._tokens: Sequence[bytes] = ()
        self._tokenizer: Any = None
        self._encode_lock = threading.Lock()
        self._template: str | None = None
        self._stats: Path | None = None
        self._running: set[str] = set()
        self._steps = Steps()

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def max_model_len(self) -> int:
        return int(self._engine().model_config.max_model_len)

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            raise EngineUnavailable("the model is not loaded")
        return self._vocabulary

    async def start(self) -> None:
        """Load vLLM and the model.

        Raises:
            EngineUnavailable: vLLM is missing or untested, or it cannot load the model.
        """
        try:
            version.check()
        except version.UnsupportedVllmError as error:
            raise EngineUnavailable(str(error)) from error
        _check_extra(self._settings.vllm)
        self._stats = Path(tempfile.mkdtemp(prefix="strictserve-"))
        os.environ[DIRECTORY_VARIABLE] = str(self._stats)
        os.environ[SWITCH] = "0"
        try:
            self._load()
        except Exception as error:
            await self.close()
            raise EngineUnavailable(f"vLLM cannot load {self._path}: {_sentence(error)}") from error

    def _load(self) -> None:
        _quiet_environment()
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.usage.usage_lib import UsageContext

        arguments = _engine_arguments(self._settings, cpu=current_platform.is_cpu())
        llm = _async_llm_class().from_engine_args(
            AsyncEngineArgs(**arguments),
            usage_context=UsageContext.OPENAI_API_SERVER,
            stat_loggers=[_step_counter(self._steps)],
        )
        self._llm = llm
        self._params_cls = _sampling_params_class()
        self._defaults = llm.model_config.get_diff_sampling_param()
        self._tokenizer = llm.get_tokenizer()
        if self._settings.model.chat_template is not None:
            self._template = chat_template_text(self._settings.model)
        self._read_vocabulary(llm.model_config.get_vocab_size())

    def _read_vocabulary(self, vocab_size: int) -> None:
        """The same vocabulary as the engine process's, and each token's bytes for log probabilities."""
        from engine_native import Vocabulary
        from engine_native.tokenizer_json import read_tokens

        document = json.loads(self._tokenizer.backend_tokenizer.to_str())
        tokens, special = read_tokens(document, vocab_size)
        stop = stop_token_ids(self._engine().model_config, self._tokenizer)
        self._vocabulary = Vocabulary(tokens, special_token_ids=special, stop_token_ids=stop)
        self._tokens = tokens

    def _engine(self) -> AsyncLLM:
        if self._llm is None:
            raise EngineUnavailable("the model is not loaded")
        return self._llm

    async def close(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None:
            if self._running and not llm.errored:
                await llm.abort(list(self._running))
                await asyncio.sleep(0)  # let the aborted requests' last outputs reach their tasks
            await asyncio.to_thread(llm.shutdown)
        if self._stats is not None:
            shutil.rmtree(self._stats, ignore_errors=True)
            self._stats = None

    def is_healthy(self) -> bool:
        return self._llm is not None and not self._llm.errored

    def activity(self) -> Activity:
        # Not `_running`: a request that is finished in the engine stays there until its client has read it all.
        running = 0 if self._llm is None else self._llm.output_processor.get_num_unfinished_requests()
        return Activity(running=running, steps=self._steps.count)

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        *,
        reasoning: bool,
        template: TemplateOptions = PLAIN_TEMPLATE,
    ) -> list[int]:
        variables = {**dict.fromkeys(reasoning_switches(), reasoning), **template.variables}
        try:
            text = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] if tools else None,
                chat_template=self._template,
                add_generation_prompt=template.generation_prompt,
                continue_final_message=template.continue_final_message,
                documents=None if template.documents is None else [dict(each) for each in template.documents],
                tokenize=False,
                **variables,
            )
        except Exception as error:
            # Templates are code: whatever they raise, these messages are not what they take.
            raise PromptError(f"the chat template refuses them: {_sentence(error)}") from error
        return self.encode(text, special_tokens=template.special_tokens)

    @property
    def has_priorities(self) -> bool:
        return self._settings.vllm.get("scheduling_policy") == "priority"

    def encode(self, text: str, *, special_tokens: bool) -> list[int]:
        with self._encode_lock:  # tokenisers may be borrowed by one thread at a time only
            return list(self._tokenizer.encode(text, add_special_tokens=special_tokens))

    def names_of(self, token_ids: Sequence[int]) -> list[str]:
        with self._encode_lock:
            return [name or "" for name in self._tokenizer.convert_ids_to_tokens(list(token_ids))]

    def text_of(self, token_ids: Sequence[int]) -> str:
        with self._encode_lock:
            return str(self._tokenizer.decode(list(token_ids), skip_special_tokens=False))

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Delta, None]:
        from vllm.inputs.engine import tokens_input

        llm = self._engine()
        if llm.errored:
            raise EngineUnavailable("the engine process is dead")
        prompt = list(request.prompt_token_ids)
        room = llm.model_config.max_model_len - len(prompt)
        if room < 1:
            raise PromptError(
                f"the prompt has {len(prompt)} tokens, and the model takes "
                f"{llm.model_config.max_model_len} with the answer"
            )
        outputs = llm.generate(
            tokens_input(prompt, cache_salt=request.cache_salt),
            self._sampling_params(request, room),
            request.request_id,
            priority=request.priority,
            # Reasoning is part of the grammar: the mask applies from the first token.
            reasoning_ended=True,
        )
        self._running.add(request.request_id)
        try:
            with _vllm_errors():
                async with contextlib.aclosing(outputs):
                    async for output in outputs:
                        about_prompt = self._about_prompt(output, request)
                        for choice in output.outputs:
                            yield self._delta(choice, request.sampling.logprobs, about_prompt)
                            about_prompt.pop("prompt_logprobs", None)
        finally:
            self._running.discard(request.request_id)

    def metrics(self) -> bytes:
        from prometheus_client import REGISTRY, generate_latest

        vllm: bytes = generate_latest(REGISTRY)
        return vllm if self._stats is None else vllm + step_metrics.exposition(self._stats)

    def _sampling_params(self, request: GenerationRequest, room: int) -> SamplingParams:
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        assert self._params_cls is not None
        options = request.sampling
        values = dict(self._defaults)
        values.pop("max_tokens", None)
        for name in _DEFAULTED:
            value = getattr(options, name)
            if value is not None:
                values[name] = value
        tag = request.structural_tag
        return self._params_cls(
            **values,
            max_tokens=room if options.max_tokens is None else min(options.max_tokens, room),
            n=options.n,
            seed=options.seed,
            stop=list(options.stop),
            stop_token_ids=list(options.stop_token_ids),
            min_tokens=options.min_tokens,
            logit_bias=dict(options.logit_bias) or None,
            bad_words=list(options.bad_words),
            allowed_token_ids=None if options.allowed_token_ids is None else list(options.allowed_token_ids),
            logprobs=options.logprobs,
            prompt_logprobs=options.prompt_logprobs,
            include_stop_str_in_output=options.include_stop_str_in_output,
            ignore_eos=options.ignore_eos,
            structured_outputs=None if tag is None else StructuredOutputsParams(structural_tag=tag),
            extra_args={COMPLETE_WITHIN_BUDGET: True} if request.complete_within_budget else None,
            output_kind=RequestOutputKind.DELTA,
            skip_special_tokens=options.skip_special_tokens,
            spaces_between_special_tokens=options.spaces_between_special_tokens,
        )

    def _about_prompt(self, output: RequestOutput, request: GenerationRequest) -> dict[str, Any]:
        """Fields of a delta."""
        about: dict[str, Any] = {"cached_tokens": output.num_cached_tokens or 0}
        wanted = request.sampling.prompt_logprobs
        if wanted is not None and output.prompt_logprobs:
            about["prompt_logprobs"] = tuple(
                None if entries is None else _token_logprob(self._tokens, token, entries, wanted)
                for token, entries in zip(request.prompt_token_ids, output.prompt_logprobs, strict=True)
            )
        return about

    def _delta(self, choice: CompletionOutput, top: int | None, about_prompt: Mapping[str, Any]) -> Delta:
        finish = None if choice.finish_reason is None else _FINISH.get(choice.finish_reason, "error")
        token_ids = tuple(choice.token_ids)
        logprobs: tuple[TokenLogprob, ...] = ()
        if top is not None and choice.logprobs is not None:
            logprobs = tuple(
                _token_logprob(self._tokens, token, entries, top)
                for token, entries in zip(token_ids, choice.logprobs, strict=True)
            )
        return Delta(
            index=choice.index,
            text=choice.text,
            token_ids=token_ids,
            logprobs=logprobs,
            finish_reason=finish,
            stop_reason=choice.stop_reason,
            **about_prompt,
        )


def _token_logprob(tokens: Sequence[bytes], token: int, entries: Mapping[int, Any], top: int) -> TokenLogprob:
    """One position: vLLM's entries (token id -> logprob and rank) with each token's own bytes from `tokens`."""

    def one(token: int, most_likely: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
        raw, entry = tokens[token] if token < len(tokens) else b"", entries[token]
        finite = max(entry.logprob, LOGPROB_FLOOR) if math.isfinite(entry.logprob) else LOGPROB_FLOOR
        return TokenLogprob(raw.decode("utf-8", "replace"), raw, finite, most_likely, token, entry.rank)

    ranked = sorted(entries, key=lambda other: (entries[other].rank or 0, other))
    return one(token, tuple(one(other) for other in ranked[:top]))


@dataclass
class Steps:
    """Steps that the engine process has told of."""

    count: int = 0


def _step_counter(steps: Steps) -> Callable[..., Any]:
    """A factory of vLLM's stat loggers whose loggers count steps; vLLM calls `record` once for each."""
    from vllm.v1.metrics.loggers import StatLoggerBase

    class StepCounter(StatLoggerBase):
        def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
            return

        def record(self, *arguments: Any, **more: Any) -> None:
            steps.count += 1

        def log_engine_initialized(self) -> None:
            return

    return StepCounter


def _sampling_params_class() -> type[SamplingParams]:
    """vLLM's parameters without its own checks of the structured output, which only know its own backends.

    Our front end has compiled the tag already. The class does not reach the engine process: it gets the base class.
    """
    from vllm.sampling_params import SamplingParams

    class CheckedSamplingParams(SamplingParams, omit_defaults=True, dict=True):  # type: ignore[call-arg]
        def _validate_structured_outputs(self, *arguments: Any) -> None:
            return

    return CheckedSamplingParams


def _async_llm_class() -> type[AsyncLLM]:
    """AsyncLLM without its destructor, which shuts down a second time, often when the interpreter is half gone."""
    from vllm.v1.engine.async_llm import AsyncLLM

    class ClosedByHand(AsyncLLM):
        def __del__(self) -> None:
            return

    return ClosedByHand


@contextlib.contextmanager
def _vllm_errors() -> Iterator[None]:
    """vLLM's exceptions of `generate`, as ours."""
    from vllm.exceptions import VLLMClientError
    from vllm.v1.engine.exceptions import EngineDeadError

    try:
        yield
    except EngineDeadError as error:
        raise EngineUnavailable("the engine process is dead") from error
    except (VLLMClientError, ValueError) as error:
        raise PromptError(_sentence(error), param=getattr(error, "parameter", None)) from error
    except (asyncio.CancelledError, GeneratorExit, EngineError):
        raise
    except Exception as error:
        raise EngineError(f"vLLM failed: {_sentence(error)}") from error


def _sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _check_extra(extra: Mapping[str, Any]) -> None:
    for name in _OURS:
        if name in extra:
            raise EngineUnavailable(f"[vllm] must not set {name}: the server sets it")


def _quiet_environment() -> None:
    """Environment that vLLM's processes inherit; what the user has set stays."""
    for name, value in (
        ("VLLM_LOGGING_LEVEL", "ERROR"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
    ):
        os.environ.setdefault(name, value)


def _engine_arguments(settings: Settings, *, cpu: bool) -> dict[str, Any]:
    """Keyword arguments of AsyncEngineArgs; the `[vllm]` table of the settings wins over the defaults here."""
    model = settings.model
    arguments: dict[str, Any] = {
        "model": model.path,
        "served_model_name": model.served_name,
        "max_model_len": model.max_model_len,
        "enable_log_requests": False,
        "scheduler_cls": SCHEDULER,
        "worker_cls": CPU_WORKER if cpu else CUDA_WORKER,
    }
    if cpu:
        arguments.update(_cpu_defaults())
    return {**arguments, **settings.vllm}


_FEW_CORES = 4


def _cpu_defaults() -> dict[str, Any]:
    """What makes vLLM start fast and decode well on a small CPU machine."""
    import torch

    # Eager mode does without the inductor; so must the sampler's helpers, which would compile at the first request.
    os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")
    cores = len(os.sched_getaffinity(0))
    if cores <= _FEW_CORES:
        for name, value in _few_cores_environment(cores):
            os.environ.setdefault(name, value)
    # Without AVX-512 an x86 CPU emulates bfloat16, ten times slower than float32.
    fast_bfloat16 = torch.cpu._is_avx512_supported() or not torch.cpu._is_avx2_supported()
    return {
        "dtype": "bfloat16" if fast_bfloat16 else "float32",
        "enforce_eager": True,
        "kv_cache_memory_bytes": _GIB if fast_bfloat16 else 2 * _GIB,
        "max_num_seqs": 32,
    }


def _few_cores_environment(cores: int) -> tuple[tuple[str, str], ...]:
    """vLLM's defaults suit many cores: one is kept for the scheduler, waiting is done by spinning.

    With few cores, all of them compute, the worker lives in the engine process (one process less to start, no spinning
    between the two), and threads sleep when they wait: on two busy cores that is five times faster.
    """
    return (
        ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
        ("VLLM_ENABLE_V1_MULTIPROCESSING", "0"),
        ("OMP_NUM_THREADS", str(cores)),
        ("OMP_WAIT_POLICY", "PASSIVE"),
    )
