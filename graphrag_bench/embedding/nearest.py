"""Search for the nearest vectors on a GPU. It proposes candidates, which are scored elsewhere."""

from typing import Any

from graphrag_bench.embedding.long_texts import Vectors
from graphrag_bench.embedding.precision import has_cuda
from graphrag_bench.values import IntArray

LEAST_PRODUCTS = 2**28
"""Fewest multiplications for which a GPU is used; for fewer, its start takes longer."""
_AT_ONCE = 2**26
"""Largest number of products in memory at a time: 256 MB."""


class DeviceRows:
    """Matrix of vectors, float32 (n, dimension), in the memory of a torch device."""

    def __init__(self, rows: Vectors, device: str = "cuda") -> None:
        import torch

        self._rows: Any = torch.tensor(rows, dtype=torch.float32, device=device)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, IntArray]:
        """Return the `k` largest inner products of each query, descending, and their row numbers.

        Both arrays are (n_queries, k). Ties at rank `k` are broken arbitrarily.
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
        """Return query and row of each inner product >= `least`; None for more than `most`."""
        import torch

        wanted = torch.tensor(queries, dtype=torch.float32, device=self._rows.device)
        near = wanted @ self._rows.T >= least
        if int(near.sum()) > most:
            return None
        return tuple(part.cpu().numpy() for part in near.nonzero(as_tuple=True))


def rows_on_gpu(rows: Vectors) -> DeviceRows | None:
    """Copy vectors to the GPU; None without a GPU or enough memory, or if products use TF32."""
    if not has_cuda():
        return None
    import torch

    free, _ = torch.cuda.mem_get_info()
    exact = torch.get_float32_matmul_precision() == "highest"
    return DeviceRows(rows) if exact and free > rows.nbytes + 16 * _AT_ONCE else None
