"""Builders of knowledge graphs whose nodes and relationships have descriptions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.algorithms.extraction import TextExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.build_calls import Extractor, text_budget
from graphrag_bench.graphs.merging import NO_ENTITIES, Merger
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, decode, encode

_NODES = {"node.name", "node.type", "node.description"}
TKG_ATTRIBUTES = frozenset(_NODES | {"relationship.description", "relationship.weight"})
RKG_ATTRIBUTES = TKG_ATTRIBUTES | {"relationship.keywords"}
SUMMARY = Prompt("graphrag_bench.graphs:prompts/description_summary.j2")
SUMMARY_FROM = 500
"""Descriptions of this many tokens or more are summarised. Source: Zhou et al., code 4e87938."""
_AS_READ = {"llm_build": None, "max_tokens": 500, "summary_prompt": SUMMARY}


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    template = template_tokens(settings["summary_prompt"])
    return template + 1.5 * SUMMARY_FROM, settings["max_tokens"] / 2


@artifact("graph.tkg", provides=TKG_ATTRIBUTES, fixed={"keywords": False, **_AS_READ})
@artifact("graph.rkg", provides=RKG_ATTRIBUTES, fixed={"keywords": True, **_AS_READ})
@artifact(
    "graph.tkg_llm", provides=TKG_ATTRIBUTES, calls=1, tokens=_tokens, fixed={"keywords": False}
)
@artifact(
    "graph.rkg_llm", provides=RKG_ATTRIBUTES, calls=1, tokens=_tokens, fixed={"keywords": True}
)
def text_kg(
    *,
    text_extraction: TextExtraction,
    llm_build: ChatModel | None,
    progress: Progress,
    keywords: bool,
    max_tokens: PositiveInt = 500,
    summary_prompt: Prompt = SUMMARY,
) -> Graph:
    """Build a textual knowledge graph (`tkg`), or a rich knowledge graph with keywords (`rkg`).

    The nodes are the distinct normalised names of entities, in order of first appearance, each with
    its most frequent type. Ties are broken by the first appearance. Every two related nodes have
    one relationship, whatever its direction. Its weight is the sum of the extracted strengths. A
    node is not related to itself. A description joins the distinct extracted descriptions in
    alphabetical order. Keywords are joined by ", " in order of first appearance. Raises UserError
    if nothing was extracted, or if an `rkg` has no keywords.

    In `tkg_llm` and `rkg_llm`, the build model summarises each description of 500 tokens or more in
    at most `max_tokens` tokens. A description that exceeds the context window or 32,768 tokens is
    cut. If a summary fails, the description stays as it is. Raises UserError if all summaries fail.
    The command `plan` does not know how many descriptions are long, so it estimates the calls.
    Source: Zhou et al. 2025, section 4 and Table 2, and the authors' code 4e87938; LightRAG (Guo et
    al. 2024), section 3.1; GraphRAG (Edge et al. 2024), section 3.1.3.
    """
    graph = text_graph(text_extraction, keywords=keywords)
    if llm_build is None:
        return graph
    assert graph.descriptions is not None and graph.facts is not None
    names = list(graph.names)
    heads, tails = graph.names.take(graph.source), graph.names.take(graph.target)
    names += [f"{head}; {tail}" for head, tail in zip(heads, tails, strict=True)]
    texts = [*graph.descriptions, *graph.facts]
    long = [row for row, text in enumerate(texts) if count_tokens(text) >= SUMMARY_FROM]
    room = text_budget(llm_build, summary_prompt, max_tokens)
    cut = [(names[row], decode(encode(texts[row])[:room])) for row in long]
    chats = [summary_prompt.render({"names": name, "descriptions": text}) for name, text in cut]
    summaries = Extractor(llm_build, max_tokens, progress).texts(
        chats, [names[row] for row in long], "summarise descriptions",
        "To build without summaries, set build.graph=tkg or rkg.",
    )  # fmt: skip
    for row, summary in zip(long, summaries, strict=True):
        texts[row] = summary or texts[row]
    n = graph.n_nodes
    return replace(graph, descriptions=Texts.of(texts[:n]), facts=Texts.of(texts[n:]))


def text_graph(
    extraction: TextExtraction, *, keywords: bool, most_tokens: int | None = None
) -> Graph:
    """Return the textual knowledge graph of an extraction. `most_tokens` limits descriptions."""
    merger = Merger()
    for number, row in enumerate(extraction.rows):
        for entity in row.entities:
            merger.node(entity.name, entity.type, entity.description, (number,))
        for one in row.relationships:
            merger.relationship(
                one.source, one.target, description=one.description, keywords=one.keywords,
                weight=max(one.strength, 0.0), chunks=(number,),
            )  # fmt: skip
    if not merger.nodes:
        raise UserError(f"{NO_ENTITIES}To build without a model, set build.text_extraction=nlp.")
    if keywords and merger.relationships and not merger.keywords:
        raise UserError(
            "A rich knowledge graph needs keywords, but no relationship has any. Set "
            "build.text_extraction.keywords=true, or build.graph=tkg."
        )
    return merger.graph(len(extraction.rows), keywords=keywords, most_tokens=most_tokens)
