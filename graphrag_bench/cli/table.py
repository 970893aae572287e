"""Compare a paper's table with stored runs, or print a table of stored runs.

PAPER/TABLE prints the values of a paper's table beside the values of stored runs. Nothing is run.
Each of our values has its interval, n, model, profile and a grade of comparability:
  A  same data, models, settings and prompts
  B  same data and language model (the notes name the differences)
  C  different or fewer data (limit=, split=), another language model or judge, or regime=house
Data are the same if the numbers of documents, tokens and questions agree within 2 %. For grades A
and B, the difference of our value from the paper's is printed. † marks a value of the paper that
seems wrong. The last notes list the commands that fill the table.

Without arguments, the command lists the tables of the papers. For other tables use pandas:
gb.stored_runs() returns a row for each question of each run.

examples
  graphrag-bench table zhou2025/table5
  graphrag-bench table pathrag/table1 --format latex > pathrag.tex
  graphrag-bench table runs/sample columns=all --format markdown
  graphrag-bench table multirun/2026-01-31/10-00-00-000000     the table that a sweep printed
"""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import COLUMNS_ROW, RUNS, Parser, runs_and_settings, setting_name
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, did_you_mean, nearest
from graphrag_bench.papers import printed
from graphrag_bench.progress import Progress
from graphrag_bench.report.notes import corpus_notes
from graphrag_bench.report.rendering import FORMATS, Table, show_json, show_tables
from graphrag_bench.report.rows import check_one_corpus
from graphrag_bench.report.tables import checked_columns
from graphrag_bench.run.stored import stored_differences, stored_runs, tables_of
from graphrag_bench.run.sweep import cell_tables, cells_below, find_runs
from graphrag_bench.tables.figures import FigureSource, cell_entries
from graphrag_bench.tables.paper_tables import comparison_tables, long_table


def declare(parser: Parser) -> None:
    parser.set_usage("PAPER/TABLE [OPTIONS]\nRUN [RUN ...] [columns=all] [OPTIONS]")
    parser.add_word("words", "WORD", f"PAPER/TABLE, or runs: {RUNS}", "*")
    parser.add_flag("--papers-prompts", "grade your own prompt files as the paper's prompts")
    parser.add_settings([COLUMNS_ROW])
    formats = "markdown, latex (booktabs) or csv (a row for each value of a paper's table)"
    parser.add_option("--format", "FORMAT", formats, choices=tuple(FORMATS))
    parser.add_home()
    parser.add_json()


def main(options: Namespace) -> None:
    words, settings = runs_and_settings(options.words)
    of_paper = len(words) == 1 and _is_paper_table(words[0])
    if settings:
        name, own = setting_name(settings[0]), ["columns=", "paths.home="]
        hint = did_you_mean(name, own)
        if of_paper and not nearest(name, own):
            hint = f"Run the experiment: graphrag-bench run experiment={words[0]} {settings[0]}"
        raise UserError(f"`table` has no setting '{name}'. {hint}")
    if options.papers_prompts and not of_paper:
        raise UserError("--papers-prompts needs PAPER/TABLE.")
    if of_paper:
        tables = _of_paper(printed.load_table(words[0]), options)
    elif set(words) <= set(printed.paper_names()):
        tables = [_listing(words or printed.paper_names())]
    elif options.json:
        show_json([run.metrics for run in find_runs(words, options.home)])
        return
    else:
        columns = checked_columns(options.columns)
        if len(words) == 1 and (every := cells_below(Path(words[0]))):
            tables = cell_tables(every, {}, columns)[1]
        else:
            stored = find_runs(words, options.home)
            check_one_corpus([run.metrics for run in stored])
            tables = tables_of(stored, stored_differences(stored), columns)
    if options.format and not options.json:
        print("\n".join(map(FORMATS[options.format], tables)), end="")
    else:
        show_tables(tables, as_json=options.json)


def _is_paper_table(word: str) -> bool:
    (paper, slash, _), known = word.partition("/"), printed.table_names()
    if Path(word).exists() and word not in known:
        return False
    return bool(slash) and (paper in printed.paper_names() or bool(nearest(word, known)))


def _listing(papers: Sequence[str]) -> Table:
    rows = []
    for name in papers:
        for table, shape in printed.load_paper(name).tables.items():
            cells = printed.load_table(f"{name}/{table}").cells
            n_printed = sum(cell.value is not None for cell in cells)
            rows.append((f"{name}/{table}", shape.caption, shape.kind, str(n_printed or "none")))
    heads = ("table", "caption", "about", "printed figures")
    notes = tuple(f"{name}: {printed.load_paper(name).citation}" for name in papers)
    return Table("tables and figures of the papers", heads, tuple(rows), notes, texts=heads[:3])


def _of_paper(table: printed.PaperTable, options: Namespace) -> list[Table]:
    load_plugins()
    runs, source = stored_runs(options.home), FigureSource(options.home)
    for note in corpus_notes([run.metrics for run in runs]):
        Progress().say(str(note))
    filled = cell_entries(table, runs, source, papers_prompts=options.papers_prompts)
    if options.json or options.format == "csv":
        return [long_table(table, filled)]
    return comparison_tables(table, filled, options.home)
