"""DALK: triples rewritten as sentences, and an answer reasoned from them step by step."""

from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Answer, Context, Piece, Question, Subgraph
from operators.answer.direct import READER_VARIABLES, answer_of, reader_values

SENTENCES = Prompt("methods:dalk/prompts/sentences.j2")
STEPS = Prompt("methods:dalk/prompts/steps.j2")
FINAL = Prompt("methods:dalk/prompts/answer.j2")
REASONING_TOKENS = 128
"""Tokens of the sentences, and of the reasoning."""


@operator("context.evidence", calls=1, supplies={"triples"})
def evidence(
    subgraph: Subgraph,
    context: Context | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    tokenizer: Tokenizer,
    prompt: Prompt = SENTENCES,
    label: str = "Path-based Evidence",
) -> Context:
    """Add the subgraph's triples to the context, rewritten as sentences by the model.

    They form one piece, headed by `label`. An empty subgraph adds nothing and makes no call. Raises
    CallFailed if the model does not reply.
    Source: DALK (Li et al. 2024), section 3.3; Zhou et al. 2025, section 6.2.
    """
    before = context or Context(())
    lines = [", ".join(graph.triple(row)) for row in subgraph.relationships]
    lines += list(subgraph.texts)
    if not lines:
        return before
    summary = reply(
        llm, prompt.render({"triples": lines}), max_tokens=REASONING_TOKENS
    ).text.strip()
    text = f"{label}: {summary}"
    piece = Piece("evidence", label, text, 1.0, tokenizer.count(text), chunks=())
    return Context((*before.pieces, piece), before.cut, before.share)


@operator("answer.stepwise", calls=2, supplies=READER_VARIABLES | {"reasoning"})
def stepwise(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    steps_prompt: Prompt = STEPS,
    prompt: Prompt = FINAL,
    max_tokens: PositiveInt | None = None,
) -> Answer:
    """Answer after step-by-step reasoning over the evidence, in two calls.

    The answer prompt gets the `reasoning`, which is also the last of its `blocks`. The question's
    answer form limits the answer, unless `max_tokens` does. Raises CallFailed if the model does not
    reply.
    Source: DALK (Li et al. 2024), section 3.3; Zhou et al. 2025, section 6.2.
    """
    first = {**reader_values(question, context.pieces), "reasoning": ""}
    steps = reply(llm, steps_prompt.render(first), max_tokens=REASONING_TOKENS).text.strip()
    thought = Piece("reasoning", "steps", steps, 1.0, count_tokens(steps))
    values = reader_values(question, (*context.pieces, thought))
    chat = prompt.render({**values, "pieces": context.pieces, "reasoning": steps})
    return answer_of(llm, chat, question, max_tokens)
