"""Queries that replace the question: sub-questions, entities, passages and thoughts."""

from typing import Any

from builds import FixedTagger
from by_hand import replying

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Keywords, Mentions, Query, Question, Ranked
from methods.decompose.splitting import decompose
from methods.hyde.hypothesis import hypothetical
from methods.ircot.thinking import EndOfThought, Thoughts, first_sentence, think
from operators.question.conversion import entities_keywords, entities_or_phrases

WHICH = Question("q", "Which is older, alpha or gamma?")
TWO = '{"sub_questions": ["alpha", "gamma"]}'
NONSENSE = "alpha, then gamma"


def split(*replies: str, **settings: Any) -> tuple[tuple[str, ...], Scripted]:
    llm = replying(*replies)
    return decompose(WHICH, llm=llm, **settings).texts, llm


def test_an_undivided_question_is_the_query_and_unreadable_replies_are_fallbacks():
    texts, llm = split('{"sub_questions": []}')
    assert texts == (WHICH.text,)
    assert llm.meter.fallbacks == 0
    texts, llm = split(NONSENSE, NONSENSE)
    assert texts == (WHICH.text,)
    assert (llm.meter.fallbacks, llm.meter.unreadable, len(llm.meter.replies)) == (1, 1, 2)
    texts, llm = split(NONSENSE, TWO)
    assert texts == ("alpha", "gamma")
    assert (llm.meter.fallbacks, llm.meter.corrected) == (0, 1)


EAST = Question("q", "east")


def test_an_empty_hypothetical_passage_is_replaced_by_the_question():
    llm = replying(" East of the sun. \n")
    assert hypothetical(EAST, llm=llm) == Query(("East of the sun.",))
    assert llm.meter.fallbacks == 0
    llm = replying(" ... ")
    assert hypothetical(EAST, llm=llm) == Query(("east",))
    assert llm.meter.fallbacks == 1


TEXTS = ("alpha beta", "beta gamma", "gamma delta", "delta epsilon", "zeta")
TABLE = ChunkTable.of([(f"d{row}", "", text) for row, text in enumerate(TEXTS)])
ALPHA = Question("q", "What of alpha?")


def thought(reply: str, *before: str) -> tuple[Any, Scripted]:
    llm = replying(reply)
    result = think(
        ALPHA, Ranked([0, 1], [1.0, 0.5]), Thoughts(before),
        chunk_table=TABLE, llm=llm, tokenizer=OpenAIEncoding(), context_budget=ContextBudget(None),
    )  # fmt: skip
    return result, llm


def test_a_thought_becomes_the_query_and_the_answer_ends_the_chain():
    (thoughts, query, finished), llm = thought("Beta is next. And more.", "Alpha is first.")
    assert thoughts == Thoughts(("Alpha is first.", "Beta is next."))
    assert query == Query(("Beta is next.",))
    assert finished is None
    (_, _, finished), _ = thought("So the ANSWER IS: gamma.")
    assert finished == EndOfThought("So the ANSWER IS: gamma.")
    (thoughts, query, finished), llm = thought(" ... \n", "Alpha is first.")
    assert thoughts == Thoughts(("Alpha is first.",))
    assert query == Query((ALPHA.text,))
    assert finished == EndOfThought("no thought")
    assert llm.meter.fallbacks == 1


def test_first_sentence():
    for text, sentence in (
        ("One fact. Another one.", "One fact."),
        ("Dr. A. Marsh of the U.S. Army came. He left.", "Dr. A. Marsh of the U.S. Army came."),
        ('He said "no." Then he left.', 'He said "no." Then he left.'),
        ('He said "never." Then he left.', 'He said "never."'),
        ("\n--\nFirst line\nsecond line", "First line"),
        ("?!", ""),
    ):  # fmt: skip
        assert first_sentence(text) == sentence


WHO = Question("q", "who taught the discoverer of the neutron?")


def names(*sentences: Sentence) -> tuple[str, ...]:
    return entities_or_phrases(WHO, nlp=FixedTagger(*sentences)).names


def test_entities_are_names_else_phrases_or_keywords() -> None:
    one = Sentence("", (("the Curie Institute", "ORG"), ("Otto's", "PERSON")), ("pupil",), ())
    assert names(one, one) == ("curie institute", "otto")
    assert names(Sentence("", (), ("discoverer", "neutron"), ())) == ("discoverer", "neutron")
    keywords = Keywords(("Ada  Lovelace", "ada lovelace", "!", "Engine"), ("maths",))
    assert entities_keywords(keywords) == Mentions(("ada lovelace", "engine"))
