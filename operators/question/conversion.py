"""Operators that find the entities and keywords of a question, and make queries from keywords.

Names of entities are normalised. Duplicate entities and keywords are removed.
"""

from typing import Literal

from pydantic import BaseModel, PositiveInt

from graphrag_bench.algorithms.name_dictionary import bare_name
from graphrag_bench.arrays import unique
from graphrag_bench.contract import operator
from graphrag_bench.embedding.nlp import NUMERIC, Nlp
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import is_placeholder_name, normalise_name
from graphrag_bench.values import Keywords, Mentions, Query, Question

ENTITIES = Prompt("operators:question/prompts/question_entities.j2")


class NamedEntities(BaseModel):
    """Reply to the entity prompt."""

    named_entities: list[str]


@operator("question.entities.given", order="the order in which they are given")
def entities_given(question: Question) -> Mentions:
    """Return the topic entities that the data set stores with the question, without duplicates.

    The names are not normalised. Topic entities are not the gold answers of the question.
    Source: RoG (Luo et al. 2024), field `q_entity`; SubgraphRAG (Li et al. 2025), Section 2.
    """
    return Mentions(unique(question.entities))


@operator("question.entities.nlp", order="the order in the question")
def entities_nlp(question: Question, *, nlp: Nlp) -> Mentions:
    """Return the named entities that spaCy finds in the question.

    Source: HippoRAG (Gutierrez et al. 2024), Section 2.3.
    """
    return _mentions(nlp.entities(question.text))


@operator("question.entities.nlp_or_phrases", order="the order in the question")
def entities_or_phrases(question: Question, *, nlp: Nlp) -> Mentions:
    """Return the named entities that spaCy finds in the question, or else its noun phrases.

    Numbers, amounts and dates do not count as named entities.
    Source: HippoRAG (Gutierrez et al. 2024), Section 2.3.
    """
    (sentences,) = nlp.sentences([question.text])
    entities = [pair for sentence in sentences for pair in sentence.entities]
    names = [name for name, label in entities if label not in NUMERIC]
    phrases = [phrase for sentence in sentences for phrase in sentence.phrases]
    return _mentions([bare_name(name) for name in names or phrases])


@operator("question.entities.llm", calls=2, supplies={"question"}, order="the order of the reply")
def entities_llm(
    question: Question, *, llm: ChatModel, prompt: Prompt = ENTITIES, max_tokens: PositiveInt = 128
) -> Mentions:
    """Return the named entities that a language model finds in the question.

    Raises UnreadableReply after two replies that are not valid JSON.
    Source: HippoRAG (Gutierrez et al. 2024), Section 2.3 and its query prompt.
    """
    chat = prompt.render({"question": question.text})
    reply = ask(llm, chat, NamedEntities, max_tokens=max_tokens, purpose="question entities")
    return _mentions(reply.named_entities)


def _mentions(names: list[str]) -> Mentions:
    normal = [normalise_name(name) for name in names if not is_placeholder_name(name)]
    return Mentions(unique([name for name in normal if name]))


@operator("question.entities.keywords", order="the order of the keywords")
def entities_keywords(keywords: Keywords) -> Mentions:
    """Return the low-level keywords of the question as entities, which can be linked to nodes.

    Source: LightRAG (Guo et al. 2024), Section 3.2: low-level keywords are entities and details.
    """
    return _mentions(list(keywords.low))


KEYWORDS = Prompt("operators:question/prompts/keywords.j2")


class KeywordReply(BaseModel):
    """Reply to the keyword prompt."""

    high_level_keywords: list[str]
    low_level_keywords: list[str]


@operator("question.keywords.llm", calls=2, supplies={"question"}, order="the order of the reply")
def keywords_llm(
    question: Question, *, llm: ChatModel, prompt: Prompt = KEYWORDS, max_tokens: PositiveInt = 160
) -> Keywords:
    """Return the high-level and low-level keywords of the question, found by a language model.

    Raises UnreadableReply after two replies that are not valid JSON.
    Source: LightRAG (Guo et al. 2024), Section 3.2; Zhou et al. (2025), Section 6.
    """
    chat = prompt.render({"question": question.text})
    keywords = ask(llm, chat, KeywordReply, max_tokens=max_tokens, purpose="keywords")
    return Keywords(_words(keywords.low_level_keywords), _words(keywords.high_level_keywords))


@operator("question.keywords.nlp", order="the order in the question")
def keywords_nlp(question: Question, *, nlp: Nlp) -> Keywords:
    """Return the high-level and low-level keywords of the question, found by spaCy.

    Named entities become low-level keywords, and noun phrases become high-level keywords.
    Source: LightRAG (Guo et al. 2024), Section 3.2.
    """
    (sentences,) = nlp.sentences([question.text])
    entities = [name for sentence in sentences for name, _ in sentence.entities]
    phrases = [phrase for sentence in sentences for phrase in sentence.phrases]
    return Keywords(_words(entities), _words(phrases))


Fallback = Literal["question", "nothing"]


@operator("query.low")
def query_low(question: Question, keywords: Keywords, *, fallback: Fallback = "question") -> Query:
    """Join the low-level keywords of the question by commas and return them as a query.

    If there are no keywords, the query is the question. With `fallback="nothing"`, it is empty.
    Source: LightRAG (Guo et al. 2024), Section 3.3; Zhou et al. (2025), Section 6.
    """
    return _joined(keywords.low, question, fallback)


@operator("query.high")
def query_high(question: Question, keywords: Keywords, *, fallback: Fallback = "question") -> Query:
    """Join the high-level keywords of the question by commas and return them as a query.

    If there are no keywords, the query is the question. With `fallback="nothing"`, it is empty.
    Source: LightRAG (Guo et al. 2024), Section 3.3; Zhou et al. (2025), Section 6.
    """
    return _joined(keywords.high, question, fallback)


def _joined(words: tuple[str, ...], question: Question, fallback: Fallback) -> Query:
    if words:
        return Query((", ".join(words),))
    return Query((question.text,) if fallback == "question" else ())


def _words(words: list[str]) -> tuple[str, ...]:
    return unique([word.strip() for word in words if word.strip()])
