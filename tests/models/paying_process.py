"""A process that asks N prompts through the cache; the tests start several, and kill some."""

from __future__ import annotations

import json
import sys

from pydantic import BaseModel

from graphrag_bench.models.cached import Cached
from graphrag_bench.models.ledger import Ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.structured import ask_all
from graphrag_bench.prompts import Message


class Answer(BaseModel):
    answer: str


def main(url: str, folder: str, journal: str, first: int, after: int) -> None:
    store = ReplyStore(f"{folder}/replies.sqlite", journal)
    model = Cached(OpenAICompatible("fake", url, None, limits={"concurrency": 4}), store)
    ledger = Ledger(f"{folder}/ledger-{first}.jsonl")
    meter = Metered(model, log=ledger.at("answer", "step"))
    numbers = list(range(first, after))
    prompts = [(Message("user", f"Question #{number}"),) for number in numbers]
    items = [str(number) for number in numbers]
    found = ask_all(meter, prompts, Answer, max_tokens=9, purpose="answer", items=items)
    store.close()
    sys.stdout.write(json.dumps([getattr(one, "answer", None) for one in found]))


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
