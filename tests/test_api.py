"""The Python interface: editable pipelines, notebooks, and the same runs as the command line."""

import contextlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from toy_runs import READER, TAGGER, TOY, metrics, run_command

import graphrag_bench as gb

WEIGHTLESS = {"embedder": "hashing", "llm": READER, "nlp": TAGGER}
ANSWER = "Ada Marsh"
VDB = {"op": "chunk.vdb", "top_k": 10}
pytestmark = pytest.mark.usefixtures("home")


def hipporag(**settings):
    return gb.method("hipporag", **WEIGHTLESS, **settings)


def test_ask_returns_answer_context_and_trace_and_stores_nothing(home):
    answered = hipporag().ask("Who founded the Norvik Observatory?", "toy")
    assert (answered.answer, answered.context.pieces[0].id) == (ANSWER, "norvik")
    steps = [step.operator for step in answered.trace]
    assert steps[:3] == ["question.entities.nlp", "node.link", "node.ppr"]
    assert answered.trace[0].wrote["mentions"].names == ("norvik observatory",)
    assert "norvik" in answered.report()
    assert not (home / "runs").exists()


def test_run_equals_that_of_the_command_line(home):
    settings = ["method=hipporag", "method.damping=0.3", "limit=2", "reference_rows=off"]
    shell = run_command(*TOY, *settings, "paths.home=shell")
    python = hipporag(damping=0.3).run("toy", limit=2, reference_rows="off")
    assert python.folder.resolve() == home / "runs" / "toy" / "hipporag" / shell.folder.name
    assert python.key == shell.folder.name
    assert python.metrics["metrics"] == metrics(shell.folder)["metrics"]
    for name in ("records.jsonl", "config.yaml"):
        assert (python.folder / name).read_bytes() == (shell.folder / name).read_bytes()


def test_numpy_values_and_paths_are_plain_settings():
    plain = hipporag(damping=0.1, top_k=2)
    rich = hipporag(damping=np.float64(0.1), top_k=np.int64(2), paths={"home": Path("rich")})
    for method, one in ((plain, 1), (rich, np.int32(1))):
        method.steps["retrieve"].append({"op": "chunk.head", "top_k": one})
    first = plain.run("toy", answer="off", limit=2)
    cuts = {"cuts": np.array([2, 5, 10])}
    run = rich.run("toy", answer="off", limit=np.int64(2), evaluation=cuts)
    assert (run.key, run.metrics["metrics"]) == (first.key, first.metrics["metrics"])
    assert run.folder.is_relative_to("rich")
    assert len(gb.dataset("world", size=np.int64(20), n_questions=np.int64(3)).questions) == 3


def test_a_question_of_a_list_may_be_a_text_and_a_question_file_has_any_name(home):
    own = gb.dataset_of("Ada built the mill.", ["Who built it?", {"text": "When?", "id": "when"}])
    texts = {one.id: one.text for one in own.questions}
    assert (own.documents[0].id, texts) == ("d0", {"q0": "Who built it?", "when": "When?"})
    file = home / "asked.json"
    file.write_text('{"id": "one", "text": "Where?", "answers": ["Tolby"]}\n')
    assert [one.id for one in gb.dataset("toy", questions=file).questions] == ["one"]
    file.write_text("id,text\none,Where?\n")
    with pytest.raises(gb.UserError, match="asked.json, line 1"):
        gb.dataset("toy", questions=file)


def test_differing_settings_are_columns_of_the_data_frame():
    for damping, drop in ((0.1, 0.0), (0.3, 0.5)):
        build = {"graph": {"edge_drop": drop}}
        hipporag(damping=damping).run("toy", limit=1, answer="off", build=build)
    gb.method("bm25", **WEIGHTLESS).run("toy", limit=1)
    frame = gb.stored_runs()
    paths = ["method.damping", "build.graph.edge_drop"]
    assert list(frame.columns)[3:6] == [*paths, "question"]
    recall = frame.groupby(["dataset", *paths])["evidence_recall@5"].mean()
    assert list(recall.index) == [("toy", 0.1, 0.0), ("toy", 0.3, 0.5)]
    assert frame["method.damping"].isna().sum() == 1
    assert [*frame.set_index("method").loc["bm25", ["status", "answer"]]] == ["answered", ANSWER]
    assert len(gb.stored_runs("nowhere")) == 0


def test_edited_steps_change_name_and_role_and_a_renamed_method_keeps_top_k():
    toy = gb.dataset("toy")
    for rows, edits in (
        ([VDB, {"op": "chunk.head", "top_k": 1}], " + chunk.head"),
        ([{**VDB, "top_k": 1}], " + chunk.vdb.top_k=1"),
        ([{"op": "chunk.bm25", "top_k": 2}], " + chunk.bm25 - chunk.vdb"),
        ([VDB], ""),
    ):
        pipeline = gb.method("vanilla", **WEIGHTLESS, top_k=3)
        pipeline.steps["retrieve"][:] = rows
        method = pipeline.experiment(toy, answer="off").method
        assert (method.name, method.title) == (f"vanilla{edits}", f"VanillaRAG{edits}")
        assert method.role == ("" if edits else "baseline")
    for pipeline in (gb.method("vanilla", top_k=2), gb.method("vanilla", top_k=2).renamed("two")):
        assert pipeline.experiment(toy, embedder="hashing").context_budget.filling == ""
    renamed = gb.method("vanilla").renamed("filled")
    assert renamed.experiment(toy, embedder="hashing").context_budget.filling == "chunk"


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


@pytest.mark.usefixtures("open_registries")
def test_edited_notebook_cell_replaces_the_operator(monkeypatch):
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
