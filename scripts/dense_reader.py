"""A scripted model as dense as the released examples, out of the words of what it reads.

`llm._target_=dense_reader.reader`. The records of a passage take twice its tokens (an entity 34 to
41, a relationship about 44: the examples of the released extraction prompts); OpenIE finds an
entity and a triple in every 12 tokens (HippoRAG's files of MuSiQue: 9.3 and 9.2 in 110); a report
takes about 900 tokens (Microsoft's of Dulce: 935). Tokens are cl100k, and a reply ends at the
caller's limit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from counting_reader import reader as plain_reader

from graphrag_bench.fingerprint import code, digest
from graphrag_bench.llm.calls import Chat, Completion, Request
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.text import count_tokens

NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")
LONG = re.compile(r"\b[a-z]{8,}\b")
WORD = re.compile(r"[A-Za-z]+")
DENSITY = 2.0
ENTITY_WORDS, RELATIONSHIP_WORDS = 21, 14
TOKENS_PER_TRIPLE = 12
PLAIN = plain_reader()


class DenseReader(Scripted):
    """The model; a prompt that builds nothing is answered as the tests' counting reader does."""

    @property
    def identity(self) -> str:
        """`dense:` and a fingerprint of the code."""
        return f"dense:{digest(code(DenseReader))}"

    def call(self, request: Request) -> Completion:
        """The reply, cut where it is longer than asked for."""
        text, finish = _reply(request.prompt), "stop"
        n_prompt = sum(count_tokens(one.content) for one in request.prompt)
        n_reply = count_tokens(text)
        if n_reply > request.max_tokens:
            text = text[: len(text) * request.max_tokens // n_reply]
            n_reply, finish = request.max_tokens, "length"
        return Completion(text, n_prompt, n_reply, finish, model="dense")


def reader(replies: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> DenseReader:
    """The model, for `llm._target_`."""
    return DenseReader(replies)


def names(text: str) -> list[str]:
    """Names within sentences, then long words, each once, the most frequent of either first."""
    most = (Counter(pattern.findall(text)).most_common() for pattern in (NAME, LONG))
    return list(dict.fromkeys(name for held in most for name, _ in held))


def _reply(chat: Chat) -> str:
    asked, text = chat[0].content, last_user_message(chat)
    if "were missed" in text and "<|>" in asked:
        return "<|COMPLETE|>"
    if "Are there still" in text:
        return "NO"
    if '("relationship"' in asked:
        passage = text.removeprefix("Passage:\n")
        return "##\n".join(_records(passage, "keywords" in asked)) + "<|COMPLETE|>"
    if '"triples"' in asked and "Passage:" in text:
        held = _of_passage(text)
        ends = zip(held, _words(text, len(held), 2), [*held[1:], *held[:1]], strict=True)
        return json.dumps({"triples": [list(row) for row in ends]})
    if "named_entities" in asked:
        return json.dumps({"named_entities": _of_passage(text)})
    if "high_level_keywords" in asked or '"reasoning_steps"' in asked:
        question = text.rpartition("Question: ")[2]
        held = list(dict.fromkeys(re.findall(r"\b[A-Za-z]{5,}\b", question)))[:9] or ["theme"]
        steps = {"reasoning_steps": held[:3], "extended_queries": [held[n::3] for n in range(3)]}
        words = {"high_level_keywords": held[::2], "low_level_keywords": held[1::2] or held}
        return json.dumps(words if "high_level_keywords" in asked else steps)
    if '"rating_explanation"' in asked:
        return _report(text)
    if "{relation (Score" in asked:
        offered = text.partition("Relations: ")[2].partition("\n")[0].split("; ")[:3]
        return "\n".join(f"{{{one} (Score: {1 / len(offered):.2f})}}" for one in offered)
    if "Candidates: " in text:
        n = text.partition("Candidates: ")[2].count(";") + 1
        return ", ".join([f"{1 / n:.4f}"] * n)
    if "Reranked Triple" in asked:
        facts = re.split("; |\n", text.partition("Facts:\n")[2].partition("\nChoose")[0])
        return "\n".join(f"Reranked Triple {n + 1}: {one}" for n, one in enumerate(facts[:10]))
    if "Write one summary" in asked or "summarise passages" in asked:
        return " ".join(text.split()[:65])
    if "{Yes}" in asked:
        return "{No}"
    assert PLAIN.answer is not None
    return PLAIN.answer(chat).text  # type: ignore[union-attr]


def _of_passage(text: str) -> list[str]:
    """As many names as a released file has for so many tokens; of a question three at least."""
    passage = text.partition("\nEntities:\n")[0]
    return names(passage)[: max(3, count_tokens(passage) // TOKENS_PER_TRIPLE)] or ["theme"]


def _words(text: str, n: int, length: int) -> list[str]:
    """`n` runs of `length` words, evenly from all of the text."""
    words = WORD.findall(text) or ["text"]
    starts = (at * len(words) // max(n, 1) for at in range(n))
    return [" ".join(words[at : at + length]) for at in starts]


def _records(passage: str, keywords: bool) -> Iterator[str]:
    """An entity and its relationships to the next two, until the density is reached."""
    held, left = names(passage), DENSITY * count_tokens(passage)
    told = iter(_words(passage, 3 * len(held), RELATIONSHIP_WORDS))
    for at, name in enumerate(held):
        said = " ".join(next(told).split()[:ENTITY_WORDS])
        records = [f'("entity"<|>{name.upper()}<|>person<|>{said})']
        for other in held[at + 1 : at + 3]:
            said = next(told)
            themes = f"<|>{', '.join(said.split()[:2])}" if keywords else ""
            ends = f"{name.upper()}<|>{other.upper()}"
            records.append(f'("relationship"<|>{ends}<|>{said}{themes}<|>7)')
        yield from records
        left -= sum(map(count_tokens, records))
        if left <= 0:
            return


def _report(tables: str) -> str:
    """A report of a summary and seven findings."""
    summary, *told = _words(tables, 8, 70)
    findings = [{"summary": " ".join(one.split()[:15]), "explanation": one} for one in told]
    report = {"title": " and ".join(_title(tables)), "summary": summary, "rating": 5.0,
              "rating_explanation": "It is told of often.", "findings": findings}  # fmt: skip
    return json.dumps(report)


def _title(tables: str) -> Sequence[str]:
    return names(tables)[:2] or ["Community"]
