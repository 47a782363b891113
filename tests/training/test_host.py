from dataclasses import dataclass

import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import selfpaced  # noqa: F401 (registers the environments)
from selfpaced import PPO, SAC, SPDL, Default, Random
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import SelfpacedError
from selfpaced.problems import POINT_MASS_2D, Problem
from selfpaced.training import block_policy as acting
from selfpaced.training import episodes_host, host
from selfpaced.training import loop as iteration
from selfpaced.training import values as valuing
from selfpaced.training.host import HostTraining
from selfpaced.training.loop import Training
from tests.probes import DISCOUNT, SHAKY, HostProbe, Probe, ProbeWorlds, probe_problem, train

SMALL = PPO(hidden=(8,), num_minibatches=4)


def probe_training(seeds=(1, 2), num_environments=4, learner=SMALL, steps=64, **probe):
    problem = probe_problem(HostProbe(**({"length": 3, "noise": 0.1} | probe)))
    return HostTraining(problem, Random(), learner, seeds, steps, num_environments)


def test_the_contexts_seen_are_exactly_those_issued_and_in_order():
    training = probe_training(noise=0.0)
    state, seen = training.init(), [[], []]
    used = [[], []]
    for number in range(4):
        contexts = training.sample_contexts(state, number)
        state, lesson = training.learn(state, contexts, number)
        for index in range(2):
            seen[index] += lesson.episodes[index].context[:, 0].tolist()
            begun = int(np.ceil((64 * (number + 1) / 4) / 3)) * 4
            used[index] += contexts[index, : begun - len(used[index]), 0].tolist()
    for index in range(2):
        assert seen[index] == used[index][: len(seen[index])]
        assert len(seen[index]) == 4 * (64 // 3)  # 64 steps of each of 4 actors


def test_episodes_report_what_happened():
    training = probe_training(reward="cue", noise=0.0)
    _, lesson = training.learn(*start(training), 0)
    for episodes in lesson.episodes:
        np.testing.assert_array_equal(episodes.length, 3)
        known = episodes.context[:, 0] * (1 + DISCOUNT + DISCOUNT**2)
        np.testing.assert_allclose(episodes.discounted_return, known, rtol=1e-5)
        np.testing.assert_array_equal(episodes.success, episodes.context[:, 0] > 0)
        np.testing.assert_allclose(episodes.first_observation[:, 0], episodes.context[:, 0])


def start(training):
    state = training.init()
    return state, training.sample_contexts(state, 0)


@pytest.mark.parametrize(("ends_by", "time_out"), [("itself", False), ("time_out", True)])
def test_time_outs_are_told_from_ends(ends_by, time_out):
    training = probe_training(length=2, ends_by=ends_by)
    state, contexts = start(training)
    collector = training._collector(state, contexts, 0)
    rollout = collector.collect(state.learner, np.zeros((6, 2, 4, 1), np.float32))
    over = np.arange(6) % 2 == 1
    np.testing.assert_array_equal(rollout.truncated[:, 1, 2], over & time_out)
    np.testing.assert_array_equal(rollout.terminated[:, 1, 2], over & (not time_out))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"steps": 66}, "multiple of num_environments"),
        ({"num_environments": 0}, "num_environments"),
    ],
)
def test_a_budget_that_cannot_be_divided_is_refused(mistake, message):
    with pytest.raises(SelfpacedError, match=message):
        probe_training(**mistake)


def test_every_problem_has_its_kind_of_training():
    inside, outside = probe_problem(Probe()), probe_problem(HostProbe())
    with pytest.raises(SelfpacedError, match="train on it with HostTraining"):
        Training(outside, Random(), SMALL, (1,), 64)
    with pytest.raises(SelfpacedError, match="train on it with Training"):
        HostTraining(inside, Random(), SMALL, (1,), 64)
    with pytest.raises(SelfpacedError, match="initial_policy"):
        HostTraining(outside, Random(), SMALL, (1,), 64, initial_policy="holld")


def test_stopping_and_going_on_changes_nothing():
    straight, rows = train(probe_training(), 6)
    half, _ = train(probe_training(), 3)
    resumed, late_rows = train(probe_training(), 3, half, start=3)
    for a, b in zip(jax.tree.leaves(straight), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)
    assert rows[3:] == late_rows


def test_worlds_that_cannot_be_saved_begin_new_episodes_when_resumed():
    half, _ = train(probe_training(saves=False, steps=16), 1)  # four steps: one into the second
    assert (half.actors.length == 1).all()
    resumed = probe_training(saves=False, steps=16)
    contexts = resumed.sample_contexts(half, 1)
    _, lesson = resumed.learn(half, contexts, 1)
    np.testing.assert_array_equal(lesson.episodes[0].context[:, 0], contexts[0, :4, 0])


