"""The command `selfpaced advise`; the rules are tested with the studies."""

import shlex

from selfpaced.commands.main import main
from selfpaced.commands.train import parse_train


def test_the_teacher_its_reason_and_a_command_that_train_accepts_are_shown(capsys):
    main(["advise", "point-mass-2d", "--iterations", "10"])
    shown = capsys.readouterr().out
    assert "spdl, because initial and target distribution are Gaussians" in shown
    assert "updates to the target" in shown
    assert "threshold-spdl with threshold: a value that proves success is known" in shown
    _, experiment = parse_train(shlex.split(shown.splitlines()[-1])[2:])
    assert experiment.teacher_name == "spdl"
    assert experiment.iterations == 120  # twice 46 updates and offsets of 9 and 5


def test_a_target_with_two_modes_leads_to_currot(capsys):
    main(["advise", "point-mass-2d-bimodal"])
    _, experiment = parse_train(shlex.split(capsys.readouterr().out.splitlines()[-1])[2:])
    assert experiment.teacher_name == "currot"
