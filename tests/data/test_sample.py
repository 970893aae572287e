"""The packaged sets match their cards, and their questions are fair."""

import pytest

from graphrag_bench.data.dataset import Dataset, card_names, load_card
from graphrag_bench.data.readers import FOLDER, PACKAGE, READERS, read_dataset
from graphrag_bench.evaluation.answers import DEFAULT
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.text import normalise_name

OWN = ("toy", "sample")
HOPS = {"one-hop": 1, "two-hop": 2, "three-hop": 3}


@pytest.fixture(scope="module", params=OWN)
def own(request: pytest.FixtureRequest) -> Dataset:
    return read_dataset(request.param)


def holds(passage: str, words: str) -> bool:
    return f" {normalise_name(words)} " in f" {normalise_name(passage)} "


def test_the_sets_match_the_counts_and_pins_of_their_cards(own: Dataset) -> None:
    rows = {"questions": own.questions, "documents": own.documents}
    assert own.card.counts == {kind: len(every) for kind, every in rows.items()}
    assert own.card.pinned
    for kind, pins in own.card.pinned.items():
        assert {row: rows[kind][row].id for row in pins} == pins


def test_questions_have_evidence_and_no_passage_answers_a_multi_hop_question(own: Dataset) -> None:
    texts = {document.id: document.passage for document in own.documents}
    for question in own.questions:
        gold = own.gold[question.id]
        assert set(gold.evidence) <= set(texts)
        assert len(set(gold.evidence)) == len(gold.evidence)
        assert all(holds(question.text, entity) for entity in gold.entities), question
        if gold.type == "abstract":
            assert gold.answers == gold.evidence == ()
        if gold.type not in HOPS:
            continue
        assert gold.hops == HOPS[gold.type] == len(gold.evidence), question
        last = DEFAULT.normal(texts[gold.evidence[-1]])
        assert any(DEFAULT.normal(answer) in last for answer in gold.answers), question
        for name, passage in texts.items() if gold.hops > 1 else ():
            whole = all(holds(passage, entity) for entity in gold.entities)
            answered = any(holds(passage, answer) for answer in gold.answers)
            assert not (whole and answered), (question, name)


def test_every_card_has_a_known_reader_and_known_metrics() -> None:
    for name in card_names():
        card = load_card(name)
        assert card.name == name
        assert {layout.reader for layout in card.shapes} <= {*READERS, FOLDER, PACKAGE}
        assert set(card.metrics) <= set(ANSWER_METRICS)
        special: dict[str, set[str]] = {FOLDER: {"questions"}, PACKAGE: set()}
        files = special.get(card.reader, {"corpus", "questions"})
        for layout in card.shapes:
            assert set(layout.files) - {"training", "validation"} == files
        assert card.license
        assert card.citation
