"""The synthetic world follows its settings exactly, and the planted extraction its facts."""

import unicodedata

import pytest
from small_worlds import process_output

from graphrag_bench.algorithms.extraction import EntityRecord, RelationshipRecord, Triple
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import load_card
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.chunking import presplit
from graphrag_bench.text import normalise_name
from graphrag_bench.world.dataset import world_dataset, world_of
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.generator import make_world
from graphrag_bench.world.grammar import ALSO, ParsedQuestion, parse_question, statements
from graphrag_bench.world.planted import planted_extraction, planted_text_extraction


def world(**settings):
    return make_world(WorldSettings.model_validate({"size": 120, "n_questions": 60, **settings}))


def stated(one):
    return [(fact.names[0], fact.phrase, fact.names[1]) for fact in one.facts if fact.passage]


def test_the_numbers_of_facts_noise_passages_and_aliases_are_exact() -> None:
    result = world(noise=0.25, facts_per_passage=3)
    noise = [one.title for one in result.passages if one.id.startswith("n")]
    assert (len(noise), len(result.passages)) == (40, 160)  # a quarter
    assert sum(title.startswith("Rumours about ") for title in noise) == 20
    assert len(result.facts) == len({(fact.head, fact.phrase) for fact in result.facts}) == 360
    assert all(fact.head != fact.tail for fact in result.facts)
    result = world(alias_rate=0.25)
    aliases = {entity.alias for entity in result.entities}
    names = [name for fact in result.facts for name in fact.names]
    assert sum(name in aliases for name in names) == 120  # a quarter of 2 x 240 mentions
    read = (one for passage in result.passages for one in statements(passage.text))
    assert {one.tail for one in read if one.phrase == ALSO} == aliases & set(names)


def test_the_corpus_does_not_depend_on_the_hash_seed() -> None:
    statement = (
        "from graphrag_bench.data.readers import read_dataset as r;"
        "d = r('world', settings={'size': 50, 'n_questions': 20});"
        "print(d.corpus_digest, d.questions_digest)"
    )
    here = read_dataset("world", settings={"size": 50, "n_questions": 20})
    assert process_output(statement, 1) == f"{here.corpus_digest} {here.questions_digest}"
    result = world(seed=1)
    assert result.entities != world().entities
    names = [name for entity in result.entities for name in (entity.name, entity.alias) if name]
    assert len(set(map(normalise_name, names))) == len(names)
    assert any(not name.isascii() for name in names)
    assert all(unicodedata.is_normalized("NFKC", name) for name in names)


def test_rates_do_not_change_entities_facts_and_questions() -> None:
    for rate in ("noise", "alias_rate", "removed", "contradictions"):
        low, high = world(**{rate: 0.1}), world(**{rate: 0.4})
        assert low.entities[:120] == high.entities[:120]
        assert low.chains == high.chains
        same = ([(f.head, f.phrase, f.tail) for f in one.facts] for one in (low, high))
        assert next(same) == next(same)
        if rate == "removed":
            assert set(stated(high)) < set(stated(low))
        if rate == "noise":
            assert [p for p in high.passages if p in low.passages] == list(low.passages)
    result = world(removed=0.3)
    assert sum(fact.passage is None for fact in result.facts) == 72  # of 240
    ids = {passage.id for passage in result.passages}
    for chain in result.chains:
        stated_rows = [result.facts[row].passage is not None for row in chain.facts]
        assert [one in ids for one in result.evidence(chain)] == stated_rows


def test_contradictions_are_rumours_and_distractors_are_about_outsiders() -> None:
    result = world(noise=0.4, contradictions=1.0)
    facts = {(fact.head, fact.phrase): fact.tail for fact in result.facts}
    assert len(result.contradictions) == 80
    for line in result.contradictions:
        true = facts[line.head, line.phrase]
        assert line.tail != true
        assert result.entities[line.tail].type == result.entities[true].type
    texts = [p.text for p in result.passages if p.id.startswith("n")]
    assert all(one.rumour for text in texts for one in statements(text))
    asked = {(result.facts[row].head, result.facts[row].phrase)
             for chain in result.chains for row in chain.facts}  # fmt: skip
    drawn = {(one.head, one.phrase) for one in result.contradictions}
    assert drawn <= asked or asked <= drawn
    others = world(noise=0.4, contradictions=0.0)
    assert [fact.head for fact in others.distractors] == [one.id for one in others.entities[120:]]


