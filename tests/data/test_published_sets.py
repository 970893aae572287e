from typing import Any

import pytest
from published_sets import book_row, hotpot_row, news, squality_line, written

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

POSED = {"question": "Who waters it?", "options": ["Nobody", "The moon"], "difficult": 1}
ARTICLE = {"article_id": "1", "set_unique_id": "1_w1", "title": "Garden", "article": "A moon."}
ASKED = "Who waters it?\nA. Nobody\nB. The moon"
LINE = {"id": "fd_1", "pid": "fd_1_0", "input": "ANN: Hi.", "output": "Ann meets Bo."}
PLOT = "What happens in this episode? Give a summary of the plot."
MUSIQUE = {
    "id": "2hop__1_2", "question": "Where from?", "answer": "Tarn",
    "answer_aliases": ["Tarn Town", "Tarn"], "question_decomposition": [{}, {}],
    "paragraphs": [
        {"title": "Una", "paragraph_text": "Una rows.", "is_supporting": True},
        {"title": "Bo", "paragraph_text": "Bo  is\na hill.", "is_supporting": True},
        {"title": "Bo", "paragraph_text": "Bo rows.", "is_supporting": False},
    ],
}  # fmt: skip
POPQA = {"id": 11, "prop": "birth", "obj": "Tarn", "question": "Where?",
         "possible_answers": '["Tarn Town", "Tarn"]'}  # fmt: skip
TWO = [{"title": "Bo", "text": "Bo."}, {"title": "Una", "text": "Una."}]
MARKED = [{**one, "is_supporting": one is TWO[1]} for one in TWO]
BENCH = {"id": "N", "question": "Who?", "answer": "Una", "question_type": "Fact Retrieval",
         "evidence": ["Una does it."]}  # fmt: skip
NOVEL = {"QID": "Q1", "Complexity": "mh", "Question": "How often?",
         "Options": {"A": "once", "B": "twice", "C": None}}  # fmt: skip
BOOK = {"Books/P/B00.txt": "Una rowed."}
CHOICE = Gold(("twice",), (), "mh", options=("once", "twice"), correct=1, spans=("Una rowed.",))
ASQA = {
    "sample_id": "-7", "question": "Who won?",
    "qa_pairs": [{"short_answers": ["Ada", "A. M."]}, {"short_answers": ["Bo"]}],
    "docs": [{"id": "501", "title": "Cup", "text": "Ada won."}],
}  # fmt: skip
HOTPOT = [Document("0", "Boat", "The boat is red. Una built it."),
          Document("1", "Una", "Una was born in Tarn."),
          Document("2", "Una", "Una is also a hill.")]  # fmt: skip
