"""SubgraphRAG: triples as prompt lines, listed answers, and a run on a set in RoG's format."""

import numpy as np
import pytest
from by_hand import Planted, alone
from published_sets import ROWS, rog_folder
from toy_runs import WEIGHTLESS, records, run_folder
from toy_runs import reader_prompts as prompts

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import ContextBudget, Prompt
from graphrag_bench.values import Context, Piece, Question, Ranked, Relationship
from methods.subgraphrag.triples import listed, placed, triple_scores, triples_context

TRIPLES = [("e", "r6", "q"), ("q", "r1", "a"), ("a", "r2", "b"), ("x", "r5", "y"), ("a", "r4", "d")]


def graph_of(triples: list[tuple[str, str, str]]) -> Graph:
    names = list(dict.fromkeys(end for head, _, tail in triples for end in (head, tail)))
    source, target = ([names.index(triple[at]) for triple in triples] for at in (0, 2))
    relations = [relation for _, relation, _ in triples]
    return Graph.from_arrays(source, target, names=names, relations=relations)


def ranked(*scores: float) -> Ranked[Relationship]:
    return Ranked(np.arange(len(scores)), np.array(scores))


def context(form, *scores, budget=None, triples=TRIPLES):
    result = triples_context(
        ranked(*scores), graph=graph_of(triples), tokenizer=OpenAIEncoding(),
        context_budget=ContextBudget(budget), form=form,
    )  # fmt: skip
    return [piece.text for piece in result.pieces], result


def test_triples_are_chained_from_tail_to_head() -> None:
    texts, result = context("paths", *[1.0] * 5)
    assert texts == ["e->r6->q->r1->a->r2->b", "x->r5->y", "a->r4->d"]
    assert [piece.id for piece in result.pieces] == ["0+1+2", "3", "4"]
    # Path pooling's seven triples in ascending order of pooled score: u7 u6 u3 u5 u4 u2 u1.
    triples = [("q", "r7", "a"), ("a", "r6", "b"), ("a", "r3", "c"), ("c", "r5", "q"),
               ("b", "r4", "c"), ("q", "r2", "b"), ("q", "r1", "a")]  # fmt: skip
    texts, _ = context("paths", 0.4, 0.5, 0.65, 0.75, 0.85, 0.95, 1.0, triples=triples)
    assert texts == ["q->r7->a->r6->b", "a->r3->c->r5->q", "b->r4->c", "q->r2->b", "q->r1->a"]


def test_the_best_triple_is_last_and_the_lowest_scores_are_cut() -> None:
    one = OpenAIEncoding().count("(e, r6, q)")
    texts, result = context("triplets", 0.1, 0.2, 0.9, 0.3, 0.8, budget=2 * one)
    assert texts == ["(a, r2, b)", "(a, r4, d)"]
    assert result.cut == (("relationship", "3"), ("relationship", "1"), ("relationship", "0"))
    scores = ranked(0.5, 0.9, 0.5, 0.1)
    assert placed(scores).ids.tolist() == [3, 2, 0, 1]
    assert placed(scores, order="best_first").ids.tolist() == [1, 0, 2, 3]


def test_cosines_are_scaled_to_0_to_1() -> None:
    index = VectorIndex(np.array([[-1, 0], [0, 1], [1, 0], [0.6, 0.8], [0, -1]], np.float32))
    resources = {"triple_scorer": index, "graph": graph_of(TRIPLES), "embedder": Planted()}
    result = alone(triple_scores)(Question("q", "?"), **resources)
    assert result.ids.tolist() == [2, 3, 1, 4, 0]
    assert result.scores == pytest.approx([1.0, 0.8, 0.5, 0.5, 0.0])
    among = Ranked[Relationship](np.array([3, 0]), np.zeros(2))
    few = alone(triple_scores)(Question("q", "?"), among, **resources, top_k=1)
    assert (few.ids.tolist(), few.scores.tolist()) == ([3], pytest.approx([0.8]))


def test_a_listed_answer_is_the_reply_or_its_marked_texts() -> None:
    prompt = Prompt("methods:subgraphrag/prompts/system/triplets.j2")
    lines = Context((Piece("relationship", "0", "(e, r6, q)", 1.0, 5),))
    reply = "So:\nans: Norvik\nans: Ostra\nans: Norvik"
    for text, keep, expected in (
        (reply, "reply", reply), (reply, "answers", "Norvik, Ostra"), ("No.", "answers", "No."),
    ):  # fmt: skip
        model = Scripted([("(e, r6, q)\nQuestion: Who?", text)])
        result = listed(Question("q", "Who?"), lines, llm=model, prompt=prompt, keep=keep)
        assert result.text == expected


def test_a_question_reads_only_its_own_subgraph(tmp_path):
    prompts.clear()
    training = [{**row, "id": f"t{at}-{row['id']}"} for at in range(4) for row in ROWS]
    root = rog_folder(tmp_path / "rog", ROWS, training)
    words = ["dataset=cwq", "method=subgraphrag", f"dataset.root={root}", f"paths.home={tmp_path}"]
    folder = run_folder(*words, *WEIGHTLESS)
    (river,) = [text for text in prompts if "river" in text]
    assert sorted(river.splitlines()[1:3]) == [
        "(NORVIK, is.not, Norvik)", "(m.011zsc4_, location.location.contains, Norvik)",
    ]  # fmt: skip
    assert "Rolf" not in river
    (nobody,) = [text for text in prompts if "ada marsh" in text]
    assert nobody.splitlines() == ["Triplets:", "Question: who is ada marsh"]
    assert len(records(folder)) == 3
