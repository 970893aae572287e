"""What a change of the corpus leaves as it was is asked for by the same prompt again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.extraction import ChunkRecords, EntityRecord, TextExtraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.calls import Chat, Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.llm_reports import llm_reports
from graphrag_bench.offline.reports import extractive
from graphrag_bench.offline.text_graph import text_kg
from graphrag_bench.progress import Progress

WHOLE, LEFT, RIGHT = "abcdef", "abc", "def"
ROWS = ["ab", "ac", "bc", "de", "df", "ef", "cd", "cb", "ax"]
"""Two triangles in one community; b and c are joined by two rows, and a to x outside."""


def world(order: str, rows: Sequence[str], more: Sequence[str] = ()) -> tuple[Graph, Communities]:
    """The graph with its nodes and rows in these orders; every node and row is in one chunk."""
    from scipy.sparse import csr_matrix

    names, every = list(order), [*rows, *more]
    ends = [[names.index(pair[end]) for pair in every] for end in (0, 1)]
    graph = Graph.from_arrays(*ends, np.eye(len(names)), names=names)
    graph = Graph(
        **{
            **{field: getattr(graph, field) for field in graph.__dataclass_fields__},
            "types": Texts.of(["person"] * len(names)),
            "descriptions": Texts.of([f"{name} keeps lamp {name}. It burns." for name in names]),
            "facts": Texts.of([f"{pair[0]} wrote to {pair[1]} of {pair}." for pair in every]),
        }
    )
    parts = [(0, -1, WHOLE), (1, 0, LEFT), (1, 0, RIGHT)]
    others = "".join(sorted(set(names) - set(WHOLE)))
    parts = [*parts, (0, -1, others)] if others else parts
    first = [names.index(min(told, key=names.index)) for _, _, told in parts]
    ordered = sorted(range(len(parts)), key=lambda row: (parts[row][0], first[row]))
    parent_of = [-1 if parts[row][1] < 0 else ordered.index(parts[row][1]) for row in ordered]
    held = np.array([[name in parts[row][2] for name in names] for row in ordered])
    nodes = csr_matrix(held)
    level = np.array([parts[row][0] for row in ordered])
    chunks = (nodes @ graph.node_chunk).astype(bool).tocsr()
    return graph, Communities(level, np.array(parent_of), nodes, chunks)


BEFORE = world(WHOLE + "x", ROWS)
AFTER = world("zyx" + WHOLE[::-1], ROWS[::-1], ["xy", "xz", "yz"])
"""Two nodes came in front and are joined to x, so that x has three neighbours; all rows moved."""


class _Keeping(Hashing):
    """An embedder that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__(32)
        self.texts: set[str] = set()

    def encode(self, texts: Sequence[str], **other: object) -> np.ndarray:
        self.texts |= set(texts)
        return super().encode(texts, **other)


def reply(chat: Chat) -> Completion:
    """A report that is told by its prompt alone."""
    text = chat[-1].content
    told = {"title": f"of {len(text)}", "summary": text[:40], "rating": 5.0, "findings": []}
    return Completion(json.dumps(told), 1, 1)


@pytest.mark.parametrize("budget", [60, 110, 140, 160, 4000])
def test_a_report_prompt_is_told_by_the_members_alone(budget):
    """In small budgets the whole is told by reports on its parts."""
    asked = []
    for graph, found in (BEFORE, AFTER):
        model = Scripted((), reply)
        llm_reports(
            communities=found, graph=graph, llm_build=model, progress=Progress(quiet=True),
            max_input_tokens=budget,
        )  # fmt: skip
        asked.append({chat[-1].content for chat in model.asked})
    assert len(asked[0]) == 4
    assert len(asked[0] & asked[1]) == 3  # all but the one on x
    assert any("-----Reports-----" in text for text in asked[0]) == (budget < 4000)


def test_an_extracted_report_is_the_same_and_embeds_nothing_else():
    told, texts = [], []
    for graph, found in (BEFORE, AFTER):
        embedder = _Keeping()
        made = extractive(
            communities=found, graph=graph, embedder=embedder, progress=Progress(quiet=True),
            summary_tokens=12, finding_tokens=6,
        )  # fmt: skip
        inside = found.nodes.toarray()[:, list(graph.names).index("x")] == 0
        told.append({made.texts[row] for row in np.flatnonzero(inside).tolist()})
        texts.append({text for text in embedder.texts if "y" not in text and "z" not in text})
    assert len(told[0]) == 3
    assert told[0] == told[1]
    assert texts[0] and texts[1] <= texts[0]


@pytest.mark.parametrize("front", [[], ["Zoe", "Yan"]])
def test_a_long_description_is_summarised_by_the_same_prompt(front):
    """The descriptions of Ada are long; others came in front of her, of whom less is said."""
    long = [f"Ada counted the {number} lamps of the harbour of Norvik." for number in range(60)]
    rows = [ChunkRecords((EntityRecord(name, "person", f"{name} rests."),), ()) for name in front]
    rows += [ChunkRecords((EntityRecord("Ada", "person", text),), ()) for text in long]
    table = ChunkTable.of([(f"d{row}", "", f"text {row}") for row in range(len(rows))])
    model = Scripted([("", "Ada counted lamps.")])
    text_kg(
        keywords=False,
        text_extraction=TextExtraction.of(rows, {}), chunk_table=table, llm_build=model,
        progress=Progress(quiet=True),
    )  # fmt: skip
    (chat,) = model.asked
    told = "\n".join(sorted(long))
    assert chat[-1].content.startswith("About: ada\nDescriptions:\n" + " ".join(told.split("\n")))
