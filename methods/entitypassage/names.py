"""Graph of names and titles that are linked to passages, but not to each other."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import Merge, bare_name, key_of
from graphrag_bench.arrays import best_score_by_id
from graphrag_bench.columns import count_csr
from graphrag_bench.contract import artifact, operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.embedding.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import ChunkScores, Node, Ranked

_BRACKETS = re.compile(r"\(([^()]{2,100})\)")
_SHORT = re.compile(r"[^\W_][\w.&/-]{1,9}")
_SENTENCE_END = re.compile(r"[.!?;:]\s")


@dataclass(frozen=True)
class Name:
    """A name as it is displayed (`text`), and a `key` that all spellings of the name share."""

    key: str
    text: str

    @classmethod
    def of(cls, text: str) -> "Name":
        """Return the name without bracketed text, a leading article and a possessive ending."""
        shorter = bare_name(text)
        return cls(key_of(shorter), normalise_name(shorter))


@dataclass(frozen=True)
class ChunkNames:
    """The names in a chunk. If the chunk has no title or titles are not used, `title` is None."""

    document: str
    title: Name | None
    names: tuple[Name, ...]
    text: str


@artifact("graph.entity_passage", provides={"node.name", "relationship.weight"})
def entity_passage(
    *,
    corpus: Dataset,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    title_weight: NonNegativeInt = 3,
) -> Graph:
    """Build a graph of named entities and passage titles, linked to the chunks that name them.

    spaCy finds the entities in titles and texts, except numbers, ordinals, amounts and dates. A
    title without its bracketed part is also an entity. Names lose a leading article and a
    possessive ending. Names that differ only in case and accents are the same node, which is
    written as in the first mention. Redirects, and acronyms that a text defines, are merged into
    the full name and listed in `merges` of the graph. The weights in `node_chunk` are
    `title_weight` for the title of a chunk and 1 for other names. With `title_weight=0` titles are
    not used. Nodes are in order of first mention, and the title of a chunk comes before the names
    in its text. Raises UserError if no name is found.
    Source: this project; LinearRAG (Zhuang et al. 2025), for a graph without relationships.
    """
    readings = _read_names(chunk_table, nlp, progress, titles=title_weight > 0)
    redirects = {row.id: row.aliases for row in corpus.documents if row.aliases}
    name_of_alias, merged = merged_names(readings, redirects)
    bracketed: dict[str, Merge] = {}
    for title, row in zip(chunk_table.titles, readings, strict=True):
        if row.title and ("(" in title or "[" in title):
            merge = Merge(normalise_name(title), row.title.text, "brackets", row.document)
            bracketed.setdefault(title, merge)
    merges = (*bracketed.values(), *merged)
    if counts := Counter(merge.rule for merge in merges):
        counted = ", ".join(f"{n:,} by {rule}" for rule, n in counts.items())
        progress.say(f"names merged: {counted} (graph/merges.jsonl)")
    names: dict[str, str] = {}
    weights: dict[tuple[str, int], int] = {}
    for chunk, row in enumerate(readings):
        all_names = (row.title, *row.names) if row.title else row.names
        for name in (name_of_alias.get(name.key, name) for name in all_names):
            names.setdefault(name.key, name.text)
            weights[name.key, chunk] = 1
        if row.title:
            weights[row.title.key, chunk] = title_weight
    if not names:
        raise UserError(
            "The graph has no entities, because the tagger found no names in the texts. Check that "
            "the texts are in the language of the tagger's model and contain names."
        )
    row_of = {key: row for row, key in enumerate(names)}
    cells = {(row_of[key], chunk): weight for (key, chunk), weight in weights.items()}
    matrix = count_csr(cells, (len(names), len(readings)))
    graph = Graph.from_arrays([], [], matrix, names=list(names.values()))
    return replace(graph, merges=merges)


def _read_names(
    chunk_table: ChunkTable, nlp: Nlp, progress: Progress, titles: bool
) -> list[ChunkNames]:
    """Return the names in each chunk, names in the title first. Single letters are left out."""
    name_of = cache(Name.of)

    def named(sentences: Iterable[Sentence]) -> tuple[Name, ...]:
        entities = (entity for sentence in sentences for entity in sentence.entities)
        names = (name_of(text) for text, label in entities if label not in NUMERIC)
        return tuple(name for name in names if len(name.key) > 1)

    texts, readings = list(chunk_table.texts), []
    shown = [title for title in dict.fromkeys(chunk_table.titles) if titles and name_of(title).key]
    inside = dict(zip(shown, map(named, nlp.sentences(shown)), strict=True))
    with progress.task("reading names", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            title = name_of(chunk_table.titles[row]) if titles else None
            own = title if title and len(title.key) > 1 else None
            names = (*inside.get(chunk_table.titles[row], ()), *named(sentences))
            readings.append(ChunkNames(chunk_table.documents_of(row)[0], own, names, texts[row]))
            advance(1)
    return readings


def merged_names(
    chunks: Sequence[ChunkNames], redirects: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Name], list[Merge]]:
    """Return a mapping from each alias to the full name that replaces it, and the list of merges.

    For each document, `redirects` lists aliases of its title. Redirects are merged before acronyms.
    An alias that stands for several names is not merged, and a title is never an alias.
    """
    title_of = {row.document: row.title for row in chunks if row.title}
    titles = {row.title.key for row in chunks if row.title}
    names: dict[str, Name] = {}
    merges: list[tuple[Name, str, str]] = []
    definitions: dict[str, Iterable[tuple[Name, Name, str]]] = {
        "redirects": (
            (Name.of(alias), title, document)
            for document, title in title_of.items()
            for alias in redirects.get(document, ())
        ),
        "acronyms": (
            (Name.of(short), Name.of(long), row.document)
            for row in chunks
            for short, long in acronyms(row.text)
        ),
    }
    for rule, defined in definitions.items():
        by_alias: dict[str, dict[str, tuple[Name, Name, str]]] = {}
        for alias, name, document in defined:
            if alias.key in titles:
                alias, name = name, alias
            if alias.key not in titles and len(alias.key) > 1 and len(name.key) > 1:
                by_alias.setdefault(alias.key, {}).setdefault(name.key, (alias, name, document))
        for key, by_name in by_alias.items():
            alias, name, document = next(iter(by_name.values()))
            if len(by_name) == 1 and key not in names and _resolved(name, names).key != key:
                names[key] = name
                merges.append((alias, rule, document))
    ends = {key: _resolved(name, names) for key, name in names.items()}
    return ends, [Merge(one.text, ends[one.key].text, *rest) for one, *rest in merges]


def _resolved(name: Name, names: Mapping[str, Name]) -> Name:
    while name.key in names:
        name = names[name.key]
    return name


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """Yield the short and the long form of every acronym that a text defines, in order.

    A definition has the form "World Health Organization (WHO)" or "WHO (World Health
    Organization)". A short form is a word of 2 to 10 characters with at least two capitals. If it
    has n letters and digits, the long form is searched for in the min(n + 5, 2 n) words before it.
    The long form is the shortest text that contains these letters in order and in which the first
    letter begins a word. If the long form is in brackets, it must fill the brackets.
    Source: Schwartz and Hearst, Pacific Symposium on Biocomputing 2003.
    Deviation: Two capitals are required. In the paper, one letter is enough.
    """
    for bracket in _BRACKETS.finditer(text):
        inside = re.split(r"[;,]", bracket[1])[0].strip()
        before = _SENTENCE_END.split(text[: bracket.start()])[-1].split()
        if not before:
            continue
        if _is_short(inside):
            n = sum(char.isalnum() for char in inside)
            long = _long_form(inside, " ".join(before[-min(n + 5, 2 * n) :]))
            if long and inside not in long.split():
                yield inside, long
        elif _is_short(before[-1]) and " " in inside and _long_form(before[-1], inside) == inside:
            yield before[-1], inside


def _is_short(word: str) -> bool:
    return sum(map(str.isupper, word)) >= 2 and _SHORT.fullmatch(word) is not None


def _long_form(short: str, words: str) -> str:
    letters = [char for char in short.casefold() if char.isalnum()]
    for start in reversed(range(len(words))):
        begins_word = start == 0 or not words[start - 1].isalnum()
        if begins_word and words[start].casefold() == letters[0]:
            rest = iter(words[start:].casefold())
            if all(letter in rest for letter in letters):
                return words[start:]
    return ""


@operator("chunk.restart")
def chunk_restart(chunk_scores: ChunkScores, *, n_dense: PositiveInt = 200) -> ChunkScores:
    """Compute PageRank restart weights of chunks from the scores of the `n_dense` best chunks.

    The weight of each of these chunks is its score minus the lowest of these scores. If all scores
    are equal, each weight is 1. The weights are then divided by their sum. All other weights are 0.
    Source: this project.
    """
    best = chunk_scores.top(n_dense)
    above = best.scores - best.scores.min(initial=np.inf)
    weights = above if above.any() else np.ones(len(best))
    return ChunkScores.sparse(best.ids, weights / (weights.sum() or 1.0), len(chunk_scores))


@operator("node.restart")
def node_restart(nodes: Ranked[Node], *, graph: Graph) -> Ranked[Node]:
    """Compute PageRank restart weights from the scores of the given nodes.

    The weight of a node is its score divided by the number of chunks that contain it (at least 1).
    The weights are then divided by their sum, unless all are 0. If a node is given twice, its best
    score counts. Negative scores count as 0. HippoRAG does not divide by the sum.
    Source: HippoRAG (Gutierrez et al. 2024), Section 2.3, node specificity.
    """
    rows, best = best_score_by_id(nodes.ids, nodes.scores, least=0.0)
    weights = best / np.maximum(np.diff(graph.node_chunk.indptr)[rows], 1)
    return Ranked.best(rows, weights / (weights.sum() or 1.0))
