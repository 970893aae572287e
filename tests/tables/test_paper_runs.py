"""Figures and gaps of a paper's table, from small stored runs."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from published_sets import news, written
from toy_runs import TOY, WEIGHTLESS, plan_of, run_folder

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.papers.printed import PrintedCell, Recipe, load_table
from graphrag_bench.run.folder import RunFolder, write_rows
from graphrag_bench.run.stored import StoredRun, stored_runs
from graphrag_bench.tables import figures
from graphrag_bench.tables.candidates import Candidate
from graphrag_bench.tables.figures import FigureSource, cell_entries
from graphrag_bench.tables.grading import Grade, has_setting, settings_of_words, with_chunking
from graphrag_bench.text import count_tokens

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]
load_plugins()


def stub(method, *words, place="", rows=(), **fields):
    """A run of a method in the folder `place` at given settings with accuracy 0.5."""
    run = StoredRun(RunFolder(Path(f"runs/{place or method}")))
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 8}
    stored = {
        "method": method, "dataset": "sample", "llm": "small:1", "llm_build": "", "embedder": "",
        "n": 10, "selected": 10, "failed": 0, "errors": [], "key": f"key-{method}",
        "profile": "default", "fidelity": "default", "metrics": {"accuracy": mean},
        "settings": settings_of_words((f"method={method}", *words), None), "usage": {}, "cost": {},
    }  # fmt: skip
    vars(run).update(metrics=stored | fields, rows=dict(rows), scopes={})
    return run


def beside(name, runs, **where):
    """The entries of the cells with these fields, by (method, versus, metric, setting).

    The other cells are filled too, because they affect which runs are selected.
    """
    table = load_table(name)
    there = {name: where[name] for name in ("dataset", "versus") if name in where}
    cells = tuple(one for one in table.cells if there.items() <= vars(one).items())
    filled = cell_entries(replace(table, cells=cells), runs, FigureSource(Path()))
    return {
        (cell.method, cell.versus, cell.metric, cell.setting): one
        for cell, one in filled.items()
        if where.items() <= vars(cell).items()
    }


def on_popqa(*runs):
    """The entries of accuracy on PopQA in Table 5, by method."""
    cells = beside("zhou2025/table5", runs, dataset="PopQA", metric="Accuracy")
    return {key[0]: one for key, one in cells.items()}


def test_a_run_fills_the_row_of_its_method_in_percent():
    cells = on_popqa(stub("dalk"))
    figure = cells["DALK"].figure
    assert (figure.value, figure.low, figure.high, figure.n) == (50.0, 40.0, 60.0, 8)
    assert (figure.grade.letter, cells["ToG"].figure) == ("C", None)
    assert any("method=tog" in text for text in cells["ToG"].runs[0])
    near = stub("dalk", "regime=published", dataset="popqa", llm="Meta-Llama-3-8B-Instruct:1",
                key="near", n=1172, corpus="whole")  # fmt: skip
    sizes = {"documents": 33_595, "tokens": 2_630_554}
    write_rows(Path("runs/.tables/whole.json"), [sizes])
    figure = on_popqa(stub("dalk"), near)["DALK"].figure  # that of the paper's data and model
    assert (figure.metrics["dataset"], figure.grade.letter) == ("popqa", "B")


def test_recall_on_popqa_is_over_all_aliases():
    recalls = {name: {"mean": mean, "low": mean, "high": mean, "n": 8}
               for name, mean in (("recall", 0.6), ("recall_concat", 0.1))}  # fmt: skip
    for dataset, value in (("PopQA", 10.0), ("HotpotQA", 60.0)):
        where = {"dataset": dataset, "method": "DALK", "metric": "Recall"}
        (one,) = beside("zhou2025/table5", [stub("dalk", metrics=recalls)], **where).values()
        assert one.figure and one.figure.value == value
    where["dataset"] = "PopQA"
    (without,) = beside("zhou2025/table5", [stub("dalk")], **where).values()
    assert without.missing_parts.startswith("recall_concat of runs/dalk")


def test_a_row_takes_only_runs_with_its_settings_and_data_set():
    plain, cut = stub("dalk"), stub("dalk", "chunking=token", "chunking.size=600", key="cut")
    where = {"dataset": "PopAll", "method": "DALK", "metric": "Accuracy"}
    cells = beside("zhou2025/table7", [plain, cut], **where)
    found = {setting: one.figure for (*_, setting), one in cells.items()}
    assert found[("chunk_size=600",)] and not found[("chunk_size=2400",)]
    of_table = cell_entries(load_table("zhou2025/table5"), [stub("dalk", dataset="musique")],
                            FigureSource(Path()))  # fmt: skip
    assert {cell.dataset for cell, one in of_table.items() if one.figure} == {"MusiqueQA"}
    assert any(one.runs for cell, one in of_table.items() if cell.dataset == "Quality")


def test_methods_are_compared_within_one_group_of_runs():
    few = [stub("dalk", key="a"), stub("tog", key="b"), stub("kgp", key="c")]
    of_toy = {"dataset": "toy", "n": 6, "selected": 6}
    cells = on_popqa(*few, stub("kgp", key="d", **of_toy), stub("vanilla", key="e", **of_toy))
    assert {cells[m].figure.metrics["dataset"] for m in ("DALK", "ToG", "KGP")} == {"sample"}
    assert cells["VanillaRAG"].figure is None


def test_an_unknown_model_fills_the_rows_of_the_first_model():
    runs = [stub("hipporag", key="s"), stub("hipporag", llm="gpt-4o-mini:1", key="g")]
    where = {"dataset": "MultihopQA", "method": "HippoRAG", "metric": "Accuracy"}
    for llm, model in (("Llama-3-8B", "small:1"), ("Llama-3-70B", None)):
        (cell,) = beside("zhou2025/table9", runs, llm=llm, **where).values()
        assert (cell.figure.metrics["llm"] if cell.figure else None) == model


def write_verdicts(judge, *verdicts, protocol="paper"):
    """Store verdicts: question, first run, second run, winner, and criterion (overall)."""
    names = ("question", "first", "second", "winner", "criterion", "judge", "protocol")
    rows = [dict(zip(names, (*of, *["overall"] * (5 - len(of)), judge, protocol), strict=True))
            for of in verdicts]  # fmt: skip
    write_rows(Path("comparisons/x/verdicts.jsonl"), rows)


def test_a_win_rate_is_read_from_the_verdicts_in_both_orders():
    """VanillaRAG wins q1 in both orders and q2 in one; q3 has a verdict in only one order."""
    runs, pair = [stub("vanilla"), stub("raptor")], ("VanillaRAG", "RAPTOR")

    def entries():
        cells = beside("zhou2025/fig6", runs, metric="Overall")
        return {key[:2]: one for key, one in cells.items()}

    both = entries()[pair]
    assert (both.runs, both.unjudged) == ((), (("vanilla", "raptor"),))
    assert "GPT-4o on comprehensiveness, diversity, empowerment, overall" in both.missing_parts
    sides = [("q1", "vanilla", "raptor", "vanilla"), ("q1", "raptor", "vanilla", "vanilla"),
             ("q2", "vanilla", "raptor", "vanilla"), ("q2", "raptor", "vanilla", "raptor"),
             ("q3", "vanilla", "raptor", "raptor")]  # fmt: skip
    for judge, protocol, decides in (
        ("gpt-4o:1", "paper", ["data", "model", "regime"]),
        ("small:1", "paper", ["data", "judge", "model", "regime"]),
        ("gpt-4o:1", "house", ["data", "model", "protocol of the judge", "regime"]),
    ):
        write_verdicts(judge, *sides, protocol=protocol)
        cells = entries()
        won, lost = cells[pair].figure, cells[pair[::-1]].figure
        assert won is not None and lost is not None
        assert (won.value, won.n, lost.value) == (75.0, 2, 25.0)  # (1 + 0.5) / 2
        assert sorted(one.field for one in won.grade.major) == decides
        assert won.judge == f"{judge}, protocol {protocol}"
    assert cells["VanillaRAG", "VanillaRAG"].reason == "a method against itself"
    (run,) = [r for r in cells["VanillaRAG", "GGraphRAG"].runs if "method=ggraphrag" in r]
    assert {"llm=zhou2025.Llama-3-8B", "embedder=zhou2025.BGE-M3"} <= set(run)


def test_judged_answers_are_averaged_over_values():
    run, table = stub("vanilla"), "pankrag/table2"
    where = {"dataset": "MuSiQue", "method": "NaiveRAG", "metric": "Faithfulness"}
    (one,) = beside(table, [run], **where).values()
    assert (one.runs, one.missing_parts) == ((), "verdicts of GPT-4o-mini")
    assert one.unjudged == (("vanilla",),)
    values = [("q1", 1.0), ("q2", 0.5), ("q3", None), ("q2", 0.0)]
    rows = [{"question": q, "metric": "faithfulness", "value": v, "judge": "gpt-4o-mini:1"}
            for q, v in values]  # fmt: skip
    write_rows(run.folder.path / "judged.jsonl", rows)
    (one,) = beside(table, [run], **where).values()
    assert one.figure is not None
    assert (one.figure.value, one.figure.n) == (50.0, 2)  # q2 was judged again, q3 has no value


def won(first, second, criterion, wins, n=4):
    """Verdicts in both orders on `n` questions; the first run wins `wins` of them."""
    return [
        (f"q{question}", *pair, first if question < wins else second, criterion)
        for question in range(n) for pair in ((first, second), (second, first))
    ]  # fmt: skip


def test_a_row_of_random_orders_is_the_mean_over_its_seeds():
    """Of four questions the first seed wins four and the second two; the third has no verdicts."""
    verdicts = (won(f"seed{i}", "flow", "diversity", n) for i, n in enumerate((4, 2)))
    write_verdicts("gpt-4o-mini:1", *chain(*verdicts))
    runs = [stub("pathrag", "method.path_order=ascending", place="flow")]
    settings = stub("pathrag", "method.path_order=random").metrics["settings"]
    runs += [stub("pathrag", place=f"seed{i}", settings={**settings, "method.path_seed": i})
             for i in range(3)]  # fmt: skip
    (ours,) = beside("pathrag/table2", runs, dataset="Legal", method="Random",
                     versus="Flow-based", metric="Diversity").values()  # fmt: skip
    assert ours.figure is not None
    assert (ours.figure.value, ours.figure.n) == (75.0, 4)
    assert "runs: 2, not 10" in map(str, ours.figure.grade.mismatches)
    assert "verdicts" in ours.missing_parts  # the stored run of seed 2 has none
    seeds = {word for run in ours.runs for word in run if word.startswith("method.path_seed=")}
    assert seeds == {f"method.path_seed={seed}" for seed in range(3, 10)}


def test_an_average_win_rate_has_its_lowest_and_highest_level():
    """At 10 % the run wins four of five dimensions, at 20 % one."""
    runs, verdicts = [stub("vanilla", place="naive")], []
    settings = stub("pathrag", "build.graph.edge_drop=0.1").metrics["settings"]
    names = ("comprehensiveness", "diversity", "logicality", "relevance", "coherence")
    for level, n_won in {0.1: 4, 0.2: 1, 0.3: 2, 0.4: 3, 0.5: 2}.items():
        own = {**settings, "build.graph.edge_drop": level}
        runs.append(stub("pathrag", place=f"p{level}", settings=own))
        for place, name in enumerate(names):
            verdicts += won(f"p{level}", "naive", name, 4 if place < n_won else 0)
    write_verdicts("gpt-4o-mini:1", *verdicts)
    cells = beside("pathrag/fig3", runs, dataset="CS", method="PathRAG", versus="NaiveRAG")
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


def test_a_stage_has_its_tokens_and_its_seconds():
    """Two questions have 30 and 10 tokens of conversion; a failed question does not count."""
    whole = {"": 0.759, "convert": 0.5, "retrieve": 0.255, "path.pool": 0.009}
    result = {what: figures.seconds(SERIAL, {}, what) for what in whole}
    assert {what: one.value for what, one in result.items() if one} == pytest.approx(whole)
    assert {one.n for one in result.values() if one} == {4}
    stored = {"questions": {"a": {"paid": {"calls": 0}, "cached": {"calls": 1}}}}
    by_four = [{**row, "workers": 4} for row in SERIAL]
    for rows, calls, what in ((SERIAL, {}, "path.prune"), ([], {}, ""), (by_four, {}, ""),
                              (SERIAL, stored, "")):  # fmt: skip
        assert figures.seconds(rows, calls, what) is None
    steps = {"generate.1 answer.direct": {"calls": 1, "prompt_tokens": 900}}
    step = "convert.0 question.reasoning_steps.llm"
    asked = {"a": ("answered", 20, 10), "b": ("answered", 10, 0), "c": ("failed", 999, 0)}
    rows_of_run = {
        name: {"status": status, "steps": {step: {
            "calls": 1, "prompt_tokens": n, "completion_tokens": more}, **steps}}
        for name, (status, n, more) in asked.items()
    }  # fmt: skip
    assert figures.step_tokens(rows_of_run.values(), "retrieve") is None
    usage = {"context_tokens_per_question": 8000.0}
    run = stub("pathcorag", usage=usage, rows=rows_of_run)
    write_rows(run.folder.path / "timing.jsonl", SERIAL)
    cells = beside("pathcorag/table4", [run], method="PathCoRAG")
    assert {key[2]: one.figure.value for key, one in cells.items() if one.figure} == {
        "Keyword/Expansion tokens": 20.0,
        "Keyword/Expansion Time": 0.5,
        "Path Search/Retrieval Time": 0.255,
        "In-Context Tokens": 8000.0,
    }


def test_the_share_of_a_layer_counts_cut_nodes():
    pieces = [{"kind": "node", "id": "chunk 3"}, {"kind": "node", "id": "summary 1.0"}]
    cut = [["node", "summary 12.1"], ["node", "chunk 0"]]
    contexts = ((pieces, cut), (pieces[:1], []), ([], []))
    rows = [{"context": {"pieces": kept, "cut": lost}} for kept, lost in contexts]
    shares = [figures.layer_share(rows, layer) for layer in ("0", "1", ">1")]
    assert [(one.value, one.n) for one in shares if one] == [(0.75, 2), (0.125, 2), (0.125, 2)]
    other = [{"context": {"pieces": [{"kind": "node", "id": "Ada Marsh"}], "cut": []}}]
    assert figures.layer_share(other, "0") is None


def test_sizes_of_a_set_are_of_its_corpus_and_its_generated_questions(home):
    """The multi-hop card with two articles; MultihopSum has generated questions."""
    written(home / "data" / "multihoprag", news())
    invented = home / "questions" / "multihoprag" / "abstract" / "questions.jsonl"
    write_rows(invented, [{"id": f"a{i}", "text": f"What of theme {i}?"} for i in range(3)])
    table = load_table("zhou2025/table4")
    cells = [c for c in table.cells if c.dataset in ("MultihopQA", "MultihopSum")]
    for words in {Recipe(table, cell).words or () for cell in cells}:
        run_folder(*words, "embedder=hashing", "llm=scripted")
    filled = cell_entries(replace(table, cells=tuple(cells)), stored_runs(home), FigureSource(home))
    values = {(c.dataset, c.metric): one.figure for c, one in filled.items() if one.figure}
    corpus = read_dataset("multihoprag", home=home)
    n_tokens = sum(count_tokens(document.text) for document in corpus.documents)
    of_another = StoredRun(RunFolder(Path("runs/bm25")), corpus)
    vars(of_another)["metrics"] = {"corpus": "of another text"}
    assert FigureSource(home).sizes(of_another) == {}
    assert {place: figure.value for place, figure in values.items()} == {
        (name, f"# of {what}"): n
        for name, n_questions in (("MultihopQA", 2), ("MultihopSum", 3))
        for what, n in (("Tokens", n_tokens), ("Questions", n_questions), ("Chunks", 2))
    }
    graded = values["MultihopQA", "# of Questions"].grade
    assert graded.letter == "C"
    assert {one.field: one.ours for one in graded.major} == {
        "tokens": str(n_tokens), "documents": "2", "questions": "2",
    }  # fmt: skip


def test_runs_over_other_questions_fill_no_abstract_row():
    usage = {"tokens_per_question": 700.0}
    facts = stub("vanilla", dataset="multihoprag", usage=usage)
    requests = stub("vanilla", dataset="multihoprag-abstract", card="multihoprag", usage=usage)
    for runs, dataset in (([facts], None), ([facts, requests], "multihoprag-abstract")):
        cells = beside("zhou2025/table10", runs, dataset="MultihopSum")
        figure = cells["VanillaRAG", "", "token", ()].figure
        assert (figure.metrics["dataset"] if figure else None) == dataset


def test_the_budget_of_the_paper_is_no_mismatch():
    config = ["profile=paper", "fidelity=paper"]
    rouge = {"rouge_1": {"mean": 0.1, "low": 0.1, "high": 0.1, "n": 8}}
    for n_tokens, expected in ((8000, []), (2400, ["2400"])):
        run = stub("vanilla", *config, dataset="squality", budget_context=n_tokens, metrics=rouge)
        stored = beside("pathrag/table4", [run], dataset="SQuALITY")
        figure = stored["NaiveRAG", "", "ROUGE-1-F1", ()].figure
        assert figure is not None
        mismatches = figure.grade.mismatches
        assert [one.ours for one in mismatches if one.field == "budget_context"] == expected


def test_sizes_of_the_graph(home):
    run_folder("dataset=toy", "method=hipporag", "answer=off", "reference_rows=off", *WEIGHTLESS)
    source, table = FigureSource(home), load_table("zhou2025tr/table18")
    (run,) = stored_runs(home)
    metrics = ("# of Chunks", "# of vertices", "# of edges")
    wanted = [PrintedCell("MultihopQA", "", "", name, "", (), "", "count") for name in metrics]
    found = [source.figure(table, cell, Candidate(run, Grade())) for cell in wanted]
    assert [one and one.value for one in found] == [8, 21, 30]


def test_auto_chunking_is_that_of_the_card():
    words = ("method=raptor", "chunking=token", "pooling=off", "build.graph.max_layers=2")
    settings = settings_of_words(words, None)
    assert all(has_setting(settings, word) for word in (*words, "chunking.size=1200"))
    assert not any(has_setting(settings, one) for one in ("pooling=rerank", "method=raptor_kmeans"))
    for card, name, value in (("sample", "variant", "presplit"), ("ultradomain_mix", "size", 1200),
                              ("no such card", "variant", "auto")):  # fmt: skip
        assert with_chunking({"chunking.variant": "auto"}, card)[f"chunking.{name}"] == value
    sized, default = (plan_of(*TOY, "method=bm25", "chunking=token", *more)
                      for more in (["chunking.size=1200"], []))  # fmt: skip
    assert sized == default
