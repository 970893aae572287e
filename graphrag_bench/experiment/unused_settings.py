"""Settings that are given and never read: one that changes no step or artifact is an error.

A setting has an effect when a step or an artifact reads it, or when by its nature it says how much
is done and how (limit, workers, budget, paths, split, ...). profile and fidelity belong to the
latter: they say for a whole comparison what each method takes where its sources differ. So does the
choice of a model (embedder=NAME), but not a setting of it (embedder.model=NAME).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.method import RESERVED
from graphrag_bench.experiment.pooling import OWN, pooled
from graphrag_bench.offline.plan import THINNING, Planned

_MODELS = ("llm", "embedder", "nlp", "cross_encoder")


def refuse_unused(overrides: Sequence[str], experiments: Sequence[Experiment]) -> None:
    """Raise one UserError that names every override that no run of a command reads.

    A setting that only some runs of a sweep read is fine.
    """
    problems = []
    reads = [_Reads(experiment) for experiment in experiments]
    given = [text.lstrip("+~").partition("=")[0].removeprefix("llm@") for text in overrides]
    for name in dict.fromkeys(given):
        reasons = [held.why_idle(name) for held in reads]
        if reasons and all(reasons):
            problems.append(f"{name}: {reasons[0]}")
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UserError(f"{len(problems)} setting(s) would change nothing:\n{lines}")


@dataclass(frozen=True)
class _Reads:
    experiment: Experiment

    def why_idle(self, name: str) -> str:
        first, *rest = name.split(".")
        told = {
            "method": self._method,
            "build": self._build,
            "pooling": self._pooling,
            "llm_build": self._llm_build,
            "cache": self._cache,
        }
        if first in told:
            return told[first](rest)
        if first in _MODELS and rest and rest != ["_target_"]:
            return self._model(first, rest)
        if name == "graph.import_from" and "import_from" not in self.experiment.used:
            return f"{self._named} builds no graph that could be imported."
        if name.startswith("graph.checkpoint") and "checkpoint" not in self.experiment.used:
            return f"{self._named} reads no released weights; add build.gnn_weights=released."
        if name == "dataset.openie":
            return self._openie()
        if name == "dev_share" and self.experiment.settings.split == "all":
            return "split=all is not divided; add split=dev or split=test."
        return ""

    @property
    def _named(self) -> str:
        return f"method '{self.experiment.method.name}'"

    def _model(self, model: str, rest: Sequence[str]) -> str:
        used = self.experiment.used
        if model == "llm" and rest == ["tokenizer"]:
            return "" if "tokenizer" in used else f"{self._named} counts no tokens."
        built = "llm_build" in used and self.experiment.settings.llm_build is None
        if model in used or (model == "llm" and built):
            return ""
        others = [name for name in (*_MODELS, "llm_build") if name in used]
        return f"{self._named} uses no {model} here; it uses {', '.join(others) or 'no model'}."

    def _llm_build(self, _: Sequence[str]) -> str:
        if "llm_build" in self.experiment.used:
            return ""
        return f"{self._named} builds nothing with a language model here; llm is what answers."

    def _build(self, rest: Sequence[str]) -> str:
        planned = {item.resource: item for item in self.experiment.plan}
        if not rest:
            return ""
        if rest[0] not in planned:
            return f"{self._named} builds no '{rest[0]}'. {did_you_mean(rest[0], sorted(planned))}"
        if len(rest) == 1 or _reads(planned[rest[0]], rest[1]):
            return ""
        given = self.experiment.choices[rest[0]].get(rest[1])
        setting = THINNING.get(rest[1])
        if setting is not None and given == setting.default:
            return ""
        return f"no edge is taken out; add build.{rest[0]}.edge_drop=0.1."

    def _method(self, rest: Sequence[str]) -> str:
        held, settings = self.experiment.settings.method, self.experiment.settings
        if rest[:1] == ["build"]:
            return self._build(rest[1:])
        if rest[:1] == ["profiles"]:
            chosen = rest[1:2] == [settings.profile]
            return "" if chosen else f"profile={settings.profile} does not read it."
        if rest[:1] == ["fidelity"]:
            chosen = settings.fidelity == "paper"
            return "" if chosen else f"fidelity={settings.fidelity} does not read it."
        if not rest or rest[0] in RESERVED:
            return ""
        if rest[0] not in held:
            known = sorted(set(held) - RESERVED)
            return f"{self._named} has no such parameter. {did_you_mean(rest[0], known)}"
        return self._parameter(rest[0])

    def _parameter(self, name: str) -> str:
        raw = raw_method(self.experiment.settings.method)
        if raw is None:
            return ""
        sign = f"{{method.{name}}}"
        others = {key: value for key, value in raw.items() if key in RESERVED - {"build"}}
        places = list(_places(raw.get("build") or {}, sign))
        if sign in repr(others) or not places:
            return ""
        planned = {item.resource: item for item in self.experiment.plan}
        for resource, setting in places:
            item = planned.get(resource)
            if item is not None and (setting == "variant" or _reads(item, setting)):
                return ""
        return f"it is for {' and '.join(sorted({place[0] for place in places}))}, built otherwise."

    def _pooling(self, rest: Sequence[str]) -> str:
        pooling = self.experiment.settings.pooling
        if not rest:
            return ""
        if pooling is None:
            return "pooling is off here; choose pooling=rerank or pooling=reselect."
        if rest[0] not in OWN or rest[0] == "mode":
            return ""
        method = self.experiment.settings.method
        others = {**pooling, rest[0]: f"{pooling[rest[0]]}, changed"}
        if pooled(method, pooling) != pooled(method, others):
            return ""
        return f"path pooling takes the entities that {self._named} has, and finds none itself."

    def _cache(self, rest: Sequence[str]) -> str:
        off = self.experiment.settings.cache.mode == "off"
        return "cache.mode=off uses no cache." if off and rest != ["mode"] else ""

    def _openie(self) -> str:
        found = [item for item in self.experiment.plan if item.resource == "extraction"]
        if not found or "openie" in self.experiment.used:
            return ""
        variant = found[0].builder.variant
        return f"entities are read by build.extraction={variant}, not from that file."


def _reads(item: Planned, setting: str) -> bool:
    return setting == "variant" or setting in item.said


def _places(build: Mapping[str, Any], sign: str) -> Iterator[tuple[str, str]]:
    for resource, choice in build.items():
        if isinstance(choice, Mapping):
            yield from ((resource, key) for key, value in choice.items() if sign in repr(value))
        elif sign in repr(choice):
            yield resource, "variant"
