"""Operators of single methods, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from builds import QUIET, FixedTagger, Words
from by_hand import Planted, alone, ranked, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import Exploration, Hop
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.values import (
    Answer,
    Context,
    Keywords,
    Mentions,
    Piece,
    Query,
    Question,
    Ranked,
)
from methods.decompose.splitting import decompose
from methods.hipporag2.facts import filter_llm
from methods.hyde.hypothesis import hypothetical
from methods.ircot.thinking import EndOfThought, Thoughts, first_sentence, think
from methods.lightrag import pick
from methods.linearrag.activation import activate, tri_graph
from methods.tog.answering import exploration_context, if_enough
from operators.question.conversion import entities_keywords, entities_or_phrases

A, B, C, D, E, F = range(6)
ASKED = Question("q", "asked")


def cosines(*values: float) -> VectorIndex:
    return VectorIndex(np.array([[c, np.sqrt(1 - c * c)] for c in values], np.float32))


def test_chunks_of_nodes_and_relationships_alternate_after_dense_ones(monkeypatch):
    graph = Graph.from_arrays(
        [A, B], [B, C],
        node_chunk=[[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
        relationship_chunk=[[0, 1, 0, 0], [0, 0, 1, 1]],
    )  # fmt: skip
    needs = {"graph": graph, "chunk_index": cosines(0.9, 0.5, 0.7, 0.1), "embedder": Planted()}

    def picked(operator, nodes, rows, **settings) -> list[int]:
        reads = ASKED, ranked(*nodes), ranked(*rows), ranked(3)
        return alone(operator)(*reads, **needs, **settings).ids.tolist()

    assert picked(pick.similar, [A, B], [0, 1]) == [0, 2, 1, 3]
    monkeypatch.setattr(pick, "PER_ROW", 1)
    assert picked(pick.similar, [A, B], [0]) == [0]
    # two rows with new chunks, 1 and 2, 3: 2 * 1 / 2 = 1 of these
    assert picked(pick.similar, [A, B], [0, 1]) == [0, 2]
    monkeypatch.setattr(pick, "MIN_COSINE", 0.6)
    assert picked(pick.similar_and_dense, [B], [], top_k=4) == [0, 2]


def test_the_filter_keeps_numbered_facts_or_all_after_unreadable_replies():
    facts = Graph.from_arrays([0, 1, 2, 0], [1, 2, 3, 3])
    rows = ranked(3, 0, 2, scores=(0.9, 0.8, 0.7))
    result = filter_llm(ASKED, rows, graph=facts, llm=replying('{"useful": [2, 1, 9]}'))
    assert result.items() == [(3, 0.9), (0, 0.8)]
    llm = replying("well", "it depends")
    assert filter_llm(ASKED, rows, graph=facts, llm=llm).ids.tolist() == [3, 0, 2]
    assert (len(llm.prompts), llm.meter.fallbacks) == (2, 1)


def test_the_sentences_of_another_graph_are_refused() -> None:
    graph, tri_graph = Graph.from_arrays([], [], n_nodes=3), SimpleNamespace(names=["a", "b"])
    needs = {"sentence_index": cosines(), "embedder": Planted()}
    with pytest.raises(UserError, match="build.graph=entities"):
        alone(activate)(ranked(A), ASKED, graph=graph, tri_graph=tri_graph, **needs)


def test_a_corpus_without_a_name_is_refused() -> None:
    nothing = ChunkTable.of([("a", "", "nothing here")])
    with pytest.raises(UserError, match="no entities"):
        tri_graph(chunk_table=nothing, nlp=Words(), progress=QUIET)


def test_triples_in_order_of_discovery_within_the_budget() -> None:
    graph = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"], relations="r")
    explored = Exploration((), ((Hop(1, True, 0.5),), (Hop(0, True, 0.25), Hop(1, True, 0.75))))
    first, second = ("1", "norvik, r, tarn", 0.5), ("0", "ada, r, norvik", 0.25)
    small = ContextBudget(OpenAIEncoding().count(first[1]))
    for budget, pieces, cut in (
        (UNBOUNDED, [first, second], ()), (small, [first], (("relationship", "0"),)),
    ):  # fmt: skip
        result = exploration_context(
            explored, graph=graph, tokenizer=OpenAIEncoding(), context_budget=budget
        )
        assert [(piece.id, piece.text, piece.score) for piece in result.pieces] == pieces
        assert result.cut == cut


def test_yes_gives_the_answer_and_a_failed_call_is_raised() -> None:
    found = Context((Piece("relationship", "1", "norvik, stands on, tarn", 1.0, 6),))
    for reply, answer in (
        ("{Yes} {Tarn}", Answer("Tarn")), ("{No}", None), ("The triples say nothing.", None),
        ("{Yes}", None),
    ):  # fmt: skip
        assert if_enough(ASKED, found, llm=replying(reply)) == answer
    with pytest.raises(CallFailed):
        if_enough(ASKED, found, llm=replying(CallFailed("refused", "no")))


WHICH = Question("q", "Which is older, alpha or gamma?")
TWO = '{"sub_questions": ["alpha", "gamma"]}'
NONSENSE = "alpha, then gamma"


def test_an_undivided_question_is_the_query_and_unreadable_replies_are_fallbacks():
    for replies, texts, counts in (
        (['{"sub_questions": []}'], (WHICH.text,), (0, 0, 0)),
        ([NONSENSE, NONSENSE], (WHICH.text,), (1, 1, 0)),
        ([NONSENSE, TWO], ("alpha", "gamma"), (0, 0, 1)),
    ):
        llm = replying(*replies)
        assert decompose(WHICH, llm=llm) == Query(texts)
        assert (llm.meter.fallbacks, llm.meter.unreadable, llm.meter.corrected) == counts


def test_an_empty_hypothetical_passage_is_replaced_by_the_question():
    for reply, query, n_fallbacks in (
        (" East of the sun. \n", "East of the sun.", 0), (" ... ", WHICH.text, 1),
    ):  # fmt: skip
        llm = replying(reply)
        assert hypothetical(WHICH, llm=llm) == Query((query,))
        assert llm.meter.fallbacks == n_fallbacks


def test_a_thought_becomes_the_query_and_the_answer_ends_the_chain():
    table = ChunkTable.of([("a", "", "alpha beta"), ("b", "", "beta gamma")])
    last = "So the ANSWER IS: gamma."
    for reply, thoughts, query, end in (
        ("Beta is next. And more.", ["Beta is next."], "Beta is next.", None),
        (last, [last], last, EndOfThought(last)),
        (" ... \n", [], WHICH.text, EndOfThought("no thought")),
    ):
        llm = replying(reply)
        result = think(
            WHICH, Ranked([0, 1], [1.0, 0.5]), Thoughts(("First.",)), chunk_table=table, llm=llm,
            tokenizer=OpenAIEncoding(), context_budget=ContextBudget(None),
        )  # fmt: skip
        assert result == (Thoughts(("First.", *thoughts)), Query((query,)), end)
        assert llm.meter.fallbacks == (not thoughts)


def test_first_sentence():
    for text, sentence in (
        ("One fact. Another one.", "One fact."),
        ("Dr. A. Marsh of the U.S. Army came. He left.", "Dr. A. Marsh of the U.S. Army came."),
        ('He said "no." Then he left.', 'He said "no." Then he left.'),
        ('He said "never." Then he left.', 'He said "never."'),
        ("\n--\nFirst line\nsecond line", "First line"),
        ("?!", ""),
    ):  # fmt: skip
        assert first_sentence(text) == sentence


def names(*sentences):
    return entities_or_phrases(WHICH, nlp=FixedTagger(*sentences)).names


def test_entities_are_names_else_phrases_or_keywords() -> None:
    one = Sentence("", (("the Curie Institute", "ORG"), ("Otto's", "PERSON")), ("pupil",), ())
    assert names(one, one) == ("curie institute", "otto")
    assert names(Sentence("", (), ("discoverer", "neutron"), ())) == ("discoverer", "neutron")
    keywords = Keywords(("Ada  Lovelace", "ada lovelace", "!", "Engine"), ("maths",))
    assert entities_keywords(keywords) == Mentions(("ada lovelace", "engine"))
