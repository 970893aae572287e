"""`graphrag-bench judge`: the answers of stored runs judged one by one by a language model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from graphrag_bench.analysis.judging import answers
from graphrag_bench.analysis.judging.tables import judged_table
from graphrag_bench.cli import judging_words
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.models import Models
from graphrag_bench.progress import Progress
from graphrag_bench.report.notes import with_cut_notes
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.judged import judged_values

_ABOUT = """
A language model judges the answers of finished runs one by one. Each value is stored in the run's
folder (judged.jsonl), and nothing is asked twice: run the same command again to resume; a second
call costs nothing.

For judged_correctness the judge lists what an answer offers before it sees the gold; the second
call is made where that is one item, worded differently from the gold.

An unreadable reply counts as missing: it is in no mean, never a good mark. Contexts are those that
the run stored (none with trace=off).

examples
  graphrag-bench judge 0a1b2c3d llm@llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench judge RUN_A RUN_B --metrics judged_correctness llm@llm_judge=openai_compatible \\
      llm_judge.model=qwen3:8b llm_judge.base_url=http://localhost:11434/v1 \\
      llm_judge.api_key_env=null
"""
_METRICS = {
    "judged_correctness": "does the answer offer what the gold says, and nothing else? A list of "
    "everything is wrong, whatever it contains",
    "faithfulness": "share of the answer's statements that its context supports",
    "answer_relevance": "likeness of the question to questions made from the answer (embedder=)",
    "context_recall": "share of the gold answer's statements that the context holds",
    "context_precision": "are the useful pieces of the context ranked first?",
    "answer_correctness": "by name only: F1 of the answer's and the gold's statements, and "
    "likeness of both (embedder=); this and the next three as GraphRAG-Bench scores",
    "coverage": "by name only: share of the gold's statements that the answer holds",
    "context_relevance": "by name only: is the context enough for an answer? 0, 0.5 or 1",
    "evidence_statements": "by name only: share of the evidence's statements in the context",
}


def main(arguments: Sequence[str]) -> int:
    """Judge, and print a table of all judged values of these runs."""
    given = _read(arguments)
    asked_for, words = judging_words.runs_and_settings(
        "judge", given.words, (*judging_words.TAKEN, "embedder")
    )
    if not asked_for:
        raise UserError("judge takes one run or more: a folder, or the beginning of a key.")
    if given.limit is not None and given.limit < 1:
        raise UserError(f"--limit {given.limit}: at least 1 answer.")
    asked = answers.JudgeTask(
        tuple(filter(None, given.metrics.split(","))), given.limit, given.retry
    )
    asked.measures()
    runs, settings = judging_words.judged_runs(asked_for, words, given.home)
    models = Models(settings, answers.dataset_of(runs[0]))
    models.identity("llm_judge")
    if given.plan:
        for run in runs:
            calls = answers.calls_ahead(run, models, asked)
            said = ", ".join(f"{name} {n}" for name, n in calls.items())
            sys.stdout.write(f"{run.folder.path}: at most {sum(calls.values())} calls ({said})\n")
        return 0
    ledgers = [run.folder.path / answers.LEDGER for run in runs]
    models.charge(ledgers[0], lambda: ledgers[1:])
    judged = []
    for run in runs:
        rows = answers.judge_answers(run, models, asked, Progress())
        judged.append((str(run.metrics["title"]), judged_values(rows), run.scopes))
    show(with_cut_notes(judged_table(judged), [run.metrics for run in runs]))
    for run in runs:
        sys.stdout.write(f"judged: {(run.folder.path / 'judged.jsonl').resolve()}\n")
    return 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    usage = "RUN [RUN ...] llm@llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]"
    taken = "embedder= cache.* budget.* failures.*"
    parser = judging_words.judging_parser("judge", _ABOUT, usage, taken)
    parser.rows("metrics", _METRICS.items())
    parser.option(
        "--metrics", "A,B", "only these; default: all that the data set and the run allow", ""
    )
    parser.option("--limit", "N", "only the first N answers, stratified by question type", kind=int)
    parser.flag("--plan", "say how many calls it would take at most, and make none")
    parser.flag("--retry", judging_words.RETRY)
    return parser.read(arguments)
