"""The interpreter: kernels equal the oracle; each rule of the machine is seen broken and kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernelref.codegen.lower import lower
from kernelref.codegen.program import (
    Apply,
    Assign,
    Barrier,
    BufferArgument,
    Combine,
    Convert,
    Define,
    DefineIndex,
    Guarded,
    Lane,
    Literal,
    LoadGlobal,
    LoadShared,
    Loop,
    Masked,
    Operand,
    Pack,
    Program,
    Register,
    SharedArray,
    Statement,
    StoreGlobal,
    StoreShared,
)
from kernelref.codegen.target import FULL
from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.ast import Ast, Op, ReduceOp
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import FLOAT, HALF, IMAGE_HALF, INT32, DType, image
from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var, as_expr, lt
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.inputs import make_inputs, plan_inputs
from kernelref.run.interp import Interpretation, interpret
from kernelref.run.interp import interpret as interpret_module
from kernelref.run.interp import machine as machine_module
from kernelref.run.interp.batching import accumulators
from kernelref.run.job import GroupRange
from kernelref.run.oracle import Oracle
from kernelref.run.outcome import Outcome
from kernelref.run.tolerance import Rung, judge
from tests.run.random_ast import RandomAst

GROUP, ITEM = Var("gidx0", 0, 1023), Var("lidx0", 0, 255)
R0, R1 = Var("r0", 0, 1 << 20), Var("r1", 0, 1 << 20)
ACC = Register("acc0", FLOAT)


def program(
    body: tuple[Statement, ...],
    *,
    groups: int = 1,
    local: int = 4,
    elements: int = 8,
    shared: int = 0,
    dtype: DType = FLOAT,
    inputs: int = 16,
    **more: frozenset[Expr],
) -> Program:
    """A Program with an output data0, an input data1 and perhaps shared memory."""
    return Program(
        name="kernel",
        buffers=(
            BufferArgument("data0", 0, dtype, elements, True),
            BufferArgument("data1", 1, dtype, inputs, False),
        ),
        variables=(),
        groups=(groups, 1, 1),
        local=(local, 1, 1),
        body=body,
        shared=(SharedArray("shared0", dtype, shared),) if shared else (),
        **more,
    )


def run(made: Program, **how: object) -> Interpretation:
    size = int(made.buffers[1].elements)
    data = np.arange(size).astype(made.buffers[1].dtype.storage.numpy)
    return interpret(made, {1: data}, **how)


def fault(body: tuple[Statement, ...], **how: object) -> tuple[Outcome, str]:
    """The outcome and the sentence of a run that must fail."""
    found = run(program(body, **how)).fault
    assert found is not None
    return found.outcome, str(found)


def one(dtype: DType = FLOAT) -> Literal:
    return Literal(1.0 if dtype.is_float else 1, dtype)


def load(address: Sint, name: str = "val0", guard: Sint = 1, dtype: DType = FLOAT) -> Define:
    return Define(Register(name, dtype), LoadGlobal("data1", address, guard, dtype))


def store(address: Sint, value: Operand | None = None, guard: Sint = 1) -> StoreGlobal:
    return StoreGlobal("data0", address, guard, value or one())


def add(register: Register, value: Operand) -> Assign:
    return Assign(register, Combine(ReduceOp.SUM, register, value, FLOAT))


def test_a_correct_program_has_no_fault() -> None:
    body = (load(ITEM), store(GROUP * 4 + ITEM, Register("val0", FLOAT)))
    result = run(program(body, groups=2))
    assert result.fault is None
    assert result.buffers[0].tolist() == [0, 1, 2, 3] * 2
    assert result.written[0].all()


def test_out_of_bounds_names_the_work_item_and_the_statement() -> None:
    assert fault((store(ITEM * 3),)) == (
        Outcome.OUT_OF_BOUNDS,
        "data0[(lidx0*3)] = ...: 9 is outside the 8 elements of data0, "
        "by group (0, 0, 0) local (3, 0, 0)",
    )
    assert fault((load(ITEM - 1),))[0] is Outcome.OUT_OF_BOUNDS
    assert fault((load(GROUP * 8 + ITEM),), groups=3)[1].endswith("group (2, 0, 0) local (0, 0, 0)")


def test_a_guard_keeps_an_access_from_happening() -> None:
    inside = as_expr(lt(ITEM, 2))
    body = (load(ITEM * 10, guard=inside), store(ITEM, Register("val0", FLOAT)))
    result = run(program(body))
    assert result.fault is None
    assert result.buffers[0][:4].tolist() == [0, 10, 0, 0]
    assert run(program((store(ITEM * 5, guard=inside),))).written[0].tolist() == [
        True, False, False, False, False, True, False, False,
    ]  # fmt: skip
    assert run(program((Guarded(inside, (store(ITEM * 5),)),))).fault is None


def test_vectors_must_lie_inside_and_be_aligned() -> None:
    def wide(address: Sint) -> tuple[Statement, ...]:
        value = LoadGlobal("data1", address, 1, FLOAT, 4)
        register = Register("val0", FLOAT, 4)
        return Define(register, value), StoreGlobal("data0", 0, lt(ITEM, 1), register, 4)

    result = run(program(wide(4)))
    assert result.fault is None
    assert result.buffers[0][:4].tolist() == [4, 5, 6, 7]
    assert "not aligned to 4" in fault(wide(2))[1]
    assert "outside the 16" in fault(wide(16))[1]


def test_lanes_are_packed_and_picked() -> None:
    pair = Register("pair0", FLOAT, 2)
    body = (
        load(ITEM),
        Define(pair, Pack((Register("val0", FLOAT), one()), FLOAT)),
        Define(Register("alu0", FLOAT), Apply(Op.ADD, (Lane(pair, 0), Lane(pair, 1)), FLOAT)),
        store(ITEM, Register("alu0", FLOAT)),
        StoreGlobal("data0", ITEM * 0 + 4, lt(ITEM, 1), pair, 2),
    )
    assert run(program(body)).buffers[0].tolist() == [1, 2, 3, 4, 0, 1, 0, 0]


@pytest.mark.parametrize("shake", [None, 1])
def test_races(shake: int | None) -> None:
    def outcome(body: tuple[Statement, ...], **how: int) -> Outcome | None:
        found = run(program(body, **how), shake=shake).fault
        return found.outcome if found else None

    part = Define(Register("part0", FLOAT), LoadShared("shared0", 3 - ITEM, FLOAT))
    mine = StoreShared("shared0", ITEM, one())
    assert outcome((store(0),)) is Outcome.RACE
    assert outcome((store(ITEM),), groups=2) is Outcome.RACE
    assert outcome((store(ITEM), Barrier(), store(ITEM)), groups=2) is Outcome.RACE
    assert outcome((mine, part), shared=4) in (Outcome.RACE, Outcome.UNINITIALISED)
    assert outcome((mine, Barrier(), part), shared=4) is None
    assert outcome((mine, Barrier(), part, mine), shared=4) is Outcome.RACE
    assert outcome((mine, Barrier(), part, Barrier(), mine), shared=4) is None
    assert outcome((mine, mine, Barrier(), store(0, guard=lt(ITEM, 1))), shared=4) is None
    same = Guarded(as_expr(lt(ITEM, 1)), (store(0), store(0)))
    assert outcome((same,)) is None
    assert outcome((store(ITEM), Barrier(), store(3 - ITEM))) is None


def test_a_race_names_both_work_items() -> None:
    half = Binary(IndexOp.FLOORDIV, ITEM, Int(2))
    found = run(program((store(GROUP * 4 + half, guard=lt(0, ITEM)),), groups=2)).fault
    assert found is not None
    assert found.outcome is Outcome.RACE
    both = (store(ITEM), store(ITEM + 1, guard=lt(ITEM, 1)))
    text = fault(both)[1]
    assert "local (1, 0, 0)" in text
    assert "local (0, 0, 0)" in text


def test_reading_what_another_writes_is_a_race_in_place() -> None:
    def in_place(address: Sint, value_at: Sint) -> Outcome | None:
        value = Define(Register("val0", FLOAT), LoadGlobal("data0", value_at, 1, FLOAT))
        made = program((value, store(address, Register("val0", FLOAT))), groups=2)
        found = interpret(made, {0: np.arange(8, dtype=np.float32)}).fault
        return found.outcome if found else None

    mine = GROUP * 4 + ITEM
    assert in_place(mine, mine) is None
    assert in_place(mine, 7 - mine) is Outcome.RACE
    assert in_place(mine, mine - mine) is Outcome.RACE


def test_uninitialised_memory_and_registers() -> None:
    part = Define(Register("part0", FLOAT), LoadShared("shared0", ITEM, FLOAT))
    assert fault((part,), shared=4)[0] is Outcome.UNINITIALISED
    output = Define(Register("val0", FLOAT), LoadGlobal("data0", ITEM, 1, FLOAT))
    assert fault((output, store(ITEM)))[0] is Outcome.UNINITIALISED
    assert fault((store(ITEM, ACC),))[0] is Outcome.UNINITIALISED
    inner = Guarded(as_expr(lt(ITEM, 9)), (Define(ACC, one()),))
    assert "acc0 has no value" in fault((inner, store(ITEM, ACC)))[1]


def test_barriers_under_divergent_control() -> None:
    outcome, text = fault((Guarded(as_expr(lt(ITEM, 2)), (Barrier(),)),))
    assert outcome is Outcome.BARRIER_DIVERGENCE
    assert text.startswith("barrier: ")
    assert "local (0, 0, 0) and group (0, 0, 0) local (2, 0, 0)" in text
    uniform = (Guarded(as_expr(lt(GROUP, 1)), (Barrier(), store(ITEM))),)
    assert run(program(uniform, groups=2)).fault is None


def test_an_index_beyond_int() -> None:
    far = ITEM * (1 << 29) + ITEM * (1 << 29)
    hidden = Binary(IndexOp.MOD, as_expr(far), Int(4))
    outcome, text = fault((store(hidden),))
    assert outcome is Outcome.INDEX_OVERFLOW
    assert "local (2, 0, 0)" in text
    assert run(program((store(hidden),), local=1, wide=frozenset({hidden}))).fault is None
    assert run(program((store(hidden),), wide=frozenset({hidden}))).fault.outcome is Outcome.RACE
    guarded = (Guarded(as_expr(lt(ITEM, 1)), (store(hidden),)),)
    assert run(program(guarded)).fault is None


def test_traps_only_where_work_items_are_active() -> None:
    def divide(address: Sint) -> tuple[Statement, ...]:
        operands = (one(INT32), Register("val0", INT32))
        return (
            load(address, dtype=INT32),
            Define(Register("alu0", INT32), Apply(Op.IDIV, operands, INT32)),
        )

    assert fault(divide(ITEM), dtype=INT32)[0] is Outcome.TRAP
    assert run(program(divide(ITEM + 1), dtype=INT32)).fault is None
    assert run(program((Guarded(as_expr(lt(0, ITEM)), divide(ITEM)),), dtype=INT32)).fault is None


def test_constants_masks_and_conversions() -> None:
    n = Var("n", 1, 100)
    body = (
        DefineIndex(Var("i0", 0, 7), as_expr(GROUP * 4 + ITEM)),
        Define(Register("a", INT32), Literal(n, INT32)),
        Define(Register("b", FLOAT), Convert(Register("a", INT32), FLOAT)),
        Define(
            Register("c", FLOAT),
            Masked(as_expr(lt(Var("i0", 0, 7), 3)), Register("b", FLOAT), FLOAT),
        ),
        store(Var("i0", 0, 7), Register("c", FLOAT)),
    )
    made = program(body, groups=2)
    result = interpret(made, {}, {"n": 7})
    assert result.buffers[0].tolist() == [7, 7, 7, 0, 0, 0, 0, 0]


def loops(extent: Sint = 5) -> tuple[Statement, ...]:
    """acc = 0; for r0: for r1 < 2: acc += data1[r0*2 + r1]; acc += r0 + item."""
    inner = Loop(R1, 2, (load(R0 * 2 + R1), add(ACC, Register("val0", FLOAT))))
    outer = (inner, load(R0 + ITEM, "val1"), add(ACC, Register("val1", FLOAT)))
    return (Define(ACC, Literal(0.0, FLOAT)), Loop(R0, extent, outer), store(ITEM, ACC))


def ordered(item: int, data: np.ndarray) -> np.float32:
    total = np.float32(0)
    for i in range(5):
        for value in (data[i * 2], data[i * 2 + 1], data[i + item]):
            total = np.float32(total + value)
    return total


@pytest.mark.parametrize("limit", [1, 8, 12, 1 << 12])
def test_batches_of_iterations_add_in_order(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of very different size, so that every order of adding gives another sum."""
    data = (10.0 ** np.random.default_rng(1).uniform(-4, 4, 16)).astype(np.float32)
    made = program(loops())
    assert accumulators(made.body[1]) is not None
    outcome = machine_module.Machine.__init__

    def small(self, *arguments, **named):
        outcome(self, *arguments, **named)
        self.limit = limit

    monkeypatch.setattr(machine_module.Machine, "__init__", small)
    got = interpret(made, {1: data}).buffers[0][:4]
    assert got.tolist() == [ordered(item, data) for item in range(4)]
    assert ordered(0, data) != ordered(0, data[::-1])


