"""Plans of the paper's results."""

import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.experiment import seeds_from
from selfpaced.studies.reproduction import RESULTS, plan_result

SEEDS = seeds_from(1, 20)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_plan_with_the_papers_number_of_seeds(name, tmp_path):
    cells = plan_result(RESULTS[name], SEEDS, tmp_path)
    assert cells
    assert all(len(cell.experiment.seeds) == 20 for cell in cells)
    assert len({cell.path for cell in cells}) == len(cells)


def test_some_teachers_of_a_result_can_be_chosen(tmp_path):
    result = RESULTS["ball-catching-ppo"]
    cells = plan_result(result, SEEDS, tmp_path, ["spdl-star", "default"])
    assert [cell.teacher for cell in cells] == ["spdl*", "default"]
    with pytest.raises(SelfpacedError, match="got 'random'"):
        plan_result(result, SEEDS, tmp_path, ["random"])


def test_sac_trains_for_the_papers_400_iterations():
    assert neurips2020("point-mass-3d", "spdl", "sac").iterations == 400


def test_a_problem_is_learned_by_the_learners_of_its_preset(tmp_path):
    cells = plan_result(RESULTS["currot"], SEEDS, tmp_path, ["currot", "random"])
    assert [(cell.experiment.problem_name, cell.teacher, cell.learner) for cell in cells] == [
        ("point-mass-2d-bimodal", "currot", "ppo"),
        ("point-mass-2d-bimodal", "random", "ppo"),
        ("goal-maze", "currot", "sac"),
        ("goal-maze", "random", "sac"),
    ]
