import numpy as np
import pytest

from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.llm.cache import Cache, StoredVector, row_key
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.ledger import Budget, Ledger, read_ledger, sums
from graphrag_bench.text import count_tokens

TEXTS = ["bb", "a", "ccc dd", "a", "ee"]


def embedder(url, **more):
    return OpenAIEmbedder("fake", 8, url, None, **more)


def test_vectors_are_normalised_and_batches_do_not_depend_on_order_and_repeats(fake):
    url = fake.scenario()
    model = embedder(url, batch_size=3, question_prefix="query: ")
    result = model.encode(TEXTS, kind="passage")
    assert result.shape == (5, 8) and result.dtype == np.float32
    assert np.allclose(np.linalg.norm(result, axis=1), 1)
    assert np.array_equal(model.encode(TEXTS[::-1], kind="passage")[::-1], result)
    assert np.array_equal(result[1], result[3])
    model.encode(["b", "a"], kind="question")
    sent = sorted(body["input"] for body in fake.stats(url).bodies)
    assert sent == [["a", "bb", "ee"]] * 2 + [["ccc dd"]] * 2 + [["query: a"], ["query: b"]]


def test_only_texts_without_a_cached_vector_are_sent(fake, tmp_path):
    url = fake.scenario()
    store, ledger = Cache(tmp_path / "replies.sqlite"), Ledger(tmp_path / "ledger.jsonl")
    model = embedder(url, prices={"prompt": 1.0}).attached(
        store=store, log=ledger.logger("build", "node_index", kind="embedding")
    )
    first = model.encode(TEXTS, kind="passage")
    more = model.encode([*TEXTS, "new one"], kind="passage")
    assert [body["input"] for body in fake.stats(url).bodies][1:] == [["new one"]]
    assert np.array_equal(more[:-1], first)
    total = sums(list(read_ledger(ledger.path)))
    assert {line.kind for line in read_ledger(ledger.path)} == {"embedding"}
    assert (total["paid"]["calls"], total["cached"]["calls"]) == (2, 1)
    assert (total["paid"]["prompt_tokens"], total["cached"]["prompt_tokens"]) == (7, 5)
    assert total["paid"]["usd"] == pytest.approx(7e-6)
    store.close()


def test_a_failed_call_raises_and_is_in_the_ledger(fake, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    url = fake.scenario(raw_status=400, raw_body="the input is too long")
    with pytest.raises(CallFailed, match="too long"):
        embedder(url).attached(log=ledger.logger("build", "index")).encode(["a"], kind="passage")
    assert [line.outcome for line in read_ledger(ledger.path)] == ["context_overflow"]
    with pytest.raises(RunStopped, match="embedder.dimension=5"):
        embedder(fake.scenario(dimension=5)).encode(["a"], kind="passage")


def test_a_budget_limits_embeddings(fake):
    url = fake.scenario()
    model = embedder(url, batch_size=1, limits={"concurrency": 1}).attached(budget=Budget(60))
    with pytest.raises(RunStopped, match="budget.tokens=60"):
        model.encode([f"t{n}" for n in range(100)], kind="passage")
    assert fake.stats(url).requests < 100


def test_short_texts_share_cached_vectors_between_modes(fake, tmp_path):
    url, how = fake.scenario(), {"window": 40, "tokenizer": "cl100k"}
    store = Cache(tmp_path / "replies.sqlite")
    embedder(url, **how).attached(store=store).encode(["bb", "a"], kind="passage")
    key = row_key("openai:fake:8:unit:prefixes=,", "", "a")
    assert [*store.get_many(StoredVector, [key])] == [key]
    embedder(url, long_texts="cut", **how).attached(store=store).encode(["a", "bb"], kind="passage")
    assert fake.stats(url).requests == 1
    store.close()


def test_a_call_stays_below_the_token_limit(fake, monkeypatch):
    monkeypatch.setattr("graphrag_bench.embedding.openai_embedder._TOKENS_PER_CALL", 6)
    url = fake.scenario()
    embedder(url).encode(["one two", "three four", "five six", "a b c d e f g h"], kind="passage")
    sizes = sorted(sum(map(count_tokens, b["input"])) for b in fake.stats(url).bodies)
    assert sizes == [6, 8]
