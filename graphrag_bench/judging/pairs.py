"""Answers of several runs judged in pairs, in both orders; stored verdicts are reused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, create_model

from graphrag_bench.errors import UnreadableReply, UserError, unknown
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.fingerprint import digest
from graphrag_bench.judging.answers import gate_of, in_blocks, judging
from graphrag_bench.judging.measures import plain
from graphrag_bench.judging.win_rates import BothOrders
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.structured import ask_each, json_reading
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.report.rows import regime_of
from graphrag_bench.run.folder import Row, locked, read_lines, write_rows
from graphrag_bench.run.judged import judged_rows, judged_values
from graphrag_bench.run.models import Models
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.text import count_tokens

CRITERIA = (
    "comprehensiveness", "diversity", "empowerment", "logicality", "relevance", "coherence",
    "overall",
)  # fmt: skip
OF_PAPERS: Mapping[str, tuple[str, ...]] = {
    "zhou2025": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "lightrag": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "pathcorag": ("comprehensiveness", "diversity", "empowerment", "overall"),
    "pathrag": ("comprehensiveness", "diversity", "logicality", "relevance", "coherence"),
    "pankrag": CRITERIA[:-1],
    "all": CRITERIA,
}
"""The criteria that each paper compares by."""
HOUSE, PAPER = "house", "paper"
TIE = "tie"
"""The winner of a pair of equal answers."""
VERDICTS, LEDGER = "verdicts.jsonl", "ledger.jsonl"


def criteria_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the criteria of names and papers, each once, in the order of CRITERIA."""
    chosen: set[str] = set()
    for name in names:
        if name not in (*CRITERIA, *OF_PAPERS):
            raise unknown("criterion", name, (*CRITERIA, *OF_PAPERS))
        chosen.update(OF_PAPERS.get(name, (name,)))
    return tuple(name for name in CRITERIA if name in chosen)


def _winner(value: object) -> object:
    text = str(value).strip().lower().removeprefix("answer").strip()
    return f"Answer {text}" if text in ("1", "2") else value


Winner = Annotated[Literal["Answer 1", "Answer 2"], BeforeValidator(_winner)]


class Choice(BaseModel):
    """The winner by one criterion, after the reason."""

    reason: str = ""
    winner: Winner


class ExplainedChoice(BaseModel):
    """The winner by one criterion, before the explanation."""

    winner: Winner
    explanation: str = ""


@dataclass(frozen=True)
class Protocol:
    """How a judge is asked: its prompt, its reply by one criterion, the most tokens of a reply."""

    name: str
    prompt: Prompt
    choice: type[Choice | ExplainedChoice]
    max_tokens: int


_PROMPTS = "graphrag_bench.judging:prompts"
PROTOCOLS: Mapping[str, Protocol] = {
    one.name: one
    for one in (
        Protocol(HOUSE, Prompt(f"{_PROMPTS}/compare.j2"), Choice, 1024),
        Protocol(PAPER, Prompt(f"{_PROMPTS}/compare_paper.j2"), ExplainedChoice, 3072),
    )
}
"""The protocols by name; the paper's has room for a detailed explanation of each choice."""


def protocol_of(runs: Sequence[StoredRun], name: str = "") -> Protocol:
    """Return the protocol of a name; of "" the paper's where all runs are as published."""
    if name and name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)
    regimes = {regime_of(run.metrics) for run in runs}
    return PROTOCOLS[name or (PAPER if regimes == {"published"} else HOUSE)]


Duel = tuple[str, str, str]
"""A question, and the keys of two runs in the order in which their answers are shown."""


