import hashlib
import io
import json
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from file_server import COMMIT, FileServer, serving
from published_sets import news, written

from graphrag_bench.data.dataset import UNKNOWN, Card, Download, Source, load_card
from graphrag_bench.data.fetching import MANIFEST, Fetched, differences, fetch, unpack
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress

BODY = bytes(range(256)) * 1000
SHA = hashlib.sha256(BODY).hexdigest()
QUIET = Progress(quiet=True)
NEWS = "yixuantt/MultiHopRAG"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as running:
        running.files["/a.bin"] = BODY
        yield running


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the waits between retries, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda n: seconds.append(n) if n else None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return seconds


def fetched(name: str, server: FileServer, folder: Path) -> list[Fetched]:
    return fetch(load_card(name), folder, endpoint=server.address, progress=QUIET)


def news_files() -> dict[str, bytes]:
    return {name: json.dumps(content).encode() for name, content in news().items()}


@pytest.mark.parametrize(("large", "checked"), [(True, "hub"), (False, "")])
def test_a_set_of_the_hub_is_fetched_once_with_checksums(server, tmp_path, large, checked):
    server.publish(NEWS, news_files(), large=large)
    result = fetched("multihoprag", server, tmp_path)
    assert [one.holds for one in result] == [("corpus.json",), ("MultiHopRAG.json",)]
    assert [(one.revision, one.checked) for one in result] == [(COMMIT, checked)] * 2
    assert len(read_dataset("multihoprag", tmp_path).questions) == 2
    n_requests = len(server.requests)
    assert fetched("multihoprag", server, tmp_path) == result
    assert len(server.requests) == n_requests
    own = written(tmp_path / "own", {"corpus.json": "mine"})
    with pytest.raises(UserError, match="corpus.json"):
        fetched("multihoprag", server, own)
    assert (own / "corpus.json").read_text() == "mine"


def test_an_interrupted_fetch_continues_with_the_missing_files(server, tmp_path):
    server.publish(NEWS, news_files())
    gone = f"/datasets/{NEWS}/resolve/{COMMIT}/MultiHopRAG.json"
    content = server.files.pop(gone)
    with pytest.raises(UserError, match="404"):
        fetched("multihoprag", server, tmp_path)
    assert not (tmp_path / MANIFEST).exists()
    server.files[gone] = content
    server.requests.clear()
    fetched("multihoprag", server, tmp_path)
    assert [path for path in server.requests if path.startswith("/datasets")] == [gone]


def test_an_unavailable_set_is_an_error_with_instructions(tmp_path, monkeypatch):
    absent = "http://127.0.0.1:9"
    for name, address, offline, named in (
        ("novelqa", absent, False, "NovelQA"), ("popqa", absent, False, "HF_ENDPOINT"),
        ("popqa", "http://[bad", False, "HF_ENDPOINT"), ("popqa", absent, True, "HF_HUB_OFFLINE"),
    ):  # fmt: skip
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        with pytest.raises(UserError, match=named):
            fetch(load_card(name), tmp_path, endpoint=address, progress=QUIET)


def card_of(url: str, sha256: str = UNKNOWN, size: int | None = None) -> Card:
    download = Download(url=url, sha256=sha256, size=size)
    source = Source(url="https://publisher", downloads=[download])
    return load_card("toy").model_copy(update={"source": source})


def test_a_wrong_size_or_checksum_or_an_absent_server_is_an_error_and_a_busy_one_is_retried(
    server, tmp_path, waited
):
    for sha256, size in (("0" * 64, None), (UNKNOWN, 9)):
        with pytest.raises(UserError, match="/a.bin"):
            fetch(card_of(f"{server.address}/a.bin", sha256, size), tmp_path, progress=QUIET)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []
    assert len(server.requests) == 2
    server.faults = [503]
    card = card_of(f"{server.address}/a.bin", SHA, len(BODY))
    (result,) = fetch(card, tmp_path / "busy", progress=QUIET)
    assert (result.sha256, result.checked, len(waited)) == (SHA, "card", 1)
    with pytest.raises(UserError, match="https://publisher"):
        fetch(card_of("http://127.0.0.1:9/a"), tmp_path / "none", progress=QUIET)


def zipped(members: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for one in members.items():
            archive.writestr(*one)
    return content.getvalue()


def test_only_the_wanted_members_of_an_archive_stay_on_disk(server, tmp_path):
    line = json.dumps({"id": "fd_1", "pid": "p", "input": "ANN: Hi.", "output": "They meet."})
    members = {"summ_screen_fd/validation.jsonl": line, "summ_screen_fd/test.jsonl": "{}"}
    server.publish("tau/scrolls", {"summ_screen_fd.zip": zipped(members)}, large=True)
    (result,) = fetched("summscreen", server, tmp_path)
    assert result.holds == ("validation.jsonl",)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [MANIFEST, "validation.jsonl"]
    data = read_dataset("summscreen", tmp_path)
    (tmp_path / MANIFEST).write_text('{"files": [{"url":')
    with pytest.raises(UserError, match=MANIFEST):
        fetched("summscreen", server, tmp_path)
    assert ["338" in one for one in differences(data)] == [True, True]
    pinned = data.card.model_copy(update={"pinned": {"questions": {0: "q9", 99: "q1"}}})
    *_, other, none = differences(replace(data, card=pinned))
    assert "q9" in other and "99" in none


def test_members_stay_inside_the_folder_and_lacking_ones_are_errors(tmp_path):
    names = {"../../evil.jsonl": "1", "/abs/dev.jsonl": "2", "in/here.jsonl": "3"}
    written(tmp_path, {"a.zip": zipped(names), "in/a.txt": ""})
    assert unpack(tmp_path / "a.zip", {"*.jsonl": ""}, tmp_path / "in") == ["here.jsonl"]
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["here.jsonl"]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("ALCE/dev.json")
        link.type, link.linkname = tarfile.SYMTYPE, "asqa.json"
        archive.addfile(link)
    with pytest.raises(UserError, match="dev.json"):
        unpack(tmp_path / "a.tar", {"*dev.json": ""}, tmp_path)
    for content, named in (
        (zipped({"a/x.json": "1", "b/x.json": "2"}), "'x.json'"),
        (zipped({"a/x.txt": "1"}), "a/x.txt"),
        (b"no archive", "a.zip"),
    ):
        with pytest.raises(UserError, match=named):
            unpack(written(tmp_path, {"a.zip": content}) / "a.zip", {"*.json": ""}, tmp_path)
