"""KGP: knowledge graph prompting over a passage graph."""
