"""Static vectors by hand, and the presets of embedders."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.config.sources import names
from graphrag_bench.embedding.model_files import make
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.embedding.static_embedder import PACKAGED, StaticEmbedder
from graphrag_bench.errors import UserError

TABLE = [[0, 0], [3, 0], [0, 4], [1, 0]]


def written(folder: Path, table: object = TABLE, name: str = "embeddings") -> str:
    """A model of four tokens: unknown, ada, norvik, river."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder.mkdir(exist_ok=True)
    save_file({name: np.asarray(table, np.float16)}, folder / "model.safetensors")
    made = Tokenizer(WordLevel({"?": 0, "ada": 1, "norvik": 2, "river": 3}, unk_token="?"))
    made.pre_tokenizer = Whitespace()
    made.save(str(folder / "tokenizer.json"))
    return str(folder)


def test_a_vector_is_the_mean_of_its_tokens_at_length_one(tmp_path: Path) -> None:
    made = StaticEmbedder(written(tmp_path))
    rows = made.encode(["ada norvik", "river", "", "nobody"], kind="passage")
    np.testing.assert_allclose(rows, [[0.6, 0.8], [1, 0], [1, 0], [1, 0]], rtol=1e-6)
    assert (rows.dtype, made.dimension) == (np.float32, 2)
    asked = StaticEmbedder(written(tmp_path), question_prefix="norvik ")
    np.testing.assert_allclose(asked.encode(["ada"], kind="question"), [[0.6, 0.8]], rtol=1e-6)
    assert asked.encode([], kind="passage").shape == (0, 2)


def test_a_folder_that_is_no_such_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"lack their file '.*model.safetensors'"):
        StaticEmbedder(str(tmp_path)).encode(["ada"], kind="passage")
    with pytest.raises(UserError, match="holds weights, not"):
        StaticEmbedder(written(tmp_path, name="weights")).encode(["ada"], kind="passage")


@pytest.mark.skipif(find_spec(PACKAGED) is None, reason="wordllama is not installed")
def test_the_packaged_vectors_mean_something() -> None:
    rows = StaticEmbedder().encode(["a mountain", "a hill", "a telephone"], kind="passage")
    assert rows.shape == (3, 256)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


@pytest.mark.parametrize("name", [n for n in names("embedder") if n != "openai_compatible"])
def test_every_preset_is_an_embedder_with_its_own_prefixes(name: str) -> None:
    made = make("embedder", composed([f"embedder={name}"])["embedder"])
    if isinstance(made, SentenceEmbedder):
        expected = {
            "e5": ("query: ", "passage: "),
            "bge": ("Represent this sentence for searching relevant passages: ", ""),
            "mxbai": ("Represent this sentence for searching relevant passages: ", ""),
            "nomic": ("search_query: ", "search_document: "),
        }
        assert tuple(made.prefixes.values()) == expected.get(name, ("", ""))
        assert made.identity.endswith(f":prefixes={','.join(made.prefixes.values())}")
        assert not made.trust_remote_code


def test_its_identity_follows_the_content_of_the_folder(tmp_path: Path) -> None:
    first = StaticEmbedder(written(tmp_path / "one")).identity
    assert first.startswith("static:one@") and first.endswith(":unit:prefixes=,")
    other = StaticEmbedder(written(tmp_path / "one", [[1, 1]] * 4)).identity
    assert first != other
