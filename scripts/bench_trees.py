"""The clusterings of RAPTOR's tree compared on the sample set: PCA and k-means against UMAP.

`tightness`: mean cosine of two passages of one cluster of the lowest layer (higher is tighter);
`recall`: evidence recall@5 of the collapsed tree; `seconds`: building the tree.
UMAP comes with the extra `umap`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir

import numpy as np

import graphrag_bench as gb
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex

REFERENCE = {"reduction": "umap"}
OURS = {"pca": {"reduction": "pca"}, "kmeans": {"clustering": "kmeans"}}


HOME = str(Path(gettempdir()) / "graphrag-bench-trees")  # trees are built by the first case only


def grown(graph: Mapping[str, str]) -> tuple[float, float, float]:
    """Tightness, evidence recall@5 and seconds of the tree with these settings."""
    pipeline = gb.method("raptor", paths={"home": HOME}, build={"graph": dict(graph)})
    run = pipeline.run("sample", answer="off")
    store = run.experiment.store()
    planned = {item.resource: item for item in run.experiment.plan}
    tree = Graph.load(store.folder(planned["graph"]))
    vectors = VectorIndex.load(store.folder(planned["chunk_index"])).vectors
    recall = run.result.metrics["metrics"]["evidence_recall@5"]["mean"]
    return _tightness(tree, vectors), recall, store.recipe(planned["graph"])["seconds"]


def _tightness(tree: Graph, vectors: np.ndarray) -> float:
    """The mean cosine over all pairs of leaves with a common parent."""
    n_leaves = len(vectors)
    parents: dict[int, list[int]] = {}
    for source, target in zip(tree.source.tolist(), tree.target.tolist(), strict=True):
        leaf, parent = min(source, target), max(source, target)
        if leaf < n_leaves <= parent:
            parents.setdefault(parent, []).append(leaf)
    cosines = []
    for leaves in parents.values():
        close = vectors[leaves] @ vectors[leaves].T
        cosines.append(close[np.triu_indices(len(leaves), 1)])
    return float(np.concatenate(cosines).mean())


def case(which: str, row: int, unit: str):
    """The figure of a clustering and UMAP's."""
    return lambda: (grown(OURS[which])[row], grown(REFERENCE)[row], unit)


CASES = {
    f"{name}_{which}": case(which, row, unit)
    for row, (name, unit) in enumerate(
        [("tightness", "cosine"), ("recall", "recall@5"), ("seconds", "s")]
    )
    for which in OURS
}
