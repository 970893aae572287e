"""A notebook that defines, runs and edits an operator."""

import contextlib
import io
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

SETUP = """
import numpy as np
import graphrag_bench as gb

llm = {"_target_": "graphrag_bench.llm.scripted.Scripted", "replies": {"Question": "Ada Marsh"}}
settings = {"embedder": "hashing", "llm": llm}
"""
OPERATOR = """
@gb.operator("chunk.by_length")
def by_length(question: gb.Question, *, chunk_table: gb.ChunkTable) -> gb.Ranked[gb.Chunk]:
    lengths = np.array([len(text) for text in chunk_table.texts], float)
    return gb.Ranked.top(lengths, 3)
"""
RUN = """
mine = gb.method("vanilla", **settings).renamed("by_length")
mine.steps["retrieve"][0] = {"op": "chunk.by_length"}
run = mine.run("toy", answer="off")
row = gb.stored_runs().set_index(["key", "question"]).loc[(run.key, "q1")]
print(run.key, row["evidence_recall@5"])
"""


@pytest.mark.usefixtures("home", "open_registries")
def test_edited_notebook_cell_replaces_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passage of q1 is among the three longest, not among the three shortest."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell replaces it
    shell = InteractiveShell()
    shortest = OPERATOR.replace("(lengths", "(-lengths")
    commented = shortest.replace("    lengths =", "    # characters\n    lengths =")
    printed = []
    for operator in (SETUP + OPERATOR, shortest, commented):
        shell.run_cell(operator).raise_error()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            shell.run_cell(RUN).raise_error()
        printed.append(out.getvalue())
    (first, longest), (second, worst) = printed[0].split(), printed[1].split()
    assert first != second and (longest, worst) == ("1.0", "0.0")
    assert printed[2] == printed[1], "an edited comment makes no other run"
