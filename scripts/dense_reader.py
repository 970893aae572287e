"""A scripted model for `scripts/regime.py`: it replies at published lengths, in its prompt's words.

Lengths in tokens of cl100k: a description of an entity 25, of a relationship 35, a plan of steps
and queries 172 (PathCoRAG's released log), a report 935 (Microsoft's of Dulce), an answer in
paragraphs 500 (HiRAG's released answers of LightRAG and GraphRAG on Mix), a free one 200 (Zhou et
al., Table 6: ZeroShot without its prompt), a summary 100 (RAPTOR), any other text 30.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

from graphrag_bench.fingerprint import code, digest
from graphrag_bench.llm.calls import Chat, Completion, Request
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.text import count_tokens

CHUNK_TOKENS = 1200
NAMES, TRIPLES = 80, 60
"""Of a chunk that is read for OpenIE: they lead to the vertices and edges of Zhou et al.'s KG."""
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")
_PAIR = re.compile(r"\b[a-z]{5,} [a-z]{5,}\b")


class DenseReader(Scripted):
    """The model; `entities` and `relationships` are the records of a chunk of 1,200 tokens."""

    def __init__(self, entities: int, relationships: int) -> None:
        super().__init__()
        self.entities, self.relationships = entities, relationships

    @property
    def identity(self) -> str:
        """`dense:` and a fingerprint of the code and of the two numbers."""
        return f"dense:{digest(code(DenseReader), self.entities, self.relationships)}"

    def call(self, request: Request) -> Completion:
        """Return the reply, cut where it is longer than asked for."""
        text, limit, finish = self._text_of(request.prompt), request.max_tokens, "stop"
        n_prompt = sum(count_tokens(one.content) for one in request.prompt)
        if (n_reply := count_tokens(text)) > limit:
            text, n_reply, finish = text[: len(text) * limit // n_reply], limit, "length"
        return Completion(text, n_prompt, n_reply, finish, "dense")

    def _text_of(self, chat: Chat) -> str:
        asked, text = chat[0].content, last_user_message(chat)
        passage = text.removeprefix("Passage:\n").partition("\nEntities:\n")[0]
        share = count_tokens(passage) / CHUNK_TOKENS
        question = text.rpartition("Question: ")[2].partition("\n")[0]
        words = list(dict.fromkeys(re.findall(r"\b[A-Za-z]{5,}\b", question)))[:8] or ["theme"]
        if "were missed" in text:
            return "<|COMPLETE|>"
        if "Are there still" in text:
            return "NO"
        if '("relationship"' in asked:
            counts = round(self.entities * share), round(self.relationships * share)
            return "##\n".join(_records(passage, *counts, "keywords" in asked)) + "<|COMPLETE|>"
        if '"triples"' in asked:
            held = names(passage)[: round(NAMES * share)]
            heads = [at for at in range(len(held) - 1) if at % 4 < 3][: round(TRIPLES * share)]
            told = _runs(passage, len(heads), 3)
            return json.dumps({"triples": [[held[at], next(told), held[at + 1]] for at in heads]})
        if "named_entities" in asked:
            n = 3 if "Question: " in text else round(NAMES * share)
            return json.dumps({"named_entities": (names(passage) or ["theme"])[:n]})
        if '"reasoning_steps"' in asked:
            steps = [f"Find what the texts say of {word}" for word in words[:3]]
            queries = [[f"{step}, and what of {word}?" for word in words[:3]] for step in steps]
            return json.dumps({"reasoning_steps": steps, "extended_queries": queries})
        if "high_level_keywords" in asked:
            return json.dumps(
                {"high_level_keywords": words[::2], "low_level_keywords": words[1::2]}
            )
        if '"rating_explanation"' in asked:
            return _report(text)
        if '"points"' in asked:
            points = [{"description": one, "score": 60} for one in _runs(text, 5, 50)]
            return json.dumps({"points": points})
        if "{relation (Score" in asked:
            offered = text.partition("Relations: ")[2].partition("\n")[0].split("; ")[:3]
            return "\n".join(f"{{{one} (Score: {1 / len(offered):.2f})}}" for one in offered)
        if "Candidates: " in text:
            n = text.partition("Candidates: ")[2].count(";") + 1
            return ", ".join([f"{1 / n:.4f}"] * n)
        if "Reranked Triple" in asked:
            facts = re.split("; |\n", text.partition("Facts:\n")[2].partition("\nChoose")[0])
            return "\n".join(f"Reranked Triple {n + 1}: {one}" for n, one in enumerate(facts[:5]))
        if "{Yes}" in asked:
            return "{No}"
        lengths = {"paragraphs of plain text": 500, "in plain text": 200, "summar": 100}
        length = next((n for words, n in lengths.items() if words in asked), 30)
        return next(_runs(text, 1, length))


def names(text: str) -> list[str]:
    """Return names within sentences, then pairs of words, the most frequent of either first."""
    most = (Counter(pattern.findall(text)).most_common() for pattern in (_NAME, _PAIR))
    return list(dict.fromkeys(name for counted in most for name, _ in counted))


def _runs(text: str, n: int, n_tokens: int) -> Iterator[str]:
    """Yield `n` runs of words of so many tokens, evenly from all of the text."""
    words = re.findall(r"[A-Za-z]+", text) or ["text"]
    length = max(1, n_tokens * len(words) // count_tokens(" ".join(words)))
    words *= 1 + length // len(words)
    for at in range(n):
        start = at * (len(words) - length) // n
        yield " ".join(words[start : start + length])


def _records(passage: str, n: int, n_pairs: int, keywords: bool) -> Iterator[str]:
    """Yield `n` entities, and relationships that make a binary tree of the most frequent ones."""
    held = [name.upper() for name in names(passage)[:n]]
    for name, said in zip(held, _runs(passage, len(held), 25), strict=True):
        yield f'("entity"<|>{name}<|>person<|>{said})'
    pairs = [(held[at // 2], held[at + 1]) for at in range(min(n_pairs, len(held) - 1))]
    for (one, other), said in zip(pairs, _runs(passage, len(pairs), 35), strict=True):
        themes = (
            f"<|>{' '.join(said.split()[:4])}, {' '.join(said.split()[-4:])}" if keywords else ""
        )
        yield f'("relationship"<|>{one}<|>{other}<|>{said}{themes}<|>7)'


def _report(tables: str) -> str:
    """Return a report of a summary and seven findings."""
    summary, *told = _runs(tables, 8, 90)
    findings = [{"summary": " ".join(one.split()[:15]), "explanation": one} for one in told]
    report = {"title": " and ".join(names(tables)[:2]) or "Community", "summary": summary}
    rated = {"rating": 5.0, "rating_explanation": "It is told of often.", "findings": findings}
    return json.dumps(report | rated)
