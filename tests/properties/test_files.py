"""Files give back what was written, and a damaged one is refused in one line."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from selfpaced import SelfpacedError
from selfpaced.runs.history_log import START, append_frame, read_frames
from selfpaced.runs.manifest import read_verified, write_files
from selfpaced.runs.storage import json_bytes, read_arrays, write_arrays
from selfpaced.runs.tables import contexts_bytes, read_contexts, read_table, table_bytes

ANY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # every example overwrites
)
NAMES = st.text("abc/_-.é", min_size=1, max_size=8)
KINDS = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes(endianness="=")
    | arrays.unsigned_integer_dtypes(endianness="=")
    | arrays.floating_dtypes(endianness="=", sizes=(32, 64))
)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = st.dictionaries(NAMES, arrays.arrays(KINDS, SHAPES), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
PLACES = st.floats(0, 1, exclude_max=True)


def flip(path, place, bit):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)


@ANY
@given(written=ARRAYS, notes=st.dictionaries(st.text(), st.integers() | st.text(), max_size=3))
def test_arrays_come_back_bit_by_bit(tmp_path, written, notes):
    notes.pop("checksum", None)
    write_arrays(tmp_path / "one", written, notes)
    found, found_notes = read_arrays(tmp_path / "one")
    assert found_notes == notes
    assert found.keys() == written.keys()
    for name, array in written.items():
        same = (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert same
        assert found[name].tobytes() == array.tobytes()


@ANY
@given(written=ARRAYS.filter(len), place=PLACES, bit=st.integers(0, 7))
def test_a_flipped_bit_in_arrays_is_found_or_changes_nothing(tmp_path, written, place, bit):
    path = tmp_path / "one"
    write_arrays(path, written, {"iteration": 3})
    flip(path, place, bit)
    try:
        found, notes = read_arrays(path, is_signed=True)
    except SelfpacedError:
        return
    assert notes == {"iteration": 3}
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in written.items()
    }


@ANY
@given(VALUES)
def test_json_has_only_numbers_that_other_programs_read(value):
    def refuse(constant):
        raise AssertionError(constant)

    found = json.loads(json_bytes({"value": value}), parse_constant=refuse)["value"]
    if isinstance(value, float) and not math.isfinite(value):
        assert found is None
    elif not isinstance(value, list | dict):
        assert found == value


@ANY
@given(
    columns=arrays.arrays(float, (3, 2, 2), elements=st.floats(width=32, allow_infinity=False)),
    seeds=st.lists(st.integers(0, 2**31), min_size=2, max_size=2, unique=True),
)
def test_a_table_comes_back_in_the_precision_of_training(tmp_path, columns, seeds):
    path = tmp_path / "table.csv"
    iteration = np.array([0, 5, 10])
    path.write_bytes(
        table_bytes(seeds, {"iteration": iteration, "a": columns[..., 0], "b": columns[..., 1]})
    )
    found = read_table(path, seeds)
    np.testing.assert_array_equal(found["iteration"], iteration)
    for index, name in enumerate("ab"):
        expected = columns[..., index].astype(np.float32)
        np.testing.assert_array_equal(found[name].astype(np.float32), expected)


@ANY
@given(content=st.binary(max_size=300))
def test_rubbish_is_no_table_and_no_contexts(tmp_path, content):
    path = tmp_path / "rubbish"
    path.write_bytes(content)
    for read in (lambda: read_table(path, (1, 2)), lambda: read_contexts(path)):
        with pytest.raises(SelfpacedError) as error:
            read()
        assert "\n" not in str(error.value)


@ANY
@given(
    samples=arrays.arrays(float, (2, 3, 1), elements=st.floats(width=32)),
    place=PLACES,
    bit=st.integers(0, 7),
)
def test_a_flipped_bit_in_a_run_folder_is_found(tmp_path, samples, place, bit):
    path = tmp_path / "contexts.npz"
    write_files(tmp_path, {path.name: contexts_bytes((1, 2, 3), {"samples": samples})})
    assert read_contexts(path)["samples"].tobytes() == samples.tobytes()
    flip(path, place, bit)
    with pytest.raises(SelfpacedError, match="is damaged or was edited"):
        read_verified(path)


@ANY
@given(
    payloads=st.lists(st.binary(max_size=50), min_size=1, max_size=4),
    kept=st.integers(0, 4),
    place=PLACES,
    bit=st.integers(0, 7),
)
def test_a_record_holds_the_frames_up_to_a_mark(tmp_path, payloads, kept, place, bit):
    path = tmp_path / "history"
    path.unlink(missing_ok=True)
    marks = [START]
    for payload in payloads:
        marks.append(append_frame(path, marks[-1], payload))
    kept = min(kept, len(payloads))
    assert list(read_frames(path, marks[kept])) == payloads[:kept]
    mark = append_frame(path, marks[kept], b"another course")  # of a process that was killed
    assert list(read_frames(path, mark)) == [*payloads[:kept], b"another course"]
    flip(path, place, bit)
    with pytest.raises(SelfpacedError, match="is damaged"):
        list(read_frames(path, mark))
