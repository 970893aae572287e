"""What became of a question's evidence: in the context, retrieved but not in it, or missed."""

from __future__ import annotations

from collections.abc import Mapping

from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.file_evidence import name_of
from graphrag_bench.runs.record import Row, documents_in, is_imported

IN_CONTEXT, LEFT_OUT, MISSED = "in the context", "retrieved, not in the context", "missed"
RETRIEVED = "retrieved"


def evidence_of(row: Row, gold: Gold) -> Mapping[str, list[str]]:
    """The gold documents of a question by what became of them, in the order of the gold.

    In the context is a document of which a text stands in it, as its pieces say. Of a piece that
    does not say it, none is. Of an imported run, whose contexts are not known, what was found is
    told as retrieved.
    """
    found_only = RETRIEVED if is_imported(row) else LEFT_OUT
    pieces = (row.get("context") or {}).get("pieces", [])
    held = {name_of(gold, str(name)) for piece in pieces for name in documents_in(piece) or ()}
    retrieved = {name_of(gold, str(name)) for name in row.get("documents", ())}
    found: dict[str, list[str]] = {IN_CONTEXT: [], found_only: [], MISSED: []}
    for name in gold.evidence:
        fate = IN_CONTEXT if name in held else found_only if name in retrieved else MISSED
        found[fate].append(name)
    return found
