"""A scripted language model that answers a question if and only if the prompt states the facts."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from graphrag_bench.arrays import unique
from graphrag_bench.fingerprint import code, digest
from graphrag_bench.llm.calls import Chat, RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.text import normalise_name
from graphrag_bench.world import grammar
from graphrag_bench.world.grammar import Statement

UNKNOWN = "unknown"
"""The answer if a fact of the question's chain is missing in the prompt."""


class WorldReader(Scripted):
    """A scripted language model that knows the grammar of synthetic worlds, but not their facts.

    It parses the sentences, triples and table rows in the user's messages. From the entity that the
    question names, it follows the relations of the question. The answer is the last entity as
    written in the prompt, or `unknown` if a fact is missing. An alias is known only if the prompt
    introduces it. If the prompt states several tails for a head and a relation, the first is
    followed. Rumours are ignored. The model also replies to prompts for entities, keywords, OpenIE,
    and map and reduce. Any other prompt or question stops the run. A token is a word.
    """

    def __init__(self) -> None:
        super().__init__(answer=self.respond)

    @property
    def identity(self) -> str:
        """The text `world_reader:`, followed by a digest of the model's code."""
        return f"world_reader:{digest(code(type(self)))}"

    def respond(self, chat: Chat) -> str:
        """Return the reply to a prompt. Raises RunStopped for an unknown kind of prompt."""
        system = "\n".join(one.content for one in chat if one.role == "system")
        user = "\n".join(one.content for one in chat if one.role == "user").rstrip()
        for place, cue, reply in _TASKS:
            if cue in (system if place == "system" else user[-40:]):
                return reply(WorldPrompt(user))
        raise RunStopped(
            f"llm=world_reader has no reply to this prompt: {user[:300]!r}. Use another "
            "model for this step (llm=NAME, or llm@llm_build=NAME for building)."
        )


@dataclass(frozen=True)
class WorldPrompt:
    """A prompt about a synthetic world: its statements and its question."""

    text: str

    @cached_property
    def question(self) -> grammar.ParsedQuestion:
        """The question in the last `Question:` line. Raises RunStopped if it cannot be parsed."""
        text = self.line("Question:")
        if (parsed := grammar.parse_question(text)) is None:
            raise RunStopped(
                f"{text!r} is not a question of a synthetic world. llm=world_reader answers "
                "questions of dataset=world only."
            )
        return parsed

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The statements in the prompt in order, without rumours."""
        return tuple(one for one in grammar.statements(self.text) if not one.rumour)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        aliases = (one for one in reversed(self.statements) if one.phrase == grammar.ALSO)
        return {normalise_name(one.tail): normalise_name(one.head) for one in aliases}

    def canonical(self, name: str) -> str:
        """Return the normalised name of the entity that has this name or this alias."""
        return self._names.get(normalise_name(name), normalise_name(name))

    def chain(self) -> list[Statement]:
        """Return the facts that answer the question, in order, up to the first missing fact."""
        first_last = reversed(self.statements)  # the first statement of a fact counts
        facts = {(self.canonical(one.head), one.phrase): one for one in first_last}
        chain, entity = [], self.canonical(self.question.start)
        for phrase in self.question.phrases:
            if (fact := facts.get((entity, phrase))) is None:
                break
            chain.append(fact)
            entity = self.canonical(fact.tail)
        return chain

    def answer(self) -> str | None:
        """Return the entity that answers the question, or None if the prompt lacks a fact."""
        chain = self.chain()
        return chain[-1].tail if len(chain) == len(self.question.phrases) else None

    def line(self, head: str) -> str:
        """Return the rest of the last line that begins with `head`, or "" without such a line."""
        rest = re.findall(rf"(?m)^{re.escape(head)}(.*)$", self.text)
        return rest[-1].strip() if rest else ""


def _short(prompt: WorldPrompt) -> str:
    return prompt.answer() or UNKNOWN


def _entities(prompt: WorldPrompt) -> str:
    if prompt.line("Question:"):
        return _json({"named_entities": [prompt.question.start]})
    names = [name for name, _, _ in grammar.kinds(prompt.text)]
    names += [name for one in prompt.statements for name in (one.head, one.tail)]
    return _json({"named_entities": unique(names)})


def _triples(prompt: WorldPrompt) -> str:
    return _json({"triples": [[one.head, one.phrase, one.tail] for one in prompt.statements]})


def _keywords(prompt: WorldPrompt) -> str:
    roles = [grammar.BY_PHRASE[phrase].role for phrase in prompt.question.phrases]
    return _json({"high_level_keywords": roles, "low_level_keywords": [prompt.question.start]})


def points(prompt: WorldPrompt) -> list[dict[str, Any]]:
    """Return facts with a relation of the question and aliases of their entities, with scores."""
    start = normalise_name(prompt.question.start)
    facts = [one for one in prompt.statements if one.phrase in prompt.question.phrases]
    ends = {start, *(normalise_name(end) for one in facts for end in (one.head, one.tail))}
    aliases = (one for one in prompt.statements if one.phrase == grammar.ALSO)
    facts += [one for one in aliases if ends & {*map(normalise_name, (one.head, one.tail))}]
    return [
        {"description": one.sentence, "score": 100 if prompt.canonical(one.head) == start else 50}
        for one in dict.fromkeys(facts)
    ] or [{"description": UNKNOWN, "score": 0}]


def _json(reply: Mapping[str, object]) -> str:
    return json.dumps(reply, ensure_ascii=False)


_TASKS: list[tuple[Literal["system", "end"], str, Callable[[WorldPrompt], str]]] = [
    ("system", '"low_level_keywords"', _keywords),
    ("system", '"named_entities"', _entities),
    ("system", '"triples"', _triples),
    ("system", '"points"', lambda prompt: _json({"points": points(prompt)})),
    ("system", '"ans:"', lambda prompt: f"ans: {_short(prompt)}"),
    ("system", "from their points", _short),
    ("end", "nswer:", _short),
    ("end", "Summary:", _short),
]
"""Functions that reply. A text in the instructions ("system") or at the end identifies a prompt.

Keep this a list, because the code fingerprint of a list covers the functions in it.
"""
