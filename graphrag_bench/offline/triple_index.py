"""The index of relationships as triples."""

from __future__ import annotations

import re

from graphrag_bench.contract import artifact
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.progress import Progress

_MACHINE_ID = re.compile(r"^[mg]\.[\w.]+$")


@artifact("triple_index")
def triple_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """One vector for each relationship row: "head relation tail", as `triple_text` writes it.

    Source: our specification of path pooling, 4.2.
    """
    names = list(graph.names)
    rows = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    texts = [triple_text(names[head], relation, names[tail]) for head, relation, tail in rows]
    return index_texts(texts, embedder, progress, "triples")


def triple_text(head: str, relation: str, tail: str) -> str:
    """Head, relation and tail with single spaces, dots and underscores of the relation as spaces.

    Freebase's machine ids (m.0k2, g.11b) are left out, and so is whatever is empty.
    """
    spaced = re.sub(r"[._]+", " ", relation).strip()
    return " ".join(part for part in (head, spaced, tail) if part and not _MACHINE_ID.match(part))
