"""Control steps per second of the MuJoCo problems, beside bare `mujoco.rollout` on the same model.

python benchmarks/vector_environments.py                    every robot, 1 and 2 threads
python benchmarks/vector_environments.py --robot arm --num 50

Both sides are measured in turns, and the result is the median of the rounds' shares: other load on
the machine slows both. On a busy machine, `--clock cpu` counts processor time instead; with several
threads it does not include waiting. Episodes that end are reset, as in training. The bare side
simulates the same states and controls again, in chunks of MuJoCo's default size, without
observations and rewards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.base import HostEnvironment
from selfpaced.environments.mujoco.library import require_mujoco

require_mujoco()
import mujoco  # noqa: E402 (after require_mujoco)
from mujoco.rollout import Rollout  # noqa: E402

ROBOTS: dict[str, Callable[[], HostEnvironment]] = {"arm": BallCatching, "ant": AntGate}
REQUIRED = 0.8  # share of the bare speed, at least
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Clock = Callable[[], float]


def environment_round(vector, actions, clock: Clock) -> float:
    """Return the seconds for all steps, resets included."""
    vector.reset(seed=0)
    start = clock()
    for action in actions:
        _, _, terminated, truncated, _ = vector.step(action)
        ended = terminated | truncated
        if ended.any():
            vector.reset(options={"reset_mask": ended})
    return clock() - start


def recorded_round(vector, actions) -> list[tuple]:
    """Return states and controls of every call; a simulation at rest would be cheaper."""
    simulations, calls = vector.simulations, []
    rollout = simulations._rollout

    def record(states, controls, *outputs):
        calls.append((states.copy(), controls.copy()))
        rollout(states, controls, *outputs)

    simulations._rollout = record
    environment_round(vector, actions, time.perf_counter)
    simulations._rollout = rollout
    return calls


def bare_round(vector, calls: list[tuple], num_threads: int, clock: Clock) -> float:
    """Return the seconds for the same calls of MuJoCo's own function."""
    simulations = vector.simulations
    num, frame_skip, model = vector.num_envs, simulations.frame_skip, simulations.model
    after = np.zeros((num, frame_skip, simulations.states.shape[1]))
    sensors = np.zeros((num, frame_skip, model.nsensordata))
    threads = num_threads if num_threads > 1 else 0
    data = [mujoco.MjData(model) for _ in range(max(threads, 1))]
    with Rollout(nthread=threads) as pool:
        start = clock()
        for states, controls in calls:
            pool.rollout(
                [model] * num,
                data,
                states,
                controls,
                control_spec=simulations._control_spec,
                nstep=frame_skip,
                state=after,
                sensordata=sensors,
                skip_checks=True,
            )
        return clock() - start


def measure(
    robot: str, num: int, num_threads: int, num_steps: int, rounds: int, clock: Clock
) -> str:
    vector = ROBOTS[robot]().make(num, num_threads)
    size = len(vector.environment.action_low)
    actions = 0.3 * np.random.default_rng(0).standard_normal((num_steps, num, size))
    calls = recorded_round(vector, actions)
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(environment_round(vector, actions, clock))
        bare.append(bare_round(vector, calls, num_threads, clock))
    vector.close()
    speeds = [num * num_steps / np.median(seconds) for seconds in (ours, bare)]
    share = np.median(np.divide(bare, ours))
    verdict = "met" if share >= REQUIRED else "MISSED"
    row = f"{robot:5} {num:5} {num_threads:8} {speeds[0]:13,.0f} {speeds[1]:13,.0f} {share:7.0%}"
    return f"{row} (required: at least {REQUIRED:.0%}, {verdict})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", choices=sorted(ROBOTS), nargs="*", default=sorted(ROBOTS))
    parser.add_argument("--num", type=int, default=50)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    arguments = parser.parse_args()
    print("robot   num  threads  environment          bare   share")
    for robot in arguments.robot:
        for num_threads in arguments.threads:
            settings = arguments.num, num_threads, arguments.steps, arguments.rounds
            print(measure(robot, *settings, CLOCKS[arguments.clock]), flush=True)


if __name__ == "__main__":
    main()
