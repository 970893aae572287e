"""Embeddings by API: unit rows in order, and the same limits, cache, ledger and faults as chat."""

import numpy as np
import pytest

from graphrag_bench.models.budget import Budget
from graphrag_bench.models.cache_sharing import export_replies, import_replies
from graphrag_bench.models.ledger import Ledger, read_ledger, sums
from graphrag_bench.models.llm import CallFailed, RunStopped
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.reply_store import ReplyStore

FAST = {"first_pause": 0.01, "longest_pause": 0.05, "total": 5.0}
TEXTS = ["bb", "a", "ccc dd", "a", "ee"]


def embedder(url, **more):
    return OpenAIEmbedder("fake", 8, url, None, **{"patience": FAST, **more})


def test_rows_are_unit_vectors_in_the_order_of_the_texts(fake):
    found = embedder(fake.scenario(), batch_size=2).encode(TEXTS, kind="passage")
    assert found.shape == (5, 8) and found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    alone = embedder(fake.scenario()).encode(["ccc dd"], kind="passage")
    assert np.array_equal(found[1], found[3]) and np.array_equal(found[2], alone[0])


def test_no_texts_make_no_call(fake):
    url = fake.scenario()
    assert embedder(url).encode([], kind="passage").shape == (0, 8)
    assert fake.stats(url).requests == 0


def test_blocks_depend_on_the_texts_alone_and_equal_texts_are_sent_once(fake):
    url = fake.scenario()
    model = embedder(url, batch_size=3)
    model.encode(TEXTS, kind="passage")
    model.encode(TEXTS[::-1], kind="passage")
    sent = sorted(tuple(body["input"]) for body in fake.stats(url).bodies)
    assert sent == [("a", "bb", "ee")] * 2 + [("ccc dd",)] * 2


def test_questions_go_one_by_one_with_their_prefix(fake):
    url = fake.scenario()
    embedder(url, question_prefix="query: ").encode(["b", "a"], kind="question")
    assert sorted(body["input"] for body in fake.stats(url).bodies) == [["query: a"], ["query: b"]]


def test_what_was_paid_for_is_not_paid_for_again(fake, tmp_path):
    url = fake.scenario()
    store, ledger = ReplyStore(tmp_path / "replies.sqlite"), Ledger(tmp_path / "ledger.jsonl")
    model = embedder(url, prices={"prompt": 1.0}).attached(
        store=store, log=ledger.at("build", "node_index", kind="embedding")
    )
    first = model.encode(TEXTS, kind="passage")
    assert np.array_equal(model.encode(TEXTS, kind="passage"), first)
    assert fake.stats(url).requests == 1
    total = sums(read_ledger(ledger.path), "stage", "kind")[("build", "embedding")]
    assert (total.paid.calls, total.cached.calls) == (1, 1)
    assert total.paid.prompt_tokens == total.cached.prompt_tokens == 5
    assert total.paid.usd == pytest.approx(5e-6)
    store.close()


def test_vectors_are_shared_like_replies(fake, tmp_path):
    url = fake.scenario()
    store = ReplyStore(tmp_path / "replies.sqlite")
    first = embedder(url).attached(store=store).encode(TEXTS, kind="passage")
    store.close()
    assert export_replies(tmp_path / "replies.sqlite", tmp_path / "shared.jsonl.gz") == 1
    assert import_replies(tmp_path / "shared.jsonl.gz", tmp_path / "new.sqlite") == 1
    other = ReplyStore(tmp_path / "new.sqlite")
    again = embedder(url).attached(store=other, mode="read").encode(TEXTS, kind="passage")
    assert np.array_equal(again, first) and fake.stats(url).requests == 1
    other.close()


def test_another_prefix_or_dimension_is_another_key(fake, tmp_path):
    url = fake.scenario()
    store = ReplyStore(tmp_path / "replies.sqlite")
    embedder(url).attached(store=store).encode(["a"], kind="passage")
    embedder(url, passage_prefix="p: ").attached(store=store).encode(["a"], kind="passage")
    OpenAIEmbedder("fake", 4, url, None, shorten=True).attached(store=store).encode(
        ["a"], kind="passage"
    )
    assert fake.stats(url).requests == 3
    store.close()


def test_faults_are_tried_again(fake):
    url = fake.scenario(share_500=0.3, share_reset=0.2, seed=2)
    found = embedder(url, batch_size=1).encode([f"t{n}" for n in range(20)], kind="passage")
    assert np.isfinite(found).all() and fake.stats(url).faults.total() > 0


def test_a_failure_is_raised_and_entered_and_never_a_row_of_zeros(fake, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    url = fake.scenario(raw_status=400, raw_body="the input is too long")
    with pytest.raises(CallFailed, match="does not fit"):
        embedder(url).attached(log=ledger.at("build", "index")).encode(["a"], kind="passage")
    assert [line.outcome for line in read_ledger(ledger.path)] == ["context_overflow"]


def test_a_wrong_dimension_stops_and_says_the_right_one(fake):
    url = fake.scenario(dimension=5)
    with pytest.raises(RunStopped, match="embedder.dimension=5"):
        embedder(url).encode(["a"], kind="passage")


def test_a_vector_without_a_direction_is_refused(fake):
    url = fake.scenario(
        raw_status=200, raw_body='{"data": [{"index": 0, "embedding": [0, 0, 0, 0, 0, 0, 0, 0]}]}'
    )
    with pytest.raises(CallFailed, match="direction"):
        embedder(url).encode(["a"], kind="passage")


def test_the_budget_holds_for_embeddings(fake):
    url = fake.scenario()
    model = embedder(url, batch_size=1, limits={"concurrency": 1}).attached(budget=Budget(60))
    with pytest.raises(RunStopped, match="budget.tokens=60"):
        model.encode([f"t{n}" for n in range(100)], kind="passage")
    assert fake.stats(url).requests < 100


def test_identity_holds_whatever_can_change_a_vector(fake):
    one = OpenAIEmbedder("m", 8, "http://a/v1").identity
    assert one == OpenAIEmbedder("m", 8, "http://b/v1").identity
    others = [
        OpenAIEmbedder("n", 8),
        OpenAIEmbedder("m", 9),
        OpenAIEmbedder("m", 8, shorten=True),
        OpenAIEmbedder("m", 8, question_prefix="q"),
        OpenAIEmbedder("m", 8, passage_prefix="q"),
    ]
    assert len({one, *(other.identity for other in others)}) == 6
