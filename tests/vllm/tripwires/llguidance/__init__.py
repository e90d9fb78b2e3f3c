"""Stands in for llguidance while vLLM runs, as the xgrammar beside it does: vLLM annotates with two names."""

from xgrammar import _Tripwire

LLMatcher = _Tripwire("LLMatcher", (), {})
LLTokenizer = _Tripwire("LLTokenizer", (), {})
