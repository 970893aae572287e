"""Small worlds for contract tests: a graph with chunks, indices, models, and values.

Add new resources and slots here, so that all operators are tested with them.
"""

import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import tested
from builds import extraction
from toy_runs import Capitals

from graphrag_bench import values
from graphrag_bench.algorithms import path_values as paths
from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import unique
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Card, Dataset, Document
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs.communities import communities_of as made_of
from graphrag_bench.graphs.knowledge_graph import kg
from graphrag_bench.indices.words import Bm25, Tfidf
from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.question_plan import Dependencies, SubQuestionKind
from graphrag_bench.values import Question, Ranked, Subgraph
from methods.hoprag.hop_graph import PseudoQuestions
from methods.linearrag.activation import TriGraph
from operators.answer.generation import Points


class Obliging(ChatModel):
    """A model that replies with the smallest valid object, or the last example of its prompt."""

    identity = "obliging"

    def __init__(self) -> None:
        self.n_calls = 0

    def call(self, request: Request) -> Completion:
        self.n_calls += 1
        *before, last = re.split(r"(?m)^Example.*:$", request.prompt[0].content)
        text = last.strip() if before else "Ada Marsh"
        if request.schema:
            text = json.dumps(smallest(request.schema, request.schema))
        return Completion(text, prompt_tokens=10, completion_tokens=5, model="obliging")


class Babbling(Obliging):
    def call(self, request: Request) -> Completion:
        return replace(super().call(request), text="Well, {[ it depends", model="babbling")


def dataset(*rows: tuple[str, str, str]) -> Dataset:
    """A data set of (id, title, text) documents without questions."""
    card = Card(name="tiny", title="", task="", license="", citation="", reader="jsonl")
    return Dataset("tiny", tuple(Document(*row) for row in rows), (), {}, card)


def smallest(schema: Any, root: Any) -> Any:
    """A value that fits a JSON schema; lists have at least one item."""
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return smallest(schema["anyOf"][0], root)
    if schema.get("type") == "object":
        return {name: smallest(inner, root) for name, inner in schema["properties"].items()}
    if schema.get("type") == "array":
        return [smallest(schema["items"], root)] * max(schema.get("minItems", 1), 1)
    return {"string": "Ada Marsh", "integer": 1, "number": 0.5, "boolean": True}[schema["type"]]


class SharedLetters:
    """A cross-encoder that counts the letters a passage shares with the question."""

    identity = "letters"

    def scores(self, questions: Sequence[str], passages: Sequence[Sequence[str]]) -> list:
        pairs = zip(questions, passages, strict=True)
        rows = ([len({*one} & {*text}) for text in texts] for one, texts in pairs)
        return [np.array(row, float) for row in rows]


@dataclass(frozen=True)
class World:
    """Facts by chunk, and all resources made of them."""

    name: str
    facts: tuple[tuple[tuple[str, str, str], ...], ...]
    loners: tuple[str, ...] = ()

    @cached_property
    def resources(self) -> dict[str, Any]:
        texts = [" ".join(f"{' '.join(fact)}." for fact in chunk) for chunk in self.facts]
        texts = [text or "Nothing happens here." for text in texts]
        chunks = [([], chunk) for chunk in self.facts[1:]]
        read = extraction((list(self.loners), self.facts[0]), *chunks)
        table = ChunkTable.of([(f"d{i}", f"Title {i}", t) for i, t in enumerate(texts)])
        graph = described(kg(extraction=read, chunk_table=table))
        communities, reports = communities_of(graph)
        embedder, sentences = Hashing(), Texts.of(texts)
        named, rows_of = graph.node_chunk.astype(bool), np.arange(len(texts))

        def index(column: Sequence[str]) -> VectorIndex:
            return VectorIndex(embedder.encode(list(column), kind="passage"))

        names, relations = index(list(graph.names)), index(list(graph.relations))
        return {
            "chunk_table": table,
            "extraction": read,
            "graph": graph,
            "embedder": embedder,
            "chunk_index": index(texts),
            **dict.fromkeys(("name_index", "node_index"), names),
            **dict.fromkeys(("relationship_index", "triple_index", "triple_scorer"), relations),
            "bm25": Bm25.of(texts),
            "communities": communities,
            "reports": reports,
            "community_index": index(list(reports.texts)),
            "tokenizer": OpenAIEncoding(),
            "context_budget": UNBOUNDED,
            "tri_graph": TriGraph(graph.names, sentences, named, named.astype(np.int64)),
            "sentence_index": index(texts),
            "pseudo_questions": PseudoQuestions(
                sentences, rows_of, rows_of >= 0, graph.names, graph.chunk_node.astype(bool)
            ),
            "tfidf": Tfidf.of(list(graph.descriptions or ())),
            "nlp": Capitals(),
            "cross_encoder": SharedLetters(),
            **dict.fromkeys(("llm", "llm_build"), Obliging()),
            "progress": Progress(quiet=True),
            **tested.more("resources", graph, sentences, names, index, embedder),
        }

    def values(self, amount: str) -> dict[str, Any]:
        """A value for every slot with `several` items, `one` or `none`."""
        graph = self.resources["graph"]
        k = {"several": 4, "one": 1, "none": 0}[amount]
        names = tuple(graph.names[row] for row in range(min(k, graph.n_nodes)))
        mass = np.arange(1.0, graph.n_nodes + 1)
        ends = mass[graph.source] + mass[graph.target]
        nodes = ranked(graph.n_nodes, k)
        pieces = tuple(values.Piece("chunk", f"d{row}", "A text.", 1.0, 3) for row in range(k))
        return {
            "question": Question("q", "What did Ada Marsh found on Mount Tarn?"),
            "nodes": nodes,
            "relationships": ranked(graph.n_relationships, k),
            "chunks": ranked(graph.n_chunks, k),
            "communities": ranked(len(self.resources["communities"]), k),
            "node_scores": values.NodeScores(mass / mass.sum()),
            "relationship_scores": values.RelationshipScores(ends / mass.sum()),
            "chunk_scores": values.ChunkScores(np.linspace(1.0, 0.0, graph.n_chunks)),
            "mentions": values.Mentions(names),
            "query": values.Query(names),
            "keywords": values.Keywords(names[:2], names[2:]),
            "context": values.Context(pieces),
            "answer": values.Answer("Ada Marsh"),
            "subgraph": walked(graph, min(k, graph.n_relationships)),
            "paths": paths.RankedPaths(walked(graph, min(k, graph.n_relationships)).paths),
            "reasoning_steps": paths.ReasoningSteps(names[:3], tuple((one,) for one in names[:3])),
            "step_nodes": paths.StepNodes(
                nodes.ids, np.arange(len(nodes)) % 2 + 1, nodes.scores, 2
            ),
            "exploration": explored(graph) if k and graph.n_relationships else paths.Exploration(),
            "dependencies": Dependencies(
                ("1-1", "1-2")[:k], ("Who?", "Where?")[:k], ("Ada Marsh.", "On Mount Tarn.")[:k]
            ),
            "question_kind": SubQuestionKind("specific"),
            "points": Points(("Ada Marsh founded it.", "It stands.")[:k], (80, 5)[:k]),
        }


