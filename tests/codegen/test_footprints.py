"""What a Program takes of a device is what the optimizer said it would take."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kernelref.cases.sources import KernelSource, Unreadable, list_kernels, read_kernels, sample
from kernelref.codegen.lower import lower
from kernelref.codegen.target import FULL
from kernelref.errors import Unsupported
from kernelref.jobs.opt_choice import RandomWalk
from kernelref.jobs.run_schedules import schedules
from kernelref.opt.footprint import footprint
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from tests.shared_bugs import KERNEL_FILES, kernel_file

LENGTH = 5
REAL_KERNELS = 20
NO_TEXT = {"variable-name", "in-place-hazard"}


def sources(files: list[str], count: int | None = None) -> Iterable[KernelSource]:
    for source in read_kernels(sample(list_kernels(files), count, seed=1)):
        assert not isinstance(source, Unreadable)
        yield source


def equal_footprints(found: Iterable[KernelSource], limits: Limits, salt: str) -> tuple[int, int]:
    """How many Programs were compared, and how many of them share memory."""
    equal = sharing = 0
    for source in found:
        opened = Kernel.open(source.ast, limits)
        walk = RandomWalk(1, LENGTH)
        (drawn,) = schedules(opened, (), walk, salt=source.name + salt, is_strict=False)
        try:
            program = lower(drawn.kernel, FULL)
        except Unsupported as error:
            if error.reason not in NO_TEXT:
                raise
            continue
        wanted = footprint(drawn.kernel)
        what = f"{source.name} {drawn.kernel.applied_opts}"
        assert program.shared_nbytes == wanted.shared_nbytes, what
        assert (program.groups, program.local) == (wanted.groups, wanted.local), what
        equal += 1
        sharing += bool(program.shared)
    return equal, sharing


@pytest.mark.parametrize("name", PRESETS)
def test_of_every_case_of_the_corpus_under_random_opts(name: str) -> None:
    equal, sharing = equal_footprints(sources(["corpus"]), PRESETS[name], name)
    assert equal >= 220
    has_groups = PRESETS[name].has_local and PRESETS[name].has_shared
    assert sharing >= 40 if has_groups else sharing == 0


@pytest.mark.parametrize("file", KERNEL_FILES)
@pytest.mark.parametrize("name", PRESETS)
def test_of_real_kernels_under_random_opts(name: str, file: str) -> None:
    found = sources([str(kernel_file(file))], REAL_KERNELS)
    equal, _ = equal_footprints(found, PRESETS[name], name)
    assert equal == REAL_KERNELS