def test_batching_is_the_same_as_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (10.0 ** np.random.default_rng(2).uniform(-4, 4, 16)).astype(np.float32)
    batched = interpret(program(loops()), {1: data}).buffers[0].tolist()
    monkeypatch.setattr(machine_module, "accumulators", lambda loop: None)
    assert interpret(program(loops()), {1: data}).buffers[0].tolist() == batched


def test_loops_that_must_run_in_order() -> None:
    value = Register("val0", FLOAT)
    read = Define(Register("val1", FLOAT), LoadShared("shared0", ITEM, FLOAT))
    write = StoreShared("shared0", ITEM, value)
    assert accumulators(Loop(R0, 3, (load(R0), add(ACC, value)))) is not None
    for body in (
        (Barrier(),),
        (load(R0), Assign(ACC, value)),
        (load(R0), add(ACC, value), store(R0, ACC)),
        (load(R0), read, write),
        (load(R0), Assign(ACC, Combine(ReduceOp.SUM, value, ACC, FLOAT))),
        (load(R0), add(ACC, value), Assign(ACC, Combine(ReduceOp.MAX, ACC, value, FLOAT))),
    ):
        assert accumulators(Loop(R0, 3, body)) is None


def test_a_loop_in_order_carries_registers_and_memory() -> None:
    double = Apply(Op.MUL, (ACC, Literal(2.0, FLOAT)), FLOAT)
    body = (Define(ACC, one()), Loop(R0, 5, (Assign(ACC, double),)), store(ITEM, ACC))
    assert run(program(body)).buffers[0][0] == 32
    zero = Loop(R0, 0, (Assign(ACC, double),))
    assert run(program((Define(ACC, one()), zero, store(ITEM, ACC)))).buffers[0][0] == 1


