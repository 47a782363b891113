"""Try faults for minutes and count what they lead to: `python -m tests.faults [SEED]`."""

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults.command_lines import command_lines
from tests.faults.conduct import conduct
from tests.faults.corruptions import corruptions
from tests.faults.disk import Disk, refusals
from tests.faults.kills import kills
from tests.faults.misbehaviours import misbehaviours
from tests.faults.places import places
from tests.faults.presets import flags, presets
from tests.faults.ray_losses import comparison_that_loses_a_node, ray_kills


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    table = Table("fault", "tried", "outcome")
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for tried in (
            corruptions(300, seed, place),
            presets(300, seed, place),
            flags(600, seed),
            command_lines(250, seed, place),
            misbehaviours(200, place),
            conduct(place),
            refusals(Disk(place / "refusals")),
            places(Disk(place / "places")),
            kills(64, seed, place),
            ray_kills(10, seed, place),
            comparison_that_loses_a_node(place),
        ):
            outcomes = ", ".join(f"{num} {outcome}" for outcome, num in tried.counts.most_common())
            table.add_row(tried.kind, str(tried.counts.total()), outcomes)
            bad += tried.num_bad
            print(*tried.examples, sep="\n", end="\n" if tried.examples else "")
    Console().print(table)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
