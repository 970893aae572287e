"""`contexts.jsonl`: the texts of each question's context, for metrics and judges that read them.

Rows hold ids only. The text of a chunk that is a whole document is not kept twice: it is
null here, and is read from the data set. A fingerprint of all texts tells whether the data set
still has those that went into the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.runs.damage import DamagedRun
from graphrag_bench.runs.folder import RunFolder, read_lines
from graphrag_bench.runs.record import Row
from graphrag_bench.values import Context, Piece

CONTEXTS = "contexts"


def context_rows(finished: Finished, chunk_table: ChunkTable | None) -> list[Row]:
    """One row with the texts of a finished question's context in order; none without a context."""
    outcome = finished.outcome
    context = None if isinstance(outcome, Failure) else outcome.get("context")
    if not isinstance(context, Context):
        return []
    kept = [_kept(piece, chunk_table) for piece in context.pieces]
    of = _print([piece.text for piece in context.pieces])
    return [{"question": finished.question.id, "texts": kept, "of": of}]


def _print(texts: Sequence[str | None]) -> str:
    return digest([text and text.encode("utf-8", "replace").decode() for text in texts])


def _kept(piece: Piece, chunk_table: ChunkTable | None) -> str | None:
    if piece.kind == "chunk" and chunk_table is not None:
        rows = chunk_table.chunks_of(piece.id)
        if len(rows) == 1 and chunk_table.passage(rows[0]) == piece.text:
            return None
    return piece.text


def _is_whole(row: Row) -> bool:
    texts = row.get("texts")
    known = isinstance(texts, list) and all(one is None or isinstance(one, str) for one in texts)
    return known and isinstance(row.get("question"), str)


def context_texts(
    folder: RunFolder, rows: Mapping[str, Row], dataset: Dataset
) -> dict[str, Sequence[str | None]]:
    """The texts of the context of each question of a run, in the order of the row's pieces.

    Questions whose texts were not kept (trace=off) are left out, and so are those whose texts the
    data set has no longer as they were; a text is None where its document is gone from it. Raises
    DamagedRun for a row of another form.
    """
    passages = {document.id: document.passage for document in dataset.documents}
    held: dict[str, Row] = {}
    for path in folder.files(CONTEXTS):
        for row in read_lines(path):
            if not _is_whole(row):
                raise DamagedRun(folder.path, f"{path.name} holds a row that is not a context")
            held[row["question"]] = row
    found: dict[str, Sequence[str | None]] = {}
    for name, kept in held.items():
        pieces = (rows.get(name, {}).get("context") or {}).get("pieces", [])
        if len(pieces) == len(kept["texts"]):
            texts = [
                passages.get(piece["id"]) if text is None else text
                for piece, text in zip(pieces, kept["texts"], strict=True)
            ]
            if None in texts or kept.get("of") in (None, _print(texts)):
                found[name] = texts
    return found
