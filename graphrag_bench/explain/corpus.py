"""What a graph may gain on a corpus, by how names link its passages, beside sets that were run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np
import yaml

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import NameDictionary, title_key
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, documents_of
from graphrag_bench.errors import UserError
from graphrag_bench.files import project_folder
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, retrieved
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import RetrievalState

NEAREST = 5
"""Passages that vectors alone are given; the gain is one in recall at this cut."""
MOST_PASSAGES = 50
"""A name in more passages than this links none of them."""
_N_SAMPLED = 500
_WORTH = 0.05


@dataclass(frozen=True)
class Linkage:
    """How a corpus and its questions are linked by names; shares, 0..1.

    `linked`: passages (of 500 drawn, seed 0) that share a name with another document's. `named`:
    questions that name a node. Of questions with evidence (None without any): `missed`, their
    evidence that is not among the 5 nearest passages by vectors; `reachable`, evidence that is
    missed and shares a name with the question or with other evidence of it, in questions that name
    a node, where a walk can begin; `pairs`, pairs of their evidence that share a name. Names in
    more than 50 passages link nothing.
    """

    n_passages: int
    n_questions: int
    linked: float
    named: float | None = None
    pairs: float | None = None
    missed: float | None = None
    reachable: float | None = None


@dataclass(frozen=True)
class Measured:
    """A set that was run: its shares, and what the graph gained over vectors in recall@5."""

    name: str
    linked: float
    reachable: float
    gain: float


@dataclass(frozen=True)
class Expected:
    """The expected gain in recall@5 with its 95 % interval.

    `of` is the share that it is proportional to, `error` the root mean square error of the gains
    predicted for each set from the others.
    """

    gain: float
    low: float
    high: float
    of: str
    error: float
    n_sets: int


@dataclass(frozen=True)
class Known:
    """The methods that were compared, and the sets on which they were run."""

    vectors: str
    graph: str
    sets: tuple[Measured, ...]


@cache
def known() -> Known:
    """Return what `configs/expected_gain.yaml` holds; `scripts/corpus_gain.py` writes it."""
    raw = yaml.safe_load((project_folder("configs") / "expected_gain.yaml").read_text("utf-8"))
    return Known(raw["vectors"], raw["graph"], tuple(Measured(**row) for row in raw["sets"]))


def linkage(vectors: Experiment, graph: Experiment, progress: Progress | None = None) -> Linkage:
    """Measure a corpus by the graph and the nearest passages of two experiments on it.

    Builds what is missing; no question is answered. Raises UserError for a set whose questions
    have graphs of their own.
    """
    questions, _ = graph.selection()
    if graph.settings.graph.per != "all" and any(one.scope for one in questions):
        raise UserError("--corpus looks at one graph of everything: add graph.per=all.")
    progress = progress or Progress(quiet=True)
    built = build_resources(graph, graph.models_of(None), progress, answering=False)
    nearest = {
        one.question.id: one.outcome.get("chunks").ids[:NEAREST].tolist()
        for one in retrieved(vectors, questions, progress).finished
        if isinstance(one.outcome, RetrievalState)
    }
    links = _Links.of(built["graph"], built["chunk_table"])
    shares = [
        _of_question(links, links.in_text(one.text), graph.dataset.gold[one.id], nearest[one.id])
        for one in questions
        if one.id in nearest
    ]
    means = {
        name: fmean(values) if (values := [row[name] for row in shares if name in row]) else None
        for name in ("named", "pairs", "missed", "reachable")
    }
    return Linkage(len(links.names_of), len(questions), links.linked(), **means)


@dataclass(frozen=True)
class _Links:
    """The names that may link passages: those of each passage, and the dictionary of all."""

    names_of: Sequence[frozenset[int]]
    documents: Sequence[frozenset[str]]
    rows_of: Mapping[str, list[int]]
    dictionary: NameDictionary
    titles: frozenset[str]

    @classmethod
    def of(cls, graph: Graph, table: ChunkTable) -> "_Links":
        inside = graph.node_chunk.tocsc()
        n_chunks = np.diff(graph.node_chunk.tocsr().indptr)
        columns = (
            inside.indices[a:b] for a, b in zip(inside.indptr, inside.indptr[1:], strict=False)
        )
        names = [frozenset(rows[n_chunks[rows] <= MOST_PASSAGES].tolist()) for rows in columns]
        documents = [frozenset(table.documents_of(row)) for row in range(len(table))]
        rows_of = {name: table.chunks_of(name) for name in table.documents}
        titles = frozenset(map(title_key, table.titles))
        return cls(names, documents, rows_of, NameDictionary.of(graph.names), titles)

    def in_text(self, text: str) -> frozenset[int]:
        return frozenset(row for _, row in self.dictionary.matches(text, self.titles))

    def of_document(self, document: str) -> frozenset[int]:
        return frozenset().union(*(self.names_of[row] for row in self.rows_of.get(document, ())))

    def linked(self) -> float:
        """The share of passages that share a name with a passage of another document."""
        holders: dict[int, set[str]] = {}
        for names, documents in zip(self.names_of, self.documents, strict=True):
            for name in names:
                holders.setdefault(name, set()).update(documents)
        n_passages = len(self.names_of)
        rows = np.random.default_rng(0).permutation(n_passages)[:_N_SAMPLED]
        return fmean(
            any(holders[name] - self.documents[row] for name in self.names_of[row]) for row in rows
        )


def _of_question(
    links: _Links, named: frozenset[int], gold: Gold, nearest: Sequence[int]
) -> dict[str, float]:
    shares: dict[str, float] = {"named": bool(named)}
    evidence = [frozenset(documents_of(gold, one)) for one in gold.evidence]
    names = [frozenset().union(*map(links.of_document, one)) for one in evidence]
    near = frozenset().union(*(links.documents[row] for row in nearest))
    if not evidence:
        return shares
    missed = [place for place, one in enumerate(evidence) if not one & near]
    others = [
        named.union(*(of for other, of in enumerate(names) if other != place)) for place in missed
    ]
    shared = [bool(names[at] & by) for at, by in zip(missed, others, strict=True)]
    n_reachable = sum(shared) if named else 0
    shares |= {"missed": len(missed) / len(evidence), "reachable": n_reachable / len(evidence)}
    if len(names) > 1:
        pairs = [(a, b) for row, a in enumerate(names) for b in names[:row]]
        shares["pairs"] = fmean(bool(a & b) for a, b in pairs)
    return shares


def expected(corpus: Linkage, sets: Sequence[Measured]) -> Expected:
    """Return the gain that the sets let expect: proportional to `reachable`, else to `linked`.

    The slope is that of least squares through the origin, the interval the prediction plus and
    minus Student's t (two-sided 95 %, one degree less than sets) times the error of sets left out.
    """
    from scipy.special import stdtrit

    of = "linked" if corpus.reachable is None else "reachable"
    shares, gains = [getattr(one, of) for one in sets], [one.gain for one in sets]
    error = fmean(miss**2 for miss in left_out(shares, gains)) ** 0.5
    gain = _slope(shares, gains) * float(getattr(corpus, of))
    reach = float(stdtrit(len(sets) - 1, 0.975)) * error
    return Expected(gain, gain - reach, gain + reach, of, error, len(sets))


def left_out(shares: Sequence[float], gains: Sequence[float]) -> list[float]:
    """Return, for each set, its gain minus the one predicted from the others."""
    return [
        gain - share * _slope(_without(shares, row), _without(gains, row))
        for row, (share, gain) in enumerate(zip(shares, gains, strict=True))
    ]


def _without(values: Sequence[float], row: int) -> list[float]:
    return [*values[:row], *values[row + 1 :]]


def _slope(shares: Iterable[float], gains: Iterable[float]) -> float:
    x, y = np.array(list(shares)), np.array(list(gains))
    return float(x @ y / (x @ x)) if x.any() else 0.0


def described(corpus: Linkage, name: str, sets: Known) -> str:
    """Return what was measured, the expected gain, and the method to begin with, as lines."""
    rows = [
        ("passages that share a name with another document's", corpus.linked),
        ("questions that name a node of the graph", corpus.named),
        ("pairs of evidence of a question that share a name", corpus.pairs),
        (f"evidence that the {NEAREST} nearest passages lack", corpus.missed),
        ("  of all evidence, lacking there and reachable by names", corpus.reachable),
    ]
    lines = [f"corpus {name}: {corpus.n_passages:,} passages, {corpus.n_questions:,} questions"]
    lines += [f"  {label:<56} {share:.3f}" for label, share in rows if share is not None]
    gain = expected(corpus, sets.sets)
    lines.append(
        f"expected gain of a graph in recall@{NEAREST}: {gain.gain:+.3f} "
        f"[{gain.low:+.3f}, {gain.high:+.3f}], by the share {gain.of} over {gain.n_sets} sets "
        f"(error of a set left out: {gain.error:.3f})"
    )
    both = f"method={sets.vectors},{sets.graph}"
    if gain.low > 0:
        lines.append(f"begin with method={sets.graph}")
    elif gain.high < _WORTH:
        lines.append(f"begin with method={sets.vectors}: a graph adds less than {_WORTH} here")
    else:
        lines.append(f"the interval includes no gain: compare {both}")
    if corpus.missed is not None:
        lines.append(f"to measure it: `run -m {both} answer=off` in place of `plan --corpus`")
    return "\n".join(lines)
