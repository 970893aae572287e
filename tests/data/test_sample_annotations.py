"""The annotations of the sample: every span is the text at its place, ids are consistent."""

import json

import pytest

from graphrag_bench.files import project_folder

FOLDER = project_folder("datasets") / "sample"
TYPES = {
    "person", "place", "organisation", "award", "position", "people", "event", "work", "thing",
}  # fmt: skip


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def annotated() -> list[dict]:
    return rows("annotations.jsonl")


def test_every_span_is_the_text_at_its_place_and_they_do_not_overlap(annotated):
    texts = {row["id"]: row["text"] for row in rows("corpus.jsonl")}
    for row in annotated:
        end = 0
        for mention in row["mentions"]:
            assert end <= mention["start"] < mention["end"]
            end = mention["end"]
            assert texts[row["id"]][mention["start"] : end] == mention["text"]


def test_there_are_three_hundred_mentions_and_the_guidelines_say_how_many(annotated):
    n_mentions = sum(len(row["mentions"]) for row in annotated)
    entities = {one["entity"] for row in annotated for one in row["mentions"]}
    triples = [row["triples"] for row in annotated if "triples" in row]
    said = " ".join((FOLDER / "annotations.md").read_text("utf-8").split())
    assert n_mentions >= 300
    assert len({row["id"] for row in annotated}) == len(annotated)
    assert f"of {len(annotated)} passages of this set: {n_mentions} mentions" in said
    assert f"{n_mentions} mentions of {len(entities)} entities" in said
    assert f"for {len(triples)} of the passages {sum(map(len, triples))} triples" in said


def test_an_entity_has_one_type_and_ends_of_triples_are_entities_of_the_passage(annotated):
    types: dict[str, str] = {}
    for row in annotated:
        here = {one["entity"] for one in row["mentions"]}
        for one in row["mentions"]:
            assert one["type"] in TYPES
            assert types.setdefault(one["entity"], one["type"]) == one["type"]
        for triple in row.get("triples", ()):
            assert triple["relation"].strip()
            for end in (triple["head"], triple["tail"]):
                assert end.get("entity") in here or end.get("text")


def test_ends_that_are_no_entities_are_words_of_the_passage(annotated):
    texts = {row["id"]: row["text"].casefold() for row in rows("corpus.jsonl")}
    for row in annotated:
        for triple in row.get("triples", ()):
            for end in (triple["head"], triple["tail"]):
                words = end.get("text", "").casefold().split()
                assert all(word in texts[row["id"]] for word in words), (row["id"], end)
