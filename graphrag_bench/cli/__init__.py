"""The command line. The module of a sub-command is imported only if the command is run."""
