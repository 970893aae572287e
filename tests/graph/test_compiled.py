"""Compiled code is kept on disk, also where the folder of the source cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULE = """
from graphrag_bench.graph.compiled import kernel

@kernel
def double(number):
    return 2 * number
"""
STATEMENT = """
from doubling import double
print(double(21), sum(double.stats.cache_hits.values()))
"""


def said(folder: Path, cache: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", STATEMENT],
        env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_a_second_process_takes_the_compiled_code_from_the_folder_of_the_setting(tmp_path):
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    (source / "doubling.py").write_text(MODULE)
    assert said(source, cache) == ["42", "0"]
    assert list(cache.rglob("*.nbc"))
    assert said(source, cache) == ["42", "1"]
    assert not list(source.rglob("*.nbc"))
