"""Options of `reset` that remember whether the environment has looked at its context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

from selfpaced.environments.hand_over import CONTEXT_KEY


@final
class WatchedOptions(dict[str, Any]):
    """A dictionary that notes when its context is read; a copy counts as reading it.

    Examples:
        >>> from selfpaced.environments.watched_options import WatchedOptions
        >>> options = WatchedOptions(context=[1.0], low=0.0)
        >>> options.get("low"), options.is_read
        (0.0, False)
        >>> options["context"], options.is_read
        ([1.0], True)
    """

    is_read = False

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.is_read = True  # a copy, of which the context may be read
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """Return an option, or the default."""
        self._note(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove an option and return it, or the default."""
        self._note(key)
        return super().pop(key, *default)

    def items(self) -> Any:
        """Return all options."""
        self.is_read = True
        return super().items()

    def values(self) -> Any:
        """Return the values of all options."""
        self.is_read = True
        return super().values()

    def copy(self) -> dict[str, Any]:
        """Return a plain copy, which is not watched."""
        self.is_read = True
        return super().copy()

    def _note(self, key: object) -> None:
        if key == CONTEXT_KEY:
            self.is_read = True
