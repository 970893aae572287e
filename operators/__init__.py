"""The retrieval operators, one folder for each kind of value."""
