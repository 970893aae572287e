"""IRCoT: a chain of thought in which each new sentence is the next search query."""

import re
from dataclasses import dataclass

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.prompts import ContextBudget, Prompt
from graphrag_bench.text import n_fitting
from graphrag_bench.values import Chunk, Query, Question, Ranked, value

THOUGHT_TOKENS, LAST = 64, "answer is"
"""The token limit of a reply, and the words that mark the last thought, as in IRCoT's code."""
_SENTENCE_END = re.compile(r"\w{3}[.!?][\"')\]]*(?=\s+[\"'(\[]?[A-Z0-9])")
"""The end of a sentence, after a word of at least three characters, i.e. not after "Dr."."""


@value("thoughts")
@dataclass(frozen=True)
class Thoughts:
    """The sentences of a chain of thought, in order."""

    sentences: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)


@value("finished")
@dataclass(frozen=True)
class EndOfThought:
    """The end of a chain of thought. `reason` is the last sentence, or "no thought"."""

    reason: str


@operator("thoughts.begin")
def begin(question: Question) -> Thoughts:
    """Start an empty chain of thought for the question.

    Source: IRCoT (Trivedi et al. 2023), Section 3.
    """
    return Thoughts()


@operator("thoughts.next", calls=1, supplies={"question", "passages", "thoughts"})
def think(
    question: Question,
    chunks: Ranked[Chunk],
    thoughts: Thoughts,
    *,
    chunk_table: ChunkTable,
    llm: ChatModel,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    prompt: Prompt = Prompt("methods:ircot/prompts/thought.j2"),
) -> tuple[Thoughts, Query, EndOfThought | None]:
    """Ask the language model for the next sentence of the chain of thought, i.e. the next query.

    The prompt contains the question, the sentences so far, and as many chunks as fit the context
    budget. Only the first sentence of the reply is used. A sentence that contains "answer is", in
    upper or lower case, ends the chain. An empty reply also ends the chain. The query is then the
    question, which counts as a fallback.
    Source: IRCoT (Trivedi et al. 2023), Section 3.1.
    """
    passages = [chunk_table.passage(row) for row in chunks.ids.tolist()]
    if (most := context_budget.tokens) is not None:
        passages = passages[: n_fitting([tokenizer.count(text) for text in passages], most)]
    values = {"question": question.text, "passages": passages, "thoughts": thoughts.sentences}
    sentence = first_sentence(reply(llm, prompt.render(values), max_tokens=THOUGHT_TOKENS).text)
    if not sentence:
        llm.meter.fallbacks += 1
        return thoughts, Query((question.text,)), EndOfThought("no thought")
    last = EndOfThought(sentence) if LAST in sentence.casefold() else None
    return Thoughts((*thoughts.sentences, sentence)), Query((sentence,)), last


def first_sentence(text: str) -> str:
    """Return the first sentence of the first line with a word, or "" if there is none."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    if not lines:
        return ""
    end = _SENTENCE_END.search(lines[0])
    return lines[0][: end.end()] if end else lines[0]
