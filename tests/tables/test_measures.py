"""Figures of several runs, of steps, of layers and of corpora, from small stored runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from published_sets import news, written
from test_paper_runs import StubRun, beside, stub, verdict, write_rows
from toy_runs import run_folder

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.papers.printed import Recipe, load_table
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.stored import stored_runs
from graphrag_bench.tables.figures import (
    FigureSource,
    cell_entries,
    layer_share,
    seconds,
    step_tokens,
)
from graphrag_bench.text import count_tokens

pytestmark = pytest.mark.slow

DIMENSIONS = ("comprehensiveness", "diversity", "logicality", "relevance", "coherence")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    load_plugins(["operators", "methods"])
    return tmp_path


def with_settings(run: StubRun, settings: dict[str, Any]) -> StubRun:
    """The run with other settings, without composing them again."""
    return replace(run, fixed={**run.fixed, "settings": {**run.fixed["settings"], **settings}})


def at(place: str, run: StubRun) -> StubRun:
    """The run in another folder, whose name is its key."""
    return replace(run, folder=RunFolder(Path(f"runs/{place}")))


def won(first: str, second: str, criterion: str, wins: int, n: int = 4) -> list[dict[str, Any]]:
    """Verdicts in both orders on `n` questions; the first run wins `wins` of them."""
    rows = []
    for question in range(n):
        winner = first if question < wins else second
        for one, other in ((first, second), (second, first)):
            row = verdict(f"q{question}", one, other, winner, "gpt-4o-mini:1")
            rows.append(row | {"criterion": criterion})
    return rows


def test_a_row_of_random_orders_is_the_mean_over_its_seeds(home: Path) -> None:
    """Of four questions the first seed wins four and the second two; the third has no verdicts."""
    rows = [row for i, w in enumerate((4, 2)) for row in won(f"seed{i}", "flow", "diversity", w)]
    write_rows(home / "comparisons" / "x" / "verdicts.jsonl", rows)
    flow = at("flow", stub("pathrag", "method.path_order=ascending"))
    one = stub("pathrag", "method.path_order=random")
    runs = [at(f"seed{i}", with_settings(one, {"method.path_seed": i})) for i in range(3)]
    (ours,) = beside(load_table("pathrag/table2"), [flow, *runs], home=home, dataset="Legal",
                     method="Random", versus="Flow-based", metric="Diversity").values()  # fmt: skip
    assert ours.figure is not None
    assert (ours.figure.value, ours.figure.n) == (75.0, 4)
    assert "runs: 2, not 10" in map(str, ours.figure.grade.mismatches)
    assert "verdicts" in ours.missing_parts  # the stored run of seed 2 has none
    seeds = {word for run in ours.runs for word in run if word.startswith("method.path_seed=")}
    assert seeds == {f"method.path_seed={seed}" for seed in range(3, 10)}


def test_an_average_win_rate_has_its_lowest_and_highest_level(home: Path) -> None:
    """At 10 % the run wins four of five dimensions, at 20 % one."""
    runs, whole = [at("naive", stub("vanilla"))], stub("pathrag", "build.graph.edge_drop=0.1")
    rows: list[dict[str, Any]] = []
    for level, n_won in {0.1: 4, 0.2: 1, 0.3: 2, 0.4: 3, 0.5: 2}.items():
        runs.append(at(f"p{level}", with_settings(whole, {"build.graph.edge_drop": level})))
        for place, name in enumerate(DIMENSIONS):
            rows += won(f"p{level}", "naive", name, 4 if place < n_won else 0)
    write_rows(home / "comparisons" / "x" / "verdicts.jsonl", rows)
    cells = beside(load_table("pathrag/fig3"), runs, home=home, dataset="CS", method="PathRAG",
                   versus="NaiveRAG")  # fmt: skip
    values = {setting[1]: one.figure and one.figure.value for (*_, setting), one in cells.items()}
    assert [values[f"{end} over the levels"] for end in ("lowest", "highest")] == [20.0, 80.0]


SERIAL = [
    {"question": question, "step": step, "seconds": seconds, "workers": 1}
    for step, seconds, questions in (
        ("convert.0 question.keywords.llm", 0.5, "abcd"),
        ("retrieve.0 node.vdb", 0.25, "abcd"),
        ("retrieve.1.empty.0 path.pool", 0.02, "a"),
        ("generate.0.steps.1 path.pool", 0.004, "abcd"),
    )
    for question in questions
]


def test_a_stage_has_its_tokens_and_its_seconds(home: Path) -> None:
    """Two questions have 30 and 10 tokens of conversion; a failed question does not count."""
    whole = {"": 0.759, "convert": 0.5, "retrieve": 0.255, "path.pool": 0.009}
    result = {what: seconds(SERIAL, {}, what) for what in whole}
    assert {what: one.value for what, one in result.items() if one} == pytest.approx(whole)
    assert {one.n for one in result.values() if one} == {4}
    stored = {"questions": {"a": {"paid": {"calls": 0}, "cached": {"calls": 1}}}}
    by_four = [{**row, "workers": 4} for row in SERIAL]
    for rows, calls, what in ((SERIAL, {}, "path.prune"), ([], {}, ""), (by_four, {}, ""),
                              (SERIAL, stored, "")):  # fmt: skip
        assert seconds(rows, calls, what) is None
    steps = {"generate.1 answer.direct": {"calls": 1, "prompt_tokens": 900}}
    step = "convert.0 question.reasoning_steps.llm"
    asked = {"a": ("answered", 20, 10), "b": ("answered", 10, 0), "c": ("failed", 999, 0)}
    rows_of_run = {
        name: {"status": status, "steps": {step: {
            "calls": 1, "prompt_tokens": n, "completion_tokens": more}, **steps}}
        for name, (status, n, more) in asked.items()
    }  # fmt: skip
    assert step_tokens(rows_of_run.values(), "retrieve") is None
    run = stub("pathcorag", usage={"context_tokens_per_question": 8000.0})
    run = replace(run, fixed_rows=rows_of_run)
    write_rows(run.folder.path / "timing.jsonl", SERIAL)
    cells = beside(load_table("pathcorag/table4"), [run], home=home, method="PathCoRAG")
    assert {key[2]: one.figure.value for key, one in cells.items() if one.figure} == {
        "Keyword/Expansion tokens": 20.0,
        "Keyword/Expansion Time": 0.5,
        "Path Search/Retrieval Time": 0.255,
        "In-Context Tokens": 8000.0,
    }


def test_the_share_of_a_layer_counts_cut_nodes() -> None:
    pieces = [{"kind": "node", "id": "chunk 3"}, {"kind": "node", "id": "summary 1.0"}]
    cut = [["node", "summary 12.1"], ["node", "chunk 0"]]
    contexts = ((pieces, cut), (pieces[:1], []), ([], []))
    rows = [{"context": {"pieces": kept, "cut": lost}} for kept, lost in contexts]
    shares = [layer_share(rows, layer) for layer in ("0", "1", ">1")]
    assert [(one.value, one.n) for one in shares if one] == [(0.75, 2), (0.125, 2), (0.125, 2)]
    other = [{"context": {"pieces": [{"kind": "node", "id": "Ada Marsh"}], "cut": []}}]
    assert layer_share(other, "0") is None


def test_sizes_of_a_set_are_of_its_corpus_and_its_generated_questions(home: Path) -> None:
    """The multi-hop card with two articles; MultihopSum has generated questions."""
    written(home / "data" / "multihoprag", news())
    invented = home / "questions" / "multihoprag" / "abstract" / "questions.jsonl"
    write_rows(invented, [{"id": f"a{i}", "text": f"What of theme {i}?"} for i in range(3)])
    table = load_table("zhou2025/table4")
    cells = [c for c in table.cells if c.dataset in ("MultihopQA", "MultihopSum")]
    for words in {Recipe(table, cell).words or () for cell in cells}:
        run_folder(*words, "embedder=hashing", "llm=scripted")
    filled = cell_entries(replace(table, cells=tuple(cells)), stored_runs(home), FigureSource(home))
    figures = {(c.dataset, c.metric): one.figure for c, one in filled.items() if one.figure}
    corpus = read_dataset("multihoprag", home=home)
    n_tokens = sum(count_tokens(document.text) for document in corpus.documents)
    of_another = replace(stub("bm25", corpus="of another text"), loaded=corpus)
    assert FigureSource(home).sizes(of_another) == {}
    assert {place: figure.value for place, figure in figures.items()} == {
        (name, f"# of {what}"): n
        for name, n_questions in (("MultihopQA", 2), ("MultihopSum", 3))
        for what, n in (("Tokens", n_tokens), ("Questions", n_questions), ("Chunks", 2))
    }
    graded = figures["MultihopQA", "# of Questions"].grade
    assert graded.letter == "C"
    assert {one.field: one.ours for one in graded.major} == {
        "tokens": str(n_tokens), "documents": "2", "questions": "2",
    }  # fmt: skip


def test_runs_over_other_questions_fill_no_abstract_row(home: Path) -> None:
    usage = {"tokens_per_question": 700.0}
    facts = stub("vanilla", dataset="multihoprag", usage=usage)
    requests = stub("vanilla", dataset="multihoprag-abstract", card="multihoprag", usage=usage)
    for runs, dataset in (([facts], None), ([facts, requests], "multihoprag-abstract")):
        cells = beside(load_table("zhou2025/table10"), runs, home=home, dataset="MultihopSum")
        figure = cells["VanillaRAG", "", "token", ()].figure
        assert (figure.metrics["dataset"] if figure else None) == dataset


@pytest.mark.parametrize(("n_tokens", "expected"), [(8000, []), (2400, ["2400"])])
def test_the_budget_of_the_paper_is_no_mismatch(
    home: Path, n_tokens: int, expected: list[str]
) -> None:
    config = ["profile=paper", "fidelity=paper"]
    plain = stub("vanilla", *config).metrics["settings"]
    rouge = {"rouge_1": {"mean": 0.1, "low": 0.1, "high": 0.1, "n": 8}}
    run = stub("vanilla", *config, settings=plain, dataset="squality", budget_context=n_tokens,
               metrics=rouge)  # fmt: skip
    stored = beside(load_table("pathrag/table4"), [run], home=home, dataset="SQuALITY")
    figure = stored["NaiveRAG", "", "ROUGE-1-F1", ()].figure
    assert figure is not None
    mismatches = figure.grade.mismatches
    assert [one.ours for one in mismatches if one.field == "budget_context"] == expected
