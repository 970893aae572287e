"""A process that asks N prompts through the cache; the tests start several, and kill some."""

import json
import sys

from pydantic import BaseModel

from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.structured import ask_each, json_reading
from graphrag_bench.prompts import Message


class Answer(BaseModel):
    answer: str


def main(url: str, folder: str, first: int, after: int) -> None:
    store = Cache(f"{folder}/replies.sqlite")
    model = OpenAICompatible("fake", url, None, limits={"concurrency": 4}).attached(store=store)
    ledger = Ledger(f"{folder}/ledger-{first}.jsonl")
    llm = model.attached(log=ledger.at("answer", "step"))
    numbers = list(range(first, after))
    prompts = [(Message("user", f"Question #{number}"),) for number in numbers]
    items = [str(number) for number in numbers]
    reading = json_reading(Answer, "answer")
    found = ask_each(llm, prompts, reading, max_tokens=9, items=items)
    store.close()
    sys.stdout.write(json.dumps([getattr(one, "answer", None) for one in found]))


if __name__ == "__main__":
    main(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]))
