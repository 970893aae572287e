"""Think-on-Graph: a context of the triples found so far, and an answer if the triples suffice."""

import re
from dataclasses import replace

from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import Exploration
from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.prompts import ContextBudget, Prompt
from graphrag_bench.values import Answer, Context, Piece, Question
from operators.answer.generation import READER_VARIABLES, answer_of, reader_values
from operators.context.rows import with_block


@operator("context.exploration")
def exploration_context(
    exploration: Exploration, *, graph: Graph, tokenizer: Tokenizer, context_budget: ContextBudget
) -> Context:
    """Build a context of the triples found by the search, in order of discovery.

    A piece is a relationship in its stored direction, written as "head, relation, tail". Its score
    is the score of the first hop along the relationship. Triples beyond the token budget are cut.
    Source: ToG (Sun et al. 2024), Section 2.1, reasoning.
    """
    scores: dict[int, float] = {}
    for hop in (hop for hops in exploration.rounds for hop in hops):
        scores.setdefault(hop.relationship, hop.score)
    pieces = []
    for row, score in scores.items():
        text, chunks = ", ".join(graph.triple(row)), graph.chunks_of_triples((row,))
        n_tokens = tokenizer.count(text)
        pieces.append(Piece("relationship", str(row), text, score, n_tokens, chunks=chunks))
    return with_block(None, pieces, context_budget)


@operator("answer.if_enough", calls=1, supplies=READER_VARIABLES)
def if_enough(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:tog/prompts/enough.j2"),
    max_tokens: PositiveInt | None = None,
) -> Answer | None:
    """Answer the question if the language model says that the triples suffice. Else return None.

    A reply that begins with {Yes} contains the answer, either in braces or as the rest of the
    reply. Any other reply means that the triples do not suffice. If there are no triples, the model
    is not called.
    Source: ToG (Sun et al. 2024), Section 2.1, reasoning; Zhou et al. (2025), Section 6.2.
    """
    if not context.pieces:
        return None
    chat = prompt.render(reader_values(question, context.pieces))
    whole = answer_of(llm, chat, question, max_tokens)
    if not (yes := re.match(r"\W*yes\b\W*", whole.text, re.IGNORECASE)):
        return None
    braces = re.findall(r"\{([^{}]+)\}", whole.text)
    others = [brace for brace in braces if brace.strip().lower() != "yes"]
    text = (others[0] if others else whole.text[yes.end() :]).strip(" .{}\n")
    return replace(whole, text=text) if text else None
