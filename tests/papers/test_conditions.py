"""Every row of every table resolves to the conditions of its paper."""

from fnmatch import fnmatchcase
from functools import cache

import pytest
from omegaconf import OmegaConf
from pydantic import ValidationError

from graphrag_bench.config.compose import compose_settings, composition, settings_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import method_file, with_profile
from graphrag_bench.papers.choices import content, table_runs
from graphrag_bench.papers.names import NOT_STATED, Condition
from graphrag_bench.papers.printed import conditions_of, load_conditions, paper_names, table_names
from graphrag_bench.pipeline.pipeline import STAGES, StepOptions, build
from graphrag_bench.run.conditions import condition_lines, condition_values
from graphrag_bench.run.folder import paths_of

MODELS = ("llm", "embedder", "dataset")
"""Words whose models and data sets may not be installed."""
FIRST: dict[tuple[str, ...], str] = {}
"""The first row with these words; the others resolve to the same settings."""
composed = cache(composition)
load_plugins()


def named(word: str) -> str:
    return word.partition("=")[0]


@cache
def values(row):
    """The settings that a row resolves to; Hydra composes its choices once for all rows."""
    own = {**(content("row", row) or {})}
    choices = ((name.split("/")[1], one) for at in own.pop("defaults") for name, one in at.items())
    config = composed(tuple(f"{group}={one}" for group, one in choices if group not in MODELS))
    plain = OmegaConf.masked_copy(config, [name for name in config if name != "hydra"])
    return resolved(settings_of(OmegaConf.merge(plain, own), config.hydra))


def resolved(composed_settings):
    settings = check_settings(composed_settings)
    profiled = settings.profile != "default"
    options = StepOptions(pooling=settings.pooling, regime=settings.regime, all_rows=profiled)
    pipeline, problems = build(settings.method, options)
    assert not problems
    return condition_values(settings, pipeline)


@cache
def changed_by(method: str, profile: str = "default", fidelity: str = "default") -> set[str]:
    """The parameters that a row's profile and fidelity change, by path."""
    files = [with_profile(method_file(method), *of)
             for of in (("default", "default"), (profile, fidelity))]  # fmt: skip
    plain, sourced = (paths_of({k: v for k, v in of.items() if k not in STAGES}) for of in files)
    return {f"method.{path}" for path in sourced if sourced[path] != plain.get(path)}


@pytest.mark.slow
@pytest.mark.parametrize("table", table_names())
def test_every_row_meets_its_conditions(table):
    wrong, without = [], []
    for row, words in table_runs(table).rows.items():
        conditions = conditions_of(row)
        own = tuple(w for w in words if named(w) not in MODELS and not named(w).endswith("seed"))
        ours = values(FIRST.setdefault(own, row))
        wrong += [(row, one.name, ours.get(one.setting)) for one in conditions if one.differs(ours)]
        stated = {one.setting for one in conditions}
        without += [(row, word) for word in words if named(word) not in stated]
        of_method = ("method", "profile", "fidelity")
        sources = dict(word.split("=", 1) for word in words if named(word) in of_method)
        without += [(row, name) for name in changed_by(**sources)
                    if not any(fnmatchcase(name, one.setting) for one in conditions)]  # fmt: skip
    assert (wrong, without) == ([], [])


def test_every_condition_applies_to_a_row():
    rows = [row for table in table_names() for row in table_runs(table).rows]
    for paper in paper_names():  # Zhou et al. share conditions between two papers
        start = "zhou2025" if paper.startswith("zhou2025") else f"{paper}."
        own = [row for row in rows if row.startswith(start)]
        for one in load_conditions(paper):
            assert any(map(one.applies_to, own)), one.name


def test_a_row_resolves_like_its_words():
    words = table_runs("pathrag/table1").rows["pathrag.table1.PathRAG"]
    own = [word for word in words if named(word) not in MODELS]
    assert values("pathrag.table1.PathRAG") == resolved(compose_settings(own))


def test_a_plan_shows_conditions_with_the_values_of_the_run():
    row = "pathrag.table1.NaiveRAG"
    words = table_runs("pathrag/table1").rows[row][:4]
    settings = check_settings(compose_settings([*words, "regime=published", "method.top_k=9"]))
    lines = list(condition_lines(row, settings, build(settings.method)[0], None))
    (k,) = [line for line in lines if line.startswith("  k:")]
    assert "9, not 4 (method.top_k)" in k and NOT_STATED in k
    assert any("8000 (budget_context)" in line for line in lines)
    clause = values("zhou2025.table5.ToG")["clause"]  # the clause is part of a sentence
    assert isinstance(clause, str) and "from what you know" in clause and "<" not in clause


def test_a_condition_needs_a_place_or_a_source():
    wrong = {"paper": NOT_STATED, "place": "1", "by": "x"}
    for fields in ({"paper": "a"}, {"paper": NOT_STATED}, wrong):
        with pytest.raises(ValidationError):
            Condition.model_validate({"name": "k", **fields})
