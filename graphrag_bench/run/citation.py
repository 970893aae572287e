"""What to cite for a run: the papers of its method, its data set and this framework, as BibTeX."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphrag_bench.config.plugins import BUILT_IN
from graphrag_bench.data.dataset import Card, load_card
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.version import __version__

TITLE = "graphrag-bench: graph-based retrieval-augmented generation as a pipeline of operators"
REFERENCES = "references.bib"
_OWN = ("methods", "profiles", "pooling")
_ENTRY = re.compile(r"(?ms)^@\w+\{([^,]+),\n(.*?)^\}$")
_OWN_LINE = re.compile(rf"(?m)^\s*({'|'.join(_OWN)}) = \{{(.*)\}},?\n")
_NO_PAPER = ("your own", "written for this project", "made by this project")
_SPECIAL = re.compile(r"[&%$#_]")


@dataclass(frozen=True)
class Reference:
    """A BibTeX entry as it is printed, and the methods, profiles and pooling it belongs to."""

    key: str
    text: str
    methods: frozenset[str]
    profiles: frozenset[str]
    pooling: bool

    def is_of(self, config: Mapping[str, Any]) -> bool:
        """Return whether a run with these settings is to cite it."""
        return (
            config["method"].get("name") in self.methods
            or config.get("profile") in self.profiles
            or (self.pooling and config.get("pooling") is not None)
        )


def references(plugins: Sequence[str]) -> list[Reference]:
    """Return the entries of the file `references.bib` of each plug-in package that has one."""
    specs = filter(None, map(find_spec, plugins))
    folders = [folder for spec in specs for folder in spec.submodule_search_locations or ()]
    entries = []
    for file in (Path(folder, REFERENCES) for folder in folders):
        for entry in _ENTRY.finditer(file.read_text("utf-8") if file.is_file() else ""):
            own = {name: set(re.split(r",\s*", of)) for name, of in _OWN_LINE.findall(entry[0])}
            methods, profiles = (frozenset(own.get(name, ())) for name in _OWN[:2])
            shown = _OWN_LINE.sub("", entry[0])
            entries.append(Reference(entry[1], shown, methods, profiles, "pooling" in own))
    return entries


def citations(runs: Sequence[StoredRun]) -> list[str]:
    """Return BibTeX entries, each once: of the methods, the data sets, then the framework.

    A method without an entry, and a set that no paper is of, have none.
    """
    papers: dict[str, str] = {}
    sets: dict[str, str] = {}
    commits: dict[str, None] = {}
    for run in runs:
        for reference in references((*BUILT_IN, *run.config.get("plugins", ()))):
            if reference.is_of(run.config):
                papers[reference.key] = reference.text
        if url := run.imported.get("reference"):
            key = f"imported_{run.imported['sha256'][:8]}"
            papers[key] = _entry(key, {"title": run.metrics["title"], "howpublished": url})
        card = load_card(str(run.config["dataset"]["name"]))
        if not card.citation.startswith(_NO_PAPER):
            sets[card.citation] = _of_set(card)
        commits[str(run.metrics.get("commit", "unknown"))] = None
    return [*papers.values(), *sets.values(), framework(list(commits))]


def _of_set(card: Card) -> str:
    title, note = (
        _SPECIAL.sub(r"\\\g<0>", s) for s in (card.title.partition(",")[0], card.citation)
    )
    years = re.findall(r"\b(?:19|20)\d\d\b", card.citation)
    url = card.source.url if card.source else ""
    fields = {
        "title": f"{{{title}}}",
        "note": note,
        "howpublished": url,
        "year": "".join(years[-1:]),
    }
    return _entry(f"dataset_{card.name}_{digest(card.citation)[:4]}", fields)


def framework(commits: Sequence[str]) -> str:
    """Return the entry of this framework, with the commits that the runs were made by."""
    note = f"version {__version__}" + (f", commit {', '.join(commits)}" if commits else "")
    fields = {"title": f"{{{TITLE}}}", "author": "{The graphrag-bench authors}", "note": note}
    return _entry("graphrag_bench", fields)


def _entry(key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"])
