"""The planted extraction is exact, up to the configured share of errors."""

import pytest

from graphrag_bench.algorithms.extraction import (
    EntityRecord,
    Extraction,
    RelationshipRecord,
    Triple,
)
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import load_card
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.chunking import presplit
from graphrag_bench.world.dataset import world_dataset
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.generator import make_world
from graphrag_bench.world.planted import planted_extraction, planted_text_extraction

ADA = "Ada Marsh is a painter. Ada Marsh is also known as Lia Sol. Lia Sol worked for Nor Guild."
TINY = ChunkTable.of([
    ("a", "Ada Marsh", ADA),
    ("g", "Nor Guild", "Nor Guild is a guild. Nor Guild was founded by Otto Brandt."),
    ("r", "Rumours about Nor Guild", "Rumour has it that Nor Guild was founded by Lia Sol."),
])  # fmt: skip


def triples(extraction: Extraction) -> list[tuple[str, str, str]]:
    return [(one.head, one.relation, one.tail) for row in extraction.rows for one in row.triples]


@pytest.fixture(scope="module")
def world() -> World:
    settings = {"size": 200, "n_questions": 30, "noise": 0.2, "alias_rate": 0.3, "removed": 0.1}
    return make_world(WorldSettings.model_validate(settings))


@pytest.fixture(scope="module")
def table(world: World) -> ChunkTable:
    return presplit(corpus=world_dataset(load_card("world"), world))


def test_the_extraction_is_exactly_the_facts_with_entity_names(world, table):
    result = planted_extraction(chunk_table=table)
    names = [entity.name for entity in world.entities]
    stated = [
        (fact.passage, Triple(names[fact.head], fact.phrase, names[fact.tail]))
        for fact in (*world.facts, *world.distractors)
        if fact.passage is not None
    ]
    read = {(table.documents_of(row)[0], one) for row, of in enumerate(result.rows)
            for one in of.triples}  # fmt: skip
    assert (read, result.statistics) == (set(stated), {"triples": len(stated)})
    assert {name for row in result.rows for name in row.entities} <= set(names)


def test_rumours_give_no_triples_and_aliases_may_stay_separate() -> None:
    result = planted_extraction(chunk_table=TINY)
    assert triples(result) == [
        ("Ada Marsh", "worked for", "Nor Guild"),
        ("Nor Guild", "was founded by", "Otto Brandt"),
    ]
    assert result.rows[2].entities == ("Nor Guild", "Ada Marsh")
    assert triples(planted_extraction(chunk_table=TINY, aliases="as_written"))[:2] == [
        ("Ada Marsh", "is also known as", "Lia Sol"),
        ("Lia Sol", "worked for", "Nor Guild"),
    ]
    with pytest.raises(UserError, match="dataset=world"):
        planted_extraction(chunk_table=ChunkTable.of([("a", "", "Ada Marsh founded Norvik.")]))


def test_dropped_facts_are_an_exact_share_and_keep_their_entities(table: ChunkTable) -> None:
    whole = planted_extraction(chunk_table=table)
    some, more = (planted_extraction(chunk_table=table, drop=rate) for rate in (0.25, 0.5))
    n_facts = len(triples(whole))
    assert len(triples(some)) == n_facts - round(0.25 * n_facts)
    assert set(triples(more)) < set(triples(some)) < set(triples(whole))
    assert [row.entities for row in more.rows] == [row.entities for row in whole.rows]


def test_descriptions_are_the_sentences_as_written() -> None:
    first = planted_text_extraction(chunk_table=TINY).rows[0]
    worked = "Lia Sol worked for Nor Guild."
    assert first.entities == (
        EntityRecord("Ada Marsh", "person", "Ada Marsh is a painter."),
        EntityRecord("Ada Marsh", "", "Ada Marsh is also known as Lia Sol."),
        EntityRecord("Ada Marsh", "person", worked),
        EntityRecord("Nor Guild", "organisation", worked),
    )
    expected = RelationshipRecord("Ada Marsh", "Nor Guild", worked, ("employer",))
    assert first.relationships == (expected,)
    plain = planted_text_extraction(chunk_table=TINY, keywords=False).rows[0]
    assert not plain.relationships[0].keywords
