"""An imported run in tables, funnel, judge and page."""

import json
from pathlib import Path

import pytest
from toy_runs import TOY, run_folder

from graphrag_bench.config.settings import DatasetSettings
from graphrag_bench.errors import UserError
from graphrag_bench.explain.ablation import MethodVariants
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.judging.answers import select_measures
from graphrag_bench.judging.pairs import AnswerPairs
from graphrag_bench.report.tables import select_tables
from graphrag_bench.run.imported import import_run
from graphrag_bench.run.stored import find_run, stored_differences
from graphrag_bench.view.page import write_page

pytestmark = pytest.mark.slow
LISTS = [["ada"], ["isk", "lund"], ["otto"], [], ["mira"], []]
ANSWERS = ["Ada Marsh", "the Grey Sea", "Otto", "Velia", "no", "x"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """VanillaRAG on toy, and imported results."""
    home = tmp_path_factory.mktemp("home")
    folder = run_folder(*TOY, "method=vanilla", "reference_rows=off", f"paths.home={home}")
    file = home / "results.json"
    file.write_text(json.dumps({"retrieved_docs": LISTS, "answers": ANSWERS}))
    toy = DatasetSettings(name="toy", root=None, openie=None, questions=None)
    return find_run(str(folder), home), import_run(file, "Other", toy, home, reference="URL")


def test_tables_have_dashes_for_unknown_values(runs):
    metrics = [run.metrics for run in runs]
    table, *_ = select_tables(metrics, stored_differences(runs), columns="all")
    row = dict(zip(table.heads, table.rows[1], strict=True))
    assert (row["context"], row["tokens"], row["faults"]) == ("–", "–", "–")


def test_the_funnel_of_an_imported_run_begins_at_retrieval(runs, tmp_path):
    result = run_funnel(runs[1], tmp_path)
    assert [(one.stage, one.lost) for one in result.counts()] == [("retrieved", 5), ("answered", 1)]
    lost = [question for question, stage in result.lost.items() if stage == "retrieved"]
    assert lost == ["q3", "q4", "q5"]


def test_imported_answers_are_compared_but_contexts_are_refused(runs):
    assert len(AnswerPairs.of(runs).questions) == 6
    with pytest.raises(UserError, match="imported"):
        select_measures(("faithfulness",), runs[1])
    with pytest.raises(UserError, match="imported"):
        MethodVariants.of_run(runs[1], Path())


def test_the_page_has_no_costs_of_an_imported_run(runs, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "view")
    from pages import part

    page = write_page(runs, tmp_path / "page", tmp_path).parent
    row = part(page, "index")["runs"][1]
    assert row["spent"] == {"tokens": None, "usd": None}
    columns = part(page, "r1/list")
    assert columns["tokens"] == columns["context"] == columns["seconds"] == [None] * 6
    assert set(columns["evidence"]) == {"r", "rr", "mr", "mmm", "rm", ""}
