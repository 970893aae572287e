"""Metrics of a single answer that need a judge model.

A metric is a generator that yields prompts for the judge, receives the parsed replies, and returns
a value in 0..1. An answer whose reply cannot be parsed has no value.

The last four metrics are those of GraphRAG-Bench (Xiang et al. 2025), with our prompts.
Source: GraphRAG-Bench/GraphRAG-Benchmark, `Evaluation/metrics`.
Deviation: the judge refers to statements by number. Texts are not truncated; the authors' code
truncates contexts to 20,000 characters, and references and answers to 3,000 characters. After an
unreadable reply, correctness is 0 in the authors' code.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
from pydantic import BaseModel, create_model

from graphrag_bench.arrays import DECIMALS
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.evaluation.answers import abstains
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import Prompt

PROMPTS = "graphrag_bench.judging:prompts"
N_QUESTIONS = 3
"""Number of questions that the judge generates from an answer in one reply. Deviation: Es et al.
generate each question in a separate call. At temperature 0 these questions would be equal.
"""
LONG_LIST, WORDS_OF_ENTRY, WORDS_OF_NAME = 5, 6, 4
"""A list has at least 5 entries of at most 6 words. A short name has at most 4 words."""
_ENTRY = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(.*?)\s*$")
_BETWEEN = re.compile(r"[\n;,/]|\b(?:and|or|nor)\b", re.IGNORECASE)
_CLAUSES = re.compile(r"[.!?;:\n]+|\b(?:but|however|though|although|yet)\b", re.IGNORECASE)
_APOLOGY = re.compile(r"(?:i am |i.?m )?(?:very )?(?:sorry|unfortunately|i apologi[sz]e)")


class NothingToJudge(Exception):
    """Raised if an answer has nothing to judge, for example if it makes no statement."""


Supported = create_model("Supported", number=(int, ...), supported=(bool, ...))
_GoldStatement = create_model("_GoldStatement", text=(str, ...), found=(bool, ...))
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "statements": {"statements": list[str]},
    "offered": {"offered": list[str]},
    "agrees": {"agrees": bool},
    "supported": {"verdicts": list[Supported]},  # type: ignore[valid-type]
    "asked_back": {"questions": list[str], "evasive": bool},
    "context_recall": {"statements": list[_GoldStatement]},  # type: ignore[valid-type]
    "context_precision": {"useful": list[int]},
    "classed": {"supported": list[int], "missing": list[int]},
    "covered": {"held": list[int]},
    "statements_held": {"held": list[int]},
    "context_rated": {"score": Literal[0, 1, 2]},
}
"""Fields of the judge's reply to each prompt."""
ASKED: Mapping[str, tuple[Prompt, type[BaseModel]]] = {
    name: (Prompt(f"{PROMPTS}/{name}.j2"), create_model(name, **fields))
    for name, fields in _FIELDS.items()
}
"""Prompts for the judge, with the schemas of the replies, by name."""


