"""The question's entities: by the tagger, by noun phrases where it has none, by its keywords."""

from pathlib import Path

import pytest
from toy_runs import TOY, ran, records

from graphrag_bench.models.nlp import Sentence
from graphrag_bench.values import Keywords, Mentions, Question
from methods.conversion import entities_keywords, entities_or_phrases, query_high, query_low

ASKED = Question("q", "who taught the discoverer of the neutron?")


class Read:
    """A tagger that found these entities and phrases in each sentence."""

    identity = "read"

    def __init__(self, *sentences: Sentence) -> None:
        self.found = list(sentences)

    def sentences(self, texts):
        assert list(texts) == [ASKED.text]
        return iter([self.found])


def names(*sentences: Sentence) -> tuple[str, ...]:
    return entities_or_phrases(ASKED, nlp=Read(*sentences)).names


def test_named_entities_come_alone_normalised_and_each_once() -> None:
    one = Sentence("", (("the Curie Institute", "ORG"), ("Otto's", "PERSON")), ("pupil",), ())
    assert names(one, one) == ("curie institute", "otto")


def test_a_question_without_an_entity_gives_its_noun_phrases() -> None:
    assert names(Sentence("", (), ("discoverer", "neutron"), ())) == ("discoverer", "neutron")


def test_a_number_or_date_names_nothing() -> None:
    told = Sentence("", (("1932", "DATE"), ("first", "ORDINAL")), ("neutron",), ())
    assert names(told) == ("neutron",)


def test_neither_gives_none() -> None:
    assert names(Sentence("", (), (), ())) == names() == ()


def test_low_keywords_are_entities_by_their_normalised_names_each_once() -> None:
    found = entities_keywords(
        Keywords(("Ada  Lovelace", "ada lovelace", "!", "Engine"), ("maths",))
    )
    assert found == Mentions(("ada lovelace", "engine"))


@pytest.mark.slow
def test_lightrag_starts_at_names_in_the_question_before_nodes_by_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = [*TOY, "method=llightrag", "method.top_k=1", "answer=off", "reference_rows=off"]
    alone, named = (
        [row["context"]["pieces"][0] for row in records(ran(*own, *more).folder)]
        for more in (["method.linking=[]"], [])
    )
    assert all(piece["kind"] == "node" and piece["score"] < 1 for piece in alone)
    assert [piece["score"] for piece in named].count(1.0) >= 2


def test_a_level_without_keywords_searches_for_the_question_or_for_nothing() -> None:
    asked, words = Question("q", "Who?"), Keywords(low=(), high=("rivers", "seas"))
    assert query_low(asked, words).texts == ("Who?",)
    assert query_low(asked, words, without="nothing").texts == ()
    assert query_high(asked, words, without="nothing").texts == ("rivers, seas",)
