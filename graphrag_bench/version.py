"""The version of the package, defined once."""

__version__ = "0.1.0"
