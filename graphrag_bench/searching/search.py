"""A search from its space to its front, confirmed on questions that it has not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.config.compose import compose
from graphrag_bench.data.splits import within_split
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.significance import holm
from graphrag_bench.evaluation.statistics import (
    Difference,
    Mean,
    mean_with_interval,
    paired_difference,
)
from graphrag_bench.experiment.experiment import Experiment, safe_name
from graphrag_bench.fingerprint import digest
from graphrag_bench.progress import Progress
from graphrag_bench.searching.candidates import Candidate, drawn, n_points
from graphrag_bench.searching.halving import Halved, front, halved
from graphrag_bench.searching.journal import Journal, Score
from graphrag_bench.searching.scoring import Found, Scorer, asked
from graphrag_bench.searching.shapes import shapes
from graphrag_bench.searching.space import Space
from graphrag_bench.values import Question


@dataclass(frozen=True)
class Wanted:
    """What a search is asked for.

    `cells` candidates of at most `max_steps` steps, `best` of them to be confirmed, against the
    hand-written methods `against`, by `metric`; `seconds` is the time for scoring, None: no end.
    """

    cells: int = 500
    max_steps: int = 5
    best: int = 5
    against: tuple[str, ...] = ()
    metric: str = "evidence_recall@5"
    seconds: float | None = None


@dataclass(frozen=True)
class Confirmed:
    """A pipeline of the front, or a hand-written method: on dev, and on test.

    `difference` is on test, minus the hand-written method that is best on dev; `p` is corrected for
    the pipelines that were confirmed. Both are None for hand-written ones.
    """

    name: str
    title: str
    dev: Score
    test: Mean
    milliseconds: float
    candidate: Candidate | None
    method: Mapping[str, Any]
    difference: Difference | None = None
    p: float | None = None

    @property
    def luck(self) -> float:
        """How much better it was where it was chosen: dev minus test."""
        return self.dev.value - self.test.mean


@dataclass(frozen=True)
class Outcome:
    """What a search found: the confirmed front, the hand-written methods, and how it came about.

    `n_points` is the size of the space, `n_shapes` that of its chains; `rediscovered` names the
    hand-written methods that were among the candidates, by run key; `refused` says why candidates
    were not run, each with a count.
    """

    folder: Path
    found: tuple[Confirmed, ...]
    by_hand: tuple[Confirmed, ...]
    baseline: str
    halved: Halved
    n_points: int
    n_shapes: int
    n_candidates: int
    n_dev: int
    n_test: int
    rediscovered: tuple[str, ...]
    refused: Mapping[str, int]
    computed: int
    taken: int


@dataclass
class Search:
    """A search over the settings of a run; nothing is scored yet."""

    values: Mapping[str, Any]
    space: Space
    wanted: Wanted
    progress: Progress
    clock: Callable[[], float] = time.monotonic
    refused: dict[str, int] = field(default_factory=dict)

    def run(self) -> Outcome:
        """Draw, halve, and confirm; what an earlier run has scored is taken from the journal.

        Raises UserError for a data set without evidence or without questions in one of its halves,
        for an unknown metric, and where another process does the same search.
        """
        scorer = Scorer(self.values, self.wanted.metric)
        try:
            return self._run(scorer)
        finally:
            scorer.close()

    def _run(self, scorer: Scorer) -> Outcome:
        settings = scorer.first.settings
        every = scorer.first.dataset.interleaved()[: settings.limit]
        dev, test = (
            asked(scorer.first, within_split(every, part, settings.dev_share))
            for part in ("dev", "test")
        )
        chains = shapes(self.space, self.wanted.max_steps)
        candidates = drawn(self.space, chains, self.wanted.cells, settings.seed)
        journal = Journal(self.folder(scorer))
        with journal.alone():
            checked = self._checked(scorer, candidates)
            by_hand = self._by_hand(scorer)
            rows = self._halve(scorer, journal, checked, dev)
            chosen = front(rows.rows)[: self.wanted.best]
            hand = [
                (name, one, self._score(scorer, journal, one, dev, len(dev)))
                for name, one in by_hand.items()
            ]
            confirmed = self._confirmed(scorer, journal, checked, chosen, hand, dev, test)
        keys = {one.key for _, one in checked}
        return Outcome(
            journal.path.parent, *confirmed,
            halved=rows,
            n_points=n_points(self.space, chains),
            n_shapes=sum(map(len, chains.values())),
            n_candidates=len(candidates),
            n_dev=len(dev),
            n_test=len(test),
            rediscovered=tuple(name for name, one in by_hand.items() if one.key in keys),
            refused=dict(self.refused),
            computed=scorer.computed,
            taken=scorer.taken,
        )  # fmt: skip

    def folder(self, scorer: Scorer) -> Path:
        """The folder of the search: the same for the same space, questions, seed and sizes."""
        first, wanted = scorer.first, self.wanted
        told = [
            self.space.describe(), wanted.cells, wanted.max_steps, wanted.metric,
            first.settings.seed, first.settings.limit, first.settings.dev_share,
            first.dataset.corpus_digest, first.dataset.questions_digest, first.settings.chunking,
            first.models.identity("embedder"),
        ]  # fmt: skip
        return first.home / "searches" / safe_name(first.dataset.name) / digest(told)

    def _checked(
        self, scorer: Scorer, candidates: Sequence[Candidate]
    ) -> list[tuple[Candidate, Experiment]]:
        """The candidates with their experiments; one whose steps do not fit is counted and left."""
        found = []
        with self.progress.task("checking pipelines", len(candidates)) as advance:
            for one in candidates:
                try:
                    found.append((one, scorer.experiment(one.method())))
                except UserError as error:
                    self._refuse(str(error))
                advance(1)
        return found

    def _refuse(self, reason: str) -> None:
        line = reason.strip().splitlines()[-1].strip()
        self.refused[line] = self.refused.get(line, 0) + 1

    def _by_hand(self, scorer: Scorer) -> dict[str, Experiment]:
        """The hand-written methods that these settings can run."""
        made = {}
        for name in self.wanted.against:
            method = compose({"method": name}, {})["method"]
            made[name] = scorer.experiment(method)
        return made

    def _halve(
        self,
        scorer: Scorer,
        journal: Journal,
        checked: Sequence[tuple[Candidate, Experiment]],
        dev: Sequence[Question],
    ) -> Halved:
        began, seconds = self.clock(), self.wanted.seconds
        left = [one for _, one in checked]
        with self.progress.task("scoring pipelines", len(left)) as advance:

            def score(experiment: Experiment, n: int) -> Score:
                advance(1)
                return self._score(scorer, journal, experiment, dev, n)

            return halved(
                left, len(dev), score,
                lambda: seconds is not None and self.clock() - began > seconds,
            )  # fmt: skip

    def _score(
        self,
        scorer: Scorer,
        journal: Journal,
        experiment: Experiment,
        dev: Sequence[Question],
        n: int,
    ) -> Score:
        """The score over the first questions of the dev half; the journal's, where it has it."""
        held = journal.get(experiment.key, n)
        if held is not None:
            return held
        try:
            found = scorer.found(experiment, dev[:n])
        except UserError as error:
            return journal.add(Score(experiment.key, n, 0.0, 0.0, 0, str(error)[:300]))
        if found.failed:
            return journal.add(Score(experiment.key, n, 0.0, 0.0, 0, found.failed[0][:300]))
        self._check_metric(found)
        value, tokens = (fmean(held.values()) for held in (found.values, found.tokens))
        size = scorer.size(experiment)
        return journal.add(Score(experiment.key, n, round(value, 6), round(tokens, 6), size))

    def _check_metric(self, found: Found) -> None:
        if not found.values:
            known = ("evidence_recall@5", "all_evidence@5", "ndcg@5", "mrr")
            hint = did_you_mean(self.wanted.metric, known)
            raise UserError(f"No question has the metric '{self.wanted.metric}'. {hint}")

    def _confirmed(
        self,
        scorer: Scorer,
        journal: Journal,
        checked: Sequence[tuple[Candidate, Experiment]],
        chosen: Sequence[tuple[int, Score]],
        by_hand: Sequence[tuple[str, Experiment, Score]],
        dev: Sequence[Question],
        test: Sequence[Question],
    ) -> tuple[tuple[Confirmed, ...], tuple[Confirmed, ...], str]:
        """The front and the hand-written methods on the test half."""
        names = [checked[row][0].name for row, _ in chosen]
        experiments = [checked[row][1] for row, _ in chosen]
        dev_scores = [self._score(scorer, journal, one, dev, len(dev)) for one in experiments]
        hand = [(name, one, score) for name, one, score in by_hand if not score.failed]
        if not hand:
            raise UserError("None of the hand-written methods can be run: name others (against=).")
        every = [*experiments, *(one for _, one, _ in hand)]
        with self.progress.task("confirming on test", len(every)) as advance:
            values = []
            for one in every:
                values.append(scorer.found(one, test).values)
                advance(1)
        times = [scorer.milliseconds(one, dev) for one in every]
        best = max(range(len(hand)), key=lambda row: (hand[row][2].value, -row))
        base = values[len(experiments) + best]
        differences = [_against(base, values[row]) for row in range(len(experiments))]
        corrected = holm([one.p for one in differences])
        found = tuple(
            Confirmed(
                names[row], checked[chosen[row][0]][0].title, dev_scores[row],
                mean_with_interval(list(values[row].values())), times[row],
                checked[chosen[row][0]][0], checked[chosen[row][0]][0].method(),
                differences[row], corrected[row],
            )
            for row in range(len(experiments))
        )  # fmt: skip
        ours = tuple(
            Confirmed(
                name, one.method.title, score,
                mean_with_interval(list(values[len(experiments) + row].values())),
                times[len(experiments) + row], None, one.settings.method,
            )
            for row, (name, one, score) in enumerate(hand)
        )  # fmt: skip
        return found, ours, hand[best][0]


def _against(base: Mapping[str, float], values: Mapping[str, float]) -> Difference:
    both = [name for name in values if name in base]
    return paired_difference([base[name] for name in both], [values[name] for name in both])
