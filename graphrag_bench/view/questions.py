"""What the list of questions says of each run, as columns, and each question whole, in blocks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Dataset, Gold
from graphrag_bench.explain.funnel import Funnel, answered_right
from graphrag_bench.explain.question import (
    IN_CONTEXT,
    OUTSIDE,
    RETRIEVED,
    RunQuestions,
    evidence_of,
)
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import usual_metrics
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import is_imported
from graphrag_bench.run.scoring import context_tokens
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.text import short
from graphrag_bench.view.answer_graph import answer_graph

Plain = dict[str, Any]
BLOCK = 20
"""Questions of a part: few enough to load at once, enough that a page has few files."""
ANSWER_SHOWN = 160
_LETTERS = {IN_CONTEXT: "c", OUTSIDE: "r", RETRIEVED: "r"}
_MISSED = "m"
_ROLES = ("seed", "gold")


def set_columns(dataset: Dataset | None, names: Sequence[str]) -> Plain:
    """Return the questions of a data set as columns, in the order of `names`.

    `hops` is None where the set does not tell. Without the data set the texts are the ids.
    """
    texts = {one.id: one.text for one in dataset.questions} if dataset else {}
    gold = [(dataset.gold.get(name) if dataset else None) or Gold() for name in names]
    return {
        "id": list(names),
        "text": [texts.get(name, name) for name in names],
        "type": [one.type for one in gold],
        "hops": [one.hops for one in gold],
        "gold": [list(one.answers) for one in gold],
        "evidence": [list(one.evidence) for one in gold],
    }


def list_columns(run: StoredRun, funnel: Funnel | str, at: Mapping[str, int]) -> Plain:
    """Return a run's questions as columns, in the order of its scoring; `at` are rows of the set.

    `right` is 1, 0, or None for a question without answer or gold. `evidence` has a letter for each
    gold document: c in the context, r retrieved and not in the context, m missed. `lost` is the
    stage of the funnel at which the first evidence was lost, "" for no loss, None where it cannot
    be told. `seconds` are those of all steps, `tokens` those of LLM calls.
    """
    rows = [run.rows[name] for name in questions_of(run)]
    seconds: dict[str, float] = {}
    for one in run.folder.timing():
        seconds[one["question"]] = seconds.get(one["question"], 0.0) + one["seconds"]
    lost = {} if isinstance(funnel, str) else funnel.lost
    scores = [run.scores.get(row["question"], {}) for row in rows]
    names = dict.fromkeys(name for of_question in scores for name in of_question)
    shown = [*usual_metrics(names), *(name for name in names if name.startswith("all_evidence@"))]
    return {
        "at": [at[row["question"]] for row in rows],
        "status": [row["status"] for row in rows],
        "answer": [short(str(row.get("answer", "")), ANSWER_SHOWN) for row in rows],
        "right": [None if one is None else int(one) for one in map(answered_right, scores)],
        "evidence": [_evidence_letters(row, run.gold.get(row["question"])) for row in rows],
        "lost": [(lost[q] or "") if (q := row["question"]) in lost else None for row in rows],
        "fallbacks": [list(row.get("fallbacks", ())) for row in rows],
        **_cost_columns(rows, seconds),
        "scores": {
            name: [round(one[name], 4) if name in one else None for one in scores] for name in shown
        },
        "block": BLOCK,
    }


def _cost_columns(rows: Sequence[Row], seconds: Mapping[str, float]) -> Plain:
    if any(map(is_imported, rows)):
        return dict.fromkeys(("tokens", "context", "seconds"), [None] * len(rows))
    return {
        "tokens": [row["prompt_tokens"] + row["completion_tokens"] for row in rows],
        "context": [context_tokens(row) for row in rows],
        "seconds": [round(seconds.get(row["question"], 0.0), 3) for row in rows],
    }


def questions_of(run: StoredRun) -> list[str]:
    """Return the ids of the run's questions: the scored ones in their order, then the others."""
    scored = [name for name in scored_questions(run) if name in run.rows]
    return list(dict.fromkeys([*scored, *run.rows]))


def blocks(run: StoredRun, home: Path) -> Iterator[Plain]:
    """Yield every question of a run whole, `BLOCK` at a time, by id, in the order of the list."""
    questions, names = RunQuestions(run, home), questions_of(run)
    for start in range(0, len(names), BLOCK):
        yield {name: question_whole(name, questions) for name in names[start : start + BLOCK]}


def question_whole(name: str, questions: RunQuestions) -> Plain:
    """Return what `show --json` prints of a question, its calls among it, with its graph."""
    whole = questions.explained(name)
    row, gold = questions.run.rows[name], questions.run.gold.get(name) or Gold()
    return {
        **whole,
        "steps": [_without_context(step) for step in whole["steps"]],
        "graph": answer_graph(row, gold, questions.names(name)),
        "calls": questions.calls(name),
    }


def question_tables(whole: Mapping[str, Any]) -> tuple[Table, Table]:
    """Return what `question_whole` makes as tables: answer, gold and evidence, and the graph.

    The graph has the edges that a step found, and those from nodes to chunks.
    """
    gold, answer = whole["gold"].get("answers", ()), whole["answer"]
    facts = [("answer", "(no answer)" if answer is None else str(answer))]
    facts += [("gold", " | ".join(gold))] if gold else []
    facts += [(place, ", ".join(names)) for place, names in whole["found"].items() if names]
    names = {
        node["id"]: node["label"] + "".join(f" ({role})" for role in _ROLES if node.get(role))
        for node in whole["graph"]["nodes"]
    }
    edges = [
        (names[edge["s"]], edge.get("label", "is in"), names[edge["t"]])
        for edge in whole["graph"]["edges"]
        if edge.get("found") or edge.get("in")
    ]
    heads = ("from", "relationship", "to")
    graph = Table("graph of the answer", heads, tuple(edges), ())
    return Table(whole["question"], ("", ""), tuple(facts), ()), graph


def _without_context(step: Plain) -> Plain:
    context = step["wrote"].get("context")
    if not isinstance(context, dict) or "pieces" not in context:
        return step
    counts = {name: len(context[name]) for name in ("pieces", "cut")}
    return {**step, "wrote": {**step["wrote"], "context": counts}}


def _evidence_letters(row: Row, gold: Gold | None) -> str:
    if gold is None or row["status"] == "failed":
        return _MISSED * len(gold.evidence if gold else ())
    places = {name: place for place, names in evidence_of(row, gold).items() for name in names}
    return "".join(_LETTERS.get(places[name], _MISSED) for name in gold.evidence)
