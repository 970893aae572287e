"""Evidence in contexts of any rows, against a plain reference: sentences word for word."""

import json
from functools import cache
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, Capitals, ran

from graphrag_bench.api import dataset
from graphrag_bench.explain.question import IN_CONTEXT, evidence_of
from graphrag_bench.run.stored import find_run

QUIET = [*WEIGHTLESS, "answer=off", "reference_rows=off", "budget_context=native"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def plain(text: str) -> str:
    """A text with single spaces, and quotes as they were before they stood in a table."""
    return " ".join(text.replace('""', '"').split())


@cache
def sentences(text: str) -> list[str]:
    """The sentences as the tagger of these runs reads them."""
    (read,) = Capitals().sentences([text])
    return [plain(one.text) for one in read]


@pytest.mark.parametrize("method", ["pathrag", "noderag"])
def test_on_toy_it_is_the_share_of_gold_documents_with_a_sentence_in_the_context(
    method: str, home: Path
) -> None:
    folder = ran("dataset=toy", *QUIET, f"method={method}", f"paths.home={home}").folder
    run = find_run(str(folder), home)
    passages = {one.id: one.text for one in dataset("toy").documents}
    contexts = [json.loads(line) for line in (folder / "contexts.jsonl").read_text().splitlines()]
    texts_of = {one["question"]: one["texts"] for one in contexts}
    evidence = {name: tuple(dict.fromkeys(gold.evidence)) for name, gold in run.gold.items()}
    assert any(evidence.values())
    for name in filter(evidence.get, run.rows):
        pieces = run.rows[name]["context"]["pieces"]
        texts = [
            plain(passages[piece["id"]] if text is None else text)
            for piece, text in zip(pieces, texts_of[name], strict=True)
        ]
        inside = [
            document
            for document in evidence[name]
            if any(one in text for one in sentences(passages[document]) for text in texts)
        ]
        assert evidence_of(run.rows[name], run.gold[name])[IN_CONTEXT] == inside, name
        share = len(inside) / len(evidence[name])
        assert run.scores[name]["evidence_in_context"] == pytest.approx(share)
