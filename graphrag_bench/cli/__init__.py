"""The command line, with a module for each sub-command.

Importing the package imports none of these modules.
"""
