"""The command line: one module for each sub-command; importing this package imports none."""
