"""What the client sends and how it reads replies, against servers of every kind, over HTTP."""

import threading

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.faults import Answer, unsupported
from graphrag_bench.models.llm import reply
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import CallFailed, Completion

FAST = {"first_pause": 0.01, "longest_pause": 0.05, "total": 5.0}
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def client(url, **more):
    return OpenAICompatible("fake", url, None, **{"patience": FAST, **more})


def ask(model, prompt, **more):
    return reply(model, prompt, **{"max_tokens": 20, **more})


def failure(model, prompt, **more):
    (outcome,) = model.complete([prompt], **{"max_tokens": 20, **more})
    assert isinstance(outcome, CallFailed)
    return outcome


def test_a_reply_carries_the_servers_counts_and_its_name(fake, chat):
    url = fake.scenario(text="Rome it is", fingerprints=["fp_7"])
    got = ask(client(url, prices={"prompt": 1.0, "completion": 2.0}), chat("The capital of Italy"))
    assert got.text == "Rome it is"
    assert (got.prompt_tokens, got.completion_tokens) == (4, 3)
    assert (got.model, got.fingerprint, got.finish) == ("fake", "fp_7", "stop")
    assert got.usd == pytest.approx(10e-6)
    assert got.retries == 0 and got.seconds > 0


def test_replies_come_in_the_order_of_the_prompts_and_calls_are_bounded(fake, chat):
    url = fake.scenario(latency=0.03)
    model = client(url, limits={"concurrency": 5})
    got = model.complete([chat(f"#{n}") for n in range(20)], max_tokens=5)
    assert [one.text for one in got] == [f"reply {n}" for n in range(20)]
    stats = fake.stats(url)
    assert stats.requests == 20 and 2 <= stats.most_at_once <= 5


def test_the_bound_holds_for_the_model_and_not_for_each_list(fake, chat):
    url = fake.scenario(latency=0.03)
    model = client(url, limits={"concurrency": 3})
    work = lambda: model.complete([chat(f"#{n}") for n in range(6)], max_tokens=5)  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fake.stats(url).most_at_once <= 3


def test_a_long_prompt_fails_alone_and_is_not_tried_again(fake, chat):
    url = fake.scenario(window=5)
    model = client(url)
    failed, fine = model.complete([chat("a b c d e f"), chat("a b")], max_tokens=5)
    assert failed.reason == "context_overflow" and isinstance(fine, Completion)
    assert fake.stats(url).requests == 2


def test_a_prompt_of_more_words_than_the_window_is_not_even_sent(fake, chat):
    url = fake.scenario()
    assert failure(client(url, window=3), chat("a b c d")).reason == "context_overflow"
    assert fake.stats(url).requests == 0


def test_a_server_that_cuts_prompts_silently_is_found_out(fake, chat):
    url = fake.scenario(silent_window=512)
    failed = failure(client(url), chat("word " * 2000))
    assert failed.reason == "context_overflow" and failed.paid.prompt_tokens == 512
    assert ask(client(url), chat("word " * 400)).prompt_tokens == 400


def test_filters_and_refusals_are_failures_of_the_call(fake, chat):
    url = fake.scenario(filter_word="bomb")
    assert failure(client(url), chat("a bomb")).reason == "content_filter"
    filtered = failure(client(fake.scenario(finish="content_filter")), chat("x"))
    assert filtered.reason == "content_filter" and filtered.paid.completion_tokens == 2
    refused = client(fake.scenario(message={"refusal": "I cannot", "content": None}))
    assert failure(refused, chat("x")).reason == "refused"


def test_an_empty_reply_is_a_failure_whose_tokens_are_known(fake, chat):
    failed = failure(client(fake.scenario(text="  ")), chat("a b c"))
    assert failed.reason == "empty" and failed.paid.prompt_tokens == 3


def test_a_cut_reply_says_so(fake, chat):
    assert ask(client(fake.scenario(finish="length")), chat("x")).finish == "length"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>Is it Rome? No.</think>Paris", "Paris"),
        ("<think>\n</think>\n\nParis", "Paris"),
        ("It may be Rome.</think>Paris", "Paris"),
        ("a < b and <b>c</b>", "a < b and <b>c</b>"),
    ],
)
def test_thinking_in_the_text_never_counts_as_the_answer(fake, chat, text, answer):
    got = ask(client(fake.scenario(text=text)), chat("x"))
    assert got.text == answer
    assert (got.reasoning_tokens > 0) == ("think" in text)


def test_reasoning_content_never_counts_as_the_answer(fake, chat):
    got = ask(client(fake.scenario(text="Paris", reasoning="Rome? No.")), chat("x"))
    assert got.text == "Paris" and 1 <= got.reasoning_tokens <= got.completion_tokens == 3