def test_contexts_never_run_out_even_if_episodes_are_shorter_than_promised():
    class Hasty(HostProbe):
        min_episode_steps = 30

    training = HostTraining(probe_problem(Hasty(length=2)), Random(), SMALL, (1, 2), 64, 4)
    state = training.init()
    contexts = training.sample_contexts(state, 0)
    _, lesson = training.learn(state, contexts, 0)
    for drawn, episodes in zip(contexts, lesson.episodes, strict=True):
        assert len(episodes.context) == 32 > len(drawn)
        np.testing.assert_allclose(episodes.context[: len(drawn)], drawn)
        assert len(np.unique(episodes.context)) == 32  # none was handed out twice
    again = training.learn(training.init(), contexts, 0)[1]
    np.testing.assert_array_equal(again.episodes[1].context, lesson.episodes[1].context)


def test_what_becomes_unstable_is_counted_in_training_and_evaluation():
    training = HostTraining(SHAKY, Random(), SMALL, (1, 2), 64, 4)
    _, lesson = training.learn(*start(training), 0)
    assert [row["train/unstable"] for row in lesson.metrics] == [32, 32]  # of 64 steps each
    evaluation = training.evaluate(training.init(), 0, 5)
    assert evaluation.unstable.shape == (2, 2, 5)
    assert evaluation.unstable.all()
    assert not probe_training().evaluate(probe_training().init(), 0, 5).unstable.any()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_worlds_that_reset_by_themselves_are_refused(mode):
    class Selfwilled(HostProbe):
        def make(self, num_envs, num_threads=1):
            worlds = super().make(num_envs, num_threads)
            worlds.metadata = {"autoreset_mode": mode}
            return worlds

    training = HostTraining(probe_problem(Selfwilled()), Random(), SMALL, (1,), 64, 4)
    with pytest.raises(SelfpacedError, match="Selfwilled resets by itself"):
        training.init()


def test_worlds_that_begin_in_other_contexts_are_found_out():
    class Deaf(HostProbe):
        def make(self, num_envs, num_threads=1):
            worlds = super().make(num_envs, num_threads)
            reset = worlds.reset

            def ignore(*, seed=None, options=None):
                shown = np.zeros((num_envs, 1))
                return reset(seed=seed, options=options)[0], {"context": shown}

            worlds.reset = ignore
            return worlds

    training = HostTraining(probe_problem(Deaf()), Random(), SMALL, (1,), 64, 4)
    with pytest.raises(SelfpacedError, match=r"in another context than it was given.*got \[0.0\]"):
        train(training, 1)


def test_a_seed_does_not_notice_the_others():
    both, _ = train(probe_training(seeds=(1, 2)), 3)
    alone, _ = train(probe_training(seeds=(2,)), 3)
    for a, b in zip(jax.tree.leaves(both.learner), jax.tree.leaves(alone.learner), strict=True):
        np.testing.assert_allclose(a[1], b[0], rtol=2e-3, atol=1e-4)


def test_the_value_of_a_known_problem_is_learned():
    learner = PPO(hidden=(16,), learning_rate=1e-2, num_minibatches=4)
    state, _ = train(probe_training(learner=learner, noise=0.0), 60)
    known = [1 + DISCOUNT + DISCOUNT**2, 1 + DISCOUNT, 1]
    for time, value in enumerate(known):
        observation = np.full((2, 1, 2), [0.3, 0.1 * time], np.float32)
        learned = valuing.value_block(learner, state.learner, observation)
        np.testing.assert_allclose(learned, value, atol=0.1)


def test_sac_learns_after_every_step():
    learner = SAC(hidden=(16,), learning_rate=3e-3, buffer_size=2000, learning_starts=64)
    training = probe_training(
        learner=learner, num_environments=1, length=1, reward="action", noise=0.0
    )
    before = training.evaluate(training.init(), 0, 50).discounted_return[:, 1].mean()
    state, _ = train(training, 40)
    after = training.evaluate(state, 40, 50).discounted_return[:, 1].mean()
    assert before < -0.2
    assert after > 0.6 * before


def test_evaluation_meets_the_target_with_both_policies():
    training = probe_training(reward="cue", noise=0.0)
    outcome = training.evaluate(training.init(), 0, 40)
    assert outcome.discounted_return.shape == (2, 2, 40)
    np.testing.assert_array_equal(outcome.length, 3)
    known = 0.5 * (1 + DISCOUNT + DISCOUNT**2)  # the mean of the target
    np.testing.assert_allclose(outcome.discounted_return.mean(axis=2), known, atol=0.15)
    np.testing.assert_allclose(outcome.discounted_return[:, 0], outcome.discounted_return[:, 1])
    assert outcome.success.all()


