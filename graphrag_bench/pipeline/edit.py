"""One walk over a method's steps, as its file has them, to look at or change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphrag_bench.contract import Operator, operators
from graphrag_bench.pipeline.build import STAGES
from graphrag_bench.pipeline.combinator import Item, inner_lists

__all__ = ["Item", "every_list", "inner_lists", "known_operator", "operator_steps", "stages"]


def stages(method: Mapping[str, object]) -> list[list[Item]]:
    """The lists of steps of a method, stage by stage; an empty one for a stage that it lacks."""
    held = (method.get(stage) for stage in STAGES)
    return [items if isinstance(items, list) else [] for items in held]


def every_list(lists: Sequence[list[Item]]) -> Iterator[list[Item]]:
    """Every list of steps, a list before those inside its steps."""
    for items in lists:
        yield items
        for step in items:
            yield from every_list(list(inner_lists(step)))


def operator_steps(items: Sequence[Item]) -> Iterator[tuple[Operator, Item]]:
    """Every operator of some steps with its step, in order; unknown names are skipped."""
    for item in items:
        if (operator := known_operator(item)) is not None:
            yield operator, item
        for inner in inner_lists(item):
            yield from operator_steps(inner)


def known_operator(item: Mapping[str, object]) -> Operator | None:
    """The operator of a step; None for a combinator, and for an unknown name."""
    name = item.get("op")
    return operators.get(str(name)) if name in operators else None
