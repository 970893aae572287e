"""Contexts by hand: order, texts, and what the budget cuts."""

from dataclasses import replace
from types import SimpleNamespace

from by_hand import ranked
from small_worlds import dataset

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.columns import Texts
from graphrag_bench.data.dataset import Gold
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.graphs.chunking import token
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.run.record import summary
from graphrag_bench.run.scoring import question_scores
from graphrag_bench.values import Context, Path, Piece, Question
from operators.answer.generation import map_points
from operators.context import rows as blocks

CORPUS = dataset(("a", "", "one two"), ("b", "", "three four"), ("c", "", "five six"))
TABLE = token(corpus=CORPUS, size=5, overlap=0, join="corpus")
"""Chunk 0 has the documents a and b, chunk 1 has c."""
BOTH = ranked(1, 0, scores=(0.9, 0.8))


def packed(budget=None, chunks=BOTH):
    needs = {"tokenizer": OpenAIEncoding(), "context_budget": ContextBudget(budget)}
    return blocks.chunks_context(chunks, chunk_table=TABLE, **needs)


def scores_of(context: Context, *evidence: str) -> dict[str, float]:
    row = {"question": "q", "status": "retrieved", "context": summary(context)}
    return question_scores(row, Gold((), evidence))


def test_a_chunk_counts_as_evidence_for_each_of_its_documents() -> None:
    assert [TABLE.documents_of(row) for row in (0, 1)] == [["a", "b"], ["c"]]
    assert [(piece.id, piece.also) for piece in packed().pieces] == [("c", ()), ("a", ("b",))]
    for evidence in (("a",), ("b",), ("b", "c")):
        assert scores_of(packed(), *evidence)["evidence_at_tokens@500"] == 1.0
    assert scores_of(packed(), "b", "d")["evidence_at_tokens@500"] == 0.5
    cut = packed(budget=3)
    assert cut.cut == (("chunk", "a"), ("chunk", "b"))
    assert scores_of(cut, "b")["evidence_cut"] == 1.0
    assert scores_of(packed(), "b")["evidence_cut"] == 0.0


LINE = Graph.from_arrays(range(6), range(1, 7))


TENS = SimpleNamespace(count=lambda line: 10)
WORDS = SimpleNamespace(count=lambda text: len(text.split()))
BEST_LAST = ranked(2, 0, 3, 1, scores=(0.1, 0.3, 0.3, 0.9))


def needs(budget):
    return {"graph": LINE, "tokenizer": TENS, "context_budget": ContextBudget(budget)}


def block(relationships, before=None, budget=None, **settings):
    return blocks.relationships_context(relationships, before, **needs(budget), **settings)


def ids_of(context: Context) -> list[str]:
    return [piece.id for piece in context.pieces]


def test_the_budget_cuts_the_last_or_the_lowest_rows():
    last = block(BEST_LAST, budget=25)
    assert (ids_of(last), last.cut) == (["2", "0"], (("relationship", "3"), ("relationship", "1")))
    lowest = block(BEST_LAST, budget=25, cut="lowest")
    assert ids_of(lowest) == ["0", "1"]
    assert lowest.cut == (("relationship", "3"), ("relationship", "2"))


def test_fitting_returns_the_rows_that_the_context_keeps():
    before = Context((Piece("node", "n", "x", 1.0, 10),), (), 0.5)
    ways = {"share": 0.5, "top_k": 3}
    for budget in (5, 25, 40):
        result = blocks.fitting(BEST_LAST, before, **needs(budget), **ways)
        kept = ids_of(block(BEST_LAST, before, budget, **ways))[1:]
        assert [str(row) for row in result.ids] == kept
        assert result.scores.tolist() == BEST_LAST.scores[: len(result)].tolist()


def test_duplicate_rows_are_packed_once_at_their_first_place():
    twice = ranked(2, 0, 2, 2, 1, 0, scores=(0.9, 0.8, 0.9, 0.7, 0.6, 0.5))
    for cut in ("last", "lowest"):
        assert ids_of(block(twice, cut=cut)) == ["2", "0", "1"]
        assert ids_of(block(twice, budget=20, cut=cut)) == ["2", "0"]
    assert ids_of(packed(chunks=ranked(1, 1, 0))) == ["c", "a"]
    assert blocks.fitting(twice, **needs(20)).ids.tolist() == [2, 0]