def test_a_reply_that_is_all_thinking_is_empty_and_says_what_to_do(fake, chat):
    url = fake.scenario(text="<think>Let me see, it may", finish="length")
    failed = failure(client(url), chat("x"))
    assert failed.reason == "empty" and "Raise max_tokens" in str(failed)


def test_what_a_server_refuses_is_left_out_once_and_remembered(fake, chat):
    url = fake.scenario(refuse=["temperature", "max_tokens", "seed"])
    model = client(url, limits={"concurrency": 4})
    got = model.complete([chat(f"#{n}") for n in range(10)], max_tokens=7)
    assert all(isinstance(one, Completion) for one in got)
    stats = fake.stats(url)
    assert stats.requests == 13
    assert stats.bodies[-1]["max_completion_tokens"] == 7
    assert not {"temperature", "seed", "max_tokens"} & set(stats.bodies[-1])


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("Unsupported value: 'seed' is not supported by this model", "seed"),
        ('{"error": {"message": "unsupported, stop it", "param": "temperature"}}', "temperature"),
        ("extra inputs are not permitted: body.stop", "stop"),
        ("temperature must be below 2", None),
        ("this model is not supported", None),
    ],
)
def test_the_refused_field_is_read_from_the_servers_words(said, field):
    sent = {"model": 1, "messages": 2, "seed": 3, "temperature": 4, "stop": 5}
    assert unsupported(Answer(400, said, {}), sent) == field


def test_a_length_that_is_refused_under_both_names_is_a_failure(fake, chat):
    url = fake.scenario(refuse=["max_tokens", "max_completion_tokens"])
    assert failure(client(url), chat("x")).reason == "refused"
    assert fake.stats(url).requests == 2


def test_half_characters_in_a_reply_become_question_marks(fake, chat):
    body = r'{"choices": [{"message": {"content": "a\ud83d"}, "finish_reason": "stop"}]}'
    assert ask(client(fake.scenario(raw_status=200, raw_body=body)), chat("x")).text == "a?"


def test_a_server_without_stop_still_stops(fake, chat):
    url = fake.scenario(refuse=["stop"], text="Rome. Question: and")
    assert ask(client(url), chat("x"), stop=["Question:"]).text == "Rome."


def test_a_schema_is_sent_where_it_is_understood(fake, chat):
    url = fake.scenario()
    assert ask(client(url), chat("#4"), schema=SCHEMA).text == '{"answer": "4"}'
    assert fake.stats(url).bodies[0]["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("refuse", "left"), [(["json_schema"], "json_object"), (["json_schema", "json_object"], None)]
)
def test_a_schema_is_said_in_words_where_it_is_not_understood(fake, chat, refuse, left):
    url = fake.scenario(refuse=refuse)
    model = client(url)
    ask(model, chat("x"), schema=SCHEMA)
    ask(model, chat("y"), schema=SCHEMA)
    stats = fake.stats(url)
    assert stats.requests == 2 + len(refuse)
    last = stats.bodies[-1]
    assert (last.get("response_format") or {}).get("type") == left
    assert '"answer"' in last["messages"][-1]["content"]


def test_repeats_get_other_seeds(fake, chat):
    from graphrag_bench.models.trial import OnTrial

    url = fake.scenario()
    model = client(url, decoding={"seed": 7})
    for trial in (0, 3):
        ask(OnTrial(model, trial), chat("x"))
    assert [body["seed"] for body in fake.stats(url).bodies] == [7, 10]


def test_tokens_are_counted_here_when_the_server_gives_none(fake, chat):
    got = ask(client(fake.scenario(usage=False, text="one two")), chat("a b c"))
    assert got.prompt_tokens >= 3 and got.completion_tokens == 2


def test_identity_knows_the_decoding_and_neither_address_nor_limits():
    one = OpenAICompatible("m", "http://a/v1", limits={"concurrency": 2})
    same = OpenAICompatible("m", "http://b/v1", window=5, prices={"prompt": 1.0})
    warm = OpenAICompatible("m", "http://a/v1", decoding={"temperature": 0.7})
    assert one.identity == same.identity != warm.identity


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limits": {"concurency": 3}}, "concurrency"),
        ({"limits": {"concurrency": 0}}, "limits.concurrency"),
        ({"decoding": {"temperature": "hot"}}, "decoding.temperature"),
        ({"prices": {"prompt": -1}}, "prices.prompt"),
    ],
)
def test_wrong_settings_are_errors_that_name_them(settings, message):
    with pytest.raises(UserError, match=message):
        OpenAICompatible("m", **settings)
