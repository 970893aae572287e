"""Help texts, JSON output, and refused arguments."""

import json

import pytest
from toy_runs import TOY, command, command_error

from graphrag_bench.cli.ask import UNUSED
from graphrag_bench.cli.main import GROUPS
from graphrag_bench.config.settings import RunSettings

COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(name):
    options, _, examples = command(name, "--help").out.partition("\nexample")
    has_json = "[--json]" in options or "print JSON" in options
    assert f"graphrag-bench {name}" in examples
    assert has_json == (name not in ("fetch", "questions", "new", "run", "view"))
    assert f"\n  {name} " in command("--help").out


def test_a_plan_and_a_list_are_printed_as_json():
    assert {"name": "bm25", "about": "BM25", "file": ""} in json.loads(
        command("list", "methods", "--json").out
    )
    (cell,) = json.loads(command("plan", *TOY, "method=vanilla", "limit=2", "--json").out)
    assert {one["resource"] for one in cell["artifacts"]} == {"chunk_table", "chunk_index"}
    assert cell["questions"] == {"selected": 2, "left": 2, "left_to_answer": 2}
    assert cell["costs"][0]["expected"]["calls"] == 2


@pytest.mark.parametrize(
    ("name", "words", "named"),
    [
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
    ],
)  # fmt: skip
def test_an_unknown_argument_is_named_with_the_nearest_valid_one(name, words, named):
    message = command_error(*words.split(), name=name)
    assert [one for one in named.split("; ") if one not in message] == []


def test_ask_refuses_all_settings_without_effect_at_once():
    message = command_error(*TOY, *(f"{name}=1" for name in UNUSED), "Who?", name="ask")
    assert [name for name in UNUSED if name not in message] == []
    assert set(UNUSED) <= set(RunSettings.model_fields)


def test_home_and_paths_home_are_the_same_option(tmp_path):
    for word in ([f"paths.home={tmp_path}"], ["--home", str(tmp_path)]):
        for action in (["ls"], []):  # ls is the default
            assert f"{tmp_path}/runs" in command("runs", *action, *word).out
