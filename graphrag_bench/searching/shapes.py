"""Every chain of operators that its types allow: what it reads is there, what it writes is read.

A shape is a chain without the values of its settings. It ends when chunks are there. Its steps are
operators, at most one fork of two ways to the same nodes or chunks, and at most one guard, after
the first nodes. No operator comes twice in a row of steps, and none writes what nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

from graphrag_bench.contract import Builder, Operator, builders
from graphrag_bench.searching.space import Part, Space

START, GOAL, NODES = "question", "chunks", "nodes"
MOST_SHAPES = 200_000
"""Shapes of one graph that are enumerated; a search says when there are more."""
_OVER_GRAPH = ("graph", "node_index", "relationship_index")
_MOST_CONVERSIONS = 2
_LONGEST_ARM = 2
"""Operators of a way of a fork to nodes."""


@dataclass(frozen=True)
class Step:
    """An operator that reads the optional slots `use`."""

    part: Part
    use: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the operator."""
        return self.part.operator.name

    @property
    def reads(self) -> frozenset[str]:
        """The slots that it reads."""
        reads = self.part.operator.reads
        return frozenset(one.slot for one in reads if not one.optional) | frozenset(self.use)


@dataclass(frozen=True)
class Fork:
    """Two ways to the same slot."""

    slot: str
    arms: tuple[tuple[Step | Guarded, ...], tuple[Step | Guarded, ...]]


@dataclass(frozen=True)
class Guarded:
    """The steps after the guard."""

    steps: tuple[Step, ...]


Items = tuple["Step | Fork | Guarded", ...]


@dataclass(frozen=True)
class Shape:
    """A graph of the space, and the steps over it before the prompt."""

    graph: str
    items: Items

    @property
    def steps(self) -> list[Step]:
        """All operator steps, in order."""
        return list(_steps(self.items))


def _steps(items: Items | tuple[Step, ...]) -> Iterator[Step]:
    for item in items:
        if isinstance(item, Step):
            yield item
        elif isinstance(item, Guarded):
            yield from item.steps
        else:
            for arm in item.arms:
                yield from _steps(arm)


class _State(NamedTuple):
    """The slots written so far, as bits; `waiting` are those that nobody has read.

    `writer` holds the number of the step that wrote each slot last, `idle` the numbers, as bits, of
    the steps none of whose slots has been read; `n` and `n_counted` count steps, and those of them
    that do not convert the question.
    """

    written: int
    waiting: int
    writer: tuple[int, ...]
    idle: int
    n: int
    n_counted: int

    def after(self, step: _Known) -> _State | None:
        """The state after a step; None where it cannot come here."""
        if step.reads & ~self.written or self.waiting & ~step.reads & step.writes:
            return None
        idle, read, slot = self.idle, self.waiting & step.reads, 0
        while read:
            if read & 1:
                idle &= ~(1 << self.writer[slot])
            read, slot = read >> 1, slot + 1
        writer = tuple(
            self.n if step.writes >> slot & 1 else one for slot, one in enumerate(self.writer)
        )
        return _State(
            self.written | step.writes,
            self.waiting & ~step.reads | step.writes,
            writer,
            idle | 1 << self.n,
            self.n + 1,
            self.n_counted + (not step.converts),
        )

    def is_done(self, goal: int) -> bool:
        """Whether chunks are there, and all but the last step was of use."""
        return bool(self.written & goal) and not self.idle & ~(1 << (self.n - 1))


class _Known(NamedTuple):
    """A step with its slots as bits."""

    step: Step
    reads: int
    writes: int
    converts: bool


def shapes(space: Space, max_steps: int) -> dict[str, list[Shape]]:
    """The shapes by graph, in the order of the space; at most `MOST_SHAPES` of each graph.

    `max_steps` counts the operators that do not convert the question; of these there are two at
    most. Graphs that allow the same steps have the same shapes.
    """
    found: dict[str, list[Shape]] = {}
    known: dict[tuple[object, ...], list[Items]] = {}
    for graph, choice in space.graphs.items():
        grammar = _Grammar(space, choice, max_steps)
        steps = [(one.step.name, one.step.use) for one in grammar.steps]
        allowed = (grammar.has_graph, *steps)
        if allowed not in known:
            known[allowed] = list(islice(_chains(grammar), MOST_SHAPES))
        found[graph] = [Shape(graph, items) for items in known[allowed]]
    return found


