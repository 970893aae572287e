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
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.outcomes import CallFailed
from graphrag_bench.models.structured import ask_all, settled
from graphrag_bench.offline.parts import refuse_all_failed, window_of
from graphrag_bench.offline.report_tables import Part, report_tables
from graphrag_bench.offline.reports import Told, report_text
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

STEP = "write community reports"
REPORT = Prompt("graphrag_bench.offline:prompts/community_report.j2")
_UNKNOWN_WINDOW = 8192
_RESERVE = 64
_TOKENS_OF_COMMUNITY = 400


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
    """Template and a third of the input budget: most communities are small; half of a reply."""
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
    out. A reply that is not such JSON even when asked again becomes the summary of a report titled
    "Cluster i", rated 0 and flagged in `fallback`; a call without a reply leaves the community
    without a report. Both are counted; raises UserError when no reply of all could be read.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5; Zhou et al. 2025, section 5.
    """
    writer = _Writer(Told(graph, communities), llm_build, report_prompt, max_tokens, progress)
    writer.limit(window_share, max_input_tokens)
    with progress.task(STEP, len(communities)) as advance:
        for level in sorted(set(communities.level.tolist()), reverse=True):
            writer.write(np.flatnonzero(communities.level == level).tolist(), advance)
    return writer.reports()


class _Writer:
    """Reports by community row, as they are written."""

    def __init__(
        self, told: Told, llm: LLM, prompt: Prompt, max_tokens: int, progress: Progress
    ) -> None:
        """No report is written yet."""
        self.told, self.llm, self.prompt, self.progress = told, llm, prompt, progress
        self.max_tokens, self.budget = max_tokens, 0
        self.written: dict[int, Report] = {}
        self.failures: dict[int, UnreadableReply | CallFailed] = {}

    def limit(self, window_share: float, max_input_tokens: int) -> None:
        """Set the budget of the tables, and leave the reply no more than the window has left."""
        window = _UNKNOWN_WINDOW if (known := window_of(self.llm)) is None else known
        self.budget = min(int(window * window_share), max_input_tokens)
        left = window - self.budget - count_tokens(self.prompt.text) - _RESERVE
        self.max_tokens = max(min(self.max_tokens, left), 1)

    def write(self, rows: Sequence[int], advance: Any) -> None:
        """Write the reports on these communities, whose parts have theirs."""
        tables = (report_tables(self.told, row, self._parts(row), self.budget) for row in rows)
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
            if isinstance(result, UnreadableReply | CallFailed):
                self.failures[row] = result
                said = result.reply.strip() if isinstance(result, UnreadableReply) else ""
                stand_in = Report(title=f"Cluster {row}", summary=said, rating=0.0)
                self.written[row] = settled(self.llm, result, stand_in)
            else:
                self.written[row] = result

    def _parts(self, community: int) -> list[Part]:
        communities = self.told.communities
        occurrence = communities.occurrence
        return [
            Part(
                int(row),
                self.written[int(row)].text,
                self.written[int(row)].rating,
                float(occurrence[row]),
                frozenset(row_ids(communities.nodes, int(row)).tolist()),
            )
            for row in np.flatnonzero(communities.parent == community)
            if self.written[int(row)].summary
        ]

    def reports(self) -> Reports:
        """All reports; raises UserError when none could be read."""
        n, n_failed = len(self.told.communities), len(self.failures)
        refuse_all_failed(
            f"Step '{STEP}'", list(self.failures.values()), n,
            "The model may be too small to write JSON, or its window may cut the prompt; "
            "build.reports=extractive does without a model.",
        )  # fmt: skip
        if n_failed:
            self.progress.say(f"{STEP}: {n_failed} of {n} replies could not be read.")
        ordered = [self.written[row] for row in range(n)]
        return Reports(
            Texts.of([report.title for report in ordered]),
            Texts.of([report.text if report.summary else "" for report in ordered]),
            np.array([report.rating for report in ordered], np.float64),
            np.array([row in self.failures for row in range(n)], bool),
        )
