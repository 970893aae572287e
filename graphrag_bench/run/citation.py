"""What to cite for a run: the papers of its method, its data set and this framework, as BibTeX."""

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from graphrag_bench.config.plugins import BUILT_IN
from graphrag_bench.data.dataset import Card, load_card
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.version import __version__

TITLE = "graphrag-bench: graph-based retrieval-augmented generation as a pipeline of operators"
REFERENCES = "references.bib"
_ENTRY = re.compile(r"(?ms)^@\w+\{([^,]+),\n(.*?)^\}$")
_OWN_LINE = re.compile(r"(?m)^\s*(methods|profiles|pooling) = \{(.*)\},?\n")
_NO_PAPER = ("your own", "written for this project", "made by this project")
_SPECIAL = re.compile(r"[&%$#_]")


class Reference(NamedTuple):
    """A BibTeX entry as it is printed, and the `methods`, `profiles`, `pooling` it belongs to."""

    key: str
    text: str
    of: Mapping[str, Sequence[str]]

    def is_of(self, config: Mapping[str, Any]) -> bool:
        """Return whether a run with these settings is to cite it."""
        return (
            config["method"].get("name") in self.of.get("methods", ())
            or config.get("profile") in self.of.get("profiles", ())
            or ("pooling" in self.of and config.get("pooling") is not None)
        )


def references(plugins: Sequence[str]) -> list[Reference]:
    """Return the entries of the file `references.bib` of each plug-in package that has one."""
    specs = filter(None, map(find_spec, plugins))
    folders = [folder for spec in specs for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders if (file := Path(folder, REFERENCES)).is_file()]
    return [
        Reference(
            entry[1],
            _OWN_LINE.sub("", entry[0]),
            {name: re.split(r",\s*", names) for name, names in _OWN_LINE.findall(entry[0])},
        )
        for file in files
        for entry in _ENTRY.finditer(file.read_text("utf-8"))
    ]


def citations(runs: Sequence[StoredRun]) -> list[str]:
    """Return BibTeX entries, each once: of the methods, the data sets, then the framework.

    A method without an entry, and a set that no paper is of, have none.
    """
    papers: dict[str, str] = {}
    sets: dict[str, str] = {}
    for run in runs:
        every = references((*BUILT_IN, *run.config.get("plugins", ())))
        papers |= {one.key: one.text for one in every if one.is_of(run.config)}
        if url := run.imported.get("reference"):
            key = f"imported_{run.imported['sha256'][:8]}"
            papers[key] = _entry(key, title=run.metrics["title"], howpublished=url)
        card = load_card(str(run.config["dataset"]["name"]))
        if not card.citation.startswith(_NO_PAPER):
            sets[card.citation] = _of_set(card)
    commits = dict.fromkeys(str(run.metrics.get("commit", "unknown")) for run in runs)
    note = f"version {__version__}, commit {', '.join(commits)}"
    author = "{The graphrag-bench authors}"
    own = _entry("graphrag_bench", title=f"{{{TITLE}}}", author=author, note=note)
    return [*papers.values(), *sets.values(), own]


def _of_set(card: Card) -> str:
    title, note = (
        _SPECIAL.sub(r"\\\g<0>", s) for s in (card.title.partition(",")[0], card.citation)
    )
    years = re.findall(r"\b(?:19|20)\d\d\b", card.citation)
    url, key = card.source.url if card.source else "", digest(card.citation)[:4]
    return _entry(
        f"dataset_{card.name}_{key}",
        title=f"{{{title}}}", note=note, howpublished=url, year="".join(years[-1:]),
    )  # fmt: skip


def _entry(key: str, **fields: str) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"])
