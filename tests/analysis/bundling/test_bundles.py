"""Bundles: the same bytes, every table recomputed, every change found, and nothing that leaks."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from toy_runs import TOY, command, metrics, ran, write_set

from graphrag_bench.analysis.bundling import archive
from graphrag_bench.analysis.bundling.verifying import verified
from graphrag_bench.errors import UserError
from graphrag_bench.runs.checked_json import json_text


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two answered runs on toy, and one of them not answered."""
    home = tmp_path_factory.mktemp("home")
    words = [*TOY, "reference_rows=off", f"paths.home={home}"]
    ran("-m", *words, "method=bm25,hipporag")
    ran(*words, "method=vanilla", "answer=off")
    return home


def runs(home: Path) -> list[str]:
    return sorted(str(path.parent) for path in home.glob("runs/*/*/*/metrics.json"))


def packed(home: Path, file: Path, *words: str) -> Path:
    done = command("bundle", *runs(home), "-o", str(file), "--home", str(home), *words)
    assert done.code == 0, done.err
    return file


@pytest.fixture(scope="module")
def bundle(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(home, tmp_path_factory.mktemp("bundle") / "paper.zip")


def changed(bundle: Path, file: Path, name: str, text: str) -> Path:
    """The bundle with another text in one member, and hashes that fit it."""
    folder = file.with_suffix("")
    told, faults = archive.unpacked(bundle, folder)
    assert not faults
    (folder / name).write_text(text, encoding="utf-8")
    (folder / archive.MANIFEST).unlink()
    archive.write_archive(folder, file, {n: told[n] for n in told if n not in ("files", "format")})
    return file


def test_a_bundle_is_verified_and_is_the_same_bytes_again(
    home: Path, bundle: Path, tmp_path: Path
) -> None:
    found = verified(bundle)
    assert found.faults == []
    assert (found.n_runs, found.n_scored) == (3, 3)
    assert found.tables == ["tables/toy.csv", "tables/toy.md"]
    assert found.n_artifacts > 3
    shown = command("verify", str(bundle))
    assert shown.code == 0
    assert f"sha256: {found.sha256}" in shown.out
    assert command("verify", str(bundle), "--sha256", found.sha256[:12]).code == 0
    assert command("verify", str(bundle), "--sha256", "0" * 12).code == 1
    assert packed(home, tmp_path / "again.zip").read_bytes() == bundle.read_bytes()


def test_it_holds_what_a_reader_asks_for(home: Path, bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as opened:
        names = opened.namelist()
        table = opened.read("tables/toy.md").decode()
        versions = opened.read("versions.txt").decode()
        replies = opened.read("replies/replies.jsonl").decode().splitlines()
    for begins in ("data/toy-", "artifacts/toy/graph/", "artifacts/toy/extraction/", "scores/toy/"):
        assert any(name.startswith(begins) for name in names), begins
    assert any(name.startswith("prompts/") and name.endswith("answer.j2") for name in names)
    assert "HippoRAG" in table and "VanillaRAG" in table
    assert "numpy==" in versions
    n_calls = sum(
        len((Path(run) / "ledger.jsonl").read_text().splitlines())
        for run in runs(home)
        if (Path(run) / "ledger.jsonl").is_file()
    )
    assert 1 < len(replies) <= n_calls + 1
    cited = command("cite", str(bundle))
    assert cited.code == 0
    assert "gutierrez2024hipporag" in cited.out and "graphrag_bench" in cited.out


def test_every_altered_byte_is_found(bundle: Path, tmp_path: Path) -> None:
    """At both ends, where the structure of the archive is, and at 60 places between."""
    whole = bundle.read_bytes()
    rng = random.Random(0)
    places = [*range(40), *range(len(whole) - 130, len(whole))]
    places += rng.sample(range(len(whole)), 60)
    file = tmp_path / "paper.zip"
    for place in places:
        held = bytearray(whole)
        held[place] ^= 1 << rng.randrange(8)
        file.write_bytes(held)
        try:
            found = verified(file)
        except UserError as error:
            assert "no bundle" in str(error) or "holds" in str(error) or "unpacks" in str(error)
        else:
            assert found.faults, f"byte {place} of {len(whole)}"


def test_an_altered_file_is_named(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as opened:
        infos = opened.infolist()
        starts = [(info, info.header_offset + 30 + len(info.filename)) for info in infos]
    whole, file = bundle.read_bytes(), tmp_path / "paper.zip"
    for info, start in starts[::7]:
        held = bytearray(whole)
        held[start + info.compress_size // 2] ^= 255
        file.write_bytes(held)
        assert any(fault.startswith(info.filename) for fault in verified(file).faults)
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="no bundle"):
        verified(file)


def test_a_figure_that_was_changed_with_its_hashes_is_found(bundle: Path, tmp_path: Path) -> None:
    """In the scores, in the metrics, in an answer, in the gold and in a table."""
    folder = tmp_path / "read"
    told, _ = archive.unpacked(bundle, folder)
    row = next(row for row in told["runs"] if row["title"] == "HippoRAG")

    def faults(name: str, text: str) -> list[str]:
        return verified(changed(bundle, tmp_path / "changed.zip", name, text)).faults

    scores = (folder / row["scores"]).read_text()
    assert faults(row["scores"], scores.replace('"mrr": 1.0', '"mrr": 0.5', 1))
    metrics_name = f"{row['run']}/metrics.json"
    held = metrics(folder / row["run"])
    held.pop("sha256", None)
    assert faults(metrics_name, json_text("metrics.json", {**held, "n": 7}))
    means = json.loads(json.dumps(held))
    means["metrics"]["evidence_recall@2"]["mean"] = 0.999
    (fault,) = faults(metrics_name, json_text("metrics.json", means))
    assert "evidence_recall@2" in fault
    records = (folder / row["run"] / "records.jsonl").read_text()
    (fault,) = faults(
        f"{row['run']}/records.jsonl", records.replace('"answer": "', '"answer": "x', 1)
    )
    assert "records.jsonl" in fault
    gold = (folder / row["data"]).read_text()
    assert faults(row["data"], gold.replace('"evidence": [\n"ada"', '"evidence": [\n"tarn"', 1))
    table = (folder / "tables/toy.md").read_text()
    (fault,) = faults("tables/toy.md", table.replace("HippoRAG", "HippoRAG!", 1))
    assert fault.startswith("tables/toy.md, line ")


def test_it_is_verified_without_a_model_or_the_data_sets_of_the_machine(
    bundle: Path, tmp_path: Path
) -> None:
    script = (
        "import sys\n"
        "from graphrag_bench.analysis.bundling.verifying import verified\n"
        f"found = verified(__import__('pathlib').Path({str(bundle)!r}))\n"
        "assert found.n_scored == 3 and not found.faults, found\n"
        "heavy = {'torch', 'faiss', 'sentence_transformers', 'xllamacpp', 'openai', 'spacy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A home with a run over a set of one's own, whose folder and questions have paths."""
    corpus = [{"id": "a", "text": "Una rows in Lake Quell."}, {"id": "b", "text": "Bo sinks."}]
    write_set(tmp_path / "mine", corpus, [{"id": "q", "text": "Who rows?", "evidence": ["a"]}])
    words = ["dataset=jsonl", f"dataset.root={tmp_path / 'mine'}", "method=bm25", *TOY[1:]]
    ran(*words, "answer=off", "reference_rows=off", f"paths.home={tmp_path / 'home'}")
    return tmp_path / "home"


def texts(bundle: Path) -> dict[str, str]:
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name).decode("utf-8", "replace") for name in opened.namelist()}


def test_texts_stay_at_home_where_no_licence_lets_them_go(own: Path, tmp_path: Path) -> None:
    file = packed(own, tmp_path / "shape.zip")
    held = texts(file)
    assert not any("Una" in text or "Quell" in text or "Who rows" in text for text in held.values())
    assert not any(name.startswith(("artifacts/", "replies/")) for name in held)
    found = verified(file)
    assert (found.faults, found.n_runs, found.n_scored) == ([], 1, 0)
    assert found.tables
    assert any("its licence is 'your own'" in note for note in found.notes)
    whole = packed(own, tmp_path / "whole.zip", "--with-data")
    assert any("Lake Quell" in text for text in texts(whole).values())
    assert verified(whole).n_scored == 1


def test_no_path_of_the_machine_is_inside(own: Path, home: Path, tmp_path: Path) -> None:
    for file in (packed(own, tmp_path / "a.zip", "--with-data"), packed(home, tmp_path / "b.zip")):
        for name, text in texts(file).items():
            for root in (str(tmp_path), str(home), str(Path.cwd()), str(Path.home()) + "/"):
                assert root not in text, name


def test_a_secret_stops_the_packing(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = runs(own)
    file = tmp_path / "paper.zip"
    monkeypatch.setenv("MY_API_KEY", "evidence_recall")
    done = command("bundle", run, "-o", str(file))
    assert done.code == 2
    assert "the environment variable MY_API_KEY" in done.err
    monkeypatch.delenv("MY_API_KEY")
    monkeypatch.setenv("MY_SHORT_KEY", "bm25")
    assert command("bundle", run, "-o", str(file)).code == 0
    path = Path(run) / "records.jsonl"
    row = json.loads(path.read_text())
    row["note"] = "sk-" + "a1" * 16
    copied = tmp_path / "copied" / "runs" / "jsonl" / "bm25" / Path(run).name
    shutil.copytree(run, copied)
    (copied / "files.json").unlink()
    (copied / "records.jsonl").write_text(json.dumps(row) + "\n")
    file.unlink()
    done = command("bundle", str(copied), "-o", str(file))
    assert done.code == 2
    assert "what looks like a key" in done.err
    assert not file.exists()


def test_what_cannot_be_packed_or_read_is_said(home: Path, tmp_path: Path) -> None:
    run = runs(home)[0]
    assert "There is no folder" in command("bundle", run, "-o", str(tmp_path / "no/x.zip")).err
    assert "is a folder" in command("bundle", run, "-o", str(tmp_path)).err
    assert "no bundle at" in command("verify", str(tmp_path / "none.zip")).err
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as made:
        made.writestr("a.txt", "a")
    assert "no bundle: it has no bundle.json" in command("verify", str(other)).err
    with zipfile.ZipFile(other, "w") as made:
        made.writestr("../a.txt", "a")
    assert "leads out of a folder" in command("verify", str(other)).err
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("bundle.json", b"0" * (1 << 27))
    assert "unpacks to more" in command("verify", str(other)).err
