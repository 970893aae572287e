"""Write the tables of results into the documentation, and check the numbers in its prose.

The tables come from CSV files in docs/results. `scripts/judge_bias.py` writes judge_bias.csv, and
`graphrag-bench table runs/SET columns=all --format csv` prints methods/SET.csv. The check covers
numbers with three decimals on the pages listed in `parted`. Each number must be in a CSV file or on
the board, and its paragraph must name the method or data set of that row.
Usage: python scripts/write_results.py [HOME] (HOME: first write wildgraphbench.csv from its runs).
"""

import csv
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from graphrag_bench.api import stored_runs
from graphrag_bench.config.sources import built_in_names, method_file, read_mapping
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.papers.printed import load_paper, load_table, paper_names, table_names
from graphrag_bench.report.rows import group_by
from graphrag_bench.run import stored
from scripts import write_board
from scripts.markdown import ROOT, table, with_part, write_pages
from scripts.write_docs import page_of

RESULTS = ROOT / "docs" / "results"
MORE = ROOT / "docs" / "examples" / "graphrag_bench_more" / "graphrag_bench_more"
SETS = ("musique", "sample")
UNVERIFIED = " (?)"
"""Mark after the name of a method that was not compared with its authors' code."""
WILD = RESULTS / "wildgraphbench.csv"
_MEASURES = ("evidence_recall@5", "evidence_recall@10", "all_evidence@5", "all_evidence@10")
_AT_5 = "evidence@5 [95 %]"
_FIGURE = re.compile(r"(?<![\d.])[01]\.\d{3}(?!\d)")


def rows(file: str) -> list[Mapping[str, str]]:
    """Return the rows of the first table in a CSV file of docs/results."""
    first = (RESULTS / file).read_text("utf-8").partition("\n\n")[0]
    return list(csv.DictReader(first.splitlines()))


@cache
def known() -> dict[str, tuple[str, Path]]:
    """Map titles to names and pages, for built-in methods and the plug-in in docs/examples."""
    more = [read_mapping(file) for file in sorted(MORE.glob("configs/method/*.yaml"))]
    pages = {one["title"]: (one["name"], MORE / one.get("page", one["name"])) for one in more}
    own = {method_file(name)["title"]: (name, page_of(name)) for name in built_in_names("method")}
    return own | {title: (name, page / "README.md") for title, (name, page) in pages.items()}


def link(title: str, page: Path) -> str:
    """Return the title of a method as a link to its page, relative to `page`."""
    if (plain := title.removesuffix(UNVERIFIED)) not in known():
        return title
    return f"[{title}]({Path(os.path.relpath(known()[plain][1], page.parent)).as_posix()})"


def methods(name: str, page: Path, n: int | None = None) -> list[str]:
    """Return a table of the methods on a data set by descending recall@5, or only the best `n`."""

    def mean(cell: str) -> str:
        return cell.partition(" ")[0] or "–"

    every = sorted(rows(f"methods/{name}.csv"), key=lambda row: mean(row[_AT_5]), reverse=True)
    heads = ("method", "`method=`", "recall@2", "recall@5 [95 %]", "recall@10",
             "evidence in context", "context tokens")  # fmt: skip
    lines = [
        (link(row["method"], page),
         f"`{known().get(row['method'].removesuffix(UNVERIFIED), '–')[0]}`",
         mean(row["evidence@2 [95 %]"]), row[_AT_5].partition(" (")[0],
         mean(row["evidence@10 [95 %]"]), mean(row["in context [95 %]"]),
         f"{int(row['context']):,}")
        for row in every[:n] if row[_AT_5]
    ]  # fmt: skip
    return table(heads, lines)


def store_wild(home: str) -> None:
    """Write the scores of all questions of WildGraphBench from the runs in the folder `home`."""
    runs = stored_runs(home)
    runs = runs[(runs["dataset"] == "wildgraphbench") & runs[_MEASURES[0]].notna()]
    fell = {(run.metrics["method"], name) for run in stored.stored_runs(home)
            for name, row in run.rows.items() if row.get("fallbacks")}  # fmt: skip
    columns = ["method", "question", "type", *_MEASURES]
    runs = runs.sort_values(columns[:2])[columns].drop_duplicates(columns[:2])
    pairs = zip(runs["method"], runs["question"], strict=True)
    runs = runs.assign(fallback=[int(pair in fell) for pair in pairs])
    runs.to_csv(WILD, index=False, float_format="%.4f")


def wild() -> dict[str, list[str]]:
    """Return the tables of wildgraphbench.md by name."""

    def cell(rows: pd.DataFrame, measure: str = _MEASURES[0]) -> str:
        one = mean_with_interval(rows[measure].tolist())
        return f"{one.mean:.3f} [{one.low:.2f}, {one.high:.2f}]"

    every = pd.read_csv(WILD)
    every["topic"] = every["question"].str.partition("/")[0]
    of = dict(list(every.groupby("method")))
    best_first = sorted(of, key=lambda name: -of[name][_MEASURES[0]].mean())
    linked = [(link(method_file(name)["title"], WILD), of[name]) for name in best_first]
    heads = ("method", "n", "recall@5 [95 %]", "recall@10 [95 %]", "all evidence@5 [95 %]",
             "all evidence@10 [95 %]")  # fmt: skip
    lines = [(title, str(len(own)), *(cell(own, one) for one in _MEASURES))
             for title, own in linked]  # fmt: skip
    tables = {"all": table(heads, lines)}
    for part in ("type", "topic"):
        counts = linked[0][1][part].value_counts().sort_index()
        lines = [(title, *(cell(own[own[part] == group]) for group in counts.index))
                 for title, own in linked]  # fmt: skip
        tables[part] = table(["method", *(f"{one}, n = {n}" for one, n in counts.items())], lines)
    lines = []
    for title, own in linked:
        walked = own.loc[own["fallback"] == 0, "question"]
        if fell := len(own) - len(walked):
            same = (rows[rows["question"].isin(walked)] for rows in (own, of["vanilla"]))
            lines.append((title, str(fell), *map(cell, same)))
    heads = ("method", "questions with fallback", "recall@5 on the other questions",
             "VanillaRAG on the same questions")  # fmt: skip
    return {**tables, "fallback": table(heads, lines)}


