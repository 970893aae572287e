"""The methods' own steps and prompts; importing this package registers the steps."""

from pathlib import Path

from graphrag_bench.registry import import_modules

import_modules(__name__, Path(__file__).parent)
