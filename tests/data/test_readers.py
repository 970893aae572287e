import json

import pandas
import pytest
from toy_runs import write_set

from graphrag_bench.data.dataset import Document, Gold, is_dev, within_split
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.values import Question

FOUND = [
    {"_id": "a", "title": "Tarn", "contents": "The Tarn."}, {"docid": "b", "body": "A river."},
    {"id": "c", "title": "Isk", "text": "One."}, {"id": "d", "title": "Isk", "text": "Two."},
]  # fmt: skip


def test_jsonl_reads_every_field(tmp_path):
    corpus = '\ufeff{"id": 7, "title": "A", "text": "a\u2028z", "scope": "s"}\r\n\n'
    corpus += '{"id": "b", "text": "b", "scope": "s", "aliases": ["Old Tarn"]}\n\n'
    question = {"id": 1, "text": "?", "answers": ["x", "y"], "evidence": [7, "7", "b"],
                "type": "two-hop", "hops": 2, "entities": ["A"], "scope": "s"}  # fmt: skip
    choice = {"id": "q", "text": "Who?", "options": ["Bo", "Una"], "correct": 1, "spans": ["U."]}
    rows = f"{json.dumps(question)}\n{json.dumps(choice)}"
    data = read_dataset("jsonl", write_set(tmp_path, corpus.encode(), rows.encode()))
    other = Document("b", "", "b", "s", ("Old Tarn",))
    assert data.documents == (Document("7", "A", "a\u2028z", "s"), other)
    rows = [["7", "A", "a\u2028z", "s"], ["b", "", "b", "s", ["Old Tarn"]]]  # with aliases if any
    assert data.corpus_digest == digest(rows)
    assert data.questions == (Question("1", "?", "s"), Question("q", "Who?\nA. Bo\nB. Una"))
    assert data.gold["1"] == Gold(("x", "y"), ("7", "b"), "two-hop", 2, ("A",))
    assert data.gold["q"] == Gold(("Una",), options=("Bo", "Una"), correct=1, spans=("U.",))


def test_jsonl_accepts_the_field_names_of_other_tools(tmp_path):
    for fields, answers, evidence in (
        ({"golden_answers": ["x", "y"]}, ("x", "y"), ()),
        ({"answer": "x", "answer_aliases": ["y", "x"]}, ("x", "y"), ()),
        ({"answer": {"text": ["x"], "answer_start": [3]}}, ("x",), ()),
        ({"answer": 1914, "possible_answers": None}, ("1914",), ()),
        ({"supporting_facts": [["Tarn", 0], ["Tarn", 1]]}, (), ("a",)),
        ({"supporting_facts": {"title": ["Tarn"], "sent_id": [0]}}, (), ("a",)),
        ({"positive_ctxs": [{"title": "", "text": "A  river."}]}, (), ("b",)),
        ({"gold_docs": "Isk"}, (), ("Isk",)),
        ({"retrieval_gt": [["c"], ["a"]], "generation_gt": ["x"]}, ("x",), ("c", "a")),
        ({"retrieval_gt": [["c", "d"]]}, (), ("c or d",)),
    ):
        row = {"_id": "q1", "question": "Which?", "question_type": "bridge", **fields}
        data = read_dataset("jsonl", write_set(tmp_path, FOUND, [row]))
        documents = Document("a", "Tarn", "The Tarn."), Document("b", "", "A river.")
        assert data.documents[:2] == documents and data.questions == (Question("q1", "Which?"),)
        several = evidence in (("Isk",), ("c or d",))
        parts = ((evidence[0], ("c", "d")),) if several else ()
        assert data.gold["q1"] == Gold(answers, evidence, "bridge", parts=parts)


def test_parquet_files_are_read_in_place_of_json_lines(tmp_path):
    row = {"qid": "q1", "query": "Which?", "retrieval_gt": [["a"]], "generation_gt": ["x"]}
    plain = read_dataset("jsonl", write_set(tmp_path / "set", FOUND[:1], [row]))
    for name in ("corpus", "questions"):
        file = tmp_path / "set" / f"{name}.jsonl"
        pandas.read_json(file, lines=True).to_parquet(file.with_suffix(".parquet"))
        file.unlink()
    again = read_dataset("jsonl", tmp_path / "set")
    for part in ("documents", "questions", "gold"):
        assert getattr(again, part) == getattr(plain, part)
    wrong = pandas.DataFrame([row | {"retrieval_gt": [["x"]]}])
    wrong.to_parquet(tmp_path / "set/questions.parquet")
    with pytest.raises(UserError, match="questions.parquet.*'x'.*corpus.parquet"):
        read_dataset("jsonl", tmp_path / "set")


