import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from published_sets import written
from toy_runs import WEIGHTLESS

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.data.dataset import Dataset, item_documents
from graphrag_bench.data.readers import folder as folder_reader
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.readers.folder import page, sections
from graphrag_bench.errors import UserError
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.scoring import question_scores

NOTES = "# Boats\nAll float.\n## Red\nUna's.\n## Blue\nBo's.\n### Old\nSunk.\n"

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_HEADING = '<w:pPr><w:pStyle w:val="H1"/></w:pPr>'
_STYLE = '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>'


def write_pdf(path: Path, pages: list[str]) -> None:
    """A PDF with one line of text on each page; an empty text is an empty page."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * at} 0 R "
        objects += [f"{page}/Resources << /Font << /F1 3 0 R >> >> >>",
                    f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"]  # fmt: skip
    rows = (f"{number} 0 obj\n{content}\nendobj\n" for number, content in enumerate(objects, 1))
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"
    path.write_text("%PDF-1.4\n" + "".join(rows) + trailer, encoding="latin-1")


def write_docx(path: Path, heading: str, text: str) -> None:
    rows = (f"<w:p>{style}<w:r><w:t>{words}</w:t></w:r></w:p>"
            for style, words in ((_HEADING, heading), ("", text)))  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        document = f"<w:document {_W}><w:body>{''.join(rows)}</w:body></w:document>"
        archive.writestr("word/document.xml", document)
        archive.writestr("word/styles.xml", f"<w:styles {_W}>{_STYLE}</w:styles>")


def read(folder: Path, home: Path | None = None) -> Dataset:
    return read_dataset("folder", folder, home=home or folder.parent / "home")


def test_each_file_format_gives_documents(tmp_path):
    site = "<html><head><title>Fleet</title></head><body><h2>Red</h2><p>Una's boat.</p></body>"
    files = {"b.txt": "Second.", "a/z.txt": "First.", "a.txt": "A file before its folder.",
             "notes.md": NOTES, "one.md": "No heading.", "site.html": site,
             ".git/config": "x", ".DS_Store": "x"}  # fmt: skip
    folder = written(tmp_path / "texts", files)
    write_pdf(folder / "report.pdf", ["Una rows.", "", "Bo sinks."])
    write_docx(folder / "crew.docx", "Crew", "# of a_b: 2*3")
    data = read(folder)
    assert data.name == "folder-texts"
    assert [(one.id, one.title, one.text) for one in data.documents] == [
        ("a.txt", "", "A file before its folder."), ("a/z.txt", "", "First."),
        ("b.txt", "", "Second."), ("crew.docx", "Crew", "# of a_b: 2*3"),
        ("notes.md#1", "Boats", "All float."), ("notes.md#2", "Boats > Red", "Una's."),
        ("notes.md#3", "Boats > Blue", "Bo's."), ("notes.md#4", "Boats > Blue > Old", "Sunk."),
        ("one.md", "", "No heading."), ("report.pdf#p1", "", "Una rows."),
        ("report.pdf#p3", "", "Bo sinks."), ("site.html", "Fleet > Red", "Una's boat."),
    ]  # fmt: skip
    assert (data.questions, data.card.chunking) == ((), "token")


def test_headings_are_titles_and_other_lines_or_headings_without_text_are_text():
    comments = ("```sh\n{}\n```\ntext", "<!--\n{}\n-->\ntext", "---\ntitle: Boats\n{}\n---\ntext")
    no_headings = [*(one.format("# a comment") for one in comments), "- # listed\n\n> # in a quote"]
    for text, expected in (
        *((text, [("", text)]) for text in no_headings),
        ("Set\n===\none\r\n\r\n*Sub* `x`\r\n---\r\ntwo", [("Set", "one"), ("Set > Sub x", "two")]),
        ("lead\n# One\n## Two\nthree", [("", "lead"), ("One > Two", "three")]),
        ("## A\none\n# Last\ntwo", [("A", "one"), ("Last", "two")]),
        ("# T\n## 9 to 17\n## Since 1911\n## C\nx", [("T", "9 to 17\nSince 1911"), ("T > C", "x")]),
        ("# Alone", [("", "Alone")]),
    ):
        parts = sections(text)
        assert [(part.title, part.text) for part in parts] == expected
        assert [part.mark for part in parts] == [f"#{n + 1}" for n in range(len(parts))]


def test_a_web_page_has_the_visible_text():
    for text, expected in (
        ("<h1>A</h1><p># of staff</p><pre># no\n  x</pre>", [("A", "# of staff\n\n# no\n  x")]),
        ("<title>F</title><p>Lead<h1>The <b>M</b></h1>x", [("F", "Lead"), ("The M", "x")]),
        ("<table><tr><th>A<th>B<tr><td>c</td><td>1</td></table>", [("", "A\tB\nc\t1")]),
        ("<tr><td><p>A</p></td><td><p>b</p></td></tr><tr><td><p>c", [("", "A\tb\nc")]),
        ("a\n<i>b</i>c<br>d<ul><li>e\n<li> f</ul><script>g</script>", [("", "a bc\nd\n\ne\nf")]),
        ("<title>N</title><h1>A</h1>one<h1>B</h1>two", [("N > A", "one"), ("N > B", "two")]),
        ("<div>" * 3000 + "deep", [("", "deep")]),
    ):  # fmt: skip
        assert [(part.title, part.text) for part in page(text)] == expected


def test_unreadable_files_are_skipped_with_a_reason(tmp_path, capsys):
    with pytest.raises(UserError, match="a.png"):
        read(written(tmp_path / "images", {"a.png": "x"}))
    with pytest.raises(UserError, match="dataset.root"):
        read_dataset("folder")
    folder = written(tmp_path / "texts", {"good.txt": "Yes.", "empty.md": " \n", "sums.xlsx": "1"})
    write_pdf(folder / "cut.pdf", ["Una rows."])
    contents = {
        "russian.txt": "Москва".encode("cp1251"), "utf16.txt": "Una rows.".encode("utf-16-le"),
        **{f"{one}.txt": "東京は日本の首都です。".encode(one) for one in ("iso2022_jp", "sjis")},
        "crew.html": b"PK\x03\x04 Una rows.", "broken.pdf": b"%PDF-1.4 nothing",
        "cut.pdf": (folder / "cut.pdf").read_bytes()[:300], "broken.docx": b"no archive",
    }  # fmt: skip
    written(folder, contents)
    write_pdf(folder / "scan.pdf", [""])
    assert [document.id for document in read(folder).documents] == ["good.txt"]
    lines = dict(line.strip().split(": ", 1) for line in capsys.readouterr().err.splitlines()[1:])
    assert lines.keys() == {*contents, "empty.md", "sums.xlsx", "scan.pdf"}
    assert "UTF-8" in lines["russian.txt"] and ".pdf" in lines["sums.xlsx"]


def test_western_texts_marked_ones_and_pages_that_name_their_encoding_are_read(tmp_path, capsys):
    western = "Le café est à côté de l’hôtel «\xa0Béla\xa0» – 5 €."
    contents = {
        "a.txt": "東京 Una".encode("utf-16"),
        "b.html": '<meta charset="koi8-r"><p>Москва'.encode("koi8-r"),
        "c.html": '<meta charset="iso-8859-1"><p>5 €'.encode("cp1252"),
        "d.txt": western.encode("cp1252"),
    }
    texts = [document.text for document in read(written(tmp_path, contents)).documents]
    assert texts == ["東京 Una", "Москва", "5 €", western]
    said = capsys.readouterr().err
    assert "d.txt" in said and "a.txt" not in said


def test_missing_evidence_allows_a_plan_and_no_run(tmp_path):
    rows = [{"id": "q", "text": "Who?", "evidence": ["b.txt"]}]
    folder = written(tmp_path / "texts", {"a.txt": "Una met Bo.", "questions.jsonl": rows})
    with pytest.raises(UserError, match=r"'b.txt'.*'a.txt'"):
        read(folder)
    words = ["dataset=folder", f"dataset.root={folder}", f"paths.home={tmp_path}", *WEIGHTLESS]
    experiment = Experiment.prepare(compose_settings([*words, "method=bm25", "answer=off"]))
    assert [item.resource for item in experiment.plan] == ["chunk_table", "bm25"]
    with pytest.raises(UserError, match=r"'q'.*'b.txt'"):
        execute(experiment)


def test_a_file_is_converted_again_only_if_its_content_changes(tmp_path, monkeypatch):
    folder = written(tmp_path / "texts", {"a.txt": "A."})
    write_pdf(folder / "report.pdf", ["Una rows."])
    first = read(folder, tmp_path / "home")
    (rows,) = (tmp_path / "home" / "cache" / "documents").glob("*.json")
    assert "Una rows." in json.loads(rows.read_text())[0]
    with monkeypatch.context() as patched:
        patched.setattr(folder_reader, "_converted", None)
        assert read(folder, tmp_path / "home").documents == first.documents
    write_pdf(folder / "report.pdf", ["Bo rows."])
    assert read(folder, tmp_path / "home").documents[1].text == "Bo rows."


def test_a_question_without_an_id_has_a_stable_id(tmp_path):
    first, second = {"text": "Who rows?", "answers": ["Una"]}, {"text": "Who sinks?"}
    folder = written(tmp_path / "texts", {"a.txt": "Una.", "questions.jsonl": [first]})
    (before,) = read(folder).questions
    written(folder, {"questions.jsonl": [second, first]})
    assert read(folder).questions[1] == before
    assert read(folder).gold[before.id].answers == ("Una",)


def test_any_part_of_a_file_is_its_evidence(tmp_path):
    rows = [{"id": "q", "text": "Who?", "evidence": ["notes.md", "a.txt"]}]
    files = {"notes.md": NOTES, "a.txt": "Una.", "questions.jsonl": rows}
    gold = read(written(tmp_path / "texts", files)).gold["q"]
    assert item_documents(gold, "notes.md") == tuple(f"notes.md#{n}" for n in (1, 2, 3, 4))
    documents = ["notes.md#3", "notes.md#1", "b.txt"]
    one = question_scores({"question": "q", "documents": documents}, gold)
    assert (one["evidence_recall@2"], one["mrr"]) == (0.5, 1.0)
    assert one["ndcg@2"] == pytest.approx(1 / (1 + 1 / np.log2(3)))
