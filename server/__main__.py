"""The command line: `strictserve serve | compile | demo-model`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from server import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code. 2 means that the arguments are wrong."""
    arguments = _parser().parse_args(argv)
    code: int = arguments.run(arguments)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="strictserve", description=__doc__)
    parser.add_argument("--version", action="version", version=f"strictserve {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", help="serve a model over HTTP")
    serve.add_argument("--model", metavar="DIR", help="Hugging Face model directory")
    serve.add_argument("--config", metavar="FILE", type=Path, help="TOML file, see configs/server.toml")
    serve.add_argument("--host")
    serve.add_argument("--port", type=int)
    serve.add_argument("--api-key", metavar="KEY", help="default: the environment variable STRICTSERVE_API_KEY")
    serve.add_argument("--tool-format", metavar="NAME", help='a format\'s name, or "auto"')
    serve.set_defaults(run=_serve)

    compile_ = commands.add_parser("compile", help="check a JSON schema or a structural tag")
    compile_.add_argument("file", metavar="FILE", type=Path)
    compile_.add_argument("--tokenizer", metavar="FILE", type=Path, help="tokenizer.json; default: single bytes")
    compile_.set_defaults(run=_compile)

    demo = commands.add_parser("demo-model", help="prepare the small model for the CPU")
    demo.add_argument("directory", metavar="DIR", type=Path)
    demo.set_defaults(run=_demo_model)
    return parser


def _overrides(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What the command line says, in the shape of the settings file."""
    key = arguments.api_key or os.environ.get("STRICTSERVE_API_KEY")
    server = {"host": arguments.host, "port": arguments.port, "api_key": key}
    model = {"path": arguments.model, "tool_format": arguments.tool_format}
    tables = {"server": server, "model": model}
    return {
        table: {name: value for name, value in values.items() if value is not None} for table, values in tables.items()
    }


def _serve(arguments: argparse.Namespace) -> int:
    from server.settings import SettingsError, load_settings

    try:
        settings = load_settings(arguments.config, _overrides(arguments))
        path = settings.model.path
        if path is None:
            raise SettingsError("no model: give --model DIR, or path in [model] of the config file")
        if not Path(path, "config.json").is_file():
            raise SettingsError(f"{path} is no model directory: it has no config.json")
        from server.engines.vllm import VllmEngine
        from server.serve import serve

        return serve(VllmEngine(settings), settings, say=_say)
    except SettingsError as error:
        print(f"strictserve: {error}", file=sys.stderr)
        return 1


def _say(line: str) -> None:
    print(line, flush=True)


def _compile(arguments: argparse.Namespace) -> int:
    from server.compile_file import compile_file

    code, lines = compile_file(arguments.file, arguments.tokenizer)
    print("\n".join(lines), file=sys.stderr if code else sys.stdout)
    return code


def _demo_model(arguments: argparse.Namespace) -> int:
    from server.demo_model import DemoModelError, prepare

    try:
        prepare(arguments.directory, say=_say)
    except DemoModelError as error:
        print(f"strictserve: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
