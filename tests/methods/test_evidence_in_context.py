"""Evidence in contexts of any rows, against a plain reference: sentences word for word."""

import json
from functools import cache
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, Capitals, ran, records

from graphrag_bench.explain.question import IN_CONTEXT, evidence_of
from graphrag_bench.run.stored import find_run

DATASETS = Path(__file__).resolve().parents[2] / "datasets"
QUIET = [*WEIGHTLESS, "answer=off", "reference_rows=off", "fill_context=off"]
METHODS = ("pathrag", "hirag", "noderag", "raptor", "drift_nlp")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def _lines(name: str) -> list[str]:
    return (DATASETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def plain(text: str) -> str:
    """A text with single spaces, and quotes as they were before they stood in a table."""
    return " ".join(text.replace('""', '"').split())


@cache
def sentences(text: str) -> list[str]:
    """The sentences as the tagger of these runs reads them."""
    (found,) = Capitals().sentences([text])
    return [plain(one.text) for one in found]


def shares(folder: Path, passages: dict[str, str]) -> list[tuple[float, float]]:
    """Of each question with evidence the metric, and the share of gold documents by reading.

    A document counts when one of its sentences stands in a text of the context.
    """
    run = find_run(str(folder), folder.parents[3])
    kept = [json.loads(line) for line in (folder / "contexts.jsonl").read_text().splitlines()]
    texts = {one["question"]: one["texts"] for one in kept}
    found = []
    for row in records(folder):
        name = str(row["question"])
        gold = run.gold[name]
        if not gold.evidence:
            continue
        pieces = row["context"]["pieces"]  # type: ignore[index]
        told = [
            plain(passages[piece["id"]] if text is None else text)
            for piece, text in zip(pieces, texts[name], strict=True)
        ]
        held = [
            document
            for document in dict.fromkeys(gold.evidence)
            if any(one in text for one in sentences(passages[document]) for text in told)
        ]
        assert evidence_of(row, gold)[IN_CONTEXT] == held, name
        share = len(held) / len(set(gold.evidence))
        found.append((run.scores[name]["evidence_in_context"], share))
    return found


@pytest.mark.parametrize("name", METHODS)
def test_on_toy_it_is_the_share_of_gold_documents_with_a_sentence_in_the_context(
    name: str, home: Path
) -> None:
    ended = ran("dataset=toy", *QUIET, f"method={name}", f"paths.home={home}")
    passages = {one["id"]: one["text"] for one in map(json.loads, _lines("toy/corpus"))}
    found = shares(ended.folder, passages)
    assert found and [metric for metric, _ in found] == pytest.approx([plain for _, plain in found])
