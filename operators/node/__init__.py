"""Node operators: from questions, names, nodes or relationships to ranked nodes."""

from operators.node.activation import activate, activate_batched
from operators.node.adjacent import onehop, relnode, specificity
from operators.node.exploring import agent, topics
from operators.node.keyword import by_keyword, by_keyword_batched
from operators.node.linking import link, link_batched
from operators.node.matching import match, unmatched_none, unmatched_vectors
from operators.node.pagerank import ppr, ppr_batched
from operators.node.search import tfidf, vdb, vdb_batched
from operators.node.step import by_step

__all__ = [
    "activate",
    "activate_batched",
    "agent",
    "by_keyword",
    "by_keyword_batched",
    "by_step",
    "link",
    "link_batched",
    "match",
    "onehop",
    "ppr",
    "ppr_batched",
    "relnode",
    "specificity",
    "tfidf",
    "topics",
    "unmatched_none",
    "unmatched_vectors",
    "vdb",
    "vdb_batched",
]