@dataclass(frozen=True)
class AnswerToJudge:
    """Answer to judge, with its question, gold answers and context.

    `passages` are the texts of the context in ranked order, or None if they are not stored.
    `context` is the fingerprint of the recorded context, or "" if there is none. If `listed` is
    true, the gold answers are the items of one list; otherwise they are aliases. `statements` are
    the evidence statements of the data set.
    """

    id: str
    question: str
    answer: str
    golds: tuple[str, ...] = ()
    passages: tuple[str, ...] | None = None
    listed: bool = False
    context: str = ""
    statements: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the answer is a refusal although no gold answer is a refusal."""
        return refuses(self.answer, self.golds) and not any(map(abstains, self.golds))

    @property
    def gold(self) -> str:
        """Gold answer as one text: all items of a list, or the first alias."""
        return ", ".join(self.golds) if self.listed else self.golds[0]


@dataclass(frozen=True)
class Judgement:
    """Judged value in 0..1; if the value is None, `missing` and `reason` explain why."""

    value: float | None
    missing: Literal["", "failed", "unreadable", "nothing"] = ""
    reason: str = ""


Ask = tuple[str, Mapping[str, object]]
"""Name of a prompt, and its variables in addition to the fields of the judged answer."""
Judging = Generator[Ask, Any, float]
LoadEmbedder = Callable[[], Embedder]
JudgedMetric = Callable[[AnswerToJudge, LoadEmbedder], Judging]


def judge(
    metric: JudgedMetric, llm: ChatModel, embedder: LoadEmbedder, cases: Sequence[AnswerToJudge]
) -> list[Judgement]:
    """Return the judgement of each answer; the prompts of all answers are sent in parallel."""
    judgings = [metric(case, embedder) for case in cases]
    judgements: dict[int, Judgement] = {}
    replies: dict[int, Any] = dict.fromkeys(range(len(cases)))
    while replies:
        asked: dict[str, dict[int, Chat]] = {}
        for row, reply in replies.items():
            try:
                if isinstance(reply, CallFailed | UnreadableReply):
                    raise reply
                name, more = judgings[row].send(reply)
                chat = ASKED[name][0].render({**vars(cases[row]), **more})
                asked.setdefault(name, {})[row] = chat
            except StopIteration as end:
                judgements[row] = Judgement(round(end.value, DECIMALS))
            except CallFailed as error:
                judgements[row] = Judgement(None, "failed", str(error))
            except UnreadableReply as error:
                judgements[row] = Judgement(None, "unreadable", str(error))
            except NothingToJudge as error:
                judgements[row] = Judgement(None, "nothing", str(error))
        replies = {}
        for name, chats in asked.items():
            answers = ask_each(
                llm, list(chats.values()), json_format(ASKED[name][1], name),
                max_tokens=1024, items=[cases[row].id for row in chats],
            )  # fmt: skip
            replies |= zip(chats, answers, strict=True)
    return [judgements[row] for row in range(len(cases))]


def in_range(numbers: Sequence[int], n: int, prompt: str) -> set[int]:
    """Return the numbers in a reply as a set; raise UnreadableReply for a number outside 1..n."""
    if not set(numbers) <= set(range(1, n + 1)):
        raise UnreadableReply(prompt, f"{list(numbers)} outside 1..{n}")
    return set(numbers)


def refuses(answer: str, golds: Sequence[str] = ()) -> bool:
    """Return whether an answer is empty or abstains in every clause.

    An answer that contains a gold answer is not a refusal, unless this gold answer is yes or no.

    >>> refuses("I do not know."), refuses("I do not know, but perhaps Ada Marsh.", ["Ada Marsh"])
    (True, False)
    """
    named = {*map(plain, golds)} - {"yes", "no", ""}
    if not abstains(answer) or any(f" {gold} " in f" {plain(answer)} " for gold in named):
        return False
    clauses = map(plain, _CLAUSES.split(answer))
    return all(abstains(clause) or _APOLOGY.fullmatch(clause) for clause in clauses)


def claims(text: str) -> Generator[Ask, Any, list[str]]:
    """Ask which statements a text makes in answer to the question (Es et al. 2024, section 3)."""
    reply = yield "statements", {"answer": text}
    return [claim for claim in reply.statements if claim.strip()]


def correctness(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge whether the answer states the gold answer and no other answer: 1 if it does, else 0.

    Rules extract the stated answers from a short name or a long list. The judge extracts them from
    other texts. The judge does not see the gold answer, because it would then overlook wrong items
    in a list. If rules cannot tell whether the stated answers agree with the gold answer, the judge
    decides in a second call. A refusal is right only if the gold answer is a refusal.
    """
    if refuses(case.answer, case.golds):
        return float(not case.refused)
    answer, entries = case.answer, _entries(case.answer)
    is_name = len(answer.split()) <= WORDS_OF_NAME and len(entries) == 1
    short = all(len(entry.split()) <= WORDS_OF_ENTRY for entry in entries)
    if _mark([answer], case) == 1 or (is_name and not abstains(answer)):
        offered = [answer]
    elif short and len(entries) >= LONG_LIST:
        offered = entries
    else:
        reply = yield "offered", {}
        offered = reply.offered
    if (mark := _mark(offered, case)) is not None:
        return mark
    first = {plain(text): text for text in reversed(offered)}
    distinct = [first[name] for name in dict.fromkeys(map(plain, offered)) if name]
    reply = yield "agrees", {"offered": distinct}
    return float(reply.agrees)


def _entries(text: str) -> list[str]:
    return list(filter(None, (_ENTRY.sub(r"\1", part) for part in _BETWEEN.split(text))))


