"""The pendulum of `examples/pendulum.py` with the whole box of masses and torque limits as target.

selfpaced train benchmarks.pendulum_box:PROBLEM --teacher doraemon --seeds 10 --iterations 400 \
    --num-environments 8 --learner.learning-rate 1e-3 --learner.num-epochs 10 \
    --learner.num-minibatches 32 --learner.time-outs bootstrap

Teachers that widen ranges (DORAEMON, ADR) beside Random, whose contexts are the target. They start
at the light pendulum with the strong motor.
"""

from dataclasses import replace

from examples.pendulum import PENDULUM
from selfpaced import Uniform

PROBLEM = replace(
    PENDULUM,
    name="pendulum-box",
    contexts=replace(
        PENDULUM.contexts, target=Uniform(PENDULUM.contexts.lower, PENDULUM.contexts.upper)
    ),
)
