"""What the drivers of released engines share: pipe, settings, documents of our chunks, names."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graphrag_bench.engines.known import ENGINES, SHARED
from graphrag_bench.models.engine_faults import EngineFailed
from graphrag_bench.models.engine_process import DriverProcess

PROGRAM = """
import os, sys
sys.path.append({folder!r})
from driving import serve

class Driver:
    def hello(self):
        print("a library greets")
        return {{"engine": "none"}}
    async def ask(self, question):
        if question == "fail":
            raise ValueError("I was told to")
        return {{"answer": question, "home": "HOME" in os.environ, "there": "TOP_K" in os.environ}}

serve(Driver())
"""


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("driving", SHARED)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRIVING = loaded()


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DriverProcess:
    monkeypatch.setenv("TOP_K", "3")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=str(SHARED.parent)))
    return DriverProcess([sys.executable, "-P", str(program)], tmp_path / "log")


def test_calls_are_answered_in_turn_and_what_is_printed_goes_to_the_log(
    process: DriverProcess, tmp_path: Path
) -> None:
    assert process.call("hello", {}, 20) == {"engine": "none"}
    assert process.call("ask", {"question": "Ünï\n?"}, 20)["answer"] == "Ünï\n?"
    with pytest.raises(EngineFailed, match="ValueError: I was told to"):
        process.call("ask", {"question": "fail"}, 20)
    assert process.call("ask", {"question": "again"}, 20)["answer"] == "again"
    process.close()
    log = (tmp_path / "log").read_text()
    assert "a library greets" in log
    assert "raise ValueError" in log


def test_an_engine_sees_no_variable_that_could_be_a_setting_of_it(process: DriverProcess) -> None:
    found = process.call("ask", {"question": "?"}, 20)
    assert (found["home"], found["there"]) == (True, False)
    process.close()


def test_settings_go_to_the_first_group_that_has_their_name() -> None:
    asked, built = DRIVING.divided({"top_k": 3, "size": 5}, ["top_k"], ["size", "top_k"])
    assert (asked, built) == ({"top_k": 3}, {"size": 5})
    with pytest.raises(ValueError, match=r"there is no setting topk. Did you mean top_k\?"):
        DRIVING.divided({"topk": 3}, ["top_k"], ["size"])


def test_chunks_are_put_into_their_documents_and_equal_documents_are_one() -> None:
    def row(name: str, document: str, text: str) -> dict[str, str]:
        return {"id": name, "document": document, "text": text}

    chunks = [row("chunk-0", "a", "x"), row("chunk-1", "b", "y"), row("chunk-2", "a", "z"),
              row("chunk-3", "c", "y"), row("chunk-4", "d", " ")]  # fmt: skip
    assert [[one["id"] for one in rows] for rows in DRIVING.by_document(chunks)] == [
        ["chunk-0", "chunk-2"],
        ["chunk-1"],
    ]


def test_documents_are_inserted_with_their_titles_and_each_text_once() -> None:
    rows = [{"title": "T", "text": "x"}, {"title": "T", "text": "x"}, {"title": "", "text": " "}]
    assert DRIVING.released_texts(rows) == ["T\nx"]


def test_a_key_names_a_chunk_of_ours_unless_several_have_its_text(tmp_path: Path) -> None:
    DRIVING.ChunkNames(tmp_path).keep([("k", "chunk-0"), ("m", "chunk-1"), ("m", "chunk-2")])
    names = DRIVING.ChunkNames(tmp_path)
    assert [names.one(key) for key in ("k", "m", "n")] == ["chunk-0", None, None]
    texts = {"n": " a text "}
    own = "chunk-" + hashlib.md5(b"a text").hexdigest()
    assert names.all(["m", "n", "k", "unknown"], texts) == ["chunk-1", "chunk-2", own, "chunk-0"]


def test_the_ranks_are_those_of_gpt_4o_and_marks_are_text() -> None:
    ranks = DRIVING.Ranks()
    assert ranks.encode("hello world") == [24912, 2375]  # as tiktoken's o200k_base has them
    text = "a <|endoftext|> b"
    assert ranks.decode(ranks.encode(text)) == text
    assert ranks.decode_batch(ranks.encode_batch(["a", "b"], num_threads=2)) == ["a", "b"]


def test_drivers_import_nothing_of_this_project() -> None:
    drivers = [one.driver for one in ENGINES.values() if not one.stops]
    assert len(drivers) == 5
    for path in [*drivers, SHARED]:
        assert "graphrag_bench" not in path.read_text(encoding="utf-8"), path.name


def test_a_driver_without_its_engine_says_which_package_is_missing(tmp_path: Path) -> None:
    calls = json.dumps({"id": 1, "call": "hello", "arguments": {}}) + "\n"
    ended = subprocess.run(
        [sys.executable, "-P", str(ENGINES["lightrag-hku"].driver)],
        input=calls, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    error = json.loads(ended.stdout)["error"]
    assert error["type"] == "PackageNotFoundError"
    assert "lightrag-hku" in error["message"]
