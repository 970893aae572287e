"""The two sets of the repository are what their cards say, and their questions are fair."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from graphrag_bench.data.dataset import Dataset, card_names, load_card
from graphrag_bench.data.readers import FOLDER, READERS, read_dataset
from graphrag_bench.evaluation.answers import DEFAULT
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.files import project_folder
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Question

OWN = ("toy", "sample")
MULTI_HOP = ("two-hop", "three-hop")


@pytest.fixture(scope="module", params=OWN)
def own(request: pytest.FixtureRequest) -> Dataset:
    return read_dataset(request.param)


def passages(data: Dataset) -> dict[str, str]:
    return {document.id: document.passage for document in data.documents}


def of_types(data: Dataset, *types: str) -> Iterator[Question]:
    return (question for question in data.questions if data.gold[question.id].type in types)


def holds(passage: str, words: str) -> bool:
    """Whether the passage holds the words as whole words, signs and case aside."""
    return f" {normalise_name(words)} " in f" {normalise_name(passage)} "


def test_the_sets_have_the_rows_that_their_cards_count_and_pin(own: Dataset) -> None:
    rows = {"questions": own.questions, "documents": own.documents}
    assert own.card.counts == {kind: len(every) for kind, every in rows.items()}
    assert own.card.pinned
    for kind, pins in own.card.pinned.items():
        assert {row: rows[kind][row].id for row in pins} == pins


def test_every_question_has_its_evidence_and_names_its_entities(own: Dataset) -> None:
    texts = passages(own)
    for question in own.questions:
        gold = own.gold[question.id]
        assert set(gold.evidence) <= set(texts)
        assert len(set(gold.evidence)) == len(gold.evidence)
        assert all(holds(question.text, entity) for entity in gold.entities), question
    for question in of_types(own, "one-hop", *MULTI_HOP):
        gold = own.gold[question.id]
        assert gold.hops == {"one-hop": 1, "two-hop": 2, "three-hop": 3}[gold.type]
        assert len(gold.evidence) == gold.hops, question
        last = DEFAULT.normal(texts[gold.evidence[-1]])
        assert any(DEFAULT.normal(answer) in last for answer in gold.answers), question
    for question in of_types(own, "abstract"):
        assert own.gold[question.id].answers == own.gold[question.id].evidence == ()


def test_no_single_passage_answers_a_multi_hop_question(own: Dataset) -> None:
    for question in of_types(own, *MULTI_HOP):
        gold = own.gold[question.id]
        assert gold.entities, question
        for name, passage in passages(own).items():
            whole = all(holds(passage, entity) for entity in gold.entities)
            answered = any(holds(passage, answer) for answer in gold.answers)
            assert not (whole and answered), (question, name)


@pytest.mark.parametrize("name", card_names())
def test_every_card_names_itself_a_reader_and_metrics_that_exist(name: str) -> None:
    card = load_card(name)
    assert card.name == name
    assert {layout.reader for layout in card.shapes} <= {*READERS, FOLDER}
    assert set(card.metrics) <= set(ANSWER_METRICS)
    files = {"questions"} if card.reader == FOLDER else {"corpus", "questions"}
    for layout in card.shapes:
        assert set(layout.files) - {"training", "validation"} == files
    assert card.license
    assert card.citation


def rows(name: str) -> list[dict[str, Any]]:
    text = (project_folder("datasets") / "sample" / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_annotations_are_of_the_text_and_consistent() -> None:
    """Spans are the text at their place, an entity has one type, ends are entities or words."""
    texts = {row["id"]: row["text"] for row in rows("corpus.jsonl")}
    types: dict[str, str] = {}
    for row in rows("annotations.jsonl"):
        text, end = texts.pop(row["id"]), 0
        for mention in row["mentions"]:
            assert end <= mention["start"] < mention["end"]
            end = mention["end"]
            assert text[mention["start"] : end] == mention["text"]
            assert types.setdefault(mention["entity"], mention["type"]) == mention["type"]
        entities = {one["entity"] for one in row["mentions"]}
        for triple in row.get("triples", ()):
            for one in (triple["head"], triple["tail"]):
                words = one.get("text", "").casefold().split()
                assert triple["relation"].strip() and (one.get("entity") in entities or words)
                assert all(word in text.casefold() for word in words)
    assert len(set(types.values())) == 9
