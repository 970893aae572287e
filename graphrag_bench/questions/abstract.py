"""Generate abstract questions: a model invents users of a corpus, their tasks, and questions.

There are up to 125 questions: 5 users with 5 tasks each, and 5 questions for each task.
Source: Edge et al. 2024 (GraphRAG), section 4; Guo et al. 2024 (LightRAG), appendix; Zhou et al.
2025, section 7.1.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from pydantic import BaseModel

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import Prompt
from graphrag_bench.questions.generated import QA, distinct
from graphrag_bench.text import normalise_name

_PROMPTS = "graphrag_bench.questions:prompts"
USERS, TASKS, ABSTRACT = (Prompt(f"{_PROMPTS}/{n}.j2") for n in ("users", "tasks", "abstract"))
USERS_OF_SET, TASKS_OF_USER, QUESTIONS_OF_TASK = 5, 5, 5
MAX_QUESTIONS = USERS_OF_SET * TASKS_OF_USER * QUESTIONS_OF_TASK
MAX_TOKENS = 1024
_ROUNDS = 3
_N_TITLES = 25


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
    """Generate up to `n` questions (at most 125) about the described corpus.

    The first questions of all tasks come first, then the second questions, and so on. If a reply
    has too few items, the model is asked for more, up to two times. Raises UserError if there is no
    readable user, task or question, and RunStopped if calls keep failing.
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
        replies = ask_each(llm, chats, json_format(Items, what), max_tokens=MAX_TOKENS)
        for (row, have), reply in zip(short, replies, strict=True):
            new = reply.items if isinstance(reply, Items) else []
            texts = [" ".join(text.split()) for text in (*have, *new) if text.strip()]
            lists[row] = list({normalise_name(t): t for t in reversed(texts)}.values())[::-1][:n]
    if not any(lists):
        how = "Use a larger model: llm@llm_build=NAME llm_build.model=MODEL."
        raise UserError(f"The model {llm.identity} returned no readable {what}. {how}")
    return lists
