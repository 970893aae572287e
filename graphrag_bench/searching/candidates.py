"""Candidates: shapes with values, drawn by seed, each in the form of a method's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from graphrag_bench.fingerprint import digest
from graphrag_bench.searching.shapes import Fork, Guarded, Items, Shape, Step
from graphrag_bench.searching.space import Ending, Space

Choices = tuple[Mapping[str, Any], ...]
_TRIES = 40
"""Draws for each candidate that is wanted, of which some come twice."""


@dataclass(frozen=True)
class Candidate:
    """A shape of a space with the values of the settings of each of its steps, in their order."""

    space: Space
    shape: Shape
    choices: Choices

    @cached_property
    def name(self) -> str:
        """A name for its file: the graph, what it does, and a fingerprint of all of it."""
        kinds = [step.name.rpartition(".")[2] for step in self.shape.steps
                 if not step.name.startswith(("question.", "query."))]  # fmt: skip
        return "_".join([self.shape.graph, *kinds[-2:], digest(self._told())[:6]])

    @property
    def title(self) -> str:
        """Its steps as a row of a table shows them."""
        return f"{self.shape.graph}: {_shown(self.shape.items)}"

    def method(self, *, n_retrieved: Any = None, top_k: Any = None) -> dict[str, Any]:
        """The method, as a resolved file has it; the two sizes are those of the space."""
        file = self.space.file
        sizes = (
            file.n_retrieved if n_retrieved is None else n_retrieved,
            file.top_k if top_k is None else top_k,
        )
        build, (convert, retrieve) = self._build(), self._stages(sizes[0])
        ending = self._ending()
        return {
            "name": self.name,
            "title": self.name,
            "top_k": file.top_k,
            "n_retrieved": file.n_retrieved,
            "budget": None,
            **({"build": build} if build else {}),
            **({"convert": convert} if convert else {}),
            "retrieve": [
                *retrieve,
                *(_counted(step, self.space, sizes[0]) for step in ending.retrieve),
            ],
            "generate": [_packed(step, sizes[1]) for step in ending.steps],
        }

    def _build(self) -> dict[str, Any]:
        """What is built for it: of the graph's indices those that a step searches."""
        needs = {need for step in self.shape.steps for need in step.part.operator.needs}
        choice = self.space.graphs[self.shape.graph]
        return {
            name: held for name, held in choice.items()
            if not name.endswith("_index") or name in needs
        }  # fmt: skip

    def _told(self) -> list[Any]:
        method = {**self._stages_by_name(), "build": self._build()}
        ending = self._ending()
        return [method, [dict(step) for step in (*ending.retrieve, *ending.steps)]]

    def _stages_by_name(self) -> dict[str, Any]:
        return dict(zip(("convert", "retrieve"), self._stages(None), strict=True))

    def _stages(self, n_retrieved: Any) -> tuple[list[Any], list[Any]]:
        values = iter(self.choices)
        items = list(_items(self.shape.items, values, self.space, n_retrieved))
        n = next((row for row, one in enumerate(items) if not _converts(one)), len(items))
        return items[:n], items[n:]

    def _ending(self) -> Ending:
        """The first ending whose slots are written, and whose last operators are its own."""
        written = {slot for step in self.shape.steps for slot in step.part.operator.writes}
        names = [step.name for step in self.shape.steps]
        plain = not any(
            isinstance(one, Guarded) or (isinstance(one, Fork) and one.slot == "chunks")
            for one in self.shape.items
        )
        for ending in self.space.file.generate:
            last = ending.operators
            if set(ending.slots) <= written and (
                not last or (plain and names[-len(last) :] == last)
            ):
                return ending
        return self.space.file.generate[-1]


def _converts(item: Mapping[str, Any]) -> bool:
    return str(item.get("op", "")).startswith("question.")


def _packed(step: Mapping[str, Any], top_k: Any) -> dict[str, Any]:
    """A step of an ending; the chunks of a context are as many as the prompt takes."""
    if step["op"] == "context.chunks" and "top_k" not in step:
        return {**step, "top_k": top_k}
    return dict(step)


