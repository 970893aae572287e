"""Each reader on a small set in the original's shape: documents, questions and gold by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
from published_sets import (
    asqa_row,
    book_row,
    hotpot_row,
    musique_row,
    news,
    quality_line,
    squality_line,
    written,
)

from graphrag_bench.data.dataset import Dataset, Document, Gold
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError

Read = Callable[[str, dict[str, object]], Dataset]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The data set of a card, read from these files."""
    return lambda name, files: read_dataset(name, written(tmp_path, files))


GARDEN = "Who waters the garden?\nA. Nobody\nB. The moon\nC. Vera\nD. Rain"


def test_the_facts_of_a_news_query_name_its_articles_and_are_its_spans(read: Read) -> None:
    data = read("multihoprag", news())
    assert data.documents == (
        Document("0", "Rams win", "The Rams won in Tarn."),
        Document("1", "Coach", "Odd coaches the Rams."),
    )
    query, null = (data.gold[question.id] for question in data.questions)
    assert (query.answers, query.evidence, query.hops) == (("Odd",), ("0", "1"), 2)
    assert query.spans == ("The Rams won in Tarn.", "Odd coaches the Rams.")
    assert (query.type, null.type) == ("inference_query", "null_query")
    assert (null.evidence, null.spans, null.hops) == ((), (), None)


def test_the_two_question_sets_of_a_quality_article_share_its_document(read: Read) -> None:
    lines = [quality_line("w1"), quality_line("w2", label=4, difficult=0)]
    data = read("quality", {"QuALITY.v1.htmlstripped.dev": lines})
    (article,) = data.documents
    assert (article.id, article.scope, article.title) == ("10001", "10001", "The Garden")
    assert [(row.id, row.scope) for row in data.questions] == [
        ("10001_w1-1", "10001"),
        ("10001_w2-1", "10001"),
    ]
    assert data.questions[0].text == GARDEN
    first, second = data.gold.values()
    assert (first.options[1], first.correct, first.answers) == ("The moon", 1, ("The moon",))
    assert (second.correct, second.answers) == (3, ("Rain",))
    assert (first.type, second.type) == ("hard", "easy")


def test_quality_is_read_from_train_and_dev_and_never_from_test(read: Read) -> None:
    other = {**quality_line("w3"), "article_id": "10002", "set_unique_id": "10002_w3"}
    files = {
        "QuALITY.v1.0.1.htmlstripped.train": [other],
        "QuALITY.v1.0.1.htmlstripped.dev": [quality_line("w1")],
        "QuALITY.v1.0.1.htmlstripped.test": [quality_line("w9", label=None)],
    }
    data = read("quality", files)
    assert [row.id for row in data.questions] == ["10001_w1-1", "10002_w3-1"]


def test_a_quality_label_that_no_option_has_is_told(read: Read) -> None:
    lines = [quality_line("w1", label=5)]
    with pytest.raises(UserError, match="option 5 is right, and there are 4"):
        read("quality", {"QuALITY.v1.htmlstripped.dev": lines})


def test_a_squality_story_has_its_questions_with_every_reference(read: Read) -> None:
    data = read("squality", {"test.jsonl": [squality_line()]})
    assert [(row.id, row.scope) for row in data.questions] == [
        ("70001-1", "70001"),
        ("70001-2", "70001"),
    ]
    plot, detail = data.gold.values()
    assert plot.answers == ("A cat sails.", "The cat goes off.")
    assert (plot.type, detail.type) == ("plot", "detail")


def test_every_transcript_is_asked_for_its_plot(read: Read) -> None:
    line = {"id": "fd_1", "pid": "fd_1_0", "input": "ANN: Hi.\nBO: Go!", "output": "Ann meets Bo."}
    hidden = {**line, "id": "fd_2", "output": None}
    data = read("summscreen", {"validation.jsonl": [line, hidden]})
    first, second = data.questions
    assert first.text == second.text
    assert (first.scope, data.documents[0].text) == ("fd_1", "ANN: Hi.\nBO: Go!")
    assert [gold.answers for gold in data.gold.values()] == [("Ann meets Bo.",), ()]


