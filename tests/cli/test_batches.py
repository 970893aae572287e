"""Requests as batch files instead of calls: the same bytes as by calls, and no network."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import batch_server
import pytest
from toy_runs import command, output, records, run_error, run_folder, write_scopes

from graphrag_bench.llm.batch import import_replies
from graphrag_bench.llm.cache import Cache, cache_stats
from graphrag_bench.llm.calls import RequestsWritten

pytestmark = pytest.mark.slow

MODEL = ["llm=openai_compatible", "llm._target_=batch_server.Direct", "llm.model=fake",
         "llm.base_url=http://127.0.0.1:9/v1", "llm.api_key_env=null"]  # fmt: skip
SET = ["embedder=hashing", *MODEL]
BUILT = ["method=hipporag", "method.conversion=llm", "build.extraction=llm"]
JUDGE = ["llm@llm_judge=openai_compatible", *(f"llm_judge{word[3:]}" for word in MODEL[1:])]
REQUESTS, REPLIES = Path("requests.jsonl"), Path("replies.jsonl")
BATCH, CACHE = "cache.batch=requests.jsonl", "cache/replies.sqlite"
TOY, BM25 = ["dataset=toy", "limit=2"], "method=bm25"
DETERMINED = ("records.jsonl", "contexts.jsonl", "verdicts.jsonl", "statistics.json", "answers.txt")


def n_left(*words):
    """Run; return the number of requests in the batch file, 0 after a run that ended."""
    try:
        run_folder(*SET, *words, BATCH)
    except RequestsWritten as stop:
        assert (REQUESTS.name in str(stop), stop.exit_code) == (True, 1)
    return len(REQUESTS.read_text().splitlines())


def by_batches(*words):
    """Repeat a run until no request is left; return the size of each batch."""
    sizes = []
    while n_left(*words, "paths.home=batch"):
        answers = batch_server.serve(REQUESTS, REPLIES)
        assert len({one["custom_id"] for one in answers}) == len(answers) > 0
        sizes.append(len(answers))
        imported = import_replies(REPLIES, "batch/cache/replies.sqlite")
        assert imported.startswith(f"{len(answers)} replies, 0 failed, 0 known, 0 foreign")
    return sizes


def files(home):
    return {str(path.relative_to(home)): path.read_bytes() for path in Path(home).rglob("*")
            if path.name in DETERMINED or path.suffix == ".npy"}  # fmt: skip


def test_builds_runs_and_judges_by_batches_have_the_bytes_of_direct_calls(home):
    methods = ([*TOY, *BUILT], [*TOY, BM25])
    direct = [run_folder(*SET, *words, "paths.home=direct") for words in methods]
    assert command("judge", *map(str, direct), *JUDGE).code == 0
    batch_server.calls.clear()
    assert by_batches(*TOY, *BUILT) == [8, 8, 2, 2]  # names, triples, conversion, answers
    assert by_batches(*TOY, BM25) == [2]
    runs = [str(path) for path in Path("batch").glob("runs/toy/*/*")]
    judge = ["judge", *runs, *JUDGE, "--batch", str(REQUESTS)]
    assert command(*judge).code == 1
    n = len(batch_server.serve(REQUESTS, REPLIES))
    assert n and command(*judge, "--replies", str(REPLIES)).code == 0
    assert batch_server.calls == []
    assert files("batch") == files("direct") and len(files("batch")) > 5


def test_the_requests_of_all_scopes_are_in_one_batch(home):
    assert by_batches(*write_scopes(home / "scoped", "Alba", "Beldor"), *BUILT) == [2, 2, 2, 2]


def error(status, message):
    return {"response": {"status_code": status, "body": {"error": {"message": message}}}}


CUT, FILTERED = {"finish_reason": "length"}, {"finish_reason": "content_filter"}
NULL = {"message": {"content": None}}


def change(answer, fields):
    choice = fields in (CUT, FILTERED, NULL)
    (answer["response"]["body"]["choices"][0] if choice else answer).update(fields)


@pytest.mark.parametrize(
    ("fields", "counted", "n_again", "status"),
    [
        ({"custom_id": "x"}, "1 foreign", 1, "answered"),
        (error(500, "busy"), "1 failed", 1, "answered"),
        (error(400, "unsupported field"), "1 failed", 1, "answered"),
        ({"response": None, "error": {"code": "batch_expired"}}, "1 failed", 1, "answered"),
        (error(400, "maximum context length"), "1 failed", 0, "failed"),
        (FILTERED, "1 failed", 0, "failed"),
        (NULL, "1 failed", 0, "failed"),
        (CUT, "2 replies", 0, "answered"),
    ],
)
def test_a_reply_that_may_come_later_is_requested_again(home, fields, counted, n_again, status):
    assert n_left(*TOY, BM25) == 2
    answers = batch_server.serve(REQUESTS, REPLIES)
    change(answers[0], fields)
    batch_server.write(REPLIES, answers)
    with REPLIES.open("a") as file:
        file.write('{"custom_id": "torn')
    imported = import_replies(REPLIES, CACHE)
    assert counted in imported and "1 unreadable" in imported
    (counts,) = cache_stats(CACHE).values()
    assert (counts["waiting"], counts["cut"]) == (counted == "1 foreign", fields is CUT)
    assert n_left(*TOY, BM25) == n_again
    if not n_again:  # a reported failure is requested by the next command
        assert statuses() == {"answered", status}
        assert n_left(*TOY, BM25) == (status == "failed")
    batch_server.serve(REQUESTS, REPLIES)
    command("cache", "import", str(REPLIES))  # an empty file is refused
    assert n_left(*TOY, BM25) == 0 and statuses() == {"answered"}


def statuses():
    (folder,) = Path("runs/toy").glob("*/*")
    return {row["status"] for row in records(folder)}


def test_a_file_of_other_content_is_not_overwritten_and_other_models_are_refused(home):
    words = [*TOY, BM25, BATCH]
    assert "openai_compatible" in run_error(*words, "llm=scripted")
    for other in ({"question": "Who?"}, {"custom_id": "1", "response": {"status_code": 200}}):
        REQUESTS.write_text(json.dumps(other))
        assert REQUESTS.name in run_error(*words, *MODEL)
        assert json.loads(REQUESTS.read_text()) == other


def test_a_good_reply_replaces_a_failure_and_other_lines_are_counted(home):
    assert n_left(*TOY, BM25) == 2
    assert command("cache", "import", str(REQUESTS)).code == 2
    assert cache_stats(CACHE).popitem()[1]["waiting"] == 2
    good = batch_server.serve(REQUESTS, REPLIES)
    text = REPLIES.read_text()
    bad = json.loads(json.dumps(good))
    change(bad[0], NULL)
    change(bad[1], FILTERED)
    for answers, counted in ((bad, "0 replies, 2 failed"), (good, "2 replies, 0 failed, 0 known")):
        batch_server.write(REPLIES, answers)
        assert import_replies(REPLIES, CACHE).startswith(counted)
    shapes = [[1], {"status_code": 200, "body": [1]}, {"status_code": 200, "body": "x"}]
    lines = [json.dumps({"custom_id": good[0]["custom_id"], "response": one}) for one in shapes]
    REPLIES.write_text("\n".join(["", "torn", "[1]", *lines, text]))
    assert "2 known, 0 foreign, 5 unreadable" in output("cache", "import", REPLIES)
    assert n_left(*TOY, BM25) == 0 and statuses() == {"answered"}
    with closing(Cache(CACHE)) as cache:
        cache.set_verdict(good[0]["custom_id"], "unreadable")
    shutil.rmtree("runs")
    assert n_left(*TOY, BM25) == 1  # an unreadable reply is asked again
    assert json.loads(REQUESTS.read_text())["custom_id"] == good[0]["custom_id"]
    REPLIES.write_text('torn\n{"a": 1}\n')
    neither = command("cache", "import", str(REPLIES))
    assert (neither.code, "custom_id" in neither.err, "format" in neither.err) == (2, True, True)
