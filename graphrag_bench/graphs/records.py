"""Parse replies with records like `("entity"<|>Ada Marsh<|>person<|>The founder of a town.)`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape

from graphrag_bench.algorithms.extraction import EntityRecord, FactRecord, RelationshipRecord
from graphrag_bench.arrays import unique
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.text import is_placeholder_name, normalise_name

_COMPLETE = 10.0  # the highest completeness score of a fact, and the default
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_ECHOES = frozenset({"description", "entity_description", "relationship_description"})
"""Field names of the template in the prompt. A model may copy them into a record."""

_S = r"[ \t\u3000]*"
_OPEN, _CLOSE = r"(?:\\?<|&lt;|＜)", r"(?:\\?>|&gt;|＞)"
_BAR = r"(?:\\?[|｜│¦]|&#124;|&vert;)"
_FIELD = (
    rf"{_OPEN}{_S}{_BAR}(?:{_S}(?!complet)[^\s<>＜＞&|｜(){{}}\"]{{0,20}}{_S}{_BAR})*{_S}{_CLOSE}{_BAR}?"
    r"|[{<]\|?tuple_delimiter\|?[}>]|<\|?sep\|?>"
)
"""The delimiter `<|>` and its common variants: `<||>`, `<|#|>`, `< | >`, `＜｜＞`, `&lt;|&gt;`."""
_WEAK = {"|": r"(?<!\\)[|｜│¦]", "\t": r"\t", r"\t": r"\\t", ",": r","}
"""Other delimiters. They split only records in which such a delimiter follows the kind."""
_END = re.compile(
    rf"{_OPEN}{_S}{_BAR}*{_S}complet\w*{_S}{_BAR}*{_S}{_CLOSE}|\{{completion_delimiter\}}"
    r"|(?m:^[\s*(]*completed?[\s*).]*$)",
    re.IGNORECASE,
)
_QUOTES = "[\"'“”„‘’«»`*]*"
_HEAD = re.compile(
    rf"(?:(?P<open>[(\[{{（【])\s*)?{_QUOTES}(?:(?<!\w)"
    rf"(?P<kind>entity|relationship|relation|fact|content_keywords)(?P<quote>{_QUOTES})\s*"
    rf"(?:(?P<field>{_FIELD})|(?P<weak>[|｜│¦,\t]|\\t))"
    rf"|(?<=[(\[{{（【\"'])(?P<other>[^\W\d][\w -]{{0,30}}?){_QUOTES}\s*(?:{_FIELD}))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:\A|\n|##|record_delimiter\}|[)\]）】][,;.]?)\s*(?:(?:[-*•·–—+>`|]+|#{1,6}|\(?\d{1,3}[.):])\s*)*\Z"
)
"""Text that may precede a record without brackets: a new line or another record, then bullets."""
_BEHIND = re.compile(r"\s*(?:[,;.]?\s*?(?:\n|\Z)|\**#|\{record|[\s,;.*`|•·–—+\-\d)]*\Z)")
"""Text that may follow the closing bracket of a record."""
_CLOSING = {"(": "()", "（": "（）", "[": "[]", "{": "{}", "【": "【】"}
_TABLE_RULE = re.compile(r"[^\n]*\n\s*\|?\s*:?-[-\s:|]*(?:\n|\Z)")
_PAIRS = ('""', "''", "“”", "‘’", "``", "«»")

Record = EntityRecord | RelationshipRecord | FactRecord


@dataclass(frozen=True)
class RecordReply:
    """Records of a model's reply, with counts of malformed records and negative strengths."""

    text: str
    records: tuple[Record, ...] = ()
    malformed: int = 0
    negative: int = 0
    cut: bool = False


