"""A small set in RoG's format: questions about a team, a river, and one without triples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from published_sets import written

Rows = Sequence[Mapping[str, object]]

CUPS, NAMES = ["2012 Tarn Cup", "2014 Tarn Cup"], "location.location.contains"
CHAMPIONS = "sports.sports_team.championships"
TEAM = {
    "id": "WebQTest-1", "q_entity": ["Rolf the Ram"], "answer": CUPS, "a_entity": CUPS,
    "question": "In what year did the team with mascot Rolf the Ram win the Tarn Cup?",
    "graph": [
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."],
        *(["Norvik F.C.", CHAMPIONS, cup] for cup in CUPS),
        ["Norvik F.C.", "sports.sports_team.location", "Norvik"],
        ["Rolf the Ram", "sports.mascot.team", "Norvik F.C."], ["m.011zsc4_", NAMES, "Norvik"],
    ],
}  # fmt: skip
RIVER = {
    "id": "WebQTest-2", "question": "which river flows through norvik", "answer": ["Tarn"],
    "q_entity": ["Norvik"], "a_entity": ["Tarn"],
    "graph": [["m.011zsc4_", NAMES, "Norvik"], ["NORVIK", "is.not", "Norvik"]],
}  # fmt: skip
EMPTY = {"id": "WebQTest-3", "question": "who is ada marsh", "answer": ["A chemist"],
         "q_entity": ["Ada Marsh"], "a_entity": [], "graph": []}  # fmt: skip
ROWS = (TEAM, RIVER, EMPTY)


def rog_folder(folder: Path, rows: Rows = ROWS, training: Rows = (), validation: Rows = ()) -> Path:
    """Write `test.jsonl`, and `train.jsonl` and `validation.jsonl` if they have rows."""
    files = {"test": rows, "train": training, "validation": validation}
    return written(folder, {f"{name}.jsonl": of for name, of in files.items() if of})
