"""How several launches share one program build, and how a launch is cut into boxes of groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernelref.run.job import PARTIAL_PRELUDE, GroupRange, KernelLaunch

Triple = tuple[int, int, int]


def join_sources(launches: Sequence[KernelLaunch]) -> tuple[str, list[str]]:
    """One program text for all launches, and the name of each launch's kernel in it.

    Every kernel gets a name of its own; equal texts are compiled once. A text of which only some
    groups are launched asks for its group number in a way that follows the launch's offset.
    """
    names: dict[tuple[str, str, bool], str] = {}
    texts: list[str] = []
    for launch in launches:
        key = (launch.name, launch.source, launch.ranges is not None)
        if key not in names:
            names[key] = f"k{len(names)}_{launch.name}"
            texts.append(_rename(launch, names[key]))
    return "\n".join(texts), [
        names[launch.name, launch.source, launch.ranges is not None] for launch in launches
    ]


def launch_boxes(launch: KernelLaunch) -> Iterator[tuple[Triple, Triple | None, Triple | None]]:
    """Global size, local size and offset, in work-items, of each box of groups to launch.

    A launch of no groups has no box: a driver would refuse it.
    """
    unit = launch.local or (1, 1, 1)
    if 0 in launch.groups:
        return
    if launch.ranges is None:
        yield _times(launch.groups, unit), launch.local, None
        return
    for box in launch.ranges:
        _check_inside(box, launch.groups)
        yield _times(box.count, unit), launch.local, _times(box.first, unit)


def _rename(launch: KernelLaunch, name: str) -> str:
    text = re.sub(rf"\b{re.escape(launch.name)}\b", name, launch.source)
    # With `#line`, messages count lines in the launch's own text.
    if launch.ranges is None:
        return f"#line 1\n{text}"
    text = re.sub(r"\bget_group_id\b", "KERNELREF_GROUP_ID", text)
    return f"{PARTIAL_PRELUDE}#line 1\n{text}"


def _times(left: Triple, right: Triple) -> Triple:
    return (left[0] * right[0], left[1] * right[1], left[2] * right[2])


def _check_inside(box: GroupRange, groups: Triple) -> None:
    for first, count, total in zip(box.first, box.count, groups, strict=True):
        if first < 0 or count < 1 or first + count > total:
            raise ValueError(f"groups {box.first} + {box.count} are not within {groups}")
