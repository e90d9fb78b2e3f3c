"""`strictserve serve` with the scripted engine: `python -m tests.server.scripted_server SCRIPT [FLAG ...]`.

SCRIPT is a JSON object with fields of `Script`; flags, variables and the settings file are the real ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

from server.__main__ import main
from server.engines.scripted import Script, ScriptedEngine

MODEL = Path(__file__).parent / "scripted_model"
"""A directory that looks like a model's from outside."""

if __name__ == "__main__":
    engine = ScriptedEngine(Script(**json.loads(sys.argv[1])))
    with mock.patch("server.engines.vllm.VllmEngine", return_value=engine):
        sys.exit(main(["serve", "--model", str(MODEL), "--tool-format", "hermes", *sys.argv[2:]]))
