"""What lowering promises: coverage of the launch, scopes, barriers, sharing, refusals."""

from __future__ import annotations

import gzip
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernelref.codegen.lower import lower
from kernelref.codegen.lower.launch import launch_of
from kernelref.codegen.opencl import render
from kernelref.codegen.program import (
    GROUP_IDS,
    LOCAL_IDS,
    Apply,
    Assign,
    Barrier,
    Combine,
    Convert,
    Define,
    DefineIndex,
    Guarded,
    Lane,
    LoadGlobal,
    LoadShared,
    Loop,
    Masked,
    Operand,
    Pack,
    Program,
    ProgramValue,
    Register,
    Statement,
    StoreGlobal,
    StoreShared,
    indices,
    nested,
)
from kernelref.codegen.target import MINIMAL, POCL, Target
from kernelref.errors import KernelOptError, Unsupported
from kernelref.ir.ast import Ast, Load, Store
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import DOUBLE, FLOAT, INT8, INT32
from kernelref.ir.index import Var, evaluate, variables
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr import Reader
from kernelref.ir.view import View
from kernelref.opt.footprint import footprint
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from tests.golden.catalogue import CATALOGUE
from tests.shared_bugs import KERNEL_FILES, kernel_file

MODELS: dict[str, Ast] = {
    "matmul": kernel(buffer(1, (16, 32)) @ buffer(2, (32, 24))),
    "siblings": kernel(buffer(1, (8, 16)).sum(1) + buffer(2, (8, 16)).max(1)),
    "dependent": kernel((buffer(1, (4, 8, 12)).sum(2) * buffer(2, (4, 8, 1))).max(1)),
    "three": kernel((buffer(1, (4, 8, 8, 3)).sum(3).max(2) + buffer(2, (4, 8, 1, 1))).sum(1)),
    "bytes": kernel((buffer(1, (8, 16), INT8) * buffer(2, (8, 16), INT8)).sum(1)),
    "padded": kernel(buffer(1, (5, 7)).pad(((0, 3), (1, 4))).sum(1)),
    "twice": kernel(
        (buffer(1, (4, 8, 12)).sum(2) * buffer(2, (4, 8, 1))).max(1)
        + (buffer(1, (4, 8, 12)).sum(2) + buffer(3, (4, 8, 1))).sum(1)
    ),
    "elementwise": kernel(buffer(1, (12, 16)) + buffer(2, (12, 16))),
}


def random_walk(opened: Kernel, rng: random.Random, length: int) -> Kernel:
    """Up to `length` random opts that the kernel accepts."""
    ops = [op for op in OptOps if op not in (OptOps.TC, OptOps.LASTLOCAL, OptOps.NOLOCALS)]
    for _ in range(6 * length):
        opt = Opt(rng.choice(ops), rng.randrange(5), rng.choice((0, 2, 3, 4, 7, 8, 16)))
        if len(opened.applied_opts) == length:
            break
        try:
            opened = opened.apply_opt(opt)
        except KernelOptError:
            continue
    return opened


def walks(count: int, seed: int) -> Iterator[Kernel]:
    rng = random.Random(seed)
    for ast in MODELS.values():
        for _ in range(count):
            yield random_walk(Kernel.open(ast), rng, rng.randrange(7))


def registers(value: ProgramValue) -> Iterator[Register]:
    """The registers that a value reads."""
    parts: tuple[Operand, ...]
    match value:
        case Register():
            yield value
        case Lane(register):
            yield register
        case Masked(_, operand) | Convert(operand):
            yield from registers(operand)
        case Pack(parts) | Apply(_, parts):
            for part in parts:
                yield from registers(part)
        case Combine(_, left, right):
            yield from registers(left)
            yield from registers(right)
        case _:
            return


def check_scopes(program: Program) -> None:
    """Every register and index variable is defined once, around or before each of its uses."""
    known_arrays = {array.name for array in program.shared} | {b.name for b in program.buffers}
    defined: Counter[str] = Counter()

    def check(body: tuple[Statement, ...], names: frozenset[str]) -> None:
        for statement in body:
            read = {var.name for index in indices(statement) for var in variables(index)}
            match statement:
                case Define(register, value) | Assign(register, value):
                    read |= {r.name for r in registers(value)}
                    if isinstance(value, LoadGlobal | LoadShared):
                        name = value.buffer if isinstance(value, LoadGlobal) else value.array
                        assert name in known_arrays
                case StoreGlobal(value=value) | StoreShared(value=value):
                    read |= {r.name for r in registers(value)}
            assert read <= names, (statement, read - names)
            match statement:
                case Define(register):
                    defined[register.name] += 1
                    names |= {register.name}
                case DefineIndex(variable):
                    defined[variable.name] += 1
                    names |= {variable.name}
                case Assign(register):
                    assert register.name in names
                case Loop(variable, _, inner):
                    defined[variable.name] += 1
                    check(inner, names | {variable.name})
                case Guarded(_, inner):
                    check(inner, names)

    symbolic = {var.name for var in program.variables}
    check(program.body, frozenset({*GROUP_IDS, *LOCAL_IDS, *symbolic}))
    assert set(defined.values()) <= {1}, defined.most_common(3)


