"""Scripted models that reply to every kind of prompt, with tokens of cl100k."""

import json
import re
from collections.abc import Mapping, Sequence

from toy_runs import Capitals

from graphrag_bench.llm.calls import Chat, Completion
from graphrag_bench.llm.scripted import Reply, Scripted, last_user_message
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


THINGS = ("Mount Tarn", "River Isk", "Mira Holt")
"""The entities of a question without names."""


def paper_reader(replies: object = None) -> Scripted:
    """A model that extracts like the tagger, for rows of papers (`fidelity=paper`)."""
    return Scripted(answer=_read)


def _read(chat: Chat) -> Reply | None:
    system, text, tagger = chat[0].content, last_user_message(chat), Capitals()
    passage = re.split(r"\n(?:Records|Entities):", text.partition("Passage:\n")[2])[0]
    joined = [one for part in tagger.sentences([passage]) for row in part for one in row.relations]
    names = tagger.entities(passage or text) or [*THINGS]
    if "<|COMPLETE|>" in system and not passage:
        return "<|COMPLETE|>"
    if "<|COMPLETE|>" in system:
        themes = "places, people<|>" if "keywords" in system else ""
        return "##".join([
            *(f'("entity"<|>{name}<|>thing<|>{name} is named in a passage.)' for name in names),
            *(f'("relationship"<|>{one.head}<|>{one.tail}<|>{one.head} {one.relation} {one.tail}.'
              f"<|>{themes}5)" for one in joined),
        ])  # fmt: skip
    if '"triples"' in system:
        return json.dumps({"triples": [[*one] for one in joined]})
    if "high_level_keywords" in system:
        return json.dumps({"high_level_keywords": ["places"], "low_level_keywords": names})
    if "{relation (Score: x)}" in system:
        follow = text.partition("Relations: ")[2].partition("\n")[0].split("; ")[:2]
        return "\n".join(f"{{{relation} (Score: {1 / len(follow)})}}" for relation in follow)
    if "Candidates:" in system:
        n_candidates = len(text.partition("Candidates: ")[2].split("; "))
        return ", ".join([str(1 / n_candidates)] * n_candidates)
    if "say {No}" in system:
        return "{No}"
    if "Reranked Triple" in system:
        facts = re.split(r"; |\n", text.partition("Facts:\n")[2].partition("\nChoose")[0])
        return "\n".join(f"Reranked Triple {n}: {fact}" for n, fact in enumerate(facts[:5], 1))
    if '"final_query"' in system:
        asked = text.removeprefix("Question: ")
        hop = {"hop_id": "1-1", "sub_query": f"What is said of {names[0]}?", "if_abstract": False}
        final = {"final_query": asked, "if_abstract": names == [*THINGS], "dependencies": ["1-1"]}
        sequences = [{"sequence_id": "1", "hop": [{**hop, "dependencies": []}]}]
        return json.dumps(
            {"query": asked, "path": {"sequences": sequences, "final_query": [final]}}
        )
    if '"reasoning_steps"' in system:
        steps = list(dict.fromkeys([*names, *THINGS]))[:3]
        return json.dumps({"reasoning_steps": steps, "extended_queries": [[one] for one in steps]})
    return _counted(chat)
