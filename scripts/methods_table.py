"""The README's table of methods, with the figures of the pages in docs/results.

Evidence in the context is that on MuSiQue, of docs/results/musique_train100.md; so is recall@5,
where llm_free.md has none; accuracy is that of sample_qwen1.5b.md.
Usage: python scripts/methods_table.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results"
BEGIN, END = "<!-- methods: scripts/methods_table.py -->", "<!-- end of methods -->"
METHODS = (
    ("entitypassage", "entity-passage graph", "names and titles with their passages; ours", "", ""),
    ("hipporag2", "HippoRAG 2", "facts and passages in one walk", "", ""),
    ("hipporag2", "HippoRAG 2 (NER to node)", "its walk from names alone",
     "HippoRAG 2, NER to node", ""),
    ("hipporag", "HippoRAG", "PageRank from names over facts", "", ""),
    ("linearrag", "LinearRAG", "entities, sentences, passages; no relation", "", ""),
    ("fastgraphrag", "FastGraphRAG", "PageRank over a described graph", "", ""),
    ("lightrag", "HLightRAG, LLightRAG, GLightRAG", "keywords on two levels", "", ""),
    ("lightrag", "LightRAG mix", "both levels and similar passages: its default today", "", ""),
    ("msgraphrag", "LGraphRAG, GGraphRAG, GraphRAG-CC, GraphRAG-ER",
     "communities and their reports", "", ""),
    ("msgraphrag", "VGraphRAG, VGraphRAG-CC, CheapRAG", "the same by vectors", "", ""),
    ("drift", "DRIFT", "communities first, then the local searches that they suggest", "", ""),
    ("ketrag", "KET-RAG", "a graph of the core chunks, and keywords of all", "", ""),
    ("hirag", "HiRAG", "entities, reports of their communities, and the way between them", "", ""),
    ("raptor", "RAPTOR, RAPTOR-K", "a tree of summaries", "", ""),
    ("pathrag", "PathRAG, PathRAG-lt", "paths by flow", "", ""),
    ("pathcorag", "PathCoRAG", "paths along reasoning steps", "", ""),
    ("pankrag", "PankRAG", "a plan of sub-questions over communities", "", ""),
    ("subgraphrag", "SubgraphRAG", "triples by a trained scorer", "", ""),
    ("gretriever", "G-retriever", "a Steiner tree of similar facts", "", ""),
    ("tog", "ToG", "a model walks the graph", "", ""),
    ("dalk", "DALK", "paths and neighbours, filtered by a model", "", ""),
    ("hoprag", "HopRAG", "hops along questions that passages raise", "", ""),
    ("noderag", "NodeRAG", "a short walk over nodes of seven types", "", ""),
    ("gfmrag", "GFM-RAG", "entities scored by a trained graph network", "", ""),
    ("hypergraphrag", "HyperGraphRAG", "facts that join any number of entities", "", ""),
    ("proprag", "PropRAG", "paths of facts by beam search, then a walk among their passages", "",
     ""),
    ("youtugraphrag", "Youtu-GraphRAG", "typed nodes, triples, attributes and communities", "", ""),
    ("kgp", "KGP", "a model walks the passages", "", ""),
    ("hybrid", "hybrid", "BM25 and vectors fused", "", "hybrid (BM25 + dense)"),
    ("vanilla", "VanillaRAG", "passages by vectors", "", ""),
    ("bm25", "BM25", "passages by words", "", ""),
    ("hyde", "HyDE", "a hypothetical passage as the query", "", ""),
    ("ircot", "IRCoT", "retrieval between thoughts", "", ""),
    ("decompose", "question decomposition", "sub-questions", "", ""),
    ("rerank", "LLM rerank", "passages ordered by a model", "", "VanillaRAG + LLM rerank"),
    ("oracle", "oracle", "the gold passages", "", ""),
    ("zeroshot", "closed-book", "nothing", "", ""),
)  # fmt: skip
"""Page, names, what is retrieved, and the names on the two pages where they differ."""
FEW = "5"
"""Questions of the methods that call the model many times, on the page of accuracies."""
FREE = {"recall": 2}
SMOKE = {"answered": 1, "accuracy": 5}


def rows(page: str, section: str = "") -> dict[str, list[str]]:
    """The cells of the first row of each name in a page's tables, or in those of a section."""
    text = (RESULTS / page).read_text(encoding="utf-8")
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else text
    found: dict[str, list[str]] = {}
    for line in part.splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.setdefault(cells[0], cells)
    return found


def table() -> Iterator[str]:
    """The lines of the table."""
    free, musique = rows("llm_free.md", "musique"), rows("musique_train100.md")
    smoke = rows("sample_qwen1.5b.md")
    yield "| method | retrieves | in context | recall@5 | accuracy |"
    yield "|---|---|---|---|---|"
    for page, named, what, retrieving, answering in METHODS:
        first = named.split(", ")[0]
        name = retrieving or first
        held = _cell(musique, name, "in context")
        recall = free[name][FREE["recall"]] if name in free else _cell(musique, name, "@5")
        cells = smoke.get(answering or first)
        accuracy = cells[SMOKE["accuracy"]].split()[0] if cells else "–"
        few = "*" if cells and cells[SMOKE["answered"]] == FEW else ""
        figures = f"{held} | {recall} | {accuracy}{few}"
        yield f"| [{named}](methods/{page}/README.md) | {what} | {figures} |"


def _cell(page: Mapping[str, list[str]], name: str, head: str) -> str:
    """The cell of a method under a head of the page's table."""
    heads = page["method"]
    return page[name][heads.index(head)] if name in page and head in heads else "–"


def readme() -> str:
    """The README with the table as it should be."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *table(), f"{END}{rest.split(END)[1]}"])


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
