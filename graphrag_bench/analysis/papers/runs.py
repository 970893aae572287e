"""Runs the rows of a paper's table: at the paper's settings, or small, on a packaged set and model.

Stored runs are not run again, so a stopped call resumes, and runs made by `graphrag-bench run` with
the same settings are found by their key. A failed row is stored with its error, and the others
continue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.papers.offered import opposite
from graphrag_bench.analysis.papers.printed import PaperTable, Printed, merged
from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import execute, selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.stored import StoredRun

SMALL = ("dataset=sample", "limit=10", "evaluation.metrics=[recall_concat]")
"""What takes the place of the paper's data and models: a set and a model that every laptop has,
scored by all that the tables print."""

Settings = tuple[str, ...]
Execute = Callable[[Experiment], object]


@dataclass(frozen=True)
class WantedRow:
    """A run that a table asks for: what makes its row, and all its settings."""

    row: Settings
    settings: Settings


@dataclass(frozen=True)
class Done:
    """What became of a row: the folder of its run, or the error it ended with."""

    wanted: WantedRow
    run: StoredRun | None
    error: str = ""


def wanted_rows(table: PaperTable, given: Sequence[str], *, small: bool) -> list[WantedRow]:
    """The runs of a table in its own order, each once; `given` settings have the last word.

    The settings of a row are those that the table prints for it (`settings_of_paper`), with all its
    seeds and levels. Rows of methods, data sets or figures that we lack are left
    out. A small table has one run of each row, by the methods' own settings.
    """
    found: dict[Settings, WantedRow] = {}
    for cell in table.cells:
        parts = table.parts(cell)[:1] if small else table.parts(cell)
        for part in parts:
            sides = [(cell, part.own), *([(opposite(cell), part.other)] if cell.versus else [])]
            for side, own in sides:
                row = table.settings_of(side)
                settings = _small(table, side) if small else table.settings_of_paper(side, own)
                if row is not None and settings is not None:
                    whole = merged([*settings, *given])
                    found.setdefault(whole, WantedRow(row, whole))
    return list(found.values())


def _small(table: PaperTable, cell: Printed) -> Settings | None:
    row = table.settings_of(cell)
    if row is None or not any(text.startswith("method=") for text in row):
        return None
    counted = ["answer=off"] if table.shape.kind == "counts" else []
    return merged([*SMALL, *row, "reference_rows=off", "budget_context=native", *counted])


def run_rows(
    wanted: Sequence[WantedRow], say: Callable[[str], None], execute_one: Execute = execute
) -> list[Done]:
    """What became of each row. A UserError of one row is kept and told; the others go on.

    The rows are cells of a sweep over the methods, as the commands are that the table prints.
    """
    done = []
    for number, one in enumerate(wanted, 1):
        place = f"{number} of {len(wanted)}: {' '.join(one.settings)}"
        try:
            experiment = Experiment.prepare(composed(one.settings), swept=True)
            if finished(experiment):
                say(f"{place}: stored")
            else:
                say(place)
                execute_one(experiment)
        except UserError as error:
            say(f"{place}: failed: {error}")
            done.append(Done(one, None, str(error)))
            continue
        done.append(Done(one, StoredRun(experiment.folder)))
    return done


def finished(experiment: Experiment) -> bool:
    """Whether the run is stored with all that is asked for, scored and without failed questions."""
    held: Mapping[str, Any] = experiment.folder.metrics() or {}
    if not held or held["failed"]:
        return False
    selected, to_answer = selection(experiment)
    return bool(held["n"] >= len(selected) and held["answered"] >= len(to_answer))


def failures_file(table: PaperTable, home: Path) -> Path:
    """Where the errors of a table's rows are kept."""
    return home / "runs" / ".tables" / f"{table.full_name.replace('/', '-')}.json"


def keep_failures(table: PaperTable, home: Path, done: Sequence[Done]) -> None:
    """Keep the errors of the last call with `--run`; no file where every row went well."""
    file = failures_file(table, home)
    rows = [
        {"row": list(one.wanted.row), "settings": list(one.wanted.settings), "error": one.error}
        for one in done
        if one.error
    ]
    if rows:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    else:
        file.unlink(missing_ok=True)


def kept_failures(table: PaperTable, home: Path) -> dict[Settings, str]:
    """The errors of the last call with `--run`, by what makes the row; on one line each."""
    file = failures_file(table, home)
    if not file.is_file():
        return {}
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {tuple(row["row"]): " ".join(row["error"].split()) for row in rows}
