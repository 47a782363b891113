"""Things of other people, named `package.module:name` in settings and on the command line."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

from selfpaced.errors import SelfpacedError, require


def import_object(what: str, name: str) -> Any:
    """The object of this name; modules in the working directory are found, too."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        hint = "" if error.name != module else "; run this where it lies, or set PYTHONPATH"
        raise SelfpacedError(f"cannot load {what} {name!r}: {error}{hint}") from error
    except Exception as error:  # a mistake in somebody's module
        place = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
        raise SelfpacedError(f"cannot load {what} {name!r}: {cause}") from error
    require(
        hasattr(found, attribute),
        f"cannot load {what} {name!r}: there is no {attribute!r} in {found.__file__ or module}",
    )
    return getattr(found, attribute)
