"""Relationship operators: from questions, nodes or their scores to ranked relationships."""

from operators.relationship.exploring import agent
from operators.relationship.linking import filter_llm, filter_none, link
from operators.relationship.ranking import aggregator, onehop, vdb
from operators.relationship.scope import in_scope
from operators.relationship.triples import triple_scores

__all__ = [
    "agent",
    "aggregator",
    "filter_llm",
    "filter_none",
    "in_scope",
    "link",
    "onehop",
    "triple_scores",
    "vdb",
]