OF_TWO = [Document("0", "Bo", "Bo."), Document("1", "Una", "Una.")]
FIELDS = {"input": "What grows?", "answers": ["Rye"], "context": "Rye.", "meta": {"title": "F"}}
CASES: dict[str, tuple[dict[str, Any], Any, Any, Any]] = {
    "multihoprag": (
        news(),
        [Document("0", "Rams win", "The Rams won in Tarn."),
         Document("1", "Coach", "Odd coaches the Rams.")],
        [("0", "Who coaches the team that won in Tarn?", None), ("1", "Who owns Tarn?", None)],
        [Gold(("Odd",), ("0", "1"), "inference_query", 2,
              spans=("The Rams won in Tarn.", "Odd coaches the Rams.")),
         Gold(("Insufficient information.",), type="null_query")],
    ),
    "quality": (
        {"QuALITY.v1.htmlstripped.dev": [
            {**ARTICLE, "questions": [{**POSED, "gold_label": 2}]},
            {**ARTICLE, "set_unique_id": "1_w2", "questions": [{**POSED, "difficult": 0}]}],
         "QuALITY.v1.0.1.htmlstripped.test": [{**ARTICLE, "set_unique_id": "9", "questions": []}]},
        [Document("1", "Garden", "A moon.", "1")],
        [("1_w1-1", ASKED, "1"), ("1_w2-1", ASKED, "1")],
        [Gold(("The moon",), type="hard", options=("Nobody", "The moon"), correct=1),
         Gold(type="easy", options=("Nobody", "The moon"))],
    ),
    "squality": (
        {"test.jsonl": [squality_line()]},
        [Document("70001", "", "The Sailor Cat\n \n A cat went to sea.", "70001")],
        [(f"70001-{n}", text, "70001")
         for n, text in ((1, "What is the plot of the story?"), (2, "Who sails?"))],
        [Gold(("A cat sails.", "The cat goes off."), type="plot"),
         Gold(("The cat goes off.",), type="detail")],
    ),
    "summscreen": (
        {"validation.jsonl": [LINE, {**LINE, "id": "fd_2", "output": None}]},
        [Document(name, "", "ANN: Hi.", name) for name in ("fd_1", "fd_2")],
        [(name, PLOT, name) for name in ("fd_1", "fd_2")],
        [Gold(("Ann meets Bo.",), type="summary"), Gold(type="summary")],
    ),
    "alce_asqa": (
        {"asqa_eval_gtr_top100.json": [ASQA, {**ASQA, "sample_id": "-8", "qa_pairs": []}]},
        [Document("501", "Cup", "Ada won.")], [(name, "Who won?", None) for name in ("-7", "-8")],
        [Gold(("Ada", "A. M.", "Bo"), sub_answers=(("Ada", "A. M."), ("Bo",))), Gold()],
    ),
    "infinitebench_qa": (
        {"longbook_qa_eng.jsonl": [book_row(0, "A."), book_row(1, "B."), book_row(2, "A.")]},
        [Document("book-1", "", "A.", "book-1"), Document("book-2", "", "B.", "book-2")],
        [(str(at), "Who rows?", f"book-{n}") for at, n in enumerate((1, 2, 1))],
        [Gold(("Una",))] * 3,
    ),
    "infinitebench_mc": (
        {"longbook_choice_eng.jsonl": [
            book_row(0, "A.", answer=["Una", "B"], options=["Bo", "Una"])]},
        [Document("book-1", "", "A.", "book-1")], [("0", "Who rows?\nA. Bo\nB. Una", "book-1")],
        [Gold(("Una",), options=("Bo", "Una"), correct=1)],
    ),
    "graphragbench_novel": (
        {"novel.json": [{"corpus_name": n, "context": f"{n}."} for n in ("N1", "N2")],
         "novel_questions.json": [{**BENCH, "source": "n1"}, {**BENCH, "source": "N2"}]},
        [Document("N1", "", "N1.", "N1"), Document("N2", "", "N2.", "N2")],
        [("N", "Who?", "N1"), ("N (N2)", "Who?", "N2")],
        [Gold(("Una",), type="Fact Retrieval", statements=("Una does it.",))] * 2,
    ),
    "novelqa": (
        {**BOOK, "Data/P/B00.json": {"Q1": {**NOVEL, "Gold": "B", "Evidences": ["Una rowed."]}}},
        [Document("B00", "", "Una rowed.", "B00")],
        [("B00/Q1", "How often?\nA. once\nB. twice", "B00")], [CHOICE],
    ),
    "hotpotqa": (
        {"hotpot_dev_distractor_v1.json": [hotpot_row()]}, HOTPOT,
        [("5a01", "Where was the builder of the boat born?", None)],
        [Gold(("Tarn",), ("0", "2"), "bridge", spans=("Una built it.", "Una is also a hill."))],
    ),
    "musique": (
        {"musique_ans_v1.0_dev.jsonl": [MUSIQUE]},
        [Document("0", "Una", "Una rows."), Document("1", "Bo", "Bo  is\na hill."),
         Document("2", "Bo", "Bo rows.")],
        [("2hop__1_2", "Where from?", None)], [Gold(("Tarn", "Tarn Town"), ("0", "1"), "2-hop", 2)],
    ),
    "popqa": (
        {"corpus.json": TWO, "questions.json": [{**POPQA, "paragraphs": MARKED}]},
        OF_TWO, [("11", "Where?", None)], [Gold(("Tarn Town", "Tarn"), ("1",), "birth")],
    ),
    "popqa, with bars between answers": (
        {"Corpus.json": '{"title": "Una", "context": "Una.", "id": 9}\n{"context": "Bo."}\n',
         "Question.json": [
             {"question": "Where?", "answer": "Tarn|Tarn Town"},
             {"question": "Who?", "answer": 7, "qa_pairs": [{"short_answers": ["Ada", "A."]}]}]},
        [Document("0", "Una", "Una."), Document("1", "", "Bo.")],
        [("0", "Where?", None), ("1", "Who?", None)],
        [Gold(("Tarn", "Tarn Town")), Gold(("7",), sub_answers=(("Ada", "A."),))],
    ),
    "nq": (
        {"corpus.json": TWO, "questions.json": [
            {"question": "where", "reference": ["Tarn"], "contexts": MARKED}]},
        OF_TWO, [("0", "where", None)], [Gold(("Tarn",), ("1",))],
    ),
    "ultradomain_mix": (
        {"corpus.jsonl": [{"context": "One."}, {"context": "Two."}],
         "questions.json": [{"question": "All?", "answer": ""}, {"question": "Why?"}]},
        [Document("0", "", "One."), Document("1", "", "Two.")],
        [("0", "All?", None), ("1", "Why?", None)], [Gold(type="abstract")] * 2,
    ),
    "ultradomain_cs": (
        {"cs.jsonl": [FIELDS, {**FIELDS, "input": "Where?", "answers": [" "]}]},
        [Document("0", "F", "Rye.")], [("0", "What grows?", None), ("1", "Where?", None)],
        [Gold(("Rye",), ("0",)), Gold((), ("0",))],
    ),
}  # fmt: skip
"""Files in the format of a set, and its documents, questions (id, text, scope) and gold."""