@dataclass(frozen=True)
class Comparison:
    """Some runs over the questions that all have answered, by their keys, in the order given."""

    runs: tuple[StoredRun, ...]
    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    titles: Mapping[str, str]

    @classmethod
    def of(cls, runs: Sequence[StoredRun], limit: int | None = None) -> "Comparison":
        """Return the comparison of the first `limit` questions, stratified by type.

        Raises UserError where no question has an answer in all of them.
        """
        sets = [run.require_dataset() for run in runs]
        texts = [{question.id: question.text for question in one.questions} for one in sets]
        answers = {
            run.folder.path.name: {
                name: row["answer"] for name, row in run.rows.items() if row["status"] == "answered"
            }
            for run in runs
        }
        shared = [
            question.id
            for question in sets[0].interleaved()
            if all(question.id in by_question for by_question in answers.values())
            and all(by_id.get(question.id) == question.text for by_id in texts)
        ][:limit]
        if not shared:
            raise UserError("The runs have answered no question in common.")
        titles = {run.folder.path.name: _title(run, runs) for run in runs}
        return cls(tuple(runs), {name: texts[0][name] for name in shared}, answers, titles)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every two runs once, in the order given."""
        return list(combinations(self.titles, 2))

    def duels(self) -> Iterator[Duel]:
        """Yield every question and pair, in both orders."""
        for question, (a, b) in product(self.questions, self.pairs):
            yield from ((question, a, b), (question, b, a))

    def shown(self, duel: Duel) -> dict[str, str]:
        """Return the texts that the judge is shown: the question, and the two answers."""
        question, *keys = duel
        first, second = (self.answers[key][question] for key in keys)
        return {"question": self.questions[question], "first": first, "second": second}

    def of_duel(self, duel: Duel) -> str:
        """Return a fingerprint of what is shown: a regenerated answer is judged again."""
        return digest(*self.shown(duel).values())

    def settled(self, duel: Duel) -> str | None:
        """Return the winner that needs no judge, else None.

        Answers that are equal but for case, spaces and signs at their ends tie; an empty one loses.
        """
        first, second = (plain(self.answers[key][duel[0]]) for key in duel[1:])
        if first == second:
            return TIE
        return None if first and second else duel[1 if first else 2]

    def equal(self, question: str, a: str, b: str) -> bool:
        """Return whether the answers of two runs to a question are equal."""
        return self.settled((question, a, b)) == TIE

    @cached_property
    def _n_tokens(self) -> Mapping[str, Mapping[str, int]]:
        return {
            key: {question: count_tokens(answers[question]) for question in self.questions}
            for key, answers in self.answers.items()
        }

    @property
    def scopes(self) -> Mapping[str, str | None]:
        """The scope of each question; questions of one scope share a document."""
        return self.runs[0].scopes

    def longer(self, question: str, a: str, b: str) -> int:
        """Return 1 where the answer of `a` has more tokens, -1 where that of `b` has, else 0."""
        n_a, n_b = (self._n_tokens[key][question] for key in (a, b))
        return (n_a > n_b) - (n_a < n_b)


def _title(run: StoredRun, runs: Sequence[StoredRun]) -> str:
    title = str(run.metrics["title"])
    alike = sum(other.metrics["title"] == title for other in runs)
    return f"{title} {run.folder.path.name[:6]}" if alike > 1 else title


@dataclass(frozen=True)
class Panel:
    """Who judges what: a comparison, the models, criteria and protocol, and where verdicts are.

    HOME/comparisons/<key> is named by runs, judge, criteria, protocol and its prompt.
    """

    comparison: Comparison
    models: Models
    criteria: tuple[str, ...]
    home: Path
    protocol: Protocol = PROTOCOLS[HOUSE]

    @cached_property
    def folder(self) -> Path:
        """The folder of the verdicts."""
        judge, runs = self.models.identity("llm_judge"), sorted(self.comparison.titles)
        how = self.protocol.name, self.protocol.prompt.digest
        return self.home / "comparisons" / digest(runs, judge, self.criteria, how)

    def chat(self, duel: Duel) -> Chat:
        """Return the prompt of a duel."""
        shown = self.comparison.shown(duel)
        return self.protocol.prompt.render({"criteria": self.criteria, **shown})


def mixed_regimes(comparison: Comparison) -> str:
    """Return the regimes of the runs by title where they differ; "" where they do not."""
    of = {run.folder.path.name: regime_of(run.metrics) for run in comparison.runs}
    if len(set(of.values())) < 2:
        return ""
    return ", ".join(f"{comparison.titles[key]}: {name or 'imported'}" for key, name in of.items())


def verdict_rows(folder: Path) -> list[Row]:
    """Return the valid verdicts of a folder: a later row replaces an earlier one."""
    names, rows = ("question", "first", "second", "criterion"), read_lines(folder / VERDICTS)
    return list({tuple(row[name] for name in names): row for row in rows}.values())


def pending(panel: Panel) -> list[Duel]:
    """Return the duels without a verdict."""
    comparison = panel.comparison
    done = {
        (row["question"], row["first"], row["second"], row["of"])
        for row in verdict_rows(panel.folder)
        if row["missing"] != "failed"
    }
    return [duel for duel in comparison.duels() if (*duel, comparison.of_duel(duel)) not in done]


def n_calls(panel: Panel) -> int:
    """Return how many calls are to be made, corrections of replies aside."""
    return sum(panel.comparison.settled(duel) is None for duel in pending(panel))


def judge_pairs(panel: Panel, progress: Progress) -> list[Row]:
    """Return the verdicts of every pair, question, order and criterion, those of before too.

    `winner` is the key of a run, TIE for equal answers, or null where the verdict is missing. Calls
    that failed are made again. Raises RunStopped when nothing further can succeed; what is done is
    kept.
    """
    comparison, models, file = panel.comparison, panel.models, panel.folder / VERDICTS
    fields: dict[str, Any] = {name: (panel.protocol.choice, ...) for name in panel.criteria}
    choices = create_model("Choices", **fields)
    log, gate = models.ledger.at("judge", "compare"), gate_of(models, "compare")

    def rows_of(duels: Sequence[Duel]) -> list[Row]:
        asked = [duel for duel in duels if comparison.settled(duel) is None]
        replies = ask_each(
            models.llm_judge.attached(log=log, gate=gate),
            [panel.chat(duel) for duel in asked],
            json_reading(choices, "compare"),
            max_tokens=panel.protocol.max_tokens, items=[duel[0] for duel in asked],
        )  # fmt: skip
        said = dict(zip(asked, replies, strict=True))
        return [
            {"question": duel[0], "first": duel[1], "second": duel[2], "criterion": name,
             "of": comparison.of_duel(duel), "judge": models.identity("llm_judge"),
             "protocol": panel.protocol.name}
            | (_verdict(said[duel], name, duel) if duel in said else _settled(comparison, duel))
            for duel in duels
            for name in panel.criteria
        ]  # fmt: skip

    def place(row: Row) -> tuple[Any, ...]:
        pair = sorted((row["first"], row["second"]))
        return row["question"], *pair, row["first"], CRITERIA.index(row["criterion"])

    with locked(panel.folder / "compare.lock", judging(panel.folder)):
        in_blocks(file, pending(panel), rows_of, "comparing, both orders", progress)
        rows = sorted(verdict_rows(panel.folder), key=place)
        write_rows(file, rows)
    return rows


def _verdict(reply: BaseModel | UnreadableReply | CallFailed, name: str, duel: Duel) -> Row:
    if isinstance(reply, UnreadableReply | CallFailed):
        missing = "failed" if isinstance(reply, CallFailed) else "unreadable"
        return {"winner": None, "missing": missing, "reason": str(reply)[:300]}
    choice: Choice | ExplainedChoice = getattr(reply, name)
    reason = choice.reason if isinstance(choice, Choice) else choice.explanation
    winner = duel[1] if choice.winner == "Answer 1" else duel[2]
    return {"winner": winner, "missing": "", "reason": reason[:300]}


def _settled(comparison: Comparison, duel: Duel) -> Row:
    winner = comparison.settled(duel)
    reason = "equal answers" if winner == TIE else "the other answer is empty"
    return {"winner": winner, "missing": "", "reason": reason}


def both_orders(
    comparison: Comparison, rows: Sequence[Row], a: str, b: str, criterion: str
) -> dict[str, BothOrders]:
    """Return for each question of the comparison whether `a` beat `b` in either order."""
    won = {
        (row["question"], row["first"]): row["winner"] == a
        for row in rows
        if row["criterion"] == criterion and {row["first"], row["second"]} == {a, b}
        and row["winner"] is not None
    }  # fmt: skip
    return {
        name: BothOrders(
            won.get((name, a)), won.get((name, b)), comparison.longer(name, a, b),
            comparison.equal(name, a, b),
        )
        for name in comparison.questions
    }  # fmt: skip


Compared = tuple[str, str, str, str, str]
"""The keys of two runs, the criterion, the judge and its protocol."""
Scopes = Mapping[str, str | None]
"""Question to scope."""
Values = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Judge, then metric, then question to value."""


