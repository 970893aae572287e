"""Builders of knowledge graphs from extracted triples, or from the triples of a data set."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray
from graphrag_bench.columns import Texts, bool_csr
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.embedding import vector_index
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.extraction import CO_OCCURS
from graphrag_bench.graphs.merging import NO_ENTITIES, Merger
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name

FactCount = Literal["read", "chunk"]
Titles = Literal["off", "about"]
KG_ATTRIBUTES = frozenset({"node.name", "relationship.name", "relationship.weight"})
SYNONYM = "synonym of"


@artifact("graph.kg", provides=KG_ATTRIBUTES)
def kg(*, extraction: Extraction, chunk_table: ChunkTable, titles: Titles = "off") -> Graph:
    """Build a knowledge graph of the extracted triples.

    The nodes are the distinct normalised names of entities, including heads and tails of triples,
    in order of first appearance. Each distinct triple is a relationship, and its weight is the
    number of times it was extracted. Triples with an empty part, or with equal head and tail, are
    dropped. If `titles` is "about" (an option of this project), the title of a passage becomes its
    first entity. If an entity of the passage shares no extracted triple with the title, a new
    triple joins the two. Raises UserError if nothing was extracted.
    Source: Zhou et al. 2025, section 4; HippoRAG (Gutierrez et al. 2024), section 2.2.
    """
    return _merged(extraction, chunk_table, titles).graph(len(chunk_table))


def _merged(
    extraction: Extraction, chunk_table: ChunkTable, titles: Titles,
    counted: FactCount = "read", signs: bool = True,
) -> Merger:  # fmt: skip
    merger = Merger(named=True, signs=signs)
    for chunk, (row, title) in enumerate(zip(extraction.rows, chunk_table.titles, strict=True)):
        if titles == "about" and normalise_name(title):
            row = _with_title(row, title)
        for name in row.entities:
            merger.node(name, chunks=(chunk,))
        seen = set[tuple[str, str, str]]()
        for one in row.triples:
            head, tail = merger.normalised(one.head), merger.normalised(one.tail)
            fact = head, merger.normalised(one.relation), tail
            if all(fact) and head != tail:
                weight = 0.0 if counted == "chunk" and fact in seen else one.weight
                seen.add(fact)
                merger.relationship(
                    one.head, one.tail, relation=fact[1], weight=weight, chunks=(chunk,)
                )
    if not merger.nodes or not any(row.entities or row.triples for row in extraction.rows):
        raise UserError(f"{NO_ENTITIES}To build without a model, set build.extraction=nlp.")
    return merger


def _with_title(row: ChunkExtraction, title: str) -> ChunkExtraction:
    own = normalise_name(title)
    ends = ({normalise_name(one.head), normalise_name(one.tail)} for one in row.triples)
    joined = {"", own}.union(*(pair for pair in ends if own in pair))
    new = []
    for entity in row.entities:
        if (name := normalise_name(entity)) not in joined:
            joined.add(name)
            new.append(Triple(title, CO_OCCURS, entity))
    return ChunkExtraction((title, *row.entities), (*row.triples, *new))


@artifact("name_index.extraction")
def name_index(
    *,
    extraction: Extraction,
    chunk_table: ChunkTable,
    embedder: Embedder,
    progress: Progress,
    titles: Titles = "off",
    signs: bool = True,
) -> vector_index.VectorIndex:
    """Embed the node names of the graph that is built from this extraction, in node order."""
    names = list(_merged(extraction, chunk_table, titles, signs=signs).nodes)
    return vector_index.index_texts(names, embedder, progress, "node names")


@artifact("graph.kg_synonymy", provides=KG_ATTRIBUTES)
def kg_synonymy(
    *,
    extraction: Extraction,
    chunk_table: ChunkTable,
    name_index: vector_index.VectorIndex,
    progress: Progress,
    synonyms_per_node: PositiveInt = 10,
    synonymy_threshold: Annotated[float, Field(gt=0, le=1)] = 0.8,
    synonymy: Literal["skip", "overwrite", "add"] = "skip",
    titles: Titles = "off",
    counted: FactCount = "read",
    signs: bool = True,
) -> Graph:
    """Build a knowledge graph with synonymy edges between nodes that have similar names.

    Each node is compared with the `synonyms_per_node` nodes whose names are nearest by the cosine
    of their embeddings. If the cosine is at least `synonymy_threshold`, a synonymy edge joins the
    two nodes. Its weight is the cosine, and it belongs to no chunk. If a fact already joins the two
    nodes, `synonymy="skip"` adds no edge, "add" adds an edge, and "overwrite" adds an edge and sets
    the weights of the facts to 0. If `counted` is "chunk", the weight of a fact is its number of
    chunks instead of its number of extractions. If `signs` is false, only letters and digits of
    names are kept, as in the authors' code, so that C++ becomes C. `titles` is as in `graph.kg`.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2 and appendix B.
    """
    graph = _merged(extraction, chunk_table, titles, counted, signs).graph(len(chunk_table))
    vectors = np.ascontiguousarray(name_index.vectors)
    codes, cosine = synonym_pairs(vectors, synonyms_per_node, synonymy_threshold, progress)
    known = graph.pairs.source * graph.n_nodes + graph.pairs.target
    place = np.searchsorted(known, codes)
    joined = np.append(known, -1)[place] == codes
    if synonymy == "skip":
        codes, cosine = codes[~joined], cosine[~joined]
    elif synonymy == "overwrite":
        lost = np.isin(graph.pairs.of, place[joined])
        graph = replace(graph, weight=np.where(lost, 0.0, graph.weight))
    return add_relationships(graph, *np.divmod(codes, graph.n_nodes), cosine, SYNONYM)


def synonym_pairs(
    vectors: Vectors, per_node: int, threshold: float, progress: Progress
) -> tuple[IntArray, FloatArray]:
    """Return the pairs of unit vectors whose cosine is at least `threshold`, and the cosines.

    Each of n vectors is paired only with the `per_node` vectors of highest cosine. Ties are broken
    by the lower row. The pair of the rows i < j is the number `i * n + j`. These numbers are
    ascending. Cosines are rounded to six decimals.
    """
    import faiss

    n = len(vectors)
    short = _shortened(vectors)
    is_large = n * short.size >= vector_index.LEAST_PRODUCTS
    there = vector_index.rows_on_gpu(short) if is_large else None
    codes, cosines = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    with progress.task("comparing names", n) as advance:
        for block in np.split(np.arange(n), range(_at_once(n), n, _at_once(n))):
            least, most, pairs = threshold - _SLACK, _FEW * len(block), None
            if there is not None:
                pairs = there.at_least(short[block], least, most)
            elif np.count_nonzero(near := short[block] @ short.T >= least) <= most:
                pairs = np.divmod(np.flatnonzero(near), n)
            if pairs is None:
                k = min(per_node + 1, n)
                best = faiss.knn(vectors[block], vectors, k, faiss.METRIC_INNER_PRODUCT)[1]
                pairs = np.repeat(np.arange(len(block)), k), best.ravel()
            row, other = block[pairs[0]], pairs[1]
            row, other = row[row != other], other[row != other]
            cosine = np.round(_cosines(vectors, row, other), DECIMALS)
            order = np.lexsort((other, -cosine, row))
            order = order[cosine[order] >= threshold]
            place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
            order = order[place < per_node]
            row, other = row[order], other[order]
            codes.append(np.minimum(row, other) * n + np.maximum(row, other))
            cosines.append(cosine[order])
            advance(len(block))
    code, first = np.unique(np.concatenate(codes), return_index=True)
    return code, np.concatenate(cosines)[first].astype(np.float64)


_SLACK = 1e-5  # more than the rounding error of a cosine
_FEW = 100
"""With more candidate pairs per vector than this, faiss searches for the nearest vectors."""


def _at_once(n: int) -> int:
    """Return how many vectors to compare with all others at once, using at most 128 MB."""
    return int(max(16, 2**25 // max(n, 1)))


def _shortened(vectors: Vectors) -> Vectors:
    """Return shorter vectors whose inner products are upper bounds of the original products."""
    inside = vectors @ np.linalg.eigh(vectors.T @ vectors)[1][:, -(vectors.shape[1] // 4) :]
    left = (vectors**2).sum(axis=1) - (inside**2).sum(axis=1)
    return np.column_stack([inside, np.sqrt(np.maximum(left, 0.0) + _SLACK)])


def _cosines(vectors: Vectors, rows: IntArray, others: IntArray) -> Vectors:
    import faiss

    cosine = np.empty(len(rows), np.float32)
    arrays = [np.ascontiguousarray(one) for one in (vectors, rows, vectors, others)]
    products: Any = faiss.pairwise_indexed_inner_product  # type: ignore[attr-defined]
    products(vectors.shape[1], len(rows), *map(faiss.swig_ptr, (*arrays, cosine)))
    return cosine


def add_relationships(
    graph: Graph, source: IntArray, target: IntArray, weight: FloatArray, relation: str
) -> Graph:
    """Return a copy of the graph with more relationships, which have no chunks, of one kind."""
    n, chunks = len(source), graph.relationship_chunk.copy()
    chunks.resize((graph.n_relationships + n, graph.n_chunks))
    return replace(
        graph,
        source=np.concatenate([graph.source, source]),
        target=np.concatenate([graph.target, target]),
        weight=np.concatenate([graph.weight, weight]),
        synonym=np.concatenate([graph.synonym, np.full(n, relation == SYNONYM)]),
        relations=Texts.of([*graph.relations, *[relation] * n]),
        relationship_chunk=chunks,
    )


@artifact("graph.subgraphs", provides=KG_ATTRIBUTES)
def subgraph_graph(*, corpus: Dataset, chunk_table: ChunkTable) -> Graph:
    """Build a knowledge graph of the triples that the data set contains for its documents.

    The nodes are the distinct names, and the relationships are the distinct triples, in order of
    first appearance. Names and relations are not normalised. The weight of a relationship is the
    number of chunks whose documents have its triple. Triples with a blank part are left out. Raises
    UserError if there are no triples, or if a document does not have exactly one chunk.
    """
    import pandas

    subgraphs, chunk = _subgraphs(corpus, chunk_table)
    slices = [subgraphs.rows(document) for document in chunk]
    rows = np.concatenate([np.arange(one.start, one.stop) for one in slices])
    of_chunk = np.repeat(list(chunk.values()), [one.stop - one.start for one in slices])
    parts = [getattr(subgraphs, part)[rows] for part in ("head", "relation", "tail")]
    named, related = (
        np.array([bool(text.strip()) for text in texts], bool)
        for texts in (subgraphs.names, subgraphs.relations)
    )
    whole = named[parts[0]] & related[parts[1]] & named[parts[2]]
    if not whole.any():
        raise UserError(f"Data set '{corpus.name}': the triples of all documents are empty.")
    of_chunk, (head, relation, tail) = of_chunk[whole], (part[whole] for part in parts)
    ends, used = pandas.factorize(np.stack([head, tail], axis=1).ravel())
    heads, tails = ends.reshape(-1, 2).T
    codes = (heads * len(subgraphs.relations) + relation) * len(used) + tails
    row, distinct = pandas.factorize(codes)
    first = np.unique(row, return_index=True)[1]
    of_nodes = bool_csr(ends, np.repeat(of_chunk, 2), (len(used), len(chunk_table)))
    of_rows = bool_csr(row, of_chunk, (len(distinct), len(chunk_table)))
    return Graph.from_arrays(
        heads[first], tails[first], of_nodes, of_rows, np.diff(of_rows.indptr),
        [subgraphs.names[at] for at in used],
        relations=[subgraphs.relations[at] for at in relation[first]],
    )  # fmt: skip


@artifact("extraction.subgraphs")
def subgraph_extraction(*, corpus: Dataset, chunk_table: ChunkTable) -> Extraction:
    """Return the triples that the data set contains for its documents (see `graph.subgraphs`)."""
    subgraphs, chunk = _subgraphs(corpus, chunk_table)
    triples: list[dict[Triple, None]] = [{} for _ in range(len(chunk_table))]
    for document, row in chunk.items():
        triples[row].update(dict.fromkeys(Triple(*one) for one in subgraphs.triples(document)))
    return Extraction.of([ChunkExtraction((), tuple(row)) for row in triples], {})


def _subgraphs(corpus: Dataset, chunk_table: ChunkTable) -> tuple[Subgraphs, dict[str, int]]:
    if corpus.subgraphs is None:
        raise UserError(
            f"Data set '{corpus.name}' has no triples. Set build.graph=kg to build a graph of its "
            "texts, or graph.import_from=FILE to import a graph."
        )
    chunk: dict[str, int] = {}
    for document in corpus.documents:
        chunks = chunk_table.chunks_of(document.id)
        if len(chunks) != 1:
            raise UserError(
                f"Document '{document.id}' has {len(chunks)} chunks, but its triples can be "
                "used only if it has exactly one chunk. Set chunking=presplit."
            )
        chunk[document.id] = chunks[0]
    return corpus.subgraphs, chunk
