"""Compare SPDL with training without a curriculum: the same learner and the same narrow gate.

This takes about two minutes on two cores. Run it with `make demo`.
"""

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from selfpaced import neurips2020, run
from selfpaced.commands.main import reported_errors
from selfpaced.commands.progress import Progress
from selfpaced.reports.figures import draw_run, draw_together

OUT = Path("runs/demo")
SEEDS = tuple(range(1, 7))


def main() -> None:
    """Train with both teachers, then compare them."""
    console = Console()
    console.print("A point mass must pass a narrow gate on its way to the goal.", style="bold")
    folders = []
    for teacher, idea in (
        ("spdl", "SPDL starts with easy gates and moves to the target as the learner improves"),
        ("default", "no curriculum: all training takes place at the narrow gate"),
    ):
        console.print(f"\n{idea}")
        experiment = replace(neurips2020("point-mass-3d", teacher), seeds=SEEDS)
        folders.append(run(experiment, OUT / teacher, overwrite=True, listener=Progress(console)))

    table = Table(title="narrow gate, after training")
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
    console.print("figures:", *(f"\n  {path}" for path in pictures), highlight=False)


if __name__ == "__main__":
    with reported_errors():
        main()
