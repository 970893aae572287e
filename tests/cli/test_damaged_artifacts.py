"""Any change of any file of an artifact ends in one clear error, or in the same result."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import random
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from toy_runs import TOY, command, ran, refused

from graphrag_bench.columns import Texts
from graphrag_bench.contract import builders
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.manifest import BLOCK, MANIFEST, Damaged, read_manifest, seal, verify
from graphrag_bench.offline.shapes import misfits
from graphrag_bench.offline.sharing import check_columns
from graphrag_bench.offline.store import loaded

pytestmark = pytest.mark.slow

METHODS = ("hipporag", "raptor", "bm25", "ggraphrag", "llightrag", "linearrag")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifacts of six methods on the toy set."""
    home = tmp_path_factory.mktemp("built")
    for method in METHODS:
        ran(*TOY, f"method={method}", "answer=off", "reference_rows=off", f"paths.home={home}")
    return home / "artifacts"


@pytest.fixture
def artifacts(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "artifacts"))


def folders(artifacts: Path) -> list[Path]:
    return sorted(path.parent for path in artifacts.glob("*/*/*/recipe.json"))


def content(folder: Path) -> str:
    """A digest of all that an artifact is once it is loaded, as a run loads it."""
    verify(folder, "always")
    recipe = json.loads((folder / "recipe.json").read_text())
    if "same_as" in recipe:
        return recipe["same_as"]
    made = loaded(builders.get(recipe["builder"]).produces, folder)
    return hashlib.sha256(pickle.dumps(_plain(made))).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "indptr"):
        return [_plain(np.asarray(getattr(value, n))) for n in ("data", "indices", "indptr")]
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return [_plain(getattr(value, name)) for name in value.__dataclass_fields__]
    return _plain(vars(value)["scores"]) if hasattr(value, "vocab_dict") else value


