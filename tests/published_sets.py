"""Small invented data sets in the formats of published ones."""

import json
from pathlib import Path

LINE_ENDINGS = (".jsonl", ".dev", ".train")


def written(folder: Path, files: dict[str, object]) -> Path:
    """Write files into a folder: bytes, texts, JSON lines or JSON, by content and name."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(LINE_ENDINGS) and isinstance(content, list | tuple):
            content = "".join(json.dumps(row) + "\n" for row in content)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def news() -> dict[str, object]:
    """MultiHop-RAG: two articles, a query over both and a null query."""
    rams = {"title": "Rams win", "url": "https://t/1", "author": "Jo Wren"}
    coach = {"title": "Coach", "url": "https://t/2"}
    won, coaches = "The Rams won in Tarn.", "Odd coaches the Rams."
    facts = [{**rams, "fact": won}, {**coach, "url": "", "fact": coaches}]
    query = {"query": "Who coaches the team that won in Tarn?", "answer": "Odd"}
    null = {"query": "Who owns Tarn?", "answer": "Insufficient information."}
    return {
        "corpus.json": [{**rams, "body": won}, {**coach, "body": coaches}],
        "MultiHopRAG.json": [
            {**query, "question_type": "inference_query", "evidence_list": facts},
            {**null, "question_type": "null_query", "evidence_list": []},
        ],
    }


def squality_line() -> dict[str, object]:
    replies = [{"response_text": " A cat sails. \n"}, {"response_text": "The cat goes off."}]
    plot = {"question_text": "What is the plot of the story?", "question_number": 1}
    sails = {"question_text": "Who sails?", "question_number": 2}
    questions = [{**plot, "responses": replies}, {**sails, "responses": replies[1:]}]
    document = "The Sailor Cat\n \n A cat went to sea."
    return {"metadata": {"passage_id": "70001"}, "document": document, "questions": questions}


def book_row(number: int, text: str, **fields: object) -> dict[str, object]:
    """A line of InfiniteBench."""
    whole = {"id": number, "context": text, "input": "Who rows?", "answer": ["Una"], "options": []}
    return {**whole, **fields}


def hotpot_row() -> dict[str, object]:
    return {
        "_id": "5a01", "question": "Where was the builder of the boat born?", "answer": "Tarn",
        "type": "bridge", "supporting_facts": [["Boat", 1], ["Una", 0], ["Una", 9]],
        "context": [["Boat", ["The boat is red.", " Una built it."]],
                    ["Una", ["Una was born in Tarn."]], ["Una", ["Una is also a hill."]]],
    }  # fmt: skip
