"""Questions that are made: chains with one end, wordings that give nothing away, counts."""

import json
import re

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.questions.abstract import abstract_questions
from graphrag_bench.questions.specific import Chains, specific_questions

NAMES = ["ada", "norvik", "tarn", "velia", "lund"]
TABLE = ChunkTable.of([("d0", "", "Ada built Norvik."), ("d1", "", "Norvik is on Tarn."),
                       ("d2", "", "Tarn is in Velia."), ("d3", "", "Ada built Lund.")])  # fmt: skip


def line(*rows: tuple[int, int, str], chunks: int = 4) -> Graph:
    """A graph of these (from, to, relation); row i is stated by chunk i."""
    graph = Graph.from_arrays(
        [a for a, _, _ in rows], [b for _, b, _ in rows], np.zeros((5, chunks)),
        np.eye(len(rows), chunks), names=NAMES,
    )  # fmt: skip
    object.__setattr__(graph, "relations", Texts.of([name for _, _, name in rows]))
    return graph


ROAD = line((0, 1, "founded"), (1, 2, "stands on"), (2, 3, "lies in"))


def test_a_chain_of_two_facts_is_a_question_with_its_answer_and_its_documents() -> None:
    product, refused = specific_questions(ROAD, TABLE, [2], 5, None)
    result = {one.text: (one.answers, one.evidence, one.hops, one.entities) for one in product}
    assert refused == 0
    assert result == {
        "Ada founded X1, and X1 stands on X2. What is X2?": (("Tarn",), ("d0", "d1"), 2, ("Ada",)),
        "Norvik stands on X1, and X1 lies in X2. What is X2?": (
            ("Velia",), ("d1", "d2"), 2, ("Norvik",),
        ),
    }  # fmt: skip


def test_three_hops_and_one_hop_are_worded_too() -> None:
    (three,), _ = specific_questions(ROAD, TABLE, [3], 5, None)
    assert three.text == "Ada founded X1, and X1 stands on X2, and X2 lies in X3. What is X3?"
    assert three.evidence == ("d0", "d1", "d2")
    one, _ = specific_questions(ROAD, TABLE, [1], 1, None)
    assert one[0].text in {"Ada founded what?", "Norvik stands on what?", "Tarn lies in what?"}


def test_a_chain_that_could_end_elsewhere_is_left_out() -> None:
    forked = line((0, 1, "founded"), (1, 2, "stands on"), (0, 4, "founded"), (4, 3, "stands on"))
    assert Chains(forked).drawn(2, 9, np.random.default_rng(0)) == []
    separate = line((0, 1, "founded"), (1, 2, "stands on"), (0, 4, "left"), (4, 3, "stands on"))
    assert len(Chains(separate).drawn(2, 9, np.random.default_rng(0))) == 2


def test_names_and_relations_that_contain_each_other_are_one() -> None:
    """Two facts of one person under two names: several answers fit "Ada founded what?"."""
    graph = line((0, 1, "founded"), (4, 2, "had founded"), (2, 3, "lies in"))
    object.__setattr__(graph, "names", Texts.of(["ada", "norvik", "tarn", "velia", "ada marsh"]))
    drawn = Chains(graph).drawn(1, 9, np.random.default_rng(0))
    assert [Chains(graph).nodes(rows) for rows in drawn] == [[2, 3]]


def test_a_chain_whose_ends_one_fact_joins_is_no_question_of_two_hops() -> None:
    short = line((0, 1, "founded"), (1, 2, "stands on"), (2, 0, "known to"))
    assert Chains(short).drawn(2, 9, np.random.default_rng(0)) == []


def test_names_that_stand_in_one_sentence_are_no_fact() -> None:
    beside = line((0, 1, "occurs with"), (1, 2, "stands on"))
    result, _ = specific_questions(beside, TABLE, [1, 2], 9, None)
    assert [one.text for one in result] == ["Norvik stands on what?"]


@pytest.mark.parametrize(
    "wording", ["Is it Tarn?", "On what stands Norvik, which Ada founded?", ""]
)
def test_a_wording_that_gives_a_name_away_is_refused(wording: str) -> None:
    model = Scripted(answer=lambda chat: json.dumps({"question": wording}))
    result, refused = specific_questions(
        line((0, 1, "founded"), (1, 2, "on")), TABLE, [2], 1, model
    )
    assert (result, refused) == ([], 1)


def test_a_wording_that_holds_is_taken() -> None:
    message = json.dumps({"question": "On what does the thing that Ada founded stand?"})
    model = Scripted(answer=lambda chat: message)
    (one,), refused = specific_questions(ROAD, TABLE, [2], 1, model)
    assert refused == 0 and one.answers in (("Tarn",), ("Velia",))


def counting(short: int = 0) -> Scripted:
    """A model that gives the items asked for, all different, `short` of them missing at first."""
    config: list[int] = []

    def answer(chat: Chat) -> str:
        text = last_user_message(chat)
        n = int(re.findall(r"Give exactly (\d+)", text)[0])
        first = "already" not in text
        items = [f"item {len(config) + i} {len(text)}?" for i in range(n - (short if first else 0))]
        config.extend(range(n))
        return json.dumps({"items": items})

    return Scripted(answer=answer)


def test_five_users_with_five_tasks_and_five_questions_each_are_125() -> None:
    model = counting()
    result = abstract_questions(model, "A set.")
    assert len(result) == len({one.text for one in result}) == 125
    assert len({one.origin for one in result}) == 25
    assert len(model.prompts) == 1 + 5 + 25


def test_what_a_reply_falls_short_of_is_asked_for_again() -> None:
    model = counting(short=2)
    result = abstract_questions(model, "A set.")
    assert len(result) == 125
    assert len(model.prompts) == 2 * (1 + 5 + 25)


def test_n_questions_are_of_many_tasks_and_cost_no_more_calls_than_they_need() -> None:
    model = counting()
    result = abstract_questions(model, "A set.", 7)
    assert len(result) == 7 and len({one.origin[0] for one in result}) == 5
    assert len(model.prompts) == 1 + 5 + 7


def test_a_model_that_gives_nothing_is_told_and_a_failed_call_is_no_question() -> None:
    with pytest.raises(UserError, match="gave no users"):
        abstract_questions(Scripted(answer=lambda chat: "Hm."), "A set.")
    failing = Scripted(answer=lambda chat: CallFailed("refused", "no"))
    with pytest.raises(UserError, match="gave no users"):
        abstract_questions(failing, "A set.")
