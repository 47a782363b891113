"""Context spaces and episodes for tests of teachers."""

import numpy as np

from selfpaced import ContextSpace, Episodes, Gaussian, Mixture, Samples, Uniform

LINE = ContextSpace(("x",), (0.0,), (1.0,), Samples(np.zeros((1, 1))), Samples(np.ones((1, 1))))
SQUARE = ContextSpace(
    ("x", "y"), (-4.0, 0.5), (4.0, 8.0),
    initial=Uniform((-0.5, 6.0), (0.5, 8.0)),
    target=Mixture(
        (Gaussian.diagonal((3.0, 0.6), (0.01, 0.01)), Gaussian.diagonal((-3.0, 0.6), (0.01, 0.01)))
    ),
)  # fmt: skip


def rng(number=0):
    return np.random.default_rng(number)


def episodes(contexts, returns, success=None, value=None):
    """Return episodes in these contexts with these returns."""
    num = len(contexts)
    returns = np.broadcast_to(np.asarray(returns, float), (num,))
    return Episodes(
        context=np.asarray(contexts, float),
        first_observation=np.zeros((num, 2)),
        discounted_return=returns,
        value=returns if value is None else np.broadcast_to(np.asarray(value, float), (num,)),
        success=np.broadcast_to(np.asarray(returns > 0.5 if success is None else success), (num,)),
        length=np.full(num, 10),
    )


def play(teacher, contexts, outcome, num_updates, num=40, state=None, seed=0):
    """Return the states after updates from episodes whose return is a function of the contexts."""
    state = teacher.init(rng(seed), contexts) if state is None else state
    states = [state]
    for number in range(num_updates):
        drawn = teacher.sample(rng(1000 + number), contexts, state, num)
        ended = episodes(drawn, outcome(drawn))
        state, _ = teacher.update(rng(2000 + number), contexts, state, ended)
        states.append(state)
    return states
