"""Community reports by the build model, the finest level first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, PositiveInt, field_validator

from graphrag_bench.columns import Texts, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import ask_all, settled
from graphrag_bench.offline.community_contents import Contents
from graphrag_bench.offline.parts import refuse_all_failed, window_of
from graphrag_bench.offline.report_tables import Part, report_tables
from graphrag_bench.offline.reports import report_text
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

STEP = "write community reports"
REPORT = Prompt("graphrag_bench.offline:prompts/community_report.j2")
_UNKNOWN_WINDOW = 8192
_RESERVE = 64
_TOKENS_OF_COMMUNITY = 400
_AT_ONCE = 500
"""Prompts that are in memory at a time, 24 MB of the longest; all are answered before the next."""


class Finding(BaseModel):
    """One insight of a report."""

    summary: str
    explanation: str = ""


class Report(BaseModel):
    """What the report prompt returns; a finding that is plain text becomes a heading."""

    title: str
    summary: str
    rating: float
    rating_explanation: str = ""
    findings: list[Finding] = []

    @field_validator("findings", mode="before")
    @classmethod
    def _headings(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{"summary": item} if isinstance(item, str) else item for item in value]

    @field_validator("rating")
    @classmethod
    def _within_ten(cls, value: float) -> float:
        return min(max(value, 0.0), 10.0) if np.isfinite(value) else 0.0

    @property
    def text(self) -> str:
        """Title and summary, then the findings, as headings and texts apart by blank lines."""
        findings = ((finding.summary, finding.explanation) for finding in self.findings)
        return report_text([(self.title, self.summary), *findings])


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    """One report for 400 tokens of text.

    A guess, for communities are not known before the graph is: the graph that spaCy makes of
    UltraDomain Mix has one for 185 tokens, and that of a language model half as many nodes.
    """
    return max(round(sizes.n_chunks * sizes.chunk / _TOKENS_OF_COMMUNITY), 1)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    template = template_tokens(settings["report_prompt"])
    budget = min(settings["window_share"] * _UNKNOWN_WINDOW, settings["max_input_tokens"])
    return template + budget / 3, settings["max_tokens"] / 2


@artifact("reports.llm", calls=_calls, tokens=_tokens)
def llm_reports(
    *,
    communities: Communities,
    graph: Graph,
    llm_build: LLM,
    progress: Progress,
    report_prompt: Prompt = REPORT,
    window_share: Annotated[float, Field(gt=0, le=1)] = 0.6,
    max_input_tokens: PositiveInt = 12_000,
    max_tokens: PositiveInt = 1500,
) -> Reports:
    """One report for each community, written by the build model: one call each.

    Its input are tables of members and of the relationships that touch them, within `window_share`
    of the model's window (8,192 tokens where that is not known) and `max_input_tokens`. Levels go
    finest first, so that the reports on its parts replace what a large community has to leave
    out. A prompt depends on the members of its community alone, so that one that a change of the
    corpus leaves as it was has its stored reply. A reply that is not such JSON even when asked
    again becomes the summary of a report titled by the three most connected members, rated 0 and
    flagged in `fallback`; a call without a reply leaves the community without a report. Both are
    counted; raises UserError when no reply of all could be read.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5; Zhou et al. 2025, section 5.
    """
    writer = _Writer(Contents(graph, communities), llm_build, report_prompt, max_tokens, progress)
    writer.limit(window_share, max_input_tokens)
    with progress.task(STEP, len(communities)) as advance:
        for level in range(int(communities.level.max(initial=-1)), -1, -1):
            rows = np.flatnonzero(communities.level == level).tolist()
            for start in range(0, len(rows), _AT_ONCE):
                writer.write(rows[start : start + _AT_ONCE], advance)
    return writer.reports()


class _Writer:
    def __init__(
        self, contents: Contents, llm: LLM, prompt: Prompt, max_tokens: int, progress: Progress
    ) -> None:
        self.contents, self.llm, self.prompt, self.progress = contents, llm, prompt, progress
        self.max_tokens, self.budget = max_tokens, 0
        self.texts: dict[int, tuple[str, str]] = {}
        n = len(contents.communities)
        self.ratings, self.failed = np.zeros(n), np.zeros(n, bool)
        self.last_failure: UnreadableReply | CallFailed | None = None

    def limit(self, window_share: float, max_input_tokens: int) -> None:
        window = _UNKNOWN_WINDOW if (known := window_of(self.llm)) is None else known
        self.budget = min(int(window * window_share), max_input_tokens)
        left = window - self.budget - count_tokens(self.prompt.text) - _RESERVE
        self.max_tokens = max(min(self.max_tokens, left), 1)

    def write(self, rows: Sequence[int], advance: Any) -> None:
        tables = (report_tables(self.contents, row, self._parts(row), self.budget) for row in rows)
        results = ask_all(
            self.llm,
            [self.prompt.render({"tables": shown}) for shown in tables],
            Report,
            max_tokens=self.max_tokens,
            purpose=STEP,
            items=[f"community {row}" for row in rows],
            advance=advance,
        )
        for row, result in zip(rows, results, strict=True):
            report = self._report(row, result)
            self.texts[row] = report.title, report.text if report.summary else ""
            self.ratings[row] = report.rating

    def _report(self, row: int, result: Report | UnreadableReply | CallFailed) -> Report:
        if not isinstance(result, UnreadableReply | CallFailed):
            return result
        self.failed[row], self.last_failure = True, result
        said = result.reply.strip() if isinstance(result, UnreadableReply) else ""
        title = self.contents.title(row)
        return settled(self.llm, result, Report(title=title, summary=said, rating=0.0))

    def _parts(self, community: int) -> list[Part]:
        nodes, chunks = self.contents.communities.nodes, self.contents.communities.chunks
        n_chunks = np.diff(chunks.indptr)
        whole = max(int(n_chunks[community]), 1)
        parts = []
        for row in self.contents.parts(community):
            if text := self.texts[row][1]:
                rating = float(self.ratings[row])
                parts.append(Part(text, rating, float(n_chunks[row] / whole), row_ids(nodes, row)))
        return parts

    def reports(self) -> Reports:
        n, n_failed = len(self.failed), int(np.count_nonzero(self.failed))
        refuse_all_failed(
            f"Step '{STEP}'", [self.last_failure] * n_failed, n,
            "The model may be too small to write JSON, or its window may cut the prompt; "
            "build.reports=extractive does without a model.",
        )  # fmt: skip
        if n_failed:
            self.progress.say(f"{STEP}: {n_failed} of {n} replies could not be read.")
        titles, texts = (Texts.of([self.texts[row][at] for row in range(n)]) for at in (0, 1))
        return Reports(titles, texts, self.ratings, self.failed)
