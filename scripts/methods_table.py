"""The README's table of methods, with recall@5 on MuSiQue from the pages in docs/results.

recall@5 is that of docs/results/routes.md, of llm_free.md for methods it lacks, and of
musique_train100.md for the others.
Usage: python scripts/methods_table.py
"""

from functools import cache
from pathlib import Path

from scripts import markdown

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results"
METHODS = (
    ("entitypassage", "entity-passage graph", "entitypassage",
     "passages, by PageRank over names and the passages with them, and by the sentences that lead "
     "to them; our default without an LLM"),
    ("hipporag2", "HippoRAG 2", "hipporag2, hipporag2_route",
     "passages, by PageRank from facts and passages"),
    ("hipporag2", "HippoRAG 2, NER to node", "hipporag2_ner", "the same, from names alone"),
    ("hipporag", "HippoRAG", "hipporag, hipporag_route",
     "passages, by PageRank from names over facts"),
    ("linearrag", "LinearRAG", "linearrag, linearrag_route",
     "passages over entities and sentences, no relations"),
    ("fastgraphrag", "FastGraphRAG", "fastgraphrag", "entities, relations, passages by PageRank"),
    ("lightrag", "HLightRAG", "hlightrag, llightrag, glightrag",
     "entities and relationships by keywords of two levels"),
    ("lightrag", "LightRAG mix", "lightrag_mix", "the same, and passages by vectors"),
    ("msgraphrag", "LGraphRAG", "lgraphrag, graphrag_cc, graphrag_er",
     "entities, relationships, community reports, passages (local search)"),
    ("msgraphrag", "GGraphRAG", "ggraphrag", "community reports, map-reduced (global search)"),
    ("msgraphrag", "VGraphRAG", "vgraphrag, vgraphrag_cc, cheaprag",
     "as local search, passages by vectors"),
    ("drift", "DRIFT", "drift_nlp, drift", "community reports, then local searches they suggest"),
    ("ketrag", "KET-RAG", "ketrag", "a graph of core passages, keywords of all passages"),
    ("hirag", "HiRAG", "hirag", "entities, reports of their communities, the path between them"),
    ("raptor", "RAPTOR", "raptor, raptor_kmeans", "nodes of a tree of summaries"),
    ("pathrag", "PathRAG", "pathrag, pathrag_lt", "paths, pruned by flow"),
    ("pathcorag", "PathCoRAG", "pathcorag", "paths along reasoning steps"),
    ("pankrag", "PankRAG", "pankrag", "communities, by a plan of sub-questions"),
    ("subgraphrag", "SubgraphRAG", "subgraphrag", "triples, by a trained scorer"),
    ("gretriever", "G-retriever", "gretriever", "a Steiner tree of similar facts"),
    ("tog", "ToG", "tog", "paths on which an LLM walks the graph"),
    ("dalk", "DALK", "dalk", "paths and neighbours, filtered by an LLM"),
    ("hoprag", "HopRAG", "hoprag", "passages, by hops along the questions they raise"),
    ("noderag", "NodeRAG", "noderag", "nodes of seven types, by a short walk"),
    ("gfmrag", "GFM-RAG", "gfmrag", "passages, by entities that a graph network scores"),
    ("hypergraphrag", "HyperGraphRAG", "hypergraphrag", "facts that join any number of entities"),
    ("proprag", "PropRAG", "proprag", "passages, by beam search over propositions and a walk"),
    ("youtugraphrag", "Youtu-GraphRAG", "youtugraphrag, youtugraphrag_agent",
     "typed nodes, triples, attributes and communities"),
    ("kgp", "KGP", "kgp", "passages on which an LLM walks the passage graph"),
    ("hybrid", "hybrid", "hybrid", "passages by BM25 and vectors, fused"),
    ("vanilla", "VanillaRAG", "vanilla, vanilla_route", "passages by vectors"),
    ("bm25", "BM25", "bm25", "passages by words"),
    ("hyde", "HyDE", "hyde", "passages near a hypothetical one"),
    ("ircot", "IRCoT", "ircot", "passages, between the steps of a chain of thought"),
    ("decompose", "question decomposition", "decompose", "passages for sub-questions"),
    ("rerank", "LLM rerank", "rerank", "passages by vectors, reranked by an LLM"),
    ("oracle", "oracle", "oracle", "the gold passages"),
    ("zeroshot", "closed-book", "zeroshot", "nothing"),
)  # fmt: skip
"""Folder of the page, name in the results, `method=` (the measured first), what is retrieved."""


PAGES = (
    ("routes.md", "musique", "", "recall@5"),
    ("llm_free.md", "musique", "", "recall@5"),
    ("musique_train100.md", "", "method", "@5"),
)
"""Page, its section, the first head of its table, the column of recall@5 on MuSiQue."""


@cache
def rows(page: str, section: str = "") -> dict[str, list[str]]:
    """The cells of the first row of each name in a page's tables, or in those of a section."""
    text = (RESULTS / page).read_text(encoding="utf-8")
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else text
    cells: dict[str, list[str]] = {}
    for line in part.splitlines():
        if line.startswith("| "):
            row = [cell.strip() for cell in line.strip("|").split("|")]
            cells.setdefault(row[0], row)
    return cells


def recall(title: str) -> tuple[str, str]:
    """The recall@5 of a name in the results, and the page that has it; – where none does."""
    for page, section, head, column in PAGES:
        if title in (own := rows(page, section)):
            return own[title][own[head].index(column)], page
    return "–", ""


def table() -> list[str]:
    """The lines of the table."""
    rows = [
        (f"[{title}](methods/{page}/README.md)", f"`{methods.replace(', ', '`, `')}`", what,
         recall(title)[0])
        for page, title, methods, what in METHODS
    ]  # fmt: skip
    return markdown.table(("method", "`method=`", "retrieves", "recall@5"), rows)


def readme() -> str:
    """The README with the table as it should be."""
    text = README.read_text(encoding="utf-8")
    return markdown.with_part(text, "methods", "methods_table.py", table())


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
