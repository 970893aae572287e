"""GFM-RAG's graph neural network, conditioned on the question: weights and inference in torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import inverse
from graphrag_bench.columns import Columns
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.errors import UserError
from graphrag_bench.values import FloatArray, IntArray

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import ModuleDict

EQUIVALENT, INVERSE = "equivalent", "inverse_"
"""The relation of synonymy edges, and the prefix of inverse relations, as in GFM-RAG's code."""
_WEIGHTS = "weights.npz"
_SHAPE, _SHORT_CUT = "shape", "short_cut"
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

        d, wide = self.hidden, 2 * self.hidden

        def layer() -> nn.ModuleDict:
            projection = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
            parts = {"linear": nn.Linear(wide, d), "relation_projection": projection}
            norm = {"layer_norm": nn.LayerNorm(d)} if self.layer_norm else {}
            return nn.ModuleDict(parts | norm)

        inner = range(self.mlp_layers - 1)
        hidden = [part for _ in inner for part in (nn.Linear(wide, wide), nn.ReLU())]
        layers = nn.ModuleList(layer() for _ in range(self.layers))
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

    def network(self) -> "ModuleDict":
        """Return the network. Raises UserError if parameters are missing, unknown or not finite."""
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
        named = {name: np.asarray(values) for name, values in self.parameters.items()}
        named |= {_SHAPE: np.array(self.shape), _SHORT_CUT: np.array(self.short_cut)}
        np.savez(folder / _WEIGHTS, **named)  # type: ignore[arg-type]

    @classmethod
    def load(cls, folder: Path) -> "GnnWeights":
        """Read the parameters from a folder that `save` wrote."""
        with np.load(folder / _WEIGHTS, allow_pickle=False) as arrays:
            named = {name: arrays[name] for name in arrays.files}
        text, hidden, layers, mlp_layers, layer_norm = named.pop(_SHAPE).tolist()
        shape = NetworkShape(text, hidden, layers, mlp_layers, bool(layer_norm))
        return cls(shape, named, bool(named.pop(_SHORT_CUT)))


class KindedEdges(NamedTuple):
    """Directed edges. Source node, target node and relation id are arrays int64 (n_edges,)."""

    source: IntArray
    kind: IntArray
    target: IntArray


def edges_of(graph: Graph) -> tuple[KindedEdges, tuple[str, ...]]:
    """Return the edges of a graph, including inverse edges, and the names of their relations.

    Each relationship becomes an edge and an inverse edge. As in GFM-RAG's code, a synonymy edge
    becomes two edges, one in each direction, each with an inverse edge. The first half of the names
    are relations. The second half are their inverses ("inverse_NAME") in the same order.
    """
    synonym = np.asarray(graph.synonym, bool)
    kinds: dict[str, int] = {}
    rows = zip(synonym, graph.relations, strict=True)
    names = (EQUIVALENT if same else name for same, name in rows)
    kind = np.array([kinds.setdefault(name, len(kinds)) for name in names], np.int64)
    kind = np.concatenate([kind, kind[synonym]])
    source = np.concatenate([graph.source, graph.target[synonym]]).astype(np.int64)
    target = np.concatenate([graph.target, graph.source[synonym]]).astype(np.int64)
    ends, back = np.concatenate([source, target]), np.concatenate([target, source])
    edges = KindedEdges(ends, np.concatenate([kind, kind + len(kinds)]), back)
    return edges, (*kinds, *(f"{INVERSE}{name}" for name in kinds))


def mention_weights(graph: Graph) -> FloatArray:
    """Return 1 / (number of chunks) of each node, (n_nodes,). A node without chunks gets 0."""
    return inverse(np.diff(graph.node_chunk.indptr))


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
        for at in range(0, len(edges.source), _BLOCK)
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

    @cached_property
    def _network(self) -> "ModuleDict":
        return self.weights.network()

    def logits(self, question: Vectors, start: FloatArray) -> FloatArray:
        """Return the logit of each node, float64 (n_nodes,), given a question and start weights."""
        import torch

        edges = KindedEdges(self.source, self.kind, self.target)
        inputs = (self.relations, question[None], start[None])
        tensors = [torch.from_numpy(np.array(one, np.float32)) for one in inputs]
        with torch.no_grad(), one_thread():
            scores = logits(self._network, self.weights.short_cut, edges, *tensors)[0]
        return np.asarray(scores.numpy(), np.float64)
