"""A method is one folder and one YAML file: without them the others run as before."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REMOVED = ("gfmrag", "hoprag", "pathcorag", "pathrag", "proprag")
"""Methods with builders and operators of their own."""
KEPT = ("bm25", "vanilla", "hipporag", "raptor_kmeans")
ASKED_FOR = (
    "method=proprag", "row=pathcorag.table2.PathCoRAG", "experiment=edge_sparsity",
)  # fmt: skip
"""A method, a paper's row and a study that need a removed method."""
SCRIPT = """
import json, sys
from toy_runs import TOY, command

removed, kept, asked_for = map(json.loads, sys.argv[1:])
listed = command("list", "methods").out.split()
words = [*TOY, "answer=off", "reference_rows=off"]
ran = command("run", "-m", *words, f"method={','.join(kept)}")
errors = [command("run", *words, word) for word in asked_for]
json.dump(
    {"listed": [name for name in removed if name in listed], "code": ran.code,
     "ran": ran.methods, "named": [name for name in removed if name in ran.out + ran.err],
     "errors": [[one.code, one.err] for one in errors]},
    sys.stdout,
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
        [sys.executable, "-c", SCRIPT, *map(json.dumps, (REMOVED, KEPT, ASKED_FOR))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["listed"], result["named"]) == ([], [])
    assert (result["code"], result["ran"]) == (0, list(KEPT))
    for word, (code, message) in zip(ASKED_FOR, result["errors"], strict=True):
        assert code == 2, word
        assert "Traceback" not in message
        assert any(f"'{name}'" in message for name in REMOVED), (word, message)
