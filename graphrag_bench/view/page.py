"""A run page: a folder of a static page and its parts, which opens from disk.

Parts are JavaScript files that hand JSON to the page, each when it is asked for: a page opened from
disk may not fetch files, but it may add script elements.
"""

import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.explain.funnel import LABELS, Funnel, funnel_or_reason
from graphrag_bench.report.comparisons import (
    paired_differences,
    recorded_settings,
    settings_that_differ,
)
from graphrag_bench.report.notes import run_notes
from graphrag_bench.report.rows import differ, grouped, in_table_order, spent, usual_metrics
from graphrag_bench.run.folder import write_whole
from graphrag_bench.run.stored import StoredRun, alike, scores_of
from graphrag_bench.view.questions import blocks, list_columns, questions_of, set_columns

Plain = dict[str, Any]
_FIELDS = ("dataset", "method", "key", "role", "n", "failed", "fell_back", "fallbacks", "errors",
           "imported", "metrics", "usage", "estimate")  # fmt: skip
STATIC = Path(__file__).parent / "page"
INDEX, FOLDER = "index.html", "data"
DEMO = Path(__file__).parent / "demo.tar.xz"
"""The data of the packaged page; scripts/write_demo.py writes it."""
_UNSAFE = ("<", "\u2028", "\u2029")


def part_text(name: str, value: Any) -> str:
    """Return the file of a part: `grb.part("NAME", JSON);`.

    `<` and the line ends U+2028 and U+2029 are escaped, so that no text ends the script. Raises
    ValueError for a number that JSON does not have (infinite, or none).
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _UNSAFE:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"grb.part({json.dumps(name)},{text});\n"


def write_part(page: Path, name: str, value: Mapping[str, Any]) -> None:
    """Write a part as data/NAME.js; a name may have folders (`r0/q3`)."""
    write_whole(page / FOLDER / f"{name}.js", part_text(name, value))


def write_page(runs: Sequence[StoredRun], page: Path, home: Path) -> Path:
    """Write the page of some runs into a folder, and return its index.html.

    A folder that holds a page is brought up to date; any other that is not empty is refused.
    `home` holds the artifacts of runs that lie outside a home. What a run does not have any more
    (its data set, its graph) is named on the page.
    """
    _write_static(page)
    runs, sets = alike(runs), {}
    for number, (key, group) in enumerate(grouped(runs, _set_of).items()):
        ids = list(dict.fromkeys(name for run in group for name in questions_of(run)))
        sets[key] = f"set{number}", {name: row for row, name in enumerate(ids)}
        dataset = next((run.dataset for run in group if run.dataset), None)
        write_part(page, f"set{number}", {"name": key[0], **set_columns(dataset, ids)})
    titled = in_table_order([{**run.metrics, "place": place} for place, run in enumerate(runs)])
    titles = {row["place"]: str(row["title"]) for row in titled}
    rows = []
    for place, run in enumerate(runs):
        set_id, at = sets[_set_of(run)]
        funnel = funnel_or_reason(run, home)
        rows.append({**_run_row(run, titles[place], funnel), "id": f"r{place}", "set": set_id})
        write_part(page, f"r{place}/list", list_columns(run, funnel, at))
        for number, block in enumerate(blocks(run, home)):
            write_part(page, f"r{place}/q{number}", {"questions": block})
    index = {
        "runs": rows,
        "stages": list(LABELS.items()),
        "metrics": [{"name": one.name, "meaning": one.meaning} for one in metrics()],
        "pairs": pair_rows(runs),
    }
    write_part(page, "index", index)
    return page / INDEX


def write_demo(page: Path) -> Path:
    """Write the page of the packaged runs into a folder as `write_page` does."""
    _write_static(page)
    with tarfile.open(DEMO) as archive:
        archive.extractall(page / FOLDER, filter="data")
    return page / INDEX


def _write_static(page: Path) -> None:
    """Write a page without data into a folder that is empty or holds a page."""
    is_page = all((page / name).is_file() for name in (INDEX, "parts.js"))
    if page.is_file() or (page.is_dir() and any(page.iterdir()) and not is_page):
        raise UserError(f"{page} is there and holds no page; give an empty or new folder.")
    if (page / FOLDER).exists():
        shutil.rmtree(page / FOLDER)
    shutil.copytree(STATIC, page, dirs_exist_ok=True)


def _set_of(run: StoredRun) -> tuple[str, str]:
    return str(run.metrics.get("dataset")), str(run.metrics.get("corpus"))


def _run_row(run: StoredRun, title: str, funnel: Funnel | str) -> Plain:
    """What the table of the overview and its plots show; `funnel_note` says why there is none."""
    metrics = run.metrics
    n_tokens, usd = (None, None) if run.imported else spent(metrics)
    steps: dict[str, list[float]] = {}
    for one in run.folder.timing():
        steps.setdefault(one["step"], []).append(one["seconds"])
    counts, note = None, funnel
    if not isinstance(funnel, str):
        stages = [vars(count) for count in funnel.counts()]
        sizes = {"documents": len(funnel.documents), "questions": len(funnel.lost)}
        counts, note = {**sizes, "stages": stages}, "; ".join(funnel.unknown)
    return {
        **{name: metrics.get(name) for name in _FIELDS},
        "title": title,
        "answers": any(row["status"] == "answered" for row in run.rows.values()),
        "spent": {"tokens": n_tokens, "usd": usd},
        "cost": {name: metrics["cost"][name] for name in ("steps", "stages")},
        "seconds": {step: round(sum(s) / len(s), 6) for step, s in sorted(steps.items())},
        "settings": recorded_settings(metrics),
        "notes": list(map(str, run_notes([metrics]))),
        "funnel": counts,
        "funnel_note": note,
    }


def pair_rows(runs: Sequence[StoredRun]) -> list[Plain]:
    """Return for each two runs over one corpus B minus A in each metric, and other settings."""
    scores = [scores_of(run) for run in runs]
    rows = []
    for (a, first), (b, second) in combinations(enumerate(runs), 2):
        same = first.metrics["dataset"] == second.metrics["dataset"]
        if not same or differ(first.metrics, second.metrics):
            continue
        metrics = usual_metrics(name for one in scores[a].values() for name in one)
        pairs = paired_differences(scores[a], scores[b], first.scopes, metrics)
        differences = [{"metric": name, **vars(difference)} for name, difference in pairs]
        settings = settings_that_differ(first.metrics, second.metrics)
        rows.append({"a": a, "b": b, "differences": differences, "settings": settings})
    return rows
