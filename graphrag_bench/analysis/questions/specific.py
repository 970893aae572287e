"""Specific questions from chains of facts in the graph, worded by a model or by a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from graphrag_bench.analysis.questions.chains import Chain, Chains, as_written, evidence_chunks
from graphrag_bench.analysis.questions.made import Made, distinct
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.structured import ask_all
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name

SPECIFIC = Prompt("graphrag_bench.analysis.questions:prompts/specific.j2")
TEMPLATE = Prompt("graphrag_bench.analysis.questions:prompts/template_wording.j2")
MAX_TOKENS = 256


class Worded(BaseModel):
    """What the wording prompt returns."""

    question: str


@dataclass(frozen=True)
class Told:
    """A chain in words: its names as the corpus writes them, its relations and its passages."""

    names: tuple[str, ...]
    relations: tuple[str, ...]
    passages: tuple[str, ...]
    documents: tuple[str, ...]
    node_names: tuple[str, ...]

    @property
    def facts(self) -> list[str]:
        """The facts in order."""
        ends = zip(self.names, self.relations, self.names[1:], strict=False)
        return [f"{head} | {relation} | {tail}" for head, relation, tail in ends]

    def made(self, text: str) -> Made:
        """The question of that wording."""
        hops = len(self.relations)
        ends = {normalise_name(name): name for name in (self.node_names[-1], self.names[-1])}
        answers = tuple(ends.values())
        return Made(
            text, f"{hops}-hop", answers, self.documents, hops, (self.names[0],), tuple(self.facts)
        )

    def leaks(self, text: str) -> bool:
        """Whether a wording names the answer or a name on the way to it."""
        said = f" {normalise_name(text)} "
        return any(f" {normalise_name(name)} " in said for name in self.names[1:])


def told(chain: Chain, chains: Chains, table: ChunkTable) -> Told:
    """The chain in words."""
    graph = chains.graph
    chunks = evidence_chunks(graph, chain.rows)
    names = [graph.names[node] for node in chain.nodes]
    documents = dict.fromkeys(table.documents_of(chunk)[0] for chunk in chunks)
    return Told(
        tuple(as_written(name, chunks, table) for name in names),
        chains.relations(chain),
        tuple(table.passage(chunk) for chunk in chunks),
        tuple(documents),
        tuple(names),
    )


def specific_questions(
    graph: Graph,
    table: ChunkTable,
    hops: Sequence[int],
    n: int,
    meter: Metered | None,
    seed: int = 0,
) -> tuple[list[Made], int]:
    """At most `n` questions, as many of each number of hops as can be; and how many were refused.

    Without a `meter` a template words them. A model's wording is refused when it names the answer
    or a name on the way, or could not be read; others take its place while there are any.
    """
    chains = Chains(graph)
    share = [n // len(hops) + (place < n % len(hops)) for place in range(len(hops))]
    found: list[list[Made]] = []
    refused = 0
    for number, wanted in zip(hops, share, strict=True):
        rng = np.random.default_rng([seed, number])
        drawn = chains.drawn(number, wanted if meter is None else 2 * wanted, rng)
        cases = [told(chain, chains, table) for chain in drawn]
        worded, n_bad = _by_template(cases) if meter is None else _by_model(meter, cases, wanted)
        refused += n_bad
        found.append(distinct(worded)[:wanted])
    return [one for of_number in found for one in of_number], refused


def _by_template(cases: Sequence[Told]) -> tuple[list[Made], int]:
    made = []
    for case in cases:
        (message,) = TEMPLATE.render({"first": case.names[0], "relations": case.relations})
        made.append(case.made(" ".join(message.content.split())))
    return made, 0


def _by_model(meter: Metered, cases: Sequence[Told], wanted: int) -> tuple[list[Made], int]:
    made: list[Made] = []
    refused = 0
    for part in (cases[:wanted], cases[wanted:]):
        part = part[: wanted - len(made)]
        chats = [
            SPECIFIC.render(
                {"passages": case.passages, "facts": case.facts, "first": case.names[0],
                 "answer": case.names[-1]}
            )
            for case in part
        ]  # fmt: skip
        replies = ask_all(meter, chats, Worded, max_tokens=MAX_TOKENS, purpose="wording")
        for case, reply in zip(part, replies, strict=True):
            text = " ".join(reply.question.split()) if isinstance(reply, Worded) else ""
            if text and not case.leaks(text):
                made.append(case.made(text))
            else:
                refused += 1
    return made, refused
