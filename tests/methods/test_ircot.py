"""IRCoT's thoughts and their retrievals, worked out by hand."""

from typing import Any

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Query, Question, Ranked
from methods.ircot.thinking import Finished, Thoughts, first_sentence, think

TEXTS = ("alpha beta", "beta gamma", "gamma delta", "delta epsilon", "zeta")
TABLE = ChunkTable.of([(f"d{row}", "", text) for row, text in enumerate(TEXTS)])
ASKED = Question("q", "What of alpha?")


def thought(
    said: str, *before: str, budget: int | None = None, **settings: Any
) -> tuple[Any, Metered]:
    """What the next thought comes to over the first two chunks, and the meter of its call."""
    llm = Metered(Scripted(answer=lambda chat: said))
    found = think(
        ASKED, Ranked([0, 1], [1.0, 0.5]), Thoughts(before),
        chunk_table=TABLE, llm=llm, tokenizer=BytePairs(), context_budget=ContextBudget(budget),
        **settings,
    )  # fmt: skip
    return found, llm


def test_a_thought_is_added_and_becomes_the_query():
    (thoughts, query, finished), llm = thought("Beta is next. And more.", "Alpha is first.")
    assert thoughts == Thoughts(("Alpha is first.", "Beta is next."))
    assert query == Query(("Beta is next.",))
    assert finished is None
    shown = last_user_message(llm.llm.asked[0])
    assert shown == (
        "Passages:\nalpha beta\n\nbeta gamma\n\nQuestion: What of alpha?\n"
        "Thoughts so far:\nAlpha is first.\nNext thought:"
    )


def test_a_thought_with_the_answer_is_the_last_one():
    (_, _, finished), _ = thought("So the ANSWER IS: gamma.")
    assert finished == Finished("So the ANSWER IS: gamma.")
    (_, _, finished), _ = thought("So the answer is: gamma.", end="therefore")
    assert finished is None


def test_a_reply_without_a_word_ends_the_thoughts_and_is_counted():
    (thoughts, query, finished), llm = thought(" ... \n", "Alpha is first.")
    assert thoughts == Thoughts(("Alpha is first.",))
    assert query == Query((ASKED.text,))
    assert finished == Finished("no thought")
    assert llm.fallbacks == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One fact. Another one.", "One fact."),
        ("Dr. A. Marsh of the U.S. Army came. He left.", "Dr. A. Marsh of the U.S. Army came."),
        ("It was in 1905. Then", "It was in 1905."),
        ('He said "no." Then he left.', 'He said "no." Then he left.'),
        ('He said "never." Then he left.', 'He said "never."'),
        ("\n--\nFirst line\nsecond line", "First line"),
        ("half a sentence with v. 2", "half a sentence with v. 2"),
        ("?!", ""),
    ],
)  # fmt: skip
def test_the_first_sentence_ends_before_a_capital_and_not_after_an_initial(text, sentence):
    assert first_sentence(text) == sentence
