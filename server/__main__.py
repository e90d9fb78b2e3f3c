"""The command line: `strictserve serve | compile | demo-model`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from server import __version__, restart
from server.options import (
    add_flags,
    from_environment,
    from_flags,
    names_of_flags,
    names_of_variables,
    unknown_variables,
)
from server.settings import Settings, SettingsError, load_settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code. 2 means that the arguments are wrong."""
    arguments = _parser().parse_args(argv)
    code: int = arguments.run(arguments)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="strictserve", description=__doc__)
    parser.add_argument("--version", action="version", version=f"strictserve {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser(
        "serve",
        help="serve a model over HTTP",
        description="Serve a model over HTTP. A flag wins over its variable, a variable over the file, "
        "the file over the default.",
        formatter_class=_wide,
        allow_abbrev=False,
    )
    serve.add_argument(
        "--config", metavar="FILE", type=Path, help="TOML file, see configs/server.toml (STRICTSERVE_CONFIG)"
    )
    add_flags(serve)
    serve.set_defaults(run=_serve)

    compile_ = commands.add_parser("compile", help="check a JSON schema or a structural tag")
    compile_.add_argument("file", metavar="FILE", type=Path)
    compile_.add_argument("--tokenizer", metavar="FILE", type=Path, help="tokenizer.json; default: single bytes")
    compile_.set_defaults(run=_compile)

    demo = commands.add_parser("demo-model", help="prepare the small model for the CPU")
    demo.add_argument("directory", metavar="DIR", type=Path)
    demo.set_defaults(run=_demo_model)
    return parser


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=36)


def _settings(arguments: argparse.Namespace) -> Settings:
    """The settings of a command line, its environment and its file. Raises SettingsError."""
    for name in unknown_variables(os.environ):
        print(f"strictserve: {name} is no setting and is ignored", file=sys.stderr)
    file = arguments.config or (Path(named) if (named := os.environ.get("STRICTSERVE_CONFIG")) else None)
    settings = load_settings(
        file,
        (names_of_variables(), from_environment(os.environ)),
        (names_of_flags(), from_flags(arguments)),
    )
    path = settings.model.path
    if path is None:
        raise SettingsError("no model: give --model DIR, or path in [model] of the config file")
    if not Path(path, "config.json").is_file():
        raise SettingsError(f"{path} is no model directory: it has no config.json")
    return settings


def _serve(arguments: argparse.Namespace) -> int:
    try:
        settings = _settings(arguments)
        from server.engines.vllm import VllmEngine
        from server.serve import ENGINE_FAILED, serve

        code = serve(VllmEngine(settings), settings, say=_say)
    except SettingsError as error:
        print(f"strictserve: {error}", file=sys.stderr)
        return 1
    if code == ENGINE_FAILED and settings.server.on_engine_failure == "restart":
        restart.again(say=_say)
        return 0
    return code


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
