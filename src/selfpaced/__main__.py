"""`python -m selfpaced` is the command `selfpaced`."""

from selfpaced.cli import main

main()
