"""Make the helpers of the project's own tests available, in a checkout."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
os.environ.setdefault("TESTED_PLUGIN", str(HERE.parent / "graphrag_bench_more"))
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import tested  # noqa: E402

tested.load()
