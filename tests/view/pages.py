"""Runs with markup in corpus, question and answer, and a reader of page data."""

import json

from toy_runs import WEIGHTLESS, ada_marsh, run_folder, write_set

from graphrag_bench.llm.scripted import Scripted

SCRIPT = "<script>window.planted=1</script>"
IMAGE = "<img src=x onerror=window.planted=1>"
CORPUS = (
    {"id": "ada", "title": f"Ada Marsh {SCRIPT}", "text": f"Ada Marsh founded Norvik. {SCRIPT}"},
    {"id": "norvik", "title": "Norvik", "text": f"Norvik is led by Otto Brandt. {IMAGE}"},
    {"id": "otto", "title": "Otto Brandt", "text": "Otto Brandt taught Mira Holt in Lund Harbour."},
    {"id": "lund", "title": "Lund Harbour", "text": "Lund Harbour lies on the River Isk \\u2028."},
)
QUESTIONS = (
    {"id": "q1", "text": f"Who founded Norvik? {SCRIPT}", "answers": ["Ada Marsh"],
     "evidence": ["ada"], "type": "one-hop", "hops": 1},
    {"id": "q2", "text": "Who was taught by the head of Norvik?", "answers": ["Mira Holt"],
     "evidence": ["norvik", "otto"], "type": "two-hop", "hops": 2},
    {"id": "q3", "text": "What does </script> end?", "answers": [IMAGE], "evidence": ["lund"],
     "type": "one-hop", "hops": 1},
)  # fmt: skip
METHODS = ("vanilla", "hipporag", "pathrag", "entitypassage")


def reader(replies=()):
    return Scripted(replies, _planted)


def _planted(chat):
    message = ada_marsh(chat)
    return f"Ada Marsh {SCRIPT}" if message == "Ada Marsh" else message


def planted_runs(home, methods=METHODS, *more):
    data = write_set(home / "data" / "planted", CORPUS, QUESTIONS)
    words = [*WEIGHTLESS, "dataset=jsonl", f"dataset.root={data}", "reference_rows=off"]
    words += [f"paths.home={home}", "llm._target_=pages.reader", *more]
    return [run_folder(*words, f"method={name}") for name in methods]


def part(page, name):
    text = (page / "data" / f"{name}.js").read_text(encoding="utf-8")
    head = f"grb.part({json.dumps(name)},"
    assert text.startswith(head) and text.endswith(");\n")
    return json.loads(text[len(head) : -3])
