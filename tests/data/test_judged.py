"""BEIR's layout and ir_datasets: graded judgements, files, exports, damaged folders."""

import gzip
import re
from pathlib import Path

import pytest
from file_server import serving
from published_sets import written
from toy_runs import WEIGHTLESS, command, run_folder

from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.data.rankings import NO_PASSAGE
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError

HEAD = "query-id\tcorpus-id\tscore\r\n"
CORPUS = [
    {"_id": "tarn/1", "title": "Tarn", "text": "The Tarn flows to the sea.", "metadata": {}},
    {"_id": 7, "text": "Isk is a river of Tarn."}, {"_id": "a b", "title": None, "text": "Isk."},
]  # fmt: skip
QUERIES = [
    {"_id": "q1", "text": "Where does the Tarn flow?", "metadata": {"url": "u"}},
    {"_id": 2, "text": "What is Isk?"}, {"_id": "q3", "text": "Unjudged?"},
]  # fmt: skip
JUDGED = "q1\ttarn/1\t2\r\nq1\t7\t1\r\nq1\ta b\t0\r\nq1\tlost\t1\r\n2\ta b\t1\r\nq9\t7\t1\r\n"
SETTINGS = [*WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off", "dataset=beir"]


def beir_set(folder: Path, **files: object) -> Path:
    splits = {"qrels/test.tsv": HEAD + JUDGED, "qrels/dev.tsv": HEAD + "2\t7\t-1\n"}
    return written(folder, {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, **splits, **files})


@pytest.mark.parametrize(
    ("name", "hubs"),
    [
        ("river", {"BeIR/river": ("corpus.jsonl.gz", "queries.jsonl.gz"),
                   "BeIR/river-qrels": ("test.tsv", "dev.tsv", "README.md")}),
        ("lake/river", {"lake/river": ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv",
                                       "qrels/dev.jsonl.gz")}),
    ],
)  # fmt: skip
def test_a_beir_set_is_fetched_from_the_hub_by_name(tmp_path, monkeypatch, name, hubs):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    dev = [{"query-id": "2", "corpus-id": "7", "score": 1}]
    source = beir_set(tmp_path / "source", **{"qrels/dev.jsonl": dev})
    (source / "qrels" / "README.md").touch()
    with serving() as server:
        for of, files in hubs.items():
            folder = source / "qrels" if of.endswith("-qrels") else source
            plain = {file: (folder / file.removesuffix(".gz")).read_bytes() for file in files}
            packed = {file: gzip.compress(plain[file]) for file in files if file.endswith(".gz")}
            server.publish(of, plain | packed, large=True)
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        words = ["dataset=beir", f"dataset.name={name}", f"paths.home={tmp_path}"]
        ended = command("fetch", *words)
        assert f"dataset=beir dataset.name={name} method=bm25" in ended.out, ended.err
    data = read_dataset("beir", settings={"name": name}, home=tmp_path)
    assert content(data) == content(read_dataset("beir", source))
    run = run_folder(*SETTINGS[:-1], *words, "dataset.split=dev")
    assert run.parent.parent.name == f"beir-{name.replace('/', '-')}-dev"


def content(data: Dataset) -> tuple[object, ...]:
    return data.documents, data.questions, dict(data.gold)


def test_beir_asks_the_judged_queries_and_counts_the_rest(tmp_path, capsys):
    data = read_dataset("beir", beir_set(tmp_path / "river"))
    assert (data.name, data.corpus_name) == ("beir-river-test", "beir-river")
    assert data.documents[1:] == (Document("7", "", "Isk is a river of Tarn."),
                                  Document("a b", "", "Isk."))  # fmt: skip
    assert [question.id for question in data.questions] == ["q1", "2"]
    assert data.gold["q1"].graded == {"tarn/1": 2, "7": 1, "lost": 1}
    assert data.gold["2"].graded == {"a b": 1}
    (line,) = capsys.readouterr().err.splitlines()
    assert re.findall(r": (\d)\b", line) == ["1", "1", "1"]
    dev = read_dataset("beir", tmp_path / "river", settings={"split": "dev"})
    assert (dev.name, dev.gold["2"].evidence) == ("beir-river-dev", ())
    assert dev.corpus_digest == data.corpus_digest


