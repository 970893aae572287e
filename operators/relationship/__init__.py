"""Relationship operators: from questions, nodes or their scores to ranked relationships."""

from operators.relationship.exploring import agent
from operators.relationship.ranking import aggregator, onehop, vdb, vdb_batched

__all__ = ["agent", "aggregator", "onehop", "vdb", "vdb_batched"]