def test_asqa_keeps_the_aliases_of_every_sub_answer_apart(read: Read) -> None:
    other = {**asqa_row(), "sample_id": "-78"}
    data = read("alce_asqa", {"asqa_eval_gtr_top100.json": [asqa_row(), other]})
    assert [document.id for document in data.documents] == ["501", "502"]
    gold = data.gold["-77"]
    assert gold.sub_answers == (("Ada", "A. M."), ("Bo",))
    assert gold.answers == ("Ada", "A. M.", "Bo")
    assert gold.evidence == ()


def test_equal_contexts_of_infinitebench_are_one_book(read: Read) -> None:
    rows = [book_row(0, "Una rows."), book_row(1, "Bo rows."), book_row(2, "Una rows.")]
    data = read("infinitebench_qa", {"longbook_qa_eng.jsonl": rows})
    assert [document.text for document in data.documents] == ["Una rows.", "Bo rows."]
    assert [row.scope for row in data.questions] == ["book-1", "book-2", "book-1"]
    assert data.gold["0"] == Gold(("Una",))


@pytest.mark.parametrize("answer", [["Una"], ["Una", "B"], "Una"])
def test_the_right_option_of_infinitebench_is_found_by_its_text(read: Read, answer: object) -> None:
    row = book_row(0, "Una rows.", answer=answer, options=["Bo", "Una", "Cy", "Di"])
    data = read("infinitebench_mc", {"longbook_choice_eng.jsonl": [row]})
    assert data.questions[0].text == "Who rows?\nA. Bo\nB. Una\nC. Cy\nD. Di"
    assert (data.gold["0"].correct, data.gold["0"].answers) == (1, ("Una",))


def test_the_questions_of_graphrag_bench_belong_to_the_text_of_their_source(read: Read) -> None:
    corpus = [{"corpus_name": f"Novel-{n}", "context": f"Text {n}."} for n in (1, 2)]
    requests = {"question": "Who?", "answer": "Una", "question_type": "Fact Retrieval",
             "evidence": ["Una does it."], "evidence_relations": "Una does it"}  # fmt: skip
    rows = [
        {**requests, "id": "Novel-aa", "source": "Novel-1"},
        {**requests, "id": "Novel-aa", "source": "Novel-2"},
    ]
    data = read("graphragbench_novel", {"novel.json": corpus, "novel_questions.json": rows})
    assert [(row.id, row.scope) for row in data.questions] == [
        ("Novel-aa", "Novel-1"),
        ("Novel-aa (Novel-2)", "Novel-2"),
    ]
    gold = Gold(("Una",), type="Fact Retrieval", statements=("Una does it.",))
    assert data.gold["Novel-aa"] == gold


def test_the_medical_corpus_is_one_object_and_its_name_may_be_written_otherwise(read: Read) -> None:
    def medical(source: str) -> Dataset:
        requests = {"id": "m1", "source": source, "question": "What helps?", "answer": "Rest"}
        corpus = {"corpus_name": "Medical", "context": "Rest helps."}
        return read(
            "graphragbench_medical", {"medical.json": corpus, "medical_questions.json": [requests]}
        )

    data = medical("medical")
    assert data.questions[0].scope == data.documents[0].scope == "Medical"
    with pytest.raises(UserError, match="no text is named 'Law'; there are: Medical"):
        medical("Law")


def novel_files(questions: object) -> dict[str, object]:
    return {"Books/PublicDomain/B00.txt": "Una rowed.", "Data/PublicDomain/B00.json": questions}


NOVEL_QUESTION = {"QID": "Q1", "Aspect": "times", "Complexity": "mh", "Question": "How often?",
                  "Options": {"A": "once", "B": "twice", "C": None}}  # fmt: skip


def test_a_novel_without_published_answers_is_asked_with_its_options(read: Read) -> None:
    data = read("novelqa", novel_files([NOVEL_QUESTION]))
    (requests,) = data.questions
    assert (requests.id, requests.scope, requests.text) == (
        "B00/Q1",
        "B00",
        "How often?\nA. once\nB. twice",
    )
    gold = data.gold["B00/Q1"]
    assert (gold.correct, gold.answers, gold.type) == (None, (), "mh")


