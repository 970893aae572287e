"""Published formats become documents, questions and gold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from published_sets import written
from toy_runs import write_set

from graphrag_bench.data.dataset import Document
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest

PASSAGES = [
    {"title": "Anna", "text": "Anna met Bert."},
    {"title": "Bert", "text": "Bert lives in Dresden."},
    {"title": "Bert", "text": "Bert is also the name of a ship."},
]


def hipporag_folder(folder: Path, questions: object, corpus: object = PASSAGES) -> Path:
    (folder / "corpus.json").write_text(json.dumps(corpus))
    (folder / "questions.json").write_text(json.dumps(questions))
    return folder


def musique_question(**fields: object) -> dict[str, object]:
    paragraphs = [
        {"title": "Anna", "paragraph_text": "Anna met Bert.", "is_supporting": True},
        {"title": "Bert", "paragraph_text": "Bert  is also the name of a\nship.", "idx": 1,
         "is_supporting": True},
        {"title": "Bert", "paragraph_text": "Bert lives in Dresden.", "is_supporting": False},
    ]  # fmt: skip
    whole = {"id": "2hop__1_2", "question": "Which ship?", "answer": "Bert"}
    return {**whole, "paragraphs": paragraphs, **fields}


def hotpot_question(**fields: object) -> dict[str, object]:
    facts = [["Anna", 0], ["Bert", 0], ["Bert", 1]]
    context = [["Anna", ["Anna met", " Bert."]], ["Bert", ["Bert is also the name ", "of a ship."]]]
    whole = {"_id": "5a", "question": "Which ship?", "answer": "Bert", "type": "bridge"}
    return {**whole, "supporting_facts": facts, "context": context, **fields}


def test_jsonl_keeps_what_the_rows_say(tmp_path: Path) -> None:
    corpus = [{"id": 7, "title": "A", "text": "a", "scope": "s"}, 
              {"id": "b", "text": "b", "scope": "s"}]  # fmt: skip
    question = {"id": 1, "text": "?", "answers": ["x", "y"], "evidence": [7, "7", "b"]}
    extra = {"type": "two-hop", "hops": 2, "entities": ["A"], "scope": "s", "author": "me"}
    data = read_dataset("jsonl", write_set(tmp_path, corpus, [{**question, **extra}]))
    assert data.documents == (Document("7", "A", "a", "s"), Document("b", "", "b", "s"))
    (requests,) = data.questions
    assert (requests.id, requests.text, requests.scope) == ("1", "?", "s")
    gold = data.gold["1"]
    assert (gold.answers, gold.evidence) == (("x", "y"), ("7", "b"))
    assert (gold.type, gold.hops, gold.entities) == ("two-hop", 2, ("A",))


def test_jsonl_reads_the_other_names_of_a_document(tmp_path: Path) -> None:
    named = {"id": "a", "title": "Tarn", "text": "a", "aliases": ["Old Tarn", "Tarnum"]}
    question = [{"id": "q", "text": "?"}]
    data = read_dataset("jsonl", write_set(tmp_path, [named, {"id": "b", "text": "b"}], question))
    assert [row.aliases for row in data.documents] == [("Old Tarn", "Tarnum"), ()]
    plain = replace(data.documents[0], aliases=())
    without = replace(data, documents=(plain, data.documents[1]))
    assert data.corpus_digest != without.corpus_digest
    assert without.corpus_digest == digest([["a", "Tarn", "a", None], ["b", "", "b", None]])


FOUND = [
    {"_id": "a", "title": "Tarn", "contents": "The Tarn."}, {"docid": "b", "body": "A river."},
    {"id": "c", "title": "Isk", "text": "One."}, {"id": "d", "title": "Isk", "text": "Two."},
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "answers", "evidence"),
    [
        ({"golden_answers": ["x", "y"]}, ("x", "y"), ()),
        ({"answer": "x", "answer_aliases": ["y", "x"]}, ("x", "y"), ()),
        ({"answers": ["x"], "gold_answers": "y"}, ("x", "y"), ()),
        ({"answer": {"text": ["x"], "answer_start": [3]}}, ("x",), ()),
        ({"answer": 1914}, ("1914",), ()),
        ({"possible_answers": None}, (), ()),
        ({"supporting_docs": ["b", "a"]}, (), ("b", "a")),
        ({"supporting_facts": [["Tarn", 0], ["Tarn", 1]]}, (), ("a",)),
        ({"supporting_facts": {"title": ["Tarn"], "sent_id": [0]}}, (), ("a",)),
        ({"positive_ctxs": [{"title": "", "text": "A  river."}]}, (), ("b",)),
        ({"gold_docs": "Isk"}, (), ("Isk",)),
    ],
)
def test_jsonl_reads_fields_by_the_names_of_other_tools(
    tmp_path: Path, fields: dict[str, object], answers: tuple[str, ...], evidence: tuple[str, ...]
) -> None:
    row = {"_id": "q1", "question": "Which?", "question_type": "bridge", **fields}
    data = read_dataset("jsonl", write_set(tmp_path, FOUND, [row]))
    assert [(row.id, row.text) for row in data.documents[:2]] == [
        ("a", "The Tarn."), ("b", "A river."),
    ]  # fmt: skip
    gold = data.gold["q1"]
    assert (data.questions[0].text, gold.type) == ("Which?", "bridge")
    assert (gold.answers, gold.evidence) == (answers, evidence)
    assert gold.parts == ((("Isk", ("c", "d")),) if evidence == ("Isk",) else ())


def test_evidence_under_another_name_that_is_no_document_is_refused(tmp_path: Path) -> None:
    row = {"id": "q1", "text": "Which?", "supporting_facts": [["Tarnum", 0]]}
    with pytest.raises(UserError, match="line 1.*supporting_facts.*Tarnum"):
        read_dataset("jsonl", write_set(tmp_path, FOUND, [row]))


def test_a_wrong_field_is_refused_by_the_name_that_it_has_in_the_file(tmp_path: Path) -> None:
    row = {"id": "q1", "text": "Which?", "question_type": ["bridge"]}
    with pytest.raises(UserError, match="line 1.*'question_type'"):
        read_dataset("jsonl", write_set(tmp_path, FOUND, [row]))


def test_fields_that_are_not_read_and_a_set_without_gold_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "q1", "text": "Which?", "gold": ["x"], "metadata": {}, "question": "What?"}
    read_dataset("jsonl", write_set(tmp_path, [{**FOUND[0], "year": 1}], [row]))
    corpus, fields, gold = capsys.readouterr().err.splitlines()
    assert "corpus.jsonl" in corpus and corpus.endswith("read: year.")
    assert fields.endswith("read: gold, metadata, question.")
    assert "no question has gold" in gold


def test_evidence_of_another_scope_is_refused_with_question_and_document(tmp_path: Path) -> None:
    corpus = [{"id": "a", "text": "a", "scope": "s"}, {"id": "b", "text": "b", "scope": "t"}]
    row = {"id": "q1", "text": "Which?", "evidence": ["a", "b"], "scope": "s"}
    with pytest.raises(UserError, match="line 1: question 'q1'.*'b'"):
        read_dataset("jsonl", write_set(tmp_path, corpus, [row]))


def test_jsonl_passes_over_blank_lines_a_byte_order_mark_and_line_separators(
    tmp_path: Path,
) -> None:
    corpus = '\ufeff{"id": "a", "text": "one\u2028two"}\r\n\n{"id": "b", "text": "b"}\n\n'
    folder = write_set(tmp_path, corpus.encode(), b'{"id": "q", "text": "?"}')
    data = read_dataset("jsonl", folder)
    assert [document.text for document in data.documents] == ["one\u2028two", "b"]


def test_musique_evidence_is_matched_by_title_and_text(tmp_path: Path) -> None:
    question = musique_question(
        answer_aliases=["the Bert", "Bert"], question_decomposition=[{}, {}]
    )
    data = read_dataset("musique", hipporag_folder(tmp_path, [question]))
    assert [document.id for document in data.documents] == ["0", "1", "2"]
    gold = data.gold["2hop__1_2"]
    assert gold.evidence == ("0", "2")
    assert gold.answers == ("Bert", "the Bert")
    assert (gold.type, gold.hops) == ("2-hop", 2)


def test_musique_refuses_a_supporting_paragraph_that_the_corpus_lacks(tmp_path: Path) -> None:
    folder = hipporag_folder(tmp_path, [musique_question()], PASSAGES[:2])
    with pytest.raises(UserError, match=r"questions.json, item 0.*Bert \(paragraph not in"):
        read_dataset("musique", folder)


def test_hotpotqa_without_context_takes_the_first_passage_of_the_title(tmp_path: Path) -> None:
    question = hotpot_question()
    del question["context"]
    data = read_dataset("2wikimultihopqa", hipporag_folder(tmp_path, [question]))
    assert data.gold["5a"].evidence == ("0", "1")


def test_hotpotqa_refuses_a_title_that_the_corpus_lacks(tmp_path: Path) -> None:
    question = hotpot_question(supporting_facts=[["Carl", 0]])
    with pytest.raises(UserError, match=r"item 0.*Carl \(title not in corpus\)"):
        read_dataset("hotpotqa", hipporag_folder(tmp_path, [question]))


@pytest.mark.parametrize(
    ("corpus", "questions", "message"),
    [
        ({"docs": PASSAGES}, [musique_question()], "corpus.json, item 0.*'text' is missing"),
        ([{"title": "Anna"}], [musique_question()], "corpus.json, item 0.*'text' is missing"),
        (PASSAGES, {"q": 1}, "questions.json, item 0.*'id' is missing"),
        (PASSAGES, [{"id": "1", "question": "?"}], "questions.json, item 0.*'answer'"),
        (PASSAGES, [musique_question(paragraphs=[{"title": "Anna"}])], "paragraphs.0.text"),
        (PASSAGES, [musique_question(), musique_question()], "item 1.*item 0"),
    ],
)
def test_a_fault_of_a_hipporag_folder_names_file_and_item(
    tmp_path: Path, corpus: object, questions: object, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_dataset("musique", hipporag_folder(tmp_path, questions, corpus))


def test_the_openie_file_of_a_folder_is_found_and_one_of_several_is_chosen(tmp_path: Path) -> None:
    folder = hipporag_folder(tmp_path, [musique_question()])
    assert read_dataset("musique", folder).openie is None
    (folder / "openie_a.json").write_text("{}")
    assert read_dataset("musique", folder).openie == folder / "openie_a.json"
    (folder / "openie_b.json").write_text("{}")
    with pytest.raises(UserError, match=r"openie_a\.json, openie_b\.json"):
        read_dataset("musique", folder)
    assert read_dataset("musique", folder, "openie_b.json").openie == folder / "openie_b.json"


def test_every_prefix_of_the_interleaved_questions_has_the_types_in_their_shares(
    tmp_path: Path,
) -> None:
    kinds = ["one"] * 4 + ["two"] * 2
    rows = [{"id": f"q{i}", "text": "?", "type": kind} for i, kind in enumerate(kinds)]
    data = read_dataset("jsonl", write_set(tmp_path, [{"id": "a", "text": "a"}], rows))
    mixed = [question.id for question in data.interleaved()]
    assert sorted(mixed) == [f"q{i}" for i in range(6)]
    assert [data.gold[name].type for name in mixed] == ["one", "two", "one", "one", "two", "one"]


def test_a_scope_holds_its_own_documents_and_questions(tmp_path: Path) -> None:
    corpus = [{"id": name, "text": name, "scope": name[0]} for name in ("a1", "a2", "b1")]
    questions = [{"id": "q", "text": "?", "scope": "a"}, {"id": "r", "text": "?", "scope": "c"}]
    data = read_dataset("jsonl", write_set(tmp_path, corpus, questions))
    assert data.scopes() == ["a", "c"]
    assert [document.id for document in data.within("a").documents] == ["a1", "a2"]
    assert [question.id for question in data.within("a").questions] == ["q"]
    with pytest.raises(UserError, match="'c'"):
        data.within("c")


def test_ultradomain_rows_are_numbered_untitled_and_asked_without_gold(tmp_path: Path) -> None:
    corpus = "".join(json.dumps({"context": text}) + "\n" for text in ("One.", "Two."))
    (tmp_path / "corpus.jsonl").write_text(corpus)
    requests = [
        {"question": "What is it all?", "answer": ""},
        {"question": "Why?", "answer": "So."},
    ]
    (tmp_path / "questions.json").write_text(json.dumps(requests))
    result = read_dataset("ultradomain_mix", tmp_path)
    assert result.documents == (Document("0", "", "One."), Document("1", "", "Two."))
    assert [question.id for question in result.questions] == ["0", "1"]
    assert [result.gold[row].answers for row in ("0", "1")] == [(), ("So.",)]
    assert result.gold["0"].type == "abstract"
    assert result.card.chunking == "token"


def test_hotpotqa_tells_passages_of_one_title_apart_by_their_text(tmp_path: Path) -> None:
    data = read_dataset("hotpotqa", hipporag_folder(tmp_path, [hotpot_question()]))
    gold = data.gold["5a"]
    assert gold.evidence == ("0", "2")
    assert (gold.answers, gold.type) == (("Bert",), "bridge")


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "null"])
def test_what_is_no_number_is_refused_like_null(tmp_path: Path, value: str) -> None:
    folder = written(tmp_path, {"questions.jsonl": ""})
    first = '{"id": "a", "text": "A"}\n'
    (folder / "corpus.jsonl").write_text(f'{first}{{"id": "b", "text": {value}}}')
    with pytest.raises(UserError, match=r"corpus.jsonl, line 2: field 'text'"):
        read_dataset("jsonl", root=folder)
    (folder / "corpus.jsonl").write_text(first)
    (folder / "questions.jsonl").write_text(f'{{"id": "q", "text": "Q", "answers": [{value}]}}')
    with pytest.raises(UserError, match=r"questions.jsonl, line 1: field 'answers"):
        read_dataset("jsonl", root=folder)
