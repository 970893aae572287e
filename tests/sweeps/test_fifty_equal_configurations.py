"""Fifty configurations that are equally good: the best on dev is luck, and is marked as chosen."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from toy_runs import WEIGHTLESS, metrics, ran, write_set

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Chunk, Question, Ranked

pytestmark = pytest.mark.slow

N_PASSAGES, N_QUESTIONS = 40, 100
TRUTH = 5 / 40
"""The expected evidence recall@5 of an order by chance."""
RUN = ["dataset=jsonl", *WEIGHTLESS, "method=bm25", "answer=off", "reference_rows=off"]


@pytest.fixture
def lottery(open_registries: None) -> None:
    """An operator that puts the passages in an order by chance, another one for every `luck`."""

    @operator("chunk.lottery")
    def drawn(
        question: Question, *, chunk_table: ChunkTable, luck: int = 0, top_k: int = 10
    ) -> Ranked[Chunk]:
        number = int.from_bytes(question.id.encode(), "big")
        scores = np.random.default_rng([luck, number]).random(len(chunk_table))
        return Ranked[Chunk].top(scores, top_k)


def test_the_winner_on_dev_is_inflated_and_marked_and_on_test_neither(
    lottery: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    passages = [{"id": f"p{n}", "title": "", "text": f"Passage {n}."} for n in range(N_PASSAGES)]
    questions = [
        {"id": f"q{n}", "text": f"Which is {n}?", "answers": [], "evidence": [f"p{n % N_PASSAGES}"]}
        for n in range(N_QUESTIONS)
    ]
    write_set(tmp_path / "set", passages, questions)
    words = [*RUN, "dataset.root=set", "method.retrieve.0={op: chunk.lottery}"]
    sweep = ["method.retrieve.0.luck=range(50)", "split=dev", "objective=evidence_recall@5"]
    ended = ran("-m", *words, *sweep)
    assert len(set(ended.folders)) == 50
    said = next(line for line in ended.out.splitlines() if line.startswith("best of"))
    assert said.endswith("(selected on this split, 50 configurations)")
    on_dev = float(re.findall(r": (\d\.\d+) ", said)[0])
    told = next(line for line in ended.out.splitlines() if "graphrag-bench run" in line)
    again = ran(*shlex.split(told)[2:])
    on_test = metrics(again.folder)["metrics"]["evidence_recall@5"]["mean"]  # type: ignore[index]
    assert on_dev == pytest.approx(0.296)  # the highest of 50, all of which expect 0.125
    assert on_test == pytest.approx(TRUTH, abs=0.05)
    assert "selected on this split" not in again.out
