"""The expected input of each step, before anything is run: lists, contexts, rounds.

A list of rows comes from a search, which fills its `top_k`, or from a graph, where it is as long as
what it comes from lets it be, times what one row leads to on average. Such lists differ much from
question to question: their length is taken to be exponential around that mean, so that a bound cuts
the long ones and the short ones stay short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphrag_bench.expected import Sizes
from graphrag_bench.pipeline.combinators.aside import Aside
from graphrag_bench.pipeline.combinators.branch import Branch
from graphrag_bench.pipeline.combinators.each import Each
from graphrag_bench.pipeline.combinators.repeat import Repeat
from graphrag_bench.pipeline.combinators.resolve import Resolve
from graphrag_bench.pipeline.combinators.switch import Switch
from graphrag_bench.pipeline.steps import OperatorStep, Step

LISTED = ("mentions", "nodes", "relationships", "chunks", "communities", "paths", "subgraph")
LEADS_TO = {
    ("mentions", "relationships"): math.inf,
    ("nodes", "relationships"): 10.0,
    ("nodes", "chunks"): 3.0,
    ("nodes", "paths"): math.inf,
    ("relationships", "nodes"): 2.0,
    ("paths", "nodes"): 3.0,
    ("paths", "relationships"): 3.0,
    ("paths", "chunks"): 3.0,
}
"""Rows of the second kind that one of the first leads to; 1 for what is not named. Measured on the
set `sample` with the graphs that spaCy reads."""
ROW_TOKENS = {"node": 100.0, "relationship": 50.0, "community": 340.0, "path": 150.0}
"""Tokens of a row of a graph with descriptions, as the sets `sample` and UltraDomain have them."""
PLAIN_ROW_TOKENS = {"node": 8.0, "relationship": 17.0, "path": 40.0}
"""Of a graph of names alone."""
POINTS, POINT_TOKENS = 2.0, 25.0
"""Points that a model makes of one group of a context, and the tokens of one."""
ANSWER_TOKENS = 40.0
"""Of an intermediate answer."""
MENTIONS = 2.0
"""Entities that a question names."""
TRIPLE_TOKENS = 14.0
SUB_QUESTIONS = 2.0
"""Sub-questions that a model makes per question, and items of a list that is processed singly."""


@dataclass(frozen=True)
class Rows:
    """Rows of a list: so many, or, where they come from a graph, so many on average."""

    n: float
    searched: bool = True

    def up_to(self, most: float) -> float:
        """How many are left on average where no more than `most` fit."""
        if self.searched or math.isinf(self.n):
            return min(self.n, most)
        return self.n * (1.0 - math.exp(-most / self.n)) if self.n > 0 else 0.0


@dataclass(frozen=True)
class Kinds:
    """Tokens of one row of each kind, and the rows of lists that are complete (communities)."""

    tokens: Mapping[str, float]
    complete: Mapping[str, float] = field(default_factory=dict)
    chunk_nodes: bool = False


@dataclass(frozen=True)
class Place:
    """What is expected where a step begins: lists, the context so far with its share, points.

    `told` are the tokens of the intermediate answers of a search in rounds, before they are points.
    """

    rows: Mapping[str, Rows] = field(default_factory=dict)
    context: float = 0.0
    pieces: float = 0.0
    share: float = 0.0
    points: float = 0.0
    told: float = 0.0

    def sizes(self, known: Sizes) -> Sizes:
        """The sizes for a step that begins here."""
        passages = self.rows.get("chunks", Rows(0.0)).n
        found = replace(known, context=self.context, pieces=self.pieces, points=self.points)
        return replace(found, passages=0.0 if math.isinf(passages) else passages)


Visit = tuple[OperatorStep, Place, float]
"""An operator step, what it is given, and how often it runs for one question."""


@dataclass(frozen=True)
class Walk:
    """A walk through the steps of a pipeline in their order."""

    kinds: Kinds
    known: Sizes

    def steps(
        self, steps: Sequence[Step], place: Place, times: float = 1.0
    ) -> tuple[list[Visit], Place]:
        """Every operator step inside, and the place where the list of steps ends."""
        visits: list[Visit] = []
        for step in steps:
            inner, place = self._step(step, place, times)
            visits += inner
        return visits, place

    def _step(self, step: Step, place: Place, times: float) -> tuple[list[Visit], Place]:
        if isinstance(step, OperatorStep):
            return [(step, place, times)], self._after(step, place)
        if isinstance(step, Branch):
            return self._branch(step, place, times)
        if isinstance(step, Switch):
            return self._switch(step, place, times)
        if isinstance(step, Repeat):
            _, grown = self.steps(step.steps, place)
            visits, end = self.steps(step.steps, grown, times * step.times)
            told = place.told + step.times * (end.told - grown.told)
            return visits, replace(end, told=told)
        if isinstance(step, Each):
            return self._each(step, place, times)
        if isinstance(step, Resolve):
            return self._resolve(step, place, times)
        if isinstance(step, Aside):
            visits, inside = self.steps(step.steps, place, times)
            kept = {slot: rows for slot, rows in inside.rows.items() if slot in step.keep}
            return visits, replace(place, rows={**place.rows, **kept})
        return [(op, place, times) for op in step.operators()], place

    def _branch(self, step: Branch, place: Place, times: float) -> tuple[list[Visit], Place]:
        arms = [(steps, *self.steps(steps, place, times)) for steps in step.arms.values()]
        rows = dict(place.rows)
        for slot in LISTED:
            wrote = [end.rows[slot] for steps, _, end in arms if slot in _written(steps)]
            if wrote:
                rows[slot] = Rows(sum(one.n for one in wrote), all(one.searched for one in wrote))
        return [visit for _, visits, _ in arms for visit in visits], replace(place, rows=rows)

    def _each(self, step: Each, place: Place, times: float) -> tuple[list[Visit], Place]:
        n = min(float(step.at_most), SUB_QUESTIONS)
        visits, end = self.steps(step.steps, place, times * n)
        wrote = [slot for slot in LISTED if slot in _written(step.steps)]
        more = {slot: replace(end.rows[slot], n=n * end.rows[slot].n) for slot in wrote}
        return visits, replace(end, rows={**end.rows, **more})

    def _switch(self, step: Switch, place: Place, times: float) -> tuple[list[Visit], Place]:
        arms = [steps for name, steps in step.cases.items() if steps]
        visits: list[Visit] = []
        end = place
        for steps in sorted(arms, key=lambda steps: steps == step.cases.get("otherwise")):
            inner, end = self.steps(steps, place, times / len(arms))
            visits += inner
        return visits, end

    def _resolve(self, step: Resolve, place: Place, times: float) -> tuple[list[Visit], Place]:
        n = min(float(step.at_most), SUB_QUESTIONS)
        visits, end = self.steps(step.steps, place, times * (n + 1.0))
        answers, _ = self.steps(step.answer, end, times * n)
        return visits + answers, end

    def _after(self, op: OperatorStep, place: Place) -> Place:
        name, returns = op.operator.name, op.operator.returns
        if "trail" in returns:
            calls = op.operator.expected_calls(op.settings, place.sizes(self.known))
            passages = place.context if "context" in _reads(op) else 0.0
            return replace(place, told=place.told + (calls * ANSWER_TOKENS or passages))
        if "points" in returns and "trail" in _reads(op):
            return replace(place, points=place.told, context=0.0, pieces=0.0, share=0.0)
        if "points" in returns:
            groups = op.operator.expected_calls(op.settings, place.sizes(self.known))
            points = groups * POINTS * POINT_TOKENS if op.bound() else place.points
            return replace(place, points=points, context=0.0, pieces=0.0, share=0.0)
        if name == "context.points":
            n_tokens = min(place.points, op.settings.get("budget") or place.points)
            return replace(place, context=n_tokens, pieces=n_tokens / POINT_TOKENS)
        if "context" in returns:
            return self._packed(op, place)
        listed = {slot: self._listed(op, slot, place) for slot in returns if slot in LISTED}
        return replace(place, rows={**place.rows, **listed})

    def _listed(self, op: OperatorStep, slot: str, place: Place) -> Rows:
        if slot == "mentions":
            return Rows(MENTIONS, searched=False)
        top_k = op.settings.get("top_k")
        most = math.inf if top_k is None else float(top_k)
        reads = _reads(op)
        sources = [name for name in reads if name in place.rows]
        if not sources and top_k is None and slot in place.rows:
            return place.rows[slot]
        spreads = op.operator.spreads or any(name.endswith("_scores") for name in reads)
        if not sources or spreads:
            return Rows(min(most, self.kinds.complete.get(slot, math.inf)))
        n, searched = 0.0, True
        for source in sources:
            held = place.rows[source]
            same = source == slot or (self.kinds.chunk_nodes and {source, slot} == _TEXTS)
            same = same or "subgraph" in op.operator.returns  # no more than joins what was found
            each = 1.0 if same else LEADS_TO.get((source, slot), 1.0)
            n += held.n * each
            searched = searched and held.searched and same
        n *= 1.0 + float(op.settings.get("n_neighbours") or 0)
        return Rows(min(n, most), searched or most <= n / 2)

    def _packed(self, op: OperatorStep, place: Place) -> Place:
        (kind, slot), budget = _block(op), op.settings.get("budget")
        rows = place.rows.get(slot, Rows(math.inf))
        top_k = op.settings.get("top_k")
        each = self._row_tokens(op, kind)
        own = float(op.settings.get("share") or 1.0)
        share = min(place.share + own, 1.0)
        starts = "context" in op.use or place.share == 0.0
        held = place.context if "context" in op.use else 0.0
        room = math.inf if budget is None else max(round(share * budget) - held, 0.0)
        room = min(room, own) if own > 1 else room
        n_tokens = Rows(min(rows.n, top_k or math.inf) * each, rows.searched).up_to(room)
        if math.isinf(n_tokens):
            n_tokens = 0.0
        if n_tokens >= room:
            n_tokens = max(room - each / 2, 0.0)  # the row that does not fit is left out
        if own > 1:
            share = min(place.share + n_tokens / (budget or math.inf), 1.0)
        pieces = (place.pieces if held else 0.0) + n_tokens / each
        return replace(
            place, context=held + n_tokens, pieces=pieces, share=share if starts else place.share
        )

    def _row_tokens(self, op: OperatorStep, kind: str) -> float:
        if kind == "chunk" or (kind == "node" and self.kinds.chunk_nodes):
            return max(self.known.chunk, 1.0)
        if op.operator.name == "context.triples":
            return TRIPLE_TOKENS
        return self.kinds.tokens.get(kind, ROW_TOKENS["node"])


_TEXTS = {"nodes", "chunks"}


def _reads(op: OperatorStep) -> list[str]:
    return [read.slot for read in op.operator.reads if not read.optional or read.slot in op.use]


def _written(steps: Sequence[Step]) -> set[str]:
    return {slot for step in steps for op in step.operators() for slot in op.operator.returns}


def _block(op: OperatorStep) -> tuple[str, str]:
    for read in op.operator.reads:
        if read.slot in LISTED:
            return {"communities": "community"}.get(read.slot, read.slot.rstrip("s")), read.slot
    return "relationship", "relationships"


def longest_lists(
    steps: Sequence[Step], kinds: Kinds, known: Sizes, given: Mapping[str, Rows]
) -> dict[str, float]:
    """The most rows that each packing operator is given; infinite for a list out of the graph."""
    visits, _ = Walk(kinds, known).steps(steps, Place(given))
    longest: dict[str, float] = {}
    for op, place, _ in visits:
        rows = place.rows.get(_block(op)[1]) if "context" in op.operator.returns else None
        if rows is not None:
            most = rows.n if rows.searched else math.inf
            longest[op.operator.name] = max(most, longest.get(op.operator.name, 0.0))
    return longest


def visited(
    steps: Sequence[Step], kinds: Kinds, known: Sizes, given: Mapping[str, Rows]
) -> Iterator[tuple[OperatorStep, Sizes, float]]:
    """Every operator step with the sizes it is given and how often it runs for one question.

    `given` are the lists that are there before the first step.
    """
    visits, _ = Walk(kinds, known).steps(steps, Place(given))
    for op, place, times in visits:
        rows = [place.rows[slot].n for slot in _reads(op) if slot in place.rows]
        listed = sum(n for n in rows if not math.isinf(n))
        yield op, replace(place.sizes(known), listed=listed), times
