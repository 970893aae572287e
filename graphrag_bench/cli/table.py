"""`graphrag-bench table`: a paper's table with our figures, or a free table over stored runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphrag_bench.analysis.free_tables.figure import KINDS, plot_pivot
from graphrag_bench.analysis.free_tables.stored import named_runs, pivot_run
from graphrag_bench.analysis.free_tables.table import Layout, long_pivot, pivot_table
from graphrag_bench.analysis.papers.figures import collected
from graphrag_bench.analysis.papers.plot import plot_paper
from graphrag_bench.analysis.papers.sources import FigureSource
from graphrag_bench.analysis.papers.table import comparison_tables, long_table
from graphrag_bench.cli.parsing import RUN, Parser, command_parser
from graphrag_bench.cli.plotting import check_figure, plot_runs, take_plot, tell_plot
from graphrag_bench.cli.table_words import take_columns
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, did_you_mean, nearest, unknown
from graphrag_bench.experiment.baseline import stored_differences
from graphrag_bench.papers.printed import (
    PaperTable,
    load_paper,
    load_table,
    paper_names,
    table_names,
)
from graphrag_bench.progress import Progress
from graphrag_bench.report.figures.of_runs import check_metric
from graphrag_bench.report.rendering import FORMATS, Table, show
from graphrag_bench.report.rows import check_one_corpus, corpus_notes
from graphrag_bench.report.tables import checked_columns, main_metric, shown_tables
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.stored import stored_runs

_ABOUT = """
Alone it lists the tables and figures of the papers.

PAPER/TABLE prints the paper's figures with ours next to them, from the stored runs; nothing
is run. Each of ours has its interval, n, model, profile and a grade:
  A  same data, models, settings and prompts
  B  the same data and language model; what differs is named
  C  other data, a part of it, or another language model
Data are the same where documents, tokens and questions are within 2 % of the paper's; a run with
limit= or split= is over a part.
A difference is printed for A and B only; for C the notes give the rank correlation of the methods,
from 6 methods and 30 questions on.
† marks a doubtful printed figure; the note says why. The last note is the command that runs what
is missing.

RUN ... alone prints the table of runs: main metric, difference from the baseline, context, cost.

The free table has a row and a column for each value of a field: method, title, dataset, llm,
embedder, profile, fidelity, extraction, or any setting by its path. Runs over different versions of
a corpus are not put into one table, unless rows or cols is corpus.

examples
  graphrag-bench table zhou2025/table5
  graphrag-bench table pathrag/table1 --format latex --out pathrag.tex
  graphrag-bench table runs/sample --plot pareto.pdf --kind pareto
  graphrag-bench table rows=method cols=dataset values=accuracy by=hops
  graphrag-bench table runs/sample rows=damping cols=method values=evidence_recall@5
