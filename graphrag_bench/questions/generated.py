"""Generate questions about a corpus, specific or abstract, and store them as a data set."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import unique
from graphrag_bench.columns import row_ids
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import QUESTIONS, Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.extraction import CO_OCCURS
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.folder import read_lines, write_rows
from graphrag_bench.text import normalise_name, words


@dataclass(frozen=True)
class QA:
    """Generated question. `origin` is its user and task if it is abstract, else its facts."""

    text: str
    type: str
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    hops: int | None = None
    entities: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()


_FREQUENT = frozenset(
    ["the", "of", "and", "to", "in", "a", "is", "was", "for", "that", "on", "by", "with", "as"]
)
"""Frequent English words, which make up 30 to 45 % of an English text."""


def is_english(texts: Iterable[str]) -> bool:
    """Return whether texts have enough frequent English words, or fewer than 100 words in total."""
    found = [word for text in islice(texts, 200) for word in words(text[:1000])]
    frequent = sum(word in _FREQUENT for word in found)
    return len(found) < 100 or frequent >= 0.12 * len(found)


def distinct(questions: Iterable[QA]) -> list[QA]:
    """Remove each question that has the same wording as an earlier question."""
    first: dict[str, QA] = {}
    for one in questions:
        first.setdefault(normalise_name(one.text), one)
    return list(first.values())


def write_set(folder: Path, dataset: Dataset, questions: Sequence[QA]) -> None:
    """Write corpus and questions to a folder; raise UserError if the folder has other questions."""
    rows = [
        {"id": f"{one.type}-{number:04d}"} | {k: v for k, v in asdict(one).items() if v is not None}
        for number, one in enumerate(questions, 1)
    ]
    if there := list(read_lines(folder / QUESTIONS)):
        if there != json.loads(json.dumps(rows)):
            raise UserError(f"{folder} has different questions. Choose a new folder: out=FOLDER.")
        return
    write_rows(folder / "corpus.jsonl", [
        {"id": d.id, "title": d.title, "text": d.text} | ({"scope": d.scope} if d.scope else {})
        for d in dataset.documents
    ])  # fmt: skip
    write_rows(folder / QUESTIONS, rows)


SPECIFIC, TEMPLATE, USERS, TASKS, ABSTRACT = (
    Prompt(f"graphrag_bench.questions:prompts/{name}.j2")
    for name in ("specific", "template_wording", "users", "tasks", "abstract")
)
Chain = tuple[int, ...]
"""The row numbers of facts. Each fact begins at the node where the previous fact ends."""


class Worded(BaseModel):
    """Reply of the model that phrases a question."""

    question: str


class Chains:
    """Chains of facts from the chunks of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        stated = np.diff(graph.relationship_chunk.tocsr().indptr) > 0
        usable = stated & ~np.asarray(graph.synonym) & (graph.source != graph.target)
        rows = np.flatnonzero(usable).tolist()
        self.rows = [row for row in rows if graph.relations[row] != CO_OCCURS]
        self._from: dict[int, list[int]] = defaultdict(list)
        for row in self.rows:
            self._from[int(graph.source[row])].append(row)
        self._joined = {frozenset(self.nodes([row])) for row in self.rows}
        self._equal_names = _equal_names(graph.names)

    def nodes(self, rows: Sequence[int]) -> list[int]:
        """Return the nodes along a chain of facts, given the row numbers of the facts."""
        return [int(self.graph.source[rows[0]]), *(int(self.graph.target[row]) for row in rows)]

    def relations(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Return the relations along a chain of facts, given the row numbers of the facts."""
        return tuple(self.graph.relations[row] for row in rows)

    def sample(self, hops: int, n: int, rng: np.random.Generator) -> list[Chain]:
        """Return a random sample of up to `n` distinct chains of `hops` facts with a unique answer.

        The nodes of a chain are distinct, and no single fact joins its first and last node. From
        the first node, the relations of the chain lead to no node other than the last node. Two
        names, or two relations, count as equal if one contains the words of the other.
        """
        chains: dict[tuple[int, tuple[str, ...]], Chain] = {}
        for first in rng.permutation(np.array(self.rows, np.int64)).tolist():
            if len(chains) == n:
                break
            if chain := next(self._extend((first,), hops, rng), None):
                chains.setdefault((self.nodes(chain)[0], self.relations(chain)), chain)
        return list(chains.values())

    def _extend(self, rows: Chain, hops: int, rng: np.random.Generator) -> Iterator[Chain]:
        nodes = self.nodes(rows)
        if len(set(nodes)) < len(nodes):
            return
        if len(rows) == hops:
            if self._one_answer(rows, nodes):
                yield rows
            return
        for row in rng.permutation(self._from.get(nodes[-1], [])).tolist():
            yield from self._extend((*rows, row), hops, rng)

    def _one_answer(self, rows: Sequence[int], nodes: Sequence[int]) -> bool:
        if len(rows) > 1 and frozenset((nodes[0], nodes[-1])) in self._joined:
            return False
        reached = self._equal_names[nodes[0]]
        for name in self.relations(rows):
            onward = (row for node in reached for row in self._from.get(node, []))
            like = [row for row in onward if _equal(self.graph.relations[row], name)]
            reached = set().union(*(self._equal_names[int(self.graph.target[row])] for row in like))
        return reached <= self._equal_names[nodes[-1]]


def _equal_names(names: Iterable[str]) -> list[set[int]]:
    rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    words = [tuple(normalise_name(name).split()) for name in names]
    for row, own in enumerate(words):
        rows[own].append(row)
    alike: list[set[int]] = [{row} for row in range(len(words))]
    for row, own in enumerate(words):
        parts = {own[i:j] for i in range(len(own)) for j in range(i + 1, len(own) + 1)}
        for other in (other for part in parts for other in rows.get(part, ())):
            alike[row].add(other)
            alike[other].add(row)
    return alike


def _equal(one: str, other: str) -> bool:
    first, second = (f" {normalise_name(text)} " for text in (one, other))
    return first in second or second in first


class _Case(NamedTuple):
    question: QA
    """The question without its text."""
    names: Sequence[str]
    relations: Sequence[str]
    passages: Sequence[str]


def _case(rows: Chain, chains: Chains, table: ChunkTable) -> _Case:
    matrix, relations = chains.graph.relationship_chunk.tocsr(), chains.relations(rows)
    chunks = unique([int(row_ids(matrix, row).min()) for row in rows])
    passages = [table.passage(chunk) for chunk in chunks]
    names = [chains.graph.names[node] for node in chains.nodes(rows)]
    shown = [_as_written(name, passages) for name in names]
    facts = map(" | ".join, zip(shown, relations, shown[1:], strict=False))
    documents = unique([table.documents_of(chunk)[0] for chunk in chunks])
    answers = {normalise_name(name): name for name in (names[-1], shown[-1])}
    given, hops = tuple(answers.values()), len(rows)
    question = QA("", f"{hops}-hop", given, documents, hops, (shown[0],), tuple(facts))
    return _Case(question, shown, relations, passages)


def _as_written(name: str, passages: Sequence[str]) -> str:
    for passage in passages:
        at = passage.casefold().find(name.casefold())
        if at >= 0 and len(passage.casefold()) == len(passage):
            return passage[at : at + len(name)]
    return name


def specific_questions(
    graph: Graph, table: ChunkTable, hops: Sequence[int], n: int, llm: ChatModel | None, seed: int
) -> tuple[list[QA], int]:
    """Generate up to `n` questions, in equal numbers for each number of `hops`.

    Also return the number of rejected questions. If `llm` is None, questions are phrased by a
    template. A question phrased by `llm` is rejected if it is unreadable or contains the answer or
    the name of an intermediate node. If possible, a question about another chain replaces it.
    """
    chains, questions, n_refused = Chains(graph), list[QA](), 0
    for place, number in enumerate(hops):
        wanted = n // len(hops) + (place < n % len(hops))
        rng = np.random.default_rng([seed, number])
        sampled = chains.sample(number, wanted if llm is None else 2 * wanted, rng)
        cases = [_case(rows, chains, table) for rows in sampled]
        worded: list[QA] = []
        for part in (cases[:wanted], cases[wanted:]):
            part = part[: wanted - len(worded)]
            pairs = zip(part, _wordings(part, llm), strict=True)
            new = [replace(one.question, text=text) for one, text in pairs if text]
            n_refused += len(part) - len(new)
            worded += new
        questions += distinct(worded)[:wanted]
    return questions, n_refused


def _wordings(cases: Sequence[_Case], llm: ChatModel | None) -> list[str]:
    """Return a wording of each question, or "" if the reply is unreadable or leaks a name."""
    if llm is None:
        names = ({"first": one.names[0], "relations": one.relations} for one in cases)
        return [" ".join(TEMPLATE.render(one)[0].content.split()) for one in names]
    values = [{"passages": one.passages, "facts": one.question.origin, "first": one.names[0],
               "answer": one.names[-1]} for one in cases]  # fmt: skip
    chats, wording = [SPECIFIC.render(one) for one in values], json_format(Worded, "wording")
    texts, replies = [], ask_each(llm, chats, wording, max_tokens=256)
    for one, reply in zip(cases, replies, strict=True):
        text = " ".join(reply.question.split()) if isinstance(reply, Worded) else ""
        plain = f" {normalise_name(text)} "
        leaks = any(f" {normalise_name(name)} " in plain for name in one.names[1:])
        texts.append("" if leaks else text)
    return texts


USERS_OF_SET, TASKS_OF_USER, QUESTIONS_OF_TASK = 5, 5, 5
MAX_QUESTIONS = USERS_OF_SET * TASKS_OF_USER * QUESTIONS_OF_TASK
ITEMS_TOKENS, _ROUNDS, _N_TITLES = 1024, 3, 25


class Items(BaseModel):
    """Reply of the model: a list of users, tasks, or questions."""

    items: list[str]


def describe(dataset: Dataset) -> str:
    """Describe a data set to the model by its title and the titles of up to 25 documents."""
    step = max(1, len(dataset.documents) // _N_TITLES)
    names = [(row.title or row.text)[:100].strip() for row in dataset.documents[::step][:_N_TITLES]]
    listed = "\n".join(f"- {' '.join(name.split())}" for name in names if name)
    return f"{dataset.card.title}; {len(dataset.documents)} documents, among them\n{listed}"


def abstract_questions(llm: ChatModel, description: str, n: int = MAX_QUESTIONS) -> list[QA]:
    """Generate up to `n` abstract questions (at most 125) about the described corpus.

    A model invents 5 users of the corpus, 5 tasks of each user, and 5 questions for each task. The
    first questions of all tasks come first, then the second questions, and so on. If a reply has
    too few items, the model is asked for more, up to two times. Raises UserError if there is no
    readable user, task or question, and RunStopped if calls keep failing.
    Source: Edge et al. 2024 (GraphRAG), section 4; Guo et al. 2024 (LightRAG), appendix; Zhou et
    al. 2025, section 7.1.
    """
    n = min(n, MAX_QUESTIONS)
    about = {"description": description}
    (users,) = _lists(llm, USERS, [about], USERS_OF_SET, "users")
    tasks = _lists(llm, TASKS, [{**about, "user": u} for u in users], TASKS_OF_USER, "tasks")
    rounds = (zip(users, nth, strict=True) for nth in zip_longest(*tasks))
    chosen = [(user, task) for pairs in rounds for user, task in pairs if task is not None]
    per_task = min(QUESTIONS_OF_TASK, -(-n // max(len(chosen), 1)))
    chosen = chosen[: -(-n // max(per_task, 1))]
    cases = [{**about, "user": user, "task": task} for user, task in chosen]
    lists = _lists(llm, ABSTRACT, cases, per_task, "questions")
    rows = (zip(nth, chosen, strict=True) for nth in zip_longest(*lists))
    asked = [(text, origin) for nth in rows for text, origin in nth if text is not None]
    return distinct(QA(text, "abstract", origin=origin) for text, origin in asked)[:n]


def _lists(
    llm: ChatModel, prompt: Prompt, cases: Sequence[Mapping[str, str]], n: int, what: str
) -> list[list[str]]:
    lists: list[list[str]] = [[] for _ in cases]
    for _ in range(_ROUNDS):
        short = [(row, items) for row, items in enumerate(lists) if len(items) < n]
        if not short:
            break
        chats = [prompt.render({**cases[r], "have": have, "n": n - len(have)}) for r, have in short]
        replies = ask_each(llm, chats, json_format(Items, what), max_tokens=ITEMS_TOKENS)
        for (row, have), reply in zip(short, replies, strict=True):
            new = reply.items if isinstance(reply, Items) else []
            texts = [" ".join(text.split()) for text in (*have, *new) if text.strip()]
            lists[row] = [one.text for one in distinct(QA(text, what) for text in texts)][:n]
    if not any(lists):
        how = "Use a larger model: llm@llm_build=NAME llm_build.model=MODEL."
        raise UserError(f"The model {llm.identity} returned no readable {what}. {how}")
    return lists
