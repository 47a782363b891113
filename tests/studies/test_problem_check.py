"""What random episodes reveal about problems with known faults."""

import dataclasses
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.pendulum import PENDULUM
from selfpaced import PPO, PROBLEMS, SAC, SPDL, Random, SelfpacedError
from selfpaced.experiment import Budget
from selfpaced.records import Spec
from selfpaced.studies.problem_check import check_problem
from selfpaced.studies.random_trials import RandomPolicy, environment_errors
from tests.probes import HostProbe, Probe, ProbeVector, probe_problem

MASTERY = SPDL(pacing="mastery")
BUDGET = Budget(iterations=100, steps_per_iteration=256)
FINE = Probe(length=2, reward="cue")


@dataclass(frozen=True)
class Blind(Probe):
    """The context cannot be seen."""

    def observe(self, state):
        return jnp.stack([0.0 * state.cue, 0.1 * state.time])


@dataclass(frozen=True)
class Deaf(Probe):
    """The context has no effect at all."""

    def reset(self, key, context):
        return super().reset(key, 0.0 * context + jax.random.uniform(key))


@dataclass(frozen=True)
class Altered(Probe):
    """One field of every step is replaced."""

    field: str = ""
    value: float = 0.0

    def step(self, noise, state, action):
        after = super().step(noise, state, action)
        old = getattr(after, self.field)
        return after._replace(**{self.field: jnp.full_like(old, self.value)})


@dataclass(frozen=True)
class Hasty(Probe):
    """Episodes are shorter than promised."""

    min_episode_steps = 7


@dataclass(frozen=True)
class Oversized(Probe):
    """Observations are smaller than promised."""

    observation_size = 3


@dataclass(frozen=True)
class Unbounded(Probe):
    """Actions have no bounds."""

    action_low, action_high = (-np.inf,), (np.inf,)


@dataclass(frozen=True)
class Restless(HostProbe):
    """The seed does not determine the episode; the cue is the context plus other noise."""

    def make(self, num_envs, num_threads=1):
        vector, rng = ProbeVector(self, num_envs), np.random.default_rng()
        reset = vector.reset

        def forget(*, seed=None, options=None):
            context = options["context"]
            shaken = context + self.noise * rng.normal(size=context.shape)
            return reset(seed=seed, options=options | {"context": shaken})

        vector.reset = forget
        return vector


@dataclass(frozen=True)
class Failing(Probe):
    """A mistake of a user."""

    def step(self, noise, state, action):
        return {}["mass"]  # the line that is reported


def check(problem, teacher=MASTERY, learner=None, budget=BUDGET):
    problem = problem if hasattr(problem, "contexts") else probe_problem(problem)
    return check_problem(problem, teacher, learner or PPO(), budget)


def finding(name, *arguments, **settings):
    findings = check(*arguments, **settings).findings
    return next(each for each in findings if each.name == name)


def test_a_problem_without_faults_has_no_warnings():
    report = check(FINE)
    assert report.warnings == ()
    assert report.flags == (
        "--iterations", "100", "--steps-per-iteration", "256", "--num-environments", "1",
    )  # fmt: skip


def test_the_host_and_jax_reveal_the_same():
    found = {each.name: each.verdict for each in check(HostProbe(length=2, reward="cue")).findings}
    assert found.pop("seed") == "ok"
    assert found == {each.name: each.verdict for each in check(FINE).findings}


def test_the_point_mass_has_the_papers_sizes_and_only_its_success_is_out_of_reach():
    report = check(PROBLEMS["point-mass-2d"], SPDL(pacing="tradeoff"), budget=Budget())
    assert [each.name for each in report.warnings] == ["success"]
    seen = {each.name: each.seen for each in report.findings}
    assert seen["spaces"] == "observations of 6 numbers, actions of 2"
    assert seen["time limit"].startswith("100 steps; random episodes last")
    assert seen["updates to the target"] == "at least 46 and an offset of 14, of 1000 iterations"


def test_a_success_that_is_always_true_is_named_with_a_remedy():
    found = finding("success", Altered(length=2, reward="cue", field="success", value=True))
    assert found.verdict == "warning"
    assert found.seen.startswith("always true: at the end of all 96 episodes")
    assert "only for episodes that solve the task" in found.remedy


