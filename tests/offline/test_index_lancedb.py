"""index=lancedb: every index of texts in a table, with the rows, scores and records of faiss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_runs import TOY, command, ran, records, refused

from graphrag_bench.contract import builders
from graphrag_bench.models.lance_rows import LanceRows
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.searched import PROBES, embeds

pytest.importorskip("lancedb", reason="needs the extra lancedb")

QUIET = ["answer=off", "reference_rows=off"]
METHODS = ("hlightrag", "cheaprag", "linearrag", "raptor", "subgraphrag", "ketrag", "hoprag")
SAME = ("question", "documents", "chunks", "context")
"""What a record holds of what was retrieved."""


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The artifacts of the methods on the toy set, by where vectors are searched."""
    return {index: tmp_path_factory.mktemp(index) for index in ("faiss", "lancedb")}


@pytest.fixture(scope="module")
def retrieved(homes: dict[str, Path]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The records of every method, by method and index."""
    return {
        (method, index): records(
            ran(*TOY, f"method={method}", *QUIET, f"index={index}", f"paths.home={home}").folder
        )
        for method in METHODS
        for index, home in homes.items()
    }


def indices(home: Path) -> dict[tuple[str, int], VectorIndex]:
    """Every index of texts that was built, by its builder and, among its own, by its vectors."""
    found: dict[str, list[VectorIndex]] = {}
    for recipe in sorted(home.glob("artifacts/*/*/*/recipe.json")):
        name = json.loads(recipe.read_text())["builder"]
        if embeds(builders.get(name)):
            found.setdefault(name, []).append(VectorIndex.load(recipe.parent))
    for several in found.values():
        several.sort(key=lambda index: (len(index), np.asarray(index.vectors).tobytes()))
    return {(name, i): index for name in found for i, index in enumerate(found[name])}


def test_records_are_those_of_faiss(
    retrieved: dict[tuple[str, str], list[dict[str, Any]]],
) -> None:
    for method in METHODS:
        plain, kept = retrieved[method, "faiss"], retrieved[method, "lancedb"]
        assert plain and len(kept) == len(plain)
        for mine, theirs in zip(kept, plain, strict=True):
            shared = [name for name in SAME if name in theirs]
            assert {"question", "documents"} <= set(shared)
            assert {name: mine[name] for name in shared} == {n: theirs[n] for n in shared}


def test_every_index_finds_the_ids_and_scores_of_faiss(
    homes: dict[str, Path], retrieved: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    assert retrieved
    plain, kept = indices(homes["faiss"]), indices(homes["lancedb"])
    assert set(plain) == set(kept)
    known = {builder.name for builder in builders.all() if embeds(builder)}
    # of graphs that are not made of an extraction, of descriptions with names, and of attributes,
    # of which the tagger here reads none: the same code
    others = {"name_index.graph", "node_index.description", "attribute_index"}
    assert known - {name for name, _ in kept} <= others
    for name, index in kept.items():
        assert isinstance(index.vectors, LanceRows), name
        assert np.asarray(index.vectors).tobytes() == np.asarray(plain[name].vectors).tobytes()
        rng = np.random.default_rng(0)
        queries = rng.standard_normal((6, index.vectors.shape[1])).astype(np.float32)
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        queries[0] = plain[name].vectors[0]
        for k in (3, len(index)):
            both = zip(index.search(queries, k), plain[name].search(queries, k), strict=True)
            for found, expected in both:
                assert found.ids.tolist() == expected.ids.tolist(), name
                assert found.scores.tobytes() == expected.scores.tobytes(), name


def test_the_plan_says_where_every_index_is_searched() -> None:
    words = [*TOY, "method=linearrag", *QUIET]
    assert command("plan", *words).out.count("index=faiss") == 3
    told = command("plan", *words, "index=lancedb", "build.chunk_index.index=faiss",
                   "build.sentence_index.approximate_from=5").out  # fmt: skip
    lines = {line.split()[1]: line for line in told.splitlines() if "index=" in line}
    assert "index=faiss" in lines["chunk_index"]
    assert lines["name_index.graph"].endswith("index=lancedb, approximate_from=None")
    lists = f"index=lancedb, approximate_from=5, lists=None, probes={PROBES}"
    assert lists in lines["sentence_index"]


def test_the_keys_of_faiss_are_those_without_the_setting() -> None:
    words = [*TOY, "method=linearrag", *QUIET]
    plain = command("plan", *words).out
    assert command("plan", *words, "index=faiss").out == plain
    other = command("plan", *words, "build.chunk_index.index=lancedb").out
    key = {line.split()[1]: line.split()[2] for line in plain.splitlines() if "index=" in line}
    theirs = {line.split()[1]: line.split()[2] for line in other.splitlines() if "index=" in line}
    assert {name for name in key if key[name] != theirs[name]} == {"chunk_index"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["index=lancdb"], "'faiss' or 'lancedb'"),
        (["build.chunk_index.approximate_from=5"], "faiss searches exactly"),
        (["index=lancedb", "build.chunk_index.probes=5"], "add approximate_from"),
        (["index=lancedb", "build.chunk_index.stored_as=float16"], "stored_as=float32"),
        (["build.chunk_index.indx=lancedb"], "'index'"),
        (["method=bm25", "index=lancedb"], "embeds no texts"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    words: list[str], said: str, tmp_path: Path
) -> None:
    method = [] if any(word.startswith("method=") for word in words) else ["method=vanilla"]
    assert said in refused(*TOY, *method, *words, *QUIET, f"paths.home={tmp_path}")
    assert not list(tmp_path.glob("artifacts/*/*"))


def test_lists_are_told_and_kept_in_the_statistics(tmp_path: Path) -> None:
    ended = ran(*TOY, "method=vanilla", *QUIET, "index=lancedb", f"paths.home={tmp_path}",
                "build.chunk_index.approximate_from=2", "build.chunk_index.lists=2",
                "build.chunk_index.probes=7")  # fmt: skip
    (recipe,) = tmp_path.glob("artifacts/*/chunk_index/*/recipe.json")
    statistics = json.loads(recipe.read_text())["statistics"]
    assert (statistics["lists"], statistics["probes"]) == (2, 2)
    plain = ran(*TOY, "method=vanilla", *QUIET, f"paths.home={tmp_path}")
    both = zip(records(ended.folder), records(plain.folder), strict=True)
    assert all(mine["documents"] == theirs["documents"] for mine, theirs in both)


def test_a_table_is_packed_taken_over_and_read_there(
    homes: dict[str, Path],
    retrieved: dict[tuple[str, str], list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(homes["lancedb"] / "artifacts", tmp_path / "artifacts")
    monkeypatch.chdir(tmp_path)
    key = next(Path("artifacts/toy/chunk_index").glob("*/recipe.json")).parent.name
    assert command("artifacts", "export", key, "index.tar.gz").code == 0
    taken = command("artifacts", "import", "index.tar.gz", "--home", "theirs")
    assert taken.code == 0, taken.err
    again = ran(*TOY, "method=hlightrag", *QUIET, "index=lancedb", "paths.home=theirs").folder
    assert [row["documents"] for row in records(again)] == [
        row["documents"] for row in retrieved["hlightrag", "lancedb"]
    ]
    assert len(list(Path("theirs/artifacts/toy/chunk_index").glob("*"))) == 1


def test_a_changed_file_of_a_table_is_found(
    homes: dict[str, Path],
    retrieved: dict[tuple[str, str], list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert retrieved
    source = next((homes["lancedb"] / "artifacts/toy/chunk_index").glob("*/recipe.json")).parent
    files = sorted(path for path in source.rglob("vectors.lance/**/*") if path.is_file())
    assert len(files) >= 3
    monkeypatch.chdir(tmp_path)
    for number, file in enumerate(files):
        home = tmp_path / str(number)
        copied = home / "artifacts/toy/chunk_index" / source.name
        shutil.copytree(source, copied)
        assert command("artifacts", "verify", "toy", "--home", str(home)).code == 0
        held = bytearray((copied / file.relative_to(source)).read_bytes())
        held[len(held) // 2] ^= 255
        (copied / file.relative_to(source)).write_bytes(held)
        told = command("artifacts", "verify", "toy", "--home", str(home))
        assert told.code != 0 and source.name in told.out + told.err
        (copied / file.relative_to(source)).unlink()
        assert command("artifacts", "verify", "toy", "--home", str(home)).code != 0
