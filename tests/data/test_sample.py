import pytest

from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.data.fetching import differences
from graphrag_bench.data.readers import FOLDER, PACKAGE, READERS, read_dataset
from graphrag_bench.evaluation.answers import DEFAULT
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.text import normalise_name

HOPS = {"one-hop": 1, "two-hop": 2, "three-hop": 3}


def holds(passage: str, words: str) -> bool:
    return f" {normalise_name(words)} " in f" {normalise_name(passage)} "


@pytest.mark.parametrize("name", ["toy", "sample"])
def test_questions_have_evidence_and_no_passage_answers_a_multi_hop_question(name):
    own = read_dataset(name)
    assert own.card.counts and own.card.pinned and not differences(own)
    texts = {document.id: document.passage for document in own.documents}
    for question in own.questions:
        gold = own.gold[question.id]
        assert {*gold.evidence} <= {*texts}
        assert all(holds(question.text, entity) for entity in gold.entities), question
        if gold.type == "abstract":
            assert gold.answers == gold.evidence == ()
        if gold.type not in HOPS:
            continue
        assert gold.hops == HOPS[gold.type] == len(gold.evidence), question
        last = DEFAULT.normal(texts[gold.evidence[-1]])
        assert any(DEFAULT.normal(answer) in last for answer in gold.answers), question
        for passage in texts.values() if gold.hops > 1 else ():
            whole = all(holds(passage, entity) for entity in gold.entities)
            assert not (whole and any(holds(passage, one) for one in gold.answers)), question


def test_every_card_has_a_known_reader_and_known_metrics():
    for name in card_names():
        card = load_card(name)
        assert card.name == name
        assert {*card.metrics} <= {*ANSWER_METRICS} and card.license and card.citation
        assert {layout.reader for layout in card.shapes} <= {*READERS, FOLDER, PACKAGE}
