"""A method file: its named parameters, its steps, and the variants of what it is built from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
    refuse,
    unknown_stages,
)
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.folder import paths_of


class MethodKeys(BaseModel):
    """The keys of a method's file beside its parameters and steps.

    `title` is its name in tables; `page` the folder of methods/ with its page, by default its name;
    `role` makes it a reference row; `given` fills a slot before the first step; `prompts` is a
    folder of other prompts. `verified` is whether it was checked against its paper or code; tables
    mark what is not `true`.
    """

    name: StrictStr
    title: Any = None
    page: StrictStr | None = None
    role: Literal["floor", "baseline", "ceiling"] | None = None
    given: Literal["gold_chunks"] | None = None
    prompts: StrictStr | None = None
    verified: bool | Literal["partly"] = True
    build: dict[str, Any] | None = None

    @property
    def first_slots(self) -> frozenset[str]:
        """The slots filled before the first step."""
        return frozenset({FIRST_SLOTS[self.given]} if self.given else ())


_REFERENCE = re.compile(r"(?:\bmethod[.\[]|\$\{\.+)(\w+)")
RESERVED = frozenset({*MethodKeys.model_fields, "budget", FILE, *KEYS, *STAGES})
FIRST_SLOTS = {"gold_chunks": "chunks"}
"""What a method may be given before its first step, and the slot it fills."""
EDITED = " (edited)"
"""The end of the name and title of a method whose steps are not those of its file."""


@dataclass(frozen=True)
class Method:
    """A method: its keys, its parameters by name, and its pipeline.

    `pooled`: its relationships are pooled. `edited`: its steps differ from those of its file; an
    edited method has "(edited)" in its name and title, and no role.
    """

    keys: MethodKeys
    parameters: Mapping[str, Any]
    pipeline: Pipeline
    pooled: bool = False
    edited: bool = False

    @property
    def name(self) -> str:
        """Its name in commands."""
        return f"{self.keys.name}{EDITED * self.edited}"

    @property
    def title(self) -> str:
        """Its name in tables."""
        pooled = " + pooling" * self.pooled
        return f"{self.keys.title or self.keys.name}{pooled}{EDITED * self.edited}"

    @property
    def role(self) -> str:
        """Its role as a reference row; "" without one."""
        return "" if self.edited else self.keys.role or ""


def read_keys(config: Mapping[str, Any]) -> MethodKeys:
    """Return a method's own keys, its steps left aside; raises UserError for what is wrong."""
    try:
        return MethodKeys.model_validate(dict(config))
    except ValidationError as error:
        faults = {str(fault["loc"][0]): fault["msg"] for fault in error.errors()}
        problems = [f"method.{key}={config.get(key)!r}: {why}." for key, why in faults.items()]
        raise UserError("\n".join(problems)) from None


def is_edited(
    settings: RunSettings, file: Mapping[str, Any] | None, pipeline: Pipeline, options: StepOptions
) -> bool:
    """Return whether a pipeline differs from that of its method's file.

    The file is read with the profile, fidelity, pooling and parameters of the run.
    """
    if file is None or file.get("name") != settings.method.get("name"):
        return False
    given = {key: value for key, value in settings.method.items() if key not in STAGES}
    source = with_profile(file, settings.profile, settings.fidelity, settings.pooling)
    own = method_values({**source, **given})
    if all((own.get(stage) or []) == (settings.method.get(stage) or []) for stage in STAGES):
        return False
    return build(own, options)[0].describe() != pipeline.describe()


def able_to_pool() -> list[str]:
    """Return the names of the methods that have a step of path pooling."""
    return [name for name in names("method") if _pools(method_file(name))]


def _pools(node: object) -> bool:
    if isinstance(node, Mapping):
        return isinstance(node.get("path_pooling"), dict) or any(map(_pools, node.values()))
    return isinstance(node, list) and any(map(_pools, node))


def unresolved(config: Mapping[str, Any]) -> list[str]:
    """Return a problem for each reference that is left in a resolved method: it leads nowhere."""
    known = [f"method.{key}" for key in config if key not in RESERVED]
    texts = [text for text in paths_of(config, lists=True).values() if isinstance(text, str)]
    return [
        f"A step asks for {text}, which does not exist. {did_you_mean(text, known)}"
        for text in dict.fromkeys(texts)
        if OmegaConf.is_interpolation(OmegaConf.create([text]), 0)
    ]


def check_prompts(folder: Path, pipeline: Pipeline) -> None:
    """Raise UserError where no file of a folder is a prompt of the pipeline."""
    if not folder.is_dir():
        raise UserError(f"method.prompts: there is no folder '{folder}'.")
    values = [value for op in pipeline.operators() for value in op.settings.values()]
    prompts = [value for value in values if isinstance(value, Prompt)]
    names = {Path(file.name).name for prompt in prompts for file in prompt.files}
    if not any((folder / name).is_file() for name in names):
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        wanted = ", ".join(sorted(names)) or "no prompts"
        raise UserError(f"method.prompts: '{folder}' holds {there}; the method asks for {wanted}.")


