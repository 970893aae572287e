"""Readers of questions whose evidence is given as web addresses or time stamps."""

import re
from pathlib import Path
from urllib.parse import urldefrag
from zipfile import BadZipFile, ZipFile

from pydantic import Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.rows import FileRow, Rows, read_text, records, records_by_id
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question


class _Reference(FileRow):
    title: str
    url: str
    archive_url: str = ""


class _WildQuestion(FileRow):
    question: str
    question_type: list[str] = Field(min_length=1)
    answer: str = ""
    gold_statements: list[str] = []
    ref_urls: list[str]


def wildgraphbench(corpus: Path, questions: Path) -> Rows:
    """Read WildGraphBench: `corpus/TOPIC/ARTICLE` (web pages) and `QA/TOPIC/questions.jsonl`.

    Each topic is a scope. A question with a missing page has no evidence, and a note counts such
    questions. Source: arXiv 2602.02053.
    """
    rows, left_out = Rows(), list[str]()
    for file in sorted(questions.glob("*/questions.jsonl")):
        topic, pages = file.parent.name, dict[str, str]()
        for references in sorted((corpus / topic).glob("*/references.jsonl")):
            pages |= _pages(rows, references, topic)
        for number, (place, row) in enumerate(records(file, _WildQuestion)):
            name = f"{topic}/{number}"
            found = {url: pages.get(url) or pages.get(urldefrag(url).url) for url in row.ref_urls}
            lost = [url for url, page in found.items() if page is None]
            left_out += [f"{name} ({url})" for url in lost[:1]]
            evidence = () if lost else tuple(dict.fromkeys(filter(None, found.values())))
            answers = tuple(filter(None, (row.answer, " ".join(row.gold_statements))))
            type_, statements = row.question_type[0].replace("_", "-"), tuple(row.gold_statements)
            gold = Gold(answers, evidence, type_, statements=statements)
            rows.add_question(place, Question(name, row.question, topic), gold)
    if left_out:
        n, first = f"{len(left_out)} of {len(rows.questions)}", ", ".join(left_out[:3])
        rows.notes.append(f"evidence recall leaves out {n} questions without gold pages: {first}")
    return rows


def _pages(rows: Rows, references: Path, topic: str) -> dict[str, str]:
    """Add the pages that an article cites, and return {address: document id}."""
    for file in sorted(references.parent.glob("reference_pages/*.txt")):
        title, _, text = read_text(file).removeprefix("# ").partition("\n")
        page = Document(f"{topic}/{file.stem}", title.strip(), text.strip(), topic)
        rows.add_document(f"{file}", page)
    exact, owners = dict[str, str](), dict[str, str]()
    for _, row in records(references, _Reference):
        name = f"{topic}/{_page_name(row.title)}"
        if name in rows.documents and owners.setdefault(name, row.url) == row.url:
            exact |= dict.fromkeys(filter(None, (row.url, row.archive_url)), name)
    return {urldefrag(url).url: name for url, name in reversed(exact.items())} | exact


def _page_name(title: str) -> str:
    """Return the file name for the title of a page, like the benchmark's function `slugify`."""
    kept = re.sub(r"[^A-Za-z0-9\- ]+", "", re.sub(r"\s+", " ", title).replace("_", " "))
    return (re.sub(" {2,}", " ", kept).strip(" -") or "page")[:80].rstrip("-")


class _LiHuaQuestion(FileRow):
    question: str
    answer: str
    evidence: str
    type: str


def lihua_world(corpus: Path, questions: Path) -> Rows:
    """Read LiHua-World: `LiHuaWorld.zip` (chats) and `query_set.json` (questions).

    The evidence of a question is given as time stamps, which are the ids of chats. In rows with
    shifted columns, the stamps follow the answer after a tab. Source: Fan et al. 2025 (MiniRAG).
    """
    rows = Rows()
    try:
        with ZipFile(corpus) as archive:
            for name in sorted(name for name in archive.namelist() if name.endswith(".txt")):
                text = archive.read(name).decode("utf-8-sig").strip()
                rows.add_document(f"{corpus}, {name}", Document(Path(name).stem, "", text))
    except (OSError, BadZipFile, UnicodeDecodeError) as error:
        raise UserError(f"{corpus}: not a zip of UTF-8 texts ({error}).") from None
    for number, place, row in records_by_id(questions, _LiHuaQuestion):
        answer, _, shifted = row.answer.partition("\t")
        stamps = re.findall(r"\d{8}_\d{4}", (shifted or row.evidence).replace(":", ""))
        evidence = () if row.type == "Null" else tuple(dict.fromkeys(stamps)) or (row.evidence,)
        gold = Gold((answer,), evidence, row.type)
        rows.add_question(place, Question(number, row.question), gold)
    return rows
