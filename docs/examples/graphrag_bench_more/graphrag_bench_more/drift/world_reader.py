"""The scripted reader of synthetic worlds, with replies to the prompts of DRIFT."""

import json

from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.scripted import last_user_message
from graphrag_bench.world.reader import UNKNOWN, WorldPrompt, WorldReader, points


class DriftWorldReader(WorldReader):
    """A `WorldReader` that also writes hypothetical reports, intermediate answers and follow-ups.

    A hypothetical report names only the next missing fact of the question. An intermediate answer
    consists of the facts with a relation of the question. Its only follow-up question asks for the
    next missing fact.
    """

    def respond(self, chat: Chat) -> str:
        """Return the reply to a prompt. Raises RunStopped for an unknown kind of prompt."""
        prompt = WorldPrompt(last_user_message(chat).rstrip())
        if '"follow_ups"' in chat[0].content:
            return _follow_ups(prompt)
        return _missing(prompt) if prompt.text.endswith("Report:") else super().respond(chat)


def _follow_ups(prompt: WorldPrompt) -> str:
    found = points(prompt)
    reply = {
        "answer": " ".join(point["description"] for point in found),
        "score": max(point["score"] for point in found),
        "follow_ups": [] if prompt.answer() else [_missing(prompt)],
    }
    return json.dumps(reply, ensure_ascii=False)


def _missing(prompt: WorldPrompt) -> str:
    """Return the head and relation of the next missing fact, or `unknown` if none is missing."""
    chain, question = prompt.chain(), prompt.question
    if len(chain) == len(question.phrases):
        return UNKNOWN
    return f"{chain[-1].tail if chain else question.start} {question.phrases[len(chain)]}"
