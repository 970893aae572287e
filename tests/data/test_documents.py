"""Invented rows in the formats of WildGraphBench and LiHua-World."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from published_sets import written

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError

TARN = {
    "title": "Tarn: a “town”_– history (10/07)",
    "url": "https://t/1#top",
    "archive_url": "https://a/1",
}
TITLES = {2: "Archived", 3: "Archived", 4: "Never fetched"}
REFERENCES = [
    TARN, *({"title": of, "url": f"https://t/{n}", "archive_url": ""} for n, of in TITLES.items())
]  # fmt: skip
PAGES = "corpus/nature/Tarn/reference_pages"


def asked(*urls: str, **fields: object) -> dict[str, object]:
    return {"question": "Who?", "question_type": ["single-fact"], "ref_urls": urls, **fields}


def test_addresses_of_wildgraphbench_lead_to_pages(tmp_path):
    two = {"gold_statements": ["A.", "B."], "question_type": ["multi_fact"]}
    questions = [
        asked("https://t/1", "https://a/1", answer="Una"),
        asked("https://t/1#top", "https://t/2", **two),
        *(asked("https://t/2", f"https://t/{n}", answer="Bo") for n in (3, 4, 5)),
    ]  # fmt: skip
    files: dict[str, object] = {
        f"{PAGES}/Tarn a town history 1007.txt": "# Tarn: a town\n\nUna lives.\n",
        f"{PAGES}/Archived.txt": "# Archived\nBo lives.",
        "corpus/nature/Tarn/references.jsonl": REFERENCES,
        "corpus/nature/Tarn/Tarn.txt": "The article itself is not a page.",
        "QA/nature/questions.jsonl": questions,
    }
    data = read_dataset("wildgraphbench", written(tmp_path, files))
    tarn, archived = "nature/Tarn a town history 1007", "nature/Archived"
    assert data.documents == (
        Document(archived, "Archived", "Bo lives.", "nature"),
        Document(tarn, "Tarn: a town", "Una lives.", "nature"),
    )
    assert data.gold["nature/0"] == Gold(("Una",), (tarn,), "single-fact")
    both = Gold(("A. B.",), (tarn, archived), "multi-fact", statements=("A.", "B."))
    assert data.gold["nature/1"] == both
    assert all(data.gold[f"nature/{n}"] == Gold(("Bo",), (), "single-fact") for n in (2, 3, 4))
    assert {one.scope for one in data.questions} == {"nature"}
    (note,) = data.notes
    assert "3 of 5" in note and "nature/2 (https://t/3)" in note
    written(tmp_path, {**files, "QA/nature/questions.jsonl": [asked(question_type=[])]})
    with pytest.raises(UserError, match="line 1.*question_type"):
        read_dataset("wildgraphbench", tmp_path)


def lihua(folder: Path, questions: object) -> Path:
    with ZipFile(folder / "LiHuaWorld.zip", "w") as archive:
        for day, name in (("21", "20260121_1000"), ("22", "20260122_0900")):
            archive.writestr(f"LiHua-World/week{day}/{name}.txt", f"Time: {day}\nLiHua: Hi.\n")
    (folder / "query_set.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


def test_time_stamps_of_lihua_world_lead_to_chats(tmp_path):
    row = {"question": "Who?", "answer": "Una", "type": "Single"}
    evidence = ["20260122_09:00<and>20260121_10:00", "20260121_1000", "Time: 20260121_10:00"]
    rows = [{**row, "evidence": one} for one in evidence]
    rows += [{**row, "evidence": "What", "answer": "Una\t20260121_10:00"}]
    rows += [{**row, "evidence": "N/A", "type": "Null", "answer": "Insufficient information"}]
    data = read_dataset("lihua_world", lihua(tmp_path, dict(enumerate(rows))))
    first, second = "20260121_1000", "20260122_0900"
    assert data.documents[0] == Document(first, "", "Time: 21\nLiHua: Hi.")
    assert data.gold["0"] == Gold(("Una",), (second, first), "Single")
    assert all(data.gold[n] == Gold(("Una",), (first,), "Single") for n in "123")
    assert data.gold["4"] == Gold(("Insufficient information",), (), "Null")
    for lost in ("20260199_1000", "What"):
        with pytest.raises(UserError, match=f"query_set.json, 7.*'{lost}'"):
            read_dataset("lihua_world", lihua(tmp_path, {"7": {**row, "evidence": lost}}))
    for broken in ("LiHuaWorld.zip", "query_set.json"):
        with pytest.raises(UserError, match=broken):
            read_dataset("lihua_world", written(lihua(tmp_path, {}), {broken: "["}))