def test_only_some_groups() -> None:
    made = program((store(GROUP * 2 + ITEM),), groups=4, local=2)
    result = run(made, ranges=(GroupRange((1, 0, 0), (2, 1, 1)),))
    assert result.written[0].tolist() == [False] * 2 + [True] * 4 + [False] * 2


def test_a_launch_of_no_groups_does_nothing() -> None:
    assert not run(program((store(ITEM),), groups=0)).written[0].any()


def test_a_buffer_that_is_too_short_is_refused() -> None:
    with pytest.raises(InvalidInput, match="buffer 1: 3 elements, 16 needed"):
        interpret(program((load(ITEM),)), {1: np.zeros(3, np.float32)})


def outcome_of(ast: Ast, opts: tuple[Opt, ...], seed: int, **how: object) -> str:
    """Lower, run, and judge against the oracle: PASS, or what is wrong."""
    opened = Kernel.open(ast)
    for opt in opts:
        opened = opened.apply_opt(opt)
    plan = plan_inputs(ast, "integers")
    inputs = plan.draw(seed)
    result = interpret(lower(opened, FULL), inputs, {}, **how)
    if result.fault:
        return str(result.fault)
    oracle = Oracle(ast, inputs)
    for output, made in enumerate(ast):
        address, valid = oracle.addresses(output)
        if not result.written[output][address[valid]].all():
            return "UNWRITTEN"
        values = oracle.values(output)
        kept = type(values)(*(column[valid] for column in values))
        rung = Rung.BOUNDED if plan.rung is Rung.BOUNDED else Rung.INTEGERS
        wrong = judge(result.buffers[output][address[valid]], kept, rung, made.dtype)
        if wrong:
            return str(wrong)
    return "PASS"


