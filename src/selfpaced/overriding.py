"""Fast versions of a method, and classes derived from ours that change the plain one."""

from __future__ import annotations


def defined_last(kind: type, *methods: str) -> str | None:
    """Which of these methods the most derived class defines; the first of them if it has several.

    Whoever derives from a class of ours and overrides `update` wants it called, not an inherited
    `update_block` that knows nothing of it.
    """
    for ancestor in kind.__mro__:
        for method in methods:
            if method in vars(ancestor):
                return method
    return None