def read_records(text: str, cut: bool, *, keywords: bool, purpose: str) -> RecordReply:
    """Parse the records of entities and relationships in a model's reply.

    A record starts with its kind and a delimiter, in brackets or at the start of a line. The fields
    of an entity are kind, name, type and description. The fields of a relationship are kind,
    source, target, description and strength. If `keywords` is true, a field with keywords may
    precede the strength. A strength that is not a decimal number becomes 1. Entities named "NONE"
    or "N/A", and an unfinished last record of a `cut` reply, are ignored. Raises UnreadableReply if
    the reply has no valid record and does not say that there are no records.
    Source: the authors' code of Zhou et al. 2025 (4e87938), and nano-graphrag.
    """
    records: list[Record] = []
    malformed = negative = nothing = 0
    for kind, *fields in _records(text, cut):
        if kind == "content_keywords":
            continue
        n_names = {"entity": 1, "relationship": 2}.get(kind, 0)
        while len(fields) > 2 + n_names and not fields[-1]:
            fields.pop()
        if not n_names or len(fields) < 2 + n_names:
            malformed += 1
        elif any(map(is_placeholder_name, fields[:n_names])) or any(
            field.strip("<>").lower() in _ECHOES for field in fields[n_names : n_names + 2]
        ):
            nothing += 1
        elif not all(map(normalise_name, fields[:n_names])):
            malformed += 1
        elif kind == "entity":
            records.append(EntityRecord(fields[0], fields[1].lower(), fields[2]))
        else:
            strength = _number(fields[-1], 1.0)
            negative += strength < 0
            themes = re.split(r"[,;]", fields[3]) if keywords and len(fields) >= 5 else []
            distinct = unique([theme.strip() for theme in themes if theme.strip()])
            weight = max(strength, 0.0)
            records.append(RelationshipRecord(fields[0], fields[1], fields[2], distinct, weight))
    reply = RecordReply(text, tuple(records), malformed, negative, cut)
    return _checked(reply, purpose, says_none=bool(nothing))


def read_facts(text: str, cut: bool, *, purpose: str) -> RecordReply:
    """Parse the records of facts and of their entities in a reply. Format: see `read_records`.

    The fields of a fact are its text and its completeness score (0..10, default 10). The fields of
    an entity are its name and its description. An entity belongs to the last fact before it.
    Source: the authors' code of HyperGraphRAG (Luo et al. 2025), extraction prompt.
    """
    facts: list[FactRecord] = []
    malformed = nothing = 0
    for kind, *fields in _records(text, cut):
        if kind in ("fact", "entity") and fields and is_placeholder_name(fields[0]):
            nothing += 1
        elif kind == "fact" and fields and fields[0]:
            complete = _number(fields[-1], _COMPLETE) if len(fields) > 1 else _COMPLETE
            facts.append(FactRecord(fields[0], (), min(max(complete, 0.0), _COMPLETE)))
        elif kind == "entity" and len(fields) > 1 and normalise_name(fields[0]) and facts:
            entity = EntityRecord(fields[0], "", fields[1])
            facts[-1] = replace(facts[-1], entities=(*facts[-1].entities, entity))
        else:
            malformed += 1
    reply = RecordReply(text, tuple(facts), malformed, cut=cut)
    return _checked(reply, purpose, says_none=bool(nothing))


def drops_records(reply: RecordReply, earlier: str) -> bool:
    """Return whether a corrected reply has lost the records of the `earlier` reply."""
    return not reply.records and not resembles_no_record(earlier)


def resembles_no_record(text: str) -> bool:
    """Return whether a text is a single line in which nothing looks like a record."""
    words = _END.sub("", text).strip()
    like = r"[|｜{}\t]|&lt;|\\t|[(\[\"'“]\s*(entity|relation|fact)"
    return "\n" not in words and not re.search(like, words, re.IGNORECASE)


