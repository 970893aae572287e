"""Write the run page: a folder of static files that can be opened in a browser from disk.

A page on disk can add script elements but cannot fetch files, so data files are JavaScript.
"""

import json
import shutil
import tarfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.data.dataset import Dataset, Gold
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.explain import question as explained
from graphrag_bench.explain.funnel import LABELS, Funnel, available_funnel, is_right
from graphrag_bench.explain.names import has_keys
from graphrag_bench.explain.question import RunQuestions, evidence_places
from graphrag_bench.report import rows
from graphrag_bench.report.comparisons import paired_differences, settings_that_differ
from graphrag_bench.report.notes import run_notes
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import group_by, in_table_order, usual_metrics
from graphrag_bench.run.folder import Row, write_whole
from graphrag_bench.run.scoring import context_tokens
from graphrag_bench.run.stored import StoredRun, scored_questions, scores_of, with_one_rule
from graphrag_bench.text import short
from graphrag_bench.view.answer_graph import answer_graph

Plain = dict[str, Any]
BLOCK = 20
"""Number of questions in a data file."""
_LETTERS = {explained.IN_CONTEXT: "c", explained.OUTSIDE: "r", explained.RETRIEVED: "r"}
_MISSED = "m"
_ROLES = ("seed", "gold")
_FIELDS = ("dataset", "method", "key", "role", "n", "failed", "fell_back", "fallbacks", "errors",
           "imported", "metrics", "usage", "estimate")  # fmt: skip
INDEX, FOLDER = "index.html", "data"


def _set_columns(dataset: Dataset | None, names: Sequence[str]) -> Plain:
    texts = {one.id: one.text for one in dataset.questions} if dataset else {}
    gold = [dataset.gold.get(name, Gold()) if dataset else Gold() for name in names]
    return {
        "id": list(names),
        "text": [texts.get(name, name) for name in names],
        "type": [one.type for one in gold],
        "hops": [one.hops for one in gold],
        "gold": [list(one.answers) for one in gold],
        "evidence": [list(one.evidence) for one in gold],
    }


def _list_columns(run: StoredRun, funnel: Funnel, at: Mapping[str, int]) -> Plain:
    """Return the questions of a run as columns; scored questions come first.

    `at` maps a question to its row in `_set_columns`. `evidence` has a letter for each gold
    document: c (in the context), r (only retrieved) or m (missed). `lost` is the first stage that
    lost evidence, "" if no stage did, or None if unknown.
    """
    stored, known = [run.rows[name] for name in _questions_of(run)], not run.imported
    seconds = defaultdict[str, float](float)
    for one in run.folder.timing():
        seconds[one["question"]] += one["seconds"]
    lost = funnel.lost
    scores = [run.scores.get(row["question"], {}) for row in stored]
    names = dict.fromkeys(name for of_question in scores for name in of_question)
    shown = [*usual_metrics(names), *(name for name in names if name.startswith("all_evidence@"))]
    return {
        "at": [at[row["question"]] for row in stored],
        "status": [row["status"] for row in stored],
        "answer": [short(str(row.get("answer", "")), 160) for row in stored],
        "right": [None if one is None else int(one) for one in map(is_right, scores)],
        "evidence": [_evidence_letters(row, run.gold.get(row["question"])) for row in stored],
        "lost": [(lost[q] or "") if (q := row["question"]) in lost else None for row in stored],
        "fallbacks": [list(row.get("fallbacks", ())) for row in stored],
        "tokens": [row["prompt_tokens"] + row["completion_tokens"] if known else None
                   for row in stored],
        "context": [context_tokens(row) if known else None for row in stored],
        "seconds": [round(seconds[row["question"]], 3) if known else None for row in stored],
        "scores": {name: [round(one[name], 4) if name in one else None for one in scores]
                   for name in shown},
        "block": BLOCK,
    }  # fmt: skip


def _questions_of(run: StoredRun) -> list[str]:
    scored = [name for name in scored_questions(run) if name in run.rows]
    return list(dict.fromkeys([*scored, *run.rows]))


def full_question(name: str, questions: RunQuestions) -> Plain:
    """Return the output of `show --json` for a question, with its answer graph and model calls."""
    whole = questions.explain(name)
    for step in whole["steps"]:
        if has_keys(context := step["wrote"].get("context"), "pieces", "cut"):
            step["wrote"]["context"] = {of: len(context[of]) for of in ("pieces", "cut")}
    row, gold = questions.run.rows[name], questions.run.gold.get(name) or Gold()
    graph = answer_graph(row, gold, questions.names(name))
    return {**whole, "graph": graph, "calls": questions.calls(name)}


def question_tables(whole: Mapping[str, Any]) -> tuple[Table, Table]:
    """Return a table of answer, gold and evidence, and a table of the edges that were found."""
    gold, answer = whole["gold"].get("answers", ()), whole["answer"]
    facts = [("answer", "(no answer)" if answer is None else str(answer))]
    facts += [("gold", " | ".join(gold))] if gold else []
    facts += [(place, ", ".join(names)) for place, names in whole["found"].items() if names]
    names = {node["id"]: node["label"] + "".join(f" ({of})" for of in _ROLES if node.get(of))
             for node in whole["graph"]["nodes"]}  # fmt: skip
    edges = tuple((names[edge["s"]], edge.get("label", "is in"), names[edge["t"]])
                  for edge in whole["graph"]["edges"]
                  if edge.get("found") or edge.get("in"))  # fmt: skip
    graph = Table("graph of the answer", ("from", "relationship", "to"), edges, ())
    return Table(whole["question"], ("", ""), tuple(facts), ()), graph


