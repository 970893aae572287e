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
    names = list(dict.fromkeys(NAME.findall(text[-600:])))[-3:] or ["theme"]
    if '"rating_explanation"' in system or '"rating_explanation"' in text:
        message = " ".join(dict.fromkeys(NAME.findall(text)))
        return json.dumps({"title": names[0], "summary": f"{REPLY} {message}", "rating": 5.0})
    if '"new_types"' in system:
        note = [{"name": "note", "value": f"{name} is told of here"} for name in names[:1]]
        entities = [{"name": name, "type": "person", "attributes": note} for name in names]
        triples = [[names[0], "related to", name] for name in names[1:]]
        return json.dumps({"entities": entities, "triples": triples, "new_types": {}})
    if '"triples"' in system:
        return json.dumps({"triples": [[names[0], "knows", name] for name in names[1:]]})
    if "named_entities" in system:
        return json.dumps({"named_entities": names})
    if '"entities"' in system:
        entity = {"name": f"Circle of {names[0]}", "type": "group", "description": REPLY}
        return json.dumps({"entities": [entity]})
    if '"follow_ups"' in system:
        asking = [f"What is said of {name}?" for name in names]
        return json.dumps({"answer": f"{REPLY} {REPLY}", "score": 60, "follow_ups": asking})
    if '"points"' in system:
        point = "The passage speaks of this at some length and gives two reasons for it."
        return json.dumps({"points": [{"description": point, "score": 60}]})
    if '"final_query"' in system:
        hop = {"hop_id": "1-1", "sub_query": f"What is said of {names[0]}?", "if_abstract": False}
        sequences = [{"sequence_id": "1", "hop": [{**hop, "dependencies": []}]}]
        final = [{"final_query": text[-300:], "if_abstract": False, "dependencies": ["1-1"]}]
        return json.dumps({"query": "", "path": {"sequences": sequences, "final_query": final}})
    if '"reasoning_steps"' in system:
        queries = {name: [name] for name in names}
        return json.dumps({"reasoning_steps": names, "extended_queries": queries})
    if "high_level_keywords" in system:
        return json.dumps({"high_level_keywords": names, "low_level_keywords": names})
    if "sub_questions" in system:
        return json.dumps({"sub_questions": [f"What of {name}?" for name in names]})
    if '"order"' in system:
        n_passages = len(re.findall(r"(?m)^\[\d+\] ", text))
        return json.dumps({"order": list(range(1, n_passages + 1))})
    if '"questions"' in system:
        return json.dumps({"questions": [f"Who told {name} of it, and where?" for name in names]})
    if "Write the number of the follow-up question" in system:
        return "1"
    if "Write yes if the answer cannot be found without" in system:
        return "yes"
    if '"useful"' in system:
        return json.dumps({"useful": [1, 2]})
    if '("fact"' in system:
        message = (f'("entity"<|>{name}<|>{name} is told of here.)' for name in names)
        return "##".join([f'("fact"<|>{" and ".join(names)} are told of here.<|>9)', *message])
    if "<|>" in system:
        rows = (f'("entity"<|>{name}<|>person<|>{name} is told of here.)' for name in names)
        return "##".join(rows)
    if "ummar" in system:
        return text[-400:]
    return REPLY
