"""Communities and reports made block by block against plain lists of everything, byte by byte."""

import json
from dataclasses import replace

import numpy as np
import pytest
from plain_communities import PlainTold, plain_hierarchy, plain_reports, plain_tables

from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.fingerprint import digest
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.offline import communities, llm_reports, reports
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.report_tables import Part, report_tables
from graphrag_bench.offline.reports import by_family, extractive
from graphrag_bench.offline.sentences import Sentences
from graphrag_bench.offline.told import Told
from graphrag_bench.progress import Progress

N_NODES, N_ROWS, N_CHUNKS, SEED = 400, 700, 60, 3


def scattered(weights: str = "counts", described: bool = True) -> Graph:
    """A seeded graph of several components with self-loops and parallel rows."""
    chance = np.random.default_rng(0)
    source, target = chance.integers(N_NODES, size=(2, N_ROWS))
    near = chance.random(N_ROWS) < 0.7
    target = np.where(near, source // 20 * 20 + target % 20, target)
    target[:5], target[5:10] = source[:5], target[:5]
    weight = chance.integers(0, 3, N_ROWS) if weights == "counts" else chance.random(N_ROWS)
    made = Graph.from_arrays(
        source, target, chance.random((N_NODES, N_CHUNKS)) < 0.1, weight=weight,
        names=[f"{'a b'[n % 3]}name of {'many ' * (n % 4)}words {n * 7 % N_NODES}"
               for n in range(N_NODES)],
    )  # fmt: skip
    if not described:
        return made
    told = [
        " ".join(f"The {n % 9} lamp of {n} burns in year {y}." for y in range(n % 5))
        for n in range(N_NODES)
    ]
    facts = ["" if row % 3 else f"They met {row % 40} times. It rained." for row in range(N_ROWS)]
    return replace(made, descriptions=Texts.of(told), facts=Texts.of(facts))


@pytest.mark.parametrize("weights", ["counts", "shares"])
@pytest.mark.parametrize("largest", [3, 10, 1000])
def test_communities_are_those_of_leidenalg_on_subgraphs_of_igraph(weights, largest):
    graph = scattered(weights)
    found, plain = (
        leiden(graph=graph, max_cluster_size=largest, seed=SEED),
        plain_hierarchy(graph, largest, SEED),
    )
    assert found.level.tolist() == [level for level, _, _ in plain]
    assert found.parent.tolist() == [parent for _, parent, _ in plain]
    nodes = incidence((members for _, _, members in plain), N_NODES)
    chunks = (nodes.astype(np.int64) @ graph.node_chunk.astype(np.int64)).astype(bool).tocsr()
    chunks.sort_indices()
    for ours, other in ((found.nodes, nodes), (found.chunks, chunks)):
        for part in ("data", "indices", "indptr"):
            assert getattr(ours, part).tobytes() == getattr(other, part).tobytes()


def test_chunks_with_weights_are_told_as_present():
    graph = scattered()
    weighted = replace(graph, node_chunk=graph.node_chunk.astype(np.int64) * 3)
    found, plain = (leiden(graph=one, seed=SEED) for one in (weighted, graph))
    assert found.chunks.dtype == bool
    assert (found.chunks != plain.chunks).nnz == 0


@pytest.mark.parametrize("described", [True, False])
def test_members_relationships_and_sentences_are_those_of_plain_lists(described):
    graph = scattered(described=described)
    found = leiden(graph=graph, seed=SEED)
    told, plain = Told(graph, found), PlainTold(graph, found)
    for row in range(len(found)):
        assert told.members(row).tolist() == plain.members(row)
        assert told.relationships(row).tolist() == plain.relationships(row)
        assert told.sentences(row, 7) == plain.sentences(row, 7)
        assert told.parts(row).tolist() == np.flatnonzero(found.parent == row).tolist()


def made(graph: Graph, found: Communities, scratch, embedder=None, **settings) -> Reports:
    return extractive(
        communities=found, graph=graph, embedder=embedder or Hashing(64), scratch=scratch,
        progress=Progress(quiet=True), **settings,
    )  # fmt: skip


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("at_once", [7, 10_000])
def test_reports_in_blocks_are_those_of_all_sentences_at_once(
    tmp_path, monkeypatch, described, at_once
):
    monkeypatch.setattr(reports, "_AT_ONCE", at_once)
    graph = scattered(described=described)
    found = leiden(graph=graph, seed=SEED)
    settings = {"summary_tokens": 40, "finding_tokens": 15}
    ours = made(graph, found, tmp_path, **settings)
    plain = plain_reports(graph, found, Hashing(64), **settings)
    assert list(zip(ours.titles, ours.texts, strict=True)) == plain


class Stops(Hashing):
    """An embedder that is killed after so many lists, and counts the texts of the others."""

    def __init__(self, n_left: float = np.inf) -> None:
        super().__init__(64)
        self.n_left, self.n_texts = n_left, 0

    def encode(self, texts, *, kind):
        self.n_left -= 1
        if self.n_left < 0:
            raise KeyboardInterrupt
        self.n_texts += len(texts)
        return super().encode(texts, kind=kind)


def test_reports_that_were_written_before_a_kill_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "_AT_ONCE", 20)
    graph = scattered()
    found = leiden(graph=graph, seed=SEED)
    folders = [tmp_path / name for name in ("whole", "killed")]
    for folder in folders:
        folder.mkdir()
    settings = {"summary_tokens": 40, "finding_tokens": 15}
    at_once, killed, after = Stops(), Stops(3), Stops()
    whole = made(graph, found, folders[0], at_once, **settings)
    with pytest.raises(KeyboardInterrupt):
        made(graph, found, folders[1], killed, **settings)
    again = made(graph, found, folders[1], after, **settings)
    assert killed.n_texts > 0
    assert killed.n_texts + after.n_texts == at_once.n_texts
    assert list(again.texts) == list(whole.texts)
    assert list(again.titles) == list(whole.titles)


