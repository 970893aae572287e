"""Selection of stored runs for the rows of a paper's table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, plan_of, run_folder

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.papers.printed import PaperTable, PrintedCell, load_table
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.stored import StoredRun, stored_runs
from graphrag_bench.tables.candidates import Candidate
from graphrag_bench.tables.figures import CellEntry, FigureSource, cell_entries
from graphrag_bench.tables.grading import Grade, has_setting, settings_of_words, with_chunking

TABLE5 = load_table("zhou2025/table5")
Beside = dict[tuple[str, str, str, tuple[str, ...]], CellEntry]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    load_plugins()
    return tmp_path


@dataclass(frozen=True)
class StubRun(StoredRun):
    """A run with given `metrics.json` and rows."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    fixed_rows: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metrics(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.fixed

    @property
    def rows(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.fixed_rows

    @property
    def scopes(self) -> Mapping[str, str | None]:  # type: ignore[override]
        return {}


def stub(method: str, *words: str, **fields: Any) -> StubRun:
    """A run of a method at given settings with accuracy 0.5."""
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 8}
    stored: dict[str, Any] = {
        "method": method, "dataset": "sample", "llm": "small:1", "llm_build": "", "embedder": "",
        "n": 10, "selected": 10, "failed": 0, "errors": [], "key": f"key-{method}",
        "profile": "default", "fidelity": "default", "metrics": {"accuracy": mean},
        "settings": settings_of_words((f"method={method}", *words), None), "usage": {}, "cost": {},
    }  # fmt: skip
    return StubRun(RunFolder(Path(f"runs/{method}")), fixed={**stored, **fields})


def beside(table: PaperTable, runs: list[StubRun], *, home: Path = Path(), **where: str) -> Beside:
    """The entries of the cells with these fields, by (method, versus, metric, setting).

    The other cells are filled too, because they affect which runs are selected.
    """
    there = {name: where[name] for name in ("dataset", "versus") if name in where}
    cells = [one for one in table.cells if there.items() <= vars(one).items()]
    filled = cell_entries(replace(table, cells=tuple(cells)), runs, FigureSource(home))
    return {
        (cell.method, cell.versus, cell.metric, cell.setting): one
        for cell, one in filled.items()
        if where.items() <= vars(cell).items()
    }


def on_popqa(*runs: StubRun) -> dict[str, Any]:
    """The entries of accuracy on PopQA in Table 5, by method."""
    cells = beside(TABLE5, [*runs], dataset="PopQA", metric="Accuracy")
    return {key[0]: one for key, one in cells.items()}


def test_a_run_fills_the_row_of_its_method_in_percent() -> None:
    cells = on_popqa(stub("dalk"))
    figure = cells["DALK"].figure
    assert (figure.value, figure.low, figure.high, figure.n) == (50.0, 40.0, 60.0, 8)
    assert (figure.grade.letter, cells["ToG"].figure) == ("C", None)
    assert any("method=tog" in text for text in cells["ToG"].runs[0])


def test_recall_on_popqa_is_over_all_aliases() -> None:
    recalls = {name: {"mean": mean, "low": mean, "high": mean, "n": 8}
               for name, mean in (("recall", 0.6), ("recall_concat", 0.1))}  # fmt: skip
    run, values = stub("dalk", metrics=recalls), {}
    for dataset in ("PopQA", "HotpotQA"):
        cells = beside(TABLE5, [run], dataset=dataset, method="DALK", metric="Recall")
        (values[dataset],) = [one.figure.value for one in cells.values() if one.figure]
    assert values == {"PopQA": 10.0, "HotpotQA": 60.0}
    (without,) = beside(TABLE5, [stub("dalk")], dataset="PopQA", method="DALK",
                        metric="Recall").values()  # fmt: skip
    assert without.missing_parts.startswith("recall_concat of runs/dalk")


