"""Generated pages, the board, the site, examples and the references match the code."""

import csv
import doctest
import importlib
import re
import subprocess
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml
from toy_runs import command

import graphrag_bench.cli
from graphrag_bench import version
from graphrag_bench.cli.main import GROUPS, main
from graphrag_bench.config.plugins import ENTRY_POINTS
from graphrag_bench.config.sources import IN_PLUGIN, names
from graphrag_bench.tables.board import BOARD
from scripts import docs_site, judge_bias, write_board, write_docs, write_results

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in [*ROOT.glob("graphrag_bench/**/*.py"), *ROOT.glob("operators/**/*.py")]
    if path.stem not in {"__init__", "__main__"}
)


def test_generated_pages_are_up_to_date():
    every = write_board.results()
    assert 2 * len(every) == len(list((ROOT / BOARD).iterdir()))
    pages = write_docs.pages() | write_results.pages() | {write_board.PAGE: write_board.page(every)}
    stale = [path.name for path, text in pages.items() if path.read_text("utf-8") != text]
    assert not stale, "run scripts/write_docs.py, write_results.py or write_board.py"


def test_the_numbers_in_prose_are_those_of_their_methods():
    assert write_results.parted() == []
    page = "`bm25` and `vanilla` have recall@5 0.509 and 0.625.\n\nLinearRAG has 0.625.\n"
    assert [figure for figure, _ in write_results.unsupported(page)] == ["0.625"]


def test_the_counts_of_published_verdicts_are_those_of_the_logs():
    logs = ROOT.parent / "shared" / "data" / "judge_logs"
    if not logs.is_dir():
        pytest.skip("no judge logs in ../shared/data")
    every = [list(judge_bias.HEADS), *judge_bias.rows(logs)]
    assert list(csv.reader(judge_bias.CSV.read_text("utf-8").splitlines())) == every
    whole = {tuple(row[:3]): row[4:9] for row in every if row[3] in ("", "Overall Winner")}
    assert whole["agriculture", "HiRAG", "graphrag"][2:] == ["18", "10", "72"]
    assert sum(int(n) for n, *_ in whole.values()) == 5331


def test_a_flow_chart_has_the_operators_in_order_and_the_arms():
    pipeline = docs_site.method_pipeline("hipporag2")
    chart = "\n".join(docs_site.flow_chart(pipeline, "operators.html"))
    steps = [(step.operator.name, step.max_calls() > 0) for step in pipeline.operators()]
    boxes = re.findall(r'\["([^"<]+)<br>(.+)"\](:::model)?', chart)
    assert [(name, bool(model)) for name, _, model in boxes] == steps
    frames = re.findall(r'subgraph \w+\["(.+)"\]', chart)
    assert {"convert", "facts", "otherwise", "branch merge=max", "switch slot=nodes"} <= {*frames}
    assert len(frames) == len(re.findall(r"(?m)^end$", chart))


def test_the_version_is_the_same_everywhere_and_has_a_commit(tmp_path, monkeypatch):
    number = graphrag_bench.__version__
    assert command("--version").out == f"graphrag-bench {number}\n"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == number
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "graphrag_bench/version.py"
    assert "version" not in project["project"]
    (program,) = entry_points(group="console_scripts", name="graphrag-bench")
    assert program.load() is main
    monkeypatch.setattr(version, "_ROOT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    commit = version.commit.__wrapped__  # without the cache
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    assert commit() == "unknown"
    words = "-c user.name=a -c user.email=a@b commit -q -m first"
    subprocess.run(["git", "-C", tmp_path, *words.split()], check=True)
    assert len(commit()) == 10
    (tmp_path / "new").touch()
    assert len(commit()) == 11 and commit().endswith("+")


def test_a_command_is_one_file_and_one_line(home, monkeypatch):
    (home / "hello.py").write_text(
        "'Say hello.'\n\ndef declare(parser):\n    parser.add_word('name', 'NAME', 'a name')\n"
        "def main(options):\n    print('hello', options.name)\n"
    )
    monkeypatch.setattr(graphrag_bench.cli, "__path__", [*graphrag_bench.cli.__path__, str(home)])
    monkeypatch.setitem(GROUPS, "run", {**GROUPS["run"], "hello": "Say hello."})
    assert command("hello", "you").out == "hello you\n"
    assert "Say hello." in command("--help").out


@pytest.mark.usefixtures("home", "open_registries")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_print_what_they_say(name):
    same = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(name), optionflags=same).failed == 0


def test_every_method_has_a_reference_or_is_known_to_have_no_paper():
    text = (ROOT / "methods" / "references.bib").read_text("utf-8")
    keys = re.findall(r"(?m)^@\w+\{([^,]+),$", text)
    assert len(set(keys)) == len(keys) > 20
    named = ", ".join(re.findall(r"(?m)^ *methods = \{(.*)\}", text)).split(", ")
    without_a_paper = {"entitypassage", "example_new_method", "oracle"}
    assert set(named) | without_a_paper == set(names("method"))


def test_the_example_plug_in_is_an_entry_point_and_its_methods_are_not_in_the_core():
    folder = ROOT / "docs" / "examples" / "graphrag_bench_more"
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    assert [*project["entry-points"][ENTRY_POINTS].values()] == [folder.name]
    methods = {file.stem for file in folder.glob(f"{folder.name}/configs/method/*.yaml")}
    assert methods == set(IN_PLUGIN) and not methods & set(names("method"))