def flip(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    held[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
    path.write_bytes(held)


def removed(path: Path, _: random.Random) -> None:
    path.unlink()


def a_pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def exchanged(path: Path, chance: random.Random) -> None:
    other = chance.choice([one for one in sorted(path.parent.iterdir()) if one != path])
    if other.is_file():
        path.write_bytes(other.read_bytes())


def one_more(path: Path, _: random.Random) -> None:
    shutil.copyfile(path, path.with_name("fallback.npy"))


MUTATIONS: tuple[Callable[[Path, random.Random], None], ...] = (
    flip, removed, a_pipe, exchanged, one_more,
)  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
def test_a_changed_file_is_named_or_changes_nothing(
    artifacts: Path, built: Path, mutation: Callable[[Path, random.Random], None]
) -> None:
    chance = random.Random(mutation.__name__)
    n_refused = 0
    for folder in folders(artifacts):
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            whole = built / folder.relative_to(artifacts)
            mutation(path, chance)
            try:
                assert content(folder) == content(whole), path
            except UserError as error:
                n_refused += 1
                assert str(folder) in str(error), path
                names = {path.name, "fallback.npy"}
                assert any(name in str(error) for name in names), (path, error)
            shutil.rmtree(folder)
            shutil.copytree(whole, folder)
    assert n_refused > 100


def test_without_hashes_columns_that_do_not_fit_are_still_refused(artifacts: Path) -> None:
    """As `paths.verify=off` reads them, and as an archive with new hashes would bring them."""
    graph = with_relationships(artifacts)
    ends = np.load(graph / "source.npy")
    ends[0] = 10**9
    np.save(graph / "source.npy", ends)
    with pytest.raises(Damaged, match="an end is not one of the"):
        loaded(Graph, graph)
    for part, wrong in (("indices", 10**6), ("indptr", 10**6)):
        folder = next(artifacts.glob("toy/chunk_table/*"))
        column = np.load(folder / f"chunk_document.{part}.npy")
        column[-1] = wrong
        np.save(folder / f"chunk_document.{part}.npy", column)
        with pytest.raises(Damaged):
            check_columns(folder)


def test_offsets_that_go_back_do_not_fit_their_texts() -> None:
    graph = Graph.from_arrays([0], [1], names=["a", "b"])
    assert list(misfits(graph)) == []
    back = Texts(graph.names.blob, np.array([0, 2, 1], np.int64))
    wrong = Graph(**{**vars(graph), "names": back})
    assert "names: the offsets do not fit the texts" in list(misfits(wrong))


def test_each_block_of_a_large_file_has_a_hash(tmp_path: Path) -> None:
    folder = tmp_path / "0123"
    folder.mkdir()
    with (folder / "large.npy").open("wb") as file:
        file.truncate(2 * BLOCK + 1)
    (folder / "recipe.json").write_text("{}")
    seal(folder)
    blocks = read_manifest(folder)["large.npy"].sha256
    assert len(blocks) == 3 and blocks[0] == blocks[1] == hashlib.sha256(bytes(BLOCK)).hexdigest()
    assert blocks[2] == hashlib.sha256(b"\0").hexdigest()
    with (folder / "large.npy").open("r+b") as file:
        file.seek(BLOCK + 5)
        file.write(b"x")
    with pytest.raises(Damaged, match="large.npy holds other bytes"):
        verify(folder)


def test_a_run_names_the_damaged_artifact_and_checks_each_once(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built.parent, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    words = [*TOY, "method=hipporag", "answer=off", "reference_rows=off", "method.damping=0.3"]
    words = [*words, "paths.home=home"]
    path = next(Path("home/artifacts/toy/graph").glob("*/weight.npy"))
    whole = path.read_bytes()
    for folder in Path("home/artifacts/toy/graph").iterdir():
        flip(folder / "weight.npy", random.Random(7))
    said = refused(*words)
    assert "is damaged (weight.npy holds other bytes than were written)" in said
    assert command("artifacts", "verify", "--home", "home").code == 1
    shown = command("artifacts", "verify", "toy", "--home", "home").out
    assert "weight.npy holds other bytes" in shown and "whole" in shown
    assert ran(*words, "paths.verify=off").code == 0
    assert whole != path.read_bytes()


def test_an_artifact_of_an_earlier_version_gets_its_manifest_when_asked(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built.parent, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for path in Path("home").rglob(MANIFEST):
        path.unlink()
    words = [*TOY, "method=hipporag", "answer=off", "reference_rows=off", "method.damping=0.3"]
    said = refused(*words, "paths.home=home")
    assert "has no manifest.json" in said and "artifacts verify --seal" in said
    assert "--seal writes one" in command("artifacts", "verify", "--home", "home").out
    assert command("artifacts", "verify", "--seal", "--home", "home").code == 0
    assert ran(*words, "paths.home=home").code == 0


# ---- archives


@pytest.fixture
def archive(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The graph and all it is built from, exported into the working folder."""
    monkeypatch.chdir(tmp_path)
    key = with_relationships(built).name
    done = command("artifacts", "export", key, "graph.tar.gz", "--home", str(built.parent))
    assert done.code == 0, done.err
    return tmp_path / "graph.tar.gz"


def with_relationships(artifacts: Path) -> Path:
    """A graph that has relationships; that of trees has none."""
    graphs = sorted(artifacts.glob("toy/graph/*/source.npy"))
    return next(path.parent for path in graphs if len(np.load(path)))


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as held:
        for info in held:
            content = held.extractfile(info)
            assert content is not None
            yield info.name, content.read()


def packed(path: Path, held: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in held.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))


def forged(archive: Path, to: Path) -> None:
    """The archive with another weight in its graph and every hash made to fit."""
    shutil.rmtree("unpacked", ignore_errors=True)
    with tarfile.open(archive) as held:
        held.extractall("unpacked", filter="data")
    (weights,) = Path("unpacked").glob("toy/graph/*/source.npy")
    ends = np.load(weights)
    ends[0] = 10**6
    np.save(weights, ends)
    (weights.parent / MANIFEST).unlink()
    seal(weights.parent)
    told = json.loads(Path("unpacked/manifest.json").read_text())
    place = weights.parent.relative_to("unpacked").as_posix()
    told["content"][place] = json.loads((weights.parent / MANIFEST).read_text())["content"]
    Path("unpacked/manifest.json").write_text(json.dumps(told))
    files = sorted(path for path in Path("unpacked").rglob("*") if path.is_file())
    packed(to, {str(path.relative_to("unpacked")): path.read_bytes() for path in files})


def test_an_archive_with_any_file_changed_is_refused(archive: Path) -> None:
    held = dict(members(archive))
    for name, text in held.items():
        packed(Path("bad.tar.gz"), {**held, name: text[:-1] + bytes([text[-1] ^ 1])})
        said = refused("import", "bad.tar.gz", "--home", "theirs", name="artifacts")
        assert "bad.tar.gz" in said, name
        packed(Path("bad.tar.gz"), {one: held[one] for one in held if one != name})
        refused("import", "bad.tar.gz", "--home", "theirs", name="artifacts")
    assert not [path for path in Path("theirs").rglob("*") if path.is_file()]


def test_new_hashes_do_not_hide_columns_that_do_not_fit(archive: Path) -> None:
    forged(archive, Path("bad.tar.gz"))
    said = refused("import", "bad.tar.gz", "--home", "theirs", name="artifacts")
    assert "source: an end is not one of the" in said and "Nothing was taken from it" in said
