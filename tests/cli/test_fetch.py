"""`graphrag-bench fetch`, and `run` on what it left; a folder of texts from the command line."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer, serving
from published_sets import news
from toy_runs import WEIGHTLESS, command, metrics, refusal, refused, run_folder

from graphrag_bench.run.stored import find_run

BM25 = [*WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A hub of the tests, which the environment names."""
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address + "/")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        yield server


def publish(hub: FileServer, name: str, files: dict[str, object]) -> None:
    rows = []
    for path, content in files.items():
        body = json.dumps(content).encode()
        hub.files[f"/datasets/{name}/resolve/c0ffee/{path}"] = body
        sha256 = hashlib.sha256(body).hexdigest()
        lfs = {"sha256": sha256, "size": len(body), "pointerSize": 134}
        rows.append({"rfilename": path, "size": len(body), "lfs": lfs})
    listing = json.dumps({"id": name, "sha": "c0ffee", "siblings": rows}).encode()
    hub.files[f"/api/datasets/{name}/revision/main"] = listing


def test_what_was_fetched_is_found_by_run_without_a_root(hub: FileServer, home: Path) -> None:
    assert "graphrag-bench fetch dataset=multihoprag" in refusal("dataset=multihoprag", *BM25)
    publish(hub, "yixuantt/MultiHopRAG", news())
    ended = command("fetch", "dataset=multihoprag")
    assert ended.code == 0, ended.err
    for shown in ("ODC-BY", "c0ffee", "2 documents, 2 questions in data/multihoprag"):
        assert shown in ended.out
    assert "2 documents" in ended.err and "609" in ended.err
    folder = run_folder("dataset=multihoprag", *BM25)
    assert folder.parts[-3:-1] == ("multihoprag", "bm25")
    assert metrics(folder)["n"] == 2
    assert find_run(str(folder), ".").scores, "gold of a fetched set is found again"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["dataset=musiqe"], "'musique'"),
        (["dataset=novelqa"], "https://huggingface.co/datasets/NovelQA/NovelQA"),
        (["dataset=toy"], "toy"),
        (["data.root=x", "dataset=musique"], "'dataset.root='"),
        (["dataset.root=x"], "dataset=NAME"),
    ],
)
def test_a_fetch_that_cannot_be_is_refused_with_what_would_be_right(
    words: list[str], name: str
) -> None:
    assert name in refused(*words, name="fetch")
