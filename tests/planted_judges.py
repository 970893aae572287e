"""Scripted judges: the reply follows from the prompt."""

import json
import re

from graphrag_bench.llm.calls import Chat, RunStopped
from graphrag_bench.llm.scripted import Scripted, last_user_message

prompts: list[str] = []
stops_on: set[str] = set()
"""Texts of prompts at which a judge stops the command."""


def strict(replies: object = None) -> Scripted:
    """A judge that compares names with the gold and statements with the context."""
    return Scripted(answer=strictly)


def strictly(chat: Chat) -> str:
    system, text = chat[0].content, last_user_message(chat)
    prompts.append(text)
    golds = re.findall(r"(?m)^Reference answer: (.*)$", text)
    if '"offered"' in system:
        parts = text.partition("Text:\n")[2].split(",")
        reply: dict[str, object] = {"offered": [part.strip(" .") for part in parts]}
    elif '"agrees"' in system:
        parts = text.lower().split("answer:\n")
        wanted, said = (re.findall(r"(?m)^- (.*)$", part) for part in parts)
        reply = {"agrees": not {*wanted}.isdisjoint(said)}
    elif '"statements": ["' in system:
        answer = text.partition("Answer:\n")[2]
        reply = {"statements": [part.strip() for part in answer.split(".") if part]}
    elif '"verdicts": [{"number"' in system:
        context, _, statements = text.partition("Statements:")
        numbered = re.findall(r"(?m)^(\d+)\. (.*)$", statements)
        reply = {"verdicts": [{"number": int(n), "supported": s in context} for n, s in numbered]}
    elif '"evasive"' in system:
        reply = {"questions": ["Who is it?"] * 3, "evasive": False}
    elif '"found"' in system:
        found = golds[0] in text.split(golds[0])[0]
        reply = {"statements": [{"text": golds[0], "found": found}]}
    else:
        assert '"useful"' in system, f"no verdict on {text[:200]!r}"
        pieces = re.split(r"(?m)^\[\d+\] ", text)[1:]
        reply = {"useful": [row for row, one in enumerate(pieces, 1) if golds[0] in one]}
    return json.dumps(reply)


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
    return Scripted(answer=lambda chat: "=Ada Marsh, as all of the passages say in many words.")