def test_random_kernels_without_opts_equal_the_oracle() -> None:
    checked = 0
    for seed in range(150):
        ast = RandomAst(seed).make()
        outputs = {store.buffer for store in ast}
        reads_own = bool(outputs & set(plan_inputs(ast).ranges))
        if reads_own:
            continue
        assert outcome_of(ast, (), seed) == "PASS", seed
        checked += 1
    assert checked > 60


OPTS: dict[str, tuple[Opt, ...]] = {
    "plain": (),
    "group": (Opt(OptOps.GROUPTOP, 0, 8),),
    "mixed": (
        Opt(OptOps.GROUP, 0, 4), Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.UPCAST, 1, 4),
        Opt(OptOps.UNROLL, 0, 4),
    ),
    "padded": (Opt(OptOps.PADTO, 1, 32), Opt(OptOps.LOCAL, 1, 16)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTS)
@pytest.mark.parametrize("shake", [None, 3])
def test_an_optimised_product_equals_the_oracle(name: str, shake: int | None) -> None:
    ast = kernel((buffer(1, (16, 64)) @ buffer(2, (64, 20))).relu())
    assert outcome_of(ast, OPTS[name], 4, shake=shake) == "PASS"


def test_half_and_images() -> None:
    ast = kernel((buffer(1, (8, 16), HALF) * 0.5).sum(1))
    assert outcome_of(ast, (), 2) == "PASS"
    dtype = image(IMAGE_HALF, (2, 4, 4))
    assert outcome_of(kernel(buffer(1, (32,), dtype) * 3), (), 2) == "PASS"