def test_episodes_that_do_not_fit_side_by_side_run_one_after_the_other():
    whole = probe_training().evaluate(probe_training().init(), 0, 10)
    parts = probe_training(max_side_by_side=12)
    pieces = parts.evaluate(parts.init(), 0, 10)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(a, b)


def test_paths_go_on_to_the_end():
    training = probe_training(noise=0.0)
    state = training.init()
    path = training.target_episodes(state.learner, 0, 5, keep_path=True).path
    assert path.shape == (4, 2, 2, 5, 2)
    np.testing.assert_allclose(
        path[..., 1], 0.1 * np.arange(4)[:, None, None, None] + 0 * path[..., 1]
    )


def test_paths_of_the_stochastic_policy_alone_are_the_same():
    training = probe_training()
    learner = training.init().learner
    both = training.target_episodes(learner, 0, 5, keep_path=True)
    alone = training.target_episodes(learner, 0, 5, boldness=(1.0,), keep_path=True)
    assert alone.path.shape == (4, 2, 1, 5, 2)
    np.testing.assert_array_equal(alone.path[:, :, 0], both.path[:, :, 0])
    np.testing.assert_array_equal(alone.discounted_return, both.discounted_return[:, :1])


def test_evaluations_share_their_worlds(monkeypatch):
    training, made = probe_training(), []
    make = HostProbe.make

    def count(self, num, num_threads=1):
        made.append(num)
        return make(self, num, num_threads)

    monkeypatch.setattr(HostProbe, "make", count)
    state = training.init()
    first = training.evaluate(state, 0, 5)
    training.evaluate(state, 1, 5)
    assert made == [2 * 4, 2 * 2 * 5]  # training, evaluation
    for one, again in zip(first, training.evaluate(state, 0, 5), strict=True):
        np.testing.assert_array_equal(one, again)


def test_what_a_teacher_remembers_is_valued_by_the_learner_as_it_is_now():
    problem = probe_problem(HostProbe(length=3, noise=0.1))
    teacher = SPDL(update_offset=1, window=50)
    training = HostTraining(problem, teacher, SMALL, (1, 2), 64, 4)
    state, _ = train(training, 3)
    for index, remembering in enumerate(state.teachers):
        assert len(remembering.window_context) == 50  # 20 or 24 episodes come with an iteration
        np.testing.assert_allclose(remembering.window_observation[:, 1], 0.0)
        learner = jax.tree.map(lambda array, index=index: array[index], state.learner)
        now = SMALL.value(learner, remembering.window_observation)
        np.testing.assert_allclose(remembering.window_value, now, rtol=1e-5, atol=1e-6)


def test_nothing_is_compiled_again_in_the_loop():
    training = HostTraining(
        probe_problem(HostProbe(length=3)), SPDL(update_offset=1), SMALL, (1, 2), 64, 4
    )
    state, _ = train(training, 4)
    training.evaluate(state, 4, 10)
    compiled = (
        host._update_block, host._draw, iteration._init_learners, episodes_host._noise,
        acting.act_block, valuing.value_block,
    )  # fmt: skip
    before = [function._cache_size() for function in compiled]
    state, _ = train(training, 6, state, start=4)
    training.evaluate(state, 10, 10)
    assert [function._cache_size() for function in compiled] == before


@pytest.mark.parametrize("learner", [SMALL, SAC(hidden=(8,), batch_size=16)])
def test_a_policy_can_begin_by_holding_still(learner):
    problem = probe_problem(HostProbe(length=60, noise=0.1))
    act = {}
    chosen = getattr(learner, "policy", learner.act)
    rng = np.random.default_rng(0)  # observations as they come
    cue, time = rng.uniform(-0.5, 0.5, 64), 0.1 * rng.integers(60, size=64)
    observation = np.stack([cue, time], axis=1).astype(np.float32)
    act_all = jax.vmap(jax.vmap(chosen, (None, None, 0)), (None, 0, None))
    for policy in ("random", "hold"):
        training = HostTraining(problem, Default(), learner, (1, 2), 64, 4, initial_policy=policy)
        state = training.init().learner
        act[policy] = act_all(np.zeros(1), state, observation)
    assert np.abs(act["hold"]).mean() < 0.5 * np.abs(act["random"]).mean()


@pytest.mark.slow  # in one process the page on adding your own does it
def test_anybodys_gymnasium_environment_runs_in_processes_of_its_own():
    environment = GymnasiumEnvironment(
        "selfpaced/PointMass2D-v0", time_limit=100, in_processes=True, max_side_by_side=4
    )
    problem = Problem("mine", "somebody's", environment, POINT_MASS_2D.contexts, 0.95)
    training = HostTraining(problem, Random(), SMALL, (3,), 256, 2)
    state, rows = train(training, 2)
    assert rows[1][0]["train/episodes"] > 0
    outcome = training.evaluate(state, 2, 2)
    assert np.isfinite(outcome.discounted_return).all()
    assert (outcome.length > 5).all()
    training.worlds.vector.close()