def test_a_novel_with_the_authors_answers_has_them_and_the_evidence(read: Read) -> None:
    whole = {**NOVEL_QUESTION, "Gold": "B", "Answer": "two", "Evidences": ["Una rowed."]}
    data = read("novelqa", novel_files({"Q1": whole}))
    gold = data.gold["B00/Q1"]
    assert (gold.correct, gold.answers, gold.spans) == (1, ("twice",), ("Una rowed.",))
    whole["Gold"] = "D"
    with pytest.raises(UserError, match=r"B00.json, Q1: Gold is 'D', the options are A, B"):
        read("novelqa", novel_files({"Q1": whole}))


def test_hotpotqa_as_published_makes_its_corpus_of_the_contexts(read: Read) -> None:
    other = {**hotpot_row(), "_id": "5a02"}
    data = read("hotpotqa", {"hotpot_dev_distractor_v1.json": [hotpot_row(), other]})
    assert data.documents == (
        Document("0", "Boat", "The boat is red. Una built it."),
        Document("1", "Una", "Una was born in Tarn."),
        Document("2", "Una", "Una is also a hill."),
    )
    gold = data.gold["5a01"]
    assert gold.evidence == ("0", "2")
    assert (gold.answers, gold.type) == (("Tarn",), "bridge")


def test_supporting_facts_become_spans_and_those_out_of_bounds_do_not(read: Read) -> None:
    row = hotpot_row()
    boat = ["Boat", ["The boat is red.", " Una built it.", " It floats."]]
    row["context"] = [boat, row["context"][1]]  # type: ignore[index]
    row["supporting_facts"] = [*row["supporting_facts"], ["Boat", -2]]  # type: ignore[misc]
    data = read("2wikimultihopqa", {"dev.json": [row]})
    assert data.gold["5a01"].spans == ("Una built it.", "Una was born in Tarn.")
    assert data.gold["5a01"].evidence == ("0", "1")


