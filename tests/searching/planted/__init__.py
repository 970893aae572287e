"""An operator that cheats: it finds the passages that hold what the toy set's questions want."""

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.values import Chunk, Question, Ranked


@operator("chunk.planted")
def planted(question: Question, *, chunk_table: ChunkTable, top_k: int = 10) -> Ranked[Chunk]:
    """The gold passages of the question alone.

    Score: 1. Source: none, it cheats.
    """
    gold = read_dataset("toy").gold[question.id].evidence
    rows = sorted({int(row) for name in gold for row in chunk_table.chunks_of(name)})
    return Ranked[Chunk](rows, [1.0] * len(rows))
