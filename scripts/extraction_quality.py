"""Entities, triples and merges of names against the annotations of the sample, and the world.

Writes docs/results/extraction.md: the packaged spaCy model, merges by rule, and, with --llm, a
model of this machine on the passages whose triples are annotated. Its replies are stored in --home:
a run that was stopped goes on where it was.

Usage: python scripts/extraction_quality.py [--llm MODEL.gguf] [--musique FOLDER] [--home FOLDER]
                                             [--passages N] [--threads N]
  --llm       a GGUF file; without it the page has no rows of a language model
  --musique   a folder with corpus.json and questions.json in HippoRAG's layout, for the evidence
              found with and without merges; left out without it
  --home      where replies, artifacts and runs are stored
  --passages  the language model reads only the first N of the passages with triples
  --threads   CPU threads of the language model
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from graphrag_bench.config.compose import composed
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.repeats import scores_over_repeats
from graphrag_bench.graph.extraction import ChunkExtraction
from graphrag_bench.graph.name_dictionary import bare, key_of
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.local import Local
from graphrag_bench.models.nlp import NUMERIC, Sentence, Spacy
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.settings import Patience
from graphrag_bench.offline.chunking import presplit
from graphrag_bench.offline.entity_passage import RULES, read_names, read_titles
from graphrag_bench.offline.extraction import nlp_extraction
from graphrag_bench.offline.llm_extraction import llm_extraction
from graphrag_bench.offline.resolution import Name, Reading, Resolution, Rule, resolution
from graphrag_bench.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
GOLD = ROOT / "datasets" / "sample" / "annotations.jsonl"
PAGE = ROOT / "docs" / "results" / "extraction.md"
EVERY_RULE: tuple[Rule, ...] = get_args(Rule)
KINDS = {"person": "PERSON", "place": "GPE", "people": "NORP"}
"""The tagger's labels of annotated types; all others are ORG."""
_DATE = re.compile(
    r"\b\d{4}s?\b|^\W*\d|\b(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b(?! \w*[a-z]{3})"
)
_ARTICLE = re.compile(r"(?:the|a|an)\s+", re.I)
_OWNER = re.compile(r"['\u2019]s?$")
METRICS = ("evidence_recall@2", "evidence_recall@5", "evidence_recall@10")
MOST_TOKENS = 768
"""Of the language model's reply with triples; a passage has a hundred tokens."""
Span = tuple[int, int]
Rows = Mapping[str, ChunkExtraction]
ABOUT = """\
# Extraction quality

Written by `python scripts/extraction_quality.py --llm MODEL.gguf --musique FOLDER`, the second
with 100 MuSiQue questions in HippoRAG's layout. Entities, triples and merges of names against the
[annotations](../../datasets/sample/annotations.md) of the `sample` set: 355 mentions in 35
passages, 222 triples in 12 of them. One small set of one style, one annotator: the figures
compare extractors, they are no forecast for other texts.

**Entities.** Mentions by their place; numbers and dates aside. A leading article and a possessive
ending are cut off on both sides. `exact`: the same start and end; `overlap`: a character in
common. spaCy gives places; a name that a language model lists counts at every place of the text
that has it.

**Triples.** Both ends must be names of the annotated ends (any annotated name of the entity, else
the same words), whatever case, accents and articles. `ends`: in either direction, the relation is
not read; `ends, direction, word`: head and tail as annotated, and a word of the relation with the
same first four letters. Triples with a date or a number as an end are left out. spaCy's triples
are those of `extraction=nlp`: subject, verb, object, and the co-occurrence of names in a
sentence; those of the language model are those of `extraction=llm`, with replies of at most 768
tokens.

**Merges.** `entitypassage` merges names by rule (`build.graph.resolve`). Pairs: two mentions of
one node against two mentions of one entity; with spaCy's names, only mentions whose place it
found count. Merges: of the merges in annotated passages whose alias is annotated, the share whose
two names are of one entity; and of the names in a passage that are not the entity's most frequent
one, the share that was taken for it. A rule that merged nothing has no row: the sample has no
acronym with its long form, no initials and no plurals, so that those rules are shown by the tests
alone. The rules were written with their merges on `sample`, `world` and MuSiQue in view; the
annotations were made afterwards and changed none.

**Evidence.** Recall of the questions' passages without merges, with the rules of the default, and
with all; the differences are of the size of chance. `also_known` is not in the default: right as
its merges are, on the world it finds less evidence. Merges make a better graph, as pairs show, and
hardly change what is found: most passages and questions use the full name.
"""
WORLD = """\
Against the aliases of the synthetic world (`dataset=world`, 1,000 entities; a passage introduces an
alias as "X is also known as Y"), all rules: precision {precision}, recall {recall}.
What counts as wrong are merges by `surnames` of a piece of a name that the tagger cut with the
whole name. Without `also_known`, as in the default, recall is 0: no other rule can know that two
invented names are one.
"""


