"""One line for every call, sums that keep paid and cached apart, and lines that survive a kill."""

from graphrag_bench.models.ledger import Ledger, read_ledger, spent, sums
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.models.spending import Spending

PAID = Completion("a", 10, 5, model="m", fingerprint="f1", usd=0.5, seconds=2.0, retries=1)
CACHED = Completion("a", 10, 5, finish="length", model="m", fingerprint="f1", usd=0.5, cached=True)
FAILED = CallFailed("empty", "nothing", 2, 3.0, paid=Completion("", 7, 3, model="m", usd=0.1))


def written(tmp_path, *outcomes):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    log = ledger.at("answer", "answer.direct", "q1")
    for outcome in outcomes:
        log(outcome, "")
    ledger.close()
    return tmp_path / "ledger.jsonl"


def test_a_line_holds_all_there_is_to_know_about_a_call(tmp_path):
    (line,) = read_ledger(written(tmp_path, PAID))
    assert (line.stage, line.step, line.item, line.outcome) == (
        "answer",
        "answer.direct",
        "q1",
        "stop",
    )
    assert (line.prompt_tokens, line.completion_tokens, line.usd) == (10, 5, 0.5)
    assert (line.model, line.seconds, line.retries, line.cached) == ("m", 2.0, 1, False)


def test_sums_keep_paid_and_cached_apart_and_count_what_failed(tmp_path):
    lines = list(read_ledger(written(tmp_path, PAID, CACHED, FAILED)))
    total = sums(lines, "stage", "step")[("answer", "answer.direct")]
    assert (total.paid.calls, total.cached.calls, total.calls) == (2, 1, 3)
    assert (total.paid.prompt_tokens, total.cached.prompt_tokens) == (17, 10)
    assert (total.paid.usd, total.cached.usd) == (0.6, 0.5)
    assert (total.truncated, total.failed, total.paid.retries) == (1, (("empty", 1),), 3)
    assert spent(lines) == Spending(25, 0.6)


def test_a_run_that_saw_two_builds_of_a_model_is_marked(tmp_path):
    lines = list(
        read_ledger(written(tmp_path, PAID, Completion("b", 1, 1, model="m", fingerprint="f2")))
    )
    total = sums(lines, "stage")[("answer",)]
    assert total.mixed and total.models == ("m f1", "m f2")
    assert not sums(lines[:1], "stage")[("answer",)].mixed


def test_a_line_that_a_kill_cut_short_is_left_out_and_the_next_is_whole(tmp_path):
    path = written(tmp_path, PAID)
    with path.open("a") as file:
        file.write('{"stage": "ans')
    written(tmp_path, CACHED)
    assert [line.cached for line in read_ledger(path)] == [False, True]


def test_shards_are_read_as_one(tmp_path):
    paths = []
    for shard in "12":
        (tmp_path / shard).mkdir()
        paths.append(written(tmp_path / shard, PAID))
    assert sums(read_ledger(*paths), "kind")[("chat",)].calls == 2


def test_a_meter_writes_each_call_under_its_own_item(tmp_path, chat):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    meter = Metered(Scripted({"": "x"}), log=ledger.at("build", "extract"))
    meter.complete([chat("a"), chat("b")], max_tokens=3, items=["chunk-1", "chunk-2"])
    assert [line.item for line in read_ledger(ledger.path)] == ["chunk-1", "chunk-2"]
