"""A scripted model that replies to every kind of prompt, with tokens of cl100k."""

import json
import re
from collections.abc import Mapping, Sequence

from graphrag_bench.llm.calls import Chat, Completion
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.text import count_tokens

NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
REPLY = "They are discussed together, with examples from several of the texts."


def reader(replies: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> Scripted:
    """The model, for `llm._target_=counting_reader.reader`."""
    return Scripted(replies, _counted)


def _counted(chat: Chat) -> Completion:
    text = _reply(chat[0].content, last_user_message(chat))
    n_prompt = sum(count_tokens(one.content) for one in chat)
    return Completion(text, prompt_tokens=n_prompt, completion_tokens=count_tokens(text))


def _reply(system: str, text: str) -> str:
    first, *others = names = list(dict.fromkeys(NAME.findall(text[-600:])))[-3:] or ["theme"]
    if '"rating_explanation"' in system + text:
        summary = f"{REPLY} {' '.join(dict.fromkeys(NAME.findall(text)))}"
        return json.dumps({"title": first, "summary": summary, "rating": 5.0})
    note = [{"name": "note", "value": f"{first} is told of here"}]
    point = "The passage speaks of this at some length and gives two reasons for it."
    hop = {"hop_id": "1-1", "sub_query": f"What is said of {first}?", "if_abstract": False}
    final = {"final_query": text[-300:], "if_abstract": False, "dependencies": ["1-1"]}
    path = {"sequences": [{"sequence_id": "1", "hop": [{**hop, "dependencies": []}]}],
            "final_query": [final]}  # fmt: skip
    told = [f"<|>{name} is told of here.)" for name in names]
    rows = list(zip(names, told, strict=True))
    facts = [f'("fact"<|>{" and ".join(names)} are told of here.<|>9)']
    replies: dict[str, object] = {
        '"new_types"': {
            "entities": [{"name": one, "type": "person", "attributes": note} for one in names],
            "triples": [[first, "related to", one] for one in others], "new_types": {},
        },
        '"triples"': {"triples": [[first, "knows", one] for one in others]},
        "named_entities": {"named_entities": names},
        '"entities"': {
            "entities": [{"name": f"Circle of {first}", "type": "group", "description": REPLY}]
        },
        '"follow_ups"': {"answer": f"{REPLY} {REPLY}", "score": 60,
                         "follow_ups": [f"What is said of {one}?" for one in names]},
        '"points"': {"points": [{"description": point, "score": 60}]},
        '"final_query"': {"query": "", "path": path},
        '"reasoning_steps"': {"reasoning_steps": names,
                              "extended_queries": {one: [one] for one in names}},
        "high_level_keywords": {"high_level_keywords": names, "low_level_keywords": names},
        "sub_questions": {"sub_questions": [f"What of {one}?" for one in names]},
        '"order"': {"order": [*range(1, len(re.findall(r"(?m)^\[\d+\] ", text)) + 1)]},
        '"questions"': {"questions": [f"Who told {one} of it, and where?" for one in names]},
        "Write the number of the follow-up question": "1",
        "Write yes if the answer cannot be found without": "yes",
        '"useful"': {"useful": [1, 2]},
        '("fact"': "##".join([*facts, *(f'("entity"<|>{name}{end}' for name, end in rows)]),
        "<|>": "##".join(f'("entity"<|>{name}<|>person{end}' for name, end in rows),
        "ummar": text[-400:],
    }  # fmt: skip
    reply = next((one for words, one in replies.items() if words in system), REPLY)
    return reply if isinstance(reply, str) else json.dumps(reply)
