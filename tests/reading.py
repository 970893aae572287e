"""Replies of a fake model that extracts capitalised names.

The fake server replies so in its scenario `reads=True`; the same prompt always gets the same reply.
"""

import hashlib
import json
import re
from typing import Any

NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_ASKING = {"Who", "What", "Where", "When", "Which", "How", "Question", "Short", "Passage"}


def reply(body: dict[str, Any]) -> str:
    """Return the reply to a chat request: JSON for a schema, else a name."""
    text = _last_with(body, ("Passage:", "Question:"))
    form = body.get("response_format") or {}
    fields = form.get("json_schema", {}).get("schema", {}).get("properties", {})
    passage = text.partition("Passage:\n")[2].partition("\nEntities:\n")[0] or text
    if "triples" in fields:
        return json.dumps({"triples": _facts(passage)})
    if "named_entities" in fields:
        return json.dumps({"named_entities": _names(passage)})
    context, _, question = text.rpartition("Question:")
    known = set(_names(question))
    return next((name for name in _names(context) if name not in known), "unknown")


def prompt_digest(body: dict[str, Any]) -> str:
    """Return a digest of a request: messages, token limit and response format."""
    message = [body["messages"], body.get("max_tokens"), body.get("response_format")]
    return hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()[:16]


def _last_with(body: dict[str, Any], words: tuple[str, ...]) -> str:
    """Return the last user message that contains one of the words, else the last message."""
    texts = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    fitting = [text for text in texts if any(word in text for word in words)]
    return [*texts, *fitting][-1]


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(NAME.findall(text)) if name not in _ASKING]


def _facts(passage: str) -> list[list[str]]:
    """Return [name, words between, next name] within each sentence."""
    facts = []
    for sentence in re.split(r"(?<=\.)\s|\n", passage):
        result = list(NAME.finditer(sentence))
        for head, tail in zip(result, result[1:], strict=False):
            between = sentence[head.end() : tail.start()].strip()
            facts.append([head.group(), between or "and", tail.group()])
    return facts