def test_the_pendulum_has_no_success_by_chance_and_enough_episodes_for_mastery_only():
    budget = Budget(num_environments=8)
    report = check(PENDULUM, budget=budget)
    assert [each.name for each in report.warnings] == ["success"]
    seen = {each.name: each.seen for each in report.findings}
    assert seen["time limit"] == "200 steps; random episodes last 200 to 200"
    assert seen["episodes per iteration"].startswith("about 10 in 2048 steps")
    assert seen["discount"] == "0.99 to the power of 200 steps is 0.13"
    assert report.flags[2:4] == ("--steps-per-iteration", "2048")
    report = check(PENDULUM, SPDL(pacing="tradeoff"), budget=budget)
    assert [each.name for each in report.warnings] == ["success", "episodes per iteration"]
    assert report.flags[2:4] == ("--steps-per-iteration", "8000")


def test_a_context_without_effect_is_found():
    found = finding("context effect", Deaf(length=2, reward="cue"))
    assert found.verdict == "warning"
    assert found.seen == "episodes from one seed are the same whatever cue is"
    assert "use the context given to reset" in found.remedy


def test_a_context_that_is_only_observed_is_found():
    problem = Altered(length=2, reward="one", field="success", value=True)
    found = finding("context effect", problem)
    assert found.verdict == "warning"
    assert found.seen.startswith("the observation shows cue, but no episode")


def test_a_hidden_context_is_found_and_has_an_effect():
    report = check(Blind(length=2, reward="cue"))
    assert [each.name for each in report.warnings] == ["context visible"]
    assert report.warnings[0].seen == "the first observation does not depend on cue"


def test_negative_returns_stop_the_tradeoff_but_not_mastery():
    problem = Probe(length=2, reward="action")
    found = finding("returns", problem, SPDL(pacing="tradeoff"))
    assert found.verdict == "warning"
    assert "alpha stays zero" in found.seen
    assert check(problem, SPDL(pacing="tradeoff")).flags[-2:] == ("--teacher.pacing", "mastery")
    assert finding("returns", problem, MASTERY).verdict == "ok"


def test_constant_returns_are_found():
    found = finding("return spread", Probe(length=2, reward="one"))
    assert found.verdict == "warning"
    assert found.seen == "constant, 1.9 in every episode at initial contexts"


@dataclass(frozen=True)
class Surviving(Probe):
    """A large reward for staying alive, a small one for the cue."""

    def step(self, noise, state, action):
        after = super().step(noise, state, action)
        return after._replace(reward=100.0 + state.cue)


def test_nearly_constant_returns_count_as_mastered():
    found = finding("return spread", Surviving(length=2))
    assert found.verdict == "warning"
    assert "every episode counts as mastered" in found.seen
    assert finding("return spread", Surviving(length=2), SPDL(pacing="tradeoff")).verdict == "ok"


def test_a_success_that_is_never_true_is_not_reported():
    found = finding("success", Altered(length=2, reward="cue", field="success"))
    assert found.verdict == "warning"
    assert found.seen == "not reported: true at the end of none of 96 episodes"
    assert "Step.success" in found.remedy


def test_the_share_of_successes_is_shown():
    assert finding("success", FINE).seen.endswith("% initial, 100% target")


def test_episodes_that_never_end_are_found():
    problem = Altered(length=2, ends_by="itself", field="terminated")
    found = finding("time limit", problem)
    assert found.verdict == "warning"
    assert found.remedy.startswith("report truncated in step 2")


def test_episodes_that_are_shorter_than_promised_are_found():
    found = finding("time limit", Hasty(length=3, reward="cue"))
    assert found.remedy == "lower min_episode_steps to 3 or less; 1 is always safe"


def test_wrong_sizes_and_missing_bounds_are_found():
    assert finding("spaces", Oversized()).remedy == "set observation_size to 2"
    found = finding("spaces", Unbounded(reward="cue"))
    assert found.verdict == "warning"
    assert found.seen.endswith("not all bounded")


@pytest.mark.parametrize(
    ("teacher", "least"),
    [
        (SPDL(), 4),  # 40 in ten iterations
        (SPDL(pacing="tradeoff"), 20),  # in one dimension; three per parameter would be 6
        (SPDL(pacing="tradeoff", window=100), 20),
        (Random(), 20),
    ],
)
def test_how_many_episodes_are_needed_depends_on_the_teacher(teacher, least):
    budget = Budget(iterations=100, steps_per_iteration=2 * least)
    found = finding("episodes per iteration", FINE, teacher, budget=budget)
    assert (found.verdict, found.seen) == (
        "ok",
        f"about {least} in {2 * least} steps, and {least} are needed",
    )
    budget = Budget(iterations=100, steps_per_iteration=2 * least - 2)
    found = finding("episodes per iteration", FINE, teacher, budget=budget)
    assert (found.verdict, found.remedy) == (
        "warning",
        f"{4 * least} steps per iteration give {2 * least}",
    )


