"""Released weights of a graph network, and a network made ready for one graph."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.query_gnn import EntityScorer, GnnWeights, Shape, checked, edges_of
from graphrag_bench.contract import artifact
from graphrag_bench.embedding.checkpoint import Checkpoint
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vectors import index_texts
from graphrag_bench.progress import Progress

FIXED = {
    "message_func": "distmult",
    "aggregate_func": "sum",
    "activation": "relu",
    "concat_hidden": False,
    "use_ent_emb": None,
}
"""What a checkpoint may say of its network; of anything else none is built here."""
EmbedderCheck = Literal["name", "length"]


@artifact("gnn_weights.released")
def released_weights(
    *, checkpoint: Checkpoint, embedder: Embedder, embedder_check: EmbedderCheck = "name"
) -> GnnWeights:
    """The weights of a released checkpoint (`graph.checkpoint`): `config.json` and `model.pth`.

    The embedder must be the one that the checkpoint was trained with, by the last part of its
    name; with `embedder_check="length"` its vectors need only be as long, for the same model
    under another name. Raises UserError for another embedder, for a network of another kind, and
    for parameters that do not fit what `config.json` says.
    Source: GFM-RAG (Luo et al. 2025), its release, `rmanluo/GFM-RAG-8M`.
    """
    config = checkpoint.config
    if embedder_check == "name":
        _check_name(config.get("text_emb_model_config"), embedder)
    shape, short_cut = _shape_of(config, checkpoint.model)
    weights = checked(checkpoint.parameters(), shape, short_cut)
    _check_length(weights, embedder)
    return weights


def _check_name(trained: Any, embedder: Embedder) -> None:
    name = trained.get("text_emb_model_name", "") if isinstance(trained, Mapping) else ""
    short = str(name).rstrip("/").rpartition("/")[2]
    if not short:
        raise UserError(
            "graph.checkpoint: config.json does not name the embedder that the network was trained "
            "with. If it is that of this run: build.gnn_weights.embedder_check=length."
        )
    if re.search(rf"(^|[:/]){re.escape(short)}(?![\w.-])", embedder.identity):
        return
    raise UserError(
        f"The checkpoint was trained with the embedder '{name}'; this run has "
        f"{embedder.identity.split(':long=')[0]}. Choose it: embedder.model={name}; where it is "
        "the same under another name: build.gnn_weights.embedder_check=length."
    )


def _shape_of(config: Mapping[str, Any], model: str) -> tuple[Shape, bool]:
    model_config = config.get("model_config")
    network = model_config.get("entity_model") if isinstance(model_config, Mapping) else None
    if not isinstance(model_config, Mapping) or not isinstance(network, Mapping):
        raise UserError(
            f"graph.checkpoint: config.json of '{model}' has no model_config with an entity_model."
        )
    for name, value in FIXED.items():
        own = network.get(name, model_config.get(name, value))
        if own != value:
            raise UserError(
                f"graph.checkpoint: the network of '{model}' has {name}={own!r}; only {value!r} "
                "can be computed here."
            )
    text, hidden = model_config.get("feat_dim"), network.get("input_dim")
    states = network.get("hidden_dims")
    if not isinstance(text, int) or not isinstance(hidden, int) or not isinstance(states, list):
        raise UserError(
            f"graph.checkpoint: config.json of '{model}' must state feat_dim, input_dim and "
            "hidden_dims."
        )
    if not states or set(states) != {hidden}:
        raise UserError(
            f"graph.checkpoint: the layers of '{model}' are {states} wide, with an input of "
            f"{hidden}; only layers of one width can be computed here."
        )
    mlp, norm = network.get("num_mlp_layer", 2), bool(network.get("layer_norm", False))
    return Shape(text, hidden, len(states), int(mlp), norm), bool(network.get("short_cut", False))


def _check_length(weights: GnnWeights, embedder: Embedder) -> None:
    if weights.shape.text != embedder.dimension:
        raise UserError(
            f"The graph network was trained with vectors of {weights.shape.text} numbers; the "
            f"embedder gives {embedder.dimension}."
        )


@artifact("entity_scorer")
def entity_scorer(
    *, gnn_weights: GnnWeights, graph: Graph, embedder: Embedder, progress: Progress
) -> EntityScorer:
    """The network with the edges of a graph, inverses too, and the vectors of its relations' names.

    The inverse of a relation is embedded as "inverse_" and its name, a synonymy edge as
    "equivalent". Raises UserError when the weights were trained with vectors of another length.
    Source: GFM-RAG (Luo et al. 2025), its release.
    """
    _check_length(gnn_weights, embedder)
    edges, relations = edges_of(graph)
    index = index_texts(relations, embedder, progress, "relations")
    starts, sorted_edges = edges.grouped("target", graph.n_nodes)
    vectors = np.asarray(index.vectors, np.float32)
    return EntityScorer(gnn_weights, vectors, starts, sorted_edges.source, sorted_edges.kind)
