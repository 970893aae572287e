"""A command needs only the files that docs/architecture.md names."""

from pathlib import Path

import pytest
from toy_runs import command

import graphrag_bench.cli
from graphrag_bench.cli.main import GROUPS


def test_a_command_is_one_file_and_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "hello.py").write_text(
        "'Say hello.'\n\ndef declare(parser):\n    parser.add_word('name', 'NAME', 'a name')\n"
        "def main(options):\n    print('hello', options.name)\n"
    )
    monkeypatch.setattr(graphrag_bench.cli, "__path__", [*graphrag_bench.cli.__path__, str(home)])
    monkeypatch.setitem(GROUPS, "run", {**GROUPS["run"], "hello": "Say hello."})
    assert command("hello", "you").out == "hello you\n"
    assert "Say hello." in command("--help").out
