"""HopRAG's graph: passages linked by the questions that they raise and answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from pydantic import BaseModel, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, BoolArray, FloatArray, IntArray, best_first
from graphrag_bench.columns import NOT_STORED, Columns, Texts, incidence, sorted_csr
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.build_calls import MOST_TOKENS, Extractor, chunk_names, list_faults
from graphrag_bench.graphs.passage_graph import MAX_DF, PASSAGE_ATTRIBUTES, chunks_as_nodes
from graphrag_bench.graphs.sentences import named_entities, read_chunks
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ListReply, list_format
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name

HOP_ATTRIBUTES = PASSAGE_ATTRIBUTES | {"relationship.description", "relationship.keywords"}
_BLOCK = 64
QuestionRow = tuple[int, bool, str, tuple[str, ...]]
"""A pseudo-question: its chunk, whether the chunk answers it, its text, and the names in it."""
SEPARATOR = "; "
"""Text between the names in the keywords of a relationship."""


@dataclass(frozen=True, eq=False)
class PseudoQuestions(Columns):
    """Pseudo-questions, i.e. questions that chunks answer or raise, in chunk order.

    `chunk` (int64, n_questions) is the chunk of each question. `answered` (bool, n_questions) is
    true if the chunk answers the question, and false if the chunk raises it. `names` are the
    distinct normalised names in all questions. `question_name` is a bool CSR matrix (n_questions,
    n_names). `statistics` counts the model's replies and their faults.
    """

    texts: Texts
    chunk: IntArray
    answered: BoolArray
    names: Texts
    question_name: Any
    statistics: Mapping[str, float] = field(default_factory=dict, metadata=NOT_STORED)

    def __len__(self) -> int:
        return len(self.texts)

    def names_of(self, chunks: IntArray) -> set[str]:
        """Return all names in the pseudo-questions of the given chunks."""
        rows = np.flatnonzero(np.isin(self.chunk, chunks))
        return set(self.names.take(np.unique(self.question_name[rows].indices)))


class ListedQuestions(BaseModel):
    """Reply to the prompt for answered questions, or to the prompt for raised questions."""

    questions: list[str]


@artifact("pseudo_questions.nlp")
def nlp_questions(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> PseudoQuestions:
    """Make pseudo-questions without a model, i.e. questions that chunks answer or raise.

    Each sentence serves as an answered question. The title of the chunk is put before the sentence
    and counts as a name in the sentence. Sentences without a name are skipped. For each name in the
    chunk, except the title, numbers and dates, the chunk raises the question "What is NAME?".
    Raises UserError if no name is found.
    Source: this project.
    """
    rows: list[QuestionRow] = []
    for chunk, (title, sentences) in enumerate(read_chunks(chunk_table, nlp, progress)):
        raised: dict[str, str] = {}
        for sentence in sentences:
            named = named_entities(sentence)
            raised |= {normalise_name(name): name for name in named}
            if named or title:
                text = f"{title}: {sentence.text}" if title else sentence.text
                rows.append((chunk, True, text, (title, *named)))
        title_names = {"", normalise_name(title)}
        others = (name for key, name in raised.items() if key not in title_names)
        rows += ((chunk, False, f"What is {name}?", (name,)) for name in others)
    return _pseudo_questions(rows)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    prompts = settings["answered_prompt"], settings["raised_prompt"]
    prompt = sum(template_tokens(one) for one in prompts) / 2 + sizes.chunk
    return prompt, min(settings["max_tokens"] or MOST_TOKENS, sizes.chunk)


@artifact("pseudo_questions.llm", calls=2, tokens=_tokens)
def llm_questions(
    *,
    chunk_table: ChunkTable,
    llm_build: ChatModel,
    nlp: Nlp,
    progress: Progress,
    answered_prompt: Prompt = Prompt("methods:hoprag/prompts/answered_questions.j2"),
    raised_prompt: Prompt = Prompt("methods:hoprag/prompts/raised_questions.j2"),
    max_tokens: PositiveInt | None = None,
) -> PseudoQuestions:
    """Ask the language model for pseudo-questions, i.e. questions that chunks answer or raise.

    There are two calls per chunk, one for the questions that it answers and one for the questions
    that it raises. The names of a question are its named entities. An unreadable reply gives no
    question. Raises UserError if all replies are unreadable or no chunk answers any question.
    Source: HopRAG (Liu et al. 2025), incoming and outgoing pseudo-queries.
    """
    items = chunk_names(chunk_table)
    advice = "To build without a model, set build.pseudo_questions=nlp."
    questions: list[tuple[int, bool, str]] = []
    readings: list[dict[int, ListReply[ListedQuestions]]] = []
    extractor = Extractor(llm_build, max_tokens, progress)
    for prompt, kind in ((answered_prompt, "answered"), (raised_prompt, "raised")):
        chats = [prompt.render({"passage": passage}) for passage in chunk_table.passages]
        reading = list_format(ListedQuestions, "questions", f"questions {kind}")
        replies = extractor.ask(chats, reading, items, advice)
        readings.append({row: one for row, one in enumerate(replies) if isinstance(one, ListReply)})
        for chunk, one in readings[-1].items():
            texts = filter(None, map(str.strip, one.value.questions))
            questions += [(chunk, kind == "answered", text) for text in texts]
    questions.sort(key=lambda row: row[0])  # answered questions of a chunk come first
    read = nlp.sentences([text for _, _, text in questions])
    rows = [
        (*row, tuple(name for one in sentences for name in named_entities(one)))
        for row, sentences in zip(questions, read, strict=True)
    ]
    statistics = {**extractor.statistics, **list_faults(len(items), *readings)}
    return replace(_pseudo_questions(rows), statistics=statistics)


@artifact("question_index")
def question_index(
    *, pseudo_questions: PseudoQuestions, embedder: Embedder, progress: Progress
) -> VectorIndex:
    """Embed the pseudo-questions, i.e. the questions that chunks answer or raise, in order."""
    return index_texts(list(pseudo_questions.texts), embedder, progress, "pseudo-questions")


def _pseudo_questions(rows: Sequence[QuestionRow]) -> PseudoQuestions:
    if not any(answered for _, answered, *_ in rows):
        raise UserError(
            "There are no pseudo-questions, because no names were found in the texts. Check that "
            "the texts are in the language of the tagger or the model."
        )
    chunks, answered, texts, names = zip(*rows, strict=True)
    keys = [list(filter(None, map(normalise_name, some))) for some in names]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(chain(*keys)))}
    named = incidence(([numbers[key] for key in some] for some in keys), len(numbers))
    arrays = np.array(chunks, np.int64), np.array(answered, bool)
    return PseudoQuestions(Texts.of(texts), *arrays, Texts.of(list(numbers)), named)


@artifact("graph.hop", provides=HOP_ATTRIBUTES)
def hop(
    *,
    pseudo_questions: PseudoQuestions,
    question_index: VectorIndex,
    chunk_table: ChunkTable,
    progress: Progress,
    max_df: PositiveInt | None = MAX_DF,
) -> Graph:
    """Build a graph with an edge from each passage to the passages that answer its questions.

    Node i is chunk i, and its description is the passage. Each question that a passage raises is
    matched with the most similar question that another passage answers. An edge leads from the
    first passage to the second. The similarity is the mean of two values: the Jaccard index of the
    names in the two questions (0..1), and the cosine of the vectors of the two questions. Ties are
    broken by the order of the questions. If several edges join the same two passages in the same
    direction, the most similar edge is kept. With n chunks, the max(n, n ln(n)) most similar edges
    are kept in total. An edge has the answered question as its description, the names of both
    questions as its keywords, and the similarity as its weight.
    A raised question is compared only with answered questions that share a name with it or have the
    most similar vectors. Names in more than `max_df` answered questions do not count as shared
    here. Raises UserError if there is no edge.
    Source: HopRAG (Liu et al. 2025), authors' code 23898fa, edges between passages.
    """
    raised, answering, similarity = _match(pseudo_questions, question_index, max_df, progress)
    n, of = len(chunk_table), pseudo_questions.chunk
    pairs = of[raised] * n + of[answering]
    order = np.lexsort((answering, -np.round(similarity, DECIMALS), pairs))
    order = order[np.diff(pairs[order], prepend=-1) > 0]
    best = order[best_first(similarity[order])][: int(n * max(1.0, float(np.log(n))))]
    best = best[np.argsort(pairs[best])]
    if not len(best):
        raise UserError(
            "The graph has no edges, because the corpus has one passage or no passage "
            "raises a question."
        )
    raised, answering = raised[best], answering[best]
    names = pseudo_questions.question_name
    both = sorted_csr(names[raised] + names[answering])
    relations = Texts.of(["leads to"] * len(best))
    graph = chunks_as_nodes(n, np.stack([of[raised], of[answering]]), similarity[best], relations)
    return replace(
        graph,
        descriptions=Texts.of(chunk_table.passages),
        facts=Texts.of(pseudo_questions.texts.take(answering)),
        keywords=Texts.of(list(pseudo_questions.names)).join_rows(both, SEPARATOR),
        statistics={"questions_raised": int((~pseudo_questions.answered).sum())},
    )


def _match(
    questions: PseudoQuestions, index: VectorIndex, max_df: int | None, progress: Progress
) -> tuple[IntArray, IntArray, FloatArray]:
    raised, answering = np.flatnonzero(~questions.answered), np.flatnonzero(questions.answered)
    of, vectors = questions.chunk, np.asarray(index.vectors, np.float32)
    answered = VectorIndex(np.ascontiguousarray(vectors[answering]))
    n_own = int(np.bincount(of[answering]).max())  # most questions that one passage answers
    named = questions.question_name.astype(np.int32).tocsr()
    n_names = np.diff(named.indptr)
    frequent = named[answering].getnnz(axis=0) > (len(answering) if max_df is None else max_df)
    proposing = named[:, np.flatnonzero(~frequent)]
    best, similarity = np.zeros(len(raised), np.int64), np.zeros(len(raised))
    with progress.task("matching questions", len(raised)) as advance:
        for at in range(0, len(raised), _BLOCK):
            rows = raised[at : at + _BLOCK]
            shared = (named[rows] @ named[answering].T).toarray()
            either = n_names[rows, None] + n_names[answering] - shared
            cosine = vectors[rows] @ vectors[answering].T
            scores = np.round((shared / np.maximum(either, 1) + cosine) / 2, DECIMALS)
            proposed = (proposing[rows] @ proposing[answering].T).toarray() > 0
            for row, near in enumerate(answered.search(vectors[rows], n_own + 1)):
                proposed[row, near.ids] = True
            scores[~proposed | (of[rows, None] == of[answering])] = -np.inf
            best[at : at + _BLOCK], similarity[at : at + _BLOCK] = scores.argmax(1), scores.max(1)
            advance(len(rows))
    matched = np.isfinite(similarity)
    return raised[matched], answering[best[matched]], similarity[matched]
