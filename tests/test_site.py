"""The site: its start page, and what the page of a method ends with."""

import re

import pytest

from graphrag_bench.run.experiment import Experiment
from scripts import docs_site, write_board


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return docs_site.prepared("hipporag2")


def test_a_flow_chart_has_every_operator_in_order_and_the_names_of_arms(
    experiment: Experiment,
) -> None:
    chart = "\n".join(docs_site.flow_chart(experiment.method.pipeline, "operators.html"))
    steps = experiment.method.pipeline.operators()
    boxes = re.findall(r'\["([^"<]+)<br>(.+)"\](:::model)?', chart)
    assert [name for name, _, _ in boxes] == [step.operator.name for step in steps]
    assert [bool(model) for _, _, model in boxes] == [step.bound() > 0 for step in steps]
    assert "question → mentions" in {slots for _, slots, _ in boxes}
    frames = set(re.findall(r'subgraph \w+\["(.+)"\]', chart))
    assert {"convert", "retrieve", "generate", "facts", "names", "empty", "otherwise"} <= frames
    assert {"branch merge=max", "switch slot=nodes"} <= frames
    assert chart.count("subgraph ") == len(re.findall(r"(?m)^end$", chart))
    page = (docs_site.ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    anchors = {name.replace(".", "") for name in re.findall(r"(?m)^#+ `(.+)`$", page)}
    assert set(re.findall(r"operators.html#(\w+)", chart)) <= anchors


def test_the_page_of_a_method_has_its_files(experiment: Experiment) -> None:
    text = "\n".join(docs_site.method_sections([experiment]))
    assert "(../../operators/node/link.py)" in text and "--files`" in text


def test_the_start_page_has_the_board_the_papers_tables_and_parity() -> None:
    every = write_board.results()
    page = docs_site.start_page(every)
    for one in every:
        assert f"({write_board.BOARD}.md#{write_board.anchor(one)})" in page
    assert re.search(r"`zhou2025` \| \d+ \| \d+ \|", page)
    assert "| hipporag2 | `hipporag2` |" in page
    targets = re.findall(r"\]\(([^)#]+\.md)", page)
    assert not [
        one for one in targets if not (docs_site.ROOT / one).is_file() and one != "about.md"
    ]
