"""Requests of a build share their prefixes, which servers with a prefix cache read once."""

import pytest
from builds import QUIET, table
from counting_reader import paper_reader

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.graphs.communities import communities_of
from graphrag_bench.graphs.extraction import llm_extraction
from graphrag_bench.graphs.reports import llm_reports
from graphrag_bench.graphs.text_extraction import llm_facts, llm_text_extraction
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.text import count_tokens

PASSAGES = [
    f"{name} Marsh founded the {place} Observatory in {year}."
    for name, place, year in (("Ada", "Norvik", 1901), ("Bo", "Tarn", 1920), ("Cy", "Isk", 1933))
]
GRAPH = Graph.from_arrays([0, 2], [1, 3], names=["ada", "bo", "cy", "dot"])
TWO = communities_of([(0, -1, [0, 1]), (0, -1, [2, 3])], GRAPH)


def shared(before, after):
    """Return the tokens of the longest common beginning of two prompts."""
    texts = ["\0".join(f"{one.role}\n{one.content}" for one in chat) for chat in (before, after)]
    length = next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    return count_tokens(texts[0][:length])


CHUNKS = {"chunk_table": table(*PASSAGES)}
FACT = '("fact"<|>Ada Marsh is named.<|>9)##("entity"<|>ADA<|>A name.)<|COMPLETE|>'
REPORT = '{"title": "a", "summary": "b", "rating": 1, "findings": []}'


@pytest.mark.parametrize(
    ("build", "inputs", "reply", "kinds"),
    [
        (llm_extraction, CHUNKS, None, [3, 3]), (llm_text_extraction, CHUNKS, None, [3, 3]),
        (llm_facts, CHUNKS, FACT, [3, 3]),
        (llm_reports, {"communities": TWO, "graph": GRAPH}, REPORT, [2]),
    ],
)  # fmt: skip
def test_the_instructions_come_first_and_kind_by_kind(build, inputs, reply, kinds) -> None:
    """`kinds` has the number of consecutive requests of each kind of prompt."""
    answering = paper_reader()
    model = Scripted(answer=lambda chat: reply or answering.answer(chat))
    build(**inputs, llm_build=model, progress=QUIET)
    systems = [count_tokens(chat[0].content) for chat in model.prompts]
    starts = [sum(kinds[:n]) for n in range(len(kinds))]
    assert len(model.prompts) == sum(kinds)
    for at in set(range(1, len(model.prompts))) - set(starts):
        before, after = model.prompts[at - 1 : at + 1]
        assert shared(before, after) >= systems[at] > 80
