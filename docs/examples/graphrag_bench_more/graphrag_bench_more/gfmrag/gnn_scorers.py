"""GFM-RAG: rank entities with a graph neural network, and rank passages by their entities."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, PositiveInt, ValidationError

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import inverse as reciprocals
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.columns import Columns
from graphrag_bench.contract import artifact, operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.model_files import WEIGHTS, Checkpoint, first_line
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.embedding.vector_index import index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.values import Chunk, Node, Question, Ranked

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import ModuleDict

EQUIVALENT, INVERSE = "equivalent", "inverse_"
"""The relation of synonymy edges, and the prefix of inverse relations, as in GFM-RAG's code."""
_WEIGHTS = "weights.npz"
_BLOCK = 1 << 16
"""The number of edges whose messages are computed together."""


class NetworkShape(NamedTuple):
    """Sizes of a GFM-RAG network: lengths of text vectors and node states, numbers of layers."""

    text: int
    hidden: int
    layers: int
    mlp_layers: int = 2
    layer_norm: bool = True

    def network(self) -> "ModuleDict":
        """Return an untrained network. Its parameters have the names used in GFM-RAG's code."""
        from torch import nn

        d, wide, layers = self.hidden, 2 * self.hidden, nn.ModuleList()
        for _ in range(self.layers):
            projection = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
            parts = {"linear": nn.Linear(wide, d), "relation_projection": projection}
            norm = {"layer_norm": nn.LayerNorm(d)} if self.layer_norm else {}
            layers.append(nn.ModuleDict(parts | norm))
        inner = range(self.mlp_layers - 1)
        hidden = [part for _ in inner for part in (nn.Linear(wide, wide), nn.ReLU())]
        model = {"layers": layers, "mlp": nn.Sequential(*hidden, nn.Linear(wide, 1))}
        maps = {"rel_mlp": nn.Linear(self.text, d), "question_mlp": nn.Linear(self.text, d)}
        return nn.ModuleDict({**maps, "entity_model": nn.ModuleDict(model)})


@dataclass(frozen=True, eq=False)
class GnnWeights:
    """Parameters of a GFM-RAG network as float32 arrays, keyed by their names in GFM-RAG's code.

    If `short_cut` is true, each layer adds its input to its output. `statistics` are not loaded.
    """

    shape: NetworkShape
    parameters: Mapping[str, Vectors]
    short_cut: bool = True
    statistics: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def network(self) -> "ModuleDict":
        """The network. Raises UserError if parameters are missing, unknown or not finite."""
        import torch

        network = self.shape.network()
        if not all(np.isfinite(values).all() for values in self.parameters.values()):
            raise UserError("The weights of the graph network are not all finite.")
        try:
            network.load_state_dict({n: torch.from_numpy(v) for n, v in self.parameters.items()})
        except RuntimeError as error:
            problems = "; ".join(map(str.strip, str(error).splitlines()[1:]))
            raise UserError(f"The weights do not fit the graph network: {problems[:400]}") from None
        return network

    def save(self, folder: Path) -> None:
        """Write the parameters into a folder, as one archive of plain arrays."""
        sizes = {"shape": np.array(self.shape), "short_cut": np.array(self.short_cut)}
        np.savez(folder / _WEIGHTS, **{**self.parameters, **sizes})  # type: ignore[arg-type]

    @classmethod
    def load(cls, folder: Path) -> "GnnWeights":
        """Read the parameters from a folder that `save` wrote."""
        with np.load(folder / _WEIGHTS, allow_pickle=False) as arrays:
            named = {name: arrays[name] for name in arrays.files}
        text, hidden, layers, mlp_layers, layer_norm = named.pop("shape").tolist()
        shape = NetworkShape(text, hidden, layers, mlp_layers, bool(layer_norm))
        return cls(shape, named, bool(named.pop("short_cut")))


KindedEdges = tuple[IntArray, IntArray, IntArray]
"""The source node, the relation id and the target node of directed edges, int64 (n_edges,)."""


def edges_of(graph: Graph) -> tuple[KindedEdges, tuple[str, ...]]:
    """Return the edges of a graph, including inverse edges, and the names of their relations.

    Each relationship becomes an edge and an inverse edge. As in GFM-RAG's code, a synonymy edge
    becomes two edges, one in each direction, each with an inverse edge. The first half of the names
    are relations. The second half are their inverses ("inverse_NAME") in the same order.
    """
    synonym = np.asarray(graph.synonym, bool)
    names = np.where(synonym, EQUIVALENT, np.array(list(graph.relations), object)).tolist()
    kinds = {name: number for number, name in enumerate(dict.fromkeys(names))}
    kind = np.array([kinds[name] for name in names], np.int64)
    kind = np.concatenate([kind, kind[synonym]])
    source = np.concatenate([graph.source, graph.target[synonym]]).astype(np.int64)
    target = np.concatenate([graph.target, graph.source[synonym]]).astype(np.int64)
    ends, back = np.concatenate([source, target]), np.concatenate([target, source])
    edges = ends, np.concatenate([kind, kind + len(kinds)]), back
    return edges, (*kinds, *(f"{INVERSE}{name}" for name in kinds))


