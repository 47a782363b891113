import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from selfpaced import ContextSpace, Episodes, Gaussian, SelfpacedError
from selfpaced.teachers.alp_gmm import ALPGMM, learning_progress
from selfpaced.teachers.mixture import (
    Mixture,
    best_mixture,
    expectation_maximisation,
    hard_assignments,
)

CENTRE = Gaussian.diagonal((0.5, 0.5), (0.1, 0.1))
SQUARE = ContextSpace(("x", "y"), (0.0, 0.0), (1.0, 1.0), CENTRE, CENTRE)
SIZES = np.arange(2, 11)


def rng(number=0):
    return np.random.default_rng(number)


def episodes_of(contexts, returns):
    num = len(contexts)
    return Episodes(
        context=np.asarray(contexts, np.float64),
        first_observation=np.zeros((num, 1)),
        discounted_return=np.asarray(returns, np.float64),
        value=np.zeros(num),
        success=np.zeros(num, bool),
        length=np.ones(num, int),
    )


def taught(teacher, num_iterations, returns, per_iteration=40):
    """Return the state after some iterations with these returns in sampled contexts."""
    state = teacher.init(rng(), SQUARE)
    for iteration in range(num_iterations):
        drawn = teacher.sample(rng(iteration), SQUARE, state, 2048)[:per_iteration]
        state, _ = teacher.update(
            rng(iteration), SQUARE, state, episodes_of(drawn, returns(iteration, drawn))
        )
    return state


def noise_on_the_right(iteration, contexts):
    return (contexts[:, 0] > 0.7) * rng(1000 + iteration).uniform(0, 10, len(contexts))


def slow_history(contexts, returns, buffer_size):
    """Follow the description: a main store, and a fresh block that is merged when it is full."""
    main, block, progress = [], [], []  # indices of episodes
    for index, (context, value) in enumerate(zip(contexts, returns, strict=True)):
        known = main + block
        distance = np.linalg.norm(contexts[known] - context, axis=1)
        progress.append(abs(value - returns[known[distance.argmin()]]) if len(known) > 5 else 0.0)
        if len(block) == 500:
            main, block = known[-buffer_size:], []
        block.append(index)
    return np.array(progress), main + block


def test_learning_progress_is_the_difference_to_the_nearest_context_before():
    contexts = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [1.2], [1.15], [4.9]])
    returns = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, -1.0, 5.5])
    progress = learning_progress(contexts, returns, np.zeros(9, int), np.arange(9))
    # six with too little to compare to; then against 1.0, against 1.2, against 5.0
    np.testing.assert_allclose(progress, [0, 0, 0, 0, 0, 0, 6.0, 8.0, 0.5])


@pytest.mark.parametrize("buffer_size", [20, 700])
def test_the_history_is_that_of_a_store_with_a_fresh_block_of_500(buffer_size):
    contexts, returns = rng(1).uniform(size=(1700, 2)), rng(2).uniform(size=1700)
    expected, stored = slow_history(contexts, returns, buffer_size)
    teacher = ALPGMM(num_rollouts=10_000, buffer_size=buffer_size)
    state, begin = teacher.init(rng(), SQUARE), 0
    for size in (3, 1, 480, 16, 1, 600, 0, 599):
        part = slice(begin, begin + size)
        state, _ = teacher.update(rng(), SQUARE, state, episodes_of(contexts[part], returns[part]))
        begin += size
        assert len(state.history_return) <= max(buffer_size + 500, 500)
    np.testing.assert_array_equal(state.recent[:, -1], expected)
    np.testing.assert_array_equal(state.history_return, returns[stored])


def test_the_first_contexts_are_uniform():
    teacher = ALPGMM(num_rollouts=100)
    state = taught(teacher, 2, noise_on_the_right, per_iteration=49)
    assert not len(state.mixture.weights)
    drawn = teacher.sample(rng(), SQUARE, state, 4000)
    counts, _, _ = np.histogram2d(*drawn.T, bins=2, range=[(0, 1), (0, 1)])
    np.testing.assert_allclose(counts, 1000, atol=120)


