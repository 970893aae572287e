"""Files of the board: command, left-out texts, and refused files."""

import csv
import hashlib
import json
import re
import shlex
import shutil

import pytest
from toy_runs import TOY, run_folder

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.stored import StoredRun, find_run
from graphrag_bench.tables import board
from scripts import write_board

METHOD = ["method=bm25", "method.top_k=3", "method.retrieve.0.top_k=7", "limit=4"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    folder = run_folder(*TOY, *METHOD, "reference_rows=off", f"paths.home={home}")
    return find_run(str(folder), home)


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    return board.write_result(run, run.home or "", tmp_path_factory.mktemp("board"))


def forged(file, folder, **changes):
    """A file with other values and the matching digest."""
    values = {**json.loads(file.read_text()), **changes}
    path = folder / file.name
    path.write_text(json.dumps({**values, "sha256": board._digest(values)}))
    shutil.copy(file.with_suffix(".csv"), folder)
    return path


def test_the_command_of_a_file_reproduces_the_run_key(run, file):
    values = board.read_result(file)
    words = shlex.split(values["command"])[2:]
    assert {*METHOD} <= {*words} and "pooling=off" not in words
    again = Experiment.prepare(compose_settings(words))
    assert (again.key, again.settings.limit) == (values["key"], 4)
    assert values["metrics"] == run.metrics["metrics"] and values["n"] == 4
    assert values["environment"]["platform"].isalpha()


def test_a_file_has_no_paths_and_addresses(run):
    other = StoredRun(run.folder, run.dataset)
    config = json.loads(json.dumps(run.config))
    config["dataset"]["root"] = "/home/mira/set"
    config["llm"] |= {"base_url": "http://mira-host:8000/v1"}
    metrics = {**run.metrics, "settings": {"method.prompt": "/home/mira/answer.j2"}}
    vars(other).update(config=config, metrics=metrics)
    config["dataset"]["questions"] = "/home/mira/my questions.json"
    values = board.result_of(other, run.home or "")
    words = shlex.split(values["command"])
    assert {"dataset.root=FOLDER", "dataset.questions='my questions.json'"} <= {*words}
    assert values["settings"] == {"method.prompt": "answer.j2"}
    assert "mira" not in json.dumps(values)


def test_private_texts_and_other_fields_are_refused(file, tmp_path):
    texts = ("/home/ada", "x=~/ada", "'/srv/x'", "C:\\ada", "http://ada", "sk-0123456789abcdef0",
             "a\nb")  # fmt: skip
    changed = [(text, {"title": text}) for text in texts]
    changed += [("host", {"host": "ada"}), ("metrics", {"metrics": {"mrr": {"mean": 2}}})]
    for named, changes in changed:
        with pytest.raises(UserError, match=re.escape(named)):
            board.read_result(forged(file, tmp_path, **changes))


def test_a_changed_number_and_another_file_name_are_refused(file, tmp_path):
    for name, old, new in ((file.name, '"n": 4', '"n": 400'), ("toy-bm25-0.json", "", "")):
        (tmp_path / name).write_text(file.read_text().replace(old, new, 1))
        with pytest.raises(UserError, match=name):
            board.read_result(tmp_path / name)


def test_a_figure_that_differs_from_its_questions_is_refused(file, tmp_path):
    for figure, value in (("mean", 0.99), ("low", 0.0), ("high", 0.999), ("n", 3),
                          ("mean", float("nan"))):  # fmt: skip
        metrics = json.loads(file.read_text())["metrics"]
        name = min(name for name in metrics if metrics[name][figure] != value)
        metrics[name][figure] = value
        with pytest.raises(UserError, match=name) as error:
            board.read_result(forged(file, tmp_path, metrics=metrics))
        assert file.name in str(error.value) and "\n" not in str(error.value)


def test_questions_changed_together_with_their_digest_are_refused(file, tmp_path):
    for old, new in ((r"$", "x,,1\n"), (r"\n[^\n]*\n$", "\n"), (r"1\.0", "one"),
                     (r"\n(\w)", r"\n/srv/\1"), (r"\n(\w)", r'\n"\n"\1'), (r"\A", "\n"),
                     (r"(?s).*", "")):  # fmt: skip
        text = re.sub(old, new, file.with_suffix(".csv").read_text(), count=1)
        path = forged(file, tmp_path, questions=hashlib.sha256(text.encode()).hexdigest())
        path.with_suffix(".csv").write_text(text)
        with pytest.raises(UserError, match=path.stem):
            board.read_result(path)


def test_missing_and_unknown_files_are_refused(file, tmp_path):
    path, other = forged(file, tmp_path), tmp_path / "other.csv"
    other.touch()
    for wrong in (other, path.with_suffix(".csv")):
        with pytest.raises(UserError, match=wrong.name):
            write_board.results(tmp_path)
        for one in (other, path.with_suffix(".csv")):
            one.unlink(missing_ok=True)


def test_an_interval_over_scopes_is_recomputed_from_their_numbers(run, tmp_path):
    other = StoredRun(run.folder, run.dataset)
    scopes = dict(zip(run.rows, ["tarn", "isk", "tarn", "isk"], strict=True))
    values = [run.scores[name]["mrr"] for name in scopes]
    mean = mean_with_interval(values, scopes=list(scopes.values())).stored()
    assert mean["clusters"] == 2
    vars(other).update(scopes=scopes, metrics={**run.metrics, "metrics": {"mrr": mean}})
    text = board.write_result(other, run.home or "", tmp_path).with_suffix(".csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    numbers = {(scopes[row["question"]], row["scope"]) for row in rows}
    assert len(numbers) == 2 and {number for _, number in numbers} == {"0", "1"}
    assert "tarn" not in text


def test_an_imported_and_an_unfinished_run_are_refused(run, tmp_path):
    imported = StoredRun(run.folder, run.dataset)
    vars(imported)["config"] = {**run.config, "imported": {"file": "x"}}
    with pytest.raises(UserError, match="imported"):
        board.result_of(imported, tmp_path)
    journal = run.folder.file("journal")
    journal.write_text("{}\n")
    with pytest.raises(UserError, match=re.escape(str(run.folder.path))):
        board.result_of(run, tmp_path)
    journal.unlink()


def test_a_file_is_a_row_of_the_page_with_an_escaped_title(file, tmp_path):
    forged(file, tmp_path, title="<b>|x](y)`")
    (one,) = write_board.results(tmp_path)
    page = write_board.page([one])
    assert f"#{write_board.anchor(one)}) | 4 |" in page and one["command"] in page
    assert "<b>" not in page and "x](y)" not in page
