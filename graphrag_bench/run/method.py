"""The file of a method: its parameters, its steps and the variants of its artifacts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf
from pydantic import BaseModel, StrictStr, ValidationError

from graphrag_bench.artifacts.importers.paths import variants_for
from graphrag_bench.config.compose import method_values
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import FILE, KEYS, method_file, names, with_profile
from graphrag_bench.contract import builders, resources, variants
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, did_you_mean, nearest
from graphrag_bench.pipeline.pipeline import (
    STAGES,
    Pipeline,
    StepOptions,
    build,
    raise_problems,
    unknown_stages,
)
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.folder import paths_of


class MethodKeys(BaseModel):
    """The keys of a method's file other than parameters and steps.

    `title` is the name in tables, and `page` is the folder in methods/. With `given`, the slot
    `chunks` starts with gold passages. `prompts` is a folder of files that replace the method's
    prompts. `verified` says whether the method was checked against its paper or code.
    """

    name: StrictStr
    title: Any = None
    page: StrictStr | None = None
    role: Literal["floor", "baseline", "ceiling"] | None = None
    given: Literal["gold_chunks"] | None = None
    prompts: StrictStr | None = None
    verified: bool | Literal["partly"] = True
    build: dict[str, Any] | None = None


_REFERENCE = re.compile(r"(?:\bmethod[.\[]|\$\{\.+)(\w+)")
RESERVED = frozenset({*MethodKeys.model_fields, "budget", FILE, *KEYS, *STAGES})


@dataclass(frozen=True)
class Method:
    """A method with its parameters and its pipeline. `edits` are changes to its file's steps."""

    keys: MethodKeys
    parameters: Mapping[str, Any]
    pipeline: Pipeline
    pooled: bool = False
    edits: str = ""

    @property
    def name(self) -> str:
        """The name of the method, with its edits."""
        return f"{self.keys.name} {self.edits}".strip()

    @property
    def title(self) -> str:
        """The name of the method in tables, with path pooling and edits."""
        pooled = " + pooling" * self.pooled
        return f"{self.keys.title or self.keys.name}{pooled} {self.edits}".strip()

    @property
    def role(self) -> str:
        """The role as reference method, e.g. "baseline", or "". A method with edits has no role."""
        return "" if self.edits else self.keys.role or ""


def read_keys(config: Mapping[str, Any]) -> MethodKeys:
    """Return the keys of a method's file. Raises UserError for invalid values."""
    try:
        return MethodKeys.model_validate(dict(config))
    except ValidationError as error:
        faults = {str(fault["loc"][0]): fault["msg"] for fault in error.errors()}
        problems = [f"method.{key}={config.get(key)!r}: {why}." for key, why in faults.items()]
        raise UserError("\n".join(problems)) from None


def edits_of(
    settings: RunSettings, file: Mapping[str, Any] | None, pipeline: Pipeline, options: StepOptions
) -> str:
    """Return the differences between a pipeline and the method's file, e.g. `+ chunk.head`."""
    if file is None or file.get("name") != settings.method.get("name"):
        return ""
    given = {key: value for key, value in settings.method.items() if key not in STAGES}
    # the profile, fidelity, pooling and parameters of the run are no differences
    source = with_profile(file, settings.profile, settings.fidelity, settings.pooling)
    own = method_values({**source, **given})
    if all((own.get(stage) or []) == (settings.method.get(stage) or []) for stage in STAGES):
        return ""
    stock, _ = build(own, options)
    before, after = stock.operators(), pipeline.operators()
    old_names, new_names = ([op.operator.name for op in ops] for ops in (before, after))
    words = []
    for kind, a, b, c, d in SequenceMatcher(None, old_names, new_names, False).get_opcodes():
        if kind != "equal":
            words += [f"+ {name}" for name in new_names[c:d]]
            words += [f"- {name}" for name in old_names[a:b]]
            continue
        for old, new in zip(before[a:b], after[c:d], strict=True):
            words += [
                f"+ {new.operator.name}.{name}={getattr(value, 'name', value)}"
                for name, value in new.settings.items()
                if old.settings.get(name, value) != value
            ]
            if old.use != new.use:
                words.append(f"+ {new.operator.name}.use={','.join(new.use.values())}")
    if sorted(old_names) == sorted(new_names) and old_names != new_names:
        words = [word for word in words if "=" in word] + ["(reordered)"]
    return " ".join(words) or "(edited)" * (stock.describe() != pipeline.describe())


def able_to_pool() -> list[str]:
    """Return the names of the methods that support path pooling (`pooling=`)."""
    return [name for name in names("method") if _pools(method_file(name))]


def _pools(node: object) -> bool:
    if isinstance(node, Mapping):
        return isinstance(node.get("path_pooling"), dict) or any(map(_pools, node.values()))
    return isinstance(node, list) and any(map(_pools, node))


def unresolved(config: Mapping[str, Any]) -> list[str]:
    """Return a message for each interpolation of a method that could not be resolved."""
    known = [f"method.{key}" for key in config if key not in RESERVED]
    texts = [text for text in paths_of(config, lists=True).values() if isinstance(text, str)]
    return [
        f"A step refers to {text}, which does not exist. {did_you_mean(text, known)}"
        for text in dict.fromkeys(texts)
        if OmegaConf.is_interpolation(OmegaConf.create([text]), 0)
    ]


