"""The question's entities: by the tagger, by noun phrases where it has none, by its keywords."""

from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.values import Keywords, Mentions, Question
from operators.question.entities import entities_keywords, entities_or_phrases

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


def test_low_keywords_are_entities_by_their_normalised_names_each_once() -> None:
    found = entities_keywords(
        Keywords(("Ada  Lovelace", "ada lovelace", "!", "Engine"), ("maths",))
    )
    assert found == Mentions(("ada lovelace", "engine"))
