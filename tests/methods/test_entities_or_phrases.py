"""A question without a named entity gives its noun phrases, so that it is not silently empty."""

from graphrag_bench.models.nlp import Sentence
from graphrag_bench.values import Question
from methods.conversion import entities_or_phrases

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
