import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import Completion, Request, RunStopped
from graphrag_bench.llm.openai_compatible import OPENAI, OpenAICompatible, body, without_reasoning
from graphrag_bench.llm.server import unsupported_field
from graphrag_bench.llm.settings import Decoding, Dialect, provider_facts

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def client(url: str, **more: Any) -> OpenAICompatible:
    return OpenAICompatible("fake", url, None, **more)


def ask(model, prompt, **more) -> Any:
    return model.complete([prompt], **{"max_tokens": 20, **more})[0]


def test_a_reply_has_the_servers_token_counts_and_model(fake, chat):
    url = fake.scenario(text="Rome it is", fingerprints=["fp_7"])
    got = ask(client(url, prices={"prompt": 1.0, "completion": 2.0}), chat("The capital of Italy"))
    assert got.seconds > 0
    assert replace(got, seconds=0.0) == Completion(
        "Rome it is", "stop", model="fake", fingerprint="fp_7", prompt_tokens=4,
        completion_tokens=3, usd=10e-6,
    )  # fmt: skip


def test_concurrency_is_limited_over_all_callers(fake, chat):
    url = fake.scenario(latency=0.03)
    model = client(url, limits={"concurrency": 3})

    def work(n_prompts: int) -> list[str]:
        outcomes = model.complete([chat(f"#{n}") for n in range(n_prompts)], max_tokens=5)
        return [one.text for one in outcomes]

    with ThreadPoolExecutor(6) as threads:
        for texts in threads.map(work, (1, 1, 1, 1, 6, 6)):
            assert texts == [f"reply {n}" for n in range(len(texts))]
    assert 2 <= fake.stats(url).most_at_once <= 3


def test_a_prompt_longer_than_the_window_fails_alone_and_once(fake, chat):
    for window in ("window", "silent_window"):
        url = fake.scenario(**{window: 512})
        prompts = [chat("word " * 2000), chat("word " * 400)]
        failed, fine = client(url).complete(prompts, max_tokens=5)
        assert failed.reason == "context_overflow" and fine.prompt_tokens == 400
        assert fake.stats(url).requests == 2


def test_reasoning_is_removed_and_mentions_of_tags_stay():
    for text in (
        "<think>\n</think>\n\nParis", "[THINK]hm[/THINK]Paris", "<seed:think>hm</seed:think>Paris",
        "<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Paris",
        "◁think▷hm◁/think▷Paris", "<|im_start|>assistant\n<think>hm</think>Paris<|im_end|>",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris"
        "<|return|>", "analysisThe user asks.assistantfinalParis", "It is Rome </think>\n\nParis",
    ):  # fmt: skip
        assert without_reasoning(text) == "Paris", text
    for text in (
        "Qwen ends its reasoning with </think> and then answers.", "Use <think>hm</think> marks.",
        '{"triples": [["Qwen", "ends with", "</think>"]]}',
    ):  # fmt: skip
        assert without_reasoning(text) == text
    assert without_reasoning("<|channel|>analysis<|message|>hm") == ""
    text = "The mark </think> ends it."
    assert without_reasoning(f"It may be Rome. </think> {text}") == text


def test_finish_reasons_are_translated(fake, chat):
    for finish, meaning in (
        ("FINISH_REASON_MAX_TOKENS", "length"), ("model_length", "length"), ("SAFETY",
        "content_filter"), ("refusal", "refused"), ("insufficient_system_resource", "malformed"),
        ("end_turn", "stop"), (None, "stop"),
    ):  # fmt: skip
        got = ask(client(fake.scenario(finish=finish)), chat("x"))
        assert (got.finish if isinstance(got, Completion) else got.reason) == meaning, finish


def test_an_empty_reply_is_a_failure_with_its_tokens(fake, chat):
    failed = ask(client(fake.scenario(text="  ")), chat("a b c"))
    assert failed.reason == "empty" and failed.paid.prompt_tokens == 3
    url = fake.scenario(text="<think>Let me see, it may", finish="length")
    assert "max_tokens" in str(ask(client(url), chat("x")))
    assert ask(client(fake.scenario(finish="length")), chat("x")).finish == "length"


def test_a_dialect_and_a_stop_sequence_change_the_request(fake, chat):
    url = fake.scenario(text="Rome. Q: and")
    assert ask(client(url), chat("x"), stop=["and", "Q:"]).text == "Rome."
    request = Request(chat("x"), 20, ("Q:",), SCHEMA)
    dialect = Dialect(
        length="max_completion_tokens", temperature=False, seed=False, stop=False,
        schema_as="json_object",
    )  # fmt: skip
    sent = body("m", request, Decoding(), dialect)
    first, schema = sent.pop("messages")
    assert first == {"role": "user", "content": "x"} and '"answer"' in schema["content"]
    assert sent == {
        "model": "m", "max_completion_tokens": 20, "response_format": {"type": "json_object"}
    }  # fmt: skip
    assert "seed" not in body("m", request, Decoding(seed=None), Dialect())
    warm = Decoding(temperature=0.7, top_p=0.9, seed=7, extra={"reasoning_effort": "low"})
    sent = body("m", replace(request, trial=3), warm, Dialect(schema_as="words"))
    assert '"answer"' in sent.pop("messages")[1]["content"]
    assert sent == {"temperature": 0.7, "top_p": 0.9, "stop": ["Q:"], "reasoning_effort": "low",
                    "seed": 10, "max_tokens": 20, "model": "m"}  # fmt: skip


