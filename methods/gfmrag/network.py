"""The query-conditioned graph network of GFM-RAG: its weights and its inference, without torch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import inverse
from graphrag_bench.columns import Columns
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.errors import UserError
from graphrag_bench.values import FloatArray, IntArray

EPSILON = 1e-5
"""What layer normalisation adds to a variance, as torch has it."""
EQUIVALENT, INVERSE = "equivalent", "inverse_"
"""What the release calls a synonymy edge, and what it writes before the name of an inverse."""
_WEIGHTS = "weights.npz"
_SHORT_CUT = "short_cut"


class NetworkShape(NamedTuple):
    """The size of a network: length of the text vectors, of the states, layers of both kinds."""

    text: int
    hidden: int
    layers: int
    mlp_layers: int = 2
    layer_norm: bool = True

    def parameters(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Each parameter by the name that it has in the release, with its shape."""
        d = self.hidden

        def linear(name: str, inputs: int, outputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
            yield f"{name}.weight", (outputs, inputs)
            yield f"{name}.bias", (outputs,)

        yield from linear("rel_mlp", self.text, d)
        yield from linear("question_mlp", self.text, d)
        for at in range(self.layers):
            layer = f"entity_model.layers.{at}"
            if self.layer_norm:
                yield f"{layer}.layer_norm.weight", (d,)
                yield f"{layer}.layer_norm.bias", (d,)
            yield from linear(f"{layer}.linear", 2 * d, d)
            yield from linear(f"{layer}.relation_projection.0", d, d)
            yield from linear(f"{layer}.relation_projection.2", d, d)
        for at in range(self.mlp_layers):
            outputs = 1 if at == self.mlp_layers - 1 else 2 * d
            yield from linear(f"entity_model.mlp.{2 * at}", 2 * d, outputs)


@dataclass(frozen=True, eq=False)
class GnnWeights:
    """The parameters of a network, float32, by the names that they have in the release.

    With `short_cut` each layer adds its input to its output. `statistics` are what its training
    measured; they are written to the recipe of the artifact and not loaded with it.
    """

    parameters: Mapping[str, Vectors]
    short_cut: bool = True
    statistics: Mapping[str, float] = field(default_factory=dict)

    @property
    def shape(self) -> NetworkShape:
        """The size of the network, as its parameters have it."""
        hidden, text = self.parameters["question_mlp.weight"].shape
        names = list(self.parameters)
        layers = {name.split(".")[2] for name in names if name.startswith("entity_model.layers.")}
        last = {name.split(".")[2] for name in names if name.startswith("entity_model.mlp.")}
        norm = "entity_model.layers.0.layer_norm.weight" in self.parameters
        return NetworkShape(text, hidden, len(layers), len(last), norm)

    def linear(self, name: str, inputs: Vectors) -> Vectors:
        """The inputs (n, inputs) through one linear map of the network, (n, outputs)."""
        weight, bias = (self.parameters[f"{name}.{part}"] for part in ("weight", "bias"))
        return np.asarray(inputs @ weight.T + bias, np.float32)

    def save(self, folder: Path) -> None:
        """Write the parameters as one archive of plain arrays."""
        named = {name: np.asarray(values) for name, values in self.parameters.items()}
        named[_SHORT_CUT] = np.array(self.short_cut)
        np.savez(folder / _WEIGHTS, **named)  # type: ignore[arg-type]

    @classmethod
    def load(cls, folder: Path) -> "GnnWeights":
        """The weights that `save` wrote."""
        with np.load(folder / _WEIGHTS, allow_pickle=False) as arrays:
            named = {name: arrays[name] for name in arrays.files}
        return cls(named, bool(named.pop(_SHORT_CUT)))


def checked(parameters: Mapping[str, Vectors], shape: NetworkShape, short_cut: bool) -> GnnWeights:
    """The weights of a network of that size; UserError for parameters that are not its own."""
    expected = dict(shape.parameters())
    for name in (name for name in expected if name not in parameters):
        raise UserError(f"The weights lack {name}.")
    for name, values in parameters.items():
        size = expected.get(name)
        if values.shape != size:
            raise UserError(f"The weights hold {name} of shape {values.shape}, not {size}.")
        if not np.isfinite(values).all():
            raise UserError(f"The weights hold numbers in {name} that are not finite.")
    return GnnWeights({name: parameters[name] for name in expected}, short_cut)


class KindedEdges(NamedTuple):
    """Directed edges of a graph with the number of the relation of each, int64 (n_edges,)."""

    source: IntArray
    kind: IntArray
    target: IntArray

    def by_target(self, n_nodes: int) -> "tuple[IntArray, KindedEdges]":
        """The edges by their target, and where those of each node start, int64 (n_nodes + 1,)."""
        order = np.argsort(self.target, kind="stable")
        starts = np.searchsorted(self.target[order], np.arange(n_nodes + 1))
        return starts, KindedEdges(*(part[order] for part in self))


def edges_of(graph: Graph) -> tuple[KindedEdges, tuple[str, ...]]:
    """The rows of a graph as edges, each with its inverse after them all, and the relations' names.

    A synonymy edge leads both ways, as in the release, and has its inverses too. The inverse of
    relation r of the first half of the names is r + half.
    """
    synonym = np.asarray(graph.synonym, bool)
    kinds: dict[str, int] = {}
    names_of_rows = [
        EQUIVALENT if same else name for same, name in zip(synonym, graph.relations, strict=True)
    ]
    kind = np.array([kinds.setdefault(name, len(kinds)) for name in names_of_rows], np.int64)
    source = np.concatenate([graph.source, graph.target[synonym]]).astype(np.int64)
    target = np.concatenate([graph.target, graph.source[synonym]]).astype(np.int64)
    kind = np.concatenate([kind, kind[synonym]])
    both = KindedEdges(
        np.concatenate([source, target]),
        np.concatenate([kind, kind + len(kinds)]),
        np.concatenate([target, source]),
    )
    return both, (*kinds, *(f"{INVERSE}{name}" for name in kinds))


def mentions_weight(graph: Graph) -> FloatArray:
    """One over the number of chunks that name each node, float64 (n_nodes,); 0 for none."""
    return inverse(np.diff(graph.node_chunk.indptr))


@dataclass(frozen=True, eq=False)
class EntityScorer(Columns):
    """The weights with the edges of one graph and the vectors of its relations' names.

    The edges are grouped by their target: `starts` int64 (n_nodes + 1,), `source` and `kind`
    int64 (n_edges,). `relations` is float32 (n_relations, d), inverses in its second half.
    """

    weights: GnnWeights
    relations: Vectors
    starts: IntArray
    source: IntArray
    kind: IntArray

    @property
    def n_nodes(self) -> int:
        """The nodes of the graph."""
        return len(self.starts) - 1

    def logits(self, question: Vectors, start: FloatArray, nodes: IntArray) -> FloatArray:
        """How likely each node is one of those that the answer needs, any number, (n_nodes,).

        `question` is the question's vector (d,); `nodes` int64 (k,), each once, are its entities,
        at which the network starts with the share `start` (k,) of the question's state.
        Source: GFM-RAG (Luo et al. 2025), its release: DistMult messages, summed with the state
        that a node began with.
        """
        from methods.gfmrag.network_kernels import sums_of_products

        weights, shape = self.weights, self.weights.shape
        query = weights.linear("question_mlp", question[None])
        began = np.zeros((self.n_nodes, shape.hidden), np.float32)
        began[nodes] = start.astype(np.float32)[:, None] * query
        state = began
        for at, relation in enumerate(self._relations):
            sums = sums_of_products(self.starts, self.source, self.kind, state, relation)
            state = self._next(at, state, sums + began)
        return self._read_out(state, query)

    def _next(self, at: int, state: Vectors, sums: Vectors) -> Vectors:
        layer, named = f"entity_model.layers.{at}", self.weights.parameters
        inner = self.weights.linear(f"{layer}.linear", np.concatenate([state, sums], axis=1))
        if self.weights.shape.layer_norm:
            inner = inner - inner.mean(axis=1, keepdims=True)
            inner /= np.sqrt((inner**2).mean(axis=1, keepdims=True) + np.float32(EPSILON))
            inner = inner * named[f"{layer}.layer_norm.weight"]
            inner = inner + named[f"{layer}.layer_norm.bias"]
        output = np.maximum(inner, 0)
        return output + state if self.weights.short_cut else output

    def _read_out(self, state: Vectors, query: Vectors) -> FloatArray:
        inner = np.concatenate([state, np.broadcast_to(query, state.shape)], axis=1)
        n_layers = self.weights.shape.mlp_layers
        for at in range(n_layers):
            inner = self.weights.linear(f"entity_model.mlp.{2 * at}", inner)
            if at < n_layers - 1:
                inner = np.maximum(inner, 0)
        return inner[:, 0].astype(np.float64)

    @cached_property
    def _relations(self) -> tuple[Vectors, ...]:
        weights = self.weights
        first = weights.linear("rel_mlp", self.relations)
        projected = []
        for at in range(weights.shape.layers):
            layer = f"entity_model.layers.{at}.relation_projection"
            inner = np.maximum(weights.linear(f"{layer}.0", first), 0)
            projected.append(np.ascontiguousarray(weights.linear(f"{layer}.2", inner)))
        return tuple(projected)
