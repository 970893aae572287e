"""A scripted model that extracts like the tagger, for rows of papers (`fidelity=paper`)."""

import json
import re

import counting_reader
from toy_runs import Capitals

from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.scripted import Reply, Scripted, last_user_message

THINGS = ("Mount Tarn", "River Isk", "Mira Holt")
"""The entities of a question without names."""


def reader(replies: object = None) -> Scripted:
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
    return counting_reader.reader().answer(chat)  # type: ignore[misc]
