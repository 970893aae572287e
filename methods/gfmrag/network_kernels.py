"""The loop of a graph network, compiled by numba."""

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.values import IntArray

Float32 = NDArray[np.float32]


@kernel
def sums_of_products(
    starts: IntArray, left_row: IntArray, right_row: IntArray, left: Float32, right: Float32
) -> Float32:
    """For each group of edges the sum of `left` times `right` at their rows, (n_groups, d).

    The edges of group g are starts[g] up to starts[g + 1], in whose order they are added.
    """
    n_groups, width = len(starts) - 1, left.shape[1]
    sums = np.zeros((n_groups, width), np.float32)
    for group in range(n_groups):
        for edge in range(starts[group], starts[group + 1]):
            one, other = left_row[edge], right_row[edge]
            for column in range(width):
                sums[group, column] += left[one, column] * right[other, column]
    return sums