def test_the_columns_of_the_hub_say_the_same_as_the_pairs(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = hotpot_row()
    titles, sentences = zip(*row["context"], strict=True)  # type: ignore[call-overload]
    names, numbers = zip(*row["supporting_facts"], strict=True)  # type: ignore[call-overload]
    columns = {
        "id": row["_id"],
        **{name: row[name] for name in ("question", "answer", "type")},
        "context": {"title": list(titles), "sentences": list(sentences)},
        "supporting_facts": {"title": list(names), "sent_id": list(numbers)},
    }
    table = pyarrow.Table.from_pylist([columns])
    (tmp_path / "hub").mkdir()
    parquet.write_table(table, tmp_path / "hub" / "validation-00000-of-00001.parquet")
    hub = read_dataset("hotpotqa", tmp_path / "hub")
    files = {"hotpot_dev_distractor_v1.json": [row]}
    first = read_dataset("hotpotqa", written(tmp_path / "a", files))
    for part in ("documents", "questions", "gold"):
        assert getattr(hub, part) == getattr(first, part)


def test_musique_as_published_makes_its_corpus_of_the_paragraphs(read: Read) -> None:
    data = read("musique", {"musique_ans_v1.0_dev.jsonl": [musique_row()]})
    assert [document.title for document in data.documents] == ["Boat", "Una", "Hill"]
    gold = data.gold["2hop__1_2"]
    assert (gold.evidence, gold.hops) == (("0", "1"), 2)
    assert gold.answers == ("Tarn", "Tarn Town")


POPQA = {"id": 11, "subj": "Una", "prop": "place of birth", "obj": "Tarn",
         "question": "Where is Una from?", "possible_answers": '["Tarn Town", "Tarn"]'}  # fmt: skip


def test_popqa_answers_are_a_list_in_a_text_and_its_paragraphs_the_evidence(read: Read) -> None:
    passages = [{"title": "Bo", "text": "Bo."}, {"title": "Una", "text": "Una is from Tarn."}]
    marked = [{**passages[1], "is_supporting": True}, {**passages[0], "is_supporting": False}]
    files = {"corpus.json": passages, "questions.json": [{**POPQA, "paragraphs": marked}]}
    data = read("popqa", files)
    assert data.gold["11"] == Gold(("Tarn Town", "Tarn"), ("1",), "place of birth")


def test_the_table_of_popqa_is_read_over_a_corpus_of_your_own(read: Read) -> None:
    cells = {**POPQA, "possible_answers": '"[""Tarn Town""]"'}
    table = "\t".join(cells) + "\n" + "\t".join(map(str, cells.values())) + "\n"
    files: dict[str, object] = {"corpus.json": [{"title": "Bo", "text": "Bo."}]}
    data = read("popqa", {**files, "popQA.tsv": table})
    assert data.gold["11"] == Gold(("Tarn Town", "Tarn"), (), "place of birth")
    bad = table.replace('"[""Tarn Town""]"', "Tarn")
    with pytest.raises(UserError, match=r"popQA.tsv, line 2.*'Tarn' is not a JSON list"):
        read("popqa", {**files, "popQA.tsv": bad})


def test_the_supporting_contexts_of_a_natural_question_are_its_evidence(read: Read) -> None:
    passages = [{"idx": n, "title": "Una", "text": text} for n, text in enumerate(("A.", "B."))]
    marked = [{**one, "is_supporting": n == 1} for n, one in enumerate(passages)]
    row = {"question": "where is una from", "reference": ["Tarn", "Tarn Town"], "contexts": marked}
    data = read("nq", {"corpus.json": passages, "questions.json": [row]})
    assert data.gold == {"0": Gold(("Tarn", "Tarn Town"), ("1",))}


def test_the_evidence_of_a_published_ultradomain_question_is_its_context(read: Read) -> None:
    row = {"input": "What grows?", "answers": ["Rye"], "context": "Rye grows.", "length": 2,
           "context_id": "c", "label": "cs", "meta": {"title": "Fields"}, "_id": "x"}  # fmt: skip
    rows = [row, {**row, "input": "Where?", "meta": {"title": "Fields"}, "answers": [" "]}]
    data = read("ultradomain_cs", {"cs.jsonl": rows})
    assert data.documents == (Document("0", "Fields", "Rye grows."),)
    assert [gold.evidence for gold in data.gold.values()] == [("0",), ("0",)]
    assert [gold.answers for gold in data.gold.values()] == [("Rye",), ()]


def test_the_sets_of_zhou_et_al_are_read_with_every_answer_between_bars(read: Read) -> None:
    lines = '{"title": "Una", "context": "Una is from Tarn.", "id": 9}\n{"context": "Bo."}\n'
    requests = '{"question": "Where?", "answer": "Tarn|Tarn Town", "id": 4}\n' + (
        '{"question": "Who won?", "answer": 7, "qa_pairs": [{"short_answers": ["Ada", "A."]}]}'
    )
    data = read("popqa", {"Corpus.json": lines, "Question.json": requests})
    assert data.documents == (Document("0", "Una", "Una is from Tarn."), Document("1", "", "Bo."))
    assert data.gold["0"] == Gold(("Tarn", "Tarn Town"))
    assert data.gold["1"] == Gold(("7",), sub_answers=(("Ada", "A."),))


def test_a_folder_in_no_known_shape_is_told_what_is_read(read: Read) -> None:
    with pytest.raises(UserError) as error:
        read("hotpotqa", {"train.json": []})
    assert "holds train.json" in str(error.value)
    assert "corpus.json, questions.json; or hotpot_dev_distractor_v1.json" in str(error.value)


def test_options_and_spans_can_be_given_in_a_set_of_your_own(read: Read) -> None:
    row = {"id": "q", "text": "Who?", "options": ["Bo", "Una"], "correct": 1, "spans": ["Una did."]}
    files = {"corpus.jsonl": [{"id": "a", "text": "Una did."}], "questions.jsonl": [row]}
    data = read("jsonl", files)
    assert data.questions[0].text == "Who?\nA. Bo\nB. Una"
    assert data.gold["q"] == Gold(("Una",), options=("Bo", "Una"), correct=1, spans=("Una did.",))
