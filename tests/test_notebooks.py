"""The notebooks of the documentation run and print their figures."""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.slow, pytest.mark.real]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
FIGURE = re.compile(r"\b[01]\.\d{3}\b")


def figures(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Return the distinct figures of three decimals that each code cell printed."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    texts = ["".join(str(output) for output in cell.outputs) for cell in cells]
    return [list(dict.fromkeys(FIGURE.findall(text))) for text in texts]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_a_notebook_prints_its_figures(
    name: str, tmp_path: Path, models_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").symlink_to(models_cache)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    assert figures(notebook) == figures(stored)