@pytest.fixture
def read(tmp_path):
    return lambda name, files: read_dataset(name, written(tmp_path, files))


@pytest.mark.parametrize(("name", "case"), CASES.items())
def test_a_published_set_is_read(read, name, case):
    files, documents, questions, gold = case
    data = read(name.partition(",")[0], files)
    assert data.documents == tuple(documents)
    assert data.questions == tuple(Question(*row) for row in questions)
    assert list(data.gold.values()) == gold


def test_the_table_of_popqa_is_read_over_your_own_corpus(read):
    cells = {**POPQA, "possible_answers": '"[""Tarn Town""]"'}
    table = "\t".join(cells) + "\n" + "\t".join(map(str, cells.values())) + "\n"
    data = read("popqa", {"corpus.json": TWO, "popQA.tsv": table})
    assert data.gold["11"] == Gold(("Tarn Town", "Tarn"), (), "birth")
    with pytest.raises(UserError, match=r"popQA.tsv, line 2.*Tarn"):
        read("popqa", {"popQA.tsv": table.replace('"[""Tarn Town""]"', "Tarn")})


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("quality", {"QuALITY.v1.htmlstripped.dev": [
            {**ARTICLE, "questions": [{**POSED, "gold_label": 3}]}]}, "option 3"),
        ("graphragbench_novel", {"novel.json": {"corpus_name": "Medical", "context": "Rest."},
            "novel_questions.json": [{**BENCH, "source": "Law"}]}, "Law.*Medical"),
        ("novelqa", {**BOOK, "Data/P/B00.json": [{**NOVEL, "Gold": "D"}]}, "B00.json, Q1.*'D'"),
        ("novelqa", {**BOOK, "Data/P/B00.json": [NOVEL, NOVEL]}, "B00.json, Q1.*twice"),
        ("hotpotqa", {"train.json": []}, "hotpot_dev_distractor_v1.json.*train.json"),
        ("hotpotqa", {"corpus.json": TWO, "questions.json": [hotpot_row()]}, "item 0.*Boat"),
        ("musique", {"musique_ans_v1.0_dev.jsonl": [MUSIQUE, MUSIQUE]}, "line 2.*line 1"),
    ],
)  # fmt: skip
def test_an_error_of_a_published_set_names_file_and_place(read, name, files, message):
    with pytest.raises(UserError, match=message):
        read(name, files)


def test_the_columns_of_the_hub_equal_the_published_pairs(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    from pyarrow import Table

    row: dict[str, Any] = hotpot_row()
    for field, names in {"context": "title sentences", "supporting_facts": "title sent_id"}.items():
        columns = map(list, zip(*row[field], strict=True))
        row[field] = dict(zip(names.split(), columns, strict=True))
    file = tmp_path / "validation-00000-of-00001.parquet"
    parquet.write_table(Table.from_pylist([row]), file)
    hub = read_dataset("hotpotqa", tmp_path)
    _, documents, _, gold = CASES["hotpotqa"]
    assert (hub.documents, list(hub.gold.values())) == (tuple(documents), gold)
