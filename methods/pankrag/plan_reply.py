"""What the planning prompt returns, in all the forms that models give it, and the plan it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, create_model, model_validator

from graphrag_bench.question_plan import FINAL, Kind, Plan, SubQuestion, checked_plan

_ID = re.compile(r"(\d+)\s*[-.]\s*(\d+)")
_BRACKETED = re.compile(
    r"<\s*[Aa]?\s*(\d+)\s*[-.]\s*(\d+)\s*>"
    r"|\[\s*[Aa]\s*(\d+)\s*[-.]\s*(\d+)\s*\]"
    r"|\{\s*[Aa]\s*(\d+)\s*[-.]\s*(\d+)\s*\}"
    r"|\(\s*[Aa]\s*(\d+)\s*[-.]\s*(\d+)\s*\)"
)
"""A placeholder for an earlier answer; the letter may be missing inside `<...>` only."""
_NO, _NOTHING = ("false", "no", "0", "none", "null", ""), ("none", "null", "")


Reading = tuple[Callable[[Any], Any], tuple[str, ...]]
Id = Annotated[str, Field(json_schema_extra={"maxLength": 8})]
Ids = Annotated[list[Id], Field(json_schema_extra={"maxItems": 5})]
Text = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
Whole = Annotated[str, Field(json_schema_extra={"maxLength": 400})]
"""A server that enforces a schema ends them there; longer ones from others are read whole."""


def _first(given: Mapping[str, Any], *names: str) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _flag(given: Any) -> bool:
    return str(given).strip().lower() not in _NO if given is not None else False


def _text(given: Any) -> str:
    return "" if given is None else str(given).strip()


def _texts(given: Any) -> list[str]:
    return [str(item) for item in _items(given) if item is not None]


def _items(given: Any) -> list[Any]:
    if given is None or (isinstance(given, str) and given.strip().lower() in _NOTHING):
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


class _Lenient(BaseModel):
    """A part of the plan that is read before it is checked.

    `FIELDS` says for each field how it is read, and under which names; a bare value is the field
    `BARE`.
    """

    FIELDS: ClassVar[Mapping[str, Reading]]
    BARE: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        held = given if isinstance(given, Mapping) else {cls.BARE: given}
        return {name: read(_first(held, *names)) for name, (read, names) in cls.FIELDS.items()}


class HopReply(_Lenient):
    """One sub-question."""

    hop_id: Id
    sub_query: Text
    if_abstract: bool
    dependencies: Ids

    BARE = "sub_query"
    FIELDS = {
        "hop_id": (_text, ("hop_id", "id", "hop")),
        "sub_query": (_text, ("sub_query", "query", "question")),
        "if_abstract": (_flag, ("if_abstract",)),
        "dependencies": (_texts, ("dependencies",)),
    }


class SequenceReply(_Lenient):
    """Sub-questions that follow each other; sequence 0 holds the clauses of the question."""

    sequence_id: Id
    hop: list[HopReply]

    BARE = "hop"
    FIELDS = {
        "sequence_id": (_text, ("sequence_id", "id")),
        "hop": (_items, ("hop", "hops")),
    }


class FinalReply(_Lenient):
    """The question that ends the plan."""

    final_query: Whole
    if_abstract: bool
    dependencies: Ids

    BARE = "final_query"
    FIELDS = {
        "final_query": (_text, ("final_query", "query", "sub_query")),
        "if_abstract": (_flag, ("if_abstract",)),
        "dependencies": (_texts, ("dependencies",)),
    }


class PathReply(_Lenient):
    """The sequences and the final question; `null` or `none` for no sequences."""

    sequences: list[SequenceReply]
    final_query: Annotated[list[FinalReply], Field(json_schema_extra={"maxItems": 1})]

    BARE = "sequences"
    FIELDS = {
        "sequences": (_items, ("sequences",)),
        "final_query": (_items, ("final_query", "final")),
    }


class PlanReply(BaseModel):
    """What the planning prompt returns."""

    query: Whole = ""
    path: PathReply

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, given: Any) -> Any:
        """A plan without the outer `path`, and one whose path is `null`."""
        if not isinstance(given, Mapping):
            return given
        if "path" not in given and not {"sequences", "final_query"} & set(given):
            return given
        path = given.get("path", given)
        return {
            "query": str(given.get("query") or ""),
            "path": {} if path in (None, "none", "null") else path,
        }


@lru_cache(maxsize=64)
def bounded_reply(max_sequences: int, max_hops: int) -> type[PlanReply]:
    """The reply type whose schema limits the number of sequences, and of sub-questions in each."""
    hops = (list[HopReply], Field(json_schema_extra={"maxItems": max_hops}))
    sequence = create_model("Sequence", __base__=SequenceReply, hop=hops)
    many = (list[sequence], Field(json_schema_extra={"maxItems": max_sequences}))  # type: ignore[valid-type]
    path = create_model("Path", __base__=PathReply, sequences=many)
    return create_model("Plan", __base__=PlanReply, path=(path, ...))


def plan_of(reply: PlanReply, original: str, *, rewritten: bool = False) -> Plan:
    """The normalised plan that a reply means; without sub-questions where it names none.

    Ids become `sequence-hop`; of a repeated id the first keeps it, the others get new numbers. A
    placeholder that names a sub-question makes it a dependency. The final question is `original`,
    or the plan's own wording when `rewritten` is set. `mended` lists every change.
    Source: PankRAG (2025), section 3.1; the rules are on the method's page.
    """
    hops, said = _hops(reply.path.sequences)
    known = {one.id for one in hops}
    linked = [_with_placeholders(one, known, said) for one in hops]
    closing = reply.path.final_query[0] if reply.path.final_query else None
    text = (closing.final_query if closing and rewritten else "") or original
    final = SubQuestion(
        FINAL,
        text,
        "abstract" if closing is not None and closing.if_abstract else "specific",
        _ids(closing.dependencies) if closing is not None else (),
    )
    return checked_plan(linked, final, said)


def placeholders(text: str) -> list[tuple[str, str]]:
    """Every placeholder of a text as (its text, the id it names), in order."""
    return [
        (found[0], "-".join(str(int(part)) for part in found.groups() if part is not None))
        for found in _BRACKETED.finditer(text)
    ]


def _hops(sequences: Sequence[SequenceReply]) -> tuple[list[SubQuestion], list[str]]:
    found: dict[str, SubQuestion] = {}
    said: list[str] = []
    for place, sequence in enumerate(sequences):
        digits = re.search(r"\d+", sequence.sequence_id)
        for row, hop in enumerate(sequence.hop):
            if not hop.sub_query:
                said.append(f"sub-question {hop.hop_id or row + 1} has no text")
                continue
            named = _ID.search(hop.hop_id)
            prefix = int(digits[0]) if digits else place + 1
            name = f"{int(named[1])}-{int(named[2])}" if named else f"{prefix}-{row + 1}"
            if name in found:
                new = next(f"{name}.{n}" for n in range(2, 10_000) if f"{name}.{n}" not in found)
                said.append(f"two sub-questions are called {name}: the later one is {new}")
                name = new
            kind: Kind = "abstract" if hop.if_abstract else "specific"
            found[name] = SubQuestion(name, hop.sub_query, kind, _ids(hop.dependencies))
    return list(found.values()), said


def _with_placeholders(one: SubQuestion, known: set[str], said: list[str]) -> SubQuestion:
    named = dict.fromkeys(name for _, name in placeholders(one.text))
    new = [name for name in named if name in known and name not in (*one.dependencies, one.id)]
    said += [f"{one.id} speaks of {name} and depends on it now" for name in new]
    return replace(one, dependencies=(*one.dependencies, *new))


def _ids(given: Sequence[str]) -> tuple[str, ...]:
    found = ((text, _ID.search(text)) for text in given)
    return tuple(f"{int(m[1])}-{int(m[2])}" if m else text.strip() for text, m in found)
