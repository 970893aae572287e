"""Runs are found for the rows of a paper's table, and lacking ones run; a failure stops none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, command, ran

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment, load_plugins
from graphrag_bench.experiment.given_settings import composed_of, decided, holds, stated, value_of
from graphrag_bench.experiment.paper_figures import collected
from graphrag_bench.experiment.paper_runs import (
    SMALL,
    finished,
    keep_failures,
    kept_failures,
    run_rows,
    wanted_rows,
)
from graphrag_bench.experiment.paper_sources import FigureSource
from graphrag_bench.experiment.stored import StoredRun, stored_runs
from graphrag_bench.report.papers import PaperTable, Printed, load_table
from graphrag_bench.runs.folder import RunFolder

TABLE5 = load_table("zhou2025/table5")
GIVEN = [*TOY, "paths.home=."]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    load_plugins(["operators", "methods"])
    return tmp_path


@dataclass(frozen=True)
class Told(StoredRun):
    """A run whose `metrics.json` is told here."""

    held: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metrics(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.held


def told(method: str, *given: str, **fields: Any) -> Told:
    """A run of a method at given settings with accuracy 0.5."""
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 8}
    held: dict[str, Any] = {
        "method": method, "dataset": "sample", "llm": "small:1", "llm_build": "", "embedder": "",
        "n": 10, "selected": 10, "failed": 0, "errors": [], "key": f"key-{method}",
        "profile": "default", "fidelity": "default", "metrics": {"accuracy": mean},
        "settings": decided([f"method={method}", *given], None), "usage": {}, "cost": {},
    }  # fmt: skip
    return Told(RunFolder(Path(f"runs/{method}")), {**held, **fields})


def beside(table: PaperTable, runs: list[Told], dataset: str) -> dict[str, Any]:
    """Method to what stands beside its accuracy on a data set."""
    filled = collected(table, runs, FigureSource(Path()))
    return {
        cell.method: filled[cell]
        for cell in table.cells
        if cell.dataset == dataset and cell.metric == "Accuracy"
    }


def test_a_run_of_the_method_stands_in_its_row_in_percent() -> None:
    held = beside(TABLE5, [told("dalk")], "PopQA")
    figure = held["DALK"].figure
    assert (figure.value, figure.low, figure.high, figure.n) == (50.0, 40.0, 60.0, 8)
    assert figure.grade.letter == "C"
    assert held["ToG"].figure is None
    assert any("method=tog" in text for text in held["ToG"].runs[0])


def test_a_row_takes_only_a_run_that_has_its_settings() -> None:
    table = load_table("zhou2025/table7")
    plain, cut = told("dalk"), told("dalk", "chunking=token", "chunking.size=600", key="cut")
    filled = collected(table, [plain, cut], FigureSource(Path()))
    on_popall = {
        cell.setting: filled[cell].figure
        for cell in table.cells
        if (cell.dataset, cell.method, cell.metric) == ("PopAll", "DALK", "Accuracy")
    }
    assert on_popall[("chunk_size=600",)] is not None
    assert on_popall[("chunk_size=2400",)] is None


def test_a_run_on_the_papers_data_by_its_model_comes_before_any_other() -> None:
    near = told("dalk", dataset="popqa", llm="Meta-Llama-3-8B-Instruct:1", key="near")
    figure = beside(TABLE5, [told("dalk"), near], "PopQA")["DALK"].figure
    assert (figure.dataset, figure.grade.letter) == ("popqa", "B")


def test_methods_are_compared_within_one_group_of_runs() -> None:
    few = [told("dalk", key="a"), told("tog", key="b"), told("kgp", key="c")]
    odd = told("kgp", dataset="toy", key="d", n=6, selected=6)
    more = told("vanilla", dataset="toy", key="e", n=6, selected=6)
    held = beside(TABLE5, [*few, odd, more], "PopQA")
    assert {held[m].figure.dataset for m in ("DALK", "ToG", "KGP")} == {"sample"}
    assert held["VanillaRAG"].figure is None


def test_a_model_stands_in_its_own_rows_and_a_stranger_in_those_of_the_first() -> None:
    table = load_table("zhou2025/table9")
    held = collected(
        table,
        [told("hipporag", key="s"), told("hipporag", llm="gpt-4o-mini:1", key="g")],
        FigureSource(Path()),
    )
    by_llm = {
        cell.llm: filled.figure.llm if filled.figure else None
        for cell, filled in held.items()
        if (cell.dataset, cell.method, cell.metric) == ("MultihopQA", "HippoRAG", "Accuracy")
    }
    assert by_llm["Llama-3-8B"] == "small:1"
    assert by_llm["Llama-3-70B"] is None


def test_a_run_of_failed_questions_alone_is_shown_as_failed() -> None:
    bad = told("dalk", metrics={}, failed=10, errors=["10 x generate: no server"])
    held = beside(TABLE5, [bad], "PopQA")
    assert held["DALK"].failure == "every question failed: 10 x generate: no server"


def test_every_row_of_table_5_is_wanted_once_when_small() -> None:
    wanted = wanted_rows(TABLE5, [], small=True)
    methods = [one.row for one in wanted]
    assert len(methods) == len(set(methods)) == 14  # 13 methods, RAPTOR with k-means beside it
    assert all(set(SMALL) <= set(one.settings) for one in wanted)
    assert len(wanted_rows(TABLE5, [], small=False)) == 13 * 6


def test_what_is_given_has_the_last_word() -> None:
    (one, *_) = wanted_rows(TABLE5, ["dataset=toy", "limit=3"], small=True)
    assert "dataset=toy" in one.settings
    assert "limit=3" in one.settings
    assert not set(SMALL) & set(one.settings)


def test_a_row_that_fails_is_kept_and_the_others_go_on(home: Path) -> None:
    rows = [one for one in wanted_rows(TABLE5, GIVEN, small=True)
            if one.row in (("method=vanilla",), ("method=tog",), ("method=kgp",))]  # fmt: skip
    run: list[str] = []

    def stub(experiment: Experiment) -> None:
        if experiment.method.name == "tog":
            raise UserError("no server")
        run.append(experiment.method.name)

    said: list[str] = []
    done = run_rows(rows, said.append, stub)
    assert run == ["vanilla", "kgp"]
    assert [one.error for one in done] == ["", "no server", ""]
    assert any("failed: no server" in line for line in said)
    keep_failures(TABLE5, home, done)
    assert kept_failures(TABLE5, home) == {("method=tog",): "no server"}
    keep_failures(TABLE5, home, [one for one in done if not one.error])
    assert kept_failures(TABLE5, home) == {}


def test_small_rows_are_the_runs_that_the_command_line_makes() -> None:
    """`run -m method=vanilla,zeroshot limit=10` stores what `table --run --small` looks for."""
    stored = ran("-m", "dataset=toy", "method=vanilla,zeroshot", "limit=10", "frame=off",
                 *WEIGHTLESS).folders  # fmt: skip
    rows = wanted_rows(TABLE5, GIVEN, small=True)
    for one in rows:
        if one.row in (("method=vanilla",), ("method=zeroshot",)):
            experiment = Experiment.prepare(composed_of(one.settings))
            assert experiment.folder.path.resolve() in stored
            assert finished(experiment)


def test_stored_rows_are_not_run_again() -> None:
    rows = [one for one in wanted_rows(TABLE5, GIVEN, small=True) if one.row == ("method=vanilla",)]
    ran("dataset=toy", "method=vanilla", "limit=10", "frame=off", *WEIGHTLESS)
    done = run_rows(rows, lambda _: None, lambda _: pytest.fail("it is stored"))
    assert done[0].run is not None


def test_sizes_are_counted_in_the_set_and_the_graph(home: Path) -> None:
    ran("dataset=toy", "method=hipporag", "answer=off", *WEIGHTLESS)
    source = FigureSource(home)
    (run,) = stored_runs(home)
    table = load_table("zhou2025tr/table18")

    def size(metric: str) -> float:
        cell = next(c for c in load_table("zhou2025/table4").cells if c.metric == "# of Chunks")
        asked = Printed(cell.dataset, "", "", metric, "", (), None, "", "count", "")
        found = source.measured(table, asked, run)
        assert found is not None
        return found.value

    assert size("# of Questions") == 6
    assert size("# of Chunks") == 8
    assert size("# of vertices") == 21
    assert size("# of edges") == 30


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5", 0.5), ("3", 3), ("true", True), ("on", "on"), ("null", None), ("gpt-4o", "gpt-4o")],
)
def test_values_are_read_as_the_command_line_reads_them(text: str, value: object) -> None:
    assert value_of(text) == value


def test_settings_are_found_where_a_run_stores_them() -> None:
    held = decided(["method=raptor", "pooling=off", "chunking=token", "build.graph.max_layers=2"],
                   None)  # fmt: skip
    assert holds(held, "method=raptor")
    assert holds(held, "chunking=token")
    assert holds(held, "chunking.size=1200")
    assert holds(held, "build.graph.max_layers=2")
    assert holds(held, "pooling=off")
    assert not holds(held, "pooling=rerank")
    assert not holds(held, "method=raptor_kmeans")


def test_a_chunking_left_to_the_card_is_that_of_the_card() -> None:
    assert stated({"chunking.variant": "auto"}, "sample")["chunking.variant"] == "presplit"
    assert stated({"chunking.variant": "auto"}, "ultradomain_mix")["chunking.size"] == 1200
    assert stated({"chunking.variant": "auto"}, "no such card") == {"chunking.variant": "auto"}


def test_settings_that_are_none_are_refused_by_name() -> None:
    with pytest.raises(UserError, match="no setting 'metod'.*method"):
        composed_of(["metod=bm25"])
    with pytest.raises(UserError, match="'bm25' is no setting"):
        composed_of(["bm25"])


def test_the_default_chunk_size_is_that_of_the_builder() -> None:
    planned = command("plan", *TOY, "method=bm25", "chunking=token", "chunking.size=1200")
    default = command("plan", *TOY, "method=bm25", "chunking=token")
    assert planned.out == default.out
