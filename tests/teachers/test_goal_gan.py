from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import ContextSpace, Episodes, Gaussian, SelfpacedError
from selfpaced.teachers.gan import GAN, train_networks
from selfpaced.teachers.goal_gan import GoalGAN

CORNER = Gaussian.diagonal((2.5, -0.5), (0.2, 0.1))
BOX = ContextSpace(("x", "y"), (0.0, -1.0), (4.0, 1.0), CORNER, CORNER)
FULL = GoalGAN()
QUICK = GoalGAN(pretrain=False, num_rollouts=20)


def rng(number=0):
    return np.random.default_rng(number)


def episodes_of(contexts, success):
    num = len(contexts)
    return Episodes(
        # training rounds contexts to single precision
        context=np.asarray(contexts, np.float32).reshape(num, 2).astype(np.float64),
        first_observation=np.zeros((num, 1)),
        discounted_return=np.zeros(num),
        value=np.zeros(num),
        success=np.asarray(success, bool),
        length=np.ones(num, int),
    )


def tried_twice(contexts, label):
    """Return episodes that label contexts like this: one of two succeeds, or none."""
    success = np.column_stack([label, np.zeros(len(contexts))])
    return episodes_of(np.repeat(contexts, 2, axis=0), success.ravel())


def uniform(number, num):
    return rng(number).uniform(BOX.lower, BOX.upper, (num, 2))


@pytest.fixture(name="fresh", scope="module")
def _fresh():
    return QUICK.init(rng(), BOX)


@pytest.fixture(name="pretrained", scope="module")
def _pretrained():
    return FULL.init(rng(), BOX)


def test_before_training_contexts_resemble_the_initial_distribution(pretrained):
    drawn = FULL.sample(rng(1), BOX, pretrained, 2000)
    # adversarial networks do not converge: off by less than the width of the distribution
    assert (np.abs(drawn.mean(axis=0) - (2.5, -0.5)) < (0.2, 0.1)).all()
    noise = np.array([0.1, 0.05])  # noise_level times the box
    np.testing.assert_allclose(drawn.std(axis=0), np.hypot((0.2, 0.1), noise), rtol=0.4)


def test_what_is_imitated_before_training_may_lie_outside_the_box(monkeypatch):
    imitated = []
    monkeypatch.setattr(GAN, "train", lambda self, rng, state, points, *_: imitated.append(points))
    wide = replace(BOX, initial=Gaussian.diagonal((2.0, 0.0), (2.0, 1.0)))
    for clip in (True, False):
        GoalGAN(clip_pretraining=clip).init(rng(), wide)
    inside, outside = imitated
    assert np.abs(inside).max() == pytest.approx(0.5)  # of the width of the box
    assert np.abs(outside).max() > 0.55


def test_without_pretraining_contexts_lie_around_the_centre_of_the_box(fresh):
    drawn = QUICK.sample(rng(1), BOX, fresh, 2000)
    np.testing.assert_allclose(drawn.mean(axis=0), (2.0, 0.0), atol=0.5)


def test_the_generator_learns_to_imitate_contexts_of_intermediate_difficulty(pretrained):
    def is_in(contexts):
        return (np.abs(contexts - (1.0, 0.4)) < (0.5, 0.25)).all(axis=1)

    assert is_in(FULL.sample(rng(1), BOX, pretrained, 1000)).mean() < 0.05
    contexts = np.concatenate([uniform(1, 150), rng(2).uniform((0.6, 0.2), (1.4, 0.6), (50, 2))])
    rng(3).shuffle(contexts)
    state, _ = FULL.update(rng(), BOX, pretrained, tried_twice(contexts, is_in(contexts)))
    assert state.num_trainings == 1
    assert is_in(FULL.sample(rng(1), BOX, state, 1000)).mean() > 0.8


def test_a_training_is_compiled_once_for_all_sets_and_for_pretraining(pretrained):
    before = train_networks._cache_size()
    state, _ = FULL.update(rng(), BOX, pretrained, tried_twice(uniform(1, 230), np.ones(230)))
    FULL.update(rng(), BOX, state, tried_twice(uniform(2, 370), np.ones(370)))
    assert train_networks._cache_size() == before


def test_new_contexts_come_twice_in_a_row_and_never_again(fresh):
    drawn = QUICK.sample(rng(), BOX, fresh, 2047)
    np.testing.assert_array_equal(drawn[:-1:2], drawn[1::2])
    assert len(np.unique(drawn, axis=0)) == 1024


def test_no_context_comes_a_third_time_even_if_far_more_are_requested_than_used(fresh):
    state, _ = QUICK.update(rng(), BOX, fresh, episodes_of(uniform(1, 5), np.zeros(5)))
    drawn = QUICK.sample(rng(), BOX, state, 2048)
    assert len(np.unique(drawn, axis=0)) == 1024
    # the generator made ten draws only: these repeat, but for the noise
    width = np.subtract(BOX.upper, BOX.lower)
    difference = (drawn[::2] - np.roll(drawn[::2], 10, axis=0)) / width
    assert difference.std() == pytest.approx(np.sqrt(2) * QUICK.noise_level, rel=0.1)


