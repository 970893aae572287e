"""HyDE: write a hypothetical passage that answers the question, and search for similar chunks."""

import re

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Chunk, Query, Question, Ranked

PROMPT = Prompt("methods:hyde/prompts/passage.j2")


@operator("question.hypothetical", calls=1, supplies={"question"})
def hypothetical(
    question: Question, *, llm: ChatModel, prompt: Prompt = PROMPT, max_tokens: PositiveInt = 160
) -> Query:
    """Ask the language model for a hypothetical passage that answers the question.

    The passage is the query, even if it is false or truncated. If the reply is empty, the query is
    the question, which counts as a fallback.
    Source: HyDE (Gao et al., ACL 2023), Section 3.2.
    """
    passage = reply(llm, prompt.render({"question": question.text}), max_tokens=max_tokens).text
    if re.search(r"\w", passage):
        return Query((passage.strip(),))
    llm.meter.fallbacks += 1
    return Query((question.text,))


@operator("chunk.vdb_mean")
def vdb_mean(
    question: Question,
    query: Query,
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    with_question: bool = True,
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """Rank chunks by cosine similarity to the mean vector of the query texts and the question.

    Query texts are embedded as passages and the question as a question. If `with_question` is
    false, the question is left out. The mean of the unit vectors is normalised. The score is the
    cosine (-1..1). If the mean is zero, all scores are 0.
    Source: HyDE (Gao et al., ACL 2023), Section 3.2, Equations 7 and 8.
    """
    if not query.texts:
        return Ranked.empty()
    vectors = [embedder.encode(list(query.texts), kind="passage")]
    if with_question:
        vectors.append(embedder.encode([question.text], kind="question"))
    mean = np.concatenate(vectors).mean(axis=0, keepdims=True)
    length = np.linalg.norm(mean)
    unit = np.asarray(mean / length if length else mean, np.float32)
    (best,) = chunk_index.search(unit, top_k)
    return best
