"""Judged metrics of GraphRAG-Bench (Xiang et al. 2025), computed only if selected by name.

The formulas and steps follow the authors' evaluation code, and the prompts are from this project.
Source: GraphRAG-Bench/GraphRAG-Benchmark, `Evaluation/metrics`.

Deviation: the judge refers to statements by number. Texts are not truncated; the authors' code
truncates contexts to 20,000 characters, and references and answers to 3,000 characters. A metric
has no value if a reply is unreadable; in the authors' code, correctness is then 0.
"""

from collections.abc import Generator
from typing import Any, Literal

import numpy as np
from pydantic import create_model

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.judging import measures
from graphrag_bench.judging.measures import PROMPTS, AnswerToJudge, Ask, Judging, LoadEmbedder
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import DECIMALS

CLASSED = Prompt(f"{PROMPTS}/classed.j2")
COVERED = Prompt(f"{PROMPTS}/covered.j2")
RATED = Prompt(f"{PROMPTS}/context_rated.j2")
EVIDENCE = Prompt(f"{PROMPTS}/statements_held.j2")
FACTS, SIMILARITY = 0.75, 0.25
"""Weights of the two parts of answer correctness: the F1 of statements and the similarity."""
_Classed = create_model("_Classed", supported=(list[int], ...), missing=(list[int], ...))
_Numbered = create_model("_Numbered", held=(list[int], ...))
_Rated = create_model("_Rated", score=(Literal[0, 1, 2], ...))


def answer_correctness(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge 0.75 * F1 of the statements + 0.25 * similarity to the gold answer, in 0..1.

    True positives are statements of the answer that the gold answer supports, and false positives
    are its other statements. False negatives are statements of the gold answer that the answer
    lacks. The similarity is (cosine + 1) / 2 of the two embeddings. The F1 is 0 if the answer has
    no statements. A refusal scores 0. The tables of the paper call this metric ACC.
    Source: Xiang et al. 2025, `answer_accuracy.py`.
    """
    if case.refused:
        return 0.0
    golds = yield from _gold_claims(case)
    texts = yield from measures.claims(case, case.answer)
    f1 = 0.0
    if texts:
        chat = CLASSED.render({"question": case.question, "answer": texts, "gold": golds})
        reply = yield Ask("correctness", chat, _Classed)
        true = len(measures.in_range(reply.supported, len(texts), "correctness", "statements"))
        missed = len(measures.in_range(reply.missing, len(golds), "correctness", "statements"))
        f1 = round(2 * true / (true + len(texts) + missed), DECIMALS) if true else 0.0
    answer, gold = embedder().encode([case.answer, case.gold], kind="question")
    cosine = np.clip((answer * gold).sum(dtype=np.float64), -1, 1)
    return FACTS * f1 + SIMILARITY * float(cosine + 1) / 2


def _gold_claims(case: AnswerToJudge) -> Generator[Ask, Any, list[str]]:
    golds = yield from measures.claims(case, case.gold)
    if not golds:
        raise UnreadableReply("statements", "no statement of the reference answer")
    return golds


def coverage(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge which fraction of the gold answer's statements is in the answer, in 0..1.

    A refusal scores 0. The tables of the paper call this metric Cov.
    Source: Xiang et al. 2025, `coverage.py`.
    """
    if case.refused:
        return 0.0
    golds = yield from _gold_claims(case)
    chat = COVERED.render({"question": case.question, "statements": golds, "answer": case.answer})
    return (yield from _share(Ask("statements held", chat, _Numbered), len(golds)))


def evidence_statements(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge which fraction of the evidence statements is in the context, in 0..1.

    An empty context scores 0.
    Source: Xiang et al. 2025, `evidence_recall.py`.
    """
    if not case.passages:
        return 0.0
    statements = list(case.statements)
    texts = {"question": case.question, "statements": statements, "passages": case.passages}
    chat = EVIDENCE.render(texts)
    return (yield from _share(Ask("statements held", chat, _Numbered), len(statements)))


def _share(ask: Ask, n: int) -> Judging:
    reply = yield ask
    return len(measures.in_range(reply.held, n, ask.purpose, "statements")) / n


def context_relevance(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge whether the context suffices to answer the question: 1 fully, 0.5 partly, 0 not at all.

    The score is 0 if the context is empty or occurs in the question.
    Source: Xiang et al. 2025, `context_relevance.py`.
    Deviation: the judge rates once; the authors' code averages two ratings, which are equal at
    temperature 0.
    """
    text = "\n".join(case.passages or ()).strip()
    if text in case.question:
        return 0.0
    chat = RATED.render({"question": case.question, "passages": case.passages})
    reply = yield Ask("context relevance", chat, _Rated)
    return float(reply.score / 2)
