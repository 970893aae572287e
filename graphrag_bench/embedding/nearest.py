"""Rows on a GPU, which names the nearest rows. It computes no score that anybody reads."""

from typing import Any

from graphrag_bench.embedding.long_texts import Vectors
from graphrag_bench.embedding.precision import has_cuda
from graphrag_bench.values import IntArray

LEAST_PRODUCTS = 2**28
"""Multiplications from which a GPU is used; it is not worth its start for fewer."""
_AT_ONCE = 2**26
"""Products at a time, 256 MB."""


class DeviceRows:
    """Vectors, float32 (n, dimension), copied to a device of torch."""

    def __init__(self, rows: Vectors, device: str = "cuda") -> None:
        import torch

        self._rows: Any = torch.tensor(rows, dtype=torch.float32, device=device)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, IntArray]:
        """Return the `k` largest inner products of each query, largest first, and their rows.

        Both are (n_queries, k). Any of the rows with equal products may be left out.
        """
        import torch

        wanted = torch.tensor(queries, dtype=torch.float32, device=self._rows.device)
        size = max(k, _AT_ONCE // max(len(wanted), 1))
        best = torch.empty((len(wanted), 0), device=wanted.device)
        ids = torch.empty((len(wanted), 0), dtype=torch.int64, device=wanted.device)
        for start in range(0, len(self._rows), size):
            part = wanted @ self._rows[start : start + size].T
            here, place = part.topk(min(k, part.shape[1]))
            every, named = torch.cat([best, here], 1), torch.cat([ids, place + start], 1)
            best, place = every.topk(min(k, every.shape[1]))
            ids = named.gather(1, place)
        return best.cpu().numpy(), ids.cpu().numpy()

    def at_least(self, queries: Vectors, least: float, most: int) -> tuple[IntArray, ...] | None:
        """Return query and row of each inner product of `least` or more; None for over `most`."""
        import torch

        wanted = torch.tensor(queries, dtype=torch.float32, device=self._rows.device)
        near = wanted @ self._rows.T >= least
        if int(near.sum()) > most:
            return None
        return tuple(part.cpu().numpy() for part in near.nonzero(as_tuple=True))


def rows_on_gpu(rows: Vectors) -> DeviceRows | None:
    """Copy rows to the GPU; None without one, without room, or if it rounds products (TF32)."""
    if not has_cuda():
        return None
    import torch

    free, _ = torch.cuda.mem_get_info()
    exact = torch.get_float32_matmul_precision() == "highest"
    return DeviceRows(rows) if exact and free > rows.nbytes + 16 * _AT_ONCE else None
