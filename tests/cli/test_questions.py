"""`graphrag-bench questions`: a folder that runs as a data set."""

import json
import re
from pathlib import Path

import pytest
from toy_runs import TOY, command, command_error, metrics, records, run_folder

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.questions.generated import is_english
from graphrag_bench.run.cleanup import garbage
from graphrag_bench.run.stored import find_run, rescore

TEMPLATE = ["kind=specific", "wording=template", "n=6", "hops=1,2"]


def lister(replies=None):
    """A model that returns the requested number of items."""

    def answer(chat):
        text = last_user_message(chat)
        n = int(re.findall(r"Give exactly (\d+)", text)[0])
        return json.dumps({"items": [f"What of {len(text)} and {i}?" for i in range(n)]})

    return Scripted(answer=answer)


def folder_of(*arguments):
    ended = command("questions", *TOY, *arguments)
    assert ended.code == 0, ended.err
    return Path(re.findall("(?m)^set: (.*)$", ended.out)[0])


def test_only_the_first_texts_are_read_to_detect_the_language():
    assert not is_english(iter([*["Ada baute eine Mühle am Fluss."] * 200, None]))  # not read


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


def test_the_data_set_is_named_after_its_file_of_questions(tmp_path):
    file = tmp_path / "overviews.jsonl"
    file.write_text('{"id": "a", "text": "What is it about?"}\n', encoding="utf-8")
    books = read_dataset("toy", questions=file)
    assert (books.name, books.corpus_name, len(books.questions)) == ("toy-overviews", "toy", 1)
    file.write_text('{"id": "a", "text": "Who?", "evidence": ["nowhere"]}\n', encoding="utf-8")
    with pytest.raises(UserError, match="nowhere"):
        read_dataset("toy", questions=file)
