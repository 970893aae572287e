"""A language model for tests, whose replies are planned."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from graphrag_bench.fingerprint import code, digest
from graphrag_bench.llm.calls import CallFailed, Chat, Completion, Request, RunStopped
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.prompts import Message

Reply = str | Completion | CallFailed


@dataclass(eq=False, repr=False)
class Scripted(ChatModel):
    """Test model that gives planned replies, and counts words as tokens.

    `replies` maps patterns to replies. A pattern is a substring, or a regular expression if it
    begins with `re:`. The first pattern that matches the last user message selects the reply. If
    the reply is a CallFailed, it is raised. If no pattern matches, `answer(chat)` returns the reply
    or None.

    >>> from graphrag_bench.llm.chat import reply

    >>> reply(Scripted({"Italy": "Rome"}), (Message("user", "Italy?"),), max_tokens=5).text
    'Rome'
    """

    replies: Mapping[str, Reply] | Sequence[tuple[str, Reply]] = ()
    answer: Callable[[Chat], Reply | None] | None = None
    _: KW_ONLY
    concurrency: int = 1
    window: int | None = None

    def __post_init__(self) -> None:
        of = self.replies
        self._plan = tuple(of.items() if isinstance(of, Mapping) else of)
        self.prompts: list[Chat] = []
        self._lock = threading.Lock()

    @cached_property
    def identity(self) -> str:
        """`scripted:` and a digest of the replies and of the code of `answer`."""
        plan = [(pattern, str(reply)) for pattern, reply in self._plan]
        return f"scripted:{digest(plan, code(self.answer) if self.answer else '')}"

    def call(self, request: Request) -> Completion:
        """Return the planned reply. Raises RunStopped if no reply is planned for the prompt."""
        with self._lock:
            self.prompts.append(request.prompt)
        n_words = sum(len(message.content.split()) for message in request.prompt)
        if self.window is not None and n_words > self.window:
            problem = f"{n_words} words do not fit into a window of {self.window}"
            raise CallFailed("context_overflow", problem)
        text = last_user_message(request.prompt)
        patterns = [(of[3:] if of[:3] == "re:" else re.escape(of), one) for of, one in self._plan]
        reply = next((one for of, one in patterns if re.search(of, text, re.DOTALL)), None)
        if reply is None and self.answer is not None:
            reply = self.answer(request.prompt)
        if reply is None:
            problem = f"The scripted model (patterns: {len(self._plan)}) has no reply to a prompt"
            remedy = "Set llm.replies={PATTERN: REPLY}, in Python llm=Scripted({PATTERN: REPLY})"
            raise RunStopped(f"{problem}. {remedy}, or another model. Prompt: {text[:300]!r}.")
        if isinstance(reply, CallFailed):
            raise reply
        if isinstance(reply, Completion):
            return reply
        n_reply = len(reply.split())
        return Completion(reply, prompt_tokens=n_words, completion_tokens=n_reply, model="scripted")


def last_user_message(prompt: Sequence[Message]) -> str:
    """Return the text of the last message with the role `user`. If there is none, return ""."""
    return next((message.content for message in reversed(prompt) if message.role == "user"), "")
