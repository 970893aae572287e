"""The commands that fill what a paper's table lacks, in the order in which they are run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.papers.printed import PaperTable, PrintedCell, Recipe
from graphrag_bench.tables.figures import Cells, criteria_of_table

Pair = tuple[str, ...]
"""The keys of two runs, sorted."""


def commands(table: PaperTable, filled: Cells, home: Path) -> list[str]:
    """Return the commands, each on one line: questions and runs that are not there, then judging.

    Judging names the stored runs by their keys, a command for each data set.
    """
    missing = {cell.dataset for cell, one in filled.items() if one.runs}
    of_sets = [[cell for cell in table.cells if cell.dataset == name] for name in table.datasets]
    below = "" if home == Path() else f" --home {home}"
    lines = [line for name in table.datasets if name in missing for line in _questions(table, name)]
    lines += [f"run experiment={table.full_name}"] if missing else []
    for lines_of in (_compare, _judge):
        lines += [f"{line}{below}" for cells in of_sets for line in lines_of(table, cells, filled)]
    return [f"graphrag-bench {line}" for line in lines]


def _questions(table: PaperTable, dataset: str) -> Iterator[str]:
    place, making = table.paper.datasets[dataset], table.paper.making
    asked = not table.counts or table.counts_questions
    if place.abstract and making and asked and not Path(place.questions_folder).is_dir():
        words = f"dataset={place.ran} kind=abstract out={place.questions_folder}"
        yield f"questions {words} {' '.join(making.run)}"


def _compare(table: PaperTable, cells: Sequence[PrintedCell], filled: Cells) -> Iterator[str]:
    pairs: dict[str, dict[Pair, None]] = {}
    for cell in cells:
        if table.metric(cell).criteria:
            of_judge = pairs.setdefault(Recipe(table, cell).judge, {})
            of_judge |= {tuple(sorted(keys)): None for keys in filled[cell].unjudged}
    criteria = ",".join(criteria_of_table(table))
    for judge, unjudged in pairs.items():
        for keys in whole_groups(list(unjudged)):
            yield f"judge {' '.join(keys)} --criteria {criteria} {_model(table, judge)}"


def whole_groups(pairs: Sequence[Pair]) -> list[Pair]:
    """Return all keys at once where every two of them are a pair, else the pairs."""
    keys = tuple(dict.fromkeys(key for pair in pairs for key in pair))
    whole = bool(keys) and len(pairs) == len(keys) * (len(keys) - 1) // 2
    return [keys] if whole else list(pairs)


def _judge(table: PaperTable, cells: Sequence[PrintedCell], filled: Cells) -> Iterator[str]:
    metrics: dict[str, dict[str, None]] = {}
    keys: dict[str, dict[str, None]] = {}
    for cell in cells:
        metric, judge = table.metric(cell), Recipe(table, cell).judge
        if metric.kind == "judged_answer" and filled[cell].unjudged:
            metrics.setdefault(judge, {})[metric.value] = None
            keys.setdefault(judge, {}).update(dict.fromkeys(sum(filled[cell].unjudged, ())))
    for judge, names in metrics.items():
        embedder = table.paper.embedder if any(MEASURES[name].embeds for name in names) else None
        own = f" embedder={table.owner}.{embedder}" if embedder else ""
        listed = f"--metrics {','.join(names)}"
        yield f"judge {' '.join(keys[judge])} --each {listed} {_model(table, judge)}{own}"


def _model(table: PaperTable, judge: str) -> str:
    return f"llm@llm_judge={table.owner}.{judge}"