def test_the_suggested_steps_fit_environments_and_minibatches():
    teacher, learner = SPDL(pacing="tradeoff"), PPO(num_minibatches=32)
    budget = Budget(iterations=100, steps_per_iteration=21, num_environments=3)
    found = finding("episodes per iteration", FINE, teacher, learner, budget=budget)
    assert found.seen.startswith("about 10 in 21 steps")
    assert found.flags == (("--steps-per-iteration", "96"),)
    flags = check(Probe(), teacher, learner, budget=budget).flags
    assert flags[2:4] == ("--steps-per-iteration", "96")  # enough episodes, but not divisible
    budget = Budget(iterations=100, steps_per_iteration=20)
    found = finding("episodes per iteration", FINE, teacher, SAC(), budget=budget)
    assert int(found.flags[0][1]) % SAC().steps_per_update == 0


def test_too_few_iterations_to_the_target_are_found():
    budget = Budget(iterations=20)
    found = finding(
        "updates to the target", PROBLEMS["point-mass-2d"], SPDL(pacing="tradeoff"), budget=budget
    )
    assert found.verdict == "warning"
    assert found.flags == (("--iterations", "120"),)  # twice 46 updates and an offset of 14
    start = SPDL(pacing="tradeoff", start="target")
    found = finding("updates to the target", FINE, start, budget=budget)
    assert found.seen == "none: contexts start at the target"


def test_a_final_reward_that_fades_is_found_but_not_a_reward_on_the_way():
    found = finding("discount", Probe(length=50, reward="last"))
    assert found.verdict == "warning"
    assert found.seen.startswith("0.9 to the power of 50 steps is 0.0052")
    assert "to 0.955," in found.remedy  # 0.1 is left of a reward after 50 steps
    assert finding("discount", Probe(length=50, reward="cue")).verdict == "ok"
    assert finding("discount", Probe(length=40, reward="last")).verdict == "ok"
    nothing = Altered(length=50, field="reward")
    assert finding("discount", nothing).verdict == "warning"


def test_episodes_that_their_seed_does_not_determine_are_found():
    report = check(Restless(length=2, reward="cue", noise=0.01))
    assert [each.name for each in report.warnings] == ["seed", "context effect"]
    report = check(Restless(length=2, reward="cue", noise=10.0))
    names = ["seed", "context effect", "context visible"]
    assert [each.name for each in report.warnings][:3] == names


def test_seeded_noise_is_no_fault():
    assert check(HostProbe(length=2, reward="cue", noise=0.5)).warnings == ()


def test_numbers_that_are_not_finite_are_refused():
    problem = Altered(length=2, field="reward", value=np.nan)
    with pytest.raises(SelfpacedError, match=r"returns of probe must be finite, got \[nan\]"):
        check(problem)


def test_an_error_of_the_environment_has_its_file_and_line():
    with pytest.raises(SelfpacedError) as stop:
        check(Failing())
    with open(__file__, encoding="utf-8") as file:
        line = 1 + next(n for n, text in enumerate(file) if "the line that is reported" in text)
    message = f"problem 'probe' failed with KeyError: 'mass' ({__file__}, line {line})"
    assert str(stop.value) == message


def test_errors_that_are_explained_already_stay_as_they_are():
    with pytest.raises(SelfpacedError, match=r"^explained$"), environment_errors("probe"):
        raise SelfpacedError("explained") from None


def test_random_actions_are_uniform():
    policy = RandomPolicy(Spec(1, (-1.0, 0.0, -np.inf), (3.0, 1.0, 0.0), discount=1.0))
    action = policy.policy(jnp.zeros(3), (), jnp.zeros(1))
    np.testing.assert_allclose(action, (1.0, 0.5, 0.0))
    noise = jax.random.normal(jax.random.key(0), (4000, 3))
    actions = jax.vmap(lambda each: policy.policy(each, (), jnp.zeros(1)))(noise)
    np.testing.assert_allclose(np.quantile(actions[:, 0], (0.25, 0.75)), (0.0, 2.0), atol=0.1)
    assert actions[:, 0].min() >= -1.0
    assert actions[:, 0].max() <= 3.0


def test_the_same_check_finds_the_same():
    assert check(FINE) == check(dataclasses.replace(FINE))


def test_random_choices_are_uniform():
    policy = RandomPolicy(Spec(1, (2.0,), (4.0,), discount=1.0, has_discrete_actions=True))
    noise = jax.random.normal(jax.random.key(0), (9000, 3))
    chosen = np.asarray(jax.vmap(lambda one: policy.policy(one, (), jnp.zeros(1)))(noise))[:, 0]
    values, counts = np.unique(chosen, return_counts=True)
    np.testing.assert_array_equal(values, [2.0, 3.0, 4.0])
    np.testing.assert_allclose(counts, 3000, atol=200)
