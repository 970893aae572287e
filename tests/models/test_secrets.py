"""A planted API key reaches the server, and nothing that anybody reads afterwards."""

import logging
import pickle
import traceback

import pytest

from graphrag_bench.addresses import public_address
from graphrag_bench.models.api_key import ApiKey
from graphrag_bench.models.cache_sharing import export_replies
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.ledger import Ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.outcomes import CallFailed, RunStopped
from graphrag_bench.models.reply_store import ReplyStore

KEY = "sk-planted-0123456789abcdef"
FAST = {"first_pause": 0.01, "longest_pause": 0.02, "total": 5.0}
ECHO = '{"error": {"message": "I saw {key}"}}'


@pytest.fixture(autouse=True)
def planted(monkeypatch, caplog):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    caplog.set_level(logging.DEBUG)


def everything_shown(error):
    shown = "".join(traceback.format_exception(error))
    while error is not None:
        shown += f"{error!r} {error} {vars(error)}"
        error = error.__context__
    return shown


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 503])
def test_an_error_body_that_echoes_the_key_is_cleaned(fake, chat, caplog, status):
    url = fake.scenario(raw_status=status, raw_body=ECHO)
    model = OpenAICompatible("fake", url, "PLANTED_KEY", patience=FAST)
    try:
        (failure,) = model.complete([chat("x")], max_tokens=5)
    except RunStopped as stop:
        failure = stop
    shown = everything_shown(failure) + caplog.text + repr(vars(model.endpoint))
    assert KEY not in shown
    assert "<api key>" in str(failure)


def test_a_reply_that_echoes_the_key_is_cleaned_before_it_is_kept(fake, chat, tmp_path, caplog):
    body = (
        '{"model": "{key}", "system_fingerprint": "{key}", "choices": [{"message": '
        '{"role": "assistant", "content": "your key is {key}"}, "finish_reason": "stop"}]}'
    )
    url = fake.scenario(raw_status=200, raw_body=body)
    store = ReplyStore(tmp_path / "replies.sqlite", "rollback")
    ledger = Ledger(tmp_path / "ledger.jsonl")
    model = Cached(OpenAICompatible("fake", url, "PLANTED_KEY"), store)
    meter = Metered(model, log=ledger.at("answer", "step", "q"))
    (reply,) = meter.complete([chat("x")], max_tokens=5)
    assert reply.text == "your key is <api key>"
    store.close()
    export_replies(tmp_path / "replies.sqlite", tmp_path / "shared.jsonl")
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in caplog.text + repr(reply) + model.identity


def test_a_key_written_with_escapes_is_found_too(fake, chat, monkeypatch):
    content = "sk/planted".replace("/", r"\/").replace("s", r"\u0073", 1)
    body = f'{{"choices": [{{"message": {{"content": "{content}"}}, "finish_reason": "stop"}}]}}'
    monkeypatch.setenv("PLANTED_KEY", "sk/planted")
    url = fake.scenario(raw_status=200, raw_body=body)
    (reply,) = OpenAICompatible("fake", url, "PLANTED_KEY").complete([chat("x")], max_tokens=5)
    assert reply.text == "<api key>"


def test_the_key_did_reach_the_server(fake, chat):
    (reply,) = OpenAICompatible("fake", fake.scenario(key=KEY), "PLANTED_KEY").complete(
        [chat("x")], max_tokens=5
    )
    assert not isinstance(reply, CallFailed)


def test_an_embedder_hides_it_too(fake, caplog):
    url = fake.scenario(raw_status=401, raw_body=ECHO)
    with pytest.raises(RunStopped) as raised:
        OpenAIEmbedder("fake", 8, url, "PLANTED_KEY").encode(["x"], kind="passage")
    assert KEY not in everything_shown(raised.value) + caplog.text


def test_a_key_is_not_part_of_its_repr_and_an_address_not_of_its_password():
    assert KEY not in repr(ApiKey.from_environment("PLANTED_KEY"))
    address = "https://user:word@host:81/v1?token=abc"
    assert public_address(address) == "https://host:81/v1"


def test_failures_that_cross_a_process_keep_no_key(fake, chat):
    url = fake.scenario(raw_status=400, raw_body=ECHO)
    (failure,) = OpenAICompatible("fake", url, "PLANTED_KEY").complete([chat("x")], max_tokens=5)
    assert KEY.encode() not in pickle.dumps((failure.reason, str(failure), vars(failure)))
