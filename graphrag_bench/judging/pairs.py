"""Judge pairs of answers in both orders. Stored verdicts are reused."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, islice, permutations, product
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field, create_model

from graphrag_bench.errors import UnreadableReply, UserError, unknown
from graphrag_bench.evaluation.statistics import Mean, clusters_of, mean_with_interval, sign_flip_p
from graphrag_bench.fingerprint import digest
from graphrag_bench.judging.answers import attached_judge, in_blocks, judging_lock
from graphrag_bench.judging.measures import PROMPTS, plain
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.report.comparisons import Scopes
from graphrag_bench.report.rows import regime_of
from graphrag_bench.run.folder import Row, read_lines, write_rows
from graphrag_bench.run.models import Models
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.text import count_tokens

CRITERIA = ("comprehensiveness", "diversity", "empowerment", "logicality", "relevance",
            "coherence", "overall")  # fmt: skip
PAPER_CRITERIA: Mapping[str, tuple[str, ...]] = {
    "zhou2025": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "lightrag": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "pathcorag": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "pathrag": ("comprehensiveness", "diversity", "logicality", "relevance", "coherence"),
    "pankrag": CRITERIA[:-1],
    "all": CRITERIA,
}
"""Judging criteria used by each paper."""
HOUSE, PAPER = "house", "paper"
TIE = "tie"
"""Value of `winner` if neither answer is better."""
VERDICTS, LEDGER = "verdicts.jsonl", "ledger.jsonl"
VerdictKey = tuple[str, str, str, str, str]
"""Keys of two runs, criterion, judge, and protocol."""


def parse_criteria(names: Sequence[str]) -> tuple[str, ...]:
    """Return the selected criteria in a fixed order; a paper's name selects its criteria."""
    known = {**{name: (name,) for name in CRITERIA}, **PAPER_CRITERIA}
    for name in names:
        if name not in known:
            raise unknown("criterion", name, known)
    return tuple(one for one in CRITERIA if any(one in known[name] for name in names))


def _winner(value: object) -> object:
    text = str(value).strip().lower().removeprefix("answer").strip()
    return f"Answer {text}" if text in ("1", "2") else value


Winner = Annotated[Literal["Answer 1", "Answer 2"], BeforeValidator(_winner)]


class ReasonFirst(BaseModel):
    """Reply on one criterion: first the reason, then the winner."""

    reason: str = ""
    winner: Winner


class WinnerFirst(BaseModel):
    """Reply on one criterion: first the winner, then the explanation."""

    winner: Winner
    reason: str = Field("", alias="explanation")


@dataclass(frozen=True)
class Protocol:
    """Judging protocol: prompt, format of the reply on one criterion, and token limit."""

    name: str
    prompt: Prompt
    choice: type[ReasonFirst | WinnerFirst]
    max_tokens: int


PROTOCOLS: Mapping[str, Protocol] = {
    HOUSE: Protocol(HOUSE, Prompt(f"{PROMPTS}/compare.j2"), ReasonFirst, 1024),
    PAPER: Protocol(PAPER, Prompt(f"{PROMPTS}/compare_paper.j2"), WinnerFirst, 3072),
}
"""Protocols by name. In the protocol `paper`, the judge explains each choice in detail."""


def select_protocol(runs: Sequence[StoredRun], name: str = "") -> Protocol:
    """Return the named protocol, by default `paper` if all runs are `published`, else `house`."""
    if name and name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)
    published = all(regime_of(run.metrics) == "published" for run in runs)
    return PROTOCOLS[name or (PAPER if published else HOUSE)]


@dataclass(frozen=True)
class Duel:
    """Answers of two runs to a question, in the order that the judge sees."""

    question: str
    first: str
    second: str
    text: str
    answers: tuple[str, str]

    @property
    def fingerprint(self) -> str:
        """Digest of the question and the answers; if it changes, the pair is judged again."""
        return digest(self.text, *self.answers)

    @property
    def winner(self) -> str | None:
        """TIE for equal answers, the other run for an empty answer, None if a judge must decide."""
        first, second = map(plain, self.answers)
        if first == second:
            return TIE
        return None if first and second else (self.first if first else self.second)


@dataclass(frozen=True)
class HeadToHead:
    """Comparison of the runs A and B by one criterion over `n` questions judged in both orders.

    `missing` is the number of questions without both verdicts. `rate` is the win rate of A, and
    `longer` is the win rate of longer answers. Ties count half in both rates. `flips` is the
    fraction of questions whose winner changes with the order, and `first` is the fraction of
    verdicts for the answer that was shown first. Equal answers are left out of `flips` and `first`.
    A mean over zero questions is None. `p` and the intervals treat the questions of a scope as a
    cluster. `names` has the titles of A and B, and the criterion.
    """

    n: int
    missing: int
    wins: int
    ties: int
    losses: int
    rate: Mean | None
    flips: Mean | None
    first: Mean | None
    longer: Mean | None
    p: float
    names: tuple[str, str, str]


