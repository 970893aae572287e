"""Queries that replace the question: sub-questions, entities, passages and thoughts."""

from builds import FixedTagger
from by_hand import replying

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Keywords, Mentions, Query, Question, Ranked
from methods.decompose.splitting import decompose
from methods.hyde.hypothesis import hypothetical
from methods.ircot.thinking import EndOfThought, Thoughts, first_sentence, think
from operators.question.conversion import entities_keywords, entities_or_phrases

WHICH = Question("q", "Which is older, alpha or gamma?")
TWO = '{"sub_questions": ["alpha", "gamma"]}'
NONSENSE = "alpha, then gamma"


def test_an_undivided_question_is_the_query_and_unreadable_replies_are_fallbacks():
    for replies, texts, counts in (
        (['{"sub_questions": []}'], (WHICH.text,), (0, 0, 0)),
        ([NONSENSE, NONSENSE], (WHICH.text,), (1, 1, 0)),
        ([NONSENSE, TWO], ("alpha", "gamma"), (0, 0, 1)),
    ):
        llm = replying(*replies)
        assert decompose(WHICH, llm=llm) == Query(texts)
        assert (llm.meter.fallbacks, llm.meter.unreadable, llm.meter.corrected) == counts


def test_an_empty_hypothetical_passage_is_replaced_by_the_question():
    for reply, query, n_fallbacks in (
        (" East of the sun. \n", "East of the sun.", 0), (" ... ", WHICH.text, 1),
    ):  # fmt: skip
        llm = replying(reply)
        assert hypothetical(WHICH, llm=llm) == Query((query,))
        assert llm.meter.fallbacks == n_fallbacks


def test_a_thought_becomes_the_query_and_the_answer_ends_the_chain():
    table = ChunkTable.of([("a", "", "alpha beta"), ("b", "", "beta gamma")])
    last = "So the ANSWER IS: gamma."
    for reply, thoughts, query, end in (
        ("Beta is next. And more.", ["Beta is next."], "Beta is next.", None),
        (last, [last], last, EndOfThought(last)),
        (" ... \n", [], WHICH.text, EndOfThought("no thought")),
    ):
        llm = replying(reply)
        result = think(
            WHICH, Ranked([0, 1], [1.0, 0.5]), Thoughts(("First.",)), chunk_table=table, llm=llm,
            tokenizer=OpenAIEncoding(), context_budget=ContextBudget(None),
        )  # fmt: skip
        assert result == (Thoughts(("First.", *thoughts)), Query((query,)), end)
        assert llm.meter.fallbacks == (not thoughts)


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


def names(*sentences: Sentence) -> tuple[str, ...]:
    return entities_or_phrases(WHICH, nlp=FixedTagger(*sentences)).names


def test_entities_are_names_else_phrases_or_keywords() -> None:
    one = Sentence("", (("the Curie Institute", "ORG"), ("Otto's", "PERSON")), ("pupil",), ())
    assert names(one, one) == ("curie institute", "otto")
    assert names(Sentence("", (), ("discoverer", "neutron"), ())) == ("discoverer", "neutron")
    keywords = Keywords(("Ada  Lovelace", "ada lovelace", "!", "Engine"), ("maths",))
    assert entities_keywords(keywords) == Mentions(("ada lovelace", "engine"))
