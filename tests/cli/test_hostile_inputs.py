"""Input that no parser likes ends with exit code 2 and one message, never with a traceback."""

from __future__ import annotations

import gzip
import json
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, refused, write_set

from graphrag_bench.data.archives import unpack
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.slow

QUESTIONS = [{"id": "q", "text": "Who?", "answers": ["Ada"], "evidence": ["d"]}]
CORPUS = [{"id": "d", "title": "T", "text": "Ada Marsh made it."}]
SET = [
    "dataset=jsonl",
    "dataset.root=set",
    *WEIGHTLESS,
    "method=bm25",
    "reference_rows=off",
    "answer=off",
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
LINES = {
    "a lone surrogate in a text": r'{"id": "d", "title": "T", "text": "Ada \ud800 Marsh"}',
    "a lone surrogate in an id": r'{"id": "d\udfff", "title": "T", "text": "Ada"}',
    "deep JSON": f'{{"id": "d", "title": "T", "text": "x", "more": {DEEP}}}',
    "an id of 6,000 digits": f'{{"id": {"9" * 6000}, "title": "T", "text": "Ada"}}',
    "an infinite id": '{"id": 1e999, "title": "T", "text": 5}\n{"id": Infinity}',
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("file", ["corpus", "questions"])
def test_rows_that_no_program_can_hold(name: str, file: str) -> None:
    write_set(Path("set"), CORPUS, QUESTIONS)
    line = LINES[name].replace('"title"', '"answers": [], "title"')
    (Path("set") / f"{file}.jsonl").write_text(line + "\n")
    said = refused(*SET)
    assert f"{file}.jsonl, line" in said and len(said) < 1000


def test_whole_files_of_json_too() -> None:
    for text in (DEEP, "9" * 6000, r'["\ud800"]'):
        write_set(Path("set"), CORPUS, QUESTIONS)
        for name in ("corpus", "questions"):
            (Path("set") / f"{name}.jsonl").unlink()
        Path("set/musique_corpus.json").write_text(text)
        Path("set/musique.json").write_text(text)
        refused("dataset=musique", "dataset.root=set", *SET[2:])


def test_a_name_of_a_file_that_is_not_utf_8() -> None:
    Path("docs").mkdir()
    with open(b"docs/\xff\xfe.txt", "w") as file:
        file.write("Ada Marsh made it.")
    words = ["dataset=folder", "dataset.root=docs", *SET[2:]]
    assert "not UTF-8" in refused(*words)


GRAPHML = """<?xml version="1.0" encoding="{}"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">
<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>
"""


@pytest.mark.parametrize("encoding", ["klingon", "utf-16", "idna", "rot13", "utf-7"])
def test_a_graphml_file_in_an_encoding_that_is_none(encoding: str) -> None:
    Path("g.graphml").write_text(GRAPHML.format(encoding))
    said = refused(*TOY, "method=hipporag", "answer=off", "graph.import_from=g.graphml")
    assert "g.graphml" in said


@pytest.mark.parametrize("level", [None, "zero", 1.5, [0], 10**30])
def test_a_graphrag_community_of_no_level(level: object) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").Table.from_pylist
    folder = Path("graphrag")
    folder.mkdir()

    def write(name: str, rows: list[dict[str, object]]) -> None:
        parquet.write_table(table(rows), folder / f"{name}.parquet")

    write("text_units", [{"id": "t", "text": "Ada made it.", "document_ids": ["d"]}])
    write("documents", [{"id": "d", "title": "T", "text": "Ada made it."}])
    write("entities", [{"id": "e", "title": "ADA", "type": "P", "description": "a person",
                        "text_unit_ids": ["t"]}])  # fmt: skip
    write("relationships", [{"id": "r", "source": "ADA", "target": "ADA", "description": "x",
                             "weight": 1.0, "text_unit_ids": ["t"]}])  # fmt: skip
    shown = str(level) if level == 10**30 else level
    write("communities", [{"community": 0, "level": shown, "parent": -1, "entity_ids": ["e"],
                           "text_unit_ids": ["t"], "title": "C"}])  # fmt: skip
    write("community_reports", [{"community": 0, "title": "C", "full_content": "x", "rank": 1.0}])
    words = [
        *TOY,
        "method=ggraphrag",
        "graph.import_from=graphrag",
        "answer=off",
        "reference_rows=off",
    ]
    assert "level" in refused(*words)


@pytest.mark.parametrize(
    "word",
    [
        "embedder=sentence_transformers embedder.model=/etc",
        "plugins=[../x]", "plugins=[.x]", "plugins=['']", "plugins=[a b]", "plugins=[os.path.x]",
        "paths.home=/proc/x", "paths.home=/dev/null", "paths.home=/dev/null/x",
        f"paths.home={'x' * 300}", "paths.shared_artifacts=/dev/null",
        f"limit={'9' * 6000}", f"seed={'9' * 6000}", "dataset.root=/etc/passwd",
        "dataset.root=/proc",
        "cache.path=/proc/x", "cache.path=/etc", "method.prompts=/dev/null",
    ],
    ids=lambda word: word[:40],
)  # fmt: skip
def test_settings_that_lead_nowhere(word: str) -> None:
    words = [*TOY, "method=vanilla", "reference_rows=off"]
    if "dataset.root" in word or "embedder" in word:
        words = ["dataset=jsonl", "dataset.root=set", *WEIGHTLESS[1:], "method=vanilla"]
        write_set(Path("set"), CORPUS, QUESTIONS)
    assert len(refused(*words, *word.split(" "))) < 9000


def encrypted(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "{}")
    held = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        held[held.index(magic) + at] |= 1
    path.write_bytes(held)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", bytes(200_000_000))


@pytest.mark.parametrize(
    ("make", "said"), [(encrypted, "password"), (bomb, "unpacks to more than")]
)
def test_an_archive_that_is_not_unpacked(make: Callable[[Path], None], said: str) -> None:
    make(Path("set.zip"))
    with pytest.raises(UserError, match=said):
        unpack(Path("set.zip"), {"*.json": ""}, Path())
    left = [path for path in Path().iterdir() if path.name != "set.zip"]
    assert sum(path.stat().st_size for path in left) < 1 << 20


def test_a_packed_file_of_replies_that_is_a_bomb() -> None:
    first = json.dumps({"format": "graphrag-bench replies", "version": 1}).encode()
    with gzip.open("replies.jsonl.gz", "wb") as file:
        file.write(first + b"\n")
        for _ in range(300):
            file.write(b" " * 1_000_000)
    assert Path("replies.jsonl.gz").stat().st_size < 400_000
    for words in (["stats", "--path", "replies.jsonl.gz"], ["import", "replies.jsonl.gz"]):
        said = refused(*words, name="cache")
        assert "replies.jsonl.gz unpacks to more than" in said
    replayed = ["llm=replay", "llm.path=replies.jsonl.gz", "dataset=toy", "embedder=hashing"]
    assert "unpacks to more than" in refused(*replayed, "method=vanilla")


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_an_archive_of_artifacts_that_is_a_bomb(ending: str) -> None:
    with tarfile.open("a.tar", f"w:{ending}") as archive:
        info = tarfile.TarInfo("toy/graph/0123/source.npy")
        info.size = 300_000_000
        with open("/dev/zero", "rb") as zeros:
            archive.addfile(info, zeros)
    began = time.monotonic()
    said = refused("import", "a.tar", "--home", "theirs", name="artifacts")
    assert "a.tar unpacks to more than" in said
    assert time.monotonic() - began < 10
    assert not [path for path in Path("theirs").rglob("*") if path.is_file()]
