"""GFM-RAG: rank entities with a graph neural network, and rank passages by their entities."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, PositiveInt, ValidationError

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import artifact, operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.model_files import WEIGHTS, Checkpoint, first_line
from graphrag_bench.embedding.vector_index import index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.values import Chunk, Node, Question, Ranked
from methods.gfmrag.network import EntityScorer, GnnWeights, NetworkShape, edges_of, mention_weights

EmbedderCheck = Literal["name", "length"]


class _Network(BaseModel):
    feat_dim: int
    input_dim: int
    hidden_dims: list[int] = Field(min_length=1)
    num_mlp_layer: int = 2
    layer_norm: bool = False
    short_cut: bool = False
    message_func: Literal["distmult"] = "distmult"
    aggregate_func: Literal["sum"] = "sum"
    activation: Literal["relu"] = "relu"
    concat_hidden: Literal[False] = False
    use_ent_emb: None = None


@artifact("gnn_weights.released")
def released_weights(
    *, checkpoint: Checkpoint, embedder: Embedder, embedder_check: EmbedderCheck = "name"
) -> GnnWeights:
    """Read the weights of a graph neural network from a published checkpoint (`graph.checkpoint`).

    The checkpoint consists of `config.json` and `model.pth`. The run must use the embedder that the
    checkpoint was trained with. Embedder names are compared without the part up to the last slash.
    With `embedder_check="length"` only the lengths of the vectors are compared, so that the same
    model may have another name. Raises UserError if the embedder differs, if the architecture is
    not supported, or if the parameters do not fit the architecture.
    Source: GFM-RAG (Luo et al. 2025), code and `rmanluo/GFM-RAG-8M`.
    """
    if embedder_check == "name":
        _check_name(checkpoint.config.get("text_emb_model_config"), embedder)
    whole, model = checkpoint.config.get("model_config") or {}, checkpoint.model
    try:
        network = _Network.model_validate({**whole, **whole.get("entity_model", {})})
    except ValidationError as error:
        problems = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())
        raise UserError(
            f"graph.checkpoint: the network of '{model}' is not supported ({problems})."
        ) from None
    if set(network.hidden_dims) != {network.input_dim}:
        raise UserError(
            f"graph.checkpoint: '{model}' has layers of widths {network.hidden_dims} and inputs of "
            f"width {network.input_dim}. All widths must be equal."
        )
    sizes = network.feat_dim, network.input_dim, len(network.hidden_dims)
    shape = NetworkShape(*sizes, network.num_mlp_layer, network.layer_norm)
    weights = GnnWeights(shape, parameters_of(checkpoint), network.short_cut)
    weights.network()  # raises if parameters do not fit
    _check_length(weights, embedder)
    return weights


def parameters_of(checkpoint: Checkpoint) -> dict[str, NDArray[np.float32]]:
    """Return the parameters in a checkpoint as float32 arrays, keyed by name.

    Raises UserError if the file contains anything other than named tensors.
    """
    import pickle

    import torch

    path = checkpoint.file(WEIGHTS)
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UserError(f"{path}: not a torch file of plain tensors: {first_line(error)}") from None
    named = weights.get("model", weights) if isinstance(weights, dict) else None
    if not isinstance(named, dict) or not all(map(torch.is_tensor, named.values())):
        raise UserError(f"{path}: the file does not contain named tensors.")
    return {name: one.to(torch.float32).numpy() for name, one in named.items()}


def _check_name(trained: Any, embedder: Embedder) -> None:
    name = trained.get("text_emb_model_name", "") if isinstance(trained, Mapping) else ""
    short = str(name).rstrip("/").rpartition("/")[2]
    if not short:
        raise UserError(
            "graph.checkpoint: config.json names no embedder. If the network was trained with this "
            "run's embedder, set build.gnn_weights.embedder_check=length."
        )
    if re.search(rf"(^|[:/]){re.escape(short)}(?![\w.-])", embedder.identity):
        return
    raise UserError(
        f"The checkpoint was trained with the embedder '{name}', but this run uses "
        f"{embedder.identity.split(':long=')[0]}. Set embedder.model={name}. If this is the same "
        "model under another name, set build.gnn_weights.embedder_check=length."
    )


def _check_length(weights: GnnWeights, embedder: Embedder) -> None:
    if weights.shape.text != embedder.dimension:
        raise UserError(
            f"The graph network was trained with vectors of length {weights.shape.text}, but the "
            f"vectors of the embedder have length {embedder.dimension}."
        )


@artifact("entity_scorer")
def entity_scorer(
    *, gnn_weights: GnnWeights, graph: Graph, embedder: Embedder, progress: Progress
) -> EntityScorer:
    """Combine the trained network with the edges of a graph and the vectors of its relation names.

    Raises UserError if the weights were trained with vectors of another length.
    Source: GFM-RAG (Luo et al. 2025), code.
    """
    _check_length(gnn_weights, embedder)
    edges, relations = edges_of(graph)
    index = index_texts(relations, embedder, progress, "relations")
    return EntityScorer(gnn_weights, np.asarray(index.vectors, np.float32), *edges)


@operator("node.query_gnn", batched=True)
def query_gnn(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    *,
    entity_scorer: EntityScorer,
    graph: Graph,
    embedder: Embedder,
    inverse_start: bool = True,
    top_k: PositiveInt | None = 20,
) -> list[Ranked[Node]]:
    """Rank nodes by a graph neural network, which estimates whether the answer needs the node.

    The network starts at the given nodes and passes messages along the relationships. If no nodes
    are given, no node is returned. The weight of a start node is 1 / (number of chunks that contain
    it), or 1 if `inverse_start` is false. The score is a logit.
    Source: GFM-RAG (Luo et al. 2025), code, `init_entities_weight`.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    weight = mention_weights(graph) if inverse_start else np.ones(graph.n_nodes)
    rankings = [Ranked[Node].empty() for _ in question]
    for row, start in enumerate(nodes):
        if len(start):
            shares = np.zeros(graph.n_nodes)
            shares[start.ids] = weight[start.ids]
            rankings[row] = Ranked.top(entity_scorer.logits(vectors[row], shares), top_k)
    return rankings


@operator("chunk.by_entities")
def by_entities(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    inverse: bool = True,
    scored: bool = False,
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """Rank chunks by the summed weights of the given nodes that they contain.

    The weight of a node is 1 / (number of chunks that contain it), or 1 if `inverse` is false. If
    `scored` is true, it is multiplied by the score of the node, which may be negative. Chunks
    without a given node are left out. The default settings are those of GFM-RAG's default document
    ranker, which uses the 20 best entities.
    Source: GFM-RAG (Luo et al. 2025), code.
    """
    weight = mention_weights(graph)[nodes.ids] if inverse else np.ones(len(nodes))
    weight = weight * nodes.scores if scored else weight
    named = graph.node_chunk[nodes.ids].astype(bool).astype(np.float64)
    return Ranked[Chunk].top(named.T @ weight, top_k, among=np.unique(named.indices))
