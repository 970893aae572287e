"""The compiled loop of forward push.

Compiling takes a second or two, once a machine (`compile_s` of `scripts/bench.py ppr`); the next
process reads the compiled code from disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.neighbours import Int32Array
from graphrag_bench.values import FloatArray, IntArray

AHEAD = 8
"""How many nodes, or ways from a node, ahead of its use memory is asked for."""


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Ask for `array[place]`, (n,), without reading it; `place` may lie outside the array.

    A push otherwise waits for each node it comes to, in 1.6 times the time (`prefetch_1m` of
    `scripts/bench.py ppr`).
    """

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
def push(
    starts: Int32Array, nodes: Int32Array, chances: FloatArray, seeds: IntArray,
    damping: float, border: float, state: FloatArray, ahead: int,
) -> tuple[Int32Array, int]:  # fmt: skip
    """Return the nodes touched, and how many steps were made until no residual passes `border`.

    The walk comes to node v from `nodes[starts[v]:starts[v + 1]]`, with `chances`. `state` float64
    (n, 2) holds the residual and the mass of each node, both divided by its strength; at first the
    residuals of `seeds`, each once, and else 0. What a node passes on to a neighbour, so divided,
    is its residual times the chance of the way back. Memory is asked for `ahead` of its use; 0: not
    at all.
    """
    size, flat = len(state) + 1, state.reshape(-1)
    waiting = np.empty(size, np.int32)  # a ring of the nodes whose residual is above the border
    touched = np.empty(size, np.int32)
    first = n_waiting = n_touched = n_steps = 0
    for node in seeds:
        touched[n_touched] = node
        n_touched += 1
        if state[node, 0] > border:
            waiting[n_waiting] = node
            n_waiting += 1
    while n_waiting:
        if ahead and n_waiting > 3 * ahead and first + 3 * ahead < size:
            later = waiting[first + 3 * ahead]
            prefetch(starts, later)
            prefetch(flat, 2 * later)
            place = starts[waiting[first + 2 * ahead]]
            prefetch(nodes, place)
            prefetch(chances, place)
            begin, end = starts[waiting[first + ahead]], starts[waiting[first + ahead] + 1]
            for place in range(begin, min(end, begin + ahead)):
                prefetch(flat, 2 * nodes[place])
        node = waiting[first]
        first = first + 1 if first + 1 < size else 0
        n_waiting -= 1
        passed = state[node, 0]
        state[node, 0] = 0.0
        state[node, 1] += (1.0 - damping) * passed
        passed *= damping
        begin, end = starts[node], starts[node + 1]
        n_steps += end - begin
        for place in range(begin, end):
            if ahead and place + ahead < end:
                prefetch(flat, 2 * nodes[place + ahead])
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
    return touched[:n_touched], n_steps
