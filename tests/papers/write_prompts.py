"""Write the last prompts of the papers' rows anew: python -m tests.papers.write_prompts."""

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from graphrag_bench.config.plugins import load_plugins

sys.path[:0] = map(str, Path(__file__).parents[:2])  # last_prompts and the reader are there
last_prompts = import_module("last_prompts")
load_plugins()
for file in last_prompts.FOLDER.glob("*/*.txt"):
    file.unlink()
with tempfile.TemporaryDirectory() as home:
    for one in last_prompts.sent():
        file = last_prompts.path(one.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(last_prompts.shown(one, Path(home)), encoding="utf-8")
