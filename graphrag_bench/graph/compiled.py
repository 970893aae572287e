"""Numba's compiler as this code base uses it; imported only by modules of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """The function, compiled when first called and kept on disk for the next process.

    The compiled code lies next to the source, else, where that cannot be written, in
    NUMBA_CACHE_DIR or in the user's cache folder; where none of them can be written, it is not
    kept. Floats are never reordered (no fast math), so that a kernel gives what plain Python gives.
    """
    compiled: F
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        compiled = numba.njit(nogil=True)(function)
    return compiled
