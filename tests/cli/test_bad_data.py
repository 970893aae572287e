"""A data set or an OpenIE file with a fault is refused with file, line and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, refused, write_set

VANILLA = [*TOY, "method=vanilla"]
PASSAGES = [
    {"id": "a", "title": "Anna", "text": "Anna met Bert in Cologne."},
    {"id": "b", "title": "Bert", "text": "Bert lives in Dresden."},
]
QUESTIONS = [{"id": "q1", "text": "Where does Bert live?", "answers": ["Dresden"]}]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bad_set(
    home: Path,
    corpus: list[dict[str, object]] | bytes = PASSAGES,
    questions: list[dict[str, object]] | bytes = QUESTIONS,
    *settings: str,
) -> str:
    folder = write_set(home / "books", corpus, questions)
    return refused(
        "dataset=jsonl", f"dataset.root={folder}", *WEIGHTLESS, "method=vanilla", *settings
    )


def test_a_missing_folder_is_named() -> None:
    assert "/no/such/folder" in refused(*VANILLA, "dataset.root=/no/such/folder")


def test_a_set_that_is_not_on_disk_says_how_to_name_its_folder() -> None:
    message = refused("dataset=musique", *WEIGHTLESS, "method=vanilla")
    assert "musique" in message
    assert "dataset.root" in message


def test_a_missing_file_is_named_with_the_nearest_one_there(home: Path) -> None:
    folder = write_set(home / "books", PASSAGES, QUESTIONS)
    (folder / "corpus.jsonl").rename(folder / "corpsu.jsonl")
    message = refused("dataset=jsonl", f"dataset.root={folder}", *WEIGHTLESS, "method=vanilla")
    assert str(folder / "corpus.jsonl") in message
    assert "corpsu.jsonl" in message


@pytest.mark.parametrize(
    ("corpus", "words"),
    [
        (b"", ["corpus.jsonl", "empty"]),
        (b'{"id": "a", "text": "x"}\n\xff\xfe', ["corpus.jsonl, line 2", "not UTF-8"]),
        (b'{"id": "a", "text": "x"}\n{oops}\n', ["corpus.jsonl, line 2", "not JSON"]),
        (b'["a", "x"]\n', ["corpus.jsonl, line 1", "object with id, title, text"]),
        ([{"id": "a", "body": "x"}], ["corpus.jsonl, line 1", "'text' is missing", "body"]),
        ([{"text": "x"}], ["corpus.jsonl, line 1", "'id' is missing"]),
        ([{"id": "a", "text": "x", "tilte": "A"}], ["line 1", "'tilte'", "'title'"]),
        ([{"id": "a", "text": ["x"]}], ["line 1", "'text'", "string"]),
        ([*PASSAGES, PASSAGES[0]], ["corpus.jsonl, line 3", "'a'", "line 1"]),
        ([{"id": "a", "text": " "}], ["corpus.jsonl", "blank"]),
    ],
)
def test_a_fault_of_the_corpus_names_file_and_line(
    home: Path, corpus: list[dict[str, object]] | bytes, words: list[str]
) -> None:
    message = bad_set(home, corpus)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"evidence": ["bb"]}, ["line 1", "'q1'", "'bb'", "Did you mean 'b'"]),
        ({"evidence": "b"}, ["line 1", "'evidence'", "list"]),
        ({"answer": ["Dresden"]}, ["line 1", "'answer'", "'answers'"]),
        ({"answers": [""]}, ["line 1", "'q1'", "blank answer"]),
        ({"text": ""}, ["line 1", "'q1'", "no text"]),
    ],
)
def test_a_fault_of_a_question_names_file_and_line(
    home: Path, question: dict[str, object], words: list[str]
) -> None:
    message = bad_set(home, PASSAGES, [{"id": "q1", "text": "Where does Bert live?", **question}])
    assert "questions.jsonl" in message
    assert all(word in message for word in words), message


def test_two_questions_of_one_id_are_refused_with_both_lines(home: Path) -> None:
    message = bad_set(home, PASSAGES, [*QUESTIONS, *QUESTIONS])
    assert "questions.jsonl, line 2" in message
    assert "line 1" in message


def test_a_set_without_questions_has_nothing_to_run(home: Path) -> None:
    assert "no questions" in bad_set(home, PASSAGES, b"")


def test_a_scope_without_documents_is_named(home: Path) -> None:
    scoped = [{"id": "q1", "text": "Where?", "scope": "book 2"}]
    message = bad_set(home, PASSAGES, scoped, "graph.per=partition")
    assert "'book 2'" in message
    assert "graph.per=all" in message


def openie(home: Path, docs: object) -> str:
    folder = write_set(home / "books", PASSAGES, QUESTIONS)
    (folder / "openie.json").write_text(docs if isinstance(docs, str) else json.dumps(docs))
    return refused("dataset=jsonl", f"dataset.root={folder}", *WEIGHTLESS, "method=hipporag")


def extracted(passage: str, *entities: str) -> dict[str, object]:
    return {"passage": passage, "extracted_entities": list(entities), "extracted_triples": []}


def test_an_openie_file_of_another_corpus_is_refused_with_the_first_passage(home: Path) -> None:
    message = openie(home, {"docs": [extracted("Anna\nAnna met Bert in Cologne.", "Anna")]})
    assert "openie.json" in message
    assert "1 of 2 passages" in message
    assert "Bert lives in Dresden." in message


@pytest.mark.parametrize("entities", [None, "Anna", 3])
def test_entities_that_are_no_list_are_refused(home: Path, entities: object) -> None:
    body = {"passage": "Anna\nAnna met Bert in Cologne.", "extracted_entities": entities}
    assert "openie.json" in openie(home, {"docs": [body]})
    assert "extracted_entities" in openie(home, {"docs": [body]})


def test_a_graph_without_entities_is_refused_with_the_likely_causes(home: Path) -> None:
    bodies = [f"{row['title']}\n{row['text']}" for row in PASSAGES]
    message = openie(home, {"docs": [extracted(body) for body in bodies]})
    assert "no entities" in message
    assert "Likely causes" in message
