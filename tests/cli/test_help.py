import json
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, command_error, output, run_error, write_set

from graphrag_bench.cli.ask import UNUSED
from graphrag_bench.cli.main import GROUPS
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError


def test_the_help_of_every_command_has_an_example():
    for name in (name for group in GROUPS.values() for name in group):
        options, _, examples = output(name, "--help").partition("\nexample")
        has_json = "[--json]" in options or "print JSON" in options
        assert f"graphrag-bench {name}" in examples
        assert has_json == (name not in ("fetch", "questions", "new", "run", "view")), name
        assert f"\n  {name} " in output("--help")


def test_a_plan_and_a_list_are_printed_as_json():
    assert {"name": "bm25", "about": "BM25", "file": ""} in json.loads(
        output("list", "methods", "--json")
    )
    (cell,) = json.loads(output("plan", *TOY, "method=vanilla", "limit=2", "--json"))
    assert {one["resource"] for one in cell["artifacts"]} == {"chunk_table", "chunk_index"}
    assert cell["questions"] == {"selected": 2, "left": 2, "left_to_answer": 2}
    assert cell["costs"][0]["expected"]["calls"] == 2


def test_an_unknown_argument_is_named_with_the_nearest_valid_one():
    for name, words, named in (
        ("show", "0a1b --hom", "'--home'"), ("runs", "rm 0a1b --yess", "'--yes'"),
        ("runs", "check 0a1b f1>=1 --intervl", "'--interval'"),
        ("runs", "import x datset=toy name=y", "dataset=NAME"), ("runs", "lst", "'ls'"),
        ("run", "--limit 5", "'limit='"), ("plan", "--jsn", "'--json'"),
        ("doctor", "limit=5 reference_rows=off", "'limit'; 'reference_rows'"),
        ("questions", "limit=5 evaluation.cuts=[1]", "'limit'; 'evaluation.cuts'"),
        ("judge", "0a1b limit=5 trace=off", "'limit'; 'trace'"),
        ("judge", "llm@llm_judge=scripted", "RUN"), ("judge", "0a1b 1b2c --limit 0", "--limit"),
        ("runs", "score evaluation.cuts=[1]", "RUN"), ("list", "methds", "'methods'"),
        ("ablate", "0a1b 1b2c", "1b2c"),
        ("table", "zhou2025/tabel5", "zhou2025/table5"), ("table", "runs/tay", "runs/tay"),
        ("table", "zhou2025/table5 limit=3", "experiment=zhou2025/table5"),
        ("table", "rows=method", "columns="), ("table", "--papers-prompts", "--papers-prompts"),
        ("fetch", "dataset=musiqe", "'musique'"), ("fetch", "dataset.root=x", "dataset=NAME"),
        ("fetch", "dataset=novelqa", "https://huggingface.co/datasets/NovelQA/NovelQA"),
        ("fetch", "dataset=toy", "toy"), ("fetch", "data.root=x dataset=musique", "dataset.root="),
        ("questions", "dataset=toy kind=abstrct", "'abstract'"), ("questions", "n=3", "kind="),
        ("questions", "dataset=toy kind=specific hops=4", "hops=4"),
        ("questions", "dataset=toy kind=specific wordin=template", "'wording'"),
        ("cache", "stats --home none", "none"), ("cache", "stats --home a --path b", "--path"),
        ("cache", "export a --path a", "'a'"), ("cache", "import a --path a", "'a'"),
    ):  # fmt: skip
        message = command_error(*words.split(), name=name)
        assert [one for one in named.split("; ") if one not in message] == [], message


def test_ask_refuses_all_settings_without_effect_at_once():
    message = command_error(*TOY, *(f"{name}=1" for name in UNUSED), "Who?", name="ask")
    assert [name for name in UNUSED if name not in message] == []
    assert set(UNUSED) <= set(RunSettings.model_fields)


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


def test_an_error_in_a_data_set_names_file_and_line(home):
    for corpus, questions, words in (
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
    ):
        message = refusal("jsonl", write_set(home / "books", corpus, questions))
        assert [word for word in words.split("; ") if word not in message] == [], message


def test_data_without_questions_or_documents_of_a_scope_are_refused():
    words = ["dataset=jsonl", "dataset.root=books", *WEIGHTLESS, "method=vanilla"]
    write_set(Path("books"), PASSAGES, b"")
    assert "books" in run_error(*words)
    write_set(Path("books"), PASSAGES, [{**QUESTION, "scope": "book 2"}])
    message = run_error(*words, "graph.per=partition")
    assert "'book 2'" in message and "graph.per=all" in message
