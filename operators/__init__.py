"""The retrieval operators, one folder per kind of thing."""
