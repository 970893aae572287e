"""Path operators: the paths between nodes, what is on them, and triples pooled along them."""

from operators.path.between_steps import k_shortest
from operators.path.flow import flow_prune
from operators.path.members import members
from operators.path.pooling import pool

__all__ = ["flow_prune", "k_shortest", "members", "pool"]
