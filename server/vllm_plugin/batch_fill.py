"""One call into the engine per step fills the mask rows of all requests, draft positions included.

`BatchFill` takes the place of `StructuredOutputManager.grammar_bitmask` and keeps its contract: rows in the
order of the requests; for a request with d draft tokens d + 1 rows, row i being the mask after the first i
drafts. A draft position gets its own fork of the matcher (cheap: forks share what is known), so the request's
matcher never moves and nothing has to be rolled back.

Rows with nothing forbidden: the request is still reasoning (vLLM's own reasoning parsers), it has terminated,
or the position follows the padding (-1) of a draft. A draft that the grammar refuses repeats the last row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from vllm.v1.structured_output.utils import strip_speculative_padding

from engine_native import Matcher, fill_bitmask_batch
from server.vllm_plugin.backend import NativeBackend, RequestGrammar
from server.vllm_plugin.step_stats import FILL_SECONDS, ROWS

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager


class BatchFill:
    """The fill of one engine process. Belongs to the step loop's thread."""

    def __init__(self, manager: StructuredOutputManager, backend: NativeBackend) -> None:
        config: VllmConfig = manager.vllm_config
        self._manager = manager
        self._backend = backend
        most = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
        self._rows: npt.NDArray[np.int32] = backend.allocate_token_bitmask(most).numpy()

    def __call__(
        self,
        requests: Mapping[str, Request],
        structured_output_request_ids: Sequence[str],
        scheduled_spec_decode_tokens: Mapping[str, list[int]],
    ) -> npt.NDArray[np.int32] | None:
        """The step's rows, (rows, words) int32, valid until the next call; None without requests."""
        if not structured_output_request_ids:
            return None
        began = time.perf_counter()
        plan: list[Matcher | None] = []
        for request_id in structured_output_request_ids:
            drafts = scheduled_spec_decode_tokens.get(request_id, [])
            plan.extend(self._positions(requests[request_id], drafts))
        matchers = [matcher for matcher in plan if matcher is not None]
        if len(matchers) < len(plan):
            self._rows[[i for i, matcher in enumerate(plan) if matcher is None]] = -1
        if matchers:
            indices = [i for i, matcher in enumerate(plan) if matcher is not None]
            fill_bitmask_batch(matchers, self._rows, indices)
        if self._backend.stats is not None:
            self._backend.stats.observe((FILL_SECONDS, time.perf_counter() - began), (ROWS, len(plan)))
        return self._rows[: len(plan)]

    def _positions(self, request: Request, drafts: list[int]) -> list[Matcher | None]:
        """The matcher of each of the request's rows; None for a row that forbids nothing."""
        state: Any = request.structured_output_request
        grammar: RequestGrammar = state.grammar
        usable = strip_speculative_padding(drafts)
        grammar_start, constraint_start = self._manager._get_constraint_bounds(request, usable)
        at: Matcher = grammar.matcher
        positions: list[Matcher | None] = []
        refused = False
        for i in range(len(drafts) + 1):
            masked = (refused or constraint_start <= i <= len(usable)) and not at.is_terminated()
            positions.append(at if masked else None)
            if i == len(drafts):
                break
            # The next row has its own matcher: one matcher must not be filled twice in a batch.
            at = at.fork()
            if not refused and grammar_start <= i < len(usable):
                refused = not at.accept_token(drafts[i])
        return positions