def test_a_context_is_labelled_1_if_exactly_one_of_two_episodes_succeeds(fresh):
    a, b, c, d = contexts = uniform(1, 4)
    episodes = episodes_of([a, a, b, b, c, c, d, d], [0, 0, 1, 0, 0, 1, 1, 1])
    state, metrics = QUICK.update(rng(), BOX, fresh, episodes)
    np.testing.assert_array_equal(state.label, [0, 1, 1, 0])
    np.testing.assert_allclose(state.labelled_context, contexts, rtol=1e-6)
    np.testing.assert_allclose(state.success_context, [d], rtol=1e-6)
    assert metrics["teacher/intermediate"] == 0.5


def test_the_success_buffer_keeps_its_contexts_at_a_distance(fresh):
    least = 0.01 * np.hypot(4.0, 2.0)
    contexts = [(1.0 + steps * least, 0.0) for steps in (0.0, 0.9, 1.1, 2.0)]
    state, _ = QUICK.update(rng(), BOX, fresh, episodes_of(np.repeat(contexts, 2, axis=0), [1] * 8))
    np.testing.assert_allclose(state.success_context, [contexts[0], contexts[2]], rtol=1e-6)
    state, _ = QUICK.update(rng(), BOX, state, episodes_of([contexts[0]] * 2, [1, 1]))
    assert len(state.success_context) == 2


def test_replays_have_their_share_of_draws_their_noise_and_one_episode_each(fresh):
    teacher = GoalGAN(pretrain=False, p_success=0.3, noise_level=0.05)
    known = np.array([[0.5, 0.8], [3.5, 0.8]])  # far from what the generator makes
    drawn = teacher.sample(rng(), BOX, fresh._replace(success_context=known), 4000)
    contexts, counts = np.unique(drawn[:-2], axis=0, return_counts=True)
    replays = contexts[counts == 1]
    assert len(replays) / len(contexts) == pytest.approx(0.3, abs=0.03)
    nearest = known[(replays[:, 0] > 2).astype(int)]
    assert (replays[:, 0] > 2).mean() == pytest.approx(0.5, abs=0.06)
    std = np.sqrt(np.mean((replays - nearest)[:, 0] ** 2))
    assert std == pytest.approx(0.05 * 4.0, rel=0.1)


def test_replays_leave_the_box_only_without_clip_replay(fresh):
    state = fresh._replace(success_context=np.array([[4.0, 1.0]]))
    assert BOX.contains(QUICK.sample(rng(), BOX, state, 500)).all()
    teacher = GoalGAN(pretrain=False, clip_replay=False)
    assert not BOX.contains(teacher.sample(rng(), BOX, state, 500)).all()


@pytest.mark.parametrize("cut", range(9))
def test_pairs_are_completed_across_the_boundary_of_iterations(fresh, cut):
    a, b, replay, c = uniform(1, 4)
    issued, success = [a, a, b, b, replay, c, c, replay + 0.1], [0, 1, 1, 1, 1, 0, 0, 1]
    state = fresh
    for part in (slice(None, cut), slice(cut, None)):
        state, _ = QUICK.update(rng(), BOX, state, episodes_of(issued[part], success[part]))
    np.testing.assert_array_equal(state.label, [1, 0, 0])
    np.testing.assert_allclose(state.success_context, [b], rtol=1e-6)
    np.testing.assert_allclose(state.open_context, [replay, replay + 0.1], rtol=1e-6)


def test_pairs_are_found_when_several_environments_mix_the_order(fresh):
    a, b, c = uniform(1, 3)
    state, _ = QUICK.update(rng(), BOX, fresh, episodes_of([b, a, c, b], [1, 0, 1, 1]))
    state, _ = QUICK.update(rng(), BOX, state, episodes_of([c, a], [0, 0]))
    np.testing.assert_allclose(state.labelled_context, [b, c, a], rtol=1e-6)
    np.testing.assert_array_equal(state.label, [0, 1, 0])


def test_all_issued_contexts_but_one_per_iteration_are_labelled(fresh):
    teacher = GoalGAN(pretrain=False, num_rollouts=10_000)
    state, in_flight, num_issued = fresh, [], 0
    for iteration in range(30):
        num = int(rng(iteration).integers(5, 40))
        issued = [*in_flight, *teacher.sample(rng(iteration), BOX, state, 2048)[:num]]
        in_flight = issued[-1:]
        num_issued += num
        state, _ = teacher.update(
            rng(),
            BOX,
            state,
            episodes_of(issued[:-1], rng(iteration).random(len(issued) - 1) < 0.5),
        )
    assert 2 * state.num_labelled + len(state.open_context) == num_issued - 1
    assert len(state.open_context) <= 30 + 0.2 * num_issued


