"""A language model for the synthetic world: it answers exactly when the facts are in its prompt."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from graphrag_bench.fingerprint import code, digest
from graphrag_bench.llm.calls import Chat, RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.text import normalise_name
from graphrag_bench.world.grammar import (
    ALSO,
    BY_PHRASE,
    ParsedQuestion,
    Statement,
    kinds,
    parse_question,
    statements,
)

UNKNOWN = "unknown"
"""What it answers when a fact of the chain is not in the prompt."""


class WorldReader(Scripted):
    """A reader without weights that knows the grammar of the synthetic world and none of its facts.

    It reads the statements of the user's messages (sentences, triples, rows of tables) and follows
    the question's relations from the entity in the question: the answer is the last name, as
    written there. A name is an alias only where the prompt introduces it. If a fact is missing, the
    answer is `unknown`; if there are several tails, the first one counts. Rumours are ignored. The
    reader also replies to the prompts of conversion (entities, keywords), OpenIE, map and reduce,
    and DRIFT. Any other prompt or question stops the run. Tokens are words.
    """

    def __init__(self) -> None:
        super().__init__(answer=self._answered)

    @property
    def identity(self) -> str:
        """`world_reader:` and a fingerprint of its code."""
        return f"world_reader:{digest(code(WorldReader))}"

    def _answered(self, chat: Chat) -> str:
        system = "\n".join(one.content for one in chat if one.role == "system")
        user = "\n".join(one.content for one in chat if one.role == "user").rstrip()
        notes = Notes(user)
        for place, cue, reply in _TASKS:
            if cue in (system if place == "system" else user[-40:]):
                return reply(notes)
        raise RunStopped(
            f"The world reader has no answer to this prompt: {user[:300]!r}. It answers questions "
            "of dataset=world from passages, tables and triples; take another model for this "
            "step (llm=NAME, or llm@llm_build=NAME for building)."
        )


@dataclass(frozen=True)
class Notes:
    """What one prompt says and asks."""

    text: str

    @cached_property
    def question(self) -> ParsedQuestion:
        """The question, from the last line `Question:`; raises RunStopped for none of a world."""
        text = self.line("Question:")
        if (parsed := parse_question(text)) is None:
            raise RunStopped(
                f"{text!r} is not a question of a synthetic world, and llm=world_reader answers no "
                "other: take dataset=world, or another model."
            )
        return parsed

    @cached_property
    def stated(self) -> tuple[Statement, ...]:
        """Everything that is stated and no rumour, in order."""
        return tuple(one for one in statements(self.text) if not one.rumour)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {
            normalise_name(one.tail): normalise_name(one.head)
            for one in reversed(self.stated)
            if one.phrase == ALSO
        }

    @cached_property
    def _facts(self) -> Mapping[tuple[str, str], Statement]:
        facts: dict[tuple[str, str], Statement] = {}
        for one in self.stated:
            facts.setdefault((self.known(one.head), one.phrase), one)
        return facts

    def known(self, name: str) -> str:
        """The normalised name of an entity that is called by its name or an alias."""
        normal = normalise_name(name)
        return self._names.get(normal, normal)

    def chain(self) -> list[Statement]:
        """The facts of the question's chain that are stated, up to the first that is not."""
        chain = []
        entity = self.known(self.question.start)
        for phrase in self.question.phrases:
            if (fact := self._facts.get((entity, phrase))) is None:
                break
            chain.append(fact)
            entity = self.known(fact.tail)
        return chain

    def answer(self) -> str | None:
        """The end of the chain; None where one of its facts is not stated."""
        chain = self.chain()
        return chain[-1].tail if len(chain) == len(self.question.phrases) else None

    def line(self, head: str) -> str:
        """What follows `head` on the last line that begins with it; "" without one."""
        rest = re.findall(rf"(?m)^{re.escape(head)}(.*)$", self.text)
        return rest[-1].strip() if rest else ""


def _short(notes: Notes) -> str:
    return notes.answer() or UNKNOWN


def _entities(notes: Notes) -> str:
    if notes.line("Question:"):
        names = [notes.question.start]
    else:
        names = [name for name, _, _ in kinds(notes.text)]
        names += [name for one in notes.stated for name in (one.head, one.tail)]
    return _json({"named_entities": list(dict.fromkeys(names))})


def _triples(notes: Notes) -> str:
    return _json({"triples": [[one.head, one.phrase, one.tail] for one in notes.stated]})


def _keywords(notes: Notes) -> str:
    roles = [BY_PHRASE[phrase].role for phrase in notes.question.phrases]
    return _json({"high_level_keywords": roles, "low_level_keywords": [notes.question.start]})


def _points(notes: Notes) -> list[dict[str, Any]]:
    """Return the facts with a relation of the question, and the aliases of their ends.

    The chain may begin in another part of the context, so that no such fact can be left out.
    """
    start = normalise_name(notes.question.start)
    facts = [one for one in notes.stated if one.phrase in notes.question.phrases]
    ends = {start, *(normalise_name(end) for one in facts for end in (one.head, one.tail))}
    facts += [
        one
        for one in notes.stated
        if one.phrase == ALSO and ends & {normalise_name(one.head), normalise_name(one.tail)}
    ]
    return [
        {"description": one.sentence, "score": 100 if notes.known(one.head) == start else 50}
        for one in dict.fromkeys(facts)
    ] or [{"description": UNKNOWN, "score": 0}]


def _follow_ups(notes: Notes) -> str:
    points = _points(notes)
    return _json({
        "answer": " ".join(point["description"] for point in points),
        "score": max(point["score"] for point in points),
        "follow_ups": [] if notes.answer() else [_next_evidence(notes)],
    })  # fmt: skip


def _next_evidence(notes: Notes) -> str:
    chain, phrases = notes.chain(), notes.question.phrases
    if len(chain) == len(phrases):
        return UNKNOWN
    return f"{chain[-1].tail if chain else notes.question.start} {phrases[len(chain)]}"


def _json(reply: Mapping[str, object]) -> str:
    return json.dumps(reply, ensure_ascii=False)


_TASKS: list[tuple[Literal["system", "end"], str, Callable[[Notes], str]]] = [
    ("system", '"low_level_keywords"', _keywords),
    ("system", '"named_entities"', _entities),
    ("system", '"triples"', _triples),
    ("system", '"points"', lambda notes: _json({"points": _points(notes)})),
    ("system", '"follow_ups"', _follow_ups),
    ("system", '"ans:"', lambda notes: f"ans: {_short(notes)}"),
    ("system", "from their points", _short),
    ("end", "Report:", _next_evidence),
    ("end", "nswer:", _short),
    ("end", "Summary:", _short),
]
"""The reply to a prompt, by a cue in its instructions, or at its end.

A list: the fingerprint covers its functions, and not their places in memory.
"""
