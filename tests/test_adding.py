"""To add one, touch the files that docs/architecture.md names, and no others."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from toy_runs import TOY, command, ran

import graphrag_bench.cli
from graphrag_bench.cli.main import GROUPS
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.files import project_folder

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ten_questions_of_a_newcomer_are_answered_by_files_that_are_there() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| .* \| `([\w/.]+)` \|$", contributing, re.MULTILINE)
    assert [(ROOT / name).is_file() for name in files] == [True] * 10


def test_a_command_is_a_file_and_a_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "hello.py").write_text(
        "'Say hello.'\n\ndef declare(parser):\n    parser.word('name', 'NAME', 'who is greeted')\n"
        "def main(options):\n    print('hello', options.name)\n"
    )
    monkeypatch.setattr(graphrag_bench.cli, "__path__", [*graphrag_bench.cli.__path__, str(here)])
    monkeypatch.setitem(GROUPS, "run", {**GROUPS["run"], "hello": "Say hello."})
    assert command("hello", "you").out == "hello you\n"
    assert "Say hello." in command("--help").out


def test_a_data_set_is_a_card(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "datasets"
    shutil.copytree(project_folder("datasets") / "toy", folder / "ours")
    card = yaml.safe_load((folder / "ours" / "card.yaml").read_text())
    (folder / "ours" / "card.yaml").write_text(yaml.safe_dump({**card, "name": "ours"}))
    for module in ("dataset", "readers"):
        monkeypatch.setattr(f"graphrag_bench.data.{module}.project_folder", lambda _: folder)
    ours = read_dataset("ours")
    assert (ours.name, len(ours.documents), len(ours.questions)) == ("ours", 8, 6)


BUILDERS = '''
from pathlib import Path

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.embedding.vector_index import index_texts
from graphrag_bench.progress import Progress


@artifact("graph.chain")
def chain(*, chunk_table: ChunkTable) -> Graph:
    """Each chunk joined with the next one."""
    n = len(chunk_table)
    return Graph.from_arrays(range(n - 1), range(1, n), names=[f"chunk {row}" for row in range(n)])


@artifact("node_index.backwards")
def backwards(
    *, graph: Graph, embedder: Embedder, progress: Progress
) -> VectorIndex:
    """The vectors of the node names, spelt backwards."""
    names = [name[::-1] for name in graph.names]
    return index_texts(names, embedder, progress, "names backwards")
'''
METHOD = """name: chained
build: {graph: chain, node_index: backwards}
retrieve:
  - {op: node.vdb, top_k: 2}
generate:
  - {op: context.nodes}
  - {op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}
"""


def test_a_graph_type_and_an_index_are_builders_in_one_file(
    here: Path, open_registries: None
) -> None:
    (here / "chainlab").mkdir()
    (here / "chainlab" / "__init__.py").write_text("from chainlab import chains\n")
    (here / "chainlab" / "chains.py").write_text(BUILDERS)
    (here / "chained.yaml").write_text(METHOD)
    ran(*TOY, "reference_rows=off", "answer=off", "method=./chained.yaml", "plugins=[chainlab]")
    assert [*here.glob("artifacts/toy/graph/*")] and [*here.glob("artifacts/toy/node_index/*")]
