"""A small set in RoG's format: questions about a team, a river, and one without triples."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

TEAM = {
    "id": "WebQTest-1",
    "question": "In what year did the team with mascot Rolf the Ram win the Tarn Cup?",
    "answer": ["2012 Tarn Cup", "2014 Tarn Cup"],
    "q_entity": ["Rolf the Ram"],
    "a_entity": ["2012 Tarn Cup", "2014 Tarn Cup"],
    "graph": [
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."],
        ["Norvik F.C.", "sports.sports_team.championships", "2012 Tarn Cup"],
        ["Norvik F.C.", "sports.sports_team.championships", "2014 Tarn Cup"],
        ["Norvik F.C.", "sports.sports_team.location", "Norvik"],
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."],
        ["m.011zsc4_", "location.location.contains", "Norvik"],
    ],
}
RIVER = {
    "id": "WebQTest-2",
    "question": "which river flows through norvik",
    "answer": ["Tarn"],
    "q_entity": ["Norvik"],
    "a_entity": ["Tarn"],
    "graph": [
        ["m.011zsc4_", "location.location.contains", "Norvik"],
        ["NORVIK", "is.not", "Norvik"],
    ],
}
EMPTY = {
    "id": "WebQTest-3",
    "question": "who is ada marsh",
    "answer": ["A chemist"],
    "q_entity": ["Ada Marsh"],
    "a_entity": [],
    "graph": [],
}
ROWS = (TEAM, RIVER, EMPTY)


def rog_folder(
    folder: Path,
    rows: Iterable[Mapping[str, object]] = ROWS,
    training: Iterable[Mapping[str, object]] = (),
    validation: Iterable[Mapping[str, object]] = (),
) -> Path:
    """Write `test.jsonl`, and `train.jsonl` and `validation.jsonl` if they have rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("test", rows), ("train", training), ("validation", validation)):
        lines = [json.dumps(row) + "\n" for row in content]
        if lines:
            (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder
