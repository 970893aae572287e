"""Methods inside PyTerrier, LangChain and LlamaIndex, each the real library."""

import asyncio
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import toy_runs
from toy_runs import TAGGER

from graphrag_bench import api
from graphrag_bench.adapters.retrieval import document_scores
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import MissingPackage, UserError
from graphrag_bench.explain.question import AnsweringFailed
from graphrag_bench.values import Ranked

pytestmark = pytest.mark.usefixtures("home")

MODELS = {"embedder": "hashing", "llm": {"_target_": "toy_runs.reader"}, "nlp": TAGGER}
FOUNDER = "Who founded the Norvik Observatory?"


def retriever(tool: str, method: str = "bm25", dataset: str = "toy", **settings: object):
    adapter = vars(import_module(f"graphrag_bench.adapters.{tool}"))
    (kind,) = [name for name in adapter if name.lower() == f"{tool}retriever"]
    pipeline = api.method(method, **{**MODELS, **settings})
    return adapter[kind](pipeline, dataset)


def test_pt_experiment_has_the_figures_of_our_run():
    pt = pytest.importorskip("pyterrier")
    ours = api.method("entitypassage", **MODELS).run("toy", answer="off").metrics["metrics"]
    one = retriever("pyterrier", "entitypassage")
    assert pt.java.started() is False
    table = pt.Experiment(
        [one, one % 1, one + one, one >> pt.apply.doc_score(lambda row: -row["rank"])],
        one.topics, one.qrels, ["recip_rank", "recall_5", "ndcg_cut_5"],
    )  # fmt: skip
    for column, metric in (("recip_rank", "mrr"), ("recall_5", "evidence_recall@5")):
        assert table[column][0] == pytest.approx(ours[metric]["mean"], abs=1e-6)
    assert table["ndcg_cut_5"][0] == table["ndcg_cut_5"][2] == table["ndcg_cut_5"][3]
    assert table["recall_5"][1] <= table["recall_5"][0]


def test_a_pyterrier_frame_keeps_query_columns_and_repeats_no_query():
    one = retriever("pyterrier")
    query = {"qid": "7", "query": FOUNDER, "query_0": "first words"}
    found = one(pd.DataFrame([query, query]))
    assert [*found.columns] == ["qid", "query", "query_0", "docno", "score", "rank"]
    assert found[["docno", "rank"]].values.tolist() == [["ada", 0], ["norvik", 1]]
    assert found.score.tolist() == pytest.approx([1.733876, 1.459370], abs=1e-6)
    for empty in (pd.DataFrame([query])[:0], pd.DataFrame([{"qid": "8", "query": "zzz"}])):
        none = one(empty)
        assert none.empty and {"qid", "docno", "score", "rank", "query"} <= {*none.columns}
    with pytest.raises(UserError, match="'7'"):
        one(pd.DataFrame([query, {**query, "query": "Who else?"}]))
    with pytest.raises(UserError, match="gretriever"):
        retriever("pyterrier", "gretriever")(pd.DataFrame([query]))


def test_scores_of_documents_fall_although_those_of_chunks_do_not():
    texts = {"a": "1", "b": "2", "c": "2", "d": "4"}
    table = ChunkTable.of([*((name, "", text) for name, text in texts.items()), ("a", "", "3")])
    chunks = Ranked(np.array([0, 3, 1, 2]), np.array([0.5, 0.9, 0.5, np.nan]))
    scores = document_scores(chunks, table)
    assert [*scores] == ["a", "b", "c", "d"]
    below = float(np.nextafter(np.float32(0.5), np.float32(0)))
    assert [*scores.values()][:3] == [0.5, below, below]
    assert np.float32(scores["d"]) < np.float32(below)


def test_langchain_and_llama_index_get_the_context_of_the_reader():
    method = "hlightrag"
    context = api.method(method, **MODELS).ask(FOUNDER, "toy").context
    titles = {("chunk", one.id): one.title for one in api.dataset("toy").documents}
    expected = [(one.text, one.kind, one.id, one.score, titles.get((one.kind, one.id), ""))
                for one in context.pieces]  # fmt: skip
    assert {kind for _, kind, *_ in expected} >= {"chunk", "node"}
    chain = retriever("langchain", method)
    (documents, again), later = chain.batch([FOUNDER, FOUNDER]), asyncio.run(chain.ainvoke(FOUNDER))
    assert documents == again == later
    of_chain = [(one.page_content, one.metadata) for one in documents]
    nodes = retriever("llamaindex", method).retrieve(FOUNDER)
    of_index = [(one.node.get_content("llm"), one.metadata) for one in nodes]
    assert of_chain == of_index
    assert [(text, m["kind"], m["id"], m["score"], m["title"]) for text, m in of_chain] == expected
    assert [one.score for one in nodes] == [one.score for one in context.pieces]


def test_a_question_that_fails_is_an_error_and_one_without_a_scope_too(monkeypatch):
    monkeypatch.setattr(toy_runs, "fails_on", {"Norvik"})
    broken = retriever("pyterrier", "rerank")
    with pytest.raises(AnsweringFailed, match="q7: .*told to fail"):
        broken(pd.DataFrame([{"qid": "q7", "query": FOUNDER}]))
    with pytest.raises(UserError, match="graph.per"):
        retriever("langchain", graph={"per": "partition"}).invoke("Who?")


@pytest.mark.parametrize("tool", ["pyterrier", "langchain_core", "llama_index"])
def test_a_missing_library_names_the_extra(tool, monkeypatch):
    adapter = tool.removesuffix("_core").replace("_", "")
    own = f"graphrag_bench.adapters.{adapter}"
    for name in [one for one in sys.modules if one == own or one.partition(".")[0] == tool]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, tool, None)
    with pytest.raises(MissingPackage) as error:
        import_module(own)
    assert f"{tool} " in f"{error.value} " and "graphrag-bench[adapters]" in str(error.value)
