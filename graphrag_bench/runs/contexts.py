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
from graphrag_bench.runs.folder import RunFolder, read_lines
from graphrag_bench.runs.record import Row
from graphrag_bench.values import Context, Piece

CONTEXTS = "contexts"


def context_rows(finished: Finished, chunk_table: ChunkTable | None) -> list[Row]:
    """Return one row with the texts of a finished question's context; none without a context."""
    outcome = finished.outcome
    context = None if isinstance(outcome, Failure) else outcome.get("context")
    if not isinstance(context, Context):
        return []
    texts = [_stored(piece, chunk_table) for piece in context.pieces]
    of = _fingerprint([piece.text for piece in context.pieces])
    return [{"question": finished.question.id, "texts": texts, "of": of}]


def _fingerprint(texts: Sequence[str | None]) -> str:
    return digest([text and text.encode("utf-8", "replace").decode() for text in texts])


def _stored(piece: Piece, chunk_table: ChunkTable | None) -> str | None:
    if piece.kind == "chunk" and chunk_table is not None:
        rows = chunk_table.chunks_of(piece.id)
        if len(rows) == 1 and chunk_table.passage(rows[0]) == piece.text:
            return None
    return piece.text


def context_texts(
    folder: RunFolder, rows: Mapping[str, Row], dataset: Dataset
) -> dict[str, Sequence[str | None]]:
    """Return the texts of the context of each question of a run, in the order of the row's pieces.

    Questions whose texts were not kept (trace=off) are left out, and so are those whose texts the
    data set has no longer as they were; a text is None where its document is gone from it.
    """
    passages = {document.id: document.passage for document in dataset.documents}
    stored = {row["question"]: row for path in folder.files(CONTEXTS) for row in read_lines(path)}
    of_questions: dict[str, Sequence[str | None]] = {}
    for name, row in stored.items():
        pieces = (rows.get(name, {}).get("context") or {}).get("pieces", [])
        if len(pieces) == len(row["texts"]):
            texts = [
                passages.get(piece["id"]) if text is None else text
                for piece, text in zip(pieces, row["texts"], strict=True)
            ]
            if None in texts or row.get("of") in (None, _fingerprint(texts)):
                of_questions[name] = texts
    return of_questions
