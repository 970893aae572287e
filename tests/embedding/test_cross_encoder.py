"""Cross-encoders with random weights: scores, identities and errors."""

from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.errors import UserError

pytestmark = [pytest.mark.real, pytest.mark.slow]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "ada", "river", "founded", "the"]


def tiny(folder: Path, n_labels: int = 1, seed: int = 0) -> str:
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


def test_pairs_are_scored_and_identities_depend_on_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CrossEncoder(tiny(tmp_path / "one"), device="cpu")
    passages = ["ada founded the river", "the river", "who"]
    questions = ["who", "who founded", "the ada river"]
    (scores,) = model.scores(questions[1:2], [passages])
    assert scores.dtype == np.float64 and len(set(scores.round(6).tolist())) == 3
    none, again, other = model.scores(questions, [[], passages, passages])
    assert len(none) == 0 and np.array_equal(again, scores)
    assert not np.allclose(other, scores)
    monkeypatch.setattr(CrossEncoder, "_on_device", True)
    sizes, predict = [], model._loaded.predict
    monkeypatch.setattr(
        model._loaded, "predict",
        lambda pairs, **settings: sizes.append((len(pairs), settings["batch_size"]))
        or predict(pairs, **settings),
    )  # fmt: skip
    pooled = model.scores(questions, [[], passages, passages[:2]])
    assert sizes == [(5, 256)]
    for one, alone in zip(pooled, ([], scores, other[:2]), strict=True):
        assert one == pytest.approx(alone, abs=1e-5)
    half = CrossEncoder(model.model, model_kwargs={"dtype": "bfloat16"})
    assert half.scores(["who founded"], [passages])[0] == pytest.approx(scores, abs=0.1)
    assert half.identity != model.identity
    other = CrossEncoder(tiny(tmp_path / "two" / "one", seed=1))
    assert model.identity.startswith("cross-encoder:one@")
    assert len({model.identity, other.identity, CrossEncoder(model.model, window=8).identity}) == 3
    assert model.scores([], []) == []


def test_models_that_cannot_rerank_are_errors(tmp_path: Path) -> None:
    three, none = tiny(tmp_path / "three", 3), str(tmp_path / "none")
    for model, problem in (("", "cross_encoder.model"), (three, "3 scores"), (none, "none")):
        with pytest.raises(UserError, match=problem):
            CrossEncoder(model, device="cpu").scores(["who"], [["ada"]])