@dataclass(frozen=True)
class Gold:
    """The annotations of one passage; ends of triples are sets of keys that name them."""

    id: str
    text: str
    mentions: tuple[Mapping[str, Any], ...]
    triples: tuple[tuple[frozenset[str], str, frozenset[str]], ...] | None

    @property
    def spans(self) -> dict[Span, str]:
        """The entity of each mention by its place."""
        return {(one["start"], one["end"]): one["entity"] for one in self.mentions}


@dataclass(frozen=True)
class Share:
    """What was found: `right` of `told`, and `found` of `wanted`."""

    right: int
    told: int
    found: int
    wanted: int

    def cells(self) -> list[str]:
        """Precision, recall and their harmonic mean, with the counts."""
        p, r = self.right / max(self.told, 1), self.found / max(self.wanted, 1)
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        return [
            f"{p:.3f} ({self.right}/{self.told})",
            f"{r:.3f} ({self.found}/{self.wanted})",
            f"{f1:.3f}",
        ]


def read_gold(texts: Mapping[str, str]) -> list[Gold]:
    """The annotations in their order."""
    rows = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()]
    names: dict[str, set[str]] = {}
    for row in rows:
        for one in row["mentions"]:
            names.setdefault(one["entity"], set()).add(key_of(bare(one["text"])))

    def end(held: Mapping[str, str]) -> frozenset[str]:
        if "entity" in held:
            return frozenset(names[held["entity"]])
        return frozenset([key_of(bare(held["text"]))])

    return [
        Gold(
            row["id"],
            texts[row["id"]],
            tuple(row["mentions"]),
            tuple((end(t["head"]), t["relation"], end(t["tail"])) for t in row["triples"])
            if "triples" in row
            else None,
        )
        for row in rows
    ]


def trimmed(text: str, span: Span) -> Span:
    """A span without a leading article and a possessive ending."""
    start, end = span
    if found := _ARTICLE.match(text[start:end]):
        start += found.end()
    if found := _OWNER.search(text[start:end]):
        end = start + found.start()
    return start, end


def tagged(text: str, sentences: Iterable[Sentence]) -> dict[Span, str]:
    """The places and labels of the tagger's entities in a text, numbers and dates aside."""
    at, found = 0, {}
    for sentence in sentences:
        for name, kind in sentence.entities:
            start = text.index(name, at)
            at = start + len(name)
            if kind not in NUMERIC:
                found[trimmed(text, (start, at))] = kind
    return found


def located(text: str, names: Iterable[str]) -> list[Span]:
    """All places of names in a text, as whole words, longest names first, none inside another."""
    taken: list[Span] = []
    kept = {name.strip() for name in names if name.strip() and not _DATE.search(name)}
    for name in sorted(kept, key=lambda name: (-len(name), name)):
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            if all(found.end() <= start or found.start() >= end for start, end in taken):
                taken.append(found.span())
    return sorted(trimmed(text, span) for span in taken)


