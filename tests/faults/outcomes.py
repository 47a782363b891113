"""What faults lead to: every one is tried, and the outcome is counted."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from selfpaced import SelfpacedError


class Tally(NamedTuple):
    """The outcomes of one kind of fault, and examples of bad ones."""

    kind: str
    counts: Counter[str]
    examples: list[str]

    @property
    def num_bad(self) -> int:
        return sum(num for outcome, num in self.counts.items() if outcome not in GOOD)


GOOD = ("harmless", "refused in one line", "bit-identical")


def judge(attempt: Callable[[], bool]) -> tuple[str, str]:
    """Return the outcome of an attempt, which returns whether the result is right."""
    try:
        return ("harmless", "") if attempt() else ("WRONG RESULT", "")
    except SelfpacedError as error:
        text = str(error)
        return ("refused in one line" if "\n" not in text else "SEVERAL LINES", text)
    except SystemExit as error:  # of the command line's help and parser
        return ("refused in one line" if error.code else "harmless", "")
    except Exception as error:
        return ("TRACEBACK", f"{type(error).__name__}: {error}")


def tally(kind: str, attempts: list[tuple[str, Callable[[], bool]]]) -> Tally:
    """Try all attempts, each with a description."""
    counts: Counter[str] = Counter()
    examples = []
    for description, attempt in attempts:
        outcome, text = judge(attempt)
        counts[outcome] += 1
        if outcome not in GOOD:
            examples.append(f"{description}: {outcome} {text}"[:300])
    return Tally(kind, counts, examples)
