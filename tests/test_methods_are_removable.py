"""A method is one folder and one YAML file: without them the others run as before."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REMOVED = ("hoprag", "linearrag", "pathcorag", "pathrag", "tog")
"""Methods with builders and operators of their own."""
KEPT = ["bm25", "raptor_kmeans"]
SCRIPT = """
import json, sys
from toy_runs import TOY, command

words = [*TOY, "answer=off", "reference_rows=off", "limit=1"]
ran = command("run", "-m", *words, "method=bm25,raptor_kmeans")
listed = command("list", "methods")
# a method, a paper's row and a study that need a removed method
refused = [command("run", *words, word) for word in (
    "method=tog", "row=pathcorag.table2.PathCoRAG", "experiment=edge_sparsity"
)]
json.dump(
    [ran.code, ran.methods, ran.out + ran.err + listed.out,
     [(one.code, one.err) for one in refused]], sys.stdout,
)
"""


@pytest.mark.slow
def test_without_folder_and_file_of_five_methods_the_others_run_and_name_none(tmp_path: Path):
    for folder in ("graphrag_bench", "operators", "methods", "configs", "datasets"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in REMOVED:
        shutil.rmtree(tmp_path / "methods" / name)
        for file in (tmp_path / "configs" / "method").glob(f"{name}*.yaml"):
            file.unlink()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'tests'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *ran, printed, refused = json.loads(done.stdout)
    assert ran == [0, KEPT]
    assert not any(name in printed for name in REMOVED)
    for code, message in refused:
        assert code == 2 and "Traceback" not in message
        assert any(f"'{name}'" in message for name in REMOVED), message