def test_a_mixture_is_fitted_exactly_when_the_count_is_a_multiple_of_num_rollouts():
    teacher = ALPGMM(num_rollouts=100)
    drawn, returns = rng(1).uniform(size=(330, 2)), rng(2).uniform(size=330)
    state, begin = teacher.init(rng(), SQUARE), 0
    for end, refitted in ((99, False), (100, True), (199, False), (330, True)):
        before = state.mixture
        part = slice(begin, end)
        state, _ = teacher.update(rng(), SQUARE, state, episodes_of(drawn[part], returns[part]))
        assert (state.mixture is not before) == refitted
        assert len(state.recent) == end % 100
        begin = end
    np.testing.assert_array_equal(state.recent[:, :2], drawn[300:])


def test_the_fit_sees_the_episodes_up_to_the_multiple_and_no_later_ones():
    teacher = ALPGMM(num_rollouts=100)
    left, right = rng(1).uniform((0, 0), (0.1, 1), (100, 2)), rng(2).uniform((0.9, 0), 1, (60, 2))
    drawn = np.concatenate([left, right])
    state, _ = teacher.update(
        rng(), SQUARE, teacher.init(rng(), SQUARE), episodes_of(drawn, drawn[:, 1])
    )
    assert (state.mixture.means[:, 0] < 0.1).all()


def test_components_are_drawn_in_proportion_to_their_mean_progress_not_their_weight():
    teacher = ALPGMM(p_random=0.0)
    means = np.array([[0.2, 0.2, 1.0], [0.8, 0.2, 3.0], [0.5, 0.8, 0.0]])
    tiny = np.tile(1e-6 * np.eye(3), (3, 1, 1))
    mixture = Mixture(np.array([0.1, 0.1, 0.8]), means, tiny)
    state = teacher.init(rng(), SQUARE)._replace(mixture=mixture)
    drawn = teacher.sample(rng(), SQUARE, state, 4000)
    assert np.mean(drawn[:, 0] > 0.7) == pytest.approx(0.75, abs=0.03)
    assert (drawn[:, 1] < 0.3).all()
    nothing = mixture._replace(means=means * (1, 1, 0))
    drawn = teacher.sample(rng(), SQUARE, state._replace(mixture=nothing), 4000)
    assert np.mean(drawn[:, 1] > 0.7) == pytest.approx(1 / 3, abs=0.03)


def test_contexts_follow_the_covariance_of_their_component():
    teacher = ALPGMM(p_random=0.0)
    covariance = 1e-4 * np.array([[4.0, 1.5, 1.0], [1.5, 1.0, 0.2], [1.0, 0.2, 2.0]])
    mixture = Mixture(np.ones(1), np.array([[0.5, 0.5, 1.0]]), covariance[None])
    state = teacher.init(rng(), SQUARE)._replace(mixture=mixture)
    drawn = teacher.sample(rng(), SQUARE, state, 20_000)
    np.testing.assert_allclose(np.cov(drawn.T), covariance[:2, :2], rtol=0.05)


def test_the_share_p_random_stays_uniform():
    teacher = ALPGMM(p_random=0.3)
    mixture = Mixture(np.ones(1), np.array([[0.2, 0.2, 1.0]]), 1e-8 * np.eye(3)[None])
    state = teacher.init(rng(), SQUARE)._replace(mixture=mixture)
    drawn = teacher.sample(rng(), SQUARE, state, 4000)
    elsewhere = np.abs(drawn - 0.2).max(axis=1) > 0.01
    assert elsewhere.mean() == pytest.approx(0.3, abs=0.03)
    np.testing.assert_allclose(drawn[elsewhere].mean(axis=0), 0.5, atol=0.04)


def test_contexts_concentrate_where_returns_change():
    state = taught(ALPGMM(p_random=0.1, num_rollouts=100), 20, noise_on_the_right)
    share = np.mean(ALPGMM(p_random=0.1).sample(rng(5), SQUARE, state, 2000)[:, 0] > 0.7)
    assert share > 0.7  # uniform would be 0.3


def test_two_obvious_clusters_give_two_components():
    rows = np.concatenate([rng(1).normal(-5, 0.5, (400, 3)), rng(2).normal(5, 1.0, (200, 3))])
    mixture = best_mixture(rng(), rows, SIZES)
    order = np.argsort(mixture.means[:, 0])
    np.testing.assert_allclose(mixture.weights[order], [2 / 3, 1 / 3], atol=1e-6)
    np.testing.assert_allclose(mixture.means[order], [[-5] * 3, [5] * 3], atol=0.5)