def test_a_row_takes_only_runs_with_its_settings() -> None:
    table = load_table("zhou2025/table7")
    plain, cut = stub("dalk"), stub("dalk", "chunking=token", "chunking.size=600", key="cut")
    cells = beside(table, [plain, cut], dataset="PopAll", method="DALK", metric="Accuracy")
    figures = {setting: one.figure for (_, _, _, setting), one in cells.items()}
    assert figures[("chunk_size=600",)] is not None
    assert figures[("chunk_size=2400",)] is None


def test_a_run_with_the_papers_data_and_model_comes_first() -> None:
    near = stub("dalk", "regime=published", dataset="popqa", llm="Meta-Llama-3-8B-Instruct:1",
                key="near", n=1172, corpus="whole")  # fmt: skip
    sizes = {"documents": 33_595, "tokens": 2_630_554}
    write_rows(Path("runs/.tables/whole.json"), [sizes])
    figure = on_popqa(stub("dalk"), near)["DALK"].figure
    assert (figure.metrics["dataset"], figure.grade.letter) == ("popqa", "B")


def test_a_run_on_a_data_set_of_the_table_fills_only_its_own_rows() -> None:
    cells = cell_entries(TABLE5, [stub("dalk", dataset="musique")], FigureSource(Path()))
    assert {cell.dataset for cell, one in cells.items() if one.figure} == {"MusiqueQA"}
    assert any(one.runs for cell, one in cells.items() if cell.dataset == "Quality")


def test_methods_are_compared_within_one_group_of_runs() -> None:
    few = [stub("dalk", key="a"), stub("tog", key="b"), stub("kgp", key="c")]
    odd = stub("kgp", dataset="toy", key="d", n=6, selected=6)
    more = stub("vanilla", dataset="toy", key="e", n=6, selected=6)
    cells = on_popqa(*few, odd, more)
    assert {cells[m].figure.metrics["dataset"] for m in ("DALK", "ToG", "KGP")} == {"sample"}
    assert cells["VanillaRAG"].figure is None


def test_an_unknown_model_fills_the_rows_of_the_first_model() -> None:
    runs = [stub("hipporag", key="s"), stub("hipporag", llm="gpt-4o-mini:1", key="g")]
    where = {"dataset": "MultihopQA", "method": "HippoRAG", "metric": "Accuracy"}
    for llm, model in (("Llama-3-8B", "small:1"), ("Llama-3-70B", None)):
        (cell,) = beside(load_table("zhou2025/table9"), runs, llm=llm, **where).values()
        assert (cell.figure.metrics["llm"] if cell.figure else None) == model


def write_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def verdict(
    question: str, first: str, second: str, winner: str | None, judge: str
) -> dict[str, Any]:
    return {"question": question, "first": first, "second": second, "criterion": "overall",
            "winner": winner, "judge": judge, "protocol": "paper"}  # fmt: skip


def overall(home: Path, judge: str = "", protocol: str = "") -> dict[tuple[str, str], CellEntry]:
    """The entries of Fig. 6 after the verdicts of a judge, by both sides."""
    rows = [verdict(*side, judge=judge) | {"protocol": protocol} for side in SIDES if judge]
    write_rows(home / "comparisons" / "x" / "verdicts.jsonl", rows)
    cells = beside(FIG6, [stub("vanilla"), stub("raptor")], home=home, metric="Overall")
    return {key[:2]: one for key, one in cells.items()}


FIG6 = load_table("zhou2025/fig6")
SIDES = [("q1", "vanilla", "raptor", "vanilla"), ("q1", "raptor", "vanilla", "vanilla"),
         ("q2", "vanilla", "raptor", "vanilla"), ("q2", "raptor", "vanilla", "raptor"),
         ("q3", "vanilla", "raptor", "raptor")]  # fmt: skip
"""VanillaRAG wins q1 in both orders and q2 in one; q3 has a verdict in only one order."""


