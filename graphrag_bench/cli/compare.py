"""`graphrag-bench compare`: answers of stored runs head to head, by a judge or by people."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.judging import blind_sheet, pairs, tables
from graphrag_bench.analysis.judging.answers import dataset_of
from graphrag_bench.analysis.judging.both_orders import BothOrders
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
biases: how often the order changed its verdict, whether the longer answer wins, and the win rate
without both. Verdicts are stored in HOME/comparisons/<key>/verdicts.jsonl: run the same command
again to resume; a second call costs nothing.

examples
  graphrag-bench compare RUN_A RUN_B llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench compare RUN_A RUN_B RUN_C --criteria pankrag llm_judge=local \\
      llm_judge.model_path=weights.gguf
  graphrag-bench compare RUN_A RUN_B RUN_C llm_judge=openai_compatible --plot wins.pdf
  graphrag-bench compare RUN_A RUN_B --limit 40 --sheet blind.csv
  graphrag-bench compare RUN_A RUN_B --limit 40 --read ada.csv --read bo.csv --key blind.key.csv
"""


def main(arguments: Sequence[str]) -> int:
    """Judge and print, or write the sheet, or read sheets."""
    given = _given(arguments)
    asked_for, words = judging_words.runs_and_settings("compare", given.words)
    if len(asked_for) < 2:
        raise UserError("compare takes two runs or more: folders, or beginnings of keys.")
    criteria = pairs.criteria_of([name for name in given.criteria.split(",") if name])
    runs, settings = judging_words.judged_runs(asked_for, words, given.home)
    refuse_across([run.metrics for run in runs])
    comparison = pairs.Comparison.of(runs, given.limit)
    if given.sheet:
        for path in blind_sheet.write_blind(comparison, criteria, Path(given.sheet), given.seed):
            sys.stdout.write(f"written: {path}\n")
        return 0
    if given.plan:
        panel = _panel(comparison, settings, criteria, given.retry)
        duels = pairs.pending(comparison, panel)
        n_tokens = pairs.prompt_tokens(comparison, panel, duels)
        sys.stdout.write(f"at most {len(duels)} calls, {n_tokens:,} prompt tokens (cl100k)\n")
        return 0
    people = blind_sheet.read_people(comparison, criteria, [Path(p) for p in given.read],
                         Path(given.key) if given.key else None)  # fmt: skip
    raters: dict[str, blind_sheet.Labels] = dict(people)
    if settings.llm_judge is not None or not people:
        labels = _judged(comparison, settings, criteria, given)
        raters["judge" if "judge" not in raters else "the judge"] = labels
    if people:
        show(tables.people_table(comparison.titles, people, comparison.pairs, comparison.scopes))
        if len(raters) > 1:
            show(tables.agreement_table(raters, comparison.scopes))
    return 0


def _given(arguments: Sequence[str]) -> argparse.Namespace:
    usage = "RUN_A RUN_B [RUN ...] llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]"
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
    reader.option(
        "--sheet",
        "FILE.csv",
        "write a sheet for people instead: no names, order shuffled; the names are in "
        "FILE.key.csv, which is kept from those who fill the sheet in",
    )
    reader.option("--seed", "N", "of the order on the sheet; default: 0", 0, kind=int)
    reader.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="FILE.csv",
        help="read a sheet that was filled in (1, 2 or tie); once for each person. Prints what "
        "people said, with kappa between them and, with llm_judge=, against the judge",
    )
    reader.option(
        "--key", "FILE.csv", "the key of the sheets, where it is not in the same folder as they are"
    )
    take_plot(reader)
    given = reader.read(arguments)
    if given.limit is not None and given.limit < 1:
        raise UserError(f"--limit {given.limit}: at least 1 question.")
    check_figure(given)
    if given.plot is not None and (given.plan or given.sheet):
        raise UserError("--plot draws verdicts: it does not go with --plan or --sheet.")
    if given.seed < 0:
        raise UserError(f"--seed {given.seed}: 0 or more.")
    return given


def _panel(
    comparison: pairs.Comparison, settings: RunSettings, criteria: tuple[str, ...], retry: bool
) -> pairs.Panel:
    models = Models(settings, dataset_of(comparison.runs[0]))
    return pairs.Panel.of(comparison, models, criteria, Path(settings.paths.home), retry)


def _judged(
    comparison: pairs.Comparison,
    settings: RunSettings,
    criteria: tuple[str, ...],
    given: argparse.Namespace,
) -> blind_sheet.Labels:
    """Ask what is missing, print and keep the tables and the figure; the judge's labels."""
    panel = _panel(comparison, settings, criteria, given.retry)
    models = panel.models
    models.charge(panel.folder / pairs.LEDGER, tuple)
    rows = pairs.judge_pairs(comparison, panel, Progress())
    verdicts: dict[blind_sheet.Item, BothOrders] = {}
    matches = []
    titles = comparison.titles
    for a, b in comparison.pairs:
        for name in criteria:
            held = pairs.both_orders(comparison, rows, a, b, name)
            verdicts |= {(question, a, b, name): one for question, one in held.items()}
            scopes = tuple(comparison.scopes.get(question) for question in held)
            matches.append(tables.Match(titles[a], titles[b], name, tuple(held.values()), scopes))
    judge = models.identity("llm_judge")
    caption = f"{len(comparison.questions)} questions, judged by {judge}"
    of_runs = [run.metrics for run in comparison.runs]
    found = with_cut_notes(tables.match_table(caption, matches), of_runs)
    made = [found, tables.audit_table(matches)]
    if len(comparison.keys) > 2:
        made += tables.matrix_tables([titles[key] for key in comparison.keys], matches)
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
    return blind_sheet.judge_labels(verdicts)


def _plot(
    given: argparse.Namespace, titles: Sequence[str], matches: Sequence[tables.Match]
) -> None:
    """Write the win matrix of each criterion."""
    grids = [
        Grid(f"{name}: wins of row against column, %", "", "", titles, titles, matrix, decimals=1)
        for name, matrix in tables.matrices(titles, matches).items()
    ]
    plot_wins(given.plot, grids, span=given.span)
    tell_plot(given.plot)
