"""Random streams: determined by (seed, iteration, purpose) and by nothing else."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from selfpaced.training.streams import Purpose, Streams, host_stream, keys_of_seeds

STREAMS = Streams((3, 5), iteration=7, purpose=Purpose.TRAIN)
OTHERS = {
    "seed": replace(STREAMS, seeds=(4, 6)),
    "iteration": replace(STREAMS, iteration=8),
    "purpose": replace(STREAMS, purpose=Purpose.EVALUATE),
}


def numbers(streams):
    return np.array([rng.random() for rng in replace(streams).generators])


def data(streams):
    return np.asarray(jax.random.key_data(streams.keys))


def test_purposes_keep_their_numbers():
    assert [(purpose.name, purpose.value) for purpose in Purpose] == [
        ("INIT", 0),
        ("SAMPLE", 1),
        ("TRAIN", 2),
        ("UPDATE", 3),
        ("EVALUATE", 4),
        ("REPORT", 5),
        ("IMITATE", 6),
        ("SAMPLE_MORE", 7),
        ("EVALUATE_KEPT", 8),
    ]


def test_a_host_stream_is_numpys_generator_of_the_three_numbers():
    expected = np.random.default_rng((3, 7, 2)).random(4)
    np.testing.assert_array_equal(host_stream(3, 7, Purpose.TRAIN).random(4), expected)


def test_a_key_folds_iteration_and_purpose_into_the_seed():
    expected = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 7), 2)
    (key,) = keys_of_seeds([5], 7, Purpose.TRAIN)
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(expected))


def test_the_same_streams_give_the_same_numbers():
    np.testing.assert_array_equal(numbers(STREAMS), numbers(STREAMS))
    np.testing.assert_array_equal(data(STREAMS), data(replace(STREAMS)))


@pytest.mark.parametrize("what", OTHERS)
def test_streams_that_differ_give_other_numbers(what):
    assert (numbers(OTHERS[what]) != numbers(STREAMS)).all()
    assert (data(OTHERS[what]) != data(STREAMS)).any(axis=1).all()


def test_a_seed_does_not_depend_on_the_seeds_beside_it():
    alone = replace(STREAMS, seeds=(5,))
    assert numbers(alone)[0] == numbers(STREAMS)[1]
    np.testing.assert_array_equal(data(alone)[0], data(STREAMS)[1])


def test_a_number_distinguishes_batches_of_one_iteration():
    first, second = (replace(STREAMS, number=number) for number in (0, 1))
    assert (data(first) != data(second)).any(axis=1).all()
    assert (data(first) != data(STREAMS)).any(axis=1).all()
    expected = jax.random.fold_in(STREAMS.keys[0], 1)
    np.testing.assert_array_equal(data(second)[0], jax.random.key_data(expected))