class _Grammar:
    """The steps that one graph allows, with their slots as bits."""

    def __init__(self, space: Space, choice: Mapping[str, object], max_steps: int) -> None:
        self.space, self.max_steps = space, max_steps
        self.has_graph = "graph" in choice
        builder = _builder(choice)
        steps = [
            Step(part, use)
            for part in space.parts
            if self._fits(part.operator, builder)
            for use in part.uses
        ]
        slots = {START: 0, GOAL: 1, NODES: 2}
        for step in steps:
            for slot in sorted(step.reads | set(step.part.operator.writes)):
                slots.setdefault(slot, len(slots))
        self.goal, self.nodes, self.n_slots = 1 << slots[GOAL], 1 << slots[NODES], len(slots)
        self.steps = [
            _Known(
                step,
                sum(1 << slots[slot] for slot in step.reads),
                sum(1 << slots[slot] for slot in set(step.part.operator.writes)),
                _converts(step),
            )
            for step in steps
        ]

    def _fits(self, operator: Operator, builder: Builder | None) -> bool:
        """Whether the graph has what an operator needs: the graph, its indices, its parts."""
        needs = set(operator.needs)
        if not needs & (_of_graphs() | set(_OVER_GRAPH)):
            return True
        if builder is None or not operator.requires <= builder.provides:
            return False
        return needs & _of_graphs() <= set(builder.needs)

    @property
    def start(self) -> _State:
        """The state that holds the question alone."""
        return _State(1, 0, (0,) * self.n_slots, 0, 0, 0)

    def needs_graph(self, items: Items) -> bool:
        """Whether a chain reads the graph, as one over a graph has to."""
        needs = {need for step in _steps(items) for need in step.part.operator.needs}
        return not self.has_graph or bool(needs & {*_OVER_GRAPH, *_of_graphs()})


def _builder(choice: Mapping[str, object]) -> Builder | None:
    chosen = choice.get("graph")
    variant = chosen.get("variant") if isinstance(chosen, Mapping) else chosen
    found = [one for one in builders.all() if one.resource == "graph" and one.variant == variant]
    return found[0] if found else None


@cache
def _of_graphs() -> frozenset[str]:
    """The resources that graphs of one type alone are built from."""
    made = [one for one in builders.all() if one.resource == "graph"]
    needs = {need for one in made for need in one.needs}
    built = {one.resource for one in builders.all()}
    return frozenset((needs & built) - {"chunk_table", "chunk_index"})


def _chains(grammar: _Grammar) -> Iterator[Items]:
    """Every chain from the question to chunks, and every such chain beside a second way."""
    single = list(islice(_from(grammar, (), grammar.start, guarded=False), MOST_SHAPES))
    for items in single:
        if grammar.needs_graph(items):
            yield items
    if GOAL not in grammar.space.file.forks:
        return
    sides = [(k.step,) for k in grammar.steps if k.writes & grammar.goal and k.reads == 1]
    for items in single:
        before, rest = _parted(items)
        counted = sum(not _converts(step) for step in _steps(items)) + 1
        for side in sides:
            if rest and counted <= grammar.max_steps and _unlike(rest, side, sides):
                fork = Fork(GOAL, (rest, side))
                if grammar.needs_graph((*before, fork)):
                    yield (*before, fork)


def _parted(items: Items) -> tuple[Items, tuple[Step | Guarded, ...]]:
    """The steps before a fork of chunks, which convert the question, and those in its first arm.

    A chain that has a fork already has none in its arm: the arm is empty then.
    """
    n = next((row for row, one in enumerate(items) if not _converts(one)), len(items))
    arm = tuple(one for one in items[n:] if not isinstance(one, Fork))
    return (items[:n], arm) if len(arm) == len(items) - n else (items, ())


