"""Loops of personalised PageRank and of forward push, which are compiled by numba."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.arrays import FloatArray, IntArray

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function with numba, and cache it on disk if possible. Sums are not reordered.

    The cache refers to classes of arguments by name and module, so do not rename or move them.
    """
    compiled: F
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        compiled = numba.njit(nogil=True)(function)
    return compiled


AHEAD = 8
"""Number of nodes or edges by which prefetching is ahead of the computation."""


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Prefetch `array[place]`, so that the loop is faster. `place` may be out of bounds."""

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        read, in_all_caches, of_data = (ir.Constant(number, n) for n in (0, 3, 1))
        builder.call(function, [address, read, in_all_caches, of_data])
        return context.get_dummy_value()

    return types.void(array, place), generated


@kernel
def walk_step(
    starts: Int32Array, nodes: Int32Array, chances: FloatArray, isolated: IntArray,
    mass: FloatArray, restart: FloatArray, damping: float, step: FloatArray,
) -> FloatArray:  # fmt: skip
    """Compute one step of a random walk with restarts, and return the change of each column (L1).

    `mass` (n, k) are the probabilities of nodes before the step, and the array `step` is filled
    with the probabilities after the step. Node v is reached from `nodes[starts[v]:starts[v + 1]]`
    with the probabilities in the same slice of `chances`. The mass of `isolated` nodes is
    distributed like `restart`.
    """
    k, flat, n_ways = mass.shape[1], mass.reshape(-1), len(nodes)
    lost, change, own = np.zeros(k), np.zeros(k), np.zeros(k)
    for node in isolated:
        lost += mass[node]
    for row in range(len(mass)):
        own[:] = 0.0
        for place in range(starts[row], starts[row + 1]):
            if place + 2 * AHEAD < n_ways:
                later = np.int64(nodes[place + 2 * AHEAD]) * k
                prefetch(flat, later)
                prefetch(flat, later + 8)  # a cache line has eight floats
            chance, near = chances[place], mass[nodes[place]]
            for column in range(k):
                own[column] += chance * near[column]
        before, again, after = mass[row], restart[row], step[row]
        for column in range(k):
            moved = (own[column] + lost[column] * again[column]) * damping
            moved += (1.0 - damping) * again[column]
            change[column] += abs(moved - before[column])
            after[column] = moved
    return change


@kernel
def node_masses(
    touched: Int32Array, strength: FloatArray, state: FloatArray, damping: float, share: float
) -> tuple[IntArray, FloatArray, float]:
    """Return the nodes that forward push reached, their masses, and a flow rate.

    The flow rate is `damping * share` times the sum of all residuals. The flow rate times the
    strength of a node is added to its mass as an estimate of further steps. Residuals in `state`
    are multiplied by the strengths in place.
    """
    n, flat = len(touched), state.reshape(-1)
    nodes, masses, own = np.empty(n, np.int64), np.empty(n), np.empty(n)
    total = 0.0
    for place in range(n):
        if place + AHEAD < n:
            later = touched[place + AHEAD]
            prefetch(flat, 2 * later)
            prefetch(strength, later)
        node = touched[place]
        weight = strength[node]
        residual = state[node, 0] * weight
        nodes[place], own[place], state[node, 0] = node, weight, residual
        masses[place] = state[node, 1] * weight + (1.0 - damping) * residual
        total += residual
    onward = damping * total * share
    for place in range(n):
        masses[place] += onward * own[place]
    return nodes, masses, onward


@kernel
def inflow(
    rows: IntArray, starts: Int32Array, nodes: Int32Array, chances: FloatArray, state: FloatArray,
) -> FloatArray:  # fmt: skip
    """Return the residual that flows to each node in `rows` in one step of the walk, float64."""
    flat, sums = state.reshape(-1), np.zeros(len(rows))
    for number in range(len(rows)):
        end = starts[rows[number] + 1]
        for place in range(starts[rows[number]], end):
            if place + AHEAD < end:
                prefetch(flat, 2 * nodes[place + AHEAD])
            sums[number] += chances[place] * state[nodes[place], 0]
    return sums


@kernel
def push(
    starts: Int32Array, nodes: Int32Array, chances: FloatArray, seeds: IntArray,
    damping: float, border: float, state: FloatArray,
) -> Int32Array:  # fmt: skip
    """Return the nodes that forward push reaches until no residual is above `border`.

    `starts`, `nodes` and `chances` are as in `walk_step`. `state` (n, 2) has the residual and the
    mass of each node, both divided by the strength of the node. Therefore, the residual that a node
    passes on to a neighbour is multiplied by the probability of the step from the neighbour back to
    the node. At first only `seeds` have residuals.
    """
    size, flat = len(state) + 1, state.reshape(-1)
    waiting = np.empty(size, np.int32)  # ring buffer of nodes with residuals above the border
    touched = np.empty(size, np.int32)
    first = n_waiting = n_touched = 0
    for node in seeds:
        touched[n_touched] = node
        n_touched += 1
        if state[node, 0] > border:
            waiting[n_waiting] = node
            n_waiting += 1
    while n_waiting:
        if n_waiting > 3 * AHEAD and first + 3 * AHEAD < size:
            later = waiting[first + 3 * AHEAD]
            prefetch(starts, later)
            prefetch(flat, 2 * later)
            place = starts[waiting[first + 2 * AHEAD]]
            prefetch(nodes, place)
            prefetch(chances, place)
            begin, end = starts[waiting[first + AHEAD]], starts[waiting[first + AHEAD] + 1]
            for place in range(begin, min(end, begin + AHEAD)):
                prefetch(flat, 2 * nodes[place])
        node = waiting[first]
        first = first + 1 if first + 1 < size else 0
        n_waiting -= 1
        passed = state[node, 0]
        state[node, 0] = 0.0
        state[node, 1] += (1.0 - damping) * passed
        passed *= damping
        begin, end = starts[node], starts[node + 1]
        for place in range(begin, end):
            if place + AHEAD < end:
                prefetch(flat, 2 * nodes[place + AHEAD])
            near = nodes[place]
            before = state[near, 0]
            after = before + passed * chances[place]
            state[near, 0] = after
            if before == 0.0 and after > 0.0 and state[near, 1] == 0.0:
                touched[n_touched] = near
                n_touched += 1
            if before <= border < after:
                last = first + n_waiting
                waiting[last if last < size else last - size] = near
                n_waiting += 1
    return touched[:n_touched]