def entities(gold: Sequence[Gold], found: Mapping[str, Iterable[Span]]) -> tuple[Share, Share]:
    """By exact place, and by overlap."""
    n = [0] * 5
    for row in gold:
        wanted, told = list(row.spans), list(dict.fromkeys(found[row.id]))
        n[0] += len(set(wanted) & set(told))
        n[1] += len(told)
        n[2] += len(wanted)
        n[3] += sum(any(_overlap(one, other) for other in wanted) for one in told)
        n[4] += sum(any(_overlap(one, other) for other in told) for one in wanted)
    return Share(n[0], n[1], n[0], n[2]), Share(n[3], n[1], n[4], n[2])


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def triples(gold: Sequence[Gold], rows: Mapping[str, ChunkExtraction]) -> tuple[Share, Share]:
    """With the relation ignored, in either direction; and with direction and a word in common."""
    counts = []
    for strict in (False, True):
        n = [0, 0, 0, 0]
        for row in gold:
            told = dict.fromkeys(
                (key_of(bare(one.head)), one.relation, key_of(bare(one.tail)))
                for one in rows[row.id].triples
                if not _DATE.search(one.head) and not _DATE.search(one.tail)
            )
            pairs = told if strict else dict.fromkeys((h, "", t) for h, _, t in told)
            wanted = row.triples or ()
            n[0] += sum(any(_same(one, other, strict) for other in wanted) for one in pairs)
            n[1] += len(pairs)
            n[2] += sum(any(_same(one, other, strict) for one in pairs) for other in wanted)
            n[3] += len(wanted)
        counts.append(Share(*n))
    return counts[0], counts[1]


def _same(
    told: tuple[str, str, str],
    wanted: tuple[frozenset[str], str, frozenset[str]],
    strict: bool,
) -> bool:
    head, relation, tail = told
    straight = head in wanted[0] and tail in wanted[2]
    if strict:
        return straight and bool(_stems(relation) & _stems(wanted[1]))
    return straight or (tail in wanted[0] and head in wanted[2])


def _stems(relation: str) -> set[str]:
    """The first four letters of its words of four letters or more, else its words."""
    words = key_of(relation).split()
    return {word[:4] for word in words if len(word) > 3} or set(words)


def pairs(gold: Sequence[Gold], key: Callable[[str, Span], str | None]) -> Share:
    """Pairs of mentions that are one thing; `key` says which node a mention is, None for none.

    Only mentions with a node count; precision is over pairs on one node, recall over pairs of one
    annotated entity.
    """
    nodes = [
        (entity, node)
        for row in gold
        for span, entity in row.spans.items()
        if (node := key(row.id, span)) is not None
    ]
    by_node, by_entity, both = (
        Counter(n for _, n in nodes),
        Counter(e for e, _ in nodes),
        Counter(nodes),
    )
    right = _n_pairs(both)
    return Share(right, _n_pairs(by_node), right, _n_pairs(by_entity))


