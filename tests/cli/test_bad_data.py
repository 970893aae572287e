"""Faulty data sets are refused with file and line; a fetched data set runs."""

from pathlib import Path

import pytest
from data.test_fetching import NEWS, news_files
from file_server import serving
from toy_runs import WEIGHTLESS, command, metrics, run_error, run_folder, write_set

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.run.stored import find_run

BM25 = [*WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off"]
PASSAGES = [
    {"id": "a", "title": "Anna", "text": "Anna met Bert in Cologne."},
    {"id": "b", "title": "Bert", "text": "Bert lives in Dresden."},
]
QUESTION = {"id": "q1", "text": "Where does Bert live?"}


def refusal(name, root=None):
    with pytest.raises(UserError) as error:
        read_dataset(name, root)
    return str(error.value)


def test_a_missing_data_set_is_named_with_the_setting_of_its_folder(home):
    assert "/no/such/folder" in refusal("toy", Path("/no/such/folder"))
    assert "dataset.root" in refusal("musique")
    (home / "corpsu.jsonl").touch()
    assert "corpsu.jsonl" in refusal("jsonl", home)


@pytest.mark.parametrize(
    ("corpus", "questions", "words"),
    [
        (b"", [QUESTION], "corpus.jsonl; empty"),
        (b'{"id": "a", "text": "x"}\n\xff\xfe', [QUESTION], "corpus.jsonl, line 2; UTF-8"),
        (b'{"id": "a", "text": "x"}\n{oops}\n', [QUESTION], "corpus.jsonl, line 2; JSON"),
        ([{"text": "x"}], [QUESTION], "corpus.jsonl, line 1; 'id'"),
        ([{"body": "x", "label": 1}], [QUESTION], "corpus.jsonl, line 1; 'id'; body, label"),
        ([{"id": "a", "text": "x", "tilte": "A"}], [QUESTION], "line 1; 'tilte'; 'title'"),
        ([*PASSAGES, PASSAGES[0]], [QUESTION], "corpus.jsonl, line 3; 'a'; document 1"),
        ([{"id": "a", "text": " "}], [QUESTION], "corpus.jsonl; blank"),
        (PASSAGES, [{**QUESTION, "answrs": ["x"]}], "questions; line 1; 'answrs'; 'answers'"),
        (PASSAGES, [{**QUESTION, "text": ""}], "questions; line 1; 'q1'"),
        (PASSAGES, [QUESTION, QUESTION], "questions; line 2; line 1"),
        (PASSAGES, [{**QUESTION, "evidence": ["bb"]}], "questions; line 1; 'q1'; 'bb'; 'b'"),
    ],
)
def test_an_error_in_a_data_set_names_file_and_line(home, corpus, questions, words):
    folder = write_set(home / "books", corpus, questions)
    message = refusal("jsonl", folder)
    assert [word for word in words.split("; ") if word not in message] == []


def test_data_without_questions_or_documents_of_a_scope_are_refused():
    words = ["dataset=jsonl", "dataset.root=books", *WEIGHTLESS, "method=vanilla"]
    write_set(Path("books"), PASSAGES, b"")
    assert "books" in run_error(*words)
    write_set(Path("books"), PASSAGES, [{**QUESTION, "scope": "book 2"}])
    message = run_error(*words, "graph.per=partition")
    assert "'book 2'" in message and "graph.per=all" in message


def test_run_finds_a_fetched_data_set(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address + "/")
        server.publish(NEWS, news_files(), large=True)
        ended = command("fetch", "dataset=multihoprag")
    assert ended.code == 0, ended.err
    assert "ODC-BY" in ended.out and "c0ffee" in ended.out
    assert "609" in ended.err
    folder = run_folder("dataset=multihoprag", *BM25)
    assert metrics(folder)["n"] == 2
    assert find_run(str(folder), ".").scores  # finds the gold of a fetched set
