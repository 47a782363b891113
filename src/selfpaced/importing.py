"""Things of other people, named `package.module:name` in settings and on the command line."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from selfpaced.settings import SelfpacedError


def import_object(what: str, name: str) -> Any:
    """The object of this name; modules in the working directory are found, too."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SelfpacedError(f"cannot load {what} {name!r}: {error}") from error
