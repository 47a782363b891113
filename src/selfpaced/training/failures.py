"""Failures of single seeds: whose fault they are, and where in a user's code they happened."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from selfpaced.errors import SelfpacedError, describe_exception

Part = Literal["environment", "learner", "teacher"]
R = TypeVar("R")


class Cause(NamedTuple):
    """Why a seed cannot go on."""

    part: Part  # what to look at
    reason: str  # one line
    details: str = ""  # the traceback of an exception


class SeedError(SelfpacedError):
    """Raised if some seeds of a block cannot go on; it does not concern the other seeds.

    Args:
        causes: by index of the seed in its block.
    """

    def __init__(self, causes: dict[int, Cause]) -> None:
        super().__init__(next(iter(causes.values())).reason)
        self.causes = causes


def for_each_seed(num: int, part: Part, call: Callable[[int], R]) -> list[R]:
    """Call a part's code for every seed; all seeds for which it raises are named together."""
    results, causes = [], {}
    for index in range(num):
        try:
            results.append(call(index))
        except (Exception, SystemExit) as error:
            causes[index], first = cause_of(part, error), error
    if causes:
        raise SeedError(causes) from first
    return results


def cause_of(part: Part, error: BaseException) -> Cause:
    """Return an exception as the cause of a failure, with its place in the user's code."""
    if isinstance(error, SelfpacedError):
        return Cause(part, str(error))
    details = "".join(traceback.format_exception(error))
    return Cause(part, f"the {part} raised {describe_exception(error)}", details)