def _evidence_letters(row: Row, gold: Gold | None) -> str:
    if gold is None or row["status"] == "failed":
        return _MISSED * len(gold.evidence if gold else ())
    places = {name: place for place, names in evidence_places(row, gold).items() for name in names}
    return "".join(_LETTERS.get(places[name], _MISSED) for name in gold.evidence)


def part_text(name: str, value: Any) -> str:
    """Return a data file as JavaScript, escaped so that no text can end the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"grb.part({json.dumps(name)},{text});\n"


def _write_part(page: Path, name: str, value: Mapping[str, Any]) -> None:
    write_whole(page / FOLDER / f"{name}.js", part_text(name, value))


def write_page(runs: Sequence[StoredRun], page: Path, home: Path) -> Path:
    """Write the page of the given runs into a folder; return its index.html.

    An existing page is replaced. Artifacts of runs that are not in a runs/ folder are read from
    `home`. Raises UserError if the folder contains other files.
    """
    _write_static(page)
    runs, sets = with_one_rule(runs), {}
    for number, (key, group) in enumerate(group_by(runs, _set_of).items()):
        ids = list(dict.fromkeys(name for run in group for name in _questions_of(run)))
        sets[key] = f"set{number}", {name: row for row, name in enumerate(ids)}
        dataset = next((run.dataset for run in group if run.dataset), None)
        _write_part(page, f"set{number}", {"name": key[0], **_set_columns(dataset, ids)})
    titled = in_table_order([{**run.metrics, "place": place} for place, run in enumerate(runs)])
    titles = {row["place"]: str(row["title"]) for row in titled}
    listed = []
    for place, run in enumerate(runs):
        set_id, at = sets[_set_of(run)]
        funnel = available_funnel(run, home)
        listed.append({**_run_row(run, titles[place], funnel), "id": f"r{place}", "set": set_id})
        _write_part(page, f"r{place}/list", _list_columns(run, funnel, at))
        questions, names = RunQuestions(run, home), _questions_of(run)
        for start in range(0, len(names), BLOCK):
            block = {name: full_question(name, questions) for name in names[start : start + BLOCK]}
            _write_part(page, f"r{place}/q{start // BLOCK}", {"questions": block})
    index = {
        "runs": listed,
        "stages": list(LABELS.items()),
        "metrics": [{"name": one.name, "meaning": one.meaning} for one in metrics()],
        "pairs": _pair_rows(runs),
    }
    _write_part(page, "index", index)
    return page / INDEX


def write_demo(page: Path) -> Path:
    """Write the page of the packaged example runs into a folder; return its index.html."""
    _write_static(page)
    with tarfile.open(Path(__file__).with_name("demo.tar.xz")) as archive:  # from `make demo`
        archive.extractall(page / FOLDER, filter="data")
    return page / INDEX


def _write_static(page: Path) -> None:
    is_page = all((page / name).is_file() for name in (INDEX, "parts.js"))
    if page.is_file() or (page.is_dir() and any(page.iterdir()) and not is_page):
        raise UserError(f"{page} exists and is not a run page. Choose a new or empty folder.")
    shutil.rmtree(page / FOLDER, ignore_errors=not (page / FOLDER).exists())
    shutil.copytree(Path(__file__).with_name("page"), page, dirs_exist_ok=True)


def _set_of(run: StoredRun) -> tuple[str, str]:
    return str(run.metrics.get("dataset")), str(run.metrics.get("corpus"))


def _run_row(run: StoredRun, title: str, funnel: Funnel) -> Plain:
    metrics = run.metrics
    n_tokens, usd = (None, None) if run.imported else rows.tokens_and_usd(metrics)
    steps = group_by(run.folder.timing(), lambda one: str(one["step"]))
    seconds = {step: fmean(one["seconds"] for one in of) for step, of in sorted(steps.items())}
    counts = {"documents": len(funnel.documents), "questions": len(funnel.lost),
              "stages": list(map(vars, funnel.counts()))}  # fmt: skip
    return {
        **{name: metrics.get(name) for name in _FIELDS},
        "title": title,
        "answers": any(row["status"] == "answered" for row in run.rows.values()),
        "spent": {"tokens": n_tokens, "usd": usd},
        "cost": {name: metrics["cost"][name] for name in ("steps", "stages")},
        "seconds": {step: round(mean, 6) for step, mean in seconds.items()},
        "settings": rows.recorded_settings(metrics),
        "notes": list(map(str, run_notes([metrics]))),
        "funnel": counts if funnel.documents else None,
        "funnel_note": "; ".join(funnel.unknown),
    }


def _pair_rows(runs: Sequence[StoredRun]) -> list[Plain]:
    scores, found = [scores_of(run) for run in runs], []
    for (a, first), (b, second) in combinations(enumerate(runs), 2):
        names = first.metrics["dataset"], second.metrics["dataset"]
        if names[0] != names[1] or rows.different_corpora(first.metrics, second.metrics):
            continue
        metrics = usual_metrics(name for one in scores[a].values() for name in one)
        pairs = paired_differences(scores[a], scores[b], first.scopes, metrics)
        differences = [{"metric": name, **vars(difference)} for name, difference in pairs]
        settings = settings_that_differ(first.metrics, second.metrics)
        found.append({"a": a, "b": b, "differences": differences, "settings": settings})
    return found