def test_the_sentences_of_few_communities_are_held_at_a_time(tmp_path, monkeypatch):
    held, of = [], Sentences.of

    def noted(texts, *others, **named):
        held.append(list(texts))
        return of(held[-1], *others, **named)

    monkeypatch.setattr(reports, "_AT_ONCE", 20)
    monkeypatch.setattr(reports.Sentences, "of", noted)
    graph = scattered()
    made(graph, leiden(graph=graph, seed=SEED), tmp_path, max_sentences=6)
    assert max(map(len, held)) <= 20 * 6
    assert sum(map(len, held)) > 3 * 20 * 6


def test_an_edge_is_given_to_leidenalg_at_most_once_a_level(monkeypatch):
    """However many parts a graph has: what is cut out of it grows with its size alone."""
    given, partition = [], communities._partition

    def noted(n_nodes, ends, *others):
        given.append(len(ends))
        return partition(n_nodes, ends, *others)

    monkeypatch.setattr(communities, "_partition", noted)
    graph = scattered()
    found = leiden(graph=graph, max_cluster_size=3, seed=SEED)
    n_levels = int(found.level.max()) + 2  # the last one splits nothing
    assert len(given) > 20
    assert sum(given) <= n_levels * len(graph.pairs.source)


def test_families_stand_together_and_in_order():
    """0 has the parts 2 and 3, 1 has 4, and 2 has 5."""
    parent = np.array([-1, -1, 0, 0, 1, 2])
    assert by_family(parent).tolist() == [0, 2, 3, 5, 1, 4]


def test_communities_of_no_family_are_left_in_order():
    assert by_family(np.array([-1, -1, -1])).tolist() == [0, 1, 2]
    assert by_family(np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize("budget", [40, 150, 600, 100_000])
def test_tables_of_a_prompt_are_those_of_plain_lists(budget):
    graph = scattered()
    found = leiden(graph=graph, seed=SEED)
    told, plain = Told(graph, found), PlainTold(graph, found)
    for row in range(len(found)):
        parts = [
            Part(f"# {part}", 5.0, float(found.occurrence[part]), row_ids(found.nodes, part))
            for part in told.parts(row).tolist()
        ]
        assert report_tables(told, row, parts, budget) == plain_tables(plain, row, parts, budget)


class Lists(Scripted):
    """A model that writes reports on its prompts and notes how many it is given at a time."""

    def __init__(self) -> None:
        super().__init__(answer=self.write)
        self.n_given: list[int] = []

    @staticmethod
    def write(chat) -> str:
        said = digest(chat[-1].content)
        return json.dumps({"title": said, "summary": "They met.", "rating": int(said[0], 16)})

    def arrivals(self, prompts, **settings):
        self.n_given.append(len(prompts))
        return super().arrivals(prompts, **settings)


def test_written_reports_do_not_depend_on_how_many_prompts_are_made_at_a_time(
    tmp_path, monkeypatch
):
    graph = scattered()
    found = leiden(graph=graph, seed=SEED)
    made, models = [], []
    for at_once in (9, 10_000):
        monkeypatch.setattr(llm_reports, "_AT_ONCE", at_once)
        models.append(Lists())
        made.append(
            llm_reports.llm_reports(
                communities=found, graph=graph, llm_build=models[-1], scratch=tmp_path,
                progress=Progress(quiet=True), max_input_tokens=200,
            )
        )  # fmt: skip
    few, all_at_once = made
    assert list(few.texts) == list(all_at_once.texts)
    assert list(few.titles) == list(all_at_once.titles)
    assert few.ratings.tolist() == all_at_once.ratings.tolist()
    assert max(models[0].n_given) == 9
    assert sum(models[0].n_given) == len(found)
    assert any("-----Reports-----" in chat[-1].content for chat in models[0].asked)
