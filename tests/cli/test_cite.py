"""`graphrag-bench runs cite` and `--version`: what a paper needs to name a run."""

import json
import re
import tomllib
from pathlib import Path

import yaml
from toy_runs import TOY, WEIGHTLESS, command, run_folder

import graphrag_bench
from graphrag_bench.config.sources import names
from graphrag_bench.run.citation import TITLE, citations, references
from graphrag_bench.run.stored import find_run

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_A_PAPER = {"entitypassage", "example_new_method", "oracle"}
QUIET = ["answer=off", "reference_rows=off"]


def keys(bibtex: str) -> list[str]:
    return re.findall(r"(?m)^@\w+\{([^,]+),$", bibtex)


def test_the_version_is_one_wherever_it_is_told() -> None:
    version = graphrag_bench.__version__
    assert command("--version").out == f"graphrag-bench {version}\n"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["title"]) == (version, TITLE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "graphrag_bench/version.py"
    assert "version" not in project["project"]


def test_every_method_is_of_a_paper_or_known_to_be_of_none() -> None:
    papers = references(["operators", "methods"])
    assert len({one.key for one in papers}) == len(papers) > 20
    named = set().union(*(one.of.get("methods", ()) for one in papers))
    assert named | WITHOUT_A_PAPER == set(names("method"))
    for one in papers:
        assert one.text.count("{") == one.text.count("}")
        assert "methods =" not in one.text


def test_a_run_cites_its_method_its_profile_its_set_and_the_framework(tmp_path: Path) -> None:
    home = f"paths.home={tmp_path}"
    toy = run_folder(*TOY, *QUIET, "method=hipporag", "profile=zhou2025", home)
    printed = command("runs", "cite", str(toy)).out
    assert keys(printed) == ["zhou2025indepth", "gutierrez2024hipporag", "graphrag_bench"]
    assert "commit " in printed
    pooled = run_folder(*TOY, *QUIET, "method=lgraphrag", "pooling=rerank", home)
    runs = [find_run(folder.name, tmp_path) for folder in (toy, pooled)]
    both = keys("\n".join(citations(runs)))
    assert "wang2025pathpooling" in both
    assert both.count("graphrag_bench") == both.count("zhou2025indepth") == 1


def test_a_published_set_is_cited_as_its_card_says(tmp_path: Path) -> None:
    (folder := tmp_path / "musique").mkdir()
    question = {"id": "q", "question": "Who?", "answer": "Una", "paragraphs": []}
    (folder / "corpus.json").write_text(json.dumps([{"title": "A", "text": "Una rows."}]))
    (folder / "questions.json").write_text(json.dumps([question]))
    settings = ["dataset=musique", f"dataset.root={folder}", *WEIGHTLESS, *QUIET, "method=bm25"]
    run = run_folder(*settings, f"paths.home={tmp_path / 'home'}")
    (entry,) = (one for one in citations([find_run(str(run), ".")]) if "MuSiQue" in one)
    assert "note = {Trivedi et al., MuSiQue" in entry and "year = {2022}" in entry
