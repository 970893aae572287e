"""Rows of vectors in a table of LanceDB: on disk or object storage, read when they are asked for.

The extra `lancedb`. Where a function takes an array of rows, it may take these instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.errors import UserError
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.nearest import Array, Ids, Lists

TABLE = "vectors"
_ROW, _VECTOR, _QUERY, _DISTANCE = "row", "vector", "query_index", "_distance"
_PROBES = b"probes"
"""Where a table says how many lists a search reads."""
_WRITTEN = 2**16
"""Rows of a block when a table is written."""
_ASKED = 256
"""Queries of one call."""


class LanceRows:
    """The vectors (n, dimension) of a table, in the order of their rows: a `DatabaseRows`.

    `rows[ids]` and `rows[a:b]` read those rows, `numpy.asarray(rows)` reads all.
    """

    ndim = 2
    rounding = 2.0**-22
    """What `1 - distance` adds at most to the rounding of a cosine."""

    def __init__(self, folder: Path) -> None:
        """Open the table that `write` made; nothing is read yet."""
        self._table = _connected(folder).open_table(TABLE)
        schema = self._table.schema
        kind = schema.field(_VECTOR).type
        self.shape = (int(self._table.count_rows()), int(kind.list_size))
        self.dtype: np.dtype[Any] = np.dtype(kind.value_type.to_pandas_dtype())
        self._probes = int((schema.metadata or {}).get(_PROBES, 0))

    @classmethod
    def open(cls, folder: Path) -> LanceRows:
        """The rows of the table that `write` made."""
        return cls(folder)

    def __len__(self) -> int:
        """The number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | Ids) -> Array:
        """Some rows, by slice or by ids, which may repeat."""
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        distinct = np.unique(wanted)
        if not len(distinct):
            return np.empty((0, self.shape[1]), self.dtype)
        held = self._table.take_offsets(distinct.tolist()).select([_ROW, _VECTOR]).to_arrow()
        found = _numbers(held[_VECTOR], self.shape[1])
        order = np.argsort(held[_ROW].to_numpy())
        return np.asarray(found[order[np.searchsorted(distinct, wanted)]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All rows, read into memory."""
        return np.asarray(self[:], dtype)

    def nearest(self, queries: Vectors, k: int, within: Ids | None = None) -> tuple[Vectors, Ids]:
        """The `k` highest inner products of each query, best first, and their rows, (n, k) each.

        Exact, but where the table has lists (`write`): then as many of the nearest lists are
        searched as it was written for, and further ones until `k` rows are found. `within` are the
        only rows that may be found; the table is filtered before it is searched, and `k` is at
        most their number.
        """
        parts = [
            self._searched(queries[start : start + _ASKED], k, within)
            for start in range(0, len(queries), _ASKED)
        ]
        scores, ids = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(ids)

    def _searched(self, queries: Vectors, k: int, within: Ids | None) -> tuple[Vectors, Ids]:
        asked = self._table.search(list(queries) if len(queries) > 1 else queries[0])
        asked = asked.distance_type("dot").limit(k)
        if self._probes:
            asked = asked.minimum_nprobes(self._probes).maximum_nprobes(0)  # 0: until k are found
        if within is not None:
            rows = ",".join(map(str, np.unique(within).tolist()))
            asked = asked.where(f"{_ROW} IN ({rows})", prefilter=True)
        held = asked.to_arrow()
        n_found, n_asked = len(held), len(queries) * k
        if n_found != n_asked:
            raise RuntimeError(f"LanceDB found {n_found} rows for {n_asked} asked of {len(self)}")
        of = held[_QUERY].to_numpy() if len(queries) > 1 else np.zeros(n_found, np.int64)
        ids, distances = held[_ROW].to_numpy(), held[_DISTANCE].to_numpy()
        order = np.lexsort((ids, distances, of)).reshape(len(queries), k)
        return np.asarray(1 - distances[order], np.float32), np.asarray(ids[order], np.int64)

    @classmethod
    def write(cls, folder: Path, vectors: Array, lists: Lists | None = None) -> None:
        """Write rows as a table below `folder`, with lists (IVF, flat) or without.

        The files of two tables of the same rows differ: LanceDB names them at random. So may the
        rows that two tables with lists find: LanceDB trains lists without a seed.
        """
        import pyarrow

        dimension = vectors.shape[1]
        number = pyarrow.from_numpy_dtype(vectors.dtype)
        if not len(vectors):
            raise UserError("index=lancedb needs at least one text; an empty index is faiss'.")
        schema = pyarrow.schema(
            {_ROW: pyarrow.int64(), _VECTOR: pyarrow.list_(number, dimension)},
            metadata={_PROBES: str(lists.probes)} if lists else None,
        )
        table = _connected(folder).create_table(
            TABLE, _batches(vectors, schema), schema=schema, mode="overwrite"
        )
        if lists:
            from lancedb.index import IvfFlat

            config = IvfFlat(distance_type="dot", num_partitions=lists.number)
            table.create_index(_VECTOR, config=config)

    @classmethod
    def is_written(cls, folder: Path) -> bool:
        """Whether `write` has made a table below the folder."""
        return (folder / f"{TABLE}.lance").is_dir()


def is_installed() -> bool:
    """Whether the extra `lancedb` is there; it is not imported."""
    return find_spec("lancedb") is not None and find_spec("pyarrow") is not None


def _batches(vectors: Array, schema: Any) -> Iterator[Any]:
    """The rows in blocks of a table."""
    import pyarrow

    for start in range(0, len(vectors), _WRITTEN):
        part = np.ascontiguousarray(vectors[start : start + _WRITTEN])
        numbers = pyarrow.array(part.ravel())
        held = pyarrow.FixedSizeListArray.from_arrays(numbers, part.shape[1])
        rows = pyarrow.array(np.arange(start, start + len(part)))
        yield pyarrow.RecordBatch.from_arrays([rows, held], schema=schema)


def _connected(folder: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # or each table made is a warning on stderr
    try:
        import lancedb
    except ImportError:
        raise UserError(
            "index=lancedb needs the extra `lancedb`: pip install 'graphrag-bench[lancedb]'."
        ) from None
    return lancedb.connect(folder)


def _numbers(column: Any, dimension: int) -> Array:
    """A column of vectors as an array (n, dimension)."""
    held = column.combine_chunks()
    return np.asarray(held.flatten().to_numpy(zero_copy_only=False)).reshape(-1, dimension)
