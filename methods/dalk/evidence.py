"""DALK: rewrite the triples of a subgraph as sentences, and answer by reasoning over them."""

from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Answer, Context, Piece, Question, Subgraph
from operators.answer.generation import READER_VARIABLES, answer_of, reader_values

REASONING_TOKENS = 128
"""The token limit of two replies: the sentences and the reasoning."""


@operator("context.evidence", calls=1, supplies={"triples"})
def evidence(
    subgraph: Subgraph,
    context: Context | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    tokenizer: Tokenizer,
    prompt: Prompt = Prompt("methods:dalk/prompts/sentences.j2"),
    label: str = "Path-based Evidence",
) -> Context:
    """Let the language model rewrite the triples of the subgraph as sentences for the context.

    The sentences are added to the context as one piece, which begins with `label`. If the subgraph
    is empty, nothing is added and the model is not called.
    Source: DALK (Li et al. 2024), Section 3.3; Zhou et al. (2025), Section 6.2.
    """
    before = context or Context(())
    stated = [", ".join(graph.triple(row)) for row in subgraph.relationships]
    if not (lines := [*stated, *subgraph.texts]):
        return before
    chat = prompt.render({"triples": lines})
    text = f"{label}: {reply(llm, chat, max_tokens=REASONING_TOKENS).text.strip()}"
    piece = Piece("evidence", label, text, 1.0, tokenizer.count(text), chunks=())
    return Context((*before.pieces, piece), before.cut, before.share)


@operator("answer.stepwise", calls=2, supplies=READER_VARIABLES | {"reasoning"})
def stepwise(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    steps_prompt: Prompt = Prompt("methods:dalk/prompts/steps.j2"),
    prompt: Prompt = Prompt("methods:dalk/prompts/answer.j2"),
    max_tokens: PositiveInt | None = None,
) -> Answer:
    """Answer the question in two calls: reason step by step over the evidence, then answer.

    The second prompt gets the reasoning in the variable `reasoning` and as the last block.
    Source: DALK (Li et al. 2024), Section 3.3; Zhou et al. (2025), Section 6.2.
    """
    first = {**reader_values(question, context.pieces), "reasoning": ""}
    steps = reply(llm, steps_prompt.render(first), max_tokens=REASONING_TOKENS).text.strip()
    thought = Piece("reasoning", "steps", steps, 1.0, count_tokens(steps))
    values = reader_values(question, (*context.pieces, thought))
    chat = prompt.render({**values, "pieces": context.pieces, "reasoning": steps})
    return answer_of(llm, chat, question, max_tokens)
