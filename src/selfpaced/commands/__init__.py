"""The command line: one file per command, shared options and progress."""
