"""The command line: one module for each sub-command; importing the package imports no module."""
