"""Cells of each kind of number in the papers, run by `row=` and judged; generated questions."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from published_sets import TEAM, book_row, hotpot_row, news, rog_folder, written
from toy_runs import TOY, command_error, metrics, output, records, run_folder

from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.papers.choices import content, table_runs
from graphrag_bench.papers.printed import load_table, table_names
from graphrag_bench.run.cleanup import garbage
from graphrag_bench.run.stored import find_run, rescore
from graphrag_bench.tables.paper_tables import whole_groups

pytestmark = pytest.mark.slow

CORPUS = [
    {"context": "Ada Marsh built the Norvik Observatory. Mira Holt was taught by Ada Marsh."},
    {"context": "The Norvik Observatory stands in Tarn. Tarn lies on the Grey Sea."},
]
LISTER = ["llm@llm_build=scripted", "llm_build._target_=cli.test_numbered_tables.lister", "n=2"]
MODELS = {"questions": LISTER, "judge": ["llm@llm_judge=scripted", "embedder=hashing"]}
"""Models without weights for each printed command."""
NAMED = re.compile(r"(n|llm@llm_build|llm_build\.model|llm@llm_judge|embedder)=")
MEASURED = ["embedder=hashing", "llm=scripted", "llm._target_=counting_reader.paper_reader",
            "workers=1", "cache.mode=off"]  # fmt: skip
"""Models without weights for a row; its seconds are measured."""
MADE = {"corpus.jsonl": CORPUS, "questions.json": [{"question": "What joins them?", "answer": ""}]}
FILES = {
    "ultradomain_mix": MADE,
    "ultradomain_agriculture": MADE,
    "multihoprag": news(),
    "hotpotqa": {"hotpot_dev_distractor_v1.json": [hotpot_row()]},
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
    "pathrag/table6": ("", "PathRAG", "token cost"),
    "zhou2025/table5": ("MultihopQA", "HippoRAG", "Accuracy"),
    "zhou2025/table6": ("MultihopQA", "LGraphRAG", "token"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Data sets, generated questions and artifacts of all tables; each table has its own runs."""
    return written(tmp_path_factory.mktemp("shared"), {f"{name}/x": "" for name in SHARED})


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_run_by_its_row_and_printed_with_our_figure(name, home, shared):
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
    lines = csv.DictReader(io.StringIO(output("table", name, "--format", "csv")))
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
    lines = dict.fromkeys(output("table", table).splitlines())
    commands = [line.split()[2:] for line in lines if line.startswith("next: ")]
    for name, *words in (one for one in commands if {*wanted} <= {*one}):
        rest = [word for word in words if not NAMED.match(word)]
        judge = "strict" if "--each" in words else "takes_longer"
        more = [f"llm_judge._target_=planted_judges.{judge}"] if name == "judge" else []
        output(name, *rest, *MODELS[name], *more)


def test_only_complete_groups_of_pairs_are_judged_together():
    star, whole = [("a", "b"), ("a", "c")], [("a", "b"), ("a", "c"), ("b", "c")]
    assert whole_groups(star) == star and whole_groups(whole) == [("a", "b", "c")]


# ---- `questions`: a folder that runs as a data set

TEMPLATE = ["kind=specific", "wording=template", "n=6", "hops=1,2"]


def lister(replies=None):
    """A model that returns the requested number of items."""

    def answer(chat):
        text = last_user_message(chat)
        n = int(re.findall(r"Give exactly (\d+)", text)[0])
        return json.dumps({"items": [f"What of {len(text)} and {i}?" for i in range(n)]})

    return Scripted(answer=answer)


def folder_of(*arguments):
    out = output("questions", *TOY, *arguments)
    return Path(re.findall("(?m)^set: (.*)$", out)[0])


def test_the_command_is_reproducible_and_overwrites_no_edit(tmp_path):
    home = f"paths.home={tmp_path}"
    folder = folder_of(*TEMPLATE, home)
    first = (folder / "questions.jsonl").read_bytes()
    assert folder_of(*TEMPLATE, home) == folder
    assert (folder / "questions.jsonl").read_bytes() == first
    assert folder_of(*TEMPLATE, home, "seed=1") != folder
    edited = first.split(b"\n", 1)[1]
    (folder / "questions.jsonl").write_bytes(edited)
    assert "out=FOLDER" in command_error(*TOY, *TEMPLATE, home, name="questions")
    assert (folder / "questions.jsonl").read_bytes() == edited


def test_generated_questions_run_on_the_artifacts_of_the_data_set(tmp_path):
    home = f"paths.home={tmp_path}"
    words = [*TOY, "method=vanilla", "answer=off", home]
    own = run_folder(*words)
    folder = folder_of(*TEMPLATE, home, f"out={tmp_path}/q/abstract")
    lines = (folder / "questions.jsonl").read_text().splitlines()
    questions = [json.loads(line) for line in lines]
    assert {row["hops"] for row in questions} == {1, 2}
    assert all(row["answers"] and row["evidence"] for row in questions)
    run = run_folder(*words, f"dataset.questions={folder}")
    assert (run.parent.parent.name, run.name != own.name) == ("toy-abstract", True)
    stored = metrics(run)
    assert (stored["dataset"], stored["card"], stored["n"]) == ("toy-abstract", "toy", 6)
    assert {path.name for path in (tmp_path / "artifacts").iterdir()} == {"toy"}
    assert {row["question"] for row in records(run)} == {row["id"] for row in questions}
    (scope,) = json.loads((run / "artifacts.json").read_text())["artifacts"]
    assert not {item.path.name for item in garbage(tmp_path)[0]} & set(scope["keys"].values())
    assert rescore(find_run(str(run), tmp_path), {})["n"] == 6  # reads the data set again
