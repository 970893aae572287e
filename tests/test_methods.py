"""Every method has a page, says how far it is verified, and how it links names."""

import re
from pathlib import Path

import pytest

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.sources import method_file, names
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.method import check_parameters
from graphrag_bench.run.plan import method_files

ROOT = Path(__file__).resolve().parents[1]
METHODS = names("method")


def page_of(name: str) -> Path:
    """Return the page that a method's file names, else the page of its name."""
    return ROOT / "methods" / method_file(name).get("page", name) / "README.md"


PARAMETERS = {
    "name": "mine", "base": 3, "middle": "${method.base}", "top_k": "${method.middle}",
    "sizes": {"small": "${method.half}"}, "half": 2, "near": [], "far": 5,
    "retrieve": [{"op": "chunk.bm25", "top_k": "${method.top_k}", "a": "${method[near]}"}],
    "generate": [{"switch": "x", "cases": {"y": ["${method.sizes.small}-${.....far}"]}}],
}  # fmt: skip


def test_a_parameter_is_read_directly_or_through_another() -> None:
    check_parameters(PARAMETERS, PARAMETERS)
    unread = {**PARAMETERS, "loop": "${method.other}", "other": "${method.loop} ${method.base}"}
    with pytest.raises(UserError) as error:
        check_parameters(unread, unread)
    assert [name for name in unread if f"'method.{name}'" in str(error.value)] == ["loop", "other"]


def test_every_method_has_a_page_that_agrees_on_verified() -> None:
    marks: dict[Path, set[str]] = {page_of(name): set() for name in METHODS}
    for name in METHODS:
        if "verified" in method_file(name):
            marks[page_of(name)].add(str(method_file(name)["verified"]).lower())
    for page, mark in marks.items():
        text = page.read_text(encoding="utf-8")
        assert len(text.split()) >= 20, page
        assert set(re.findall(r"`verified: (\w+)`", text)) == mark, page


def test_every_method_that_links_names_has_the_setting_linking() -> None:
    linking = {name for name in METHODS if "linking" in method_file(name)}
    assert linking == {n for n in METHODS if re.search(r"node\.link|'linker'", str(method_file(n)))}
    assert {"dalk", "fastgraphrag", "hipporag", "linearrag", "tog"} <= linking


def test_the_files_of_a_method_in_reading_order() -> None:
    settings = ["method=vgraphrag", "dataset=toy", "llm=scripted", "embedder=hashing"]
    names = [
        path.relative_to(ROOT).as_posix()
        for path in method_files(Experiment.prepare(compose_settings(settings), swept=True))
    ]
    assert names[:2] == ["configs/method/vgraphrag.yaml", "methods/msgraphrag/README.md"]
    assert names[-1] == "methods/msgraphrag/prompts/local_answer.j2"
    assert names.index("graphrag_bench/graphs/text_graph.py") < names.index("operators/search.py")


def test_a_method_imports_no_other_method() -> None:
    for path in (ROOT / "methods").glob("*/*.py"):
        imported = re.findall(r"^\s*from methods\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
        assert {*imported} <= {path.parent.name}, path