def described(graph: Graph) -> Graph:
    known = ((row, "known as", name, (0,)) for row, name in enumerate(graph.names))
    return replace(
        graph, types=Texts.of(["person"] * graph.n_nodes), keywords=graph.relations,
        descriptions=Texts.of([f"{name} is known." for name in graph.names]),
        facts=Texts.of([f"They {relation}." for relation in graph.relations]),
        node_attributes=NodeAttributes.of(known, graph.n_chunks),
    )  # fmt: skip


def communities_of(graph: Graph) -> tuple[Communities, Reports]:
    """All nodes at level 0; at level 1 one half with a report, the other without."""
    n, half = graph.n_nodes, (graph.n_nodes + 1) // 2
    parts = [(0, -1, range(n)), (1, 0, range(half)), (1, 0, range(half, n))]
    communities = made_of([part for part in parts if part[2]], graph)
    k = len(communities)
    texts = ["# All\n\nAll of them.", "# Some\n\nSome of them.", ""][:k]
    titles = Texts.of([f"Cluster {row}" for row in range(k)])
    return communities, Reports(titles, Texts.of(texts), np.array([3.0, 9.0, 0.0][:k]))


def walked(graph: Graph, k: int) -> Subgraph:
    """The first `k` relationships, each a path from its target to its source."""
    ends = [(int(graph.target[row]), int(graph.source[row])) for row in range(k)]
    paths = tuple(values.Path(pair, (row,)) for row, pair in enumerate(ends))
    return Subgraph(unique([node for pair in ends for node in pair]), tuple(range(k)), paths)


def explored(graph: Graph) -> paths.Exploration:
    """The first relationship as a hop, and all relations as choices."""
    every = unique(list(zip(graph.source.tolist(), graph.relations, strict=True)))
    chosen = tuple(paths.ChosenRelation(topic, relation, True, 0.5) for topic, relation in every)
    return paths.Exploration(chosen, ((paths.Hop(0, True, 0.5),),))


def ranked(n_rows: int, k: int) -> Ranked[Any]:
    """Up to `k` rows, the even ones first, with falling scores."""
    rows = [*range(0, n_rows, 2), *range(1, n_rows, 2)][:k]
    return Ranked(np.array(rows, np.int64), np.linspace(1.0, 0.2, len(rows)))


def process_output(statement: str, hash_seed: int, *arguments: str) -> str:
    """The output of a new Python process with a hash seed."""
    here = pathlib.Path(__file__).resolve().parent
    paths = {"PYTHONPATH": f"{here}:{here.parent}", "PATH": ""}
    plugin = {"TESTED_PLUGIN": str(tested.PLUGIN)} if tested.PLUGIN else {}
    done = subprocess.run(
        [sys.executable, "-c", statement, *arguments],
        env={"PYTHONHASHSEED": str(hash_seed), **paths, **plugin},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.strip()


WORLDS = (
    World(
        "two parts and a node by itself",
        facts=(
            (("Ada Marsh", "founded", "Norvik"), ("Norvik", "stands on", "Mount Tarn")),
            (("Ada Marsh", "named", "Norvik"), ("Otto Brandt", "taught", "Mira Holt")),
            (("Otto Brandt", "taught", "Mira Holt"), ("Ada Marsh", "founded", "Ostra")),
        ),
        loners=("Velia",),
    ),
    World("one node", facts=((),), loners=("Ada Marsh",)),
    World("one relationship", facts=((("Ada Marsh", "founded", "Norvik"),),)),
)
