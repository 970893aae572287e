import json
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.embedding import precision, token_batches
from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.embedding.token_batches import batches, padded_length
from graphrag_bench.errors import UserError

pytestmark = [pytest.mark.real, pytest.mark.slow]
FACT = "The treasure of the old queen lies under the lighthouse of Norvik."
OPENING = " ".join(f"In {1500 + year} the town built a bridge, and spoke." for year in range(30))
UNIT = {"normalize_embeddings": True, "show_progress_bar": False}
RIVERS = (0, 13, 36, 29, 14, 40, 13, 31, 36, 43, 13, 12, 33)
"""Words of texts that fill batches of three lengths, alone and together, with and without pads."""
EXACT, HALF = SentenceEmbedder(precision="float32"), SentenceEmbedder(precision="bfloat16")


def cutting():
    """Another embedder with the weights of the first, which cuts long texts."""
    result = SentenceEmbedder(precision="float32", long_texts="cut")
    vars(result)["_loaded"] = EXACT._loaded
    return result


def cosines(embedder, texts, kind="passage"):
    return np.sum(embedder.encode(texts, kind=kind) * EXACT.encode(texts, kind=kind), axis=1)


def test_vectors_in_float32_equal_those_of_the_library():
    texts = [OPENING, FACT, f"{OPENING} {FACT}", "a", "", "Zürich 東京 naïve"]
    plain = EXACT._loaded.encode(texts, **UNIT)
    for kind in ("passage", "question"):
        assert np.min(np.sum(cutting().encode(texts, kind=kind) * plain, axis=1)) > 0.99999


def test_vectors_in_bfloat16_are_close_to_float32():
    windows = " ".join([FACT] * 20)
    lengths = HALF.text_lengths([windows])
    assert lengths.longest > lengths.window
    for kind, texts in (("passage", [windows, FACT, "a"]), ("question", [FACT, "Who founded it?"])):
        assert 0.999 < np.min(close := cosines(HALF, texts, kind)) <= np.max(close) < 1.00001


@pytest.mark.parametrize("result", [EXACT, HALF])
def test_a_vector_does_not_depend_on_other_texts(result):
    texts = [" ".join([f"town{n}", *["river"] * n_rivers]) for n, n_rivers in enumerate(RIVERS)]
    rows = result.encode(texts, kind="passage")
    chosen = np.random.default_rng(0).permutation(len(texts))[: len(texts) // 2]
    assert np.array_equal(result.encode([texts[n] for n in chosen], kind="passage"), rows[chosen])
    (alone,) = result.encode([texts[12]], kind="passage")
    assert np.array_equal(alone, rows[12])


def test_a_model_that_tokenises_has_batches_by_length_on_a_device(monkeypatch):
    monkeypatch.setattr(token_batches, "takes_tokens", lambda model: False)
    texts = [FACT, "a", FACT[:30], OPENING, "b", ""]
    rows = {kind: cutting().encode(texts, kind=kind) for kind in ("passage", "question")}
    assert np.array_equal(rows["passage"], EXACT._loaded.encode(texts, batch_size=1, **UNIT))
    monkeypatch.setattr(SentenceEmbedder, "_batch_tokens", 40)
    sizes, encode = [], EXACT._loaded.encode
    monkeypatch.setattr(
        EXACT._loaded, "encode",
        lambda some, batch_size, **how: sizes.append((len(some), batch_size))
        or encode(some, batch_size=batch_size, **how),
    )  # fmt: skip
    device = cutting()
    assert np.abs(device.encode(texts, kind="passage") - rows["passage"]).max() < 1e-6
    assert sizes == [(1, 1), (2, 2), (3, 3)]
    assert np.array_equal(device.encode(texts, kind="question"), rows["question"])


def test_weights_are_loaded_in_the_dtype_of_the_settings():
    small = SentenceEmbedder(precision="float32", model_kwargs={"dtype": "bfloat16"})
    assert {str(one.dtype) for one in small._loaded.parameters()} == {"torch.bfloat16"}
    assert 0.999 < np.min(close := cosines(small, [FACT, "a"])) <= np.max(close) < 1.00001
    kwargs = (None, {}, {"dtype": "bfloat16"}, {"dtype": "float16"})
    models = (SentenceEmbedder(precision="float32", model_kwargs=one) for one in kwargs)
    identities = {one.identity for one in models}
    assert len(identities) == 3 and EXACT.identity in identities
    with pytest.raises(UserError, match="dtype"):
        SentenceEmbedder(model_kwargs={"dtype": "bfloat17"}).encode(["a"], kind="passage")


def test_a_batch_has_one_padded_length():
    assert [padded_length(n, 256) for n in (5, 17, 33, 65, 250)] == [5, 18, 40, 80, 256]
    assert padded_length(500, 508) == 508
    result = list(batches([5, 70, 5, 80, 5], window=256, n_tokens=10))
    assert result == [(80, True, [3]), (80, False, [1]), (5, True, [0, 2]), (5, True, [4])]


@pytest.mark.parametrize(("has", "expected"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_bfloat16_on_processors_with_its_instructions(monkeypatch, has, expected):
    monkeypatch.setattr(precision, "_is_cuda", lambda device: device == "cuda")
    monkeypatch.setattr(precision, "_on_processor", lambda: has)
    devices = {device: precision.number_format("auto", device) for device in ("cpu", "auto", "mps")}
    assert devices == {"cpu": expected, "auto": expected, "mps": "float32"}
    assert precision.number_format("float32", "cpu") == "float32"
    here = SentenceEmbedder().identity  # has the precision, and not the device
    assert f":{expected}:" in here
    assert here == SentenceEmbedder(precision=expected, device="cpu").identity
    other = ({"long_texts": "cut"}, {"window": 16}, {"trust_remote_code": True})
    assert len({here, *(SentenceEmbedder(**settings).identity for settings in other)}) == 4


def test_the_window_setting_applies_up_to_the_models_positions():
    small = SentenceEmbedder(window=16, long_texts="cut")
    one, other = small.encode([OPENING, f"{OPENING[:200]} {FACT}"], kind="passage")
    assert np.array_equal(one, other)
    with pytest.raises(UserError, match=r"embedder.window=513.* positions for 512 tokens"):
        SentenceEmbedder(window=513).encode(["a"], kind="passage")


def test_remote_code_runs_only_if_trusted(tmp_path, monkeypatch):
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, has_run = tmp_path / "tiny", tmp_path / "has_run"
    folder.mkdir()
    classes = {"AutoConfig": "configuration_tiny.TinyConfig"}
    (folder / "config.json").write_text(json.dumps({"model_type": "tiny", "auto_map": classes}))
    (folder / "configuration_tiny.py").write_text(f"open({str(has_run)!r}, 'w').close()\n")
    with pytest.raises(UserError, match="embedder.trust_remote_code=true"):
        SentenceEmbedder(str(folder)).encode(["a"], kind="passage")
    with pytest.raises(UserError, match="cross_encoder.trust_remote_code=true"):
        CrossEncoder(str(folder)).scores(["a"], [["b"]])
    assert not has_run.exists()
    with pytest.raises((UserError, AttributeError), match="TinyConfig"):
        SentenceEmbedder(str(folder), trust_remote_code=True).encode(["a"], kind="passage")
    assert has_run.exists()


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


def test_pairs_are_scored_and_identities_depend_on_content(tmp_path, monkeypatch):
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