"""
_USAGE = """
PAPER/TABLE [OPTIONS]
RUN [RUN ...] [columns=all] [--metric NAME] [OPTIONS]
[RUN ...] [rows=FIELD] [cols=FIELD] [values=METRIC] [by=WHAT] [OPTIONS]"""
_LAYOUT = (
    ("rows", "FIELD", None, "what has a row each; default: title"),
    ("cols", "FIELD", None, "what has a column each; default: dataset"),
    ("values", "METRIC", None, "comma-separated metrics; default: accuracy"),
    ("by", "WHAT", None, "splits the questions by hops, type or scope"),
)
_KINDS = (*KINDS, "pareto")
_DEFAULTS = {"rows": "title", "cols": "dataset", "values": "accuracy", "by": ""}
_OPTIONS = {
    "--papers-prompts": "these runs had the prompts of the paper itself, as files of your own",
    "--across-corpora": "put runs over different versions of a corpus into one table all the same",
}
_TERMINAL = "terminal"
_ENDINGS = {".md": "markdown", ".tex": "latex", ".csv": "csv"}


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    asked = _parser().read(arguments, alone=True)
    check_figure(asked, _KINDS)
    form = _format(asked)
    words = [word for word in asked.words if "=" not in word]
    given = [word for word in asked.words if "=" in word]
    laid = {name: value for name in _DEFAULTS if (value := getattr(asked, name)) is not None}
    if len(words) == 1 and _is_of_paper(words[0]):
        if extra := [*given, *laid]:
            raise UserError(
                f"The table of a paper takes no '{extra[0]}'; settings are of its runs: "
                f"graphrag-bench run experiment={words[0]}."
            )
        _of_paper(load_table(words[0]), asked, form)
        return 0
    if asked.papers_prompts:
        raise UserError("--papers-prompts goes with a table of a paper.")
    if given:
        name = given[0].partition("=")[0]
        raise UserError(f"A free table has no '{name}'. {did_you_mean(name, _DEFAULTS)}")
    if not laid and (not words or set(words) <= set(paper_names())):
        if asked.plot is not None:
            raise UserError("--plot draws a table: name one of a paper, runs, or rows= and cols=.")
        _put([_listing(words or paper_names())], form, asked.out)
        return 0
    if not laid and form != "csv":
        _put(_of_runs(words, asked), form, asked.out)
    else:
        _put(_free(words, {**_DEFAULTS, **laid}, asked, form), form, asked.out)
    if asked.plot is not None:
        tell_plot(asked.plot)
    return 0


def _parser() -> Parser:
    parser = command_parser("table", _ABOUT, _USAGE)
    words = f"PAPER/TABLE; or runs, each {RUN}; without any, all runs below HOME are taken"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.settings(_LAYOUT)
    for flag, meaning in _OPTIONS.items():
        parser.flag(flag, meaning)
    take_columns(parser)
    parser.option("--metric", "NAME", "the main metric of the table of runs")
    take_plot(parser, _KINDS, "bars, and heat where rows and columns are numbers")
    parser.option(
        "--format",
        "FORMAT",
        "terminal, markdown, latex (booktabs) or csv (a row for each cell, a number in each "
        "column)",
    )
    parser.option(
        "--out", "FILE", "write it there; .md, .tex and .csv choose the format", kind=Path
    )
    parser.home()
    return parser


def _format(asked: argparse.Namespace) -> str:
    if asked.format:
        if asked.format not in (_TERMINAL, *FORMATS):
            raise unknown("format", asked.format, (_TERMINAL, *FORMATS))
        return str(asked.format)
    return _ENDINGS.get(asked.out.suffix, "markdown") if asked.out else _TERMINAL


def _is_of_paper(word: str) -> bool:
    paper, slash, _ = word.partition("/")
    if Path(word).exists() and word not in table_names():
        return False
    return bool(slash) and (paper in paper_names() or bool(nearest(word, table_names())))


def _listing(papers: Sequence[str]) -> Table:
    rows = []
    for name in papers:
        for table, shape in load_paper(name).tables.items():
            cells = load_table(f"{name}/{table}").cells
            n_printed = sum(cell.value is not None for cell in cells)
            rows.append((f"{name}/{table}", shape.caption, shape.kind, str(n_printed or "none")))
    heads = ("table", "caption", "about", "printed figures")
    notes = tuple(f"{name}: {load_paper(name).citation}" for name in papers)
    return Table("tables and figures of the papers", heads, tuple(rows), notes, texts=heads[:3])


def _of_paper(table: PaperTable, asked: argparse.Namespace, form: str) -> None:
    load_plugins()
    runs = stored_runs(asked.home)
    for note in corpus_notes([run.metrics for run in runs]):
        Progress().say(note)
    source = FigureSource(Path(asked.home))
    filled = collected(table, runs, source, papers_prompts=asked.papers_prompts)
    if asked.plot is not None:
        plot_paper(asked.plot, table, filled, span=asked.span)
        tell_plot(asked.plot)
    tables = [long_table(table, filled)] if form == "csv" else comparison_tables(table, filled)
    _put(tables, form, asked.out)


def _of_runs(names: Sequence[str], asked: argparse.Namespace) -> list[Table]:
    stored = named_runs(list(names), asked.home)
    if not asked.across_corpora:
        check_one_corpus([run.metrics for run in stored])
    runs = [run.metrics for run in stored]
    scoring = stored[0].evaluation
    metric = main_metric(runs, asked.metric or next(iter(scoring.compared), None))
    check_metric(runs, metric)
    if asked.plot is not None:
        plot_runs(asked, runs, metric)
    found, columns = stored_differences(stored), checked_columns(asked.columns)
    return shown_tables(runs, found, columns=columns, metric=metric, baseline=scoring.baseline)


def _free(
    names: Sequence[str], layout: Mapping[str, str], asked: argparse.Namespace, form: str
) -> list[Table]:
    stored = named_runs(list(names), asked.home)
    if not asked.across_corpora and "corpus" not in (layout["rows"], layout["cols"]):
        check_one_corpus([run.metrics for run in stored])
    runs = [pivot_run(run) for run in stored]
    if asked.kind == "pareto" or asked.metric:
        raise UserError("--kind pareto and --metric are of runs: leave out rows=, cols=, values=.")
    layouts = [
        Layout(layout["rows"], layout["cols"], value, layout["by"] or None)
        for value in layout["values"].split(",")
    ]
    if asked.plot is not None:
        if len(layouts) > 1:
            raise UserError("--plot draws one metric: values=METRIC.")
        plot_pivot(asked.plot, runs, layouts[0], asked.kind, span=asked.span)
    if form == "csv":
        return [long_pivot(runs, layouts)]
    notes = tuple(corpus_notes([run.metrics for run in stored]))
    tables = [pivot_table(runs, one) for one in layouts]
    return [replace(table, notes=(*table.notes, *notes)) for table in tables]


def _put(tables: Sequence[Table], form: str, out: Path | None) -> None:
    if form == _TERMINAL and out is None:
        for table in tables:
            show(table)
        return
    text = "\n".join(map(FORMATS["markdown" if form == _TERMINAL else form], tables))
    if out is None:
        sys.stdout.write(text)
        return
    if not out.parent.is_dir():
        raise UserError(f"There is no folder '{out.parent}' to write to.")
    write_whole(out, text)
    print(f"table: {out}")  # noqa: T201 - read by scripts
