"""`methods/references.bib` and the version: what a paper needs to name a run."""

import re
import tomllib
from pathlib import Path

import yaml
from toy_runs import command

import graphrag_bench
from graphrag_bench.config.sources import names

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_A_PAPER = {"entitypassage", "example_new_method", "oracle"}


def test_the_version_is_one_wherever_it_is_told() -> None:
    version = graphrag_bench.__version__
    assert command("--version").out == f"graphrag-bench {version}\n"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "graphrag_bench/version.py"
    assert "version" not in project["project"]


def test_every_method_is_of_a_paper_or_known_to_be_of_none() -> None:
    text = (ROOT / "methods" / "references.bib").read_text("utf-8")
    keys = re.findall(r"(?m)^@\w+\{([^,]+),$", text)
    assert len(set(keys)) == len(keys) > 20
    assert text.count("{") == text.count("}")
    named = ", ".join(re.findall(r"(?m)^ *methods = \{(.*)\}", text)).split(", ")
    assert set(named) | WITHOUT_A_PAPER == set(names("method"))
