"""The plug-in in docs/examples passes its own tests, and the suite's for contracts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "examples" / "graphrag_bench_more"


@pytest.mark.slow
@pytest.mark.real
def test_the_plug_in_passes_its_tests_and_those_of_contracts(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp",
         str(tmp_path / "pytest"), FOLDER / "tests", "tests/test_contracts.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "TESTED_PLUGIN": str(FOLDER / FOLDER.name), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