def verdicts() -> dict[str, list[str]]:
    """Return the tables of judge_bias.md: verdicts on whole answers, and positions by criterion."""
    every = rows("judge_bias.csv")
    heads = ("set", "A", "B", "pairs", "averaged [95 %]", "A wins both", "B wins both",
             "position wins both", "of decided pairs", "first wins", "p")  # fmt: skip
    lines = [[row[head.removesuffix(" [95 %]")] or "–" for head in heads]
             for row in every if row["criterion"] in ("", "Overall Winner")]  # fmt: skip
    judged = [row for row in every if row["criterion"]]
    by_log = group_by(judged, lambda row: (row["set"], row["A"], row["B"]))
    criteria = dict.fromkeys(row["criterion"] for row in judged)
    positions = [(*log, *(row["position"] for row in of)) for log, of in by_log.items()]
    second = table(("set", "A", "B", *criteria), positions)
    return {"verdicts": table(heads, lines), "criteria": second}


def papers() -> list[str]:
    """Return a table that counts the tables and the printed numbers of each paper."""
    lines = []
    for name in paper_names():
        every = [load_table(one) for one in table_names() if one.startswith(f"{name}/")]
        n = sum(cell.value is not None for one in every for cell in one.cells)
        lines.append((load_paper(name).citation, f"`{name}`", str(len(every)), f"{n:,}"))
    return table(("paper", "name", "tables and figures", "printed numbers"), lines)


def pages() -> dict[Path, str]:
    """Return the text of each page with its current tables."""
    readme, page = ROOT / "README.md", RESULTS / "methods.md"
    sets = rows("heldout.csv")
    held_out = {"held-out": table(list(sets[0]), [list(row.values()) for row in sets])}
    parity = (ROOT / "docs" / "parity.md").read_text("utf-8").partition("<!-- badges: ")[2]
    board = write_board.board(write_board.results())
    front = {
        "papers": papers(),
        "parity": parity.partition("\n<!-- end of badges -->")[0].splitlines()[1:],
        "board": [line.replace("](#", "](board.md#") for line in board],
    }
    parts = {
        readme: {**held_out, "methods": methods("musique", readme, n=8)},
        RESULTS / "README.md": {**held_out, **front},
        RESULTS / "field.md": held_out,
        page: {name: methods(name, page) for name in SETS},
        RESULTS / "wildgraphbench.md": wild(),
        RESULTS / "judge_bias.md": verdicts(),
    }
    texts = {path: path.read_text("utf-8") for path in parts}
    for path, tables in parts.items():
        for name, lines in tables.items():
            texts[path] = with_part(texts[path], name, "write_results.py", lines)
    return texts


@cache
def figures() -> dict[str, set[str]]:
    """Return the numbers with three decimals of each method, by the names of the method."""
    named = [(row["method"].removesuffix(UNVERIFIED), row)
             for name in SETS for row in rows(f"methods/{name}.csv")]  # fmt: skip
    named += [(row["set"].partition(",")[0], row) for row in rows("heldout.csv")]
    named += [("HiRAG", row) for row in rows("judge_bias.csv")]
    result = defaultdict[str, set[str]](set)
    for title, row in named:
        result[title] |= set(_FIGURE.findall(" ".join(row.values())))
    for one in write_board.results():
        result[one["title"]] |= {f"{value['mean']:.3f}" for value in one["metrics"].values()}
    return {known()[one][0]: of for one, of in result.items() if one in known()} | result


def unsupported(text: str) -> Iterator[tuple[str, str]]:
    """Yield each number that no method named in its paragraph has, and the paragraph."""
    prose = re.sub(r"(?ms)^```.*?^```$|^<!-- [\w-]+: .*?^<!-- end of [\w-]+ -->$", "", text)
    for paragraph in re.split(r"\n\n|\n(?=[|-] ?)", prose):
        named = [of for name, of in figures().items() if name.lower() in paragraph.lower()]
        for figure in _FIGURE.findall(paragraph):
            if not any(figure in of for of in named):
                yield figure, paragraph


def parted() -> list[str]:
    """Return a message for each number on the checked pages that is in none of the files."""
    checked = ("README.md", "docs/concepts.md", "docs/results/README.md",
               "docs/results/judge_bias.md")  # fmt: skip
    return [f"{path}: {figure} in {paragraph[:60]!r}" for path in checked
            for figure, paragraph in unsupported((ROOT / path).read_text("utf-8"))]  # fmt: skip


if __name__ == "__main__":
    for home in sys.argv[1:]:
        store_wild(home)
    write_pages(pages())
    sys.exit("\n".join(parted()) or None)
