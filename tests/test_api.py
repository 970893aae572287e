"""The Python interface: editable pipelines, and the same runs as the command line."""

from pathlib import Path

import numpy as np
import pytest
from toy_runs import READER, TAGGER, TOY, metrics, run_command

import graphrag_bench as gb
from graphrag_bench.api import EditablePipeline

WEIGHTLESS = {"embedder": "hashing", "llm": READER, "nlp": TAGGER}


pytestmark = pytest.mark.usefixtures("home")


def hipporag(**settings: object) -> EditablePipeline:
    return gb.method("hipporag", **WEIGHTLESS, **settings)


def test_ask_returns_answer_context_and_trace_and_stores_nothing(home: Path) -> None:
    answered = hipporag().ask("Who founded the Norvik Observatory?", "toy")
    assert (answered.answer, answered.context.pieces[0].id) == ("Ada Marsh", "norvik")
    steps = [step.operator for step in answered.trace]
    assert steps[:3] == ["question.entities.nlp", "node.link", "node.ppr"]
    assert answered.trace[0].wrote["mentions"].names == ("norvik observatory",)
    assert "norvik" in answered.report()
    assert not (home / "runs").exists()


def test_run_equals_that_of_the_command_line(home: Path) -> None:
    settings = ["method=hipporag", "method.damping=0.3", "limit=2", "reference_rows=off"]
    shell = run_command(*TOY, *settings, "paths.home=shell")
    python = hipporag(damping=0.3).run("toy", limit=2, reference_rows="off")
    assert python.folder.resolve() == home / "runs" / "toy" / "hipporag" / shell.folder.name
    assert python.key == shell.folder.name
    assert python.metrics["metrics"] == metrics(shell.folder)["metrics"]
    for name in ("records.jsonl", "config.yaml"):
        assert (python.folder / name).read_bytes() == (shell.folder / name).read_bytes()


def test_numpy_values_and_paths_are_plain_settings() -> None:
    plain = hipporag(damping=0.1, top_k=2)
    plain.steps["retrieve"].append({"op": "chunk.head", "top_k": 1})
    expected = plain.run("toy", answer="off", limit=2)
    rich = hipporag(damping=np.float64(0.1), top_k=np.int64(2), paths={"home": Path("rich")})
    rich.steps["retrieve"].append({"op": "chunk.head", "top_k": np.int32(1)})
    run = rich.run(
        "toy", answer="off", limit=np.int64(2), evaluation={"cuts": np.array([2, 5, 10])}
    )
    assert (run.key, run.metrics["metrics"]) == (expected.key, expected.metrics["metrics"])
    assert run.folder.is_relative_to("rich")
    sizes = {"size": np.int64(20), "n_questions": np.int64(3)}
    assert len(gb.dataset("world", **sizes).questions) == 3


def test_a_question_of_a_list_may_be_a_text() -> None:
    own = gb.dataset_of("Ada built the mill.", ["Who built it?", {"text": "When?", "id": "when"}])
    assert [document.id for document in own.documents] == ["d0"]
    assert [(one.id, one.text) for one in own.questions] == [
        ("q0", "Who built it?"), ("when", "When?"),
    ]  # fmt: skip


def test_differing_settings_are_columns_of_the_data_frame() -> None:
    for size, drop in ((1, 0.0), (3, 0.5)):
        settings = {"limit": 1, "answer": "off", "build": {"graph": {"edge_drop": drop}}}
        hipporag(damping=size / 10).run("toy", **settings)
    gb.method("bm25", **WEIGHTLESS).run("toy", limit=1)
    frame = gb.stored_runs()
    paths = ["method.damping", "build.graph.edge_drop"]
    assert list(frame.columns)[3:6] == [*paths, "question"]
    recall = frame.groupby(["dataset", *paths])["evidence_recall@5"].mean()
    assert list(recall.index) == [("toy", 0.1, 0.0), ("toy", 0.3, 0.5)]
    assert frame["method.damping"].isna().sum() == 1
    assert frame.set_index("method").loc["bm25", ["status", "answer"]].tolist() == [
        "answered", "Ada Marsh",
    ]  # fmt: skip
    assert len(gb.stored_runs("nowhere")) == 0


VDB = {"op": "chunk.vdb", "top_k": 10}


@pytest.mark.parametrize(
    ("rows", "edits"),
    [
        ([VDB, {"op": "chunk.head", "top_k": 1}], " + chunk.head"),
        ([{**VDB, "top_k": 1}], " + chunk.vdb.top_k=1"),
        ([{"op": "chunk.bm25", "top_k": 2}], " + chunk.bm25 - chunk.vdb"),
        ([VDB], ""),
    ],
)
def test_edited_steps_change_name_and_role(rows: list[dict[str, object]], edits: str) -> None:
    pipeline = gb.method("vanilla", **WEIGHTLESS, top_k=3)
    pipeline.steps["retrieve"][:] = rows
    method = pipeline.experiment(gb.dataset("toy"), answer="off").method
    assert (method.name, method.title) == (f"vanilla{edits}", f"VanillaRAG{edits}")
    assert method.role == ("" if edits else "baseline")


def test_renamed_method_keeps_top_k() -> None:
    toy = gb.dataset("toy")
    for pipeline in (gb.method("vanilla", top_k=2), gb.method("vanilla", top_k=2).renamed("two")):
        assert pipeline.experiment(toy, embedder="hashing").context_budget.filling == ""
    renamed = gb.method("vanilla").renamed("filled")
    assert renamed.experiment(toy, embedder="hashing").context_budget.filling == "chunk"


def test_a_question_file_may_have_any_name(home: Path) -> None:
    file = home / "asked.json"
    file.write_text('{"id": "one", "text": "Where?", "answers": ["Tolby"]}\n')
    assert [one.id for one in gb.dataset("toy", questions=file).questions] == ["one"]
    file.write_text("id,text\none,Where?\n")
    with pytest.raises(gb.UserError, match="asked.json, line 1"):
        gb.dataset("toy", questions=file)
