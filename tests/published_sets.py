"""Small invented data sets in the formats of published ones."""

import json

LINE_ENDINGS = (".jsonl", ".dev", ".train")


def written(folder, files):
    """Write files into a folder: bytes, texts, JSON lines or JSON, by content and name."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(LINE_ENDINGS) and isinstance(content, list | tuple):
            content = "".join(json.dumps(row) + "\n" for row in content)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def news():
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


def squality_line():
    replies = [{"response_text": " A cat sails. \n"}, {"response_text": "The cat goes off."}]
    plot = {"question_text": "What is the plot of the story?", "question_number": 1}
    sails = {"question_text": "Who sails?", "question_number": 2}
    questions = [{**plot, "responses": replies}, {**sails, "responses": replies[1:]}]
    document = "The Sailor Cat\n \n A cat went to sea."
    return {"metadata": {"passage_id": "70001"}, "document": document, "questions": questions}


def book_row(number, text, **fields):
    whole = {"id": number, "context": text, "input": "Who rows?", "answer": ["Una"], "options": []}
    return {**whole, **fields}


def hotpot_row():
    return {
        "_id": "5a01", "question": "Where was the builder of the boat born?", "answer": "Tarn",
        "type": "bridge", "supporting_facts": [["Boat", 1], ["Una", 0], ["Una", 9]],
        "context": [["Boat", ["The boat is red.", " Una built it."]],
                    ["Una", ["Una was born in Tarn."]], ["Una", ["Una is also a hill."]]],
    }  # fmt: skip


CUPS, NAMES = ["2012 Tarn Cup", "2014 Tarn Cup"], "location.location.contains"
CHAMPIONS = "sports.sports_team.championships"
TEAM = {
    "id": "WebQTest-1", "q_entity": ["Rolf the Ram"], "answer": CUPS, "a_entity": CUPS,
    "question": "In what year did the team with mascot Rolf the Ram win the Tarn Cup?",
    "graph": [
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."],
        *(["Norvik F.C.", CHAMPIONS, cup] for cup in CUPS),
        ["Norvik F.C.", "sports.sports_team.location", "Norvik"],
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."], ["m.011zsc4_", NAMES, "Norvik"],
    ],
}  # fmt: skip
RIVER = {
    "id": "WebQTest-2", "question": "which river flows through norvik", "answer": ["Tarn"],
    "q_entity": ["Norvik"], "a_entity": ["Tarn"],
    "graph": [["m.011zsc4_", NAMES, "Norvik"], ["NORVIK", "is.not", "Norvik"]],
}  # fmt: skip
EMPTY = {"id": "WebQTest-3", "question": "who is ada marsh", "answer": ["A chemist"],
         "q_entity": ["Ada Marsh"], "a_entity": [], "graph": []}  # fmt: skip
ROWS = (TEAM, RIVER, EMPTY)


def rog_folder(folder, rows=ROWS, training=(), validation=()):
    """Write `test.jsonl`, and `train.jsonl` and `validation.jsonl` if they have rows."""
    files = {"test": rows, "train": training, "validation": validation}
    return written(folder, {f"{name}.jsonl": of for name, of in files.items() if of})
