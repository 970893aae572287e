"""Faulty data sets are refused with file and line; a fetched data set runs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from data.test_fetching import NEWS, hub, news_files
from file_server import FileServer, serving
from toy_runs import TOY, WEIGHTLESS, command, command_error, metrics, run_folder, write_set

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.stored import find_run

BM25 = [*WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off"]
Rows = Sequence[dict[str, object]] | bytes
PASSAGES = [
    {"id": "a", "title": "Anna", "text": "Anna met Bert in Cologne."},
    {"id": "b", "title": "Bert", "text": "Bert lives in Dresden."},
]
QUESTION = {"id": "q1", "text": "Where does Bert live?"}


def refusal(*words: str) -> str:
    """The error message of a run that fails before its first question."""
    with pytest.raises(UserError) as error:
        experiment = Experiment.prepare(compose_settings([*WEIGHTLESS, "method=vanilla", *words]))
        wanted = {item.resource for item in experiment.plan}
        experiment.store().resources(experiment.plan, wanted, experiment.models)
    return str(error.value)


def test_a_missing_data_set_is_named_with_the_setting_of_its_folder(home: Path) -> None:
    assert "/no/such/folder" in refusal(*TOY, "dataset.root=/no/such/folder")
    assert "dataset.root" in refusal("dataset=musique")
    (home / "corpsu.jsonl").touch()
    assert "corpsu.jsonl" in refusal("dataset=jsonl", f"dataset.root={home}")


@pytest.mark.parametrize(
    ("corpus", "questions", "words"),
    [
        (b"", [QUESTION], "corpus.jsonl; empty"),
        (b'{"id": "a", "text": "x"}\n\xff\xfe', [QUESTION], "corpus.jsonl, line 2; UTF-8"),
        (b'{"id": "a", "text": "x"}\n{oops}\n', [QUESTION], "corpus.jsonl, line 2; JSON"),
        ([{"text": "x"}], [QUESTION], "corpus.jsonl, line 1; 'id'"),
        ([{"id": "a", "text": "x", "tilte": "A"}], [QUESTION], "line 1; 'tilte'; 'title'"),
        ([*PASSAGES, PASSAGES[0]], [QUESTION], "corpus.jsonl, line 3; 'a'; document 1"),
        ([{"id": "a", "text": " "}], [QUESTION], "corpus.jsonl; blank"),
        (PASSAGES, [{**QUESTION, "answrs": ["x"]}], "questions; line 1; 'answrs'; 'answers'"),
        (PASSAGES, [{**QUESTION, "text": ""}], "questions; line 1; 'q1'"),
        (PASSAGES, [QUESTION, QUESTION], "questions; line 2; line 1"),
    ],
)
def test_an_error_in_a_data_set_names_file_and_line(
    home: Path, corpus: Rows, questions: Rows, words: str
) -> None:
    folder = write_set(home / "books", corpus, questions)
    message = refusal("dataset=jsonl", f"dataset.root={folder}")
    assert [word for word in words.split("; ") if word not in message] == []


def test_evidence_missing_from_the_corpus_is_named_with_file_and_line(home: Path) -> None:
    folder = write_set(home / "books", PASSAGES, [{**QUESTION, "evidence": ["bb"]}])
    words = ["dataset=jsonl", f"dataset.root={folder}", "method=bm25", "answer=off"]
    ended = command("run", *WEIGHTLESS, *words)
    assert ended.code == 2
    for word in ("questions", "line 1", "'q1'", "'bb'", "'b'"):
        assert word in ended.err


def test_data_without_questions_or_documents_of_a_scope_are_refused() -> None:
    words = ["dataset=jsonl", "dataset.root=books", *WEIGHTLESS, "method=vanilla"]
    write_set(Path("books"), PASSAGES, b"")
    assert "books" in command_error(*words)
    write_set(Path("books"), PASSAGES, [{**QUESTION, "scope": "book 2"}])
    for name in ("run", "ablate"):
        message = command_error(*words, "graph.per=partition", name=name)
        assert "'book 2'" in message and "graph.per=all" in message


@pytest.mark.parametrize(
    ("docs", "words"),
    [
        ([("Anna\nAnna met Bert in Cologne.", ["Anna"])], ["1 of 2", "Bert lives in Dresden."]),
        ([("Anna\nAnna met Bert in Cologne.", "Anna")], ["extracted_entities"]),
        ([(f"{row['title']}\n{row['text']}", []) for row in PASSAGES], ["no entities"]),
    ],
)
def test_an_error_in_an_openie_file_is_named(
    home: Path, docs: list[tuple[str, object]], words: list[str]
) -> None:
    rows = [
        {"passage": text, "extracted_entities": entities, "extracted_triples": []}
        for text, entities in docs
    ]
    folder = write_set(home / "books", PASSAGES, [QUESTION])
    (folder / "openie.json").write_text(json.dumps({"docs": rows}))
    message = refusal("dataset=jsonl", f"dataset.root={folder}", "method=hipporag")
    assert [word for word in words if word not in message] == []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A local server in place of the Hugging Face hub."""
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address + "/")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        yield server


def test_run_finds_a_fetched_data_set(server: FileServer) -> None:
    hub(server, NEWS, news_files(), large=True)
    ended = command("fetch", "dataset=multihoprag")
    assert ended.code == 0, ended.err
    assert "ODC-BY" in ended.out and "c0ffee" in ended.out
    assert "609" in ended.err
    folder = run_folder("dataset=multihoprag", *BM25)
    assert metrics(folder)["n"] == 2
    assert find_run(str(folder), ".").scores  # finds the gold of a fetched set
