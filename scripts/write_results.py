"""Write the tables of results into the documentation, and check the numbers in its prose.

The tables come from CSV files in docs/results. `scripts/judge_bias.py` writes judge_bias.csv, and
`graphrag-bench table runs/SET columns=all --format csv` prints methods/SET.csv. The check covers
numbers with three decimals on the pages listed in `parted`. Each number must be in a CSV file or on
the board, and its paragraph must name the method or data set of that row.
Usage: python scripts/write_results.py
"""

import csv
import posixpath
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from graphrag_bench.api import stored_runs
from graphrag_bench.config.sources import built_in_names, method_file, read_mapping
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.papers.printed import load_paper, load_table, paper_names, table_names
from graphrag_bench.run import stored
from scripts import write_board, write_docs
from scripts.markdown import table, with_part

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
MORE = ROOT / "docs" / "examples" / "graphrag_bench_more" / "graphrag_bench_more"
SETS = ("musique", "sample")
N_HEAD = 8
"""Number of methods in the table of the README."""
UNVERIFIED = " (?)"
"""Mark after the name of a method that was not compared with its authors' code."""
Row = Mapping[str, str]


def rows(file: str) -> list[Row]:
    """Return the rows of the first table in a CSV file of docs/results."""
    first = (RESULTS / file).read_text("utf-8").partition("\n\n")[0]
    return list(csv.DictReader(first.splitlines()))


def mean(cell: str) -> str:
    """Return the mean in a cell such as `0.775 [0.71, 0.84]`, or – for an empty cell."""
    return cell.partition(" ")[0] or "–"


@cache
def titles() -> dict[str, str]:
    """Map titles to names, for built-in methods and those of the plug-in in docs/examples."""
    plugin = (read_mapping(file) for file in sorted(MORE.glob("configs/method/*.yaml")))
    every = [*map(method_file, built_in_names("method")), *plugin]
    return {one["title"]: one["name"] for one in every}


def link(title: str, page: Path) -> str:
    """Return the title of a method as a link to its page, relative to `page`."""
    name = titles().get(title.removesuffix(UNVERIFIED))
    if name is None:
        return title
    folder = page.parent.relative_to(ROOT).as_posix()
    own = name in built_in_names("method")
    place = write_docs.page_of(name) if own else MORE / name / "README.md"
    target = place.relative_to(ROOT).as_posix()
    return f"[{title}]({posixpath.relpath(target, folder)})"


def held_out() -> list[str]:
    """Return the table of the held-out sets."""
    every = rows("heldout.csv")
    return table(list(every[0]), [list(row.values()) for row in every])


def methods(name: str, page: Path, n: int | None = None) -> list[str]:
    """Return a table of the methods on a data set by descending recall@5, or only the best `n`."""
    every = sorted(rows(f"methods/{name}.csv"), key=lambda row: mean(row[_AT_5]), reverse=True)
    heads = ("method", "`method=`", "recall@2", "recall@5 [95 %]", "recall@10",
             "evidence in context", "context tokens")  # fmt: skip
    lines = [
        (
            link(row["method"], page),
            f"`{titles().get(row['method'].removesuffix(UNVERIFIED), '–')}`",
            mean(row["evidence@2 [95 %]"]), row[_AT_5].partition(" (")[0],
            mean(row["evidence@10 [95 %]"]), mean(row["in context [95 %]"]),
            f"{int(row['context']):,}",
        )
        for row in every[:n]
        if row[_AT_5]
    ]  # fmt: skip
    return table(heads, lines)


_AT_5 = "evidence@5 [95 %]"
WILD = RESULTS / "wildgraphbench.csv"
_MEASURES = ("evidence_recall@5", "evidence_recall@10", "all_evidence@5", "all_evidence@10")


