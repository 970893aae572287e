"""Damaged rows of a finished run: named by every command that reads them, repaired by the run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from toy_runs import TOY, Ended, command

RUN = (*TOY, "method=vanilla", "limit=3", "reference_rows=off")
FILES = ["records.jsonl", "contexts.jsonl", "timing.jsonl", "ledger.jsonl"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sealed")
    assert again(home).code == 0
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "home"))


def again(home: Path) -> Ended:
    return command("run", *RUN, f"paths.home={home}")


def folder(home: Path) -> Path:
    (found,) = home.glob("runs/toy/vanilla/*")
    return found


def without_first_row(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("words", [("score",), ("runs", "show"), ("funnel",)])
def test_a_command_that_reads_the_run_names_the_file(
    home: Path, name: str, words: tuple[str, ...]
) -> None:
    without_first_row(folder(home) / name)
    ended = command(*words, str(folder(home)), "--home", str(home))
    assert ended.code == 2
    assert name in ended.err and "damaged" in ended.err


@pytest.mark.parametrize("name", FILES)
def test_the_same_command_mends_it_and_a_third_finds_nothing(home: Path, name: str) -> None:
    run = folder(home)
    kept = {one: (run / one).read_bytes() for one in ("records.jsonl", "contexts.jsonl")}
    without_first_row(run / name)
    ended = again(home)
    assert ended.code == 0 and f"{name} was damaged" in ended.err
    assert {one: (run / one).read_bytes() for one in kept} == kept
    later = again(home)
    assert "was damaged" not in later.err
    for_good = name in ("timing.jsonl", "ledger.jsonl")
    assert ("costs and times are not whole" in " ".join(later.out.split())) == for_good


def test_a_damaged_table_is_named_where_files_are_shown_and_stops_nothing(home: Path) -> None:
    table = folder(home) / "table.md"
    table.unlink()
    table.mkdir()
    words = (str(folder(home)), "--home", str(home))
    assert "table.md is damaged" in command("runs", "show", *words).out
    assert command("score", *words).code == 0
    assert again(home).code == 0
    assert table.is_file()
    assert "table.md is damaged" not in command("runs", "show", *words).out


def test_texts_of_another_kind_in_a_run_without_seals_are_named(home: Path) -> None:
    (folder(home) / "files.json").unlink()
    path = folder(home) / "contexts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["texts"] = [7 for _ in rows[0]["texts"]]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = command("score", str(folder(home)))
    assert ended.code == 2
    assert "contexts.jsonl holds a row that is not a context" in ended.err
