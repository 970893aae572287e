"""`--help` of every command teaches by an example, and no terminal of 100 columns breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

from graphrag_bench.cli.help_lines import entry
from graphrag_bench.cli.main import COMMANDS, GROUPS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself_within_100_columns(name: str) -> None:
    text = command(name, "--help").out
    head, _, examples = text.partition("\nexample")
    assert head.startswith(f"usage: graphrag-bench {name}")
    assert f"graphrag-bench {name}" in examples or name == "sweep"
    assert [line for line in text.splitlines() if len(line) > 100] == []


def test_the_list_of_the_commands_is_aligned() -> None:
    rows = [line for line in command().out.splitlines() if line.startswith("  ")]
    starts = {len(line) - len(line[12:].lstrip()) for line in rows[: len(COMMANDS)]}
    assert starts == {13}


def test_the_commands_are_named_in_groups_and_each_once() -> None:
    shown = command("--help").out
    assert shown == command().out
    heads = [line for line in shown.splitlines() if line in GROUPS]
    assert heads == list(GROUPS)[:-1]
    names = [line.split()[0] for line in shown.partition("start here")[0].splitlines()
             if line.startswith("  ")]  # fmt: skip
    assert sorted(names) == sorted(COMMANDS)
    assert shown.index("run and plan") < shown.index("  ask ") < shown.index("look at what was run")


def test_help_of_ask_names_what_ask_reads_and_no_more() -> None:
    asked, ran_by = command("ask", "--help").out, command("run", "--help").out
    for name in ("limit=", "split=", "frame=", "repeats=", "evaluation.cuts=", "llm_judge="):
        assert f"  {name}" in ran_by
        assert f"  {name}" not in asked
    for name in ("method=", "llm=", "budget_context=", "cache.mode=", "seed=", "paths.home="):
        assert f"  {name}" in asked


def test_plan_offers_no_sweeper_which_it_refuses() -> None:
    assert "hydra/sweeper" not in command("plan", "--help").out
    assert "hydra/sweeper" in command("run", "--help").out


def test_a_meaning_goes_on_below_itself_and_a_long_head_stands_alone() -> None:
    assert entry("  k=", "v", 6) == "  k=  v"
    assert entry("  k=", "v " * 60, 10).splitlines() == [
        "  k=      " + "v " * 44 + "v",
        "          " + "v " * 14 + "v",
    ]
    assert entry("  long=[1, 2]", "v", 6) == "  long=[1, 2]\n      v"


def test_the_home_of_a_run_may_be_named_as_a_run_names_it(tmp_path: Path) -> None:
    ran(*TOY, "method=bm25", "answer=off", "frame=off", f"paths.home={tmp_path}")
    for words in (["runs", "ls"], ["table", "rows=method", "values=mrr"], ["artifacts", "ls"]):
        ended = command(*words, f"paths.home={tmp_path}")
        assert (ended.code, ended.out) == (0, command(*words, "--home", str(tmp_path)).out)
        assert "toy" in ended.out


def test_an_unknown_option_is_answered_with_the_nearest() -> None:
    assert "Nearest: --questions" in refused("0a1b", "--qestions", name="funnel")
