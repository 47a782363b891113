"""Run the command line as a module: `python -m selfpaced`."""

from selfpaced.commands.main import main

main()
