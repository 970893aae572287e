"""Whatever a user can get wrong ends with exit code 2 and one message that says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, ran, records, refused, shell, stops_on, write_set

VANILLA = [*TOY, "method=vanilla"]
HIPPORAG = [*TOY, "method=hipporag"]
PASSAGES = [
    {"id": "a", "title": "Anna", "text": "Anna met Bert in Cologne."},
    {"id": "b", "title": "Bert", "text": "Bert lives in Dresden."},
]
QUESTIONS = [{"id": "q1", "text": "Where does Bert live?", "answers": ["Dresden"]}]
NOWHERE = "llm.base_url=http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("method=hiporag", "hipporag"),
        ("dataset=tyo", "toy"),
        ("embedder=hash", "hashing"),
        ("llm=scrpted", "scripted"),
        ("llm_build=scrpted", "scripted"),
        ("chunking=tokens", "token"),
        ("experiment=nothing", "experiment"),
        ("method=", "vanilla"),
        ("method=glob(x*)", "vanilla"),
        ("method=choice(vanilla,bm52)", "bm25"),
    ],
)
def test_an_unknown_choice_names_the_nearest_one(wrong: str, nearest: str) -> None:
    message = refused(*TOY, wrong)
    assert wrong.partition("=")[0] in message
    assert nearest in message


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("limt=3", "limit"),
        ("metod=vanilla", "method"),
        ("dataset.rot=/data", "root"),
        ("graph.scop=all", "scope"),
        ("evaluation.cut=[1]", "cuts"),
        ("method.topk=3", "top_k"),
        ("method.retrive.0.top_k=3", "retrieve"),
        ("method.retrieve.0.topk=3", "top_k"),
        ("method.retrieve.7.top_k=3", "0 to 0"),
        ("method.retrieve.first.top_k=3", "0 to 0"),
        ("llm.replys=3", "replies"),
        ("embedder.dimensions=3", "dimension"),
        ("chunking.sise=3", "chunking"),
        ("build.chunk_tabel=token", "chunk_table"),
        ("build.chunk_table=tokens", "token"),
        ("paths.hom=x", "home"),
    ],
)
def test_an_unknown_setting_names_the_nearest_one(wrong: str, nearest: str) -> None:
    message = refused(*VANILLA, wrong)
    misspelt = wrong.replace("=", ".").split(".")
    assert any(f"'{part}" in message or f"{part}'" in message for part in misspelt)
    assert nearest in message


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("limit=0", ["limit=0", "greater than 0"]),
        ("limit=many", ["limit='many'", "integer"]),
        ("answer=maybe", ["answer='maybe'", "'on' or 'off'", "integer"]),
        ("graph.scope=some", ["graph.scope='some'", "per_scope"]),
        ("evaluation.cuts=[0]", ["evaluation.cuts.0=0", "greater than 0"]),
        ("workers=2.5", ["workers=2.5", "integer"]),
        ("plugins=[nothing_here]", ["plugins", "nothing_here"]),
        ("method.top_k=0", ["top_k", "0", "greater than 0"]),
        ("method.top_k=four", ["top_k", "'four'", "integer"]),
        ("method.retrieve=chunk.vdb", ["retrieve", "list of steps", "chunk.vdb"]),
        ("method.name=mine", ["method.name", "method=NAME"]),
        ("method.build=graph", ["method.build='graph'", "mapping"]),
        ("method.given=[]", ["method.given=[]", "text"]),
        ("method.role=king", ["method.role", "'king'", "floor, ceiling"]),
        ("budget.usd=-1", ["budget.usd=-1", "greater than 0"]),
        ("build.chunk_table=3", ["build.chunk_table=3", "variant"]),
        ("embedder.dimension=wide", ["embedder.dimension='wide'", "integer"]),
        ("llm.replies=3", ["llm.replies=3", "dictionary"]),
        ("llm._target_=nowhere.Model", ["llm._target_", "nowhere.Model"]),
        ("chunking=token chunking.size=-1", ["chunking", "size", "greater than 0"]),
        ("chunking=token chunking.size=9 chunking.overlap=9", ["overlap 9", "below size 9"]),
    ],
)
def test_a_setting_of_the_wrong_type_or_range_is_named(wrong: str, words: list[str]) -> None:
    message = refused(*VANILLA, *wrong.split())
    assert all(word in message for word in words), message


def test_a_damping_outside_its_range_is_refused_with_the_step_that_takes_it() -> None:
    message = refused(*HIPPORAG, "method.damping=1.5")
    assert "node.ppr" in message
    assert "damping" in message
    assert "less than 1" in message


def test_an_unknown_operator_names_the_step_and_the_nearest_operators() -> None:
    message = refused(*VANILLA, "method.retrieve.0.op=chunk.vbd")
    assert "retrieve.0" in message
    assert "'chunk.vdb'" in message


def test_a_pipeline_that_reads_what_nobody_writes_names_the_slot_and_its_writers() -> None:
    message = refused(*VANILLA, "method.retrieve=[]")
    assert "generate.0 answer.direct reads 'chunks'" in message
    assert "chunk.vdb" in message


def test_every_problem_of_a_pipeline_stands_in_one_message() -> None:
    message = refused(*VANILLA, "method.retrieve=[{op: chunk.vdb, topk: 3}, {op: node.ppq}, {}]")
    assert "retrieve.0 chunk.vdb has no setting 'topk'; it takes top_k" in message
    assert "retrieve.1" in message
    assert "node.ppr" in message
    assert "retrieve.2" in message


def test_several_values_without_m_are_told_about_m() -> None:
    assert "-m" in refused(*TOY, "method=vanilla,bm25")
    assert "limit=1,2" in refused(*VANILLA, "limit=1,2")


def test_a_value_that_hydra_cannot_read_is_named_alone_with_how_to_quote_it() -> None:
    message = refused(*VANILLA, "dataset.root=/data (old)/{set}")
    assert "'dataset.root=/data (old)/{set}'" in message
    assert "embedder" not in message
    assert "double quotes" in message


def test_words_that_are_no_settings_are_refused() -> None:
    assert "'vanilla' is no setting" in refused(*TOY, "vanilla")
    assert "'--limit'" in refused(*TOY, "--limit", "3")
    assert "run" in refused(name="rum")


def test_a_parameter_that_no_method_of_a_sweep_has_is_refused() -> None:
    message = refused("-m", *TOY, "method=vanilla,hipporag", "method.dampnig=0.3,0.5")
    assert "method.dampnig" in message
    assert "damping" in message


def test_a_bad_cell_refuses_the_sweep_before_the_first_cell_runs(home: Path) -> None:
    assert "top_k" in refused("-m", *TOY, "method=vanilla", "method.top_k=2,0")
    assert not (home / "runs").exists()


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
        ({"evidence": ["bb"]}, ["line 1", "'q1'", "'bb'", "nearest: b"]),
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
    message = bad_set(home, PASSAGES, scoped, "graph.scope=per_scope")
    assert "'book 2'" in message
    assert "graph.scope=all" in message


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


@pytest.mark.parametrize("docs", ["{oops", {"documents": []}, {"docs": [{"text": "x"}]}])
def test_an_openie_file_of_another_shape_is_refused(home: Path, docs: object) -> None:
    assert "openie.json" in openie(home, docs)


def test_a_missing_openie_file_is_named() -> None:
    assert "'triples.json'" in refused(*HIPPORAG, "dataset.openie=triples.json")


def test_a_home_that_cannot_hold_runs_is_named(home: Path) -> None:
    (home / "notes.txt").write_text("no folder")
    assert "notes.txt" in refused(*VANILLA, "paths.home=notes.txt")


def test_a_graph_without_entities_is_refused_with_the_likely_causes(home: Path) -> None:
    bodies = [f"{row['title']}\n{row['text']}" for row in PASSAGES]
    message = openie(home, {"docs": [extracted(body) for body in bodies]})
    assert "no entities" in message
    assert "Likely causes" in message


def test_a_missing_gguf_file_is_named() -> None:
    settings = ["dataset=toy", "embedder=hashing", "method=vanilla", "llm=local"]
    assert "/no/such.gguf" in refused(*settings, "llm.model_path=/no/such.gguf")
    assert "llm.context='big'" in refused(*settings, "llm.context=big")


def test_an_unreachable_model_stops_the_run_and_leaves_no_error_rows(home: Path) -> None:
    message = refused(
        *["dataset=toy", "embedder=hashing", "method=vanilla", "llm=openai_compatible"],
        *[NOWHERE, "llm.api_key_env=null"],
    )
    assert "127.0.0.1:9" in message
    assert "llm.base_url" in message
    assert not list(home.rglob("journal.jsonl"))
    assert not list(home.rglob("records.jsonl"))


def test_a_missing_api_key_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = ["dataset=toy", "embedder=hashing", "method=vanilla", "llm=openai_compatible"]
    assert "OPENAI_API_KEY" in refused(*settings, NOWHERE)


def test_a_sweep_that_a_model_stops_ends_with_one_message_too() -> None:
    stops_on.add("Question")
    try:
        assert "told to stop" in refused("-m", *TOY, "method=vanilla,bm25")
    finally:
        stops_on.clear()


def test_earlier_work_is_untouched_by_whatever_is_refused(home: Path) -> None:
    folder = ran(*VANILLA, "limit=2", "frame=off").folder
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    refused(*VANILLA, "method.top_k=0")
    refused(*VANILLA, "dataset.root=/no/such/folder")
    refused(*VANILLA, "llm.replys=3")
    bad_set(home, b"")
    assert {path: path.read_bytes() for path in before} == before
    stops_on.add("Question")
    try:
        refused(*VANILLA, "limit=4", "frame=off")
    finally:
        stops_on.clear()
    assert [row["status"] for row in records(folder)] == ["answered", "answered"]
    assert before[folder / "records.jsonl"] == (folder / "records.jsonl").read_bytes()


def test_the_shell_sees_exit_code_2_and_no_traceback() -> None:
    ended = shell("run", "method=hiporag")
    assert ended.code == 2
    assert ended.err == "graphrag-bench run: No method 'hiporag'. Did you mean 'hipporag'?\n"
    assert ended.out == ""
