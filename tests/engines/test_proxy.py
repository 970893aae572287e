"""The proxy: a run's own models behind the OpenAI protocol, as the clients of engines see it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import openai
import pytest

from graphrag_bench.models.budget import Budget, Budgeted
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.llm import LLM, Metered
from graphrag_bench.models.outcomes import BudgetSpent, CallFailed, Completion
from graphrag_bench.models.proxy import EMBEDDER, Proxy, Served
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.scripted import Scripted

HELLO = [{"role": "user", "content": "Say hello."}]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()


@pytest.fixture
def client(proxy: Proxy) -> openai.OpenAI:
    """A client as engines have it: it repeats what it takes for a passing fault."""
    return openai.OpenAI(api_key=proxy.key, base_url=proxy.base_url, max_retries=5)


def served(model: LLM, **more: object) -> Served:
    return Served({"reader": model}, Hashing(8), "question", **more)  # type: ignore[arg-type]


def test_a_chat_is_answered_by_the_model_of_that_name(proxy: Proxy, client: openai.OpenAI) -> None:
    reader, builder = Scripted([("hello", "I read")]), Scripted([("hello", "I build")])
    work = Served({"reader": reader, "build": builder}, Hashing(8), "passage")
    with proxy.serving(work):
        read = client.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
        built = client.chat.completions.create(model="build", messages=HELLO)  # type: ignore[arg-type]
        names = [one.id for one in client.models.list()]
    assert read.choices[0].message.content == "I read"
    assert built.choices[0].message.content == "I build"
    assert read.usage is not None and read.usage.prompt_tokens == 2
    assert names == ["build", "reader", EMBEDDER]


def test_an_unknown_model_is_refused_with_those_there_are(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    with proxy.serving(served(Scripted())), pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)  # type: ignore[arg-type]
    assert "there are: reader" in str(refused.value)


def test_another_key_is_refused_and_so_is_every_call_outside_of_the_work(proxy: Proxy) -> None:
    stranger = openai.OpenAI(api_key="another", base_url=proxy.base_url, max_retries=0)
    model = Scripted([("hello", "hello")])
    with proxy.serving(served(model)), pytest.raises(openai.AuthenticationError):
        stranger.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
    late = openai.OpenAI(api_key=proxy.key, base_url=proxy.base_url)
    with pytest.raises(openai.APIStatusError, match="No question is being asked"):
        late.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
    assert model.asked == []


def test_limits_stops_and_schemas_of_the_client_reach_the_model(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    seen = []

    class Seeing(Scripted):
        def call(self, request):  # type: ignore[no-untyped-def]
            seen.append(request)
            return super().call(request)

    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    with proxy.serving(served(Seeing([("hello", '{"name": "Ada"}')]), max_tokens=77)):
        for more in (
            {},
            {"max_tokens": 5, "stop": "\n", "temperature": 1.0},
            {"max_completion_tokens": 6, "response_format": {
                "type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
            {"response_format": {"type": "json_object"}},
        ):  # fmt: skip
            client.chat.completions.create(model="reader", messages=HELLO, **more)  # type: ignore
    assert [one.max_tokens for one in seen] == [77, 5, 6, 77]
    assert [one.stop for one in seen] == [(), ("\n",), (), ()]
    assert [one.schema for one in seen] == [None, None, schema, {"type": "object"}]


def test_a_tool_that_must_be_called_is_a_schema_and_its_reply_a_call(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    tool = {"type": "function", "function": {"name": "names", "parameters": {"type": "object"}}}
    with proxy.serving(served(Scripted([("hello", '{"names": []}')]))):
        answer = client.chat.completions.create(
            model="reader", messages=HELLO, tools=[tool],  # type: ignore
            tool_choice={"type": "function", "function": {"name": "names"}},
        )  # fmt: skip
    (call,) = answer.choices[0].message.tool_calls or []
    assert (call.function.name, json.loads(call.function.arguments)) == ("names", {"names": []})


def test_a_stream_is_the_whole_reply_in_one_piece(proxy: Proxy, client: openai.OpenAI) -> None:
    with proxy.serving(served(Scripted([("hello", "Hello there.")]))):
        events = list(
            client.chat.completions.create(model="reader", messages=HELLO, stream=True)  # type: ignore
        )
    said = [one.choices[0].delta.content for one in events if one.choices]
    assert "".join(text or "" for text in said) == "Hello there."


def test_texts_are_embedded_by_the_embedder_of_the_run_as_numbers_and_in_base64(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    expected = Hashing(8).encode(["Ada Marsh", "Otto"], kind="question")
    with proxy.serving(served(Scripted())):
        for form in ("float", "base64"):
            answer = client.embeddings.create(
                model=EMBEDDER,
                input=["Ada Marsh", "Otto"],
                encoding_format=form,  # type: ignore
            )
            rows = [
                np.frombuffer(base64.b64decode(one.embedding), "<f4")  # type: ignore[arg-type]
                if isinstance(one.embedding, str)
                else np.array(one.embedding, np.float32)
                for one in answer.data
            ]
            assert np.array_equal(np.stack(rows), expected)


def test_calls_are_counted_in_the_meter_of_the_question_and_replies_are_stored(
    proxy: Proxy, client: openai.OpenAI, tmp_path
) -> None:
    model = Scripted([("hello", "hello")])
    store = ReplyStore(tmp_path / "replies.sqlite")
    lines = []
    for _ in range(2):
        meter = Metered(Cached(model, store), log=lambda outcome, item: lines.append(outcome))
        with proxy.serving(served(meter)):
            client.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
        assert (meter.usage.calls, meter.usage.prompt_tokens) == (1, 2)
    assert len(model.asked) == 1
    assert [outcome.cached for outcome in lines] == [False, True]


def test_what_an_earlier_piece_of_the_work_was_told_costs_nothing(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    model = Scripted([("hello", "hello")])
    meter = Metered(model)
    first = served(meter)
    with proxy.serving(first):
        client.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
    with proxy.serving(served(meter, earlier=first.earlier)):
        client.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
    assert len(model.asked) == 1 and meter.usage.calls == 1


def test_a_spent_budget_is_an_error_that_no_client_repeats(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    model = Scripted([("hello", "hello")])
    work = served(Metered(Budgeted(model, Budget(tokens=10))))
    with proxy.serving(work), pytest.raises(openai.APIStatusError) as refused:
        client.chat.completions.create(model="reader", messages=HELLO, max_tokens=50)  # type: ignore
    assert refused.value.status_code == 402
    assert isinstance(work.stopped, BudgetSpent)
    assert work.n_calls == 1 and model.asked == []


def test_a_call_that_failed_behind_the_layers_is_not_repeated_either(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    model = Scripted([("hello", CallFailed("content_filter", "filtered"))])
    meter = Metered(model)
    work = served(meter)
    with proxy.serving(work), pytest.raises(openai.UnprocessableEntityError, match="filtered"):
        client.chat.completions.create(model="reader", messages=HELLO)  # type: ignore[arg-type]
    assert len(model.asked) == 1 and meter.failed == 1
    assert [failure.reason for failure in work.failed] == ["content_filter"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": []}, "a list of messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "A message of"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "text alone"),
        ({"messages": HELLO, "n": 2}, "n=1"),
        ({"messages": HELLO, "max_tokens": -1}, "max_tokens is -1"),
        ({"messages": HELLO, "response_format": {"type": "grammar"}}, "grammar"),
        ({"messages": HELLO, "tools": [{"type": "function", "function": {}}]}, "One tool"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    proxy: Proxy, client: openai.OpenAI, body: dict[str, object], said: str
) -> None:
    with proxy.serving(served(Scripted())), pytest.raises(openai.BadRequestError) as refused:
        client.post("/chat/completions", body={"model": "reader", **body}, cast_to=object)
    assert said in str(refused.value)


def test_a_call_is_answered_while_another_one_waits(proxy: Proxy, client: openai.OpenAI) -> None:
    together = Barrier(4, timeout=20)

    class Slow(Scripted):
        def call(self, request):  # type: ignore[no-untyped-def]
            together.wait()
            return Completion("hello", 1, 1)

    meter = Metered(Slow(concurrency=4))
    with proxy.serving(served(meter)), ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda at: client.chat.completions.create(
                    model="reader",
                    messages=[{"role": "user", "content": f"Say hello {at}."}],  # type: ignore
                ),
                range(4),
            )
        )
    assert len(found) == 4 and meter.usage.calls == 4


def test_work_ends_when_the_call_under_way_has_and_one_that_waits_is_refused(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    began, go_on = Event(), Event()

    class Slow(Scripted):
        def call(self, request):  # type: ignore[no-untyped-def]
            began.set()
            assert go_on.wait(20)
            return Completion("hello", 1, 1)

    def hello(at: int) -> str | None:
        said = f"Say hello {at}."
        made = client.chat.completions.create(
            model="reader", messages=[{"role": "user", "content": said}]
        )
        return made.choices[0].message.content

    meter = Metered(Slow())
    work = served(meter)
    with ThreadPoolExecutor(3) as pool:
        with proxy.serving(work):
            first = pool.submit(hello, 0)
            assert began.wait(20)
            second = pool.submit(hello, 1)
            ending = pool.submit(lambda: (second.exception(20), go_on.set()))
        assert work.n_calls == 1 and meter.usage.calls == 1
        assert first.result() == "hello"
        assert isinstance(second.exception(), openai.APIStatusError)
        ending.result()


def test_an_error_of_ours_ends_the_work_and_is_not_repeated(
    proxy: Proxy, client: openai.OpenAI
) -> None:
    class Broken(Hashing):
        def encode(self, texts, *, kind):  # type: ignore[no-untyped-def]
            raise KeyError("a fault of ours")

    work = Served({}, Broken(8), "passage")
    with proxy.serving(work), pytest.raises(openai.APIStatusError, match="a fault of ours"):
        client.embeddings.create(model=EMBEDDER, input="Ada Marsh")
    assert "a fault of ours" in str(work.stopped)
