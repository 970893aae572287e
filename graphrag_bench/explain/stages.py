"""The evidence funnel: what each stage of a run lost of the gold evidence, counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from graphrag_bench.report.rendering import Table

LABELS = {
    "corpus": "in corpus",
    "chunk": "in a chunk",
    "extracted": "extracted",
    "linked": "linked",
    "retrieved": "retrieved",
    "cut": "not cut",
    "prompt": "in the prompt",
    "replied": "not failed",
    "answered": "answered",
}
"""The stages of a run in order, and what a document that passed each of them is."""
STAGES = tuple(LABELS)
_RETRIEVAL = ("retrieved", "cut", "prompt")
"""Stages at which evidence that an earlier stage has lost may be found on another way."""
State = Literal["passed", "lost", "otherwise", "unknown", "gone"]


@dataclass(frozen=True)
class EvidenceDocument:
    """A document in the evidence of a question, and which stages of the method it passed.

    `passed` is None for a stage of which this is not known.
    """

    question: str
    document: str
    passed: Mapping[str, bool | None]

    @property
    def lost(self) -> str | None:
        """The first stage that it did not pass, None where it passed all that are known.

        A stage that was not passed does not count when a later one, up to the prompt, was.
        """
        found = [STAGES.index(stage) for stage in _RETRIEVAL if self.passed.get(stage)]
        after = STAGES[max(found, default=-1) + 1 :]
        return next((stage for stage in after if self.passed.get(stage) is False), None)

    def state(self, stage: str) -> State:
        """Return what became of it at a stage.

        It is "gone" behind the stage that lost it, and "otherwise" where it did not pass and was
        found on another way. Of a question that failed nothing is "unknown".
        """
        end = STAGES.index(self.lost) if self.lost else len(STAGES)
        if STAGES.index(stage) >= end:
            return "lost" if stage == self.lost else "gone"
        if self.passed.get(stage) is False:
            return "otherwise"
        failed = self.passed.get("replied") is False
        return "unknown" if self.passed.get(stage) is None and not failed else "passed"


@dataclass(frozen=True)
class StageCount:
    """The documents that a stage `lost`, and the `rest` behind it.

    `otherwise` and `unknown` count the documents of these states.
    """

    stage: str
    lost: int
    rest: int
    otherwise: int
    unknown: int


@dataclass(frozen=True)
class Funnel:
    """The evidence of a run, over the stages that its method `has`.

    `unknown` says which stages are not known, and why.
    """

    has: frozenset[str]
    documents: tuple[EvidenceDocument, ...]
    title: str = ""
    dataset: str = ""
    n_rows: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def stages(self) -> list[str]:
        """The stages in order; `replied` is left out when no question failed."""
        failed = any(one.passed.get("replied") is False for one in self.documents)
        return [stage for stage in STAGES if stage in self.has and (stage != "replied" or failed)]

    @cached_property
    def lost(self) -> dict[str, str | None]:
        """The earliest stage at which each question lost any evidence, None for no loss."""
        lost: dict[str, list[str]] = {}
        for one in self.documents:
            lost.setdefault(one.question, []).extend([one.lost] if one.lost else [])
        return {name: min(stages, key=STAGES.index, default=None) for name, stages in lost.items()}

    def counts(self) -> tuple[StageCount, ...]:
        """Return a row for each stage; the losses and what is left in the end sum to all."""
        rest, rows = len(self.documents), []
        for stage in self.stages:
            n = Counter(one.state(stage) for one in self.documents)
            rest -= n["lost"]
            rows.append(StageCount(stage, n["lost"], rest, n["otherwise"], n["unknown"]))
        return tuple(rows)


def stage_table(funnel: Funnel) -> Table:
    """Return a row for each stage: the documents left behind it, and those that it lost."""
    rows = []
    for one in funnel.counts():
        cells = [str(one.rest), *(str(n or "") for n in (one.lost, one.otherwise, one.unknown))]
        all_unknown = one.unknown and one.unknown == one.rest + one.lost
        rows.append((LABELS[one.stage], *(["?"] * 4 if all_unknown else cells)))
    n = f"{len(funnel.documents)} documents of evidence, {len(funnel.lost)} of {funnel.n_rows}"
    caption = f"{funnel.title} on {funnel.dataset}: {n} questions have some"
    notes = (
        "documents, each lost at the first stage that it did not pass",
        *(f"not known: {reason}" for reason in funnel.unknown),
    )
    heads = ("stage", "left", "lost", "found otherwise", "not known")
    return Table(caption, heads, tuple(rows), notes, texts=heads[:1])