def _n_pairs(counts: Counter[Any]) -> int:
    return sum(n * (n - 1) // 2 for n in counts.values())


def merged(gold: Sequence[Gold], made: Resolution) -> Share:
    """Merges in annotated passages of annotated names.

    Right is one whose two names are of one entity. Wanted are the names of a passage that are not
    the entity's most frequent one; found are those taken for it.
    """
    every = [(row.id, key_of(bare(m["text"])), m["entity"]) for row in gold for m in row.mentions]
    usual: dict[str, Counter[str]] = {}
    for _, key, entity in every:
        usual.setdefault(entity, Counter())[key] += 1
    of = {(passage, key): entity for passage, key, entity in every}
    told = [
        (key_of(one.name), of[one.document, key_of(one.alias)])
        for one in made.merges
        if (one.document, key_of(one.alias)) in of
    ]
    first = {entity: counts.most_common(1)[0][0] for entity, counts in usual.items()}
    wanted = [one for one, entity in of.items() if one[1] != first[entity]]
    found = sum(made.name(key, passage) == first[of[passage, key]] for passage, key in wanted)
    return Share(sum(key in usual[entity] for key, entity in told), len(told), found, len(wanted))


def world_merges(rules: Sequence[Rule], nlp: Spacy) -> Share:
    """Merges in the synthetic world against the aliases that its passages introduce."""
    data = read_dataset("world", settings={})
    assert data.world is not None
    table = presplit(corpus=data)
    titles = read_titles(table, nlp)
    made = resolution(read_names(table, nlp, titles, Progress(quiet=True)), {}, rules)
    known = {
        (key_of(bare(one.alias)), key_of(bare(one.name)))
        for one in data.world.entities
        if one.id in data.world.introduced
    }
    told = [(key_of(one.alias), key_of(one.name)) for one in made.merges]
    right = sum(pair in known for pair in told)
    return Share(right, len(told), len(known & set(told)), len(known))


def annotated_readings(gold: Sequence[Gold], titles: Mapping[str, str]) -> list[Reading]:
    """The annotated names in place of the tagger's: what the rules do with perfect ones."""
    readings = []
    for row in gold:
        names = tuple(Name.of(one["text"], KINDS.get(one["type"], "ORG")) for one in row.mentions)
        kinds = {name.key: name.kind for name in names}
        title = Name.of(titles[row.id])
        held = Name(title.key, title.shown, kinds.get(title.key, ""))
        readings.append(Reading(row.id, held, names, row.text))
    return readings


def resolution_rows(
    gold: Sequence[Gold], table: ChunkTable, spans: Mapping[str, Mapping[Span, str]], nlp: Spacy
) -> list[list[str]]:
    """Pairs and merges, with the tagger's names and with the annotated ones, rule by rule."""
    titles = {table.documents_of(row)[0]: table.titles[row] for row in range(len(table))}
    read = read_names(table, nlp, read_titles(table, nlp), Progress(quiet=True))
    given = {"spaCy's names": read, "annotated names": annotated_readings(gold, titles)}
    texts = {row.id: row.text for row in gold}
    rows = []
    single: dict[str, tuple[Rule, ...]] = {rule: (rule,) for rule in EVERY_RULE}
    chosen: dict[str, tuple[Rule, ...]] = {
        "none": (), **single, "default": RULES, "all": EVERY_RULE,
    }  # fmt: skip
    for name, readings in given.items():
        for said, rules in chosen.items():
            made = resolution(readings, {}, rules)

            def key(
                passage: str, span: Span, made: Resolution = made, name: str = name
            ) -> str | None:
                if name == "spaCy's names" and span not in spans[passage]:
                    return None
                return made.name(key_of(bare(texts[passage][slice(*span)])), passage)

            if said in ("none", "default", "all") or made.merges:
                found = merged(gold, made) if said != "none" else None
                cells = found.cells()[:2] if found else ["–", "–"]
                rows.append([name, said, *pairs(gold, key).cells(), *cells])
    return rows


def by_llm(gold: Sequence[Gold], table: ChunkTable, asked: argparse.Namespace) -> Rows:
    """What the model reads, passage by passage; replies that are stored are not asked for again."""
    home = Path(asked.home)
    home.mkdir(parents=True, exist_ok=True)
    patience = Patience(read=1800.0, total=3600.0)
    model = Local(asked.llm, threads=asked.threads, patience=patience)
    store = ReplyStore(home / "replies.sqlite")
    part = only(table, [row.id for row in gold])
    try:
        made = llm_extraction(
            chunk_table=part,
            llm_build=Cached(model, store),
            progress=Progress(),
            max_triple_tokens=MOST_TOKENS,
        )
    finally:
        store.close()
        model.close()
    return {part.documents_of(row)[0]: made.rows[row] for row in range(len(part))}


def by_spacy(gold: Sequence[Gold], table: ChunkTable, nlp: Spacy, co_occurrence: int) -> Rows:
    """What the packaged tagger and parser read, titles as subjects of pronouns included."""
    part = only(table, [row.id for row in gold])
    made = nlp_extraction(
        chunk_table=part, nlp=nlp, progress=Progress(quiet=True), co_occurrence=co_occurrence
    )
    return {part.documents_of(row)[0]: made.rows[row] for row in range(len(part))}


def only(table: ChunkTable, documents: Sequence[str]) -> ChunkTable:
    """The chunks of some documents, in their order."""
    rows = [row for document in documents for row in table.chunks_of(document)]
    return ChunkTable.of(
        [(table.documents_of(row)[0], table.titles[row], table.texts[row]) for row in rows]
    )


def line(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A heading, with a table below it."""
    return ["", f"## {title}", "", line(heads), line(["---"] * len(heads)), *map(line, rows)]


def page(asked: argparse.Namespace) -> str:
    """The page."""
    data, nlp = read_dataset("sample"), Spacy()
    table = presplit(corpus=data)
    gold = read_gold({row.id: row.text for row in data.documents})
    facts = [row for row in gold if row.triples is not None]
    sentences = nlp.sentences([row.text for row in gold])
    spans = {row.id: tagged(row.text, held) for row, held in zip(gold, sentences, strict=True)}
    names = [
        ("spaCy", "all", entities(gold, spans)),
        ("spaCy", "with triples", entities(facts, spans)),
    ]
    told = [
        ("spaCy, with co-occurrence", len(facts), triples(facts, by_spacy(facts, table, nlp, 8))),
        ("spaCy, without", len(facts), triples(facts, by_spacy(facts, table, nlp, 0))),
    ]
    if asked.llm:
        read = facts[: asked.passages]
        rows = by_llm(read, table, asked)
        model = Path(asked.llm).stem
        found = {row.id: located(row.text, rows[row.id].entities) for row in read}
        where = "with triples"
        if len(read) < len(facts):
            where = f"the first {len(read)} with triples"
            names.append(("spaCy", where, entities(read, spans)))
            again = by_spacy(read, table, nlp, 8)
            told.append(("spaCy, with co-occurrence", len(read), triples(read, again)))
        names.append((model, where, entities(read, found)))
        told.append((model, len(read), triples(read, rows)))
    lines = ABOUT.splitlines()
    heads = ("names by", "passages", "match", "precision", "recall", "F1")
    lines += section("Entities", heads, (
        [who, where, match, *share.cells()]
        for who, where, shares in names
        for match, share in zip(("exact", "overlap"), shares, strict=True)
    ))  # fmt: skip
    heads = ("triples by", "passages", "match", "precision", "recall", "F1")
    lines += section("Triples", heads, (
        [who, str(n), match, *share.cells()]
        for who, n, shares in told
        for match, share in zip(("ends", "ends, direction, word"), shares, strict=True)
    ))  # fmt: skip
    merge_heads = (
        "names", "rules", "pairs: precision", "pairs: recall", "pairs: F1",
        "merges: precision", "merges: recall",
    )  # fmt: skip
    lines += section("Merges", merge_heads, resolution_rows(gold, table, spans, nlp))
    precision, recall, _ = world_merges(EVERY_RULE, nlp).cells()
    lines += ["", *WORLD.format(precision=precision, recall=recall).splitlines()]
    recall_heads = ("set", "rules", "questions", *METRICS)
    lines += section("Evidence found by `entitypassage`", recall_heads, recall_rows(asked))
    return "\n".join(lines) + "\n"


def recall_rows(asked: argparse.Namespace) -> Iterator[list[str]]:
    """The evidence that the method finds without merges, with the default and with all rules."""
    musique = {"musique": ("dataset=musique", f"dataset.root={asked.musique}")}
    sets = {"sample": ("dataset=sample",), "world": ("dataset=world",)}
    rules = {"none": (), "default": RULES, "all": EVERY_RULE}
    for name, words in (sets | (musique if asked.musique else {})).items():
        for said, chosen in rules.items():
            given = [
                *words,
                "method=entitypassage",
                "answer=off",
                "reference_rows=off",
                f"paths.home={asked.home}",
                f"build.graph.resolve=[{','.join(chosen)}]",
            ]
            ended = execute(Experiment.prepare(composed(given)), Progress())
            scores = scores_over_repeats(ended.experiment).values()
            held = [one for one in scores if METRICS[0] in one]
            means = [sum(one[metric] for one in held) / len(held) for metric in METRICS]
            yield [name, said, str(len(held)), *(f"{mean:.3f}" for mean in means)]


def main() -> int:
    """Write the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--llm", default="")
    parser.add_argument("--musique", default="")
    parser.add_argument("--home", default=".")
    parser.add_argument("--passages", type=int, default=None)
    parser.add_argument("--threads", type=int, default=None)
    PAGE.write_text(page(parser.parse_args()), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
