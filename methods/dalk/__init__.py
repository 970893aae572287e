"""DALK: paths and neighbours of a knowledge graph as evidence in sentences."""
