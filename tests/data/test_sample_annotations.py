"""The annotations of the sample: every span is the text at its place, ids are consistent."""

import json
from typing import Any

from graphrag_bench.files import project_folder

FOLDER = project_folder("datasets") / "sample"
TYPES = {
    "person", "place", "organisation", "award", "position", "people", "event", "work", "thing",
}  # fmt: skip


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


ANNOTATED = rows("annotations.jsonl")
TEXTS = {row["id"]: row["text"] for row in rows("corpus.jsonl")}


def test_every_span_is_the_text_at_its_place_and_an_entity_has_one_type():
    types: dict[str, str] = {}
    for row in ANNOTATED:
        end = 0
        for mention in row["mentions"]:
            assert end <= mention["start"] < mention["end"]
            end = mention["end"]
            assert TEXTS[row["id"]][mention["start"] : end] == mention["text"]
            assert mention["type"] in TYPES
            assert types.setdefault(mention["entity"], mention["type"]) == mention["type"]


def test_the_guidelines_say_how_many_there_are():
    mentions = [mention for row in ANNOTATED for mention in row["mentions"]]
    triples = [row["triples"] for row in ANNOTATED if "triples" in row]
    guidelines = " ".join((FOLDER / "annotations.md").read_text("utf-8").split())
    assert len({row["id"] for row in ANNOTATED}) == len(ANNOTATED)
    for counted in (
        f"of {len(ANNOTATED)} passages of this set: {len(mentions)} mentions",
        f"{len(mentions)} mentions of {len({one['entity'] for one in mentions})} entities",
        f"for {len(triples)} of the passages {sum(map(len, triples))} triples",
    ):
        assert counted in guidelines


def test_ends_of_triples_are_entities_or_words_of_the_passage():
    for row in ANNOTATED:
        entities = {one["entity"] for one in row["mentions"]}
        for triple in row.get("triples", ()):
            assert triple["relation"].strip()
            for end in (triple["head"], triple["tail"]):
                words = end.get("text", "").casefold().split()
                assert end.get("entity") in entities or words
                assert all(word in TEXTS[row["id"]].casefold() for word in words)
