"""Tables that grow during training: their rows, late columns, and blocks side by side."""

import numpy as np
import pytest

from selfpaced import Episodes, Gaussian
from selfpaced.runs.history import (
    NUM_EPISODES,
    History,
    Part,
    Table,
    concatenate_rows,
    join_parts,
    parse_payload,
)
from selfpaced.training.simulator import EpisodeBatch

NAN = np.nan


def episodes(num_seeds, unstable=None):
    """Return episodes in which the first policy gets 1, 2, ... and the second gets 10, 20, ..."""
    returns = np.arange(1.0, num_seeds + 1)[:, None] * np.array([1.0, 10.0])
    whole = np.repeat(returns[:, :, None], 4, axis=2)
    return EpisodeBatch(
        first_observation=np.zeros((num_seeds, 4, 2)),
        discounted_return=whole,
        success=np.array([True, False, False, False]) & (whole > 0),
        terminated=np.zeros_like(whole, bool),
        length=np.full_like(whole, 7, int),
        unstable=unstable,
        path=None,
    )


def joined_seeds(*parts):
    """Join tables of (seeds, columns); all seeds in order."""
    seeds = sorted({seed for own, _ in parts for seed in own})
    return join_parts([Part(own, {"x": columns}) for own, columns in parts], "x", seeds)


def test_an_empty_table_has_no_rows():
    columns = Table().columns()
    assert list(columns) == ["iteration"]
    assert columns["iteration"].shape == (0,)


def test_rows_keep_their_iteration_and_their_order():
    table = Table()
    for iteration in (0, 5, 12):
        table.append(iteration, {"x": np.array([iteration, -iteration])})
    columns = table.columns()
    assert columns["iteration"].tolist() == [0, 5, 12]
    assert columns["x"].tolist() == [[0, 0], [5, -5], [12, -12]]


