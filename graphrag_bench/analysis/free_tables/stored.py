"""Stored runs as the rows of a free table."""

from __future__ import annotations

from pathlib import Path

from graphrag_bench.analysis.free_tables.table import PivotRun
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.report.rows import SHOWN, mark
from graphrag_bench.runs.folder import METRICS
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun, find_run, readable_runs, stored_runs

FIELDS = (
    "method", "title", "dataset", "llm", "llm_build", "embedder", "extraction", "tokenizer",
    "profile", "fidelity", "limit", "key", "corpus",
)  # fmt: skip


def named_runs(names: list[str], home: str) -> list[StoredRun]:
    """The runs of folders, of beginnings of keys, or all below a home; each once, in order.

    A folder that is not a run gives all runs below it. Raises UserError where there is none.
    """
    if not names:
        found = stored_runs(home)
        if not found:
            raise UserError(f"There is no run below {home}/runs.")
        return found
    found = []
    for name in names:
        below = sorted(Path(name).glob(f"**/{METRICS}")) if Path(name).is_dir() else []
        found += readable_runs(below) if below else [find_run(name, home)]
    return list({run.folder.path.resolve(): run for run in found}.values())


def pivot_run(run: StoredRun) -> PivotRun:
    """The fields, scores and question attributes of a run; none of the last two without its set.

    The scores are of the questions that its stored scoring is of: a run that is reported on
    split=test is not mixed with what it was tuned on.
    """
    held = run.metrics
    fields = {name: str(held.get(name)) for name in FIELDS if held.get(name) not in (None, "")}
    fields |= {"corpus": str(held["corpus"])[:SHOWN]} if held.get("corpus") else {}
    fields |= {path: str(value) for path, value in held["settings"].items() if value is not None}
    return PivotRun(fields, scores_of(run), _attributes(run.dataset), mark(held))


def _attributes(dataset: Dataset | None) -> dict[str, dict[str, str]]:
    if dataset is None:
        return {}
    scopes = {question.id: question.scope for question in dataset.questions}
    found = {}
    for question, gold in dataset.gold.items():
        said = {"hops": gold.hops, "type": gold.type, "scope": scopes.get(question)}
        found[question] = {name: str(value) for name, value in said.items() if value}
    return found
