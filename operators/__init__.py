"""The retrieval operators, one folder per kind of thing; importing this package registers them."""

from pathlib import Path

from graphrag_bench.registry import import_modules

import_modules(__name__, Path(__file__).parent)