def _items(
    items: Sequence[Any], values: Iterator[Mapping[str, Any]], space: Space, n_retrieved: Any
) -> Iterator[dict[str, Any]]:
    for item in items:
        if isinstance(item, Step):
            yield _item(item, next(values), space, n_retrieved)
        elif isinstance(item, Guarded):
            guard = space.file.guard
            assert guard is not None
            empty = [_counted(step, space, n_retrieved) for step in guard.steps]
            yield {
                "switch": guard.slot,
                "fallback": {"empty": guard.reason},
                "cases": {
                    "empty": empty,
                    "otherwise": list(_items(item.steps, values, space, n_retrieved)),
                },
            }
        else:
            arms = [list(_items(arm, values, space, n_retrieved)) for arm in item.arms]
            rule = next(values)["merge"]
            names = space.file.forks[item.slot].arms
            yield {"branch": dict(zip(names, arms, strict=True)), "merge": rule}


def _item(step: Step, chosen: Mapping[str, Any], space: Space, n_retrieved: Any) -> dict[str, Any]:
    use = {"use": list(step.use)} if step.use else {}
    settings = dict(chosen)
    own = "chunks" in step.part.operator.writes and settings.get("top_k") == space.file.n_retrieved
    if own and n_retrieved is not None:
        settings["top_k"] = n_retrieved
    return {"op": step.name, **use, **settings}


def _counted(step: Mapping[str, Any], space: Space, n_retrieved: Any) -> dict[str, Any]:
    wanted = space.file.n_retrieved if n_retrieved is None else n_retrieved
    return {**step, "top_k": step.get("top_k", wanted)}


def _shown(items: Items | tuple[Any, ...]) -> str:
    said = []
    for item in items:
        if isinstance(item, Step):
            said.append(item.name)
        elif isinstance(item, Guarded):
            said.append(f"if nodes ({_shown(item.steps)})")
        else:
            said.append(" + ".join(f"({_shown(arm)})" for arm in item.arms))
    return " > ".join(said)


def grids(space: Space, shape: Shape) -> list[list[Mapping[str, Any]]]:
    """The values of every step of a shape, each a mapping of settings, usual ones first.

    The merge rule of a fork comes after its arms.
    """
    found: list[list[Mapping[str, Any]]] = []

    def walk(items: Sequence[Any]) -> None:
        for item in items:
            if isinstance(item, Step):
                names = list(item.part.values)
                every = product(*item.part.values.values())
                found.append([dict(zip(names, values, strict=True)) for values in every])
            elif isinstance(item, Guarded):
                walk(item.steps)
            else:
                for arm in item.arms:
                    walk(arm)
                found.append([{"merge": rule} for rule in space.file.forks[item.slot].merge])

    walk(shape.items)
    return found


def n_points(space: Space, found: Mapping[str, Sequence[Shape]]) -> int:
    """How many candidates a space has."""
    return sum(prod(map(len, grids(space, one))) for rows in found.values() for one in rows)


def drawn(
    space: Space, found: Mapping[str, Sequence[Shape]], cells: int, seed: int
) -> list[Candidate]:
    """At most `cells` candidates, each once: all of a space that has no more, in its order.

    Of a larger one a graph is drawn, then a number of steps, then a shape, then values, each alike
    often; the same seed draws the same.
    """
    if n_points(space, found) <= cells:
        return [
            Candidate(space, shape, tuple(choices))
            for rows in found.values()
            for shape in rows
            for choices in product(*grids(space, shape))
        ]
    rng = np.random.default_rng(seed)
    sizes: list[list[list[Shape]]] = []
    for rows in found.values():
        of_size: dict[int, list[Shape]] = {}
        for shape in rows:
            of_size.setdefault(len(shape.steps), []).append(shape)
        if of_size:
            sizes.append([of_size[size] for size in sorted(of_size)])
    held: dict[str, Candidate] = {}
    for _ in range(cells * _TRIES):
        if len(held) == cells:
            break
        graph = sizes[rng.integers(len(sizes))]
        shapes = graph[rng.integers(len(graph))]
        shape = shapes[rng.integers(len(shapes))]
        choices = tuple(grid[rng.integers(len(grid))] for grid in grids(space, shape))
        one = Candidate(space, shape, choices)
        held.setdefault(one.name, one)
    return list(held.values())
