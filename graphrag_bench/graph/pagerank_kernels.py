"""Compiled loops of personalised PageRank: one step of one or of eight walks, and forward push.

Compiling takes a few seconds, once a machine (`compile_s` of `scripts/bench.py ppr`); the next
process reads the compiled code from disk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.neighbours import Int32Array
from graphrag_bench.graph.prefetch import AHEAD, prefetch
from graphrag_bench.values import FloatArray, IntArray

NEXT = 8
"""How many nodes of a push, or ways from a node, ahead of its use memory is asked for."""


class Steps(NamedTuple):
    """P^T as CSR: the walk comes to v from `nodes[starts[v]:starts[v + 1]]`, with `chances`.

    `isolated` int64 lists the nodes that no walk leaves.
    """

    starts: Int32Array
    nodes: Int32Array
    chances: FloatArray
    isolated: IntArray


@kernel
def step_one(
    steps: Steps, restart: FloatArray, damping: float, held: FloatArray, moved: FloatArray
) -> FloatArray:
    """`moved` (n, 1) from `held` (n, 1) by one step; how far the mass moved (L1), float64 (1,)."""
    change, lost, rest = np.zeros(1), 0.0, 1.0 - damping
    for node in steps.isolated:
        lost += held[node, 0]
    for node in range(len(held)):
        come = 0.0
        for place in range(steps.starts[node], steps.starts[node + 1]):
            come += steps.chances[place] * held[steps.nodes[place], 0]
        start = restart[node, 0]
        moved[node, 0] = damping * (come + lost * start) + rest * start
        change[0] += abs(moved[node, 0] - held[node, 0])
    return change


@kernel
def step_eight(
    steps: Steps, restart: FloatArray, damping: float, held: FloatArray, moved: FloatArray
) -> FloatArray:
    """`step_one` for eight walks, (n, 8), each with the bits that it has alone; (8,).

    The eight masses of a node lie side by side, so that a step along a relationship reads one line
    of the processor's cache for eight questions. The eight sums are variables of their own, which
    stay in registers; an array of them takes half as long again.
    """
    change, lost, rest = np.zeros(8), np.zeros(8), 1.0 - damping
    for node in steps.isolated:
        for walk in range(8):
            lost[walk] += held[node, walk]
    for node in range(len(held)):
        a = b = c = d = e = f = g = h = 0.0
        for place in range(steps.starts[node], steps.starts[node + 1]):
            chance, near = steps.chances[place], np.uint32(steps.nodes[place])
            a += chance * held[near, 0]
            b += chance * held[near, 1]
            c += chance * held[near, 2]
            d += chance * held[near, 3]
            e += chance * held[near, 4]
            f += chance * held[near, 5]
            g += chance * held[near, 6]
            h += chance * held[near, 7]
        start, before, after = restart[node], held[node], moved[node]
        after[0] = damping * (a + lost[0] * start[0]) + rest * start[0]
        after[1] = damping * (b + lost[1] * start[1]) + rest * start[1]
        after[2] = damping * (c + lost[2] * start[2]) + rest * start[2]
        after[3] = damping * (d + lost[3] * start[3]) + rest * start[3]
        after[4] = damping * (e + lost[4] * start[4]) + rest * start[4]
        after[5] = damping * (f + lost[5] * start[5]) + rest * start[5]
        after[6] = damping * (g + lost[6] * start[6]) + rest * start[6]
        after[7] = damping * (h + lost[7] * start[7]) + rest * start[7]
        for walk in range(8):
            change[walk] += abs(after[walk] - before[walk])
    return change


class Scratch(NamedTuple):
    """Arrays over all nodes for one push after another.

    `state` float64 (n, 2), residual and mass of each node divided by its strength, is 0 before and
    after each; `flat` is its memory as one row; `waiting`, int32 (n + 1,), is a ring of nodes whose
    residual is above the border; `touched`, int32 (n,), lists those whose residual or mass is not
    0.
    """

    state: FloatArray
    flat: FloatArray
    waiting: Int32Array
    touched: Int32Array


@kernel
def _fetch_waiting(steps: Steps, at: Scratch, first: int, n_waiting: int) -> None:
    if n_waiting <= 3 * NEXT or first + 3 * NEXT >= len(at.waiting):
        return
    node = at.waiting[first + 3 * NEXT]
    prefetch(steps.starts, node)
    prefetch(at.flat, 2 * node)
    begin = steps.starts[at.waiting[first + 2 * NEXT]]
    prefetch(steps.nodes, begin)
    prefetch(steps.chances, begin)
    node = at.waiting[first + NEXT]
    begin, end = steps.starts[node], steps.starts[node + 1]
    for place in range(begin, min(end, begin + NEXT)):
        prefetch(at.flat, 2 * steps.nodes[place])


@kernel
def push(
    steps: Steps, seeds: IntArray, starts: FloatArray, damping: float, border: float, at: Scratch
) -> tuple[int, int]:
    """How many nodes are touched and how many steps were made until no residual passes `border`.

    `seeds`, each once, have the residuals `starts` (divided by strength). What a node passes on to
    a neighbour, both divided by their strengths, is its residual times the chance of the way back.
    """
    state, waiting = at.state, at.waiting
    first = n_waiting = n_touched = n_steps = 0
    for place in range(len(seeds)):
        state[seeds[place], 0] = starts[place]
        at.touched[n_touched] = seeds[place]
        n_touched += 1
        if starts[place] > border:
            waiting[n_waiting] = seeds[place]
            n_waiting += 1
    while n_waiting:
        _fetch_waiting(steps, at, first, n_waiting)
        node = waiting[first]
        first = first + 1 if first + 1 < len(waiting) else 0
        n_waiting -= 1
        passed = state[node, 0]
        state[node, 0] = 0.0
        state[node, 1] += (1.0 - damping) * passed
        passed *= damping
        begin, end = steps.starts[node], steps.starts[node + 1]
        n_steps += end - begin
        for place in range(begin, end):
            if place + NEXT < end:
                prefetch(at.flat, 2 * steps.nodes[place + NEXT])
            near = steps.nodes[place]
            before = state[near, 0]
            after = before + passed * steps.chances[place]
            state[near, 0] = after
            if before == 0.0 and after > 0.0 and state[near, 1] == 0.0:
                at.touched[n_touched] = near
                n_touched += 1
            if before <= border < after:
                last = first + n_waiting
                waiting[last if last < len(waiting) else last - len(waiting)] = near
                n_waiting += 1
    return n_touched, n_steps


@kernel
def mass_of(
    strength: FloatArray, damping: float, whole: float, n_touched: int, at: Scratch
) -> tuple[FloatArray, float]:
    """The mass of what was touched, (n_touched,), and what was added for steps beyond the node.

    The mass has its own residual times 1 - damping, and strength times what is added, `damping`
    times the residual of all divided by `whole`, the strength of all. Residuals in `at` are then
    whole, no longer divided by strength.
    """
    values, strengths, left = np.empty(n_touched), np.empty(n_touched), 0.0
    for place in range(n_touched):
        if place + AHEAD < n_touched:
            prefetch(strength, at.touched[place + AHEAD])
            prefetch(at.flat, 2 * at.touched[place + AHEAD])
        node = at.touched[place]
        own = strength[node]
        residual = at.state[node, 0] * own
        values[place] = at.state[node, 1] * own + (1.0 - damping) * residual
        at.state[node, 0] = residual
        strengths[place] = own
        left += residual
    added = damping * left / whole
    return values + added * strengths, added


@kernel
def clear(n_touched: int, at: Scratch) -> None:
    """Set what a push touched to 0."""
    for place in range(n_touched):
        at.state[at.touched[place], 0] = 0.0
        at.state[at.touched[place], 1] = 0.0


@kernel
def around(steps: Steps, nodes: Int32Array, at: Scratch) -> FloatArray:
    """The whole residual one step from each of the nodes, each times the chance of the way back.

    That is the mean of residual / strength around the node, times the strength of the node.
    """
    found = np.zeros(len(nodes))
    for place in range(len(nodes)):
        node = nodes[place]
        begin, end = steps.starts[node], steps.starts[node + 1]
        for way in range(begin, end):
            if way + AHEAD < end:
                prefetch(at.flat, 2 * steps.nodes[way + AHEAD])
            found[place] += steps.chances[way] * at.state[steps.nodes[way], 0]
    return found