def plain(text: str) -> str:
    """Return a text in lower case without punctuation at its ends; "-5" and "C#" are kept.

    >>> plain("  Ada  Marsh.")
    'ada marsh'
    """
    return " ".join(normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'“”‘’*")


def _mark(offered: Sequence[str], case: AnswerToJudge) -> float | None:
    """Return the value, or None if the judge must compare the answers with the gold answers."""
    texts, golds = ({plain(text) for text in texts} - {""} for texts in (offered, case.golds))
    if texts and (texts == golds if case.listed else texts <= golds):
        return 1.0
    # an alias can also be a list of several answers
    sizes = {len(golds)} if case.listed else {1, *(len(_entries(gold)) for gold in case.golds)}
    return None if len(texts) in sizes - {0} else 0.0


def faithfulness(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge which fraction of the answer's statements is supported by the context, in 0..1.

    There is no value for an answer without statements, such as a refusal.
    Source: Es et al. 2024, section 3.
    """
    claimed = [] if refuses(case.answer) else (yield from claims(case.answer))
    if not claimed:
        raise NothingToJudge("the answer makes no statement")
    reply = yield "supported", {"statements": claimed}
    n = len(claimed)
    if sorted(one.number for one in reply.verdicts) != list(range(1, n + 1)):
        raise UnreadableReply("supported", f"{len(reply.verdicts)} verdicts on {n} statements")
    return fmean(one.supported for one in reply.verdicts)


def relevance(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge the mean cosine similarity between the question and questions inferred from the answer.

    A negative mean counts as 0. A refusal scores 0, and so does an evasive answer, as in ragas.
    Source: Es et al. 2024, section 3.
    """
    if case.refused:
        return 0.0
    reply = yield "asked_back", {"n": N_QUESTIONS}
    questions = [text for text in reply.questions if text.strip()][:N_QUESTIONS]
    if not questions:
        raise UnreadableReply("asked_back", "no question")
    vectors = embedder().encode([case.question, *questions], kind="question")
    cosines = np.asarray(vectors[1:] @ vectors[0], np.float64)
    return 0.0 if reply.evasive else min(max(fmean(cosines), 0.0), 1.0)


def recall(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge which fraction of the gold answer's statements is in the context (0 if it is empty).

    Source: ragas.
    """
    if not case.passages:
        return 0.0
    reply = yield "context_recall", {"gold": case.gold}
    if not reply.statements:
        raise UnreadableReply("context_recall", "no statement of the reference answer")
    return fmean(one.found for one in reply.statements)


def precision(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge the mean precision@k over the ranks k of useful passages; 0 for an empty context.

    Source: ragas.
    Deviation: one prompt shows all passages; ragas asks about one passage at a time.
    """
    if not case.passages:
        return 0.0
    reply = yield "context_precision", {"gold": case.gold}
    ranks = sorted(in_range(reply.useful, len(case.passages), "context_precision"))
    return fmean(n / rank for n, rank in enumerate(ranks, 1)) if ranks else 0.0


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
    texts = yield from claims(case.answer)
    f1 = 0.0
    if texts:
        reply = yield "classed", {"answer": texts, "gold": golds}
        true = len(in_range(reply.supported, len(texts), "classed"))
        missed = len(in_range(reply.missing, len(golds), "classed"))
        f1 = round(2 * true / (true + len(texts) + missed), DECIMALS) if true else 0.0
    answer, gold = embedder().encode([case.answer, case.gold], kind="question")
    cosine = np.clip((answer * gold).sum(dtype=np.float64), -1, 1)
    return 0.75 * f1 + 0.25 * float(cosine + 1) / 2


def _gold_claims(case: AnswerToJudge) -> Generator[Ask, Any, list[str]]:
    golds = yield from claims(case.gold)
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
    reply = yield "covered", {"statements": golds}
    return len(in_range(reply.held, len(golds), "covered")) / len(golds)


def evidence_statements(case: AnswerToJudge, embedder: LoadEmbedder) -> Judging:
    """Judge which fraction of the evidence statements is in the context (0 if it is empty).

    Source: Xiang et al. 2025, `evidence_recall.py`.
    """
    if not case.passages:
        return 0.0
    reply, n = (yield "statements_held", {}), len(case.statements)
    return len(in_range(reply.held, n, "statements_held")) / n


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
    reply = yield "context_rated", {}
    return float(reply.score / 2)
