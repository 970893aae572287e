"""A cell of each kind of number in the papers: run by its `row=`, judged, printed by `table`."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from published_sets import TEAM, book_row, hotpot_row, news, rog_folder, squality_line, written
from toy_runs import command, run_folder

from graphrag_bench.papers.choices import content, table_runs
from graphrag_bench.papers.printed import load_table, table_names
from graphrag_bench.tables.paper_tables import whole_groups

pytestmark = pytest.mark.slow

CORPUS = [
    {"context": "Ada Marsh built the Norvik Observatory. Mira Holt was taught by Ada Marsh."},
    {"context": "The Norvik Observatory stands in Tarn. Tarn lies on the Grey Sea."},
]
LISTER = ["llm@llm_build=scripted", "llm_build._target_=cli.test_questions.lister", "n=2"]
MODELS = {"questions": LISTER, "judge": ["llm@llm_judge=scripted", "embedder=hashing"]}
"""Models without weights for each printed command."""
NAMED = re.compile(r"(n|llm@llm_build|llm_build\.model|llm@llm_judge|embedder)=")
MEASURED = ["embedder=hashing", "llm=scripted", "llm._target_=counting_reader.paper_reader",
            "workers=1", "cache.mode=off"]  # fmt: skip
"""Models without weights for a row; its seconds are measured."""
MADE = {"corpus.jsonl": CORPUS, "questions.json": [{"question": "What joins them?", "answer": ""}]}
POPQA = {"id": 11, "subj": "Una", "prop": "place of birth", "obj": "Tarn",
         "question": "Where is Una from?", "possible_answers": '["Tarn Town", "Tarn"]'}  # fmt: skip
FILES = {
    "ultradomain_mix": MADE,
    "ultradomain_agriculture": MADE,
    "multihoprag": news(),
    "popqa": {"corpus.json": [{"title": "Una", "text": "Una is from Tarn."}],
              "questions.json": [POPQA | {"paragraphs": []}]},
    "hotpotqa": {"hotpot_dev_distractor_v1.json": [hotpot_row()]},
    "squality": {"test.jsonl": [squality_line()]},
    "infinitebench_qa": {"longbook_qa_eng.jsonl": [book_row(1, "Una Rowan rows to Tarn Hill.")]},
}  # fmt: skip
"""Small data sets in the papers' formats, by card; cwq is in RoG's format."""
SHARED = ("data", "questions", "artifacts")

CELLS = {
    "pankrag/table1": ("Mix", "PankRAG", "Empowerment"),
    "pankrag/table2": ("Multihop-RAG", "PankRAG", "Answer Relevance"),
    "pathcorag/table1": ("Mix", "", "# of nodes in KG"),
    "pathcorag/table4": ("", "PathCoRAG", "In-Context Tokens"),
    "pathcorag/table5": ("InfiniteQA", "PathCoRAG", "Rouge-L F1"),
    "pathcorag/table6": ("HotpotQA", "PathCoRAG", "EM"),
    "pathpooling/table1": ("CWQ", "S-RAG w/PR", "Hit@1"),
    "pathpooling/table2": ("CWQ", "Dijkstra", "path search time per query"),
    "pathrag/table2": ("Mix", "Flow-based", "Coherence"),
    "pathrag/table4": ("SQuALITY", "PathRAG", "ROUGE-1-F1"),
    "pathrag/table6": ("", "PathRAG", "token cost"),
    "zhou2025/table5": ("MultihopQA", "HippoRAG", "Accuracy"),
    "zhou2025/table6": ("MultihopQA", "LGraphRAG", "token"),
    "zhou2025/table7": ("PopAll", "HippoRAG", "Recall"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Data sets, generated questions and artifacts of all tables; each table has its own runs."""
    return written(tmp_path_factory.mktemp("shared"), {f"{name}/x": "" for name in SHARED})


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_run_by_its_row_and_printed_with_our_figure(name, home, shared):
    if name == "pathrag/table4":
        pytest.importorskip("rouge_score")
    for folder in SHARED:
        (home / folder).symlink_to(shared / folder)
    place, table = CELLS[name], load_table(name)
    cell = next(one for one in table.cells if place == (one.dataset, one.method, one.metric))
    part = table.parts(cell)[0]
    card = part.own.place.run_card or ""
    if card == "cwq":
        rog_folder(home / "data/cwq", [TEAM], [{**TEAM, "id": "t0"}], [{**TEAM, "id": "v0"}])
    else:
        written(home / "data" / card, FILES[card])
    generated = [word for word in part.own.words or () if word.startswith("dataset.questions=")]
    if generated and not Path(generated[0].partition("=")[2]).exists():
        paste(name, "questions", f"dataset={card}")
    for recipe in (part.own, part.other) if cell.versus else (part.own,):
        run_folder(*_row(recipe), *MEASURED)
    if table.metric(cell).kind.startswith("judged"):
        paste(name, "judge")
        files = (*home.glob("comparisons/*/verdicts.jsonl"), *home.glob("runs/*/*/*/judged.jsonl"))
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert lines and {line.get("protocol", "paper") for line in lines} == {"paper"}
    lines = csv.DictReader(io.StringIO(command("table", name, "--format", "csv").out))
    rows = [row for row in lines if place == (row["data set"], row["method"], row["metric"])]
    row = next(row for row in rows if row["ours"])
    assert float(row["ours"]) >= 0.0
    assert (row["regime"], row["failed"]) == ("published", "0")


def test_every_numbered_table_has_a_cell_that_a_row_runs():
    for table in (load_table(name) for name in table_names() if name[-1].isdigit()):
        recipes = (table.parts(cell)[0].own for cell in table.cells)
        assert any(_row(one) for one in recipes if one.place.run_card), table.full_name


def _row(recipe):
    runs = table_runs(recipe.table.full_name)
    for row, dataset in runs.pairs:
        name = (content("dataset", dataset) or {"name": dataset})["name"]
        if runs.rows[row] == recipe.row_words and name == recipe.place.run_card:
            return [f"row={row}", f"dataset={dataset}"]
    raise LookupError(recipe)


def paste(table, *wanted):
    """Run the commands in the notes of a table, with models that need no weights."""
    lines = dict.fromkeys(command("table", table).out.splitlines())
    commands = [line.split()[2:] for line in lines if line.startswith("next: ")]
    for name, *words in (one for one in commands if {*wanted} <= {*one}):
        rest = [word for word in words if not NAMED.match(word)]
        judge = "strict" if "--each" in words else "takes_longer"
        more = [f"llm_judge._target_=planted_judges.{judge}"] if name == "judge" else []
        ended = command(name, *rest, *MODELS[name], *more)
        assert ended.code == 0, ended.err


def test_only_complete_groups_of_pairs_are_judged_together():
    star, whole = [("a", "b"), ("a", "c")], [("a", "b"), ("a", "c"), ("b", "c")]
    assert whole_groups(star) == star and whole_groups(whole) == [("a", "b", "c")]
