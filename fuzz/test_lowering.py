"""What cannot become a Program is refused by name, and nothing else is."""

from __future__ import annotations

import numpy as np

from fuzz.harness import fuzzed, kept
from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program
from kernelref.codegen.target import FULL
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate_views import PLACED, tracker
from kernelref.ir.ast import Alu, Ast, Load, Op, Store
from kernelref.ir.dtype import INT32
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify
from kernelref.opt.kernel import Kernel
from kernelref.run.outcome import Outcome

FREE = ("n", "start_pos", "group", "r", "x1")
TAKEN = ("gidx0", "gidx2", "lidx1", "axis0", "gaxis1", "laxis2", "g0", "r3", "flat")


def lowered(kernel: Kernel) -> Program | str:
    """The Program, or why there is none."""
    try:
        return lower(kernel, FULL)
    except Unsupported as error:
        return error.reason


def _elsewhere(chooser: Chooser, st: ShapeTracker) -> ShapeTracker:
    """The same elements elsewhere: turned round, moved along, the first for all or for one."""
    shape = [n for n in st.shape if isinstance(n, int)]
    axis = chooser.integer(0, len(shape) - 1)
    only = [(0, n) for n in shape]
    match chooser.integer(0, 4):
        case 1:
            return st.stride(tuple(-1 if i == axis else 1 for i in range(len(shape))))
        case 2 if shape[axis] > 1:
            only[axis] = (1, shape[axis])
            moved = st.shrink(tuple(only))
            return moved.pad(tuple((0, 1) if i == axis else (0, 0) for i in range(len(shape))))
        case 3:
            only[axis] = (0, 1)
            return st.shrink(tuple(only)).expand(tuple(shape))
        case 4:
            only[axis] = (0, 1)
            rest = tuple((0, n - 1) if i == axis else (0, 0) for i, n in enumerate(shape))
            return st.shrink(tuple(only)).pad(rest)
    return st


def generate_in_place(chooser: Chooser) -> Ast:
    """An output that is read, too, beside another buffer; now and then some of it is not stored."""
    shape = tuple(chooser.integer(1, 6) for _ in range(chooser.integer(1, 3)))
    st = tracker(chooser, shape, PLACED)
    sources = (
        Load(0, INT32, _elsewhere(chooser, st)), Load(1, INT32, ShapeTracker.from_shape(shape))
    )  # fmt: skip
    return verify((Store(0, INT32, st, Alu(Op.ADD, sources)),))


def _overtakes(store: Store) -> bool:
    """Whether a point reads what another one stores."""
    assert isinstance(store.value, Alu)
    load = store.value.src[0]
    assert isinstance(load, Load)
    shape = [n for n in store.st.shape if isinstance(n, int)]
    grid = np.ogrid[tuple(map(slice, shape))]
    written, read, is_read = (
        np.broadcast_to(part, shape) for part in (store.st.address(grid)[0], *load.st.address(grid))
    )
    return bool(np.any(is_read & (read != written) & np.isin(read, written)))


@fuzzed(generate_in_place, seeds=5)
def test_what_another_work_item_overwrites_is_not_read(ast: Ast) -> None:
    kernel = Kernel.open(ast)
    with kept("in-place", ast):
        answer = lowered(kernel)
        if isinstance(answer, str):
            assert answer == "in-place-hazard"
            assert _overtakes(ast[0]), "it was refused and no point reads another's element"
            return
        assert not _overtakes(ast[0]), "it was lowered, and a point reads another's element"
        ending = Subject.of(ast, 7).judged(answer, Stage.PLAIN)
        assert ending.outcome is Outcome.PASS, ending


def generate_symbolic(chooser: Chooser) -> Ast:
    """Two buffers added along an axis as long as a variable of some name."""
    var = Var(chooser.choice((*FREE, *TAKEN)), 1, chooser.integer(2, 9))
    shape = (var, chooser.integer(1, 5))
    st = ShapeTracker.from_shape(shape)
    loads = (Load(1, INT32, st), Load(2, INT32, st.stride((1, -1))))
    return verify((Store(0, INT32, st, Alu(Op.ADD, loads)),))


@fuzzed(generate_symbolic, share=0.5)
def test_a_variable_is_not_called_like_an_id(ast: Ast) -> None:
    (name,) = {var.name for var in ast[0].st.variables()}
    answer = lowered(Kernel.open(ast))
    if isinstance(answer, str):
        assert answer == "variable-name"
        assert name in TAKEN
        return
    assert name in FREE
    ending = Subject.of(ast, 8).judged(answer, Stage.PLAIN)
    assert ending.outcome is Outcome.PASS, ending