def store_wild(home: str) -> None:
    """Write the scores of all questions of WildGraphBench from the runs in the folder `home`."""
    runs = stored_runs(home)
    runs = runs[(runs["dataset"] == "wildgraphbench") & runs[_MEASURES[0]].notna()]
    fell = {
        (run.metrics["method"], name)
        for run in stored.stored_runs(home)
        for name, row in run.rows.items()
        if row.get("fallbacks")
    }
    columns = ["method", "question", "type", *_MEASURES]
    runs = runs.sort_values(columns[:2])[columns].drop_duplicates(columns[:2])
    pairs = zip(runs["method"], runs["question"], strict=True)
    runs = runs.assign(fallback=[int(pair in fell) for pair in pairs])
    runs.to_csv(WILD, index=False, float_format="%.4f")


def wild() -> dict[str, list[str]]:
    """Return the tables of wildgraphbench.md by name."""
    every = list(csv.DictReader(WILD.read_text("utf-8").splitlines()))
    of: dict[str, list[Row]] = {}
    for row in every:
        of.setdefault(row["method"], []).append(row)
    methods = sorted(of, key=lambda name: -_mean(of[name], _MEASURES[0]).mean)
    page = RESULTS / "wildgraphbench.md"
    heads = ("method", "n", "recall@5 [95 %]", "recall@10 [95 %]", "all evidence@5 [95 %]",
             "all evidence@10 [95 %]")  # fmt: skip
    tables = {
        "all": table(heads, [
            (link(method_file(name)["title"], page), str(len(of[name])),
             *(_cell(of[name], measure) for measure in _MEASURES))
            for name in methods
        ])
    }  # fmt: skip
    for part, key in (
        ("type", lambda row: row["type"]),
        ("topic", lambda row: row["question"].partition("/")[0]),
    ):
        groups = sorted({key(row) for row in every})
        counts = Counter(key(row) for row in of[methods[0]])
        lines = [
            (link(method_file(name)["title"], page),
             *(_cell([row for row in of[name] if key(row) == group], _MEASURES[0])
               for group in groups))
            for name in methods
        ]  # fmt: skip
        tables[part] = table(["method", *(f"{one}, n = {counts[one]}" for one in groups)], lines)
    lines = []
    for name in methods:
        walked = {row["question"] for row in of[name] if row["fallback"] == "0"}
        if fell := len(of[name]) - len(walked):
            sides = (of[name], of["vanilla"])
            same = ([row for row in rows if row["question"] in walked] for rows in sides)
            cells = (_cell(rows, _MEASURES[0]) for rows in same)
            lines.append((link(method_file(name)["title"], page), str(fell), *cells))
    heads = ("method", "questions with fallback", "recall@5 on the other questions",
             "VanillaRAG on the same questions")  # fmt: skip
    tables["fallback"] = table(heads, lines)
    return tables


def _mean(rows: Sequence[Row], measure: str) -> Mean:
    return mean_with_interval([float(row[measure]) for row in rows])


def _cell(rows: Sequence[Row], measure: str) -> str:
    one = _mean(rows, measure)
    return f"{one.mean:.3f} [{one.low:.2f}, {one.high:.2f}]"


def verdicts() -> list[str]:
    """Return the table of the verdicts on the answers as a whole, with one row per log."""
    heads = ("set", "A", "B", "pairs", "averaged [95 %]", "A wins both", "B wins both",
             "position wins both", "of decided pairs", "first wins", "p")  # fmt: skip
    every = [row for row in rows("judge_bias.csv") if row["criterion"] in ("", "Overall Winner")]
    own = {"averaged [95 %]": "averaged"}
    return table(heads, [[row[own.get(head, head)] or "–" for head in heads] for row in every])


def criteria() -> list[str]:
    """Return the table of how often a position won both orders, by log and criterion."""
    by_log: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows("judge_bias.csv"):
        if row["criterion"]:
            by_log.setdefault((row["set"], row["A"], row["B"]), {})[row["criterion"]] = row[
                "position"
            ]
    heads = next(iter(by_log.values()))
    return table(("set", "A", "B", *heads), [(*log, *of.values()) for log, of in by_log.items()])


