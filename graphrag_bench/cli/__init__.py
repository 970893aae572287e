"""The command line, with a module for each sub-command, none of which is imported here."""
