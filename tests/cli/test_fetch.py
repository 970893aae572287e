"""`graphrag-bench fetch`, and `run` on what it left; a folder of texts from the command line."""

from collections.abc import Iterator

import pytest
from data.test_fetching import NEWS, hub, news_files
from file_server import FileServer, serving
from toy_runs import WEIGHTLESS, command, metrics, refused, run_folder

from graphrag_bench.run.stored import find_run

BM25 = [*WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A hub of the tests, which the environment names."""
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address + "/")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        yield server


def test_what_was_fetched_is_found_by_run_without_a_root(server: FileServer) -> None:
    hub(server, NEWS, news_files(), large=True)
    ended = command("fetch", "dataset=multihoprag")
    assert ended.code == 0, ended.err
    assert "ODC-BY" in ended.out and "c0ffee" in ended.out
    assert "609" in ended.err
    folder = run_folder("dataset=multihoprag", *BM25)
    assert metrics(folder)["n"] == 2
    assert find_run(str(folder), ".").scores  # gold of a fetched set is found again


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
