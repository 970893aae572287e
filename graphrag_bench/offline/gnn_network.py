"""The graph network of GFM-RAG in torch, for its training: states, messages and both losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.query_gnn import EPSILON, Edges, Shape
from graphrag_bench.values import IntArray

if TYPE_CHECKING:
    from torch import Tensor

Float32 = NDArray[np.float32]
TEMPERATURE = 0.2
"""Of the softmax over wrong entities by which the release weights them."""
ENTITY_SHARE, LIST_SHARE = 0.3, 0.7
"""Shares of the cross-entropy of entities and of that of the list in the release's loss."""
_LEAST = 1e-5


class Grouped(NamedTuple):
    """The edges of a graph by target, by source and by relation, each with where groups start."""

    by_target: tuple[IntArray, Edges]
    by_source: tuple[IntArray, Edges]
    by_kind: tuple[IntArray, Edges]

    @classmethod
    def of(cls, edges: Edges, n_nodes: int, n_kinds: int) -> Grouped:
        """The edges in the three orders."""
        sizes = {"target": n_nodes, "source": n_nodes, "kind": n_kinds}
        return cls(*(edges.grouped(name, size) for name, size in sizes.items()))


def first_parameters(shape: Shape, chance: np.random.Generator) -> Iterator[tuple[str, Float32]]:
    """Parameters to begin with: uniform within 1 / sqrt(inputs), as torch has it; norms 1 and 0."""
    n_inputs = 1
    for name, size in shape.parameters():
        if "layer_norm" in name:
            yield name, np.full(size, float(name.endswith("weight")), np.float32)
            continue
        if name.endswith("weight"):
            n_inputs = size[1]
        most = n_inputs**-0.5
        yield name, chance.uniform(-most, most, size).astype(np.float32)


def messages(state: Tensor, relation: Tensor, edges: Grouped) -> Tensor:
    """What comes along the edges to each node, (questions, nodes, d): the sum of state x relation.

    The kernel that inference uses gives it and its gradients, for edges in three orders.
    """
    import torch

    from graphrag_bench.graph.query_gnn_kernels import sums_of_products

    class Messages(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, state: Tensor, relation: Tensor) -> Tensor:
            ctx.save_for_backward(state, relation)
            starts, held = edges.by_target
            along = relation.numpy()
            sums = [
                sums_of_products(starts, held.source, held.kind, one.numpy(), along)
                for one in state
            ]
            return torch.from_numpy(np.stack(sums))

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor]:
            state, relation = ctx.saved_tensors
            (gradient,) = (one.contiguous() for one in gradients)
            (starts, back), (first, same) = edges.by_source, edges.by_kind
            along = relation.numpy()
            of_states, of_relations = [], np.zeros_like(along)
            for one, held in zip(gradient, state, strict=True):
                of_states.append(
                    sums_of_products(starts, back.target, back.kind, one.numpy(), along)
                )
                of_relations += sums_of_products(
                    first, same.source, same.target, held.numpy(), one.numpy()
                )
            return torch.from_numpy(np.stack(of_states)), torch.from_numpy(of_relations)

    found: Tensor = Messages.apply(state, relation)
    return found


def logits(
    weights: Mapping[str, Tensor],
    shape: Shape,
    edges: Grouped,
    relations: Tensor,
    questions: Tensor,
    start: Tensor,
) -> Tensor:
    """The logit of each node for each question, (questions, nodes), as `EntityScorer` has them.

    `relations` (n_kinds, d) and `questions` (n, d) are vectors of texts, `start` (n, nodes) the
    share of a question's state that a node begins with. Layers add their input.
    """
    import torch
    from torch.nn import functional

    def linear(name: str, inputs: Tensor) -> Tensor:
        return functional.linear(inputs, weights[f"{name}.weight"], weights[f"{name}.bias"])

    asked = linear("question_mlp", questions)
    first = linear("rel_mlp", relations)
    began = start.unsqueeze(-1) * asked.unsqueeze(1)
    state = began
    for at in range(shape.layers):
        layer = f"entity_model.layers.{at}"
        inner = torch.relu(linear(f"{layer}.relation_projection.0", first))
        relation = linear(f"{layer}.relation_projection.2", inner)
        sums = messages(state.contiguous(), relation, edges) + began
        output = linear(f"{layer}.linear", torch.cat([state, sums], dim=-1))
        if shape.layer_norm:
            scale, shift = (weights[f"{layer}.layer_norm.{part}"] for part in ("weight", "bias"))
            output = functional.layer_norm(output, (shape.hidden,), scale, shift, EPSILON)
        state = torch.relu(output) + state
    held = torch.cat([state, asked.unsqueeze(1).expand_as(state)], dim=-1)
    for at in range(shape.mlp_layers):
        held = linear(f"entity_model.mlp.{2 * at}", held)
        held = torch.relu(held) if at < shape.mlp_layers - 1 else held
    return held.squeeze(-1)


def loss_of(found: Tensor, wanted: Tensor) -> Tensor:
    """The release's loss of logits (questions, nodes) against entities that are wanted, 0 or 1.

    A share of 0.3 is cross-entropy per entity: the mean over the wanted ones and the mean over
    the others, weighted by a softmax of their logits over 0.2, half each. The rest, 0.7, is the
    negative logarithm of the share that a wanted entity has of all chances, its mean over them.
    Every question must want an entity, and not all.
    """
    import torch
    from torch.nn import functional

    chance = torch.sigmoid(found)
    each = functional.binary_cross_entropy_with_logits(found, wanted, reduction="none")
    n_wanted = wanted.sum(dim=1, keepdim=True)
    hard = (found.detach() / TEMPERATURE).masked_fill(wanted > 0, -torch.inf)
    weight = wanted / n_wanted + torch.softmax(hard, dim=1)
    entity = (each * weight).sum(dim=1) / weight.sum(dim=1)
    share = chance / (chance.sum(dim=1, keepdim=True) + _LEAST)
    ranked = (-torch.log(share + _LEAST) * wanted).sum(dim=1) / n_wanted.squeeze(1)
    return ENTITY_SHARE * entity.mean() + LIST_SHARE * ranked.mean()


def arrays(weights: Mapping[str, Tensor]) -> dict[str, Float32]:
    """The parameters as arrays of their own."""
    return {name: tensor.detach().numpy().copy() for name, tensor in weights.items()}


def dense(rows: Sequence[IntArray], values: Sequence[Float32], n: int) -> Float32:
    """Float32 (len(rows), n): the values at their columns, 0 elsewhere."""
    found = np.zeros((len(rows), n), np.float32)
    for row, (columns, held) in enumerate(zip(rows, values, strict=True)):
        found[row, columns] = held
    return found