def test_a_column_that_appears_late_has_nan_before():
    table = Table()
    table.append(1, {"x": np.array([1.0])})
    assert list(table.columns()) == ["iteration", "x"]  # rows so far are put together
    table.append(2, {"x": np.array([2.0]), "late": np.array([[3.0, 4.0]])})
    table.append(3, {"late": np.array([[5.0, 6.0]])})
    columns = table.columns()
    assert columns["iteration"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(columns["x"], [[1.0], [2.0], [NAN]])
    np.testing.assert_array_equal(columns["late"], [[[NAN, NAN]], [[3.0, 4.0]], [[5.0, 6.0]]])


def test_reading_the_columns_changes_nothing():
    table = Table()
    table.append(1, {"x": np.array([1.0])})
    first, second = table.columns(), table.columns()
    assert first.keys() == second.keys()
    np.testing.assert_array_equal(first["x"], second["x"])


def test_rows_survive_a_frame_of_the_log():
    history = History.empty()
    assert history.payload((4, 9)) == b""
    history.record_iteration(1, [{"a/x": 1 / 3}, {"a/y": 2.0}])
    seeds, tables = parse_payload(history.payload((4, 9)))
    assert seeds == (4, 9)
    assert tables["evaluations"]["iteration"].shape == (0,)
    for name, column in history.metrics.columns().items():
        np.testing.assert_array_equal(tables["metrics"][name], column)


def test_rows_of_two_tables_are_put_below_each_other():
    first = {"iteration": np.array([1, 2]), "x": np.array([[1.0], [2.0]])}
    second = {"iteration": np.array([3]), "y": np.array([[3.0]])}
    joined = concatenate_rows([first, second])
    assert joined["iteration"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(joined["x"], [[1.0], [2.0], [NAN]])
    np.testing.assert_array_equal(joined["y"], [[NAN], [NAN], [3.0]])


def test_blocks_of_different_progress_are_joined_with_nan():
    ahead = {"iteration": np.array([0, 5, 10]), "x": np.array([[1.0], [2.0], [3.0]])}
    behind = {"iteration": np.array([0, 5]), "x": np.array([[4.0, 5.0], [6.0, 7.0]])}
    joined = joined_seeds(((1,), ahead), ((2, 3), behind))
    assert joined["iteration"].tolist() == [0, 5, 10]
    np.testing.assert_array_equal(joined["x"], [[1, 4, 5], [2, 6, 7], [3, NAN, NAN]])
    swapped = joined_seeds(((1, 2), behind), ((3,), ahead))
    np.testing.assert_array_equal(swapped["x"], [[4, 5, 1], [6, 7, 2], [NAN, NAN, 3]])


def test_rows_of_a_block_are_put_at_their_iteration_even_if_one_is_missing():
    whole = {"iteration": np.array([1, 2, 3]), "x": np.array([[1.0], [2.0], [3.0]])}
    gap = {"iteration": np.array([1, 3]), "x": np.array([[4.0], [6.0]])}
    joined = joined_seeds(((1,), whole), ((2,), gap))
    np.testing.assert_array_equal(joined["x"], [[1, 4], [2, NAN], [3, 6]])


def test_a_column_that_only_one_block_has_is_nan_in_the_other():
    one = {"iteration": np.array([1]), "samples": np.ones((1, 2, 3, 2))}
    other = {"iteration": np.array([1]), "mean": np.ones((1, 1, 2))}
    joined = joined_seeds(((1, 2), one), ((3,), other))
    assert joined["samples"].shape == (1, 3, 3, 2)
    assert np.isnan(joined["samples"][:, 2]).all()
    assert np.isnan(joined["mean"][:, :2]).all()
    assert (joined["mean"][:, 2] == 1).all()


def test_a_seed_that_leaves_a_block_has_nan_afterwards():
    both = {"iteration": np.array([1, 2]), "x": np.array([[1.0, 2.0], [3.0, 4.0]])}
    left = {"iteration": np.array([3]), "x": np.array([[5.0]])}
    later = {"iteration": np.array([3]), "x": np.array([[6.0]])}
    gone = joined_seeds(((1, 2), both), ((2,), left))
    np.testing.assert_array_equal(gone["x"], [[1, 2], [3, 4], [NAN, 5]])
    back = joined_seeds(((1, 2), both), ((2,), left), ((1,), later))
    np.testing.assert_array_equal(back["x"], [[1, 2], [3, 4], [6, 5]])


def test_a_metric_that_one_seed_lacks_is_nan_for_it():
    history = History.empty()
    history.record_iteration(1, [{"a/x": 1.0, "a/y": 2}, {"a/x": 3.0}])
    columns = history.metrics.columns()
    np.testing.assert_array_equal(columns["a/x"], [[1.0, 3.0]])
    np.testing.assert_array_equal(columns["a/y"], [[2.0, NAN]])


def test_an_evaluation_is_recorded_per_seed_and_policy():
    history = History.empty()
    contexts = np.arange(2 * 100 * 3.0).reshape(2, 100, 3)
    gaussian = Gaussian.diagonal([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    history.record_evaluation(5, episodes(2), contexts, [gaussian, gaussian])
    evaluations, recorded = history.evaluations.columns(), history.contexts.columns()
    assert evaluations["iteration"].tolist() == recorded["iteration"].tolist() == [5]
    np.testing.assert_array_equal(evaluations["return"], [[1.0, 2.0]])
    np.testing.assert_array_equal(evaluations["deterministic_return"], [[10.0, 20.0]])
    np.testing.assert_array_equal(evaluations["success"], [[0.25, 0.25]])
    np.testing.assert_array_equal(evaluations["deterministic_length"], [[7.0, 7.0]])
    assert "unstable" not in evaluations
    np.testing.assert_array_equal(recorded["samples"], contexts[None, :, :64])
    np.testing.assert_array_equal(recorded["mean"], [[gaussian.mean] * 2])
    np.testing.assert_array_equal(recorded["cholesky"], [[gaussian.cholesky] * 2])


@pytest.mark.parametrize("num_known", [0, 1])
def test_without_a_gaussian_of_every_seed_none_is_recorded(num_known):
    history = History.empty()
    gaussians = [Gaussian.diagonal([0.0], [1.0])] * num_known + [None] * (2 - num_known)
    history.record_evaluation(0, episodes(2), np.zeros((2, 3, 1)), gaussians)
    assert list(history.contexts.columns()) == ["iteration", "samples"]


def test_unstable_episodes_are_counted():
    unstable = np.zeros((2, 2, 4), bool)
    unstable[1, 0, :3] = True
    history = History.empty()
    history.record_evaluation(0, episodes(2, unstable), np.zeros((2, 3, 1)), [None, None])
    columns = history.evaluations.columns()
    np.testing.assert_array_equal(columns["unstable"], [[0, 3]])
    np.testing.assert_array_equal(columns["deterministic_unstable"], [[0, 0]])


def test_the_last_training_episodes_are_kept_with_their_contexts():
    def ended(num):
        ones = np.ones(num)
        context = np.arange(num, dtype=float)[:, None]
        return Episodes(context, np.zeros((num, 1)), ones, ones, ones > 0, ones)

    history = History.empty()
    history.record_evaluation(
        5, episodes(2), np.zeros((2, 3, 1)), [None, None], episodes=[ended(40), ended(1)]
    )
    columns = history.contexts.columns()
    assert columns["episode_context"].shape == (1, 2, NUM_EPISODES, 1)
    assert columns["episode_context"][0, 0, -1, 0] == 39
    assert np.isfinite(columns["episode_return"][0, 1]).sum() == 1
