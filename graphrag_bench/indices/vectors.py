"""Builders of vector indices of nodes, relationships, communities and chunks."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.progress import Progress

RelationshipText = Literal["context", "description"]


@artifact("chunk_index")
def chunk_index(*, chunk_table: ChunkTable, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed chunks. The text of a chunk is embedded together with its title."""
    return index_texts(chunk_table.passages, embedder, progress, "chunks")


@artifact("name_index.graph")
def graph_name_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed the names of the nodes of a graph that was built without an extraction."""
    return index_texts(list(graph.names), embedder, progress, "node names")


@artifact("node_index.name")
def node_index(*, name_index: VectorIndex) -> VectorIndex:
    """Use the embeddings of node names as vectors of nodes.

    Source: Zhou et al. 2025, section 5.
    """
    return name_index


@artifact("node_index.description", fixed={"named": True})
@artifact("node_index.text", fixed={"named": False})
def described_index(
    *, graph: Graph, embedder: Embedder, progress: Progress, named: bool
) -> VectorIndex:
    """Embed the descriptions of nodes. `node_index.description` puts the node's name first.

    A node without a description has the embedding of its name.
    Source: Zhou et al. 2025, section 5.
    Deviation: the paper embeds only descriptions. Its code embeds name, type and description.
    """
    return index_texts(node_texts(graph, named=named), embedder, progress, "node descriptions")


def named_text(name: str, described: str) -> str:
    """Return "name: description", or the name if the description is empty."""
    return f"{name}: {described}" if described else name


def node_texts(graph: Graph, *, named: bool = False) -> list[str]:
    """Return each node's description, or else its name. If `named`, the name comes first."""
    rows = zip(graph.names, graph.descriptions or [""] * graph.n_nodes, strict=True)
    return [named_text(name, text) if named else text or name for name, text in rows]


@artifact("relationship_index")
def relationship_index(
    *, graph: Graph, embedder: Embedder, progress: Progress, text: RelationshipText = "context"
) -> VectorIndex:
    """Embed relationships as "source relation target description".

    Keywords replace an empty relation. If `text` is "description", a relationship with a
    description is embedded as its description alone. Synonymy edges have vectors of zeros, whose
    cosine to every query is 0.
    Source: Zhou et al. 2025, section 5; PathCoRAG, equation 5 (`text="description"`).
    """
    pairs = zip(relationship_texts(graph, text), graph.synonym.tolist(), strict=True)
    texts = ["" if synonym else context for context, synonym in pairs]
    return _index_of_filled(texts, embedder, progress, "relationships")


def _index_of_filled(
    texts: Sequence[str], embedder: Embedder, progress: Progress, what: str
) -> VectorIndex:
    rows = np.flatnonzero([bool(text) for text in texts])
    index = index_texts([texts[row] for row in rows.tolist()], embedder, progress, what)
    vectors = np.zeros((len(texts), embedder.dimension), np.float32)
    vectors[rows] = index.vectors
    return VectorIndex(vectors, index.statistics)


def relationship_texts(graph: Graph, text: RelationshipText = "context") -> list[str]:
    """Return the texts of relationships that `relationship_index` embeds."""
    names, none = list(graph.names), [""] * graph.n_relationships
    columns = (graph.relations, graph.keywords or none, graph.facts or none)
    rows = zip(graph.source.tolist(), graph.target.tolist(), *columns, strict=True)
    return [
        fact if fact and text == "description"
        else " ".join(filter(None, (names[head], relation or themes, names[tail], fact)))
        for head, tail, relation, themes, fact in rows
    ]  # fmt: skip


@artifact("community_index")
def community_index(*, reports: Reports, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed the reports of communities. A community without a report has a vector of zeros.

    Source: Zhou et al. 2025, section 6.3.
    """
    return _index_of_filled(list(reports.texts), embedder, progress, "reports")