def test_a_chain_is_a_simple_path_to_its_answer_and_its_passages_are_gold() -> None:
    assert parse_question("Who founded Norvik?") is None
    result = world(hops=4)
    data = world_dataset(load_card("world"), result)
    texts = {document.id: document.text for document in data.documents}
    lengths = [len(chain.facts) for chain in result.chains]
    assert lengths[:5] == [1, 2, 3, 4, 1] and {lengths.count(n) for n in lengths} == {15}
    assert len({chain.text for chain in result.chains}) == 60
    for chain in result.chains:
        facts = [result.facts[row] for row in chain.facts]
        met = [chain.start, *(fact.tail for fact in facts)]
        assert [fact.head for fact in facts] == met[:-1]
        assert met[-1] == chain.answer and len(set(met)) == len(met)
        start, answer = result.entities[chain.start], result.entities[chain.answer]
        phrases = tuple(fact.phrase for fact in facts)
        assert parse_question(chain.text) == ParsedQuestion(start.name, phrases)
        gold = data.gold[chain.question]
        assert (gold.answers, gold.entities) == ((answer.name, answer.alias), (start.name,))
        assert gold.hops == len(facts)
        for fact, evidence in zip(facts, gold.evidence, strict=True):
            head, tail = fact.names
            assert f"{head} {fact.phrase} {tail}." in texts[evidence]


def test_the_name_has_the_changed_settings_which_reproduce_the_world() -> None:
    data = read_dataset("world", settings={"noise": 0.3, "size": 200})
    assert data.name == "world-size200-noise0.3"
    assert data.settings == {"noise": 0.3, "size": 200}
    assert world_dataset(data.card, world_of(data)).corpus_digest == data.corpus_digest


def test_wrong_settings_are_errors() -> None:
    for name, given, message in (
        ("world", {"settings": {"nois": 0.1}}, "'dataset.nois'.*'noise'"),
        ("world", {"settings": {"noise": 0.95}}, "dataset.noise=0.95"),
        ("world", {"settings": {"size": 12}}, "dataset.size=12"),
        ("world", {"root": "/data"}, r"dataset\.root"),
        ("toy", {"settings": {"noise": 0.1}}, r"'dataset\.noise'"),
    ):
        with pytest.raises(UserError, match=message):
            read_dataset(name, **given)


ADA = "Ada Marsh is a painter. Ada Marsh is also known as Lia Sol. Lia Sol worked for Nor Guild."
TINY = ChunkTable.of([
    ("a", "Ada Marsh", ADA),
    ("g", "Nor Guild", "Nor Guild is a guild. Nor Guild was founded by Otto Brandt."),
    ("r", "Rumours about Nor Guild", "Rumour has it that Nor Guild was founded by Lia Sol."),
])  # fmt: skip


def triples(extraction):
    return [(one.head, one.relation, one.tail) for row in extraction.rows for one in row.triples]


NOISY = world(size=200, n_questions=30, noise=0.2, alias_rate=0.3, removed=0.1)
NOISY_TABLE = presplit(corpus=world_dataset(load_card("world"), NOISY))


def test_the_extraction_is_exactly_the_facts_with_entity_names():
    result = planted_extraction(chunk_table=NOISY_TABLE)
    names = [entity.name for entity in NOISY.entities]
    stated = [
        (fact.passage, Triple(names[fact.head], fact.phrase, names[fact.tail]))
        for fact in (*NOISY.facts, *NOISY.distractors)
        if fact.passage is not None
    ]
    read = {(NOISY_TABLE.documents_of(row)[0], one) for row, of in enumerate(result.rows)
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


def test_dropped_facts_are_an_exact_share_and_keep_their_entities():
    whole, some, more = (
        planted_extraction(chunk_table=NOISY_TABLE, drop=r) for r in (0, 0.25, 0.5)
    )
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
