"""Arrays, texts and sparse matrices, stored without pickles and loaded as memory maps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.text import show_briefly

_BLOCK = 65536
_CSR_PARTS = ("data", "indices", "indptr", "shape")
NOT_STORED = {"stored": False}
"""Metadata of a field of `Columns` that is not stored."""


def save_array(folder: Path, name: str, array: ArrayLike) -> None:
    """Write an array to the file `name.npy` in a folder."""
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Return the array in the file `name.npy` of a folder, as a read-only memory map."""
    # as an array, because indexing is three times as fast as on a np.memmap
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))


@show_briefly
@dataclass(frozen=True, eq=False)
class Texts:
    """Sequence of n texts, stored as a UTF-8 blob and n + 1 offsets of the texts in the blob."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """Return `Texts` with the given texts. Lone surrogates are replaced."""
        encoded = [text.encode("utf-8", errors="replace") for text in texts]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Texts":
        """Return the texts that were saved under this name."""
        return cls(load_array(folder, f"{name}.blob"), load_array(folder, f"{name}.offsets"))

    def save(self, folder: Path, name: str) -> None:
        """Write the blob and the offsets as two files whose names begin with `name`."""
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
        """Return the texts at the given positions, in the given order."""
        return [self[int(row)] for row in np.asarray(rows)]

    def join_rows(self, matrix: Any, separator: str) -> "Texts":
        """For each row of a CSR matrix, join the texts at the columns of the row."""
        texts, columns = list(self), matrix.indices.tolist()
        rows = pairwise(matrix.indptr.tolist())
        return Texts.of([separator.join([texts[c] for c in columns[a:b]]) for a, b in rows])


class Columns:
    """Base class of dataclasses whose fields are arrays, texts, CSR matrices or other `Columns`.

    A field that is None or marked as `NOT_STORED` is not written to disk.
    """

    def save(self, folder: Path) -> None:
        """Write every field into a folder."""
        for name in _stored(self):
            column = getattr(self, name)
            if isinstance(column, Texts):
                column.save(folder, name)
            elif hasattr(column, "indptr"):
                for part in _CSR_PARTS:
                    save_array(folder, f"{name}.{part}", np.asarray(getattr(column, part)))
            elif hasattr(column, "save"):
                (folder / name).mkdir()
                column.save(folder / name)
            elif column is not None:
                save_array(folder, name, column)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the saved object. Its arrays are memory maps."""
        from scipy.sparse import csr_matrix

        columns: dict[str, Any] = {}
        for name, default in _stored(cls).items():
            if (folder / name).is_dir():
                kind = get_type_hints(cls)[name]
                kind = next(one for one in get_args(kind) or (kind,) if hasattr(one, "load"))
                columns[name] = kind.load(folder / name)
            elif (folder / f"{name}.offsets.npy").is_file():
                columns[name] = Texts.load(folder, name)
            elif (folder / f"{name}.indptr.npy").is_file():
                *parts, shape = (load_array(folder, f"{name}.{part}") for part in _CSR_PARTS)
                columns[name] = csr_matrix(tuple(parts), shape=shape.tolist(), copy=False)
            elif (folder / f"{name}.npy").is_file() or default is MISSING:
                columns[name] = load_array(folder, name)
        return cls(**columns)


def _stored(columns: Any) -> dict[str, Any]:
    return {field.name: field.default for field in fields(columns) if field.metadata != NOT_STORED}


@dataclass(frozen=True, eq=False)
class TextRows(Columns, Mapping[str, int]):
    """Mapping on disk from distinct texts to numbers. Texts are found by CRC-32 check sums."""

    texts: Texts
    numbers: NDArray[np.int64]
    sums: NDArray[np.uint32]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Mapping[str, int]) -> "TextRows":
        """Return the TextRows of a mapping, in the order of the mapping."""
        return cls.of_columns(Texts.of(list(rows)), np.array(list(rows.values()), np.int64))

    @classmethod
    def of_columns(cls, keys: Texts, values: NDArray[np.int64]) -> "TextRows":
        """Return the TextRows of distinct keys and their values."""
        sums = np.array([crc32(key.encode()) for key in keys], np.uint32)
        order = np.argsort(sums, kind="stable")
        return cls(keys, values, sums[order], order)

    def __getitem__(self, key: str) -> int:
        wanted = str(key).encode("utf-8", errors="replace")
        first = np.uint32(crc32(wanted))
        places = slice(self.sums.searchsorted(first), self.sums.searchsorted(first, "right"))
        for row in self.order[places].tolist():
            begin, end = self.texts.offsets[row : row + 2]
            if self.texts.blob[begin:end].tobytes() == wanted:
                return int(self.numbers[row])
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def incidence(columns_of: Iterable[Iterable[int]], n_columns: int) -> Any:
    """Return a boolean CSR matrix. `columns_of` lists the true columns of each row."""
    rows = [list(columns) for columns in columns_of]
    row = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    return bool_csr(row, np.array(list(chain(*rows)), np.int64), (len(rows), n_columns))


def bool_csr(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Any:
    """Return the boolean CSR matrix that is true at these (row, column) pairs. Pairs may repeat."""
    from scipy.sparse import csr_matrix

    return sorted_csr(csr_matrix((np.ones(len(rows), bool), (rows, columns)), shape=shape))


def count_csr(counts: Mapping[tuple[int, int], int], shape: tuple[int, int]) -> Any:
    """Return an int64 CSR matrix with a count for each (row, column) in `counts`."""
    from scipy.sparse import csr_matrix

    places = np.array(list(counts), np.int64).reshape(-1, 2).T
    values = np.array(list(counts.values()), np.int64)
    return sorted_csr(csr_matrix((values, tuple(places)), shape=shape))


def sorted_csr(matrix: Any) -> Any:
    """Return a sparse matrix in CSR format, in which the columns of each row are sorted."""
    csr = matrix.tocsr()
    csr.sort_indices()
    return csr


def row_ids(matrix: Any, row: int) -> NDArray[np.int64]:
    """Return the column numbers that a CSR matrix stores for a row, in stored order."""
    return np.asarray(matrix.indices[slice(*matrix.indptr[row : row + 2])], np.int64)
