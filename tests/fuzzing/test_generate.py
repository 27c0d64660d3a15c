"""What the generator makes, by counting; and that nothing it makes is undefined."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kernelref.fuzzing import generate_values
from kernelref.fuzzing.choose import Chooser, SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_leaves import Leaves
from kernelref.fuzzing.generate_safe import clamped, finite_range, fits
from kernelref.fuzzing.generate_taste import DEFAULT, DTYPES, OPS
from kernelref.fuzzing.generate_views import PLACED, READ, tracker
from kernelref.ir.ast import Alu, Cast, Constant, Load, Op, Reduce, Store, postorder
from kernelref.ir.builder import buffer
from kernelref.ir.dtype import FLOAT, INT8, INT32
from kernelref.ir.index import Var
from kernelref.ir.verify import verify
from kernelref.opt.kernel import Kernel
from kernelref.run.inputs import plan_inputs
from kernelref.run.oracle import Oracle
from kernelref.run.points import iteration_points, symbols
from tests.fuzzing.made import MADE, most


class Largest(Chooser):
    """The other end of every question: the deepest, oddest answers."""

    def integer(self, low: int, high: int) -> int:
        return high


def test_every_kernel_is_well_formed_and_opens():
    for ast in MADE:
        assert verify(ast) == ast
        Kernel.open(ast)


def test_the_simplest_and_the_last_answers_make_kernels_too():
    class Simplest(Chooser):
        def integer(self, low: int, high: int) -> int:
            return low

    simplest = generate_kernel(Simplest())
    assert len(postorder(simplest)) <= 3
    verify(generate_kernel(Largest()))


def test_kernels_are_of_the_size_that_was_asked_for():
    points = sorted(iteration_points(ast, most(ast)) for ast in MADE)
    assert points[len(points) // 2] >= 500
    assert points[-1] < 100_000


def test_every_op_and_dtype_occurs():
    ops, dtypes = Counter(), Counter()
    for ast in MADE:
        for node in postorder(ast):
            dtypes[node.dtype] += 1
            if isinstance(node, Alu):
                ops[node.op] += 1
    assert set(ops) == set(OPS)
    assert set(dtypes) >= set(DTYPES)


def test_every_shape_of_kernel_occurs():
    found = Counter()
    for ast in MADE:
        nodes = postorder(ast)
        reduces = [node for node in nodes if isinstance(node, Reduce)]
        leaves = [node for node in nodes if isinstance(node, Load | Constant)]
        outputs = {store.buffer for store in ast}
        dims = len(ast[0].shape)
        found.update(
            {
                "several outputs": len(ast) > 1,
                "no reduce": not reduces,
                "several reduces": len(reduces) > 1,
                "nested reduces": any(
                    isinstance(below, Reduce) for r in reduces for below in postorder((r.value,))
                ),
                "several axes": any(len(r.axes) > 1 for r in reduces),
                "seven dims": dims == 7,
                "no dims": dims == 0,
                "in place": any(isinstance(n, Load) and n.buffer in outputs for n in leaves),
                "masked constant": any(
                    isinstance(n, Constant) and any(v.mask for v in n.st.views) for n in leaves
                ),
                "three views": any(len(n.st.views) >= 3 for n in leaves),
                "negative stride": any(
                    isinstance(s, int) and s < 0
                    for n in leaves
                    for v in n.st.views
                    for s in v.strides
                ),
                "image": any(n.dtype.is_image for n in nodes),
                "symbolic": bool(symbols(ast)),
                "bitcast": any(isinstance(n, Cast) and n.bitcast for n in nodes),
                "shared node": len(nodes) < sum(1 for _ in _tree(ast)),
                "moved store": any(not store.st.contiguous for store in ast),
            }
        )
    assert all(found.values()), {name for name, count in found.items() if not count}


def _tree(ast):
    """Every node as often as it is read."""
    pending = list(ast)
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Alu(src=src):
                pending += src
            case Cast(value=value) | Reduce(value=value) | Store(value=value):
                pending.append(value)


def _undefined(seeds) -> list[int]:
    found = []
    for seed in seeds:
        ast = generate_kernel(
            SeededChooser(seed), replace(DEFAULT, dtypes={INT32: 3, INT8: 1, FLOAT: 2})
        )
        variables = most(ast)
        oracle = Oracle(ast, plan_inputs(ast, "auto", variables).draw(seed), variables)
        for output in range(len(ast)):
            oracle.exact(output)
        if oracle.undefined:
            found.append(seed)
    return found


def test_nothing_is_undefined():
    assert _undefined(range(150)) == []


def test_an_unsafe_divisor_would_be_seen(monkeypatch):
    def unsafe(self, shape, dtype, budget):
        return self.value(shape, dtype, budget)

    monkeypatch.setattr(generate_values.Values, "_divisor", unsafe)
    assert _undefined(range(150))


def test_an_unsafe_cast_would_be_seen(monkeypatch):
    monkeypatch.setattr(generate_values.Values, "_integral", lambda self, value, dtype: value)
    assert _undefined(range(150))


@pytest.mark.parametrize("seed", range(60))
def test_a_tracker_has_the_shape_that_was_asked_for(seed):
    chooser = SeededChooser(seed)
    shape = tuple(chooser.choice((1, 2, 3, 5, 8)) for _ in range(chooser.integer(0, 5)))
    assert tracker(chooser, shape, READ).shape == shape
    symbol = Var("n", 1, 4)
    assert tracker(chooser, shape, READ, symbol).bind({"n": 3}).shape == shape


@pytest.mark.parametrize("seed", range(60))
def test_a_store_puts_every_point_at_a_place_of_its_own(seed):
    chooser = SeededChooser(seed)
    shape = tuple(chooser.choice((1, 2, 3, 5)) for _ in range(chooser.integer(1, 5)))
    address, valid = tracker(chooser, shape, PLACED).address(np.indices(shape))
    assert np.all(valid)
    assert len(np.unique(address)) == math.prod(shape)
    assert np.min(address) >= 0


def test_ranges_know_what_may_be_infinite_or_not_a_number():
    x = buffer(1, (4,))
    assert finite_range(x.node) is not None
    assert finite_range(x.apply(Op.RECIP).node) is None
    assert finite_range(x.apply(Op.SQRT).node) is None
    assert not fits((x * x).node, INT8)
    assert fits(x.node, INT8)


def test_a_clamp_keeps_a_float_within_an_integer():
    leaves = Leaves(SeededChooser(0), DEFAULT, (), None, is_exact=True, in_place=False, image=None)
    x = buffer(1, (4,))
    assert fits(clamped(leaves, (x * x * x).node, INT8), INT8)