def check_barriers(program: Program) -> None:
    """A barrier between each write and read of a shared array, none under a work-item's condition.

    Loop bodies are gone through twice, so that the next round meets what this one left.
    """
    read: set[str] = set()
    written: set[str] = set()

    def check(body: tuple[Statement, ...]) -> None:
        for statement in body:
            match statement:
                case Barrier():
                    read.clear()
                    written.clear()
                case StoreShared(array):
                    assert array not in read
                    written.add(array)
                case Define(_, LoadShared(array)):
                    assert array not in written
                    read.add(array)
                case Guarded(condition, inner):
                    local = {v.name for v in variables(condition)} & set(LOCAL_IDS)
                    assert not (local and any(isinstance(s, Barrier) for s in nested(inner)))
                    check(inner)
                case Loop(_, _, inner):
                    check(inner)
                    check(inner)

    check(program.body)


@pytest.mark.parametrize("grid", [(100, 100, 100), (5, 5, 5), (7, 4, 2), (4, 4, 100)])
@pytest.mark.parametrize("shape", [(6,), (5, 3), (2, 3, 4), (2, 3, 2, 3), (2, 2, 3, 2, 2)])
def test_every_point_has_one_work_item(shape: tuple[int, ...], grid: tuple[int, int, int]) -> None:
    order = tuple(reversed(range(len(shape))))
    opened = Kernel.open(kernel(buffer(1, shape).permute(*order) + 1.0))
    target = replace(MINIMAL, grid_max=grid)
    launch = launch_of(opened, target)
    assert all(int(n) <= most for n, most in zip(launch.groups, grid, strict=True))
    found: Counter[tuple[int, ...]] = Counter()
    for ids in itertools.product(*(range(int(n)) for n in launch.groups)):
        values = dict(zip(GROUP_IDS, ids, strict=True))
        for statement in launch.prelude:
            values[statement.variable.name] = int(evaluate(statement.value, values))
        if evaluate(launch.guard, values):
            point = tuple(int(evaluate(c, values)) for _, c in sorted(launch.coordinates.items()))
            found[point] += 1
    extents = [range(int(axis.extent)) for axis in opened.axes]
    assert found == Counter(itertools.product(*extents))


def test_scopes_barriers_and_footprint() -> None:
    shared = 0
    for walked in walks(25, seed=1):
        program = lower(walked, POCL)
        check_scopes(program)
        check_barriers(program)
        wanted = footprint(walked)
        assert program.shared_nbytes == wanted.shared_nbytes
        assert (program.groups, program.local) == (wanted.groups, wanted.local)
        assert len(render(program, POCL)) > 100
        shared += bool(program.shared)
    assert shared > 20


def test_catalogue_scopes_and_barriers() -> None:
    for entry in CATALOGUE.values():
        program = lower(entry.kernel(), entry.target)
        check_scopes(program)
        check_barriers(program)


def test_shared_nodes_are_computed_once() -> None:
    value = buffer(1, (8,))
    for _ in range(60):
        value = value + value
    program = lower(Kernel.open(kernel(value)), POCL)
    assert sum(isinstance(s, Define) for s in nested(program.body)) == 61


def test_what_does_not_vary_along_a_loop_stands_before_it() -> None:
    row = buffer(2, (4, 1)).exp2().expand((4, 16))
    program = lower(Kernel.open(kernel((buffer(1, (4, 16)) * row).sum(1))), POCL)
    (loop,) = (s for s in program.body if isinstance(s, Loop))
    inside = [s.value for s in loop.body if isinstance(s, Define)]
    assert len(inside) == 2
    assert isinstance(inside[0], LoadGlobal)
    assert inside[0].buffer == "data1"


def test_in_place_reads_of_own_elements_are_allowed() -> None:
    st = ShapeTracker.from_shape((4, 4))
    own = Tensor(Load(0, FLOAT, st))
    half = ShapeTracker((View((4, 4), (4, 1), 0, ((0, 4), (0, 2))),))
    row = ShapeTracker((View((4, 4), (0, 1), 4, ((1, 2), (0, 4))),))
    for other in (half, row):
        ast = kernel(own + Tensor(Load(0, FLOAT, other)))
        assert lower(Kernel.open(ast), POCL).buffers[0].is_output


