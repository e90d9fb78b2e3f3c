"""Stands in for xgrammar while vLLM runs: vLLM imports it in every process, and any use of it must fail.

What exists is what vLLM's modules need when they are imported: names to import and annotate with, and inert nodes
(`...Format`), of which one is built at import time. Compiling, matching, filling and applying raise.
"""


class TripwireError(RuntimeError):
    """Something used this package although the masks must come from elsewhere."""


class _Tripwire(type):
    def __call__(cls, *arguments, **keywords):
        if cls.__name__.endswith("Format"):
            return super().__call__()
        raise TripwireError(f"{cls.__name__} was used")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name[0].isupper():
        return _Tripwire(name, (), {})

    def used(*arguments, **keywords):
        raise TripwireError(f"{name} was used")

    return used
