"""Requests to servers of every kind, and parsing of their responses, over HTTP."""

import json
import threading
from typing import Any

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.openai_compatible import OpenAICompatible, without_reasoning
from graphrag_bench.llm.server import unsupported_field

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def client(url: str, **more: Any) -> OpenAICompatible:
    return OpenAICompatible("fake", url, None, **more)


def ask(model, prompt, **more) -> Completion:
    return model.complete([prompt], **{"max_tokens": 20, **more})[0]


def failure(model, prompt, **more) -> CallFailed:
    (outcome,) = model.complete([prompt], **{"max_tokens": 20, **more})
    assert isinstance(outcome, CallFailed)
    return outcome


def test_a_reply_has_the_servers_token_counts_and_model(fake, chat):
    url = fake.scenario(text="Rome it is", fingerprints=["fp_7"])
    got = ask(client(url, prices={"prompt": 1.0, "completion": 2.0}), chat("The capital of Italy"))
    assert got.text == "Rome it is"
    assert (got.prompt_tokens, got.completion_tokens) == (4, 3)
    assert (got.model, got.fingerprint, got.finish) == ("fake", "fp_7", "stop")
    assert got.usd == pytest.approx(10e-6)
    assert got.retries == 0 and got.seconds > 0


def test_concurrency_is_limited_over_all_callers(fake, chat):
    url = fake.scenario(latency=0.03)
    model = client(url, limits={"concurrency": 3})
    replies: list[list[str]] = []

    def work(n_prompts: int) -> None:
        outcomes = model.complete([chat(f"#{n}") for n in range(n_prompts)], max_tokens=5)
        replies.append([one.text for one in outcomes])

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 1, 1, 1, 6, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(texts == [f"reply {n}" for n in range(len(texts))] for texts in replies)
    assert 2 <= fake.stats(url).most_at_once <= 3


def test_a_prompt_longer_than_the_window_fails_alone_and_once(fake, chat):
    for window in ("window", "silent_window"):
        url = fake.scenario(**{window: 512})
        prompts = [chat("word " * 2000), chat("word " * 400)]
        failed, fine = client(url).complete(prompts, max_tokens=5)
        assert failed.reason == "context_overflow" and fine.prompt_tokens == 400
        assert fake.stats(url).requests == 2


def test_reasoning_is_removed_and_mentions_of_tags_stay():
    for text, answer in (
        ("<think>\n</think>\n\nParis", "Paris"),
        ("[THINK]hm[/THINK]Paris", "Paris"),
        ("<seed:think>hm</seed:think>Paris", "Paris"),
        ("<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Paris<|end_of_solution|>",
         "Paris"),
        ("◁think▷hm◁/think▷Paris", "Paris"),
        ("<|im_start|>assistant\n<think>hm</think>Paris<|im_end|>", "Paris"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris"
         "<|return|>", "Paris"),
        ("analysisThe user asks.assistantfinalParis", "Paris"),
        ("<|channel|>analysis<|message|>hm", ""),
        ("So it is Rome </think>\n\nParis", "Paris"),
        ("It may be Rome. </think> The mark </think> ends it.", "The mark </think> ends it."),
        *((text, text) for text in (
            "Qwen ends its reasoning with </think> and then answers.",
            '{"triples": [["Qwen", "ends with", "</think>"]]}',
            "Use <think>hm</think> marks.",
        )),
    ):  # fmt: skip
        assert without_reasoning(text) == answer, text


def test_finish_reasons_are_translated(fake, chat):
    for finish, meaning in (
        ("FINISH_REASON_MAX_TOKENS", "length"), ("model_length", "length"), ("SAFETY",
        "content_filter"), ("refusal", "refused"), ("insufficient_system_resource", "malformed"),
        ("end_turn", "stop"), (None, "stop"),
    ):  # fmt: skip
        (got,) = client(fake.scenario(finish=finish)).complete([chat("x")], max_tokens=5)
        assert (got.finish if isinstance(got, Completion) else got.reason) == meaning, finish


def test_an_empty_reply_is_a_failure_with_its_tokens(fake, chat):
    failed = failure(client(fake.scenario(text="  ")), chat("a b c"))
    assert failed.reason == "empty" and failed.paid.prompt_tokens == 3
    url = fake.scenario(text="<think>Let me see, it may", finish="length")
    assert "max_tokens" in str(failure(client(url), chat("x")))
    assert ask(client(fake.scenario(finish="length")), chat("x")).finish == "length"


