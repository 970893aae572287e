"""Sentence-transformers models: long passages, devices, and models that bring code of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.sentence_embedder import SentenceEmbedder

pytestmark = pytest.mark.slow

FACT = "The treasure of the old queen lies under the lighthouse of Norvik."
OPENING = " ".join(
    f"In the year {1500 + year} the town built a bridge, and its mayor spoke long on the river."
    for year in range(44)
)


@pytest.fixture(scope="module")
def minilm() -> SentenceEmbedder:
    return SentenceEmbedder()


def beside(minilm: SentenceEmbedder, **more: object) -> SentenceEmbedder:
    """Another embedder over the weights that are loaded already."""
    made = SentenceEmbedder(**more)  # type: ignore[arg-type]
    vars(made)["_loaded"] = minilm._loaded
    return made


@pytest.mark.real
def test_the_window_is_known_without_weights():
    made = SentenceEmbedder()
    assert made.window == 256
    assert made.fit([OPENING, "short"]).n_long == 1
    assert "_loaded" not in vars(made)
    assert made.reading.startswith("256 tokens of a text; longer ones are embedded in overlapping")


@pytest.mark.real
def test_a_long_passage_with_and_without_its_last_fact_has_two_vectors(minilm):
    texts = [OPENING, f"{OPENING} {FACT}"]
    assert minilm.fit(texts[1:]).longest > 856
    without, with_fact = minilm.encode(texts, kind="passage")
    assert not np.array_equal(without, with_fact)
    np.testing.assert_allclose(np.linalg.norm([without, with_fact], axis=1), 1.0, atol=1e-6)
    (asked,) = minilm.encode(["Where does the treasure of the queen lie?"], kind="question")
    assert asked @ with_fact > asked @ without + 0.02
    cut = beside(minilm, long_texts="cut").encode(texts, kind="passage")
    assert np.array_equal(cut[0], cut[1])


@pytest.mark.real
def test_cut_and_texts_that_fit_have_the_vectors_of_the_model_byte_for_byte(minilm):
    texts = [OPENING, FACT, f"{OPENING} {FACT}", "a"]
    plain = minilm._loaded.encode(
        texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
    )
    assert beside(minilm, long_texts="cut").encode(texts, kind="passage").tobytes() == (
        plain.astype(np.float32).tobytes()
    )
    short = minilm._loaded.encode(
        [FACT, "a"], batch_size=32, normalize_embeddings=True, show_progress_bar=False
    )
    assert minilm.encode([FACT, "a"], kind="passage").tobytes() == short.tobytes()


@pytest.mark.real
def test_a_long_question_does_not_depend_on_the_others(minilm):
    asked = ["Who founded Norvik?", f"{OPENING} Who spoke last?"]
    together = minilm.encode(asked, kind="question")
    alone = [minilm.encode([text], kind="question")[0] for text in asked]
    assert np.array_equal(together, alone)


@pytest.mark.real
def test_a_window_that_is_set_is_read_by_the_model_and_has_a_bound():
    small = SentenceEmbedder(window=16, long_texts="cut")
    one, other = small.encode([OPENING, f"{OPENING[:200]} {FACT}"], kind="passage")
    assert np.array_equal(one, other)
    for use in (lambda made: made.encode(["a"], kind="passage"), lambda made: made.window):
        with pytest.raises(UserError, match=r"embedder.window=513.* positions for 512 tokens"):
            use(SentenceEmbedder(window=513))


@pytest.mark.real
def test_device_and_batch_size_are_no_part_of_the_identity_and_long_texts_are():
    same = {SentenceEmbedder(device="cpu", batch_size=2).identity, SentenceEmbedder().identity}
    assert len(same) == 1
    modes = [SentenceEmbedder(long_texts=mode).identity for mode in ("windows", "cut", "refuse")]
    assert len({*modes, SentenceEmbedder(window=16).identity}) == 4


@pytest.mark.real
def test_a_device_that_is_not_there_is_told(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"embedder.device=cuda: .* it has (mps, )?cpu"):
        SentenceEmbedder(device="cuda").encode(["a"], kind="passage")


def own_code(folder: Path) -> Path:
    """A tiny BERT that transformers can load only with the code that lies beside it."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    config = BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=12,
    )  # fmt: skip
    folder.mkdir()
    BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=12).save_pretrained(folder)
    held = json.loads((folder / "config.json").read_text())
    classes = {
        "AutoConfig": "configuration_tiny.TinyConfig",
        "AutoModel": "modeling_tiny.TinyModel",
    }
    held |= {"model_type": "tiny", "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(held))
    (folder / "configuration_tiny.py").write_text(
        "from transformers import BertConfig\n\n\nclass TinyConfig(BertConfig):\n"
        "    model_type = 'tiny'\n"
    )
    (folder / "modeling_tiny.py").write_text(
        "from transformers import BertModel\n\nfrom .configuration_tiny import TinyConfig\n\n\n"
        "class TinyModel(BertModel):\n    config_class = TinyConfig\n"
    )
    return folder


@pytest.mark.real
def test_code_of_a_model_is_run_only_when_it_is_trusted(tmp_path, monkeypatch):
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = str(own_code(tmp_path / "tiny"))
    with pytest.raises(UserError, match="embedder.trust_remote_code=true"):
        SentenceEmbedder(folder).encode(["a"], kind="passage")
    trusted = SentenceEmbedder(folder, trust_remote_code=True, device="cpu")
    assert trusted.window == 12
    rows = trusted.encode(["a", "a b c a b c a b c a b c a b c"], kind="passage")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert trusted.identity != SentenceEmbedder(folder).identity
