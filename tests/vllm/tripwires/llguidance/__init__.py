"""Stands in for llguidance while vLLM runs, as the xgrammar beside it does."""

from xgrammar import TripwireError


class LLMatcher:
    """vLLM names it in an annotation when its module is imported."""

    def __init__(self, *arguments, **keywords):
        raise TripwireError("llguidance.LLMatcher was used")


def __getattr__(name):
    raise TripwireError(f"llguidance.{name} was used")
