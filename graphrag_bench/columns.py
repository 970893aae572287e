"""Columns on disk: arrays, text columns and sparse matrices that load by memory map.

Everything is plain `.npy`, written without pickles and read with `allow_pickle=False`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.text import show_briefly


def save_array(folder: Path, name: str, array: ArrayLike) -> None:
    """Write one column as `name.npy`."""
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """The column as a read-only memory map."""
    path = folder / f"{name}.npy"
    loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return loaded


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: one UTF-8 blob and the offsets of its rows, int64 (n + 1,)."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """The column of these texts; lone surrogates are replaced."""
        encoded = [text.encode("utf-8", errors="replace") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(row) for row in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> Texts:
        """The column that `save` wrote."""
        return cls(load_array(folder, f"{name}.blob"), load_array(folder, f"{name}.offsets"))

    def save(self, folder: Path, name: str) -> None:
        """Write the column as two arrays."""
        save_array(folder, f"{name}.blob", self.blob)
        save_array(folder, f"{name}.offsets", self.offsets)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        """The text of a row; raises IndexError outside 0..n-1."""
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return bytes(self.blob[self.offsets[row] : self.offsets[row + 1]]).decode()

    def __iter__(self) -> Iterator[str]:
        """All texts in order."""
        return (self[row] for row in range(len(self)))

    def take(self, rows: ArrayLike) -> list[str]:
        """The texts of some rows, in the order given."""
        return [self[int(row)] for row in np.asarray(rows)]


def save_sparse(folder: Path, name: str, matrix: Any) -> None:
    """Write a SciPy CSR matrix as three arrays and its shape."""
    for part in ("data", "indices", "indptr"):
        save_array(folder, f"{name}.{part}", getattr(matrix, part))
    save_array(folder, f"{name}.shape", np.asarray(matrix.shape, np.int64))


def load_sparse(folder: Path, name: str) -> Any:
    """The SciPy CSR matrix that `save_sparse` wrote, over memory maps."""
    from scipy.sparse import csr_matrix

    parts = tuple(load_array(folder, f"{name}.{part}") for part in ("data", "indices", "indptr"))
    shape = load_array(folder, f"{name}.shape")
    return csr_matrix(parts, shape=(int(shape[0]), int(shape[1])), copy=False)


show_briefly(Texts)
