"""DRIFT: operators."""
