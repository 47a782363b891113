"""A few of the faults that `make faults` tries by the hundred."""

import pytest

from tests.faults.command_lines import command_lines
from tests.faults.conduct import conduct, hang
from tests.faults.corruptions import corruptions
from tests.faults.disk import Disk, refusals
from tests.faults.kills import experiments, kills
from tests.faults.misbehaviours import misbehaviours
from tests.faults.places import places
from tests.faults.presets import flags, presets


def test_damaged_run_folders_are_refused_in_one_line_or_read_right(tmp_path):
    tried = corruptions(40, 1, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 10


def test_presets_with_wrong_types_are_refused_in_one_line(tmp_path):
    tried = presets(60, 1, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 20


def test_strange_flag_values_are_refused_in_one_line(capsys):
    tried = flags(40, 1)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 20


def test_commands_on_damaged_folders_do_the_same_or_refuse_in_one_line(tmp_path):
    tried = command_lines(28, 1, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 10


def test_what_users_code_returns_is_refused_with_the_name_of_its_class(tmp_path):
    tried = misbehaviours(8, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 4


@pytest.mark.slow
def test_a_module_that_hangs_is_located_and_ends_with_sigterm(tmp_path):
    assert hang(tmp_path / "hangs", "time.sleep(9999)")


def test_a_disk_that_refuses_loses_nothing_and_is_reported_in_one_line(tmp_path):
    tried = refusals(Disk(tmp_path), 20)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 3


def test_folders_that_vanish_and_unreadable_files_are_reported_in_one_line(tmp_path):
    tried = places(Disk(tmp_path), is_short=True)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 10


@pytest.mark.slow
def test_modules_that_exit_or_change_their_process_cost_nobody_the_run(tmp_path):
    tried = conduct(tmp_path, 12)
    assert tried.examples == []


@pytest.mark.slow
def test_runs_killed_at_random_moments_resume_bit_identically(tmp_path):
    tried = kills(10, 1, tmp_path, experiments([("spdl", "ppo"), ("plr", "ppo")]))
    assert tried.examples == []
    assert tried.counts == {"bit-identical": 10}


@pytest.mark.slow
def test_runs_that_lose_ray_workers_and_nodes_are_those_of_local_processes(tmp_path):
    pytest.importorskip("ray")
    from tests.faults.ray_losses import ray_kills

    tried = ray_kills(2, 1, tmp_path, [("spdl", "ppo")])
    assert tried.examples == []
    assert tried.counts == {"bit-identical": 2}


@pytest.mark.slow
def test_a_comparison_that_loses_a_ray_node_is_that_of_local_processes(tmp_path):
    pytest.importorskip("ray")
    from tests.faults.ray_losses import comparison_that_loses_a_node

    tried = comparison_that_loses_a_node(tmp_path)
    assert tried.examples == []
    assert tried.counts == {"bit-identical": 12}
