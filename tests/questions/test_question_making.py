"""Generated questions: unique answers, wordings without leaks, counts."""

import json
import re
from itertools import count, islice

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.questions import generated
from graphrag_bench.questions.generated import abstract_questions, is_english, specific_questions

NAMES = ["ada", "norvik", "tarn", "velia", "lund"]
TABLE = ChunkTable.of([("d0", "", "Ada built Norvik."), ("d1", "", "Norvik is on Tarn."),
                       ("d2", "", "Tarn is in Velia."), ("d3", "", "Ada built Lund.")])  # fmt: skip


def line(*rows: tuple[int, int, str], names: list[str] = NAMES) -> Graph:
    """A graph of (from, to, relation); chunk i states relationship i."""
    source, target, relations = zip(*rows, strict=True)
    stated = np.zeros((5, 4)), np.eye(len(rows), 4)
    return Graph.from_arrays(source, target, *stated, names=names, relations=relations)


def test_equal_wordings_keep_the_first_question_at_its_place() -> None:
    questions = [generated.QA(text, "abstract") for text in ("Who?", "Why?", "WHO", "How?")]
    assert [one.text for one in generated.distinct(questions)] == ["Who?", "Why?", "How?"]


def test_a_chain_gives_a_question_with_answer_and_documents() -> None:
    road = line((0, 1, "founded"), (1, 2, "stands on"), (2, 3, "lies in"))
    product, refused = specific_questions(road, TABLE, [2], 5, None, 0)
    result = {one.text: (one.answers, one.evidence, one.hops, one.entities) for one in product}
    assert refused == 0
    assert result == {
        "Ada founded X1, and X1 stands on X2. What is X2?": (("Tarn",), ("d0", "d1"), 2, ("Ada",)),
        "Norvik stands on X1, and X1 lies in X2. What is X2?":
            (("Velia",), ("d1", "d2"), 2, ("Norvik",)),
    }  # fmt: skip
    (three,), _ = specific_questions(road, TABLE, [3], 5, None, 0)
    assert three.evidence == ("d0", "d1", "d2")


@pytest.mark.parametrize(
    ("graph", "hops", "n"),
    [
        # the relations lead to two ends, or to one
        (line((0, 1, "founded"), (1, 2, "on"), (0, 4, "founded"), (4, 3, "on")), 2, 0),
        (line((0, 1, "founded"), (1, 2, "on"), (0, 4, "left"), (4, 3, "on")), 2, 2),
        # one fact joins both ends
        (line((0, 1, "founded"), (1, 2, "on"), (2, 0, "known to")), 2, 0),
        # "ada" and "ada marsh" are equal: "Ada founded what?" has several answers
        (line((0, 1, "founded"), (4, 2, "had founded"), (2, 3, "lies in"),
              names=["ada", "norvik", "tarn", "velia", "ada marsh"]), 1, 1),
        # co-occurrence is no fact
        (line((0, 1, "occurs with"), (1, 2, "stands on")), 1, 1),
    ],
)  # fmt: skip
def test_a_chain_has_a_unique_answer(graph: Graph, hops: int, n: int) -> None:
    assert len(generated.Chains(graph).sample(hops, 9, np.random.default_rng(0))) == n


def test_a_wording_that_leaks_a_name_is_refused() -> None:
    graph = line((0, 1, "founded"), (1, 2, "on"))
    for wording, taken in (
        ("Is it Tarn?", False), ("On what stands Norvik, which Ada founded?", False), ("", False),
        ("On what does the thing that Ada founded stand?", True),
    ):  # fmt: skip
        model = Scripted({"": json.dumps({"question": wording})})
        result, refused = specific_questions(graph, TABLE, [2], 1, model, 0)
        assert (len(result), refused) == (taken, not taken)


def counting(short: int = 0) -> Scripted:
    """A model that returns distinct items, `short` too few at first."""
    numbers = count()

    def answer(chat):
        text = last_user_message(chat)
        n = int(re.findall(r"Give exactly (\d+)", text)[0]) - short * ("already" not in text)
        return json.dumps({"items": [f"item {number}?" for number in islice(numbers, n)]})

    return Scripted(answer=answer)


def test_five_users_with_five_tasks_of_five_questions_give_125():
    """Missing items are requested again; fewer questions use one task each."""
    for n, short, n_tasks, n_calls in ((125, 0, 25, 31), (125, 2, 25, 2 * 31), (7, 0, 7, 13)):
        model = counting(short)
        result = abstract_questions(model, "A set.", n)
        assert len(result) == len({one.text for one in result}) == n
        assert (len({one.origin for one in result}), len(model.prompts)) == (n_tasks, n_calls)
    with pytest.raises(UserError, match="users"):
        abstract_questions(Scripted({"": "Hm."}), "A set.")


def test_english_is_detected_by_frequent_words() -> None:
    assert is_english(["Ada built a mill in the town that was named for the river. "] * 9)
    assert not is_english(["Ada baute eine Mühle in der Stadt, die nach dem Fluss heißt. "] * 12)
    assert is_english(["Ada baute eine Mühle."])  # too few words to decide