def test_a_faulty_beir_set_is_refused_with_the_line(tmp_path):
    once = "q1\t7\t1\n"
    for rows in (f'"query-id"\t"corpus-id"\tscore\n{once}', HEAD + once + once):
        folder = beir_set(tmp_path, **{"qrels/test.tsv": rows})
        assert read_dataset("beir", folder).gold["q1"].evidence == ("7",)
    for file, content, named in (
        ("qrels/dev.tsv", HEAD, "tset.*'test'"),
        ("qrels/tset.tsv", JUDGED, "tset.tsv, line 1.*query-id.*corpus-id.*'q1"),
        ("qrels/tset.tsv", "q1 0 7 1\n", "line 1.*query-id.*'q1 0 7 1'"),
        ("qrels/tset.tsv", f"{HEAD}{once}q1\t7\t2\n", "line 3.*'q1'.*'7'"),
        ("qrels/tset.tsv", HEAD + "q1\t7\t0.5\n", "line 2.*'score'"),
        ("qrels/tset.tsv", HEAD + "q9\t7\t1\n", "tset.tsv"),
        ("corpus.jsonl", [*CORPUS, CORPUS[1]], "corpus.jsonl, line 4.*'7'.*document 2"),
        ("queries.jsonl", [{"_id": "q1"}], "queries.jsonl, line 1.*'text'"),
    ):
        folder = beir_set(tmp_path, **{file: content})
        with pytest.raises(UserError, match=named):
            read_dataset("beir", folder, settings={"split": "tset"})
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(UserError, match="corpus.jsonl.gz"):
        read_dataset("beir", written(folder, {"corpus.jsonl.gz": gzip.compress(b"{}")[:-9]}))


def test_a_set_without_place_split_or_name_is_refused(tmp_path):
    folder = written(tmp_path, {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES})
    for name, place, settings, named in (
        ("beir", None, {}, "dataset.root"),
        ("beir", None, {"name": "scifact"}, "fetch dataset=beir dataset.name=scifact"),
        ("beir", folder, {}, "qrels"),
        ("ir_datasets", None, {}, "dataset.name"),
        ("toy", None, {"split": "dev"}, "dataset.split"),
    ):
        with pytest.raises(UserError, match=named):
            read_dataset(name, place, settings=settings, home=tmp_path)


def test_the_export_of_a_run_is_the_same_set(tmp_path):
    home, root = f"paths.home={tmp_path}", f"dataset.root={beir_set(tmp_path / 'river')}"
    folder = run_folder(*SETTINGS, root, home, "method.top_k=3")
    out = tmp_path / "out"
    ended = command("runs", "export", str(folder), "--trec", str(out), "--beir", str(out))
    assert ended.code == 2 and "'a b'" in ended.err  # an id that TREC files do not allow
    assert command("runs", "export", str(folder), "--beir", str(out)).code == 0
    assert content(read_dataset("beir", out)) == content(read_dataset("beir", tmp_path / "river"))
    dev = run_folder(*SETTINGS, root, home, "dataset.split=dev")
    before = (queries := tmp_path / "river" / "queries.jsonl").read_bytes()
    ended = command("runs", "export", str(dev), "--beir", str(tmp_path / "river"))
    assert ended.code == 2 and "queries.jsonl" in ended.err and queries.read_bytes() == before
    assert command("runs", "export", str(dev), "--beir", str(tmp_path / "dev")).code == 0
    assert (tmp_path / "dev/qrels/dev.tsv").read_text().split()[3:] == ["2", NO_PASSAGE, "0"]
    own, river = (read_dataset("beir", tmp_path / of, settings={"split": "dev"})
                  for of in ("dev", "river"))  # fmt: skip
    assert content(own) == content(river)
    assert sorted(path.name for path in (tmp_path / "artifacts").iterdir()) == ["beir-river"]


def test_ir_datasets_are_read_by_name(tmp_path, monkeypatch):
    library = pytest.importorskip("ir_datasets")
    files = {"docs.tsv": "d1\tThe Tarn flows.\nd2\tIsk is a river.\n",
             "queries.tsv": "q1\tWhat is Isk?\nq2\tWhere?\n",
             "qrels.txt": "q1 0 d2 2\nq1 0 d1 0\nq1 0 d9 1\n"}  # fmt: skip
    paths = [str(written(tmp_path, files) / name) for name in files]
    registered = {f"rivers/{name}": library.create_dataset(*paths[:n])
                  for name, n in (("test", 3), ("bare", 2))}  # fmt: skip
    monkeypatch.setattr(library.registry, "_registered", registered)
    data = read_dataset("ir_datasets", settings={"name": "rivers/test"})
    assert data.name == "ir_datasets-rivers/test"
    assert data.documents[1] == Document("d2", "", "Isk is a river.")
    assert data.gold["q1"].graded == {"d2": 2, "d9": 1} and list(data.gold) == ["q1"]
    for name, named in {"rivers/bare": "qrels", "rivers/tset": "rivers/test"}.items():
        with pytest.raises(UserError, match=named):
            read_dataset("ir_datasets", settings={"name": name})
