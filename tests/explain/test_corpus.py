"""What a graph may gain on a corpus: links by names, and the gain that sets let expect."""

import numpy as np
import pytest
from toy_runs import TOY, command

import graphrag_bench as gb
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.explain.corpus import (
    Known,
    Linkage,
    Measured,
    _Links,
    _of_question,
    described,
    expected,
    known,
    left_out,
    linkage,
)

TABLE = ChunkTable.of([(name, f"Title {name}", f"Text of {name}.") for name in "abcd"])
INSIDE = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
"""Ada Gray in a and b, Bay Hill in b and c, Coy Dale in d alone."""
GRAPH = Graph.from_arrays([], [], INSIDE, names=["Ada Gray", "Bay Hill", "Coy Dale"])
LINKS = _Links.of(GRAPH, TABLE)
SETS = tuple(Measured(str(row), 1.0, share, share / 2) for row, share in enumerate((0.2, 0.4, 0.0)))


def test_passages_are_linked_by_names_that_another_document_has() -> None:
    assert LINKS.linked() == 0.75  # all but d


@pytest.mark.parametrize(
    ("text", "evidence", "nearest", "shares"),
    [
        ("Where?", "ab", [3], {"named": 0, "missed": 1, "reachable": 0, "pairs": 1}),
        ("Did Coy Dale?", "ab", [3], {"named": 1, "missed": 1, "reachable": 1, "pairs": 1}),
        ("Where?", "ac", [3], {"named": 0, "missed": 1, "reachable": 0, "pairs": 0}),
        (
            "Where is Bay Hill?",
            "ac",
            [0],
            {"named": 1, "missed": 0.5, "reachable": 0.5, "pairs": 0},
        ),
        ("Where is Coy Dale?", "b", [3], {"named": 1, "missed": 1, "reachable": 0}),
        ("Where?", "", [3], {"named": 0}),
    ],
)
def test_evidence_is_reachable_by_names_of_the_question_and_of_other_evidence(
    text: str, evidence: str, nearest: list[int], shares: dict[str, float]
) -> None:
    gold = Gold(evidence=tuple(evidence))
    assert _of_question(LINKS, LINKS.in_text(text), gold, nearest) == shares


def test_a_name_of_many_passages_links_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_bench.explain.corpus.MOST_PASSAGES", 1)
    assert _Links.of(GRAPH, TABLE).linked() == 0


def test_the_gain_is_proportional_and_its_interval_is_the_error_of_sets_left_out() -> None:
    corpus = Linkage(10, 5, 1.0, reachable=0.3)
    assert expected(corpus, SETS).gain == pytest.approx(0.15)
    assert expected(corpus, SETS).error == pytest.approx(0, abs=1e-12)
    bent = (*SETS, Measured("bent", 1.0, 0.2, 0.2))
    misses = left_out([0.2, 0.4, 0.0, 0.2], [0.1, 0.2, 0.0, 0.2])
    assert misses[3] == pytest.approx(0.1)
    gain = expected(corpus, bent)
    assert gain.error == pytest.approx(np.sqrt(np.mean(np.square(misses))))
    assert gain.high - gain.gain == pytest.approx(3.182 * gain.error, rel=1e-3)


def test_a_corpus_without_evidence_is_judged_by_its_passages() -> None:
    gain = expected(Linkage(10, 0, 0.5), SETS)
    assert (gain.of, gain.gain) == ("linked", pytest.approx(0.05))
    assert "missed" not in described(Linkage(10, 0, 0.5), "mine", Known("v", "g", SETS))


def test_the_toy_set_is_measured_by_its_own_graph(tmp_path) -> None:
    settings = {"embedder": "hashing", "answer": "off", "paths": {"home": str(tmp_path)}}
    data = gb.dataset("toy")
    every = [
        gb.method(name).experiment(data, **settings) for name in (known().vectors, known().graph)
    ]
    links = linkage(*every)
    assert (links.n_passages, links.n_questions) == (len(data.documents), len(data.questions))
    assert links.reachable is not None
    assert 0 < links.reachable <= links.missed <= 1


def test_a_sweep_over_a_corpus_has_each_of_its_cells(tmp_path) -> None:
    words = ["plan", "--corpus", *TOY, f"paths.home={tmp_path}"]
    ended = command(*words, "limit=3,6")
    assert ended.code == 0, ended.err
    assert [line for line in ended.out.splitlines() if line.startswith("corpus toy")] == [
        f"corpus toy: 8 passages, {n} questions" for n in (3, 6)
    ]
    assert command(*words, "method=bm25").code == 2
