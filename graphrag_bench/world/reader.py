"""A language model for the synthetic world: it answers exactly when the facts are in its prompt."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
    """A reader without weights that knows the grammar of the synthetic world and no fact of it.

    It reads what the messages of the user state, in sentences, triples or rows of tables, and
    follows the question's relations from the entity it names: the answer is the last name, as
    written there. A name is an alias only where the prompt introduces it. Where one fact is not
    stated the answer is `unknown`; where several tails are, the first one counts. Rumours are not
    believed. Answered too are the prompts of conversion (entities, keywords), of OpenIE, of map and
    reduce, of DRIFT and of ToG, all from the prompt alone; any other, and a question that is none
    of a synthetic world, stops the run. Tokens are words.
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


def _listed(notes: Notes) -> str:
    return f"ans: {notes.answer() or UNKNOWN}"


def _enough(notes: Notes) -> str:
    answer = notes.answer()
    return f"{{Yes}} {{{answer}}}" if answer else "{No}"


def _entities(notes: Notes) -> str:
    if notes.line("Question:"):
        names = [notes.question.start]
    else:
        names = [name for name, _, _ in kinds(notes.text)]
        names += [name for one in notes.stated for name in (one.head, one.tail)]
    return json.dumps({"named_entities": list(dict.fromkeys(names))}, ensure_ascii=False)


def _triples(notes: Notes) -> str:
    facts = [[one.head, one.phrase, one.tail] for one in notes.stated]
    return json.dumps({"triples": facts}, ensure_ascii=False)


def _keywords(notes: Notes) -> str:
    keywords = {
        "high_level_keywords": [BY_PHRASE[phrase].role for phrase in notes.question.phrases],
        "low_level_keywords": [notes.question.start],
    }
    return json.dumps(keywords, ensure_ascii=False)


def _points(notes: Notes) -> str:
    """The facts with a relation of the question, those about its entity first, and their aliases.

    The chain may begin in another part of the context, so that none of them can be left out.
    """
    of_question = [one for one in notes.stated if one.phrase in notes.question.phrases]
    start = normalise_name(notes.question.start)
    ends = {start, *(normalise_name(end) for one in of_question for end in (one.head, one.tail))}
    other = [
        one
        for one in notes.stated
        if one.phrase == ALSO and ends & {normalise_name(one.head), normalise_name(one.tail)}
    ]
    points = [
        {"description": one.sentence, "score": 100 if notes.known(one.head) == start else 50}
        for one in dict.fromkeys([*of_question, *other])
    ]
    return json.dumps({"points": points or [{"description": UNKNOWN, "score": 0}]})


def _follow_ups(notes: Notes) -> str:
    points = json.loads(_points(notes))["points"]
    open_part = [] if notes.answer() else [_next_evidence(notes)]
    reply = {
        "answer": " ".join(point["description"] for point in points),
        "score": max(point["score"] for point in points),
        "follow_ups": open_part,
    }
    return json.dumps(reply, ensure_ascii=False)


def _next_evidence(notes: Notes) -> str:
    chain = notes.chain()
    if len(chain) == len(notes.question.phrases):
        return UNKNOWN
    about = chain[-1].tail if chain else notes.question.start
    return f"{about} {notes.question.phrases[len(chain)]}"


def _relations(notes: Notes) -> str:
    there = [name.strip() for name in notes.line("Relations:").split(";")]
    wanted = notes.question.phrases
    if normalise_name(notes.line("Entity:")) == normalise_name(notes.question.start):
        wanted = notes.question.phrases[:1]
    chosen = [name for name in there if normalise_name(name) in (*wanted, ALSO)]
    if not chosen:
        return f"{{{there[0]} (Score: 0)}}"
    return "\n".join(f"{{{name} (Score: {1 / len(chosen):.4f})}}" for name in chosen)


def _candidates(notes: Notes) -> str:
    n_candidates = len(notes.line("Candidates:").split(";"))
    return ", ".join([f"{1 / n_candidates:.4f}"] * n_candidates)


_TASKS: list[tuple[Literal["system", "end"], str, Callable[[Notes], str]]] = [
    ("system", '"low_level_keywords"', _keywords),
    ("system", '"named_entities"', _entities),
    ("system", '"triples"', _triples),
    ("system", '"points"', _points),
    ("system", '"follow_ups"', _follow_ups),
    ("system", "(Score: x)", _relations),
    ("system", "{Yes}", _enough),
    ("system", '"ans:"', _listed),
    ("system", "from their points", _short),
    ("end", "Scores:", _candidates),
    ("end", "Report:", _next_evidence),
    ("end", "nswer:", _short),
    ("end", "Summary:", _short),
]
"""How a task is told: by what the instructions ask for, or by how the prompt ends.

A list, so that its functions are part of the fingerprint, and not their places in memory.
"""