def test_mixtures_are_those_of_scikit_learn_from_the_same_start():
    rows = np.column_stack([rng(1).uniform(-4, 4, (150, 3)), rng(2).exponential(2, 150)])
    assigned = hard_assignments(rng(3), rows, SIZES)
    mixtures, log_likelihood = expectation_maximisation(rows, assigned, SIZES)
    starts = np.cumsum(SIZES) - SIZES
    for size, likelihood, begin in zip(SIZES, log_likelihood, starts, strict=True):
        part = slice(begin, begin + size)
        clusters = [rows[members > 0] for members in assigned[part]]
        theirs = GaussianMixture(
            size,
            weights_init=[len(cluster) / len(rows) for cluster in clusters],
            means_init=[cluster.mean(axis=0) for cluster in clusters],
            precisions_init=[
                np.linalg.inv(np.cov(cluster.T, bias=True) + 1e-6 * np.eye(4))
                for cluster in clusters
            ],
        ).fit(rows)
        np.testing.assert_allclose(mixtures.weights[part], theirs.weights_, rtol=1e-5)
        np.testing.assert_allclose(mixtures.means[part], theirs.means_, atol=1e-5)
        np.testing.assert_allclose(mixtures.covariances[part], theirs.covariances_, atol=1e-5)
        assert likelihood == pytest.approx(theirs.score(rows), rel=1e-7)


def test_the_mixture_of_lowest_aic_is_chosen():
    rows = np.column_stack([rng(1).uniform(-4, 4, (150, 3)), rng(2).exponential(2, 150)])
    assigned = hard_assignments(rng(3), rows, SIZES)
    _, log_likelihood = expectation_maximisation(rows, assigned, SIZES)
    num_parameters = SIZES * (1 + 4 + 10) - 1
    best = SIZES[np.argmin(2 * num_parameters - 2 * 150 * log_likelihood)]
    assert len(best_mixture(rng(3), rows, SIZES).weights) == best


def test_k_means_puts_every_row_with_its_nearest_centre():
    rows = rng(1).normal(size=(80, 3))
    assigned = hard_assignments(rng(), rows, np.array([4]))
    assert (assigned.sum(axis=0) == 1).all()
    centres = assigned @ rows / assigned.sum(axis=1)[:, None]
    distance = ((rows - centres[:, None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distance.argmin(axis=0), assigned.argmax(axis=0))


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_rows_that_are_all_the_same_or_all_on_a_line_give_finite_mixtures(scale):
    for rows in (np.ones((50, 3)), np.linspace(0, 1, 50)[:, None] * np.ones(3)):
        mixture = best_mixture(rng(), scale * rows, SIZES)
        assert all(np.isfinite(array).all() for array in mixture)
        assert len(mixture.weights)


def test_advice_warns_about_a_late_first_mixture_and_about_constant_returns():
    teacher = ALPGMM(num_rollouts=100)
    assert teacher.advice(SQUARE, teacher.init(rng(), SQUARE), 10) == ()
    early = taught(teacher, 2, noise_on_the_right, per_iteration=10)
    assert "stay uniform" in teacher.advice(SQUARE, early, 5)[0]
    assert teacher.advice(SQUARE, early, 50) == ()
    flat = taught(teacher, 3, lambda _, contexts: np.ones(len(contexts)))
    assert "no learning progress" in teacher.advice(SQUARE, flat, 50)[0]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"p_random": 1.5}, "p_random must be between 0 and 1, got 1.5"),
        ({"num_rollouts": 0}, "num_rollouts must be positive, got 0"),
        ({"buffer_size": -1}, "buffer_size must be positive"),
        ({"max_components": 1}, "max_components must be between 2 and num_rollouts"),
        ({"num_rollouts": 5}, "max_components must be between 2 and num_rollouts"),
    ],
)
def test_impossible_settings_are_refused(settings, complaint):
    with pytest.raises(SelfpacedError, match=complaint):
        ALPGMM(**settings)
