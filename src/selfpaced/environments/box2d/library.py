"""Import of Box2D, an optional dependency of Gymnasium."""

from __future__ import annotations

from selfpaced.validation import require_extra


def require_box2d() -> None:
    """Import Box2D.

    Raises:
        MissingPartError: Box2D is not installed.
    """
    require_extra("box2d", "Box2D", "this problem")
