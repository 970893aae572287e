"""Which answer metrics a set is scored by."""

from __future__ import annotations

from dataclasses import replace

from graphrag_bench.api import dataset
from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Gold
from graphrag_bench.run.scoring import metric_names

CARD = ("accuracy", "recall", "exact_match", "f1")


def test_a_set_is_scored_by_what_its_card_names_and_what_is_asked_for() -> None:
    asked = EvaluationSettings.model_validate({"metrics": ["meteor", "f1"]})
    assert metric_names(dataset("toy"), EvaluationSettings.model_validate({})) == CARD
    assert metric_names(dataset("toy"), asked) == (*CARD, "meteor")


def test_options_and_sub_answers_bring_their_metrics() -> None:
    toy, settings = dataset("toy"), EvaluationSettings.model_validate({})
    choice = replace(toy, gold={**toy.gold, "q1": Gold(("x",), options=("x", "y"), correct=0)})
    assert metric_names(choice, settings) == (*CARD, "multiple_choice")
    parts = replace(toy, gold={**toy.gold, "q1": Gold(sub_answers=(("x",), ("y",)))})
    assert metric_names(parts, settings) == (*CARD, "strrec", "strem", "strhit")
