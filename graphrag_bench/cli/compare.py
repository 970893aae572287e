"""`graphrag-bench compare`: answers of stored runs head to head, by a judge."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.judging import pairs, tables
from graphrag_bench.analysis.judging.answers import dataset_of
from graphrag_bench.cli import judging_words
from graphrag_bench.cli.plotting import check_figure, take_plot, tell_plot
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.models import Models
from graphrag_bench.progress import Progress
from graphrag_bench.report.corpora import refuse_across
from graphrag_bench.report.figures.grid import Grid, plot_wins
from graphrag_bench.report.long_texts import with_cut_notes
from graphrag_bench.report.rendering import markdown, show
from graphrag_bench.runs.folder import RunFolder, write_whole

_ABOUT = """
A language model compares two answers to the same question: for every pair of runs, every question
that all runs answered, and always in both orders. Prints win rates with intervals and the judge's
leanings: how often the order changed its verdict, and whether the longer answer wins; where another
judge has compared the same runs, Cohen's kappa between both. Verdicts are stored in
HOME/comparisons/<key>/verdicts.jsonl: run the same command again to resume; a second call costs
nothing.

examples
  graphrag-bench compare RUN_A RUN_B llm@llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench compare RUN_A RUN_B RUN_C --criteria pankrag llm@llm_judge=local \\
      llm_judge.model_path=weights.gguf
  graphrag-bench compare RUN_A RUN_B RUN_C llm@llm_judge=openai_compatible --plot wins.pdf
"""


def main(arguments: Sequence[str]) -> int:
    """Judge and print."""
    given = _given(arguments)
    asked_for, words = judging_words.runs_and_settings("compare", given.words)
    if len(asked_for) < 2:
        raise UserError("compare takes two runs or more: folders, or beginnings of keys.")
    criteria = pairs.criteria_of([name for name in given.criteria.split(",") if name])
    runs, settings = judging_words.judged_runs(asked_for, words, given.home)
    refuse_across([run.metrics for run in runs])
    comparison = pairs.Comparison.of(runs, given.limit)
    if given.plan:
        panel = _panel(comparison, settings, criteria, given.retry)
        duels = pairs.pending(comparison, panel)
        n_tokens = pairs.prompt_tokens(comparison, panel, duels)
        sys.stdout.write(f"at most {len(duels)} calls, {n_tokens:,} prompt tokens (cl100k)\n")
        return 0
    _judge(comparison, settings, criteria, given)
    return 0


def _given(arguments: Sequence[str]) -> argparse.Namespace:
    usage = "RUN_A RUN_B [RUN ...] llm@llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]"
    reader = judging_words.judging_parser("compare", _ABOUT, usage, "cache.* budget.* failures.*")
    reader.option(
        "--criteria",
        "A,B",
        "comprehensiveness, diversity, empowerment, logicality, relevance, coherence, overall; or "
        f"those of a paper, by its name: {', '.join(pairs.OF_PAPERS)}. Default: zhou2025",
        "zhou2025",
    )
    reader.option("--limit", "N", "only the first N questions, stratified by type", kind=int)
    reader.flag("--plan", "say how many calls and tokens it would take at most, and make no call")
    reader.flag("--retry", judging_words.RETRY)
    take_plot(reader)
    given = reader.read(arguments)
    if given.limit is not None and given.limit < 1:
        raise UserError(f"--limit {given.limit}: at least 1 question.")
    check_figure(given)
    if given.plot is not None and given.plan:
        raise UserError("--plot draws verdicts: it does not go with --plan.")
    return given


def _panel(
    comparison: pairs.Comparison, settings: RunSettings, criteria: tuple[str, ...], retry: bool
) -> pairs.Panel:
    models = Models(settings, dataset_of(comparison.runs[0]))
    return pairs.Panel.of(comparison, models, criteria, Path(settings.paths.home), retry)


def _judge(
    comparison: pairs.Comparison,
    settings: RunSettings,
    criteria: tuple[str, ...],
    given: argparse.Namespace,
) -> None:
    panel = _panel(comparison, settings, criteria, given.retry)
    models = panel.models
    models.charge(panel.folder / pairs.LEDGER, tuple)
    rows = pairs.judge_pairs(comparison, panel, Progress())
    matches = []
    titles = comparison.titles
    for a, b in comparison.pairs:
        for name in criteria:
            held = pairs.both_orders(comparison, rows, a, b, name)
            scopes = tuple(comparison.scopes.get(question) for question in held)
            matches.append(tables.Match(titles[a], titles[b], name, tuple(held.values()), scopes))
    judge = models.identity("llm_judge")
    caption = f"{len(comparison.questions)} questions, judged by {judge}"
    of_runs = [run.metrics for run in comparison.runs]
    found = with_cut_notes(tables.match_table(caption, matches), of_runs)
    made = [found, tables.audit_table(matches)]
    if len(comparison.keys) > 2:
        made += tables.matrix_tables([titles[key] for key in comparison.keys], matches)
    if len(raters := pairs.raters(comparison, panel)) > 1:
        made.append(tables.agreement_table(raters, comparison.scopes))
    for table in made:
        show(table)
    folder = RunFolder(panel.folder)
    folder.write_json(
        "comparison.json",
        {"runs": dict(titles), "criteria": list(criteria), "judge": judge,
         "questions": list(comparison.questions)},
    )  # fmt: skip
    write_whole(panel.folder / "table.md", "\n".join(map(markdown, made)))
    if given.plot is not None:
        _plot(given, [titles[key] for key in comparison.keys], matches)
    sys.stdout.write(f"comparison: {panel.folder.resolve()}\n")


def _plot(
    given: argparse.Namespace, titles: Sequence[str], matches: Sequence[tables.Match]
) -> None:
    grids = [
        Grid(f"{name}: wins of row against column, %", "", "", titles, titles, matrix, decimals=1)
        for name, matrix in tables.matrices(titles, matches).items()
    ]
    plot_wins(given.plot, grids, span=given.span)
    tell_plot(given.plot)
