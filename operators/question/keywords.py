"""The keywords of a question on two levels, and the queries of each."""

from typing import Literal

from pydantic import BaseModel, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Keywords, Query, Question, unique

KEYWORD_PROMPT = Prompt("operators:question/prompts/keywords.j2")


class KeywordReply(BaseModel):
    """What the keyword prompt returns."""

    high_level_keywords: list[str]
    low_level_keywords: list[str]


@operator(
    "question.keywords.llm", calls=2, supplies={"question"}, 
    unordered="the order of the reply",
)  # fmt: skip
def keywords_llm(
    question: Question,
    *,
    llm: ChatModel,
    prompt: Prompt = KEYWORD_PROMPT,
    max_tokens: PositiveInt = 160,
) -> Keywords:
    """The high-level and low-level keywords of the question by the model, each once, in order.

    Raises UnreadableReply when two successive replies are not such JSON.
    Source: LightRAG (Guo et al. 2024), section 3.2; Zhou et al. 2025, section 6.
    """
    chat = prompt.render({"question": question.text})
    keywords = ask(llm, chat, KeywordReply, max_tokens=max_tokens, purpose="keywords")
    return Keywords(_words(keywords.low_level_keywords), _words(keywords.high_level_keywords))


@operator("question.keywords.nlp", unordered="the order in the question")
def keywords_nlp(question: Question, *, nlp: Nlp) -> Keywords:
    """Named entities as low-level keywords, other noun phrases as high-level ones, by spaCy.

    Source: LightRAG (Guo et al. 2024), section 3.2, with a tagger instead of the model.
    """
    (sentences,) = nlp.sentences([question.text])
    named = [name for sentence in sentences for name, _ in sentence.entities]
    phrases = [phrase for sentence in sentences for phrase in sentence.phrases]
    return Keywords(_words(named), _words(phrases))


Without = Literal["question", "nothing"]


@operator("query.low")
def query_low(question: Question, keywords: Keywords, *, without: Without = "question") -> Query:
    """The low-level keywords joined by a comma; the question itself when there is none.

    With `without="nothing"` nothing is searched for where there is no keyword.

    Source: LightRAG (Guo et al. 2024), section 3.3; Zhou et al. 2025, section 6 (fallback: ours).
    """
    return _joined(keywords.low, question, without)


@operator("query.high")
def query_high(question: Question, keywords: Keywords, *, without: Without = "question") -> Query:
    """The high-level keywords joined by a comma; the question itself when there is none.

    With `without="nothing"` nothing is searched for where there is no keyword.

    Source: LightRAG (Guo et al. 2024), section 3.3; Zhou et al. 2025, section 6 (fallback: ours).
    """
    return _joined(keywords.high, question, without)


def _joined(words: tuple[str, ...], question: Question, without: Without) -> Query:
    if words:
        return Query((", ".join(words),))
    return Query((question.text,) if without == "question" else ())


def _words(words: list[str]) -> tuple[str, ...]:
    return unique([word.strip() for word in words if word.strip()])
