"""SPDL against no curriculum: the same learner, the same gate, one of them gets through.

Takes about two minutes on two cores. Run it with `make demo`.
"""

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from selfpaced import neurips2020, run
from selfpaced.commands.main import told_plainly
from selfpaced.commands.progress import Progress
from selfpaced.reports import draw_run, draw_together

OUT = Path("runs/demo")
SEEDS = tuple(range(1, 7))


def main() -> None:
    """Train twice, then compare."""
    console = Console()
    console.print("A point mass has to pass a narrow gate on its way to the goal.", style="bold")
    folders = []
    for teacher, idea in (
        ("spdl", "SPDL starts with easy gates and moves on at the learner's own pace"),
        ("default", "no curriculum: the learner meets the narrow gate from the beginning"),
    ):
        console.print(f"\n{idea}")
        experiment = replace(neurips2020("point-mass-3d", teacher), seeds=SEEDS)
        folders.append(run(experiment, OUT / teacher, overwrite=True, listener=Progress(console)))

    table = Table(title="on the narrow gate, after training")
    for column in ("teacher", "return (mean ± standard error)", "reaches the goal", "time"):
        table.add_column(column)
    for folder in folders:
        summary = folder.summary()
        final = summary["final_return"]
        table.add_row(
            summary["teacher"],
            f"{final['mean']:.2f} ± {final['standard_error']:.2f}",
            f"{summary['final_success_rate']:.0%}",
            f"{summary['wall_seconds']:.0f} s",
        )
    console.print(table)
    pictures = [*draw_together(folders, OUT), *draw_run(folders[0])]
    console.print("look at:", *(f"\n  {path}" for path in pictures), highlight=False)


if __name__ == "__main__":
    with told_plainly():
        main()
