"""The plug-in in docs/examples passes its own tests, and the suite's for contracts."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graphrag_bench.config.plugins import ENTRY_POINTS
from graphrag_bench.config.sources import IN_PLUGIN, names

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "examples" / "graphrag_bench_more"
PACKAGE = FOLDER / "graphrag_bench_more"


@pytest.mark.slow
@pytest.mark.real
def test_the_plug_in_passes_its_tests_and_those_of_contracts(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp",
         str(tmp_path / "pytest"), FOLDER / "tests", "tests/test_contracts.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "TESTED_PLUGIN": str(PACKAGE), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_its_entry_point_names_the_package_and_its_methods_are_not_in_the_core() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    assert [*project["entry-points"][ENTRY_POINTS].values()] == [PACKAGE.name]
    methods = {file.stem for file in PACKAGE.glob("configs/method/*.yaml")}
    assert methods == set(IN_PLUGIN) and not methods & set(names("method"))
