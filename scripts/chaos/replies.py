"""Replies that follow from the prompt alone: the same request always gets the same text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_NO_NAMES = {"Who", "What", "Where", "When", "Which", "How", "Question", "Short", "Passage", "The"}


def digest(body: Mapping[str, Any]) -> str:
    """What tells requests apart: messages, limit of tokens and form; for embeddings the texts."""
    names = ("messages", "max_tokens", "response_format", "input")
    told = [body.get(name) for name in names]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def phase(body: Mapping[str, Any]) -> str:
    """The kind of a request: the fields of its schema, or the first words of its first message."""
    if "input" in body:
        return "embeddings"
    schema = _schema(body)
    if schema:
        return "+".join(sorted(schema.get("properties", {}))) or "schema"
    words = str(body["messages"][0]["content"]).split()
    return " ".join(words[:4])


def reply(body: Mapping[str, Any]) -> str:
    """The text of a reply: JSON where a schema asks for it, otherwise a name of the prompt."""
    texts = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    fitting = [text for text in texts if "Passage:" in text or "Question:" in text]
    text = [*texts, *fitting][-1]
    schema = _schema(body)
    if "<|>" in str(body["messages"][0]["content"]):
        asked = str(body["messages"][1]["content"]).partition("Passage:\n")[2]
        again = len(body["messages"]) > 2
        return "<|COMPLETE|>" if again else _records(asked.partition("\nRecords:")[0], body)
    if not schema and (steered := _exploring(texts[-1])):
        return steered
    if not schema and text.startswith("Passages:"):
        return ". ".join(text.partition("\n")[2].split(". ")[:2]) + "."
    if not schema:
        context, _, question = text.rpartition("Question:")
        known = set(_names(question))
        return next((name for name in _names(context) if name not in known), "unknown")
    passage = text.partition("Passage:\n")[2].partition("\nEntities:\n")[0] or text
    fields = schema.get("properties", {})
    if set(fields) == {"triples"}:
        return json.dumps({"triples": _triples(passage)})
    if set(fields) == {"named_entities"}:
        return json.dumps({"named_entities": _names(passage)})
    return json.dumps(_filled(schema, schema, (_names(text) or ["Nobody"])[0]))


def vectors(texts: Sequence[str], size: int = 32) -> list[list[float]]:
    """A vector of each text, from the bytes of its hash; equal texts have equal vectors."""
    return [
        [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:size]] for text in texts
    ]


def _schema(body: Mapping[str, Any]) -> dict[str, Any]:
    form = body.get("response_format") or {}
    schema: dict[str, Any] = (form.get("json_schema") or {}).get("schema") or {}
    return schema


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(_NAME.findall(text)) if name not in _NO_NAMES]


def _triples(passage: str) -> list[list[str]]:
    """[name, the words between, next name] within each sentence."""
    found = []
    for sentence in re.split(r"(?<=\.)\s|\n", passage):
        names = list(_NAME.finditer(sentence))
        for head, tail in zip(names, names[1:], strict=False):
            between = sentence[head.end() : tail.start()].strip()
            found.append([head.group(), between or "and", tail.group()])
    return found


def _exploring(text: str) -> str:
    """A step of an exploration: relations to follow, scores of candidates, or that it goes on."""
    if found := re.search(r"Relations: (.*)\nChoose at most (\d+)", text):
        relations = found.group(1).split("; ")[: int(found.group(2))]
        return "\n".join(f"{{{name} (Score: {1 / len(relations):.2f})}}" for name in relations)
    if found := re.search(r"Candidates: (.*)\nScores:", text):
        names = found.group(1).split("; ")
        return ", ".join([f"{1 / len(names):.2f}"] * len(names))
    return "{No}" if text.startswith("Facts:") and text.rstrip().endswith("Reply:") else ""


def _records(passage: str, body: Mapping[str, Any]) -> str:
    """Every name as an entity record, and each joined with the next by a relationship record."""
    names = _names(passage)
    themes = "themes<|>" if "<|>keywords<|>" in str(body["messages"][0]["content"]) else ""
    rows = [f'("entity"<|>{name.upper()}<|>person<|>{name} is told of.)' for name in names]
    rows += [
        f'("relationship"<|>{head.upper()}<|>{tail.upper()}<|>{head} and {tail}.<|>{themes}5)'
        for head, tail in zip(names, names[1:], strict=False)
    ]
    return "##\n".join(rows) + "<|COMPLETE|>"


def _filled(root: Mapping[str, Any], part: Mapping[str, Any], text: str) -> Any:
    """A small value that fits a part of a JSON schema; texts are `text`."""
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        return _filled(root, root["$defs"][name], text)
    for either in ("anyOf", "oneOf", "allOf"):
        if either in part:
            return _filled(root, part[either][0], text)
    if "enum" in part:
        return part["enum"][0]
    kind = part.get("type")
    if kind == "object":
        return {k: _filled(root, v, text) for k, v in part.get("properties", {}).items()}
    if kind == "array":
        if "prefixItems" in part:
            return [_filled(root, one, text) for one in part["prefixItems"]]
        n_items = max(1, int(part.get("minItems", 1)))
        return [_filled(root, part.get("items", {}), text)] * n_items
    numbers = {"integer": 1, "number": 1.0, "boolean": True, "null": None}
    return numbers.get(str(kind), text)