def test_a_win_rate_is_read_from_the_verdicts_in_both_orders(home: Path) -> None:
    both = overall(home)["VanillaRAG", "RAPTOR"]
    assert (both.runs, both.unjudged) == ((), (("vanilla", "raptor"),))
    assert "GPT-4o on comprehensiveness, diversity, empowerment, overall" in both.missing_parts
    for judge, protocol, decides in (
        ("gpt-4o:1", "paper", ["data", "model", "regime"]),
        ("small:1", "paper", ["data", "judge", "model", "regime"]),
        ("gpt-4o:1", "house", ["data", "model", "protocol of the judge", "regime"]),
    ):
        cells = overall(home, judge, protocol)
        won, lost = cells["VanillaRAG", "RAPTOR"].figure, cells["RAPTOR", "VanillaRAG"].figure
        assert won is not None and lost is not None
        assert (won.value, won.n, lost.value) == (75.0, 2, 25.0)  # (1 + 0.5) / 2
        assert sorted(one.field for one in won.grade.major) == decides
        assert won.judge == f"{judge}, protocol {protocol}"
    assert cells["VanillaRAG", "VanillaRAG"].reason == "a method against itself"
    (run,) = [r for r in cells["VanillaRAG", "GGraphRAG"].runs if "method=ggraphrag" in r]
    assert {"llm=zhou2025.Llama-3-8B", "embedder=zhou2025.BGE-M3"} <= set(run)


def test_judged_answers_are_averaged_over_values(home: Path) -> None:
    table, run = load_table("pankrag/table2"), stub("vanilla")
    where = {"dataset": "MuSiQue", "method": "NaiveRAG", "metric": "Faithfulness"}
    (one,) = beside(table, [run], home=home, **where).values()
    assert (one.runs, one.missing_parts) == ((), "verdicts of GPT-4o-mini")
    assert one.unjudged == (("vanilla",),)
    values = [("q1", 1.0), ("q2", 0.5), ("q3", None), ("q2", 0.0)]
    rows = [{"question": q, "metric": "faithfulness", "value": v, "judge": "gpt-4o-mini:1"}
            for q, v in values]  # fmt: skip
    write_rows(run.folder.path / "judged.jsonl", rows)
    (one,) = beside(table, [run], home=home, **where).values()
    assert one.figure is not None
    assert (one.figure.value, one.figure.n) == (50.0, 2)  # q2 was judged again, q3 has no value


def test_sizes_of_the_set_and_the_graph(home: Path) -> None:
    run_folder("dataset=toy", "method=hipporag", "answer=off", "reference_rows=off", *WEIGHTLESS)
    source, table = FigureSource(home), load_table("zhou2025tr/table18")
    (run,) = stored_runs(home)
    metrics = ("# of Questions", "# of Chunks", "# of vertices", "# of edges")
    wanted = [PrintedCell("MultihopQA", "", "", name, "", (), "", "count") for name in metrics]
    figures = [source.figure(table, cell, Candidate(run, Grade())) for cell in wanted]
    assert [one and one.value for one in figures] == [6, 8, 21, 30]


def test_auto_chunking_is_that_of_the_card() -> None:
    words = ("method=raptor", "chunking=token", "pooling=off", "build.graph.max_layers=2")
    settings = settings_of_words(words, None)
    assert all(has_setting(settings, word) for word in (*words, "chunking.size=1200"))
    assert not any(
        has_setting(settings, word) for word in ("pooling=rerank", "method=raptor_kmeans")
    )
    assert with_chunking({"chunking.variant": "auto"}, "sample")["chunking.variant"] == "presplit"
    assert with_chunking({"chunking.variant": "auto"}, "ultradomain_mix")["chunking.size"] == 1200
    assert with_chunking({"chunking.variant": "auto"}, "no such card") == {
        "chunking.variant": "auto"
    }
    sized, default = (plan_of(*TOY, "method=bm25", "chunking=token", *more)
                      for more in (["chunking.size=1200"], []))  # fmt: skip
    assert sized == default
