"""Models of sentence-transformers: vectors, precision, windows and remote code."""

import json

import numpy as np
import pytest

from graphrag_bench.embedding import precision, token_batches
from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.embedding.embedder import TextKind
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.embedding.token_batches import batches, padded_length
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.slow

FACT = "The treasure of the old queen lies under the lighthouse of Norvik."
OPENING = " ".join(
    f"In the year {1500 + year} the town built a bridge, and its mayor spoke long on the river."
    for year in range(16)
)
RIVERS = (0, 13, 36, 29, 14, 40, 13, 31, 36, 43, 13, 12, 33)
"""Words of texts that fill batches of three lengths, alone and together, with and without pads."""


@pytest.fixture(scope="module")
def exact() -> SentenceEmbedder:
    return SentenceEmbedder(precision="float32")


@pytest.fixture(scope="module")
def half() -> SentenceEmbedder:
    return SentenceEmbedder(precision="bfloat16")


def over(loaded: SentenceEmbedder, **settings: object) -> SentenceEmbedder:
    """Another embedder with the loaded weights of the first."""
    result = SentenceEmbedder(precision="float32", **settings)  # type: ignore[arg-type]
    vars(result)["_loaded"] = loaded._loaded
    return result


def cosines(one: SentenceEmbedder, other: SentenceEmbedder, texts: list[str], kind: TextKind):
    return np.sum(one.encode(texts, kind=kind) * other.encode(texts, kind=kind), axis=1)


@pytest.mark.real
def test_vectors_in_float32_equal_those_of_the_library(exact):
    texts = [OPENING, FACT, f"{OPENING} {FACT}", "a", "", "Zürich 東京 naïve"]
    plain = exact._loaded.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    cut = over(exact, long_texts="cut")
    for kind in ("passage", "question"):
        assert np.min(np.sum(cut.encode(texts, kind=kind) * plain, axis=1)) > 0.99999
    short = exact.encode([FACT, "a"], kind="passage")
    assert np.min(np.sum(short * plain[[1, 3]], axis=1)) > 0.99999


@pytest.mark.real
def test_vectors_in_bfloat16_are_close_to_float32(exact, half):
    windows = " ".join([FACT] * 20)
    lengths = half.text_lengths([windows])
    assert lengths.longest > lengths.window
    for kind, texts in (("passage", [windows, FACT, "a"]), ("question", [FACT, "Who founded it?"])):
        assert 0.999 < np.min(close := cosines(half, exact, texts, kind)) <= np.max(close) < 1.00001


@pytest.mark.real
@pytest.mark.parametrize("precision", ["exact", "half"])
def test_a_vector_does_not_depend_on_other_texts(precision, request):
    result = request.getfixturevalue(precision)
    texts = [" ".join([f"town{n}", *["river"] * n_rivers]) for n, n_rivers in enumerate(RIVERS)]
    rows = result.encode(texts, kind="passage")
    chosen = np.random.default_rng(0).permutation(len(texts))[: len(texts) // 2]
    assert np.array_equal(result.encode([texts[n] for n in chosen], kind="passage"), rows[chosen])
    (alone,) = result.encode([texts[12]], kind="passage")
    assert np.array_equal(alone, rows[12])


@pytest.mark.real
def test_a_model_that_tokenises_has_batches_by_length_on_a_device(exact, monkeypatch):
    monkeypatch.setattr(token_batches, "takes_tokens", lambda model: False)
    texts = [FACT, "a", FACT[:30], OPENING, "b"]
    one_by_one = over(exact, long_texts="cut")
    rows = {kind: one_by_one.encode(texts, kind=kind) for kind in ("passage", "question")}
    how = {"normalize_embeddings": True, "show_progress_bar": False}
    assert np.array_equal(rows["passage"], exact._loaded.encode(texts, batch_size=1, **how))
    monkeypatch.setattr(SentenceEmbedder, "_batch_tokens", 40)
    sizes, encode = [], exact._loaded.encode
    monkeypatch.setattr(
        exact._loaded, "encode",
        lambda some, batch_size, **how: sizes.append((len(some), batch_size))
        or encode(some, batch_size=batch_size, **how),
    )  # fmt: skip
    device = over(exact, long_texts="cut")
    assert np.abs(device.encode(texts, kind="passage") - rows["passage"]).max() < 1e-6
    assert sizes == [(1, 1), (1, 1), (1, 1), (2, 2)]
    assert np.array_equal(device.encode(texts, kind="question"), rows["question"])


@pytest.mark.real
def test_weights_are_loaded_in_the_dtype_of_the_settings(exact):
    small = SentenceEmbedder(precision="float32", model_kwargs={"dtype": "bfloat16"})
    assert {str(one.dtype) for one in small._loaded.parameters()} == {"torch.bfloat16"}
    rows = small.encode([FACT, "a"], kind="passage")
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)
    assert np.min(cosines(small, exact, [FACT, "a"], "passage")) > 0.999
    identities = {
        SentenceEmbedder(precision="float32", model_kwargs=kwargs).identity
        for kwargs in (None, {}, {"dtype": "bfloat16"}, {"dtype": "float16"})
    }
    assert len(identities) == 3 and exact.identity in identities
    with pytest.raises(UserError, match="dtype"):
        SentenceEmbedder(model_kwargs={"dtype": "bfloat17"}).encode(["a"], kind="passage")


def test_a_batch_has_one_padded_length():
    assert [padded_length(n, 256) for n in (5, 17, 33, 65, 250)] == [5, 18, 40, 80, 256]
    assert padded_length(500, 508) == 508
    result = list(batches([5, 70, 5, 80, 5], window=256, n_tokens=10))
    assert result == [(80, True, [3]), (80, False, [1]), (5, True, [0, 2]), (5, True, [4])]


@pytest.mark.real
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


@pytest.mark.real
def test_the_window_setting_applies_up_to_the_models_positions():
    small = SentenceEmbedder(window=16, long_texts="cut")
    one, other = small.encode([OPENING, f"{OPENING[:200]} {FACT}"], kind="passage")
    assert np.array_equal(one, other)
    with pytest.raises(UserError, match=r"embedder.window=513.* positions for 512 tokens"):
        SentenceEmbedder(window=513).encode(["a"], kind="passage")


@pytest.mark.real
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