def check_prompts(folder: Path, pipeline: Pipeline) -> None:
    """Raise UserError if no file in a folder has the name of a prompt file of the pipeline."""
    if not folder.is_dir():
        raise UserError(f"method.prompts: there is no folder '{folder}'.")
    values = [value for op in pipeline.operators() for value in op.settings.values()]
    files = [file for prompt in values if isinstance(prompt, Prompt) for file in prompt.files]
    wanted, there = {Path(file.name).name for file in files}, {one.name for one in folder.iterdir()}
    if not wanted & there:
        own, others = (", ".join(sorted(names)) or "none" for names in (there, wanted))
        raise UserError(
            f"method.prompts: no file in '{folder}' has the name of a prompt of the method. Files: "
            f"{own}. Prompts: {others}."
        )


def check_parameters(file: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Raise UserError for parameters in `config` that are unused or not in the method's file."""
    name, known = file["name"], RESERVED.union(unknown_stages(file))
    parameters = [key for key in file if key not in known]
    problems = [
        f"There is no setting 'method.{key}' in '{name}'. "
        + did_you_mean(key, sorted({*file, *RESERVED}), sorted(set(file) - RESERVED))
        for key in config
        if key not in file and key not in RESERVED
    ]
    read = references({key: value for key, value in file.items() if key not in parameters})
    while more := references([file[key] for key in read if key in parameters]) - read:
        read |= more
    for key in (key for key in parameters if key not in read):
        hint = "".join(f" Did you mean '{n}'?" for n in nearest(key, RESERVED - {FILE}, n=1))
        problems.append(f"No step uses the parameter 'method.{key}' of '{name}'.{hint}")
    raise_problems(problems, f"method '{name}'")


def references(value: object) -> set[str]:
    """Return the names of the parameters that a value refers to, as in `${method.NAME}`."""
    texts = [text for text in paths_of(value, lists=True).values() if isinstance(text, str)]
    return {name for text in texts if "${" in text for name in _REFERENCE.findall(text)}


RICH_TYPES = ("organization", "person", "geo", "event", "category")
"""Default entity types of a rich knowledge graph, as in the code of LightRAG and PathRAG."""
Choices = dict[str, dict[str, Any]]


def extractions() -> frozenset[str]:
    """Return the names of the artifacts that are extracted from texts."""
    return frozenset(name for name in resources() if name.endswith("extraction"))


def artifact_choices(settings: RunSettings, dataset: Dataset) -> Choices:
    """Return the variant and settings of each artifact. The choices of the run have precedence."""
    imported, graph = dict[str, str](), settings.graph
    if graph.import_from is not None:
        if graph.per != "all":
            raise UserError("graph.import_from imports a single graph. Set graph.per=all.")
        imported, choice = variants_for(Path(graph.import_from)), settings.build.get("graph", {})
        variant = choice.get("variant") if isinstance(choice, Mapping) else choice
        any_graphml = ("graphml", "graphml_tkg") if imported["graph"].startswith("graphml") else ()
        if variant not in (None, imported["graph"], *any_graphml):
            raise UserError(f"graph.import_from replaces build.graph={variant}. Set only one.")
        if settings.chunking.get("variant") != "auto":
            imported.pop("chunk_table", None)
    of_method = settings.method.get("build") or {}
    merged: Choices = {"extraction": {"variant": "auto"}, "text_extraction": {"variant": "auto"}}
    for source in (of_method, {"chunk_table": settings.chunking}, imported, settings.build):
        for resource, choice in source.items():
            new = {"variant": choice} if isinstance(choice, str) else choice
            if not isinstance(new, Mapping):
                what = "expected a variant or a mapping of settings"
                raise UserError(f"build.{resource}={choice!r}: {what}.")
            known = merged.get(resource, {})
            same = new.get("variant", known.get("variant")) == known.get("variant")
            merged[resource] = {**known, **new} if same else {**new}
    complete(merged, dataset)
    return merged


def complete(choices: Choices, dataset: Dataset) -> None:
    """Replace `auto` by variants, and add the choices that follow from the graph.

    The input of an extraction is the first of these that exists: the facts of a synthetic world,
    the triples of the data set, its OpenIE file (for `presplit` chunks), the names that the tagger
    finds. Node names come from the extraction of the graph, if there is one, else from the graph.
    """
    chunking = choices["chunk_table"].get("variant")
    chunking = dataset.card.chunking if chunking == "auto" else chunking
    planted, has_triples = dataset.synthetic, dataset.subgraphs is not None
    has_openie = chunking == "presplit" and dataset.openie is not None
    there = {"planted": planted, "subgraphs": has_triples, "openie_file": has_openie, "nlp": True}
    automatic = {
        "chunk_table": chunking,
        "extraction": next(name for name in there if there[name]),
        "graph": "subgraphs" if has_triples else "kg",
        "text_extraction": "planted" if planted else "nlp",
    }
    for resource, variant in automatic.items():
        if choices.get(resource, {}).get("variant") == "auto":
            choices[resource]["variant"] = variant
    of_graph = choices.get("graph", {})
    graph = of_graph.get("variant", "")
    needs = builders.get(variants("graph")[graph]).needs if graph in variants("graph") else ()
    names = choices.setdefault("name_index", {})
    names.setdefault("variant", "extraction" if "extraction" in needs or not needs else "graph")
    if names["variant"] == "extraction":
        names |= {name: of_graph[name] for name in ("titles", "signs") if name in of_graph}
    if graph in ("rkg", "rkg_llm"):  # rich knowledge graphs have keywords and entity types
        choices["text_extraction"].setdefault("keywords", True)
        if choices["text_extraction"]["variant"] in ("llm", "core_llm"):
            choices["text_extraction"].setdefault("entity_types", list(RICH_TYPES))
