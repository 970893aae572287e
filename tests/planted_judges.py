"""Scripted judges: the reply follows from the prompt."""

import json
import re

from graphrag_bench.llm.calls import Chat, RunStopped
from graphrag_bench.llm.scripted import Scripted, last_user_message

prompts: list[str] = []
"""All prompts sent to a judge, in order."""
stops_on: set[str] = set()
"""Texts of prompts at which a judge stops the command."""


def strict(replies: object = None) -> Scripted:
    """A judge that compares names with the gold and statements with the context."""
    return Scripted(answer=strictly)


def strictly(chat: Chat) -> str:
    system, text = chat[0].content, last_user_message(chat)
    prompts.append(text)
    if '"offered"' in system:
        parts = text.partition("Text:\n")[2].split(",")
        return json.dumps({"offered": [part.strip(" .") for part in parts]})
    if '"agrees"' in system:
        golds, message = (
            re.findall(r"(?m)^- (.*)$", part.lower()) for part in text.split("Answer:\n")
        )
        return json.dumps({"agrees": bool(set(message) & set(golds))})
    if '"statements": ["' in system:
        answer = text.partition("Answer:\n")[2]
        return json.dumps({"statements": [part.strip() for part in answer.split(".") if part]})
    if '"verdicts": [{"number"' in system:
        context, _, statements = text.partition("Statements:")
        result = re.findall(r"(?m)^(\d+)\. (.*)$", statements)
        return json.dumps(
            {"verdicts": [{"number": int(n), "supported": s in context} for n, s in result]}
        )
    if '"evasive"' in system:
        return json.dumps({"questions": ["Who is it?"] * 3, "evasive": False})
    if '"found"' in system:
        gold = re.findall(r"(?m)^Reference answer: (.*)$", text)[0]
        return json.dumps({"statements": [{"text": gold, "found": gold in text.split(gold)[0]}]})
    if '"useful"' in system:
        gold = re.findall(r"(?m)^Reference answer: (.*)$", text)[0]
        pieces = re.split(r"(?m)^\[\d+\] ", text)[1:]
        return json.dumps({"useful": [row for row, p in enumerate(pieces, 1) if gold in p]})
    raise AssertionError(f"no verdict on {text[:200]!r}")


def takes_longer(replies: object = None) -> Scripted:
    """A pairwise judge that prefers the longer answer, of ties the first."""
    return Scripted(answer=_longer)


def _longer(chat: Chat) -> str:
    system, text = chat[0].content, last_user_message(chat)
    if any(words in text for words in stops_on):
        raise RunStopped("the judge was told to stop")
    prompts.append(text)
    shown, _, second = text.partition("\n\nAnswer 2:\n")
    first = shown.partition("\n\nAnswer 1:\n")[2]
    second = second.partition("\n\nEvaluate both")[0]
    winner = "Answer 1" if len(first) >= len(second) else "answer 2"
    criteria = re.findall(r"(?m)^- (\w+): ", system)
    return json.dumps({name: {"winner": winner, "reason": "=1+1"} for name in criteria})


def wordy(replies: object = None) -> Scripted:
    """A reader with long answers that begin like a formula."""
    return Scripted(answer=lambda chat: "=Ada Marsh, as all of the passages say in many words.")