@dataclass
class StoredVerdicts:
    """The verdicts below a home: comparisons/*/verdicts.jsonl, and judged.jsonl of each run."""

    home: Path
    _judged: dict[Path, Values] = field(default_factory=dict)

    @cached_property
    def _points(self) -> dict[Compared, dict[str, float]]:
        """What the first run won of each question that was judged in both orders, 0..1."""
        won: dict[Compared, dict[str, dict[str, float]]] = {}
        for path in sorted(self.home.glob(f"comparisons/*/{VERDICTS}")):
            for row in read_lines(path):
                if row["winner"] is None:
                    continue
                how = row["criterion"], row["judge"], row.get("protocol", HOUSE)
                for one, other in permutations((row["first"], row["second"])):
                    points = 0.5 if row["winner"] == TIE else float(row["winner"] == one)
                    of_pair = won.setdefault((one, other, *how), {})
                    of_pair.setdefault(row["question"], {})[row["first"]] = points
        return {
            compared: {name: sum(two.values()) / 2 for name, two in by.items() if len(two) == 2}
            for compared, by in won.items()
        }

    def judges(self, first: str, second: str, criterion: str) -> list[tuple[str, str]]:
        """Return each (judge, protocol), sorted, that compared two runs, by key, by a criterion."""
        wanted = first, second, criterion
        return sorted((judge, how) for *key, judge, how in self._points if tuple(key) == wanted)

    def win_rate(self, compared: Iterable[Compared], scopes: Scopes) -> Mean | None:
        """Return the share of questions that the first runs won, 0..1; None without any.

        One win in two orders is half; questions without a verdict in both are left out. Of several
        comparisons (criteria, seeds) each question counts with the mean over those that it has. The
        interval draws questions of one scope together.
        """
        points: dict[str, list[float]] = {}
        for one in compared:
            for question, value in self._points.get(one, {}).items():
                points.setdefault(question, []).append(value)
        return mean_of({question: fmean(values) for question, values in points.items()}, scopes)

    def judges_of(self, folder: Path, metric: str) -> list[str]:
        """Return the judges, sorted, who judged the answers of a run by a metric."""
        return sorted(
            judge
            for judge, metrics in self._of_run(folder).items()
            if any(value is not None for value in metrics.get(metric, {}).values())
        )

    def judged(self, folder: Path, metric: str, judge: str, scopes: Scopes) -> Mean | None:
        """Return the mean of the judged values, 0..1, over questions with one; None without any."""
        return mean_of(self._of_run(folder).get(judge, {}).get(metric, {}), scopes)

    def _of_run(self, folder: Path) -> Values:
        if folder not in self._judged:
            self._judged[folder] = judged_values(judged_rows(folder))
        return self._judged[folder]


def mean_of(values: Mapping[str, float | None], scopes: Scopes) -> Mean | None:
    """Return the mean over the questions that have a value, drawn by scope; None without any."""
    known = {question: value for question, value in values.items() if value is not None}
    if not known:
        return None
    return mean_with_interval(list(known.values()), scopes=[scopes.get(q) for q in known])
