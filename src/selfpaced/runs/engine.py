"""The protocol of engines, which train the blocks of a run: in processes here, or on a cluster."""

from __future__ import annotations

from typing import IO, Protocol

from selfpaced.runs.folder import RunFolder
from selfpaced.runs.processes import Listener


class Engine(Protocol):
    """Trains all blocks of a run folder, each from its newest checkpoint.

    Rows and checkpoints of every block end up in `checkpoints/` of the folder, whatever happens to
    the machine that trains it. The results do not depend on the engine.
    """

    @property
    def num_workers(self) -> int:
        """How many blocks it can train at once."""

    def train(self, folder: RunFolder, lock: IO[str], listener: Listener) -> list[str]:
        """Train all blocks to the end; return error messages, none if all blocks are complete.

        Args:
            folder: the run; nothing else writes into its `checkpoints/` meanwhile.
            lock: the open file of the training lock; processes that inherit it keep the lock.
            listener: receives the messages of all blocks.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM, after everything that can be saved has been saved.
        """