def head_to_head(
    verdicts: Sequence[Sequence[float]],
    longer: NDArray[Any] | None = None,
    *,
    scopes: Sequence[str | None] | None = None,
    names: tuple[str, str, str] = ("", "", ""),
) -> HeadToHead:
    """Return the comparison of the runs A and B, given the points of A.

    `verdicts` (2, n_questions) has the points of A: row 0 with A's answer shown first, row 1 with
    A's answer shown second. A win gives 1 point, a loss 0 and an equal answer 0.5; NaN means that
    there is no verdict. `longer` is positive if A's answer is longer than B's answer, and negative
    if it is shorter.

    >>> result = head_to_head([[1, 1, 0, 1], [1, 0, 0, 1]])
    >>> result.rate.mean, (result.wins, result.ties, result.losses)
    (0.625, (2, 1, 1))
    """
    forward, backward = np.asarray(verdicts, np.float64)
    points = (forward + backward) / 2
    known = ~np.isnan(points)
    judged = known & (forward != 0.5)
    sign = np.zeros(len(points)) if longer is None else longer
    scoped = np.asarray(scopes or [None] * len(points), object)

    def mean(values: NDArray[Any], rows: NDArray[np.bool_]) -> Mean | None:
        of_rows = values[rows].astype(np.float64).tolist()
        return mean_with_interval(of_rows, scopes=scoped[rows].tolist()) if of_rows else None

    clusters = clusters_of(scoped[known].tolist())
    p = float(sign_flip_p(2 * points[known] - 1, clusters)[0]) if known.any() else 1.0
    n, wins, losses = (int(np.sum(of)) for of in (known, points == 1, points == 0))
    return HeadToHead(
        n, len(points) - n, wins, n - wins - losses, losses, mean(points, known),
        flips=mean(points == 0.5, judged),
        first=mean((forward + 1 - backward) / 2, judged),
        longer=mean(np.where(sign > 0, points, 1 - points), known & (sign != 0)),
        p=round(p, 6), names=names,
    )  # fmt: skip


@dataclass(frozen=True)
class AnswerPairs:
    """Answers of several runs, by run key, to the questions that all of these runs answered."""

    runs: tuple[StoredRun, ...]
    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    titles: Mapping[str, str]

    @classmethod
    def of(cls, runs: Sequence[StoredRun], limit: int | None = None) -> "AnswerPairs":
        """Return the answers to at most `limit` shared questions, stratified by type."""
        sets = [run.require_dataset() for run in runs]
        texts = [{question.id: question.text for question in one.questions} for one in sets]
        n_alike = Counter(str(run.metrics["title"]) for run in runs)
        answers, titles = {}, {}
        for run in runs:
            key, title = run.folder.path.name, str(run.metrics["title"])
            titles[key] = title if n_alike[title] == 1 else f"{title} {key[:6]}"
            answers[key] = {name: row["answer"] for name, row in run.rows.items()
                            if row["status"] == "answered"}  # fmt: skip
        shared = (
            (one.id, one.text)
            for one in sets[0].interleaved()
            if all(one.id in by_question for by_question in answers.values())
            and all(by_id.get(one.id) == one.text for by_id in texts)
        )
        if not (questions := dict(islice(shared, limit))):
            raise UserError("The runs share no answered question.")
        return cls(tuple(runs), questions, answers, titles)

    def duels(self) -> Iterator[Duel]:
        """Yield each pair of answers to a question in both orders, for each pair of runs."""
        for question, pair in product(self.questions, combinations(self.titles, 2)):
            for first, second in permutations(pair):
                answers = self.answers[first][question], self.answers[second][question]
                yield Duel(question, first, second, self.questions[question], answers)

    def win_rates(self, rows: Iterable[Row], criteria: Sequence[str]) -> list[HeadToHead]:
        """Compare each pair of runs by each criterion; `rows` are the stored verdicts."""
        won = {key[:3]: of for key, of in points_won(rows).items()}
        scopes = [self.runs[0].scopes.get(question) for question in self.questions]
        sizes = {
            key: np.array([count_tokens(answers[question]) for question in self.questions])
            for key, answers in self.answers.items()
        }
        rates = []
        for (a, b), name in product(combinations(self.titles, 2), criteria):
            of_pair = won.get((a, b, name), {})
            verdicts = [
                [of_pair.get(question, {}).get(shown_first, np.nan) for question in self.questions]
                for shown_first in (a, b)
            ]
            names = self.titles[a], self.titles[b], name
            rates.append(head_to_head(verdicts, sizes[a] - sizes[b], scopes=scopes, names=names))
        return rates