def pages() -> dict[Path, str]:
    """Return the text of each page with its current tables."""
    readme, front, field, page, judge = (
        ROOT / "README.md", *(RESULTS / name for name in
        ("README.md", "field.md", "methods.md", "judge_bias.md")),
    )  # fmt: skip
    parts = {
        readme: {"held-out": held_out(), "methods": methods("musique", readme, N_HEAD)},
        front: {
            "held-out": held_out(),
            "papers": papers(),
            "parity": part(RESULTS.parent / "parity.md", "badges"),
            "board": [
                line.replace("](#", "](board.md#")
                for line in write_board.board(write_board.results())
            ],
        },
        field: {"held-out": held_out()},
        page: {name: methods(name, page) for name in SETS},
        RESULTS / "wildgraphbench.md": wild(),
        judge: {"verdicts": verdicts(), "criteria": criteria()},
    }
    return {path: _with(path.read_text("utf-8"), of) for path, of in parts.items()}


@cache
def papers() -> list[str]:
    """Return a table that counts the tables and the printed numbers of each paper."""
    lines = []
    for name in paper_names():
        every = [load_table(one) for one in table_names() if one.startswith(f"{name}/")]
        n = sum(cell.value is not None for one in every for cell in one.cells)
        lines.append((load_paper(name).citation, f"`{name}`", str(len(every)), f"{n:,}"))
    return table(("paper", "name", "tables and figures", "printed numbers"), lines)


def part(page: Path, name: str) -> list[str]:
    """Return the lines of a table that another script wrote into a page."""
    _, _, rest = page.read_text("utf-8").partition(f"<!-- {name}: ")
    return rest.partition(f"<!-- end of {name} -->")[0].strip().splitlines()[1:]


def _with(text: str, parts: Mapping[str, list[str]]) -> str:
    for name, lines in parts.items():
        text = with_part(text, name, "write_results.py", lines)
    return text


@cache
def figures() -> dict[str, set[str]]:
    """Return the numbers with three decimals of each method, by the names of the method."""
    result: dict[str, set[str]] = {}
    for name in SETS:
        for row in rows(f"methods/{name}.csv"):
            of = result.setdefault(row["method"].removesuffix(UNVERIFIED), set())
            of |= set(_FIGURE.findall(" ".join(row.values())))
    for row in rows("heldout.csv"):
        of = result.setdefault(row["set"].partition(",")[0], set())
        of |= set(_FIGURE.findall(" ".join(row.values())))
    for one in write_board.results():
        of = result.setdefault(one["title"], set())
        of |= {f"{value['mean']:.3f}" for value in one["metrics"].values()}
    judged = " ".join(cell for row in rows("judge_bias.csv") for cell in row.values())
    result["HiRAG"] = set(_FIGURE.findall(judged))
    names = titles()
    return {**{names[title]: of for title, of in result.items() if title in names}, **result}


_FIGURE = re.compile(r"(?<![\d.])[01]\.\d{3}(?!\d)")


def unsupported(text: str) -> Iterator[tuple[str, str]]:
    """Yield each number that no method named in its paragraph has, and the paragraph."""
    known = figures()
    prose = re.sub(r"(?ms)^```.*?^```$|^<!-- [\w-]+: .*?^<!-- end of [\w-]+ -->$", "", text)
    for paragraph in re.split(r"\n\n|\n(?=[|-] ?)", prose):
        named = [of for name, of in known.items() if name.lower() in paragraph.lower()]
        for figure in _FIGURE.findall(paragraph):
            if not any(figure in of for of in named):
                yield figure, paragraph


def parted() -> list[str]:
    """Return a message for each number on the checked pages that is in none of the files."""
    checked = [ROOT / "README.md", ROOT / "docs" / "concepts.md", RESULTS / "README.md",
               RESULTS / "judge_bias.md"]  # fmt: skip
    return [
        f"{path.relative_to(ROOT)}: {figure} in {paragraph[:60]!r}"
        for path in checked
        for figure, paragraph in unsupported(path.read_text("utf-8"))
    ]


if __name__ == "__main__":
    for home in sys.argv[1:]:
        store_wild(home)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    sys.exit("\n".join(parted()) or None)
