"""`--help` of every command teaches by an example, and no terminal of 100 columns breaks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

from graphrag_bench.cli.ask import UNREAD
from graphrag_bench.cli.main import COMMANDS
from graphrag_bench.config.settings import RunSettings, explained


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself_within_100_columns(name: str) -> None:
    text = command(name, "--help").out
    head, _, examples = text.partition("\nexample")
    assert head.startswith(f"usage: graphrag-bench {name}")
    assert f"graphrag-bench {name}" in examples
    assert [line for line in text.splitlines() if len(line) > 100] == []


def test_every_setting_has_a_meaning() -> None:
    assert [
        name for name, _, meaning in explained() if not meaning and name != "dataset.name"
    ] == []


def test_the_home_of_a_run_may_be_named_as_a_run_names_it(tmp_path: Path) -> None:
    ran(*TOY, "method=bm25", "answer=off", "reference_rows=off", f"paths.home={tmp_path}")
    ended = command("runs", "ls", f"paths.home={tmp_path}")
    assert (ended.code, ended.out) == (0, command("runs", "ls", "--home", str(tmp_path)).out)
    assert "toy" in ended.out


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["funnel", "0a1b", "--qestions"], "'--questions'"),
        (["runs", "rm", "0a1b", "--yess"], "'--yes'"),
        (["runs", "ls", "datset=toy"], "'dataset='"),
        (["runs", "lst"], "'ls'"),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest(words: list[str], near: str) -> None:
    assert f"Did you mean {near}" in refused(*words[1:], name=words[0])


UNREAD_BY_ASK = (
    "limit=5", "split=dev", "dev_share=0.3", "shard=1/3", "workers=2", "repeats=3", "objective=f1",
    "evaluation.cuts=[1]", "llm_judge.model=m", "reference_rows=off", "answer=off",
    "trace=off",
)  # fmt: skip


def test_ask_refuses_what_it_does_not_read_all_at_once() -> None:
    said = refused(*TOY, *UNREAD_BY_ASK, "Who founded the Norvik Observatory?", name="ask")
    names = {word.partition("=")[0] for word in UNREAD_BY_ASK}
    assert [name for name in names if f"  {name}: " not in said] == []
    assert set(UNREAD) == {re.split(r"[.=]", word)[0] for word in UNREAD_BY_ASK}
    assert set(UNREAD) <= {*RunSettings.model_fields, *(name for name, *_ in explained())}


@pytest.mark.parametrize(
    ("name", "words"),
    [("doctor", ["limit=5", "reference_rows=off"]),
     ("questions", ["limit=5", "evaluation.cuts=[1]"]),
     ("judge", ["0a1b", "limit=5", "trace=off"]),
     ("compare", ["0a1b", "limit=5", "embedder=hashing"])],
)  # fmt: skip
def test_a_command_names_every_setting_of_a_run_that_it_does_not_take(
    name: str, words: list[str]
) -> None:
    said = refused(*words, name=name)
    for word in words:
        if "=" in word:
            assert f"'{word.partition('=')[0]}' is not a setting of {name}" in said