def test_a_dialect_drops_and_renames_request_fields(fake, chat):
    url = fake.scenario(refuse=["temperature", "max_tokens", "seed", "stop"], text="Rome. Q: and")
    dialect = {
        "length": "max_completion_tokens",
        **dict.fromkeys(("temperature", "seed", "stop"), False),
    }
    assert ask(client(url, dialect=dialect), chat("x"), stop=["Q:"]).text == "Rome."
    (body,) = fake.stats(url).bodies
    assert body["max_completion_tokens"] == 20
    assert not {"temperature", "seed", "max_tokens", "stop"} & set(body)


def test_an_unsupported_field_stops_the_run_at_the_first_call(fake, chat):
    for field, setting in (
        ("max_tokens", "llm.dialect.length=max_completion_tokens"),
        ("temperature", "llm.dialect.temperature=false"),
        ("seed", "llm.dialect.seed=false"),
        ("json_schema", "llm.dialect.schema_as"),
        ("top_k", "llm.decoding.extra"),
    ):
        url = fake.scenario(refuse=[field])
        model = client(url, decoding={"extra": {"top_k": 3}})
        with pytest.raises(RunStopped, match=f"{field}.*{setting}"):
            ask(model, chat("x"), stop=["\n"], schema=SCHEMA)
        assert fake.stats(url).requests == 1


def test_unsupported_fields_are_read_from_messages_and_a_wrong_value_fails_a_call(fake, chat):
    sent = {"model": 1, "seed": 3, "temperature": 4, "stop": 5}
    message = '{"error": {"message": "unsupported, stop it", "param": "temperature"}}'
    assert unsupported_field(message, sent) == "temperature"
    assert unsupported_field("this model is not supported", sent) is None
    url = fake.scenario(raw_status=400, raw_body="temperature must be below 2")
    assert failure(client(url), chat("x")).reason == "refused"


def test_a_schema_is_written_into_the_prompt_for_other_dialects(fake, chat):
    for form, kind in (("json_object", "json_object"), ("words", None)):
        url = fake.scenario()
        ask(client(url, dialect={"schema_as": form}), chat("x"), schema=SCHEMA)
        (body,) = fake.stats(url).bodies
        assert (body.get("response_format") or {}).get("type") == kind
        assert '"answer"' in body["messages"][-1]["content"]


def test_tokens_are_estimated_without_valid_server_counts(fake, chat):
    for usage in ("many", {"prompt_tokens": -5, "completion_tokens": 1}):
        body = {"choices": [{"message": {"content": "Paris\ud83d"}}], "usage": usage}
        url = fake.scenario(raw_status=200, raw_body=json.dumps(body))
        got = ask(client(url), chat("Which city \ud800?"))
        assert got.text == "Paris?" and 0 < got.prompt_tokens < 100


def test_a_malformed_response_is_a_failure_of_the_server(fake, chat):
    for body in (
        json.dumps({"error": ["broken"]}),
        json.dumps({"choices": "none"}),
        json.dumps({"choices": [{"message": {"content": "Par"}, "finish_reason": "error"}]}),
        '{"choices": [{"message": {"content": "Par',
    ):
        model = client(fake.scenario(raw_status=200, raw_body=body), retries=0)
        model.server._proven = True
        failed = failure(model, chat("x"))
        assert failed.of_server and 0 < len(str(failed)) < 800, body


def test_a_wrong_setting_is_an_error():
    for group, name in (("limits", "concurency"), ("decoding", "temperature")):
        with pytest.raises(UserError, match=f"{group}.{name}"):
            OpenAICompatible("m", **{group: {name: "hot"}})


def test_servers_of_this_machine_get_many_calls_at_a_time(fake, chat):
    assert client("https://far.example/v1").concurrency == 16
    for owner, limits, most in (
        (None, {}, 256), ("vllm", {}, 256), ("llamacpp", {}, 16), ("library", {}, 16),
        ("library", {"concurrency": 40}, 40), (None, {"concurrency": 3}, 3),
    ):  # fmt: skip
        url = fake.scenario(latency=0.2, listed=[{"id": "fake", "owned_by": owner}])
        model = client(url, limits=limits)
        assert model.attached().concurrency == most, owner
        if limits == {"concurrency": 3} or (owner, most) == ("library", 16):
            model.complete([chat(f"#{n}") for n in range(most + 2)], max_tokens=5)
            assert fake.stats(url).most_at_once == most