@dataclass(frozen=True)
class PairJudging:
    """Judging of answer pairs by some criteria. Verdicts are stored in HOME/comparisons/<key>."""

    pairs: AnswerPairs
    models: Models
    criteria: tuple[str, ...]
    home: Path
    protocol: Protocol = PROTOCOLS[HOUSE]

    @cached_property
    def folder(self) -> Path:
        """Folder that stores the verdicts."""
        judge, runs = self.models.identity("llm_judge"), sorted(self.pairs.titles)
        how = self.protocol.name, self.protocol.prompt.digest
        return self.home / "comparisons" / digest(runs, judge, self.criteria, how)

    def pending(self) -> list[Duel]:
        """Return the pairs of answers that have no verdict yet, in both orders."""
        of_row = itemgetter("question", "first", "second", "of")
        of_duel = attrgetter("question", "first", "second", "fingerprint")
        done = {of_row(row) for row in verdict_rows(self.folder) if row["missing"] != "failed"}
        return [duel for duel in self.pairs.duels() if of_duel(duel) not in done]

    def n_calls(self) -> int:
        """Return the number of calls that `run` makes, without retries of unreadable replies."""
        return sum(duel.winner is None for duel in self.pending())

    def run(self, progress: Progress) -> list[Row]:
        """Judge the pairs without a verdict, and return all verdicts. Failed calls are repeated.

        `winner` is the key of a run, TIE or None. Raises RunStopped if no further call can succeed.
        """

        def place(row: Row) -> tuple[Any, ...]:
            pair = sorted((row["first"], row["second"]))
            return row["question"], *pair, row["first"], CRITERIA.index(row["criterion"])

        file = self.folder / VERDICTS
        judge = attached_judge(self.models, self.models.ledger, "compare")
        with judging_lock(self.folder, "compare.lock"):
            rows_of = partial(self._rows_of, judge)
            in_blocks(file, self.pending(), rows_of, "comparing, both orders", progress)
            write_rows(file, rows := sorted(verdict_rows(self.folder), key=place))
        return rows

    def _rows_of(self, judge: ChatModel, duels: Sequence[Duel]) -> list[Row]:
        asked, protocol = [duel for duel in duels if duel.winner is None], self.protocol
        fields: dict[str, Any] = {name: (protocol.choice, ...) for name in self.criteria}
        shown = ({"question": duel.text, "first": duel.answers[0], "second": duel.answers[1],
                  "criteria": self.criteria} for duel in asked)  # fmt: skip
        replies = ask_each(
            judge, list(map(protocol.prompt.render, shown)),
            json_format(create_model("Choices", **fields), "compare"),
            max_tokens=protocol.max_tokens, items=[duel.question for duel in asked],
        )  # fmt: skip
        by_duel = dict(zip(asked, replies, strict=True))
        how = {"judge": self.models.identity("llm_judge"), "protocol": self.protocol.name}
        return [
            {"question": duel.question, "first": duel.first, "second": duel.second,
             "criterion": name, "of": duel.fingerprint, **how,
             **_verdict(duel, by_duel.get(duel), name)}
            for duel, name in product(duels, self.criteria)
        ]  # fmt: skip


def verdict_rows(folder: Path) -> list[Row]:
    """Return the latest stored verdict for each pair of answers and criterion in a folder."""
    key = itemgetter("question", "first", "second", "criterion")
    return list({key(row): row for row in read_lines(folder / VERDICTS)}.values())


def _verdict(duel: Duel, reply: BaseModel | UnreadableReply | CallFailed | None, name: str) -> Row:
    if isinstance(reply, UnreadableReply | CallFailed):
        missing = "failed" if isinstance(reply, CallFailed) else "unreadable"
        return {"winner": None, "missing": missing, "reason": str(reply)[:300]}
    if reply is None:
        reason = "equal answers" if duel.winner == TIE else "the other answer is empty"
        return {"winner": duel.winner, "missing": "", "reason": reason}
    choice: ReasonFirst | WinnerFirst = getattr(reply, name)
    winner = duel.first if choice.winner == "Answer 1" else duel.second
    return {"winner": winner, "missing": "", "reason": choice.reason[:300]}


def points_won(rows: Iterable[Row]) -> dict[VerdictKey, dict[str, dict[str, float]]]:
    """Return the points that the first run of each key wins against the second run.

    The points are grouped by key, by question, and by the run that is shown first. A win counts 1,
    a loss 0, and a tie 0.5. Verdicts without a winner are left out.
    """
    won: dict[VerdictKey, dict[str, dict[str, float]]] = {}
    for row in rows:
        how = row["criterion"], row["judge"], row.get("protocol", HOUSE)
        for one, other in permutations((row["first"], row["second"])) if row["winner"] else ():
            points = 0.5 if row["winner"] == TIE else float(row["winner"] == one)
            of_pair = won.setdefault((one, other, *how), {})
            of_pair.setdefault(row["question"], {})[row["first"]] = points
    return won


def mean_of(values: Mapping[str, float | None], scopes: Scopes) -> Mean | None:
    """Return the mean of the values that are not None, with an interval; None if all are None."""
    known = {question: value for question, value in values.items() if value is not None}
    if not known:
        return None
    return mean_with_interval(list(known.values()), scopes=[scopes.get(q) for q in known])
