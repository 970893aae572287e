"""The page docs/results/regime.md, out of the cells that scripts/regime.py has run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphrag_bench.analysis.papers.printed import load_table

if TYPE_CHECKING:
    from regime import Cell

FACTOR = 1.5
WHOLE = {"presplit": "whole documents", "600": "600", "1200": "1,200", "2400": "2,400"}
PAPERS = (
    ("zhou2025/table10", "Mix", "token", "zhou2025", "prompt"),
    ("zhou2025/table6", "MultihopQA", "token", "zhou2025", "prompt"),
    ("pathrag/table6", "", "token cost", "paper", "prompt"),
    ("pathcorag/table4", "", "In-Context Tokens", "paper", "context"),
)
"""Printed tokens: table, data set, metric, its profile, and which of ours."""
NO_CHUNKS = {
    "raptor": "the passages of its prompt are nodes of the tree",
    "raptor_kmeans": "the passages of its prompt are nodes of the tree",
    "ggraphrag": "its prompt holds community reports alone",
    "graphrag_er": "its prompt holds nodes and relationships alone",
    "gretriever": "its prompt holds nodes and relationships alone",
    "tog": "its prompt holds triples alone",
    "dalk": "its prompt holds triples as sentences alone",
    "pathrag": "its prompt holds paths and relationships alone",
    "pathrag_lt": "its prompt holds paths and relationships alone",
    "pathcorag": "its prompt holds paths, nodes and relationships alone",
    "pankrag": "the final prompt holds the answers to the sub-questions; chunks are in theirs",
}
"""Methods whose last prompt holds no chunk by design."""
_TOO_LONG = (
    "the first chunk in rank is longer than the chunks' share of the context, and a context is cut "
    "from the last rank on: none is left"
)
_NO_ENTITY = (
    "the tagger finds no entity in these abstract questions, so that nothing is explored; "
    "`fidelity=paper` asks a language model for them"
)
_SHORT = (
    "the LLM-free graph says little of a relationship: one sentence, or the words between two names"
)
_CAPPED = f"{_SHORT}; and the paper caps prompts at 8,000 tokens, which its own figures pass"
REASONS = {
    "zhou2025/table10 ggraphrag": "one map call for each of 3,095 communities of the spaCy graph, "
    "which names far more than a language model does",
    "zhou2025/table10 fastgraphrag": "descriptions of the LLM-free graph are not summarised, and "
    "fill the 7,500 tokens",
    "zhou2025/table10 cheaprag": "an extractive report takes 463 tokens on average; a language "
    "model wrote the paper's",
    "zhou2025/table6 gretriever": _SHORT,
    "zhou2025/table6 tog": _NO_ENTITY,
    "zhou2025/table6 dalk": _NO_ENTITY,
    "zhou2025/table6 raptor": "the texts of MultihopQA are shorter: four chunks of VanillaRAG come "
    "to 3,623 tokens there, to 4,859 here",
    "pathrag/table6 pathrag_lt": _CAPPED,
    "pathrag/table6 pathrag": _CAPPED,
    "pathcorag/table4 pathcorag": f"{_SHORT}, and with the LLM-free steps fewer paths join them",
}
"""Why a figure is off by more than the factor, by table and method."""


def page(cells: Sequence[Cell], limit: int) -> str:
    """The page: the papers' tokens next to ours, then a table for each profile."""
    lines = [
        "# What reaches the prompt",
        "",
        "Written by `python scripts/regime.py ROOT`; ROOT holds the texts and the 125 abstract",
        "questions of UltraDomain Mix (61 documents, 611,602 tokens).",
        f"{limit} questions a cell, the LLM-free graphs, the hashing embedder (no vector decides a",
        "length), and a scripted reader whose window is not known: `budget_context=auto` takes it",
        "to be 8,192, and a profile without a number of its own is not bounded. Tokens are cl100k.",
        "Chunks of 1,200 tokens ran over all documents, the other sizes over the first 12",
        "(`--documents 12`). What long texts do to vectors is in [windows.md](windows.md).",
        "",
        "## The papers' tokens per question and ours",
        "",
        "Chunks of 1,200 tokens. `prompt`: prompt tokens of all calls per question; `context`:",
        "tokens of the last prompt's context. The sets of Table 6 of Zhou et al. and of the tables",
        "of PathRAG and PathCoRAG are not this one.",
        "",
        "| table | set | method | paper | ours | factor | reason, beyond a factor of 1.5 |",
        "|---|---|---|---|---|---|---|",
        *_papers(cells),
    ]
    for profile in dict.fromkeys(cell.profile for cell in cells):
        held = [cell for cell in cells if cell.profile == profile]
        lines += ["", f"## profile={profile}", "", *_table(held)]
    return "\n".join(lines) + "\n"


def _papers(cells: Sequence[Cell]) -> Iterator[str]:
    """A line for each printed figure of a method that ran."""
    for name, dataset, metric, profile, kind in PAPERS:
        table = load_table(name)
        for printed in table.cells:
            settings = table.settings_of(printed)
            if (printed.dataset, printed.metric) != (dataset, metric) or settings is None:
                continue
            method = next((s.partition("=")[2] for s in settings if s.startswith("method=")), "")
            ours = [c for c in cells if (c.method, c.profile, c.size) == (method, profile, "1200")]
            if printed.value is None or not ours:
                continue
            value = ours[0].prompt_tokens if kind == "prompt" else ours[0].context_tokens
            factor = value / printed.value
            off = not 1 / FACTOR <= factor <= FACTOR
            why = REASONS.get(f"{name} {method}", "**not explained**") if off else ""
            yield (
                f"| {name} | {dataset or 'not named'} | {printed.method} | {printed.value:,.0f} | "
                f"{value:,.0f} | {factor:.2f} | {why} |"
            )


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    """Methods by chunk size: chunks retrieved, chunks in the prompt, tokens of its context."""
    sizes = list(dict.fromkeys(cell.size for cell in cells))
    notes: dict[str, int] = {}
    yield (
        "Each cell: chunks retrieved → chunks in the last prompt, + rows of other kinds; tokens of "
        "its context."
    )
    yield ""
    yield "| method | " + " | ".join(WHOLE.get(size, size) for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for method in dict.fromkeys(cell.method for cell in cells):
        held = {cell.size: cell for cell in cells if cell.method == method}
        shown = [_cell(held[size], notes) if size in held else "" for size in sizes]
        yield f"| {method} | " + " | ".join(shown) + " |"
    if notes:
        yield ""
    for note, number in notes.items():
        yield f"{number}. {note}"


def _cell(cell: Cell, notes: dict[str, int]) -> str:
    """The figures of a cell, with the number of its note where no chunk was packed."""
    if not cell.calls and not cell.context_tokens and cell.reason:
        return f"refused [{_numbered(cell.reason, notes)}]"
    other = f" + {cell.other:.0f}" if cell.other else ""
    said = f"{cell.retrieved:.0f} → {cell.packed:.0f}{other}; {cell.context_tokens:,.0f}"
    if cell.packed:
        return said
    too_long = _TOO_LONG if cell.cut >= cell.retrieved > 0 else "**not explained**"
    why = cell.reason or NO_CHUNKS.get(cell.method, too_long)
    return f"{said} [{_numbered(why, notes)}]"


def _numbered(note: str, notes: dict[str, int]) -> int:
    return notes.setdefault(note, len(notes) + 1)
