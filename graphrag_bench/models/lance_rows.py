"""Rows of vectors in a table of LanceDB: on disk or object storage, read when they are asked for.

The extra `lancedb`. Where a function takes an array of rows, it may take these instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.errors import UserError
from graphrag_bench.models.embedder import Vectors

TABLE = "vectors"
SUBTRACTED = 2.0**-22
"""What `1 - distance` adds at most to the rounding of a cosine."""
_ROW, _VECTOR, _QUERY, _DISTANCE = "row", "vector", "query_index", "_distance"
_WRITTEN = 2**16
"""Rows of a block when a table is written."""
_ASKED = 256
"""Queries of one call."""
Ids = NDArray[np.int64]
Rows = NDArray[np.floating[Any]]


class LanceRows:
    """The vectors (n, dimension) of a table, float32 or float16, in the order of their rows.

    `rows[ids]` and `rows[a:b]` read those rows, `numpy.asarray(rows)` reads all.
    """

    ndim = 2

    def __init__(self, folder: Path) -> None:
        """Open the table that `write` made; nothing is read yet."""
        self._table = _connected(folder).open_table(TABLE)
        kind = self._table.schema.field(_VECTOR).type
        self.shape = (int(self._table.count_rows()), int(kind.list_size))
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())

    def __len__(self) -> int:
        """The number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | Ids) -> Rows:
        """Some rows, by slice or by ids, which may repeat."""
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        distinct = np.unique(wanted)
        if not len(distinct):
            return np.empty((0, self.shape[1]), self.dtype)
        held = self._table.take_offsets(distinct.tolist()).select([_ROW, _VECTOR]).to_arrow()
        found = _numbers(held[_VECTOR], self.shape[1])
        order = np.argsort(held[_ROW].to_numpy())
        return np.asarray(found[order[np.searchsorted(distinct, wanted)]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Rows:
        """All rows, read into memory."""
        return np.asarray(self[:], dtype)

    def nearest(self, queries: Vectors, k: int, within: Ids | None = None) -> tuple[Vectors, Ids]:
        """The `k` highest inner products of each query, best first, and their rows, (n, k) each.

        Exact, but where the table has lists (`write`): then the nearest lists are searched, and a
        query that finds fewer than `k` rows in them is searched exactly. `within` are the only
        rows that may be found; the table is filtered before it is searched, and `k` is at most
        their number.
        """
        parts = [
            self._searched(queries[start : start + _ASKED], k, within)
            for start in range(0, len(queries), _ASKED)
        ]
        scores, ids = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(ids)

    def _searched(
        self, queries: Vectors, k: int, within: Ids | None, exact: bool = False
    ) -> tuple[Vectors, Ids]:
        asked = self._table.search(list(queries) if len(queries) > 1 else queries[0])
        asked = asked.distance_type("dot").limit(k)
        if exact:
            asked = asked.bypass_vector_index()
        if within is not None:
            rows = ",".join(map(str, np.unique(within).tolist()))
            asked = asked.where(f"{_ROW} IN ({rows})", prefilter=True)
        held = asked.to_arrow()
        of = held[_QUERY].to_numpy() if len(queries) > 1 else np.zeros(len(held), np.int64)
        ids, distances = held[_ROW].to_numpy(), held[_DISTANCE].to_numpy()
        found_ids = np.zeros((len(queries), k), np.int64)
        scores = np.zeros((len(queries), k), np.float32)
        for query in range(len(queries)):
            mine = np.flatnonzero(of == query)
            if len(mine) < k and not exact:
                one = self._searched(queries[query : query + 1], k, within, exact=True)
                scores[query], found_ids[query] = one[0][0], one[1][0]
            else:
                order = mine[np.lexsort((ids[mine], distances[mine]))]
                scores[query], found_ids[query] = 1 - distances[order], ids[order]
        return scores, found_ids


def write(folder: Path, vectors: Rows, approximate_from: int | None = None) -> None:
    """Write rows as a table below `folder`; from so many rows on it has lists (IVF, flat).

    The files of two tables of the same rows differ: LanceDB names them at random.
    """
    import pyarrow

    dimension = vectors.shape[1]
    number = pyarrow.from_numpy_dtype(vectors.dtype)
    if not len(vectors):
        raise UserError("index=lancedb needs at least one text; an empty index is faiss'.")
    schema = pyarrow.schema({_ROW: pyarrow.int64(), _VECTOR: pyarrow.list_(number, dimension)})

    def batches() -> Iterator[Any]:
        for start in range(0, len(vectors), _WRITTEN):
            part = np.ascontiguousarray(vectors[start : start + _WRITTEN])
            held = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(part.ravel()), dimension)
            rows = pyarrow.array(np.arange(start, start + len(part)))
            yield pyarrow.RecordBatch.from_arrays([rows, held], schema=schema)

    table = _connected(folder).create_table(TABLE, batches(), schema=schema, mode="overwrite")
    if approximate_from is not None and len(vectors) >= approximate_from:
        from lancedb.index import IvfFlat

        table.create_index(_VECTOR, config=IvfFlat(distance_type="dot"))


def is_written(folder: Path) -> bool:
    """Whether `write` has made a table below the folder."""
    return (folder / f"{TABLE}.lance").is_dir()


def _connected(folder: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # or each table made is a warning on stderr
    try:
        import lancedb
    except ImportError:
        raise UserError(
            "index=lancedb needs the extra `lancedb`: pip install 'graphrag-bench[lancedb]'."
        ) from None
    return lancedb.connect(folder)


def _numbers(column: Any, dimension: int) -> Rows:
    """A column of vectors as an array (n, dimension)."""
    held = column.combine_chunks()
    return np.asarray(held.flatten().to_numpy(zero_copy_only=False)).reshape(-1, dimension)