def test_grades_belong_to_evidence_and_enter_the_digest_only_above_1(tmp_path):
    def gold(**fields: object) -> tuple[dict[str, int], str]:
        row = {"id": "q1", "text": "Which?", "evidence": ["a", "A river.", "b"], **fields}
        data = read_dataset("jsonl", write_set(tmp_path, FOUND, [row]))
        return data.gold["q1"].graded, data.gold_digest

    plain, graded = gold(), gold(grades=[1, 2, 3])
    assert gold(grades=[1, 1, 1]) == plain == ({"a": 1, "b": 1}, plain[1])
    assert graded[0] == {"a": 1, "b": 3} and graded[1] != plain[1]
    binary = {**vars(Gold()), "evidence": ["a", "b"]}
    binary.pop("grades")
    assert plain[1] == digest([["q1", binary]])


def test_an_error_of_a_question_names_its_line(tmp_path):
    for fields, message in (
        ({"evidence": ["a"], "grades": [0]}, "line 1.*'grades.0'"),
        ({"evidence": ["a"], "grades": [1, 2]}, "line 1.*q1.*2 grades for 1"),
        ({"supporting_facts": [["Tarnum", 0]]}, "line 1.*Tarnum"),
        ({"retrieval_gt": [["a"], []]}, "line 1: question 'q1'.*no document"),
        ({"question_type": ["bridge"]}, "line 1.*'question_type'"),
        ({"options": ["Bo"], "correct": -1}, "line 1: option 0 .*is 1"),
        *(({"golden_answers": [value]}, "line 1.*'golden_answers.0'")
          for value in (None, float("nan"), float("-inf"))),
        ({"evidence": ["e", "f"], "scope": "s"}, "line 1: question 'q1'.*'f'"),
    ):  # fmt: skip
        scoped = [{"id": "e", "text": "e", "scope": "s"}, {"id": "f", "text": "f", "scope": "t"}]
        row = {"id": "q1", "text": "Which?", **fields}
        with pytest.raises(UserError, match=message):
            read_dataset("jsonl", write_set(tmp_path, [*FOUND, *scoped], [row]))


def test_warnings_list_ignored_fields_and_missing_gold(tmp_path, capsys):
    row = {"id": "q1", "text": "Which?", "gold": ["x"], "metadata": {}, "question": "What?"}
    read_dataset("jsonl", write_set(tmp_path, [{**FOUND[0], "year": 1}], [row]))
    corpus, fields, gold = capsys.readouterr().err.splitlines()
    assert "corpus.jsonl" in corpus and "year" in corpus
    assert "gold, metadata, question" in fields and "gold" in gold


def test_the_openie_file_of_a_folder_is_found_or_chosen(tmp_path):
    folder = write_set(tmp_path, [{"id": "a", "text": "a"}], [{"id": "q", "text": "?"}])
    assert read_dataset("jsonl", folder).openie is None
    (folder / "openie_a.json").write_text("{}")
    assert read_dataset("jsonl", folder).openie == folder / "openie_a.json"
    (folder / "openie_b.json").write_text("{}")
    with pytest.raises(UserError, match=r"openie_a\.json, openie_b\.json"):
        read_dataset("jsonl", folder)
    assert read_dataset("jsonl", folder, "openie_b.json").openie == folder / "openie_b.json"


def test_prefixes_of_interleaved_questions_keep_the_mix_of_types(tmp_path):
    kinds = ["one"] * 4 + ["two"] * 2
    rows = [{"id": f"q{i}", "text": "?", "type": kind} for i, kind in enumerate(kinds)]
    data = read_dataset("jsonl", write_set(tmp_path, [{"id": "a", "text": "a"}], rows))
    assert [question.id for question in data.interleaved()] == ["q0", "q4", "q1", "q2", "q5", "q3"]


def test_dev_and_test_partition_the_questions_by_hash_and_dev_splits_are_nested():
    questions = [Question(f"question {number}", "Who?") for number in range(2000)]
    # sha256("q1") begins with c75de8c1b7c3ae52, which is 0.7788 of all that 8 bytes can hold
    assert not is_dev("q1", 0.778) and is_dev("q1", 0.779)
    dev, test = (within_split(questions, part) for part in ("dev", "test"))
    assert sorted(one.id for one in dev + test) == sorted(one.id for one in questions)
    assert within_split(questions, "all") == questions
    assert {*within_split(questions, "dev", 0.2)} < {*within_split(questions, "dev", 0.6)}
    for share in (0.1, 0.5, 0.9):
        assert len(within_split(questions, "dev", share)) / 2000 == pytest.approx(share, abs=0.03)


def test_a_scope_has_its_documents_and_questions(tmp_path):
    corpus = [{"id": name, "text": name, "scope": name[0]} for name in ("a1", "a2", "b1")]
    questions = [{"id": "q", "text": "?", "scope": "a"}, {"id": "r", "text": "?", "scope": "c"}]
    data = read_dataset("jsonl", write_set(tmp_path, corpus, questions))
    part = data.within("a")
    assert data.scopes() == ["a", "c"]
    assert [one.id for one in (*part.documents, *part.questions)] == ["a1", "a2", "q"]
    with pytest.raises(UserError, match="'c'"):
        data.within("c")
