"""A notebook that defines, runs and edits an operator."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

SETUP = """
import numpy as np
from pydantic import PositiveInt
import graphrag_bench as gb
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Chunk, Question, Ranked

llm = {"_target_": "graphrag_bench.llm.scripted.Scripted", "replies": {"Question": "Ada Marsh"}}
settings = {"embedder": "hashing", "llm": llm}
toy = gb.dataset("toy")
"""
OPERATOR = '''
@operator("chunk.by_length")
def by_length(
    question: Question, *, chunk_table: ChunkTable, top_k: PositiveInt = 4
) -> Ranked[Chunk]:
    """The longest chunks first."""
    lengths = np.array([len(text) for text in chunk_table.texts], float)
    return Ranked[Chunk].top(lengths, top_k)
'''
RUN = """
mine = gb.method("vanilla", **settings).renamed("by_length")
mine.steps["retrieve"][0] = {"op": "chunk.by_length", "top_k": 3}
run = mine.run(toy, answer="off")
row = gb.stored_runs().set_index(["key", "question"]).loc[(run.key, "q1")]
print(run.key, row["evidence_recall@5"])
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the output of each cell of an executed notebook."""
    shortest = OPERATOR.replace("lengths, top_k", "-lengths, top_k")
    commented = shortest.replace("    lengths =", "    # characters\n    lengths =")
    cells = [SETUP, OPERATOR, RUN, shortest, RUN, commented, RUN]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        root = str(Path(__file__).parents[1])
        patch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
        resources = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return ["".join(map(_text, cell.outputs)) for cell in notebook.cells]


def _text(output: nbformat.NotebookNode) -> str:
    """Return the printed or displayed text of an output."""
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else ""
    return str(output.data["text/plain"])


def test_edited_notebook_cell_replaces_the_operator(printed: list[str]) -> None:
    """The passage of q1 is among the three longest, not among the three shortest."""
    (first, longest), (second, shortest) = printed[2].split(), printed[4].split()
    assert first != second
    assert (longest, shortest) == ("1.0", "0.0")
    assert printed[6] == printed[4], "an edited comment makes no other run"
