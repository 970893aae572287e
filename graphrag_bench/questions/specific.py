"""Generate specific questions, each about a chain of facts that leads to a unique answer."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.extraction import CO_OCCURS
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import Prompt
from graphrag_bench.questions.generated import QA, distinct
from graphrag_bench.text import normalise_name

SPECIFIC = Prompt("graphrag_bench.questions:prompts/specific.j2")
TEMPLATE = Prompt("graphrag_bench.questions:prompts/template_wording.j2")
MAX_TOKENS = 256
Chain = tuple[int, ...]


class Worded(BaseModel):
    """Reply of the model that phrases a question."""

    question: str


class Chains:
    """Chains of facts from chunks. Each fact begins at the node where the previous fact ends."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        stated = np.diff(graph.relationship_chunk.tocsr().indptr) > 0
        usable = stated & ~np.asarray(graph.synonym) & (graph.source != graph.target)
        rows = np.flatnonzero(usable).tolist()
        self.rows = np.array([r for r in rows if graph.relations[r] != CO_OCCURS], np.int64)
        self._from: dict[int, list[int]] = defaultdict(list)
        for row in self.rows.tolist():
            self._from[int(graph.source[row])].append(row)
        self._joined = {frozenset(self.nodes([row])) for row in self.rows.tolist()}
        self._equal_names = _equal_names(graph.names)

    def nodes(self, rows: Sequence[int]) -> list[int]:
        """Return the nodes along a chain of facts, given the row numbers of the facts."""
        return [int(self.graph.source[rows[0]]), *(int(self.graph.target[row]) for row in rows)]

    def relations(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Return the relations along a chain of facts, given the row numbers of the facts."""
        return tuple(self.graph.relations[row] for row in rows)

    def sample(self, hops: int, n: int, rng: np.random.Generator) -> list[Chain]:
        """Return a random sample of up to `n` distinct chains with `hops` facts each.

        The nodes of a chain are distinct, and no single fact joins its first and last node. The
        relations of the chain lead from the first node only to the last node, so the question has a
        unique answer. Two names, or two relations, count as equal if one contains the words of the
        other.
        """
        chains: dict[tuple[int, tuple[str, ...]], Chain] = {}
        for first in rng.permutation(self.rows).tolist():
            if len(chains) == n:
                break
            if chain := next(self._extend((first,), hops, rng), None):
                chains.setdefault((self.nodes(chain)[0], self.relations(chain)), chain)
        return list(chains.values())

    def _extend(self, rows: Chain, hops: int, rng: np.random.Generator) -> Iterator[Chain]:
        nodes = self.nodes(rows)
        if len(set(nodes)) < len(nodes):
            return
        if len(rows) == hops:
            if self._one_answer(rows, nodes):
                yield rows
            return
        onward = self._from.get(nodes[-1], [])
        for at in rng.permutation(len(onward)).tolist():
            yield from self._extend((*rows, onward[at]), hops, rng)

    def _one_answer(self, rows: Sequence[int], nodes: Sequence[int]) -> bool:
        if len(rows) > 1 and frozenset((nodes[0], nodes[-1])) in self._joined:
            return False
        reached = self._equal_names[nodes[0]]
        for name in self.relations(rows):
            onward = (row for node in reached for row in self._from.get(node, []))
            like = (row for row in onward if _contains(self.graph.relations[row], name))
            targets = (self._equal_names[int(self.graph.target[row])] for row in like)
            reached = set().union(*targets)
        return reached <= self._equal_names[nodes[-1]]


def _equal_names(names: Iterable[str]) -> list[set[int]]:
    rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    words = [tuple(normalise_name(name).split()) for name in names]
    for row, own in enumerate(words):
        rows[own].append(row)
    alike: list[set[int]] = [{row} for row in range(len(words))]
    for row, own in enumerate(words):
        parts = {own[i:j] for i in range(len(own)) for j in range(i + 1, len(own) + 1)}
        for other in (other for part in parts for other in rows.get(part, ())):
            alike[row].add(other)
            alike[other].add(row)
    return alike


def _contains(one: str, other: str) -> bool:
    first, second = (f" {normalise_name(text)} " for text in (one, other))
    return first in second or second in first


@dataclass(frozen=True)
class _Case:
    names: tuple[str, ...]
    relations: tuple[str, ...]
    passages: tuple[str, ...]
    documents: tuple[str, ...]
    answer: str

    @classmethod
    def of(cls, rows: Sequence[int], chains: Chains, table: ChunkTable) -> "_Case":
        matrix = chains.graph.relationship_chunk.tocsr()
        chunks = list(dict.fromkeys(int(row_ids(matrix, row).min()) for row in rows))
        names = [chains.graph.names[node] for node in chains.nodes(rows)]
        return cls(
            tuple(_as_written(name, chunks, table) for name in names),
            chains.relations(rows),
            tuple(table.passage(chunk) for chunk in chunks),
            tuple(dict.fromkeys(table.documents_of(chunk)[0] for chunk in chunks)),
            names[-1],
        )

    @property
    def facts(self) -> list[str]:
        ends = zip(self.names, self.relations, self.names[1:], strict=False)
        return [f"{head} | {relation} | {tail}" for head, relation, tail in ends]

    def to_qa(self, text: str) -> QA:
        hops = len(self.relations)
        answers = {normalise_name(name): name for name in (self.answer, self.names[-1])}
        kind, first, given = f"{hops}-hop", self.names[:1], tuple(answers.values())
        return QA(text, kind, given, self.documents, hops, first, tuple(self.facts))

    def leaks(self, text: str) -> bool:
        plain = f" {normalise_name(text)} "
        return any(f" {normalise_name(name)} " in plain for name in self.names[1:])


def _as_written(name: str, chunks: Sequence[int], table: ChunkTable) -> str:
    for chunk in chunks:
        passage = table.passage(chunk)
        at = passage.casefold().find(name.casefold())
        if at >= 0 and len(passage.casefold()) == len(passage):
            return passage[at : at + len(name)]
    return name


def specific_questions(
    graph: Graph, table: ChunkTable, hops: Sequence[int], n: int, llm: ChatModel | None, seed: int
) -> tuple[list[QA], int]:
    """Generate up to `n` questions, in equal numbers for each number of `hops`.

    Also return the number of rejected questions. If `llm` is None, questions are phrased by a
    template. A question phrased by `llm` is rejected if it is unreadable, or if it contains the
    answer or the name of an intermediate node. If possible, a question about another chain replaces
    a rejected question.
    """
    chains, questions, n_refused = Chains(graph), list[QA](), 0
    for place, number in enumerate(hops):
        wanted = n // len(hops) + (place < n % len(hops))
        rng = np.random.default_rng([seed, number])
        sampled = chains.sample(number, wanted if llm is None else 2 * wanted, rng)
        cases = [_Case.of(rows, chains, table) for rows in sampled]
        worded: list[QA] = []
        for part in (cases[:wanted], cases[wanted:]):
            part = part[: wanted - len(worded)]
            texts = _wordings(part, llm)
            pairs = [pair for pair in zip(part, texts, strict=True) if pair[1]]
            new = [one.to_qa(text) for one, text in pairs if llm is None or not one.leaks(text)]
            n_refused += len(part) - len(new)
            worded += new
        questions += distinct(worded)[:wanted]
    return questions, n_refused


def _wordings(cases: Sequence[_Case], llm: ChatModel | None) -> list[str]:
    if llm is None:
        names = ({"first": case.names[0], "relations": case.relations} for case in cases)
        return [" ".join(TEMPLATE.render(one)[0].content.split()) for one in names]
    chats = [SPECIFIC.render({"passages": case.passages, "facts": case.facts,
                              "first": case.names[0], "answer": case.names[-1]})
             for case in cases]  # fmt: skip
    replies = ask_each(llm, chats, json_format(Worded, "wording"), max_tokens=MAX_TOKENS)
    return [" ".join(one.question.split()) if isinstance(one, Worded) else "" for one in replies]