def _unlike(
    rest: tuple[Step | Guarded, ...], side: tuple[Step, ...], sides: Sequence[tuple[Step, ...]]
) -> bool:
    """Whether two ways differ; of two side ways beside each other one order is taken."""
    if side[0].name in {step.name for step in _steps(rest)}:
        return False
    return rest not in sides or sides.index(rest) < sides.index(side)


def _converts(item: Step | Fork | Guarded) -> bool:
    return isinstance(item, Step) and item.name.startswith("question.")


def _from(grammar: _Grammar, items: Items, state: _State, guarded: bool) -> Iterator[Items]:
    """Every way on from here that ends with chunks."""
    if items and state.is_done(grammar.goal):
        yield items
        return
    used = {step.name for step in _steps(items)}
    for one in grammar.steps:
        after = state.after(one) if one.step.name not in used else None
        if after is None or after.n_counted > grammar.max_steps or not _in_order(items, one):
            continue
        if after.n - after.n_counted > _MOST_CONVERSIONS:
            continue
        if after.written & grammar.goal and not after.is_done(grammar.goal):
            continue
        yield from _from(grammar, (*items, one.step), after, guarded)
        first = not state.written & grammar.nodes and after.written & grammar.nodes
        if first and grammar.space.file.guard is not None and not guarded:
            yield from _guarded(grammar, (*items, one.step), after)
    if NODES in grammar.space.file.forks and not state.written & grammar.nodes:
        yield from _after_fork(grammar, items, state, guarded)


def _guarded(grammar: _Grammar, items: Items, state: _State) -> Iterator[Items]:
    """The same ways on, taken only where there are nodes."""
    for found in _from(grammar, items, state, guarded=True):
        rest = found[len(items) :]
        plain = tuple(one for one in rest if isinstance(one, Step))
        if plain and len(plain) == len(rest):
            yield (*items, Guarded(plain))


def _after_fork(grammar: _Grammar, items: Items, state: _State, guarded: bool) -> Iterator[Items]:
    """Two ways to nodes side by side, and every way on from there."""
    arms = sorted(_arms(grammar, items, state), key=lambda arm: -len(arm[0]))
    for row, (one, one_end) in enumerate(arms):
        for two, two_end in arms[row + 1 :]:
            counted = state.n_counted + len(one) + len(two)
            if counted >= grammar.max_steps or {s.name for s in one} & {s.name for s in two}:
                continue
            n = state.n + len(one) + len(two)
            before = (1 << state.n) - 1
            writer = list(state.writer)
            writer[grammar.nodes.bit_length() - 1] = n - 1
            merged = _State(
                state.written | grammar.nodes,
                state.waiting & one_end.waiting & two_end.waiting | grammar.nodes,
                tuple(writer),
                one_end.idle & two_end.idle & before | 1 << (n - 1),
                n,
                counted,
            )
            yield from _from(grammar, (*items, Fork(NODES, (one, two))), merged, guarded)


def _arms(
    grammar: _Grammar, items: Items, state: _State
) -> Iterator[tuple[tuple[Step, ...], _State]]:
    """The ways of one or two operators to nodes, each with the state at its end."""
    used = {step.name for step in _steps(items)}
    ways: list[tuple[tuple[Step, ...], _State]] = [((), state)]
    for _ in range(_LONGEST_ARM):
        longer = [
            ((*steps, one.step), after)
            for steps, at in ways
            for one in grammar.steps
            if not one.converts
            and one.step.name not in used
            and one.step not in steps
            and not one.writes & grammar.goal
            and (after := at.after(one)) is not None
        ]
        for steps, after in longer:
            own = ~((1 << state.n) - 1)
            if after.written & grammar.nodes and not after.idle & own & ~(1 << (after.n - 1)):
                yield steps, after
        ways = [(steps, after) for steps, after in longer if not after.written & grammar.nodes]


def _in_order(items: Items, one: _Known) -> bool:
    """Steps that convert the question come first; two that do not meet come by name."""
    if not items or not one.converts:
        return True
    last = items[-1]
    if not _converts(last) or not isinstance(last, Step):
        return False
    meets = bool(one.step.reads & set(last.part.operator.writes))
    return meets or last.name < one.step.name