def test_what_breaks_down_in_anybodys_gymnasium_environment_is_told(monkeypatch):
    pytest.importorskip("mujoco")
    from selfpaced.environments.mujoco import ant_gate as ant_gate_vector

    monkeypatch.setattr(ant_gate_vector, "MAX_SPEED", 1e-6)
    worlds = GymnasiumEnvironment("selfpaced/AntGate-v0", time_limit=750).make(2)
    worlds.reset(seed=[1, 2], options={"context": np.array([[0.0, 8.0], [1.0, 8.0]])})
    for unstable in (True, False):  # it is told once, then the episode is over
        _, _, terminated, _, info = worlds.step(np.zeros((2, 8)))
        assert terminated.all()
        assert info["unstable"].tolist() == [unstable, unstable]


def test_contexts_reach_anybodys_gymnasium_environment():
    environment = GymnasiumEnvironment("selfpaced/PointMass2D-v0", time_limit=100)
    worlds = environment.make(2)
    contexts = np.array([[1.0, 2.0], [3.0, 4.0]])
    first, _ = worlds.reset(seed=[1, 2], options={"context": contexts})
    np.testing.assert_allclose(first[:, 4:], contexts)
    mask = np.array([False, True])
    again, _ = worlds.reset(seed=[1, 2], options={"context": -contexts + 5, "reset_mask": mask})
    np.testing.assert_allclose(again[:, 4:], [[1.0, 2.0], [2.0, 1.0]])


def test_environments_that_do_not_fit_are_told_apart():
    with pytest.raises(SelfpacedError, match="time_limit"):
        _ = GymnasiumEnvironment("selfpaced/PointMass2D-v0").max_episode_steps
    with pytest.raises(SelfpacedError, match="must be vectors"):
        _ = GymnasiumEnvironment("CartPole-v1").action_low


@pytest.mark.parametrize(
    ("id", "message"),
    [("selfpaced/Typo-v0", "doesn't exist"), ("selfpaced/PointMass2D-v0", "TypeError.*gravity")],
)
def test_an_environment_that_cannot_be_made_says_why(id, message):
    environment = GymnasiumEnvironment(id, settings=(("gravity", 9.8),))
    with pytest.raises(SelfpacedError, match=f"gymnasium.make.*gravity=9.8.*{message}"):
        _ = isinstance(environment, HostEnvironment) and environment.observation_size


def test_a_reward_that_is_not_a_number_is_noticed_before_an_episode_ends(monkeypatch):
    monkeypatch.setattr(ProbeWorlds, "step", poisoned(ProbeWorlds.step))
    for learner, message in (
        (SMALL, r"seed 1, iteration 1: the policy has diverged"),
        (
            SAC(learning_starts=4, batch_size=4),
            "the policy has diverged",
        ),  # in the middle of an iteration
    ):
        training = probe_training(learner=learner, length=1000)
        with pytest.raises(SelfpacedError, match=message):
            train(training, 1)


def poisoned(step):
    def step_with_nan(self, actions):
        assert np.isfinite(actions).all()
        observation, reward, *rest = step(self, actions)
        return observation, reward * np.nan, *rest

    return step_with_nan


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"time_limit": -5}, "time_limit"),
        ({"min_episode_steps": 0}, "min_episode_steps"),
        ({"max_side_by_side": 0}, "max_side_by_side"),
        ({"settings": {"a": 1}}, "pairs of name and value"),
        ({"settings": (("a", [1]),)}, "pairs of name and value"),
        ({"settings": (1, 2)}, "pairs of name and value"),
    ],
)
def test_bad_settings_of_anybodys_environment_are_refused(mistake, message):
    with pytest.raises(SelfpacedError, match=message):
        GymnasiumEnvironment("selfpaced/PointMass2D-v0", **mistake)


def test_a_learner_that_cannot_imitate_is_told_so():
    @dataclass(frozen=True)
    class Stubborn(PPO):
        def init(self, key, spec):
            return dict(super().init(key, spec)._asdict())

    problem = probe_problem(HostProbe())
    training = HostTraining(problem, Random(), Stubborn(), (1,), 64, initial_policy="hold")
    with pytest.raises(SelfpacedError, match="NamedTuple with a field `parameters`, got dict"):
        training.init()


def test_evaluations_in_portions_make_their_worlds_once(monkeypatch):
    made = []
    original = HostProbe.make

    def make(self, num_envs, num_threads=1):
        made.append(num_envs)
        return original(self, num_envs, num_threads)

    monkeypatch.setattr(HostProbe, "make", make)
    training = probe_training(max_side_by_side=12)
    state = training.init()
    made.clear()
    assert training.evaluate(state, 0, 10).length.shape == (2, 2, 10)
    assert made == [12]
