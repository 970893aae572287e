"""Chunks in contexts: one that is from several documents counts for each of them."""

import numpy as np
import pytest
from small_worlds import dataset

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import Gold
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.graphs.chunking import token
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.run.budgets import chunk_size
from graphrag_bench.run.record import summary
from graphrag_bench.run.scoring import question_scores
from graphrag_bench.values import Context, Ranked
from operators.context.rows import chunks_context

CORPUS = dataset(("a", "", "one two"), ("b", "", "three four"), ("c", "", "five six"))
TABLE = token(corpus=CORPUS, size=5, overlap=0, join="corpus")
"""Chunk 0 has the documents a and b, chunk 1 has c."""


def packed(budget: int | None = None) -> Context:
    found = Ranked(np.array([1, 0]), np.array([0.9, 0.8]))
    bound = ContextBudget(budget)
    return chunks_context(found, chunk_table=TABLE, tokenizer=BytePairs(), context_budget=bound)


def scores(context: Context, *evidence: str) -> dict[str, float]:
    row = {"question": "q", "status": "retrieved", "context": summary(context)}
    return question_scores(row, Gold((), evidence))


def test_a_chunk_in_the_prompt_is_evidence_of_every_document_it_holds() -> None:
    assert [TABLE.documents_of(row) for row in (0, 1)] == [["a", "b"], ["c"]]
    assert [(piece.id, piece.also) for piece in packed().pieces] == [("c", ()), ("a", ("b",))]
    for evidence in (("a",), ("b",), ("b", "c")):
        assert scores(packed(), *evidence)["evidence_at_tokens@500"] == 1.0
    assert scores(packed(), "b", "d")["evidence_at_tokens@500"] == 0.5


def test_a_chunk_that_is_cut_is_cut_for_every_document_it_holds() -> None:
    cut = packed(budget=3)
    assert cut.cut == (("chunk", "a"), ("chunk", "b"))
    assert scores(cut, "b")["evidence_cut"] == 1.0
    assert scores(packed(), "b")["evidence_cut"] == 0.0


@pytest.mark.parametrize(("join", "typical"), [("document", 2), ("corpus", 5)])
def test_the_typical_chunk_of_a_joined_corpus_is_a_full_window(join: str, typical: int) -> None:
    chunking = {"variant": "token", "size": 5, "overlap": 0, "join": join}
    settings = check_settings(composed(["dataset=toy", "method=vanilla"]))
    settings = settings.model_copy(update={"chunking": chunking})
    load_plugins(["operators", "methods"])
    assert chunk_size(settings, CORPUS).typical == -(-typical * 105 // 100)
