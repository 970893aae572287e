"""Generated pages, the board, the site and the references match the code."""

import csv
import json
import re
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml
from toy_runs import command

import graphrag_bench
from graphrag_bench.cli.main import main
from graphrag_bench.config.sources import names
from graphrag_bench.tables.board import BOARD
from scripts import docs_site, judge_bias, write_board, write_docs, write_results

ROOT = Path(__file__).resolve().parent.parent
WITHOUT_A_PAPER = {"entitypassage", "example_new_method", "oracle"}


@pytest.mark.parametrize("script", [write_docs, write_results])
def test_the_pages_are_up_to_date(script):
    pages = script.pages().items()
    stale = [path.name for path, text in pages if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run python {script.__file__}"


def test_the_numbers_in_prose_are_those_of_their_methods():
    assert write_results.parted() == []
    page = "`bm25` and `vanilla` have recall@5 0.509 and 0.625.\n\nLinearRAG has 0.625.\n"
    assert [figure for figure, _ in write_results.unsupported(page)] == ["0.625"]


def is_swapped(requests):
    """Whether the second half of a request file swaps the answers of the first half."""
    lines = map(json.loads, requests.read_text("utf-8").splitlines())
    pattern = r"(?s)(.*)\*\*Answer 1:\*\*(.*)\*\*Answer 2:\*\*(.*?)Evaluate both"
    texts = [re.findall(pattern, one["body"]["messages"][-1]["content"])[0] for one in lines]
    asked = [(question, x.strip(), y.strip()) for question, x, y in texts]
    half = len(asked) // 2
    return asked[half:] == [(question, y, x) for question, x, y in asked[:half]]


def test_the_counts_of_published_verdicts_are_those_of_the_logs():
    logs = ROOT.parent / "shared" / "data" / "judge_logs"
    if not logs.is_dir():
        pytest.skip("no judge logs in ../shared/data")
    every = [list(judge_bias.HEADS), *judge_bias.rows(logs)]
    assert list(csv.reader(judge_bias.CSV.read_text("utf-8").splitlines())) == every
    whole = {tuple(row[:3]): row[4:9] for row in every if row[3] in ("", "Overall Winner")}
    assert whole["agriculture", "HiRAG", "graphrag"][2:] == ["18", "10", "72"]
    assert sum(int(n) for n, *_ in whole.values()) == 5331
    requests = [path for path in logs.glob("mix/mix_eval*.jsonl") if "result" not in path.name]
    assert len(requests) == 3 and all(map(is_swapped, requests))


def test_the_board_has_the_numbers_of_its_files():
    every = write_board.results()
    assert write_board.page(every) == write_board.PAGE.read_text(encoding="utf-8")
    assert 2 * len(every) == len(list((ROOT / BOARD).iterdir()))


def test_a_flow_chart_has_the_operators_in_order_and_the_arms():
    pipeline = docs_site.method_pipeline("hipporag2")
    chart = "\n".join(docs_site.flow_chart(pipeline, "operators.html"))
    steps = pipeline.operators()
    boxes = re.findall(r'\["([^"<]+)<br>(.+)"\](:::model)?', chart)
    assert [name for name, _, _ in boxes] == [step.operator.name for step in steps]
    assert [bool(model) for _, _, model in boxes] == [step.max_calls() > 0 for step in steps]
    assert "question → mentions" in {slots for _, slots, _ in boxes}
    frames = set(re.findall(r'subgraph \w+\["(.+)"\]', chart))
    assert {"convert", "retrieve", "generate", "facts", "names", "empty", "otherwise"} <= frames
    assert {"branch merge=max", "switch slot=nodes"} <= frames
    assert chart.count("subgraph ") == len(re.findall(r"(?m)^end$", chart))


def test_the_version_is_the_same_everywhere_and_the_program_is_installed():
    version = graphrag_bench.__version__
    assert command("--version").out == f"graphrag-bench {version}\n"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "graphrag_bench/version.py"
    assert "version" not in project["project"]
    (program,) = entry_points(group="console_scripts", name="graphrag-bench")
    assert program.load() is main


def test_every_method_has_a_reference_or_is_known_to_have_no_paper():
    text = (ROOT / "methods" / "references.bib").read_text("utf-8")
    keys = re.findall(r"(?m)^@\w+\{([^,]+),$", text)
    assert len(set(keys)) == len(keys) > 20
    named = ", ".join(re.findall(r"(?m)^ *methods = \{(.*)\}", text)).split(", ")
    assert set(named) | WITHOUT_A_PAPER == set(names("method"))
