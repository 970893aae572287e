"""Chunks in the order of a cross-encoder: worked out by hand, and with a tiny real model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_runs import ran

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.models.cross_encoder import CrossEncoder
from graphrag_bench.values import FloatArray, Question, Ranked
from operators.cross_encoding import cross_encoder_rerank

TABLE = ChunkTable.of([(f"d{row}", f"T{row}", f"text of chunk {row}") for row in range(8)])
ASKED = Question("q", "Who?")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "ada", "river", "founded", "the"]


class Fixed:
    """Scores by what a passage holds; keeps what it was asked."""

    identity = "fixed"

    def __init__(self, **scores: float) -> None:
        self.by_word = scores
        self.asked: list[tuple[str, str]] = []

    def scores(self, question: str, passages: Sequence[str]) -> FloatArray:
        self.asked += [(question, passage) for passage in passages]
        return np.array([self.by_word.get(passage.split()[0], 0.1) for passage in passages])


def ranked(*ids: int) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.linspace(0.9, 0.1, len(ids)))


def test_the_given_chunks_come_by_the_score_of_the_model_and_ties_by_id() -> None:
    model = Fixed(T7=0.9, T2=0.4)
    found = cross_encoder_rerank(
        ASKED, ranked(5, 2, 7, 3), chunk_table=TABLE, cross_encoder=model, top_k=3
    )
    assert found.ids.tolist() == [7, 2, 3]
    np.testing.assert_allclose(found.scores, [0.9, 0.4, 0.1])
    assert model.asked[0] == ("Who?", TABLE.passage(2))


def tiny(folder: Path, n_labels: int = 1, seed: int = 0) -> str:
    """A cross-encoder with random weights and ten words."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, num_labels=n_labels,
        initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=32).save_pretrained(folder)
    return str(folder)


@pytest.mark.real
@pytest.mark.slow
def test_a_model_in_a_folder_scores_pairs_and_is_known_by_its_content(tmp_path: Path) -> None:
    model = CrossEncoder(tiny(tmp_path / "one"), device="cpu")
    passages = ["ada founded the river", "the river", "who"]
    scores = model.scores("who founded", passages)
    assert scores.dtype == np.float64 and len(set(scores.round(6).tolist())) == 3
    assert np.array_equal(model.scores("who founded", passages), scores)
    assert not np.allclose(model.scores("the ada river", passages), scores)
    other = CrossEncoder(tiny(tmp_path / "two" / "one", seed=1))
    assert model.identity.startswith("cross-encoder:one@")
    assert len({model.identity, other.identity, CrossEncoder(model.model, window=8).identity}) == 3
    assert len(model.scores("who", [])) == 0


@pytest.mark.real
@pytest.mark.slow
def test_what_is_no_reranker_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cross_encoder.model=NAME_OR_FOLDER"):
        CrossEncoder().scores("who", ["ada"])
    with pytest.raises(UserError, match="gives 3 scores for a passage"):
        CrossEncoder(tiny(tmp_path / "three", 3), device="cpu").scores("who", ["ada"])
    with pytest.raises(UserError, match="could not be loaded"):
        CrossEncoder(str(tmp_path / "none")).scores("who", ["ada"])


@pytest.mark.real
@pytest.mark.slow
def test_a_method_reranks_with_it_and_the_model_is_part_of_the_key(tmp_path: Path) -> None:
    method = tmp_path / "reranked.yaml"
    method.write_text(
        "name: reranked\ntitle: reranked\nretrieve:\n"
        "  - {op: chunk.vdb, top_k: 6}\n  - {op: chunk.rerank.cross_encoder, top_k: 3}\n"
        "generate:\n  - {op: context.chunks}\n"
        "  - {op: answer.direct, use: [context], prompt: 'methods:vanilla/prompts/answer.j2'}\n"
    )
    settings = ["dataset=toy", f"method={method}", "embedder=hashing", "answer=off"]
    folders = []
    for seed in (0, 1):
        model = tiny(tmp_path / f"model{seed}", seed=seed)
        done = ran(*settings, f"cross_encoder.model={model}", f"paths.home={tmp_path / 'home'}")
        rows = [json.loads(line) for line in (done.folder / "records.jsonl").open()]
        assert all(len(row["chunks"]) == 3 for row in rows if "chunks" in row)
        folders.append(done.folder)
    assert folders[0] != folders[1]
