"""`python -m selfpaced` is the command `selfpaced`."""

from selfpaced.commands.main import main

main()
