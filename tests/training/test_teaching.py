"""The teachers of a block of seeds: streams of each seed, and the optional abilities."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from selfpaced import PROBLEMS, Episodes, Gaussian, SelfpacedError
from selfpaced.training.streams import Purpose, host_stream
from selfpaced.training.teaching import TeacherBlock
from tests.probes import UserTeacher

CONTEXTS = PROBLEMS["point-mass-2d"].contexts
SEEDS = (3, 5)


class Memory(NamedTuple):
    first_observation: np.ndarray  # [M, O]
    value: np.ndarray  # [M]


@dataclass(frozen=True)
class Plain:
    """Sample uniformly and remember all episodes; without optional abilities."""

    def init(self, rng, contexts):
        return Memory(np.zeros((0, 1)), np.zeros(0))

    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)

    def update(self, rng, contexts, state, episodes):
        seen = np.concatenate([state.first_observation, episodes.first_observation])
        values = np.concatenate([state.value, episodes.value])
        return Memory(seen, values), {"teacher/drawn": rng.random()}


@dataclass(frozen=True)
class Constant:
    """Return the same from every `sample` and from every `update`."""

    sampled: object = None
    updated: object = None

    def init(self, rng, contexts):
        return Memory(np.zeros((0, 1)), np.zeros(0))

    def sample(self, rng, contexts, state, num):
        return self.sampled

    def update(self, rng, contexts, state, episodes):
        return self.updated


@dataclass(frozen=True)
class Able:
    """The same teacher with all abilities."""

    plain: Plain = Plain()

    def init(self, rng, contexts):
        return self.plain.init(rng, contexts)

    def sample(self, rng, contexts, state, num):
        return self.plain.sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        raise AssertionError("a block is updated at once")

    def update_block(self, rngs, contexts, states, episodes):
        updated = zip(rngs, states, episodes, strict=True)
        return [self.plain.update(rng, contexts, state, ended) for rng, state, ended in updated]

    def remembered(self, state):
        return state.first_observation

    def revalued(self, state, values):
        return state._replace(value=values)

    def gaussian(self, contexts, state):
        return Gaussian.diagonal([float(len(state.value)), 1.0], [1.0, 1.0])

    def advice(self, contexts, state, num_remaining):
        many = ("remembers much",) if len(state.value) > 2 else ()
        return (f"{num_remaining} left", *many)


def block(teacher):
    return TeacherBlock(teacher, CONTEXTS, SEEDS)


def ended(*observations):
    num = len(observations)
    first = np.array(observations, float).reshape(num, 1)
    zeros = np.zeros(num)
    return Episodes(np.zeros((num, 2)), first, zeros, zeros - 1.0, zeros > 0, zeros)


def ten_times(observations):
    return [10.0 * seen[:, 0] for seen in observations]


def no_values(observations):
    raise AssertionError("nothing is valued again")


@dataclass(frozen=True)
class Born(UserTeacher):
    """Starts with a given state."""

    state: object = ()

    def init(self, rng, contexts):
        return self.state


def test_every_seed_has_a_state():
    states = block(UserTeacher()).init()
    assert len(states) == len(SEEDS)


def test_contexts_are_drawn_from_the_stream_of_each_seed():
    teachers = block(Plain())
    source = teachers.sample(4, teachers.init(), 6)
    assert source.first.shape == (2, 6, 2)
    for seed, drawn in zip(SEEDS, source.first, strict=True):
        expected = CONTEXTS.sample_uniform(host_stream(seed, 4, Purpose.SAMPLE), 6)
        np.testing.assert_array_equal(drawn, expected)


def test_more_contexts_continue_a_stream_of_their_own():
    teachers = block(Plain())
    source = teachers.sample(4, teachers.init(), 6)
    rng = host_stream(5, 4, Purpose.SAMPLE_MORE)
    for _ in range(2):  # the second draw differs from the first
        np.testing.assert_array_equal(source.draw_more(1), CONTEXTS.sample_uniform(rng, 6))


@pytest.mark.parametrize("teacher", [Plain(), Able()], ids=["one by one", "at once"])
def test_every_seed_is_updated_from_its_episodes_and_its_stream(teacher):
    teachers = block(teacher)
    episodes = [ended(1.0, 2.0), ended(3.0)]
    states, metrics = teachers.update(4, teachers.init(), episodes, no_values)
    assert [state.first_observation.tolist() for state in states] == [[[1.0], [2.0]], [[3.0]]]
    expected = [host_stream(seed, 4, Purpose.UPDATE).random() for seed in SEEDS]
    assert [row["teacher/drawn"] for row in metrics] == expected


def test_remembered_episodes_are_valued_again_before_an_update():
    teachers = block(Able())
    states, _ = teachers.update(0, teachers.init(), [ended(1.0, 2.0), ended()], no_values)
    states, _ = teachers.update(1, states, [ended(3.0), ended(4.0)], ten_times)
    assert [state.value.tolist() for state in states] == [[10.0, 20.0, -1.0], [-1.0]]


def test_without_the_ability_nothing_is_valued_again():
    teachers = block(Plain())
    states, _ = teachers.update(0, teachers.init(), [ended(1.0), ended(2.0)], no_values)
    states, _ = teachers.update(1, states, [ended(), ended()], no_values)
    assert [state.value.tolist() for state in states] == [[-1.0], [-1.0]]


def test_gaussians_are_those_of_every_seed_or_none():
    states = (Memory(np.zeros((1, 1)), np.zeros(1)), Memory(np.zeros((4, 1)), np.zeros(4)))
    assert [each.mean[0] for each in block(Able()).gaussians(states)] == [1.0, 4.0]
    assert block(Plain()).gaussians(states) == [None, None]


def test_advice_is_counted_over_seeds():
    states = (Memory(np.zeros((1, 1)), np.zeros(1)), Memory(np.zeros((4, 1)), np.zeros(4)))
    assert block(Able()).advice(states, 9) == Counter({"9 left": 2, "remembers much": 1})
    assert block(Plain()).advice(states, 9) == Counter()


@pytest.mark.parametrize(
    ("sampled", "message"),
    [
        ([(0.0, 1.0)], r"Constant.sample must return an array of shape \(1, 2\), got list"),
        (np.zeros((2, 2)), r"must return an array of shape \(1, 2\), got \(2, 2\)"),
        (np.array([[0.0, np.nan]]), r"must return finite contexts, got \[\[0.0, nan\]\]"),
        (np.array([[0.0, 9.0]]), r"must return contexts in the box, got \[\[0.0, 9.0\]\]"),
        (np.array([[0.0, 1j]]), r"must return real numbers, got an array of complex128"),
    ],
)
def test_what_is_no_context_is_refused(sampled, message):
    teachers = block(Constant(sampled=sampled))
    with pytest.raises(SelfpacedError, match=message):
        teachers.sample(0, teachers.init(), 1)


def _endless():
    endless = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (_endless(), "Born.init must return a state with fewer than 32 levels"),
        ((np.zeros(1), np.array(1j)), "Born.init must return .* complex128 in state.1"),
        ({"names": ["a"]}, "Born.init must return a state of arrays .* in state.names.0"),
    ],
)
def test_a_first_state_that_no_checkpoint_can_hold_is_refused(state, message):
    with pytest.raises(SelfpacedError, match=message):
        block(Born(state)).init()


@pytest.mark.parametrize("value", ["high", 1j, np.zeros(2), None])
def test_a_metric_that_is_no_number_is_refused(value):
    teachers = block(Constant(updated=(Memory(np.zeros((0, 1)), np.zeros(0)), {"level": value})))
    with pytest.raises(SelfpacedError, match="must return metrics that are numbers, got 'level'"):
        teachers.update(0, teachers.init(), [ended(), ended()], no_values)


@pytest.mark.parametrize("updated", [None, Memory(np.zeros((0, 1)), np.zeros(0))])
def test_an_update_without_metrics_is_refused(updated):
    teachers = block(Constant(updated=updated))
    with pytest.raises(SelfpacedError, match="must return its state and a dictionary of metrics"):
        teachers.update(0, teachers.init(), [ended(), ended()], no_values)