def mention_weights(graph: Graph) -> FloatArray:
    """Return 1 / (number of chunks) of each node, (n_nodes,). A node without chunks gets 0."""
    return reciprocals(np.diff(graph.node_chunk.indptr))


def logits(
    network: "ModuleDict", short_cut: bool, edges: KindedEdges, relations: "Tensor",
    questions: "Tensor", start: "Tensor",
) -> "Tensor":  # fmt: skip
    """Return the logit of each node for each question, (n_questions, n_nodes).

    `relations` (n_kinds, d) and `questions` (n_questions, d) are text vectors. The initial state of
    a node is the question's state times the node's weight in `start` (n_questions, n_nodes).
    Messages are computed as in DistMult and added to the initial state. All tensors share a device.
    Source: GFM-RAG (Luo et al. 2025), code.
    """
    import torch

    blocks = [
        tuple(torch.from_numpy(np.array(part[at : at + _BLOCK])).to(start.device) for part in edges)
        for at in range(0, len(edges[0]), _BLOCK)
    ]
    question, first = network["question_mlp"](questions), network["rel_mlp"](relations)
    initial = start.unsqueeze(-1) * question.unsqueeze(1)
    state = initial
    for layer in network["entity_model"]["layers"]:
        relation, sums = layer["relation_projection"](first), initial
        for source, kind, target in blocks:
            sums = sums.index_add(1, target, state[:, source] * relation[kind])
        output = layer["linear"](torch.cat([state, sums], dim=-1))
        output = torch.relu(layer["layer_norm"](output) if "layer_norm" in layer else output)
        state = output + state if short_cut else output
    output = torch.cat([state, question.unsqueeze(1).expand_as(state)], dim=-1)
    return network["entity_model"]["mlp"](output).squeeze(-1)


@dataclass(frozen=True, eq=False)
class EntityScorer(Columns):
    """Network weights together with the edges and the relation vectors of one graph.

    `source`, `kind` and `target` describe the edges as in `KindedEdges`. `relations` is float32
    (n_relations, d), with the inverse relations in its second half.
    """

    weights: GnnWeights
    relations: Vectors
    source: IntArray
    kind: IntArray
    target: IntArray

    def logits(self, question: Vectors, start: FloatArray) -> FloatArray:
        """Return the logit of each node, float64 (n_nodes,), given a question and start weights."""
        import torch

        edges = self.source, self.kind, self.target
        inputs = (self.relations, question[None], start[None])
        tensors = [torch.from_numpy(np.array(one, np.float32)) for one in inputs]
        with torch.no_grad(), one_thread():
            scores = logits(self.weights.network, self.weights.short_cut, edges, *tensors)[0]
        return np.asarray(scores.numpy(), np.float64)


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
    *,
    checkpoint: Checkpoint,
    embedder: Embedder,
    embedder_check: Literal["name", "length"] = "name",
) -> GnnWeights:
    """Read the weights of a graph neural network from a published checkpoint (`graph.checkpoint`).

    The checkpoint consists of `config.json` and `model.pth`. The run must use the embedder that the
    checkpoint was trained with. Embedder names are compared without the part up to the last slash.
    With `embedder_check="length"` only the lengths of the vectors are compared, so that the same
    model may have another name. Raises UserError if the embedder differs, if the architecture is
    not supported, or if the parameters do not fit the architecture.
    Source: GFM-RAG (Luo et al. 2025), code and `rmanluo/GFM-RAG-8M`.
    """
    config, model = checkpoint.config, checkpoint.model
    if embedder_check == "name":
        trained = config.get("text_emb_model_config")
        name = trained.get("text_emb_model_name", "") if isinstance(trained, Mapping) else ""
        short = str(name).rstrip("/").rpartition("/")[2]
        if not short:
            raise UserError(
                "graph.checkpoint: config.json names no embedder. If the network was trained with "
                "this run's embedder, set build.gnn_weights.embedder_check=length."
            )
        if not re.search(rf"(^|[:/]){re.escape(short)}(?![\w.-])", embedder.identity):
            raise UserError(
                f"The checkpoint was trained with the embedder '{name}', but this run uses "
                f"{embedder.identity.split(':long=')[0]}. Set embedder.model={name}. If this is "
                "the same model under another name, set build.gnn_weights.embedder_check=length."
            )
    whole = config.get("model_config") or {}
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
    _ = weights.network  # raises if parameters do not fit
    _check_length(weights, embedder)
    return weights


def parameters_of(checkpoint: Checkpoint) -> dict[str, NDArray[np.float32]]:
    """Return the float32 parameters in a file by name. Raises UserError for any other content."""
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