def check_parameters(file: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Raise UserError for parameters that a method's file does not have, or that nothing reads.

    `config` is what the file became.
    """
    name, parameters = file["name"], _parameters(file)
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
        near = nearest(key, RESERVED - {FILE}, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        problems.append(f"The parameter 'method.{key}' of '{name}' is read by no step.{hint}")
    refuse(problems, f"method '{name}'")


def _parameters(file: Mapping[str, Any]) -> list[str]:
    stages = unknown_stages(file)
    return [key for key in file if key not in RESERVED and key not in stages]


def references(value: object) -> set[str]:
    """Return the parameters that the interpolations in a value name, as in `${method.top_k}`."""
    texts = [text for text in paths_of(value, lists=True).values() if isinstance(text, str)]
    return {name for text in texts if "${" in text for name in _REFERENCE.findall(text)}


RICH_TYPES = ("organization", "person", "geo", "event", "category")
"""The types of entities of a rich knowledge graph, as LightRAG, PathRAG and PathCoRAG release it;
nano-graphrag, PankRAG and HiRAG, whose graphs are textual, have no `category`."""
_DEFAULTS: Mapping[str, Any] = {"extraction": "auto", "text_extraction": "auto"}

Choices = dict[str, dict[str, Any]]


def extractions() -> frozenset[str]:
    """Return the resources read out of texts, which an imported graph makes unnecessary."""
    return frozenset(name for name in resources() if name.endswith("extraction"))


def artifact_choices(
    settings: RunSettings, of_method: Mapping[str, Any], dataset: Dataset
) -> Choices:
    """Return the variant and settings of every resource that the method or the run chooses.

    `of_method` is the `build` of the method. Raises UserError for a choice that is neither a name
    nor settings, and for an imported graph that does not go with the rest.
    """
    merged: Choices = {}
    chunking = {"chunk_table": settings.chunking}
    imported = _imported_choices(settings)
    for source in (_DEFAULTS, of_method, chunking, imported, settings.build):
        for resource, choice in source.items():
            new = {"variant": choice} if isinstance(choice, str) else choice
            if not isinstance(new, Mapping):
                raise UserError(f"build.{resource}={choice!r} is no variant's name or settings.")
            known = merged.get(resource, {})
            other = new.get("variant", known.get("variant")) != known.get("variant")
            merged[resource] = {**({} if other else known), **new}
    complete(merged, dataset)
    return merged


def _imported_choices(settings: RunSettings) -> dict[str, str]:
    if settings.graph.import_from is None:
        return {}
    if settings.graph.per != "all":
        raise UserError("graph.import_from is one graph of everything: graph.per must be all.")
    imported = variants_for(Path(settings.graph.import_from))
    choice = settings.build.get("graph", {})
    variant = choice.get("variant") if isinstance(choice, Mapping) else choice
    graphml = {"graphml", "graphml_tkg"} if imported["graph"].startswith("graphml") else set()
    if variant is not None and str(variant) not in {imported["graph"], *graphml}:
        raise UserError(f"graph.import_from takes the place of build.graph={variant}.")
    if settings.chunking.get("variant") != "auto":
        imported.pop("chunk_table", None)
    return imported


def complete(choices: Choices, dataset: Dataset) -> None:
    """Replace `auto` by variants, and set what follows from the graph.

    An extraction reads the facts of a synthetic world, the triples of a data set, its OpenIE file,
    or a tagger's names. A graph is made of triples where a data set has them, else of texts. Node
    names come from the extraction where the graph is made of it, else from the graph. A rich
    knowledge graph has keywords and categories.
    """

    def replace_auto(resource: str, variant: str) -> None:
        if choices.get(resource, {}).get("variant") == "auto":
            choices[resource]["variant"] = variant

    replace_auto("chunk_table", dataset.card.chunking)
    planted, presplit = dataset.synthetic, choices["chunk_table"].get("variant") == "presplit"
    there = {"planted": planted, "subgraphs": dataset.subgraphs is not None,
             "openie_file": presplit and dataset.openie is not None, "nlp": True}  # fmt: skip
    replace_auto("extraction", next(name for name in there if there[name]))
    replace_auto("graph", "kg" if dataset.subgraphs is None else "subgraphs")
    replace_auto("text_extraction", "planted" if planted else "nlp")
    of_graph = choices.get("graph", {})
    graph = of_graph.get("variant", "")
    needs = builders.get(variants("graph")[graph]).needs if graph in variants("graph") else ()
    names = choices.setdefault("name_index", {})
    names.setdefault("variant", "extraction" if "extraction" in needs or not needs else "graph")
    if names["variant"] == "extraction":
        names |= {name: of_graph[name] for name in ("titles", "signs") if name in of_graph}
    if graph in ("rkg", "rkg_llm"):
        choices["text_extraction"].setdefault("keywords", True)
        if choices["text_extraction"]["variant"] in ("llm", "core_llm"):
            choices["text_extraction"].setdefault("entity_types", list(RICH_TYPES))