def test_an_unsupported_field_stops_the_run_at_the_first_call(fake, chat):
    for field, setting in (
        ("max_tokens", "dialect.length=max_completion_tokens"), ("seed", "dialect.seed=false"),
        ("json_schema", "dialect.schema_as"), ("top_k", "decoding.extra"),
    ):  # fmt: skip
        url = fake.scenario(refuse=[field])
        model = client(url, decoding={"extra": {"top_k": 3}})
        with pytest.raises(RunStopped, match=f"{field}.*llm.{setting}"):
            ask(model, chat("x"), stop=["\n"], schema=SCHEMA)
        assert fake.stats(url).requests == 1
    message = '{"error": {"message": "unsupported, stop it", "param": "temperature"}}'
    sent = {"model": 1, "seed": 3, "temperature": 4, "stop": 5}
    assert unsupported_field(message, sent) == "temperature"
    assert unsupported_field("this model is not supported", sent) is None
    url = fake.scenario(raw_status=400, raw_body="temperature must be below 2")
    assert ask(client(url), chat("x")).reason == "refused"


def test_tokens_are_estimated_without_valid_server_counts(fake, chat):
    for usage in ("many", {"prompt_tokens": -5, "completion_tokens": 1}):
        response = {"choices": [{"message": {"content": "Paris\ud83d"}}], "usage": usage}
        url = fake.scenario(raw_status=200, raw_body=json.dumps(response))
        got = ask(client(url), chat("Which city \ud800?"))
        assert got.text == "Paris?" and 0 < got.prompt_tokens < 100


def test_a_malformed_response_is_a_failure_of_the_server(fake, chat):
    for text in (
        '{"error": ["broken"]}',
        '{"choices": "none"}',
        '{"choices": [{"message": {"content": "Par"}, "finish_reason": "error"}]}',
        '{"choices": [{"message": {"content": "Par',
    ):
        model = client(fake.scenario(raw_status=200, raw_body=text), retries=0)
        model.server._proven = True
        failed = ask(model, chat("x"))
        assert failed.of_server and 0 < len(str(failed)) < 800, text


def test_a_wrong_setting_is_an_error():
    for group, name in (("limits", "concurency"), ("decoding", "temperature")):
        with pytest.raises(UserError, match=f"{group}.{name}"):
            OpenAICompatible("m", **{group: {name: "hot"}})


def test_servers_of_this_machine_get_many_calls_at_a_time(fake):
    assert client("https://far.example/v1").concurrency == 16
    for owner, limits, most in (
        (None, {}, 256), ("vllm", {}, 256), ("llamacpp", {}, 16), ("library", {}, 16),
        ("library", {"concurrency": 40}, 40),
    ):  # fmt: skip
        url = fake.scenario(listed=[{"id": "fake", "owned_by": owner}])
        assert client(url, limits=limits).attached().concurrency == most, owner


SILENT = "http://127.0.0.1:9/v1"


def test_windows_and_prices_are_those_of_the_providers_list() -> None:
    for model, address, window, prompt_price in (
        ("gpt-4o", OPENAI, 128_000, 2.5),
        ("a-model-of-ours", OPENAI, None, None),
        ("gpt-4o", "https://x.y/v1", None, None),
    ):
        stated, prices = provider_facts(model, address)
        assert (stated, prices and round(prices.prompt, 9)) == (window, prompt_price)


def test_a_window_of_the_server_is_stored_for_later(fake, tmp_path):
    stored = tmp_path / "cache" / "windows.json"

    def window(url: str, **settings: int) -> int | None:
        model = OpenAICompatible("m", url, None, **settings)
        model.server.windows_file = stored
        return model.attached().window

    assert window(fake.scenario()) is None
    for n, stated in enumerate(("max_model_len", "context_length", "n_ctx"), 4096):
        row = {"meta": {"n_ctx": n}} if stated == "n_ctx" else {stated: n}
        url = fake.scenario(listed=[{"id": "other", "max_model_len": 9}, {"id": "m", **row}])
        assert (window(url), window(url, window=100), window(SILENT)) == (n, 100, n)
    assert OpenAICompatible("m", SILENT, None).window is None
