"""What the suite tests: the built-in operators and methods, or those of a plug-in.

TESTED_PLUGIN is the folder of a package. `worlds.py`, with the resources that its operators need in
small worlds, is in the folder tests/ beside it.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from graphrag_bench.config.plugins import load_plugins

PLUGIN = Path(os.environ["TESTED_PLUGIN"]).resolve() if "TESTED_PLUGIN" in os.environ else None
PACKAGES = (f"{PLUGIN.name}.",) if PLUGIN else ("operators.", "methods.")
BUILDERS = PACKAGES if PLUGIN else (*PACKAGES, "graphrag_bench.")


def load() -> None:
    load_plugins([str(PLUGIN)] if PLUGIN else [])
    if PLUGIN:
        sys.path.append(str(PLUGIN.parent / "tests"))


def more(name: str, *arguments: Any) -> Mapping[str, Any]:
    """Return what a function of the plug-in's `worlds.py` returns; {} without a plug-in."""
    return getattr(import_module("worlds"), name)(*arguments) if PLUGIN else {}
