"""Stands in for xgrammar while vLLM runs: vLLM imports it in every process, and any use of it must fail.

Only what vLLM's modules need at import time exists: names that can be imported and annotated with.
"""


class TripwireError(RuntimeError):
    """Something used this package although the masks must come from elsewhere."""


class _Tripwire(type):
    def __call__(cls, *arguments, **keywords):
        raise TripwireError(f"xgrammar.{cls.__name__} was used")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name[0].isupper():
        return _Tripwire(name, (), {})

    def used(*arguments, **keywords):
        raise TripwireError(f"xgrammar.{name} was used")

    return used
