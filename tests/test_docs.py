"""The generated pages are what the code says today, and a guide's example is the file itself."""

import re
from pathlib import Path

import pytest
import yaml

from graphrag_bench.config.sources import built_in, method_file
from graphrag_bench.evaluation.metrics import ANSWER_METRICS, metrics
from graphrag_bench.tables.board import BOARD
from scripts import write_board, write_docs

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    """The pages as they should be, which every method is planned for."""
    return dict(write_docs.pages())


def test_the_generated_pages_are_up_to_date(pages: dict[Path, str]) -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in pages.items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"run python scripts/write_docs.py: {', '.join(stale)}"


def test_the_readme_s_table_has_every_method_and_the_figures_of_the_pages() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"(?m)^\| \[(.+?)\]\(methods/\w+/README.md\) \| (.+?) \|.*\| (.+?) \|$", readme
    )
    names = {name for _, methods, _ in rows for name in re.findall(r"`(\w+)`", methods)}
    assert names == {*built_in("method")} - {"example_new_method"}
    results = ROOT / "docs" / "results"
    pages = ("routes.md", "llm_free.md", "musique_train100.md")
    text = "\n".join((results / page).read_text(encoding="utf-8") for page in pages)
    for title, _, recall in rows:
        measured = re.findall(rf"(?m)^\| {re.escape(title)} \|(.*)$", text)
        assert any(f" {recall} |" in row for row in measured) == (recall != "–"), title


def test_the_board_has_the_numbers_of_its_files() -> None:
    every = write_board.results()
    assert write_board.page(every) == write_board.PAGE.read_text(encoding="utf-8")
    assert len(every) == len(list((ROOT / BOARD).iterdir()))


def test_the_table_of_profiles_has_what_profiles_change(pages: dict[Path, str]) -> None:
    page = pages[ROOT / "docs" / "methods.md"]
    table = page.partition("## Which setting each profile changes")[2]
    for name in built_in("method"):
        for changed in (method_file(name).get("profiles") or {}).values():
            for path in changed:
                shown = path if path.startswith("build.") else f"method.{path}"
                assert f"| `{name}` | `{shown}` |" in table
    assert "| `gretriever` | `method.budget` | none | `512` |  | `512` |  |" in table
    assert "| `raptor` | `build.graph.bic_patience` | `10` | none | none | none |  |" in table
    assert "| `dalk` | `method.khop` | `2` | *unstated* | `5` | `5` |  |" in table


def test_the_method_that_the_guide_begins_with_is_the_example_file() -> None:
    guide = (ROOT / "docs" / "guides" / "method.md").read_text(encoding="utf-8")
    shown = re.search(r"```yaml\n(.*?)```", guide, re.S)
    assert shown is not None
    file = ROOT / "configs" / "method" / "example_new_method.yaml"
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    steps = yaml.safe_load(shown[1])
    assert steps == {key: whole[key] for key in steps}


def test_the_page_of_metrics_names_every_metric() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    names = {*ANSWER_METRICS, *(metric.name.removesuffix("_in_graph") for metric in metrics())}
    assert not [name for name in sorted(names) if f"`{name}`" not in page]
