"""The example scripts with loops of their own run, and their curricula move."""

import pytest

from examples import jax_training


def test_compiled_training_in_a_script_learns_the_target():
    assert jax_training.main(["--iterations", "40", "--steps", "1280"]) > 0.8


def test_a_single_file_ppo_reports_every_episode_to_its_curriculum():
    pytest.importorskip("torch", reason="the example is written in torch")
    from examples import cleanrl_ppo

    rows = cleanrl_ppo.main(["--updates", "2"])
    # 16 environments, episodes of 200 steps, rollouts of 400
    assert [row["train/episodes"] for row in rows] == [32.0, 32.0]
    assert all(row["train/length"] == 200.0 for row in rows)
    assert all(0.35 < row["context/mass_mean"] < 0.65 for row in rows)
    assert all("teacher/kl_to_target" in row for row in rows)