@pytest.mark.parametrize(
    "view",
    [
        View((4, 4), (1, 4)),
        View((4, 4), (4, 0)),
        View((4, 4), (-4, 1), 12),
        View((4, 4), (4, 1), 1, ((0, 4), (0, 3))),
    ],
    ids=["transposed", "broadcast", "flipped", "shifted"],
)
def test_in_place_reads_of_others_elements_are_refused(view: View) -> None:
    load = Load(0, FLOAT, ShapeTracker((view,)))
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((4, 4)), load),)
    with pytest.raises(Unsupported) as caught:
        lower(Kernel.open(ast), POCL)
    assert caught.value.reason == "in-place-hazard"


def test_in_place_reads_of_elements_that_nobody_writes_are_allowed() -> None:
    upper = ShapeTracker((View((2, 4), (4, 1), 8),))
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((2, 4)), Load(0, FLOAT, upper)),)
    assert lower(Kernel.open(ast), POCL).buffers[0].elements == 16


def test_in_place_reads_come_before_stores() -> None:
    st = ShapeTracker.from_shape((4, 4))
    opened = Kernel.open(kernel(Tensor(Load(0, FLOAT, st)) * 2.0))
    opened = opened.apply_opt(Opt(OptOps.UPCAST, 0, 2))
    body = lower(opened, POCL).body
    kinds = [isinstance(s, StoreGlobal) for s in body]
    assert kinds == sorted(kinds)


def test_no_double() -> None:
    program = lower(Kernel.open(kernel(buffer(1, (4,), DOUBLE) * 2.0)), MINIMAL)
    with pytest.raises(Unsupported) as caught:
        render(program, MINIMAL)
    assert caught.value.reason == "no-double"


def test_group_size() -> None:
    opened = Kernel.open(MODELS["elementwise"]).apply_opt(Opt(OptOps.LOCAL, 0, 0))
    with pytest.raises(Unsupported) as caught:
        lower(opened, MINIMAL)
    assert caught.value.reason == "group-size"


def test_grid_size() -> None:
    opened = Kernel.open(MODELS["elementwise"])
    with pytest.raises(Unsupported) as caught:
        lower(opened, replace(MINIMAL, grid_max=(2, 2, 2)))
    assert caught.value.reason == "grid-size"


@pytest.mark.parametrize(("name", "is_refused"), [("idx0", False), ("i", False), ("gidx0", True)])
def test_symbolic_names(name: str, is_refused: bool) -> None:
    """Real kernels call variables idx0; those that lowering itself uses would be captured."""
    ast = kernel(buffer(1, (4,), INT32) + constant(Var(name, 0, 9), (4,), INT32))
    if is_refused:
        with pytest.raises(Unsupported) as caught:
            lower(Kernel.open(ast), POCL)
        assert caught.value.reason == "variable-name"
    else:
        assert f"const int var_{name}" in render(lower(Kernel.open(ast), POCL), POCL)


def test_vectors_are_aligned_and_unmasked() -> None:
    aligned = kernel(buffer(1, (16,)) + 1.0)
    shifted = kernel(buffer(1, (17,)).shrink(((1, 17),)) + 1.0)
    masked = kernel(buffer(1, (13,)).pad(((0, 3),)) + 1.0)
    lanes = [
        max(s.value.lanes for s in nested(lower(opened, POCL).body) if _is_load(s))
        for ast in (aligned, shifted, masked)
        for opened in [Kernel.open(ast).apply_opt(Opt(OptOps.UPCAST, 0, 4))]
    ]
    assert lanes == [4, 1, 1]


def _is_load(statement: Statement) -> bool:
    return isinstance(statement, Define) and isinstance(statement.value, LoadGlobal)


def test_masked_minus_zero_is_zero_outside() -> None:
    ast = kernel(constant(-0.0, (3,)).pad(((1, 0),)) + buffer(1, (4,)))
    text = render(lower(Kernel.open(ast), POCL), POCL)
    assert "? (-0.0f) : 0.0f" in text


@pytest.mark.parametrize("name", KERNEL_FILES)
@pytest.mark.parametrize("target", [POCL, MINIMAL], ids=lambda target: target.name)
def test_real_kernels(name: str, target: Target) -> None:
    """Every 60th line; all of them take a minute and are a benchmark."""
    path, reader, unsupported = kernel_file(name), Reader(name), Counter[str]()
    with gzip.open(path, "rt") as lines:
        for number, line in enumerate(lines, 1):
            if number % 60:
                continue
            try:
                program = lower(Kernel.open(reader.read(line, number).ast), target)
                check_scopes(program)
                render(program, target)
            except Unsupported as reason:
                unsupported[reason.reason] += 1
    assert set(unsupported) <= {"no-double"}