def faulty(change: Callable[[Statement], Statement | None], made: Program) -> Program:
    """The program with each statement changed, or left out for None."""

    def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        kept = []
        for statement in body:
            if isinstance(statement, Loop):
                statement = Loop(statement.variable, statement.extent, inside(statement.body))
            elif isinstance(statement, Guarded):
                statement = Guarded(statement.condition, inside(statement.body))
            changed = change(statement)
            if changed is not None:
                kept.append(changed)
        return tuple(kept)

    return Program(
        made.name, made.buffers, made.variables, made.groups, made.local, inside(made.body),
        made.shared, made.wide,
    )  # fmt: skip


def test_faults_planted_in_a_grouped_kernel_are_seen() -> None:
    ast = kernel(buffer(1, (8, 64)).sum(1))
    made = lower(Kernel.open(ast).apply_opt(OPTS["group"][0]), FULL)
    inputs = make_inputs(ast, 1, "integers")
    assert interpret(made, inputs).fault is None

    def lost_barrier(s: Statement) -> Statement | None:
        return None if isinstance(s, Barrier) else s

    def lost_guard(s: Statement) -> Statement:
        return Guarded(as_expr(lt(ITEM, 8)), s.body) if isinstance(s, Guarded) else s

    def far(s: Statement) -> Statement:
        return StoreShared(s.array, s.address + 1, s.value) if isinstance(s, StoreShared) else s

    def short(s: Statement) -> Statement:
        return Loop(s.variable, 9, s.body) if isinstance(s, Loop) and s.extent == 8 else s

    found = {
        change.__name__: interpret(faulty(change, made), inputs).fault
        for change in (lost_barrier, lost_guard, far, short)
    }
    outcomes = {name: fault.outcome if fault else None for name, fault in found.items()}
    assert outcomes["lost_barrier"] is Outcome.RACE
    assert outcomes["lost_guard"] is Outcome.RACE
    assert outcomes["far"] is Outcome.OUT_OF_BOUNDS
    assert outcomes["short"] is Outcome.OUT_OF_BOUNDS


def test_a_wrong_fold_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = semantics.fold
    monkeypatch.setattr(
        semantics, "fold", lambda op, start, terms, dtype: fold(op, start, terms[:-1], dtype)
    )
    with monkeypatch.context() as patch:
        patch.setattr(machine_module, "accumulators", lambda loop: None)
        ast = kernel(buffer(1, (4, 9)).sum(1))
        assert outcome_of(ast, (), 1) != "PASS"
    assert interpret_module is interpret