def _checked(reply: RecordReply, purpose: str, *, says_none: bool) -> RecordReply:
    """Return the reply. Raises UnreadableReply if it has no records and does not say so."""
    if reply.records or (says_none and not reply.malformed):
        return reply
    rest, n_ends = _END.subn("", reply.text)
    if reply.malformed or not n_ends or re.search(r"\w", re.sub(r"```\w*", "", rest)):
        problem = "no record is in the format" if rest.strip() else "it is empty"
        raise UnreadableReply(purpose, reply.text, problem)
    return reply


def _records(text: str, cut: bool) -> Iterator[list[str]]:
    """Yield the kind and the fields of each record. A stray delimiter yields the kind ""."""
    heads = [head for head in _HEAD.finditer(text) if _begins(text, head)]
    starts = [head.start() for head in heads] + [len(text)]
    if re.search(_FIELD, text[: starts[0]], re.IGNORECASE):
        yield [""]
    for head, end in zip(heads, starts[1:], strict=True):
        if head["weak"] and _TABLE_RULE.match(text, head.end()):
            continue  # the header of a table
        segment = text[head.end() : end]
        completed = _END.search(segment)
        segment = segment[: completed.start()] if completed else segment
        inside, behind = _inside(segment, head["open"] or "")
        whole = completed or re.match(r"\s*[*`]*##|\s*\n\s*[(\[]", behind)
        if whole or not cut or end < len(text):
            kind = (head["kind"] or "").lower()
            kind = "relationship" if kind == "relation" else kind
            yield [kind, *_fields(inside, head["weak"] or "", head["field"] or "")]
            if re.search(_FIELD, behind, re.IGNORECASE):
                yield [""]


def _begins(text: str, head: re.Match[str]) -> bool:
    """Return whether a match is the start of a record, and not a field or words in brackets."""
    if (head["weak"] == "," and not head["quote"]) or (head["other"] and not head["open"]):
        return False
    bracketed = head["open"] and head["field"]
    return bool(bracketed or _BEFORE.search(text, max(0, head.start() - 60), head.start()))


def _inside(segment: str, opening: str) -> tuple[str, str]:
    """Return the content of a record, and the text after the closing bracket that ends it."""
    depth, last = 0, -1
    opens, closes = tuple(_CLOSING.get(opening, "()"))
    for sign in re.finditer(re.escape(opens) + "|" + re.escape(closes), segment) if opening else ():
        if sign[0] == opens:
            depth += 1
            continue
        last = sign.start()
        if depth == 0 and _BEHIND.match(segment, sign.end()):
            break
        depth = max(depth - 1, 0)
    if last >= 0:
        return segment[:last], segment[last + 1 :]
    line = segment.strip().partition("\n")[0]
    line = re.sub(r"\s*\**#{2,}\**\s*\Z|[\s,;]+\Z", "", line)
    closed = line.endswith(")") and line.count(")") > line.count("(")
    return (line[:-1] if closed else line), segment[len(line) :]


def _fields(inside: str, weak: str, field: str) -> list[str]:
    if not weak:
        parts = re.split(_FIELD, inside, flags=re.IGNORECASE)
        return [_bare(unescape(part) if "&" in field else part) for part in parts]
    sign = _WEAK.get(weak, _WEAK["|"])
    inside = re.sub(rf"{sign}\s*\Z", "", inside.strip())
    quoted = re.split(rf"(?<=[\"”'’])\s*{sign}\s*(?=[\"“'‘\d.+-])", inside)
    parts = quoted if len(quoted) > 1 or weak == "," else re.split(sign, inside)
    return [_bare(part.replace(r"\|", "|")) for part in parts]


def _bare(text: str) -> str:
    text = text.strip()
    if len(text) > 4 and text.startswith("**") and text.endswith("**"):
        text = text[2:-2].strip()
    for opening, closing in map(tuple, _PAIRS):
        if len(text) > 1 and text[0] == opening and text[-1] == closing:
            text = text[1:-1].strip()
    return text


def _number(field: str, otherwise: float) -> float:
    return float(field) if _NUMBER.fullmatch(field) else otherwise
