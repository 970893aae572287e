"""A provider of batches: replies to a file of requests, and the same model called directly."""

import json

import fake_openai
import planted_judges

from graphrag_bench.llm.openai_compatible import OpenAICompatible, body, completion
from graphrag_bench.prompts import Message

calls: list[str] = []
SERVED = fake_openai.Served(fake_openai.Scenario(reads=True))


def reply(sent):
    answer = fake_openai.chat(SERVED, dict(sent), False)
    if "\n\nAnswer 2:\n" in sent["messages"][-1]["content"]:
        chat = tuple(Message(one["role"], one["content"]) for one in sent["messages"])
        answer["choices"][0]["message"]["content"] = planted_judges._longer(chat)
    return answer


class Direct(OpenAICompatible):
    def call(self, request):
        sent = body(self.model, request, self.decoding, self.dialect)
        calls.append(sent["messages"][-1]["content"])
        return completion(reply(sent), request, self.prices)


def serve(requests, replies):
    answers = []
    for line in map(json.loads, reversed(requests.read_text("utf-8").splitlines())):
        response = {"status_code": 200, "request_id": "x", "body": reply(line["body"])}
        about = {"id": "batch_req", "custom_id": line["custom_id"], "error": None}
        answers.append({**about, "response": response})
    write(replies, answers)
    return answers


def write(replies, answers):
    replies.write_text("".join(json.dumps(one) + "\n" for one in answers), "utf-8")
