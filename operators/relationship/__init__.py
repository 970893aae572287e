"""Relationship operators: from questions, nodes or their scores to ranked relationships."""

from operators.relationship.exploring import agent
from operators.relationship.linking import filter_llm, filter_none, link, link_batched
from operators.relationship.ranking import aggregator, onehop, vdb, vdb_batched
from operators.relationship.scope import in_scope
from operators.relationship.triples import triple_scores, triple_scores_batched

__all__ = [
    "agent",
    "aggregator",
    "filter_llm",
    "filter_none",
    "in_scope",
    "link",
    "link_batched",
    "onehop",
    "triple_scores",
    "triple_scores_batched",
    "vdb",
    "vdb_batched",
]
