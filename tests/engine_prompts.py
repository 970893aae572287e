"""A reader for what real engines ask: it names what is capitalised, in the form that each reads.

`llm._target_=engine_prompts.reader`. It knows the engines by marks of their prompts; any other
prompt is a question, and answered `Ada Marsh`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from toy_runs import Capitals

from graphrag_bench.models.llm import Chat
from graphrag_bench.models.scripted import Scripted, last_user_message

MOST_NAMES = 6
asked: list[str] = []
"""The last message of every prompt, in order."""


def reader(replies: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> Scripted:
    """A model that answers engines."""
    return Scripted(replies, replied, concurrency=4)


def replied(chat: Chat) -> str:
    whole, last = "\n".join(message.content for message in chat), last_user_message(chat)
    asked.append(last)
    if "high_level_keywords" in whole:  # LightRAG: a question
        found = names(last.rpartition("User Query:")[2])
        return json.dumps({"high_level_keywords": found, "low_level_keywords": found})
    if "<|#|>" in whole and "<|COMPLETE|>" in whole:  # LightRAG: a chunk, or once more
        return rows_of_lightrag(last)
    if "rating_explanation" in whole:  # nano-graphrag, GraphRAG: a community
        findings = [{"summary": "names", "explanation": "They are named together."}]
        return json.dumps({"title": "Names", "summary": "Names that stand together.", "rating": 5,
                           "rating_explanation": "few", "findings": findings})  # fmt: skip
    if '("entity"<|>' in whole:  # nano-graphrag, GraphRAG: a chunk, or once more
        return rows_of_nano(last)
    if found := reply_of_microsoft(whole):
        return found
    if found := reply_of_hippo(whole, last):
        return found
    if "other_relationships" in whole:  # fast-graphrag: a chunk
        return graph_of_fast(last)
    if "TQueryEntities" in whole:
        return json.dumps({"named": names(last.rpartition("Query:")[2]), "generic": ["thing"]})
    if "TAnswer" in whole:
        return json.dumps({"answer": "Ada Marsh"})
    return "Ada Marsh"


def names(text: str) -> list[str]:
    return list(dict.fromkeys(Capitals().entities(text)))[:MOST_NAMES]


def rows_of_lightrag(text: str) -> str:
    body = re.search(r"---Input Text---\s*```\n(.*?)```", text, re.S)
    found = names(body[1]) if body else []
    rows = [f"entity<|#|>{one}<|#|>person<|#|>{one} is named." for one in found]
    rows += [
        f"relation<|#|>{one}<|#|>{other}<|#|>names<|#|>{one} is named with {other}."
        for one, other in zip(found, found[1:], strict=False)
    ]
    return "\n".join([*rows, "<|COMPLETE|>"])


def reply_of_microsoft(whole: str) -> str:
    """What GraphRAG's steps read, but for a chunk and a community; "" for another prompt."""
    if "Description List:" in whole:
        return "It is named more than once."
    if '"points"' in whole:
        return json.dumps({"points": [{"description": "Ada Marsh is named.", "score": 80}]})
    if "intermediate_answer" in whole:
        return json.dumps({"intermediate_answer": "Ada Marsh is named.", "score": 80,
                           "follow_up_queries": ["Who is Ada Marsh?"]})  # fmt: skip
    if "'follow_up_queries'" in whole:
        return json.dumps({"response": "Ada Marsh.", "score": 60, "follow_up_queries": []})
    return ""


def reply_of_hippo(whole: str, last: str) -> str:
    """What HippoRAG's steps read; "" for another prompt."""
    if "fact_before_filter" in last:
        facts = re.search(r"fact_before_filter ## \]\]\n(.*)", last)
        kept = facts[1] if facts else "{}"
        return f"[[ ## fact_after_filter ## ]]\n{kept}\n\n[[ ## completed ## ]]"
    if last.startswith("Convert the paragraph"):
        found = names(last.partition("```")[2].partition("```")[0])
        pairs = zip(found, found[1:], strict=False)
        return json.dumps({"triples": [[one, "is named with", other] for one, other in pairs]})
    if '"named_entities"' in whole:
        return json.dumps({"named_entities": names(last)})
    if last.rstrip().endswith("Thought:"):
        return "She is named in a passage.\nAnswer: Ada Marsh"
    return ""


def rows_of_nano(text: str) -> str:
    if "Text:" not in text:
        return "<|COMPLETE|>"
    found = names(text.rpartition("Text:")[2].partition("######")[0])
    rows = [f'("entity"<|>"{one}"<|>"person"<|>"{one} is named.")' for one in found]
    rows += [
        f'("relationship"<|>"{one}"<|>"{other}"<|>"{one} is named with {other}."<|>5)'
        for one, other in zip(found, found[1:], strict=False)
    ]
    return "\n##\n".join([*rows, "<|COMPLETE|>"])


def graph_of_fast(text: str) -> str:
    body = re.search(r"\*\*Document\*\*:\n(.*?)<<DOCUMENT_END>>", text, re.S)
    found = names(body[1]) if body else []
    relationships = [
        {"source": one, "target": other, "desc": f"{one} is named with {other}"}
        for one, other in zip(found, found[1:], strict=False)
    ]
    entities = [{"name": one, "type": "person", "desc": f"{one} is named"} for one in found]
    return json.dumps(
        {"entities": entities, "relationships": relationships, "other_relationships": []}
    )
