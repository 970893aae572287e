"""Columns: arrays, texts and sparse matrices, on disk and loaded by memory map.

Everything is plain `.npy`, written without pickles and read with `allow_pickle=False`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.text import show_briefly

_BLOCK = 65536


def save_array(folder: Path, name: str, array: ArrayLike) -> None:
    """Write one column as `name.npy`."""
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """The column as a read-only memory map."""
    path = folder / f"{name}.npy"
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.asarray(mapped)  # as a plain array, which takes its rows in a third of the time


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: one UTF-8 blob and the offsets of its rows, int64 (n + 1,)."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """The column of these texts; lone surrogates are replaced."""
        encoded = [text.encode("utf-8", errors="replace") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(row) for row in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Texts":
        """The column that `save` wrote."""
        return cls(load_array(folder, f"{name}.blob"), load_array(folder, f"{name}.offsets"))

    def save(self, folder: Path, name: str) -> None:
        """Write the column as two arrays."""
        save_array(folder, f"{name}.blob", self.blob)
        save_array(folder, f"{name}.offsets", self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return bytes(self.blob[self.offsets[row] : self.offsets[row + 1]]).decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            ends = self.offsets[start : start + _BLOCK + 1].tolist()
            block = self.blob[ends[0] : ends[-1]].tobytes()
            for begin, end in pairwise(ends):
                yield block[begin - ends[0] : end - ends[0]].decode()

    def take(self, rows: ArrayLike) -> list[str]:
        """The texts of some rows, in the order given."""
        return [self[int(row)] for row in np.asarray(rows)]

    def joined(self, matrix: Any, separator: str) -> "Texts":
        """The texts of the columns of each row of a CSR matrix, in the order stored, joined."""
        texts = list(self)
        rows = pairwise(matrix.indptr.tolist())
        columns = matrix.indices.tolist()
        return Texts.of([separator.join([texts[c] for c in columns[a:b]]) for a, b in rows])


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


NOT_STORED = {"stored": False}
"""Metadata of a field of `Columns` that is no column."""


class Columns:
    """A dataclass of arrays, texts and CSR matrices, stored by the names of its fields.

    A field with `save` and `load`, as other columns have, is a folder. A field that is None is not
    stored, and neither is a field whose metadata are `NOT_STORED`.
    """

    def save(self, folder: Path) -> None:
        """Write every column into a folder."""
        for name in _stored(self):
            column = getattr(self, name)
            if isinstance(column, Texts):
                column.save(folder, name)
            elif hasattr(column, "indptr"):
                save_sparse(folder, name, column)
            elif hasattr(column, "save"):
                (folder / name).mkdir()
                column.save(folder / name)
            elif column is not None:
                save_array(folder, name, column)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return what `save` wrote, by memory map."""
        columns: dict[str, Any] = {}
        for name, default in _stored(cls).items():
            if (folder / name).is_dir():
                kind = get_type_hints(cls)[name]
                kind = next(one for one in get_args(kind) or (kind,) if hasattr(one, "load"))
                columns[name] = kind.load(folder / name)
            elif (folder / f"{name}.offsets.npy").is_file():
                columns[name] = Texts.load(folder, name)
            elif (folder / f"{name}.indptr.npy").is_file():
                columns[name] = load_sparse(folder, name)
            elif (folder / f"{name}.npy").is_file() or default is MISSING:
                columns[name] = load_array(folder, name)
        return cls(**columns)


@dataclass(frozen=True, eq=False)
class TextRows(Columns, Mapping[str, int]):
    """Texts with a number each, looked up where they lie on disk, without a dict of them.

    `texts` are distinct, in the order of the mapping, `numbers` int64 (n,) are their numbers;
    `sums` uint32 (n,) are the check sums (CRC-32) of the keys, ascending, and `order` int64 (n,)
    the places of the keys in that order.
    """

    texts: Texts
    numbers: NDArray[np.int64]
    sums: NDArray[np.uint32]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Mapping[str, int]) -> "TextRows":
        """The columns of a mapping, in its order."""
        return cls.numbered(Texts.of(list(rows)), np.array(list(rows.values()), np.int64))

    @classmethod
    def numbered(cls, keys: Texts, values: NDArray[np.int64]) -> "TextRows":
        """The columns of keys, which are distinct, and their numbers."""
        sums = np.array([crc32(key.encode()) for key in keys], np.uint32)
        order = np.argsort(sums, kind="stable")
        return cls(keys, values, sums[order], order)

    def __getitem__(self, key: str) -> int:
        wanted = str(key).encode("utf-8", errors="replace")
        first = np.uint32(crc32(wanted))
        place = int(self.sums.searchsorted(first))
        while place < len(self.sums) and self.sums[place] == first:
            row = int(self.order[place])
            begin, end = self.texts.offsets[row : row + 2]
            if self.texts.blob[begin:end].tobytes() == wanted:
                return int(self.numbers[row])
            place += 1
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def _stored(of: Any) -> dict[str, Any]:
    return {field.name: field.default for field in fields(of) if field.metadata != NOT_STORED}


def incidence(columns_of: Iterable[Iterable[int]], n_columns: int) -> Any:
    """A bool CSR with a row for each item, and the columns that it names, sorted."""
    rows = [list(columns) for columns in columns_of]
    row = np.repeat(np.arange(len(rows)), [len(columns) for columns in rows])
    flat = np.array([column for columns in rows for column in columns], np.int64)
    return cells(row, flat, (len(rows), n_columns))


def cells(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Any:
    """A bool CSR of that shape with the cells (row, column), given once or more; columns sorted."""
    from scipy.sparse import csr_matrix

    codes = np.sort(rows * max(shape[1], 1) + columns)
    codes = codes[np.diff(codes, prepend=-1) > 0]  # np.unique hashes, in ten times the time
    at = codes // max(shape[1], 1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=shape[0]))])
    ids = codes % max(shape[1], 1)
    return csr_matrix((np.ones(len(codes), bool), ids, starts), shape=shape)


def counts_by_cell(counts: Mapping[tuple[int, int], int], shape: tuple[int, int]) -> Any:
    """Return the int64 CSR of that shape with these counts by (row, column)."""
    from scipy.sparse import csr_matrix

    rows, columns = np.array(list(counts), np.int64).reshape(-1, 2).T
    values: NDArray[np.int64] = np.array(list(counts.values()), np.int64)
    return in_order(csr_matrix((values, (rows, columns)), shape=shape))


def in_order(matrix: Any) -> Any:
    """Return a sparse matrix as CSR, the columns of each row sorted."""
    csr = matrix.tocsr()
    csr.sort_indices()
    return csr


def row_ids(matrix: Any, row: int) -> NDArray[np.int64]:
    """Return the columns that a row of a CSR matrix holds, in the order stored."""
    return np.asarray(matrix.indices[slice(*matrix.indptr[row : row + 2])], np.int64)


show_briefly(Texts)
