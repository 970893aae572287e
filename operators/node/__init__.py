"""Node operators: from questions, names, nodes or relationships to ranked nodes."""

from operators.node.activation import activate
from operators.node.adjacent import onehop, relnode, specificity
from operators.node.exploring import agent, topics
from operators.node.keyword import by_keyword
from operators.node.linking import link, match
from operators.node.pagerank import ppr
from operators.node.search import tfidf, vdb
from operators.node.step import by_step

__all__ = [
    "activate",
    "agent",
    "by_keyword",
    "by_step",
    "link",
    "match",
    "onehop",
    "ppr",
    "relnode",
    "specificity",
    "tfidf",
    "topics",
    "vdb",
]