def test_contexts_that_never_come_back_are_forgotten(fresh):
    state, _ = QUICK.update(rng(), BOX, fresh, episodes_of(uniform(1, 1000), np.zeros(1000)))
    np.testing.assert_allclose(state.open_context, uniform(1, 1000)[-256:], rtol=1e-5, atol=1e-7)


def test_training_happens_at_num_rollouts_labelled_contexts_and_discards_them(fresh):
    contexts = uniform(1, 30)
    state, _ = QUICK.update(rng(), BOX, fresh, tried_twice(contexts[:19], np.ones(19)))
    assert state.num_trainings == 0
    assert state.gan is fresh.gan
    state, _ = QUICK.update(rng(), BOX, state, tried_twice(contexts[19:], np.ones(11)))
    assert state.num_trainings == 1
    np.testing.assert_allclose(state.labelled_context, contexts[20:], rtol=1e-6)


def test_training_is_skipped_without_a_context_of_intermediate_difficulty(fresh):
    state, _ = QUICK.update(rng(), BOX, fresh, tried_twice(uniform(1, 25), np.zeros(25)))
    assert state.gan is fresh.gan
    assert (state.num_trainings, state.num_skipped, len(state.label)) == (0, 1, 5)
    assert "never been trained" in QUICK.advice(BOX, state, 100)[0]


def test_advice_warns_if_contexts_do_not_come_in_pairs(fresh):
    state, _ = QUICK.update(rng(), BOX, fresh, episodes_of(uniform(1, 100), np.zeros(100)))
    assert "repeats the context" in QUICK.advice(BOX, state, 100)[0]
    assert QUICK.advice(BOX, fresh, 100) == ()


@pytest.mark.parametrize("num", [3, 4, 6])
def test_a_training_is_that_of_the_plain_formulas(num):
    gan = GAN(generator_sizes=(5, 5), discriminator_sizes=(4, 4), batch_size=4)
    start = gan.init(rng(), 2)
    points, labels = rng(1).uniform(-0.5, 0.5, (num, 2)), (rng(2).random(num) < 0.5).astype(float)
    trained = gan.train(rng(3), start, points, labels, 3, room=(10, 5))
    batches = [[0, 1, 2]] * 3 if num == 3 else [[0, 1, 2, 3]] * 3
    if num == 6:
        batches = [[0, 1, 2, 3], [4, 5, 0, 1], [2, 3, 4, 5]]
    noise = rng(3).standard_normal((3, 4, 2), np.float32)
    plain = start
    for batch, draws in zip(batches, noise, strict=True):
        plain = plain_step(plain, points[batch], labels[batch], draws)
    for ours, theirs in zip(jax.tree.leaves(trained), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@jax.jit
def plain_step(state, points, labels, noise):
    """Return one step of each network, written without regard to speed."""
    generator, discriminator, *squares = state

    def generate(layers):
        hidden = jax.nn.relu(noise @ layers[0][0] + layers[0][1])
        hidden = jax.nn.relu(hidden @ layers[1][0] + layers[1][1])
        return jnp.tanh(hidden @ layers[2][0] + layers[2][1])

    def answer(layers, inputs):
        for weight, bias in layers[:-1]:
            inputs = inputs @ weight + bias
            inputs = jnp.where(inputs > 0, inputs, 0.1 * inputs)
        return (inputs @ layers[-1][0] + layers[-1][1])[:, 0]

    def discriminator_loss(layers):
        inputs = jnp.concatenate([points, generate(generator)])
        y = jnp.concatenate([labels, jnp.zeros(len(noise))])
        return jnp.mean((2 * y - 1 - answer(layers, inputs)) ** 2)

    def descend(layers, squares, gradient):
        squares = jax.tree.map(lambda old, g: 0.9 * old + 0.1 * g**2, squares, gradient)
        step = jax.tree.map(
            lambda g, square: 1e-3 * g / jnp.sqrt(square + 1e-10), gradient, squares
        )
        return jax.tree.map(jnp.subtract, layers, step), squares

    discriminator, of_discriminator = descend(
        discriminator, squares[1], jax.grad(discriminator_loss)(discriminator)
    )
    gradient = jax.grad(lambda layers: jnp.mean((answer(discriminator, generate(layers)) - 1) ** 2))
    generator, of_generator = descend(generator, squares[0], gradient(generator))
    return type(state)(generator, discriminator, of_generator, of_discriminator)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"noise_level": 0.0}, "noise_level must be positive, got 0.0"),
        ({"num_rollouts": 0}, "num_rollouts must be positive"),
        ({"p_success": 1.0}, "p_success must be at least 0 and below 1, got 1.0"),
        ({"min_distance": -1.0}, "min_distance must be non-negative, got -1.0"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"generator_sizes": ()}, "generator_sizes must be a tuple of positive layer sizes"),
    ],
)
def test_impossible_settings_are_refused(settings, complaint):
    with pytest.raises(SelfpacedError, match=complaint):
        GoalGAN(**settings)
