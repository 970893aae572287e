"""`--help` of every command teaches by an example, and no terminal of 100 columns breaks it."""

from pathlib import Path

import pytest
from toy_runs import TOY, command, refused

from graphrag_bench.cli.ask import UNREAD
from graphrag_bench.cli.main import GROUPS
from graphrag_bench.config.settings import RunSettings, explained

COMMANDS = [name for group in GROUPS.values() for name in group]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself_within_100_columns(name: str) -> None:
    text = command(name, "--help").out
    head, _, examples = text.partition("\nexample")
    assert head.startswith(f"usage: graphrag-bench {name}")
    assert f"graphrag-bench {name}" in examples
    assert [line for line in text.splitlines() if len(line) > 100] == []


def test_every_setting_has_a_meaning() -> None:
    assert [name for name, _, meaning in explained() if not meaning] == []


def test_a_command_without_words_and_help_list_the_commands() -> None:
    for words in ((), ("--help",), ("help",)):
        text = command(*words).out
        assert [name for name in COMMANDS if f"  {name}  " not in text] == []
        assert max(map(len, text.splitlines())) <= 100
    assert len(COMMANDS) == 17


@pytest.mark.parametrize(
    ("name", "words", "named"),
    [
        ("show", "0a1b --hom", "'--home'"), ("runs", "rm 0a1b --yess", "'--yes'"),
        ("runs", "import x datset=toy name=y", "dataset=NAME"), ("runs", "lst", "'ls'"),
        ("doctor", "limit=5 reference_rows=off", "'limit'; 'reference_rows'"),
        ("questions", "limit=5 evaluation.cuts=[1]", "'limit'; 'evaluation.cuts'"),
        ("judge", "0a1b limit=5 trace=off", "'limit'; 'trace'"),
        ("judge", "llm@llm_judge=scripted", "RUN"), ("judge", "0a1b 1b2c --limit 0", "--limit"),
        ("runs", "score evaluation.cuts=[1]", "RUN"), ("list", "methds", "'methods'"),
    ],
)  # fmt: skip
def test_what_a_command_does_not_take_is_named_with_the_nearest(
    name: str, words: str, named: str
) -> None:
    message = refused(*words.split(), name=name)
    assert [one for one in named.split("; ") if one not in message] == []


def test_ask_refuses_what_it_does_not_read_all_at_once() -> None:
    message = refused(*TOY, *(f"{name}=1" for name in UNREAD), "Who?", name="ask")
    assert [name for name in UNREAD if name not in message] == []
    assert set(UNREAD) <= set(RunSettings.model_fields)


def test_the_home_of_a_run_may_be_named_as_a_run_names_it(tmp_path: Path) -> None:
    for word in ([f"paths.home={tmp_path}"], ["--home", str(tmp_path)]):
        for action in (["ls"], []):
            assert f"{tmp_path}/runs" in command("runs", *action, *word).out


def test_runs_and_artifacts_alone_list(home: Path) -> None:
    for name in ("runs", "artifacts"):
        assert command(name).out == command(name, "ls").out
        assert "usage:" not in command(name).out
