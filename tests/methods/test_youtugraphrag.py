"""Youtu-GraphRAG by hand: types of a question, their filter, and members of communities."""

import json
from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, incidence
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Query, Question, Ranked
from methods.youtugraphrag.typed import Involved, involved_nodes, members, typed_llm, typed_nlp


class Labels:
    """A tagger that finds one name of one label in whatever it reads."""

    identity = "labels"

    def __init__(self, *entities: tuple[str, str]) -> None:
        self.pairs = entities

    def sentences(self, texts):
        return ([Sentence(text, self.pairs, (), ())] for text in texts)

    def entities(self, text):
        return [name for name, _ in self.pairs]


def involved(text: str, *entities: tuple[str, str]) -> tuple[str, ...]:
    query, result = typed_nlp(Question("q", text), nlp=Labels(*entities))
    assert query == Query((text,))
    return result.nodes


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("Who founded Norvik?", ("person", "org", "norp")),
        ("Where is it?", ("gpe", "loc", "fac")),
        ("In which small town is it?", ("gpe", "loc", "fac")),
        ("What record label is it on?", ("org",)),
        ("What is the song called?", ()),
        ("Is the whole of it whole?", ()),
        ("When was it?", ()),
    ],
)
def test_a_question_asks_for_types_by_its_words(text, types):
    assert involved(text) == types


def test_types_of_names_are_involved_beside_what_is_asked_for_numbers_never():
    names = ("Norvik", "FAC"), ("1901", "DATE"), ("first work", "WORK_OF_ART")
    assert involved("Where is Norvik?", *names) == ("gpe", "loc", "fac", "work of art")
    assert involved("Name Norvik.", *names) == ()


@pytest.fixture
def graph() -> Graph:
    """A person, a place, one without a type, and a work of art."""
    base = Graph.from_arrays([0, 0, 1], [1, 2, 3], names=["ada", "norvik", "it", "song"])
    return replace(
        base,
        types=Texts.of(["person", "gpe", "", "work_of_art"]),
        relations=Texts.of(["founded", "met", "founded"]),
        node_attributes=NodeAttributes.of([(0, "born", "1867", ()), (3, "length", "3 min", ())], 0),
    )


ALL = Ranked(np.array([3, 2, 1, 0]), np.array([0.9, 0.8, 0.7, 0.6]))


@pytest.mark.parametrize(
    ("types", "top_k", "expected"),
    [
        (("gpe",), 20, [2, 1]),
        (("gpe", "work of art"), 20, [3, 2, 1]),
        (("gpe",), 1, [2]),
        ((), 20, [3, 2, 1, 0]),
        ((), 2, [3, 2]),
    ],
)
def test_nodes_of_the_types_involved_stay_and_those_without_a_type(graph, types, top_k, expected):
    assert involved_nodes(ALL, Involved(types), graph=graph, top_k=top_k).ids.tolist() == expected


REPLY = {
    "sub_questions": ["Who founded Norvik?", " ", "When was Ada born?", "Who founded Norvik?"],
    "involved_types": {
        "nodes": ["Person", "work_of_art", "ship"],
        "relations": ["Founded"],
        "attributes": ["born"],
    },
}


def decomposed(graph: Graph, reply: str, **settings) -> tuple[Query, Involved, str]:
    scripted = Scripted([("When was", reply), ("Your last reply", reply)])
    question = Question("q", "When was the founder of Norvik born?")
    query, involved = typed_llm(question, graph=graph, llm=scripted, **settings)
    return query, involved, scripted.prompts[0][-1].content


def test_the_model_decomposes_by_the_schema_of_the_graph(graph):
    query, result, prompt = decomposed(graph, json.dumps(REPLY))
    assert query == Query(("Who founded Norvik?", "When was Ada born?"))
    assert result == Involved(("person", "work of art"), ("founded",), ("born",))
    assert "Entity types: person, gpe, work of art\n" in prompt
    assert "Relations: founded, met\nAttributes: born, length\n" in prompt


def test_members_of_communities_come_by_their_own_similarity():
    """Communities {0, 1} and {2, 3}; node 4 is in none. Cosines: 0.6, 1, 0, 0.8, 1."""
    empty = incidence([(), ()], 0)
    pairs = Communities(
        np.zeros(2, np.int64), np.full(2, -1), incidence([(0, 1), (2, 3)], 5), empty
    )
    vectors = np.array([[0.6, 0.8], [1, 0], [0, 1], [0.8, 0.6], [1, 0]], np.float32)
    library = {
        "communities": pairs,
        "node_index": VectorIndex(vectors),
        "embedder": Planted(lambda text: (0, 1) if text[0] == "b" else (1, 0)),
    }
    question, both = Question("q", "?"), Ranked(np.array([1, 0]), np.ones(2))
    first = both.take(np.array([False, True]))
    assert members(question, both, **library).ids.tolist() == [1, 3, 0, 2]
    assert members(question, first, **library).ids.tolist() == [1, 0]
    assert members(question, both, Query(("b",)), top_k=2, **library).ids.tolist() == [2, 0]
