from __future__ import annotations

import pytest

from kernelref.run.batch import join_sources, launch_boxes
from kernelref.run.job import GroupRange
from tests.run.device_launches import GOOD, MISCOMPUTE, launch


def test_equal_texts_are_compiled_once_and_names_never_meet() -> None:
    text, names = join_sources([launch(GOOD), launch(MISCOMPUTE), launch(GOOD)])
    assert names[0] == names[2] != names[1]
    assert text.count("__kernel") == 2
    assert all(text.count(f"void {name}(") == 1 for name in set(names))


def test_a_kernels_name_is_replaced_as_a_word_only() -> None:
    source = "__kernel void f(__global float *off) { off[0] = 1.0f; }"
    text, names = join_sources([launch("", source=source)])
    assert f"void {names[0]}(__global float *off) {{ off[0] = 1.0f; }}" in text


def test_a_partial_launch_asks_for_its_group_through_the_offset() -> None:
    boxes = (GroupRange((5, 0, 0), (2, 1, 1)), GroupRange((15, 0, 0), (1, 1, 1)))
    part = launch(GOOD, ranges=boxes)
    text, names = join_sources([launch(GOOD), part])
    assert names[0] != names[1]
    assert text.count("get_group_id") == 1
    assert text.count("KERNELREF_GROUP_ID(0)") == 1
    assert list(launch_boxes(part)) == [
        ((8, 1, 1), (4, 1, 1), (20, 0, 0)),
        ((4, 1, 1), (4, 1, 1), (60, 0, 0)),
    ]
    assert list(launch_boxes(launch(GOOD))) == [((64, 1, 1), (4, 1, 1), None)]


def test_without_a_group_size_groups_count_work_items() -> None:
    assert list(launch_boxes(launch(GOOD, groups=(7, 2, 1), local=None))) == [
        ((7, 2, 1), None, None)
    ]


def test_a_launch_of_no_groups_launches_nothing() -> None:
    assert not list(launch_boxes(launch(GOOD, groups=(3, 0, 1))))


@pytest.mark.parametrize(
    "box", [GroupRange((15, 0, 0), (2, 1, 1)), GroupRange((0, -1, 0), (1, 1, 1))]
)
def test_boxes_outside_the_launch_are_refused(box: GroupRange) -> None:
    with pytest.raises(ValueError, match="not within"):
        list(launch_boxes(launch(GOOD, ranges=(box,))))
