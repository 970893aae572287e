"""An imported run beside one of ours: tables, differences, funnel, judges and the page."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, run_folder

from graphrag_bench.config.settings import DatasetSettings
from graphrag_bench.errors import UserError
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.explain.variants import MethodVariants
from graphrag_bench.judging.answers import chosen
from graphrag_bench.judging.pairs import AnswerPairs
from graphrag_bench.report.comparisons import settings_that_differ
from graphrag_bench.report.tables import shown_tables
from graphrag_bench.run.cleanup import garbage
from graphrag_bench.run.imported import ResultsFile, import_run
from graphrag_bench.run.stored import StoredRun, find_run, rescored, stored_differences
from graphrag_bench.view.page import pair_rows, write_page

pytestmark = pytest.mark.slow
LISTS = [["ada"], ["isk", "lund"], ["otto"], [], ["mira"], []]
ANSWERS = ["Ada Marsh", "the Grey Sea", "Otto", "Velia", "no", "x"]
Both = tuple[StoredRun, StoredRun]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """VanillaRAG on the toy set, and the results of another system."""
    home = tmp_path_factory.mktemp("home")
    folder = run_folder(*TOY, "method=vanilla", "reference_rows=off", f"paths.home={home}")
    file = home / "results.json"
    file.write_text(json.dumps({"retrieved_docs": LISTS, "answers": ANSWERS}))
    toy = DatasetSettings(name="toy", root=None, openie=None, questions=None)
    return find_run(str(folder), home), import_run(ResultsFile(file, "Other", "URL"), toy, home)


def test_every_table_marks_the_imported_run_and_shows_nothing_that_is_not_known(runs: Both) -> None:
    stored = [dict(run.metrics) for run in runs]
    differences = stored_differences(runs)
    (main,) = shown_tables(stored, differences)
    row = dict(zip(main.heads, main.rows[1], strict=True))
    title = f"Other (imported {runs[1].imported['sha256'][:8]})"
    assert row["method"] == title
    assert (row["context tokens"], row["cost, tokens"]) == ("–", "–")
    assert {one.method for one in differences} == {title}
    table, *_ = shown_tables(stored, differences, columns="all")
    row = dict(zip(table.heads, table.rows[1], strict=True))
    assert (row["context"], row["tokens"], row["faults"]) == ("–", "–", "–")
    assert any(runs[1].imported["sha256"] in note for note in table.notes)


def test_two_runs_are_paired_over_their_questions_and_settings_that_one_lacks_are_dashes(
    runs: Both,
) -> None:
    (pair,) = pair_rows(runs)
    recall = next(one for one in pair["differences"] if one["metric"] == "evidence_recall@5")
    assert recall["n"] == 5 and recall["second"] == pytest.approx((1 + 1 + 0.5 + 0 + 0.5) / 5)
    message = {name: (a, b) for name, a, b in settings_that_differ(*(run.metrics for run in runs))}
    assert message["embedder"] == ("hashing:256", "–")
    assert message["imported.sha256"] == ("–", runs[1].imported["sha256"])


def test_the_funnel_of_an_imported_run_begins_where_passages_are_retrieved(
    runs: Both, tmp_path: Path
) -> None:
    result = run_funnel(runs[1], tmp_path)
    assert [(one.stage, one.lost) for one in result.counts()] == [("retrieved", 5), ("answered", 1)]
    lost = [question for question, stage in result.lost.items() if stage == "retrieved"]
    assert lost == ["q3", "q4", "q5"]


def test_answers_are_compared_and_judged_and_contexts_are_asked_for_in_vain(runs: Both) -> None:
    compared = AnswerPairs.of(runs)
    assert list(compared.titles.values())[1].startswith("Other (imported")
    assert len(compared.questions) == 6
    assert "faithfulness" in chosen(stored=runs[1])
    with pytest.raises(UserError, match="imported run"):
        chosen(("faithfulness",), runs[1])
    with pytest.raises(UserError, match="imported run"):
        MethodVariants.of_run(runs[1], Path())


def test_the_page_has_its_questions_without_tokens_contexts_and_seconds(
    runs: Both, tmp_path: Path
) -> None:
    write_page(runs, tmp_path / "page", tmp_path)

    def part(name: str) -> Any:
        text = (tmp_path / "page" / "data" / f"{name}.js").read_text()
        return json.loads(text[text.index(",") + 1 : text.rindex(")")])

    row = part("index")["runs"][1]
    assert row["imported"]["file"] == "results.json"
    assert row["spent"] == {"tokens": None, "usd": None}
    assert row["funnel"]["stages"][0]["stage"] == "retrieved"
    columns = part("r1/list")
    assert columns["tokens"] == columns["context"] == columns["seconds"] == [None] * 6
    assert set(columns["evidence"]) == {"r", "rr", "mr", "mmm", "rm", ""}
    stored = part("r1/q0")["questions"]["q1"]
    assert stored["answer"] == "Ada Marsh" and stored["found"]["retrieved"] == ["ada"]


def test_it_is_scored_again_and_keeps_no_artifact(runs: Both) -> None:
    other = StoredRun(runs[1].folder)
    before = other.folder.metrics()
    assert rescored(other, {"cuts": [1]})["metrics"]["evidence_recall@1"]["n"] == 5
    assert rescored(other, {"cuts": [2, 5, 10]}) == before
    assert other.home is not None and not garbage(other.home)[1]
