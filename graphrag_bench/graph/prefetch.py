"""Memory asked for ahead of its use, in compiled loops; imported only by modules of kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

AHEAD = 64
"""How many turns of a loop ahead of its use an element is asked for."""


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Ask for `array[place]`, (n,), which is then in the cache when the loop comes to it.

    A loop over places all over a large array otherwise waits for them nearly one after the other.
    Nothing is read, so that `place` may lie outside the array.
    """

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(held.data, [arguments[1]]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        read, kept_in_all_caches, memory_of_data = (ir.Constant(number, n) for n in (0, 3, 1))
        builder.call(function, [address, read, kept_in_all_caches, memory_of_data])
        return context.get_dummy_value()

    return types.void(array, place), generated