def test_a_share_above_1_limits_the_block_in_tokens():
    """The first block takes 10 of 35 tokens; the second may take half of 100 tokens more."""
    first = block(ranked(0), budget=100, share=35)
    assert (first.n_tokens, first.share) == (10, 0.1)
    after = block(ranked(0, 1, 2, 3, 4, 5), first, budget=100, share=0.5)
    assert after.n_tokens == 60
    assert block(BEST_LAST, after, budget=100, share=20).n_tokens == 80
    assert block(BEST_LAST, after, budget=70, share=20).n_tokens == 70
    assert block(BEST_LAST, share=20).n_tokens == 20


TRIANGLE = Graph.from_arrays(source=[0, 1, 0], target=[1, 2, 2], names=["ada", "norvik", "tarn"])
WALKS = ((0, 1, 2), (0, 1), 0.9), ((1, 0), (0,), 0.7), ((0, 2), (2,), 0.5)
LONG, BACK, SHORT = (
    " -> related to -> ".join(names.split())
    for names in ("ada norvik tarn", "norvik ada", "ada tarn")
)


def texts(budget=None, **settings):
    own = {**needs(budget), "graph": TRIANGLE, "tokenizer": OpenAIEncoding()}
    return [
        piece.text
        for piece in blocks.paths_context(
            RankedPaths(tuple(Path(*walk) for walk in WALKS)), None, **own, **settings
        ).pieces
    ]


def test_paths_are_ordered_and_the_worst_path_is_cut() -> None:
    assert texts() == [SHORT, BACK, LONG]
    assert texts(order="descending") == [LONG, BACK, SHORT]
    result = [texts(order="hop_first", seed=seed) for seed in range(9)]
    assert all(order[0] == LONG and len(order) == 3 for order in result)
    assert {order[1] for order in result} == {SHORT, BACK}
    assert texts(order="hop_first", seed=3) == result[3]
    for order in ("ascending", "descending", "hop_first"):
        cut = texts(order=order, budget=20)
        assert LONG in cut and SHORT not in cut


def test_fitting_cuts_nodes_and_chunks_at_a_number_of_tokens():
    """The hyperedges have 3 and 6 words; entities are neither counted nor cut."""
    met, bo, moved, ada = range(4)
    graph = replace(
        Graph.from_arrays([met, moved], [bo, ada], names=["m", "bo", "n", "ada"]),
        types=Texts.of(["hyperedge", "entity"] * 2),
        descriptions=Texts.of(["Ada met Bo.", "bo", "Ada and Bo moved to Ys.", ""]),
    )
    nodes, hyperedges = ranked(met, bo, moved, ada), {"types": ("hyperedge",)}
    for settings, ids in (
        ({**hyperedges, "tokens": 8}, [met, bo, ada]),
        ({**hyperedges, "tokens": 9}, nodes.ids.tolist()),
        ({"tokens": 4}, [met, bo]),
        ({}, nodes.ids.tolist()),
    ):
        cut = blocks.nodes_fitting(nodes, graph=graph, tokenizer=WORDS, **settings)
        assert cut.ids.tolist() == ids, settings
    table = token(corpus=dataset(("a", "", "one two"), ("b", "", "three")), size=9, overlap=0)
    for tokens, ids in ((2, [0]), (0, []), (None, [0, 1])):
        cut = blocks.chunks_fitting(ranked(0, 1), tokens=tokens, chunk_table=table, tokenizer=WORDS)
        assert cut.ids.tolist() == ids, tokens


def read(**settings):
    """The number of calls for five reports of ten tokens, and the context of the read ones."""
    pieces = tuple(Piece("community", f"c{row}", f"Report {row}.", 1.0, 10) for row in range(5))
    llm = Scripted(answer=lambda chat: '{"points": [{"description": "helium", "score": 80}]}')
    before = Context(pieces, (("community", "c9"),), 1.0)
    _, context = map_points(Question("q", "What was found?"), before, llm=llm, **settings)
    return len(llm.prompts), context


def test_map_lists_unread_reports_as_cut_and_shuffles_by_seed() -> None:
    n_calls, context = read(group_tokens=20, max_groups=2)
    assert (n_calls, ids_of(context)) == (2, ["c0", "c1", "c2", "c3"])
    assert context.cut == (("community", "c9"), ("community", "c4"))
    shuffled = {"order": "shuffled", "group_tokens": 20}
    first, again, other = (ids_of(read(**shuffled, seed=seed)[1]) for seed in (0, 0, 1))
    every = [f"c{row}" for row in range(5)]
    assert first == again not in (every, other)
    assert sorted(other) == sorted(first) == every
