"""The reader: what each form of the text means, and that nothing but text comes in."""

from __future__ import annotations

import math

import pytest

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.ast import Alu, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, postorder
from kernelref.ir.dtype import FLOAT, HALF, IMAGE_HALF, INT32, image
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr import Dialect, WrittenOpt, read_line
from kernelref.ir.tinygrad_repr.reader import MAX_BRACKETS
from kernelref.ir.tinygrad_repr.vocabulary import OPT_NAMES
from kernelref.ir.view import View
from kernelref.opt.opt import OptOps


def view(shape="(4,)", strides="(1,)", offset="0", mask="None", contiguous="True") -> str:
    return (
        f"View(shape={shape}, strides={strides}, offset={offset}, mask={mask}, "
        f"contiguous={contiguous})"
    )


def st(*views: str) -> str:
    stack = views or (view(),)
    return f"ShapeTracker(views=({', '.join(stack)}{',' if len(stack) == 1 else ''}))"


def load(buffer=1, dtype="dtypes.float", tracker=None) -> str:
    memory = f"MemBuffer(idx={buffer}, dtype={dtype}, st={tracker or st()})"
    return f"LazyOp(op=BufferOps.LOAD, src=(), arg={memory})"


def const(value="1.0", dtype="dtypes.float", tracker=None) -> str:
    constant = f"ConstBuffer(val={value}, dtype={dtype}, st={tracker or st()})"
    return f"LazyOp(op=BufferOps.CONST, src=(), arg={constant})"


def node(op: str, *src: str, arg: str = "None") -> str:
    sources = "".join(f"{source}, " for source in src)
    return f"LazyOp(op={op}, src=({sources}), arg={arg})"


def store(value: str, buffer=0, dtype="dtypes.float", tracker=None) -> str:
    memory = f"MemBuffer(idx={buffer}, dtype={dtype}, st={tracker or st()})"
    return node("BufferOps.STORE", value, arg=memory)


def value_of(text: str):
    return read_line(text).ast[0].value


ROW = ShapeTracker((View((4,), (1,)),))


def test_a_store_alone_is_0_8_0_and_a_tuple_is_0_9() -> None:
    alone, several = read_line(store(load())), read_line(f"({store(load())},)")
    assert alone.dialect is Dialect.V0_8_0
    assert several.dialect is Dialect.V0_9_1
    assert alone.ast == several.ast == (Store(0, FLOAT, ROW, Load(1, FLOAT, ROW)),)
    assert alone.opts is None


@pytest.mark.parametrize("op", ["SUB", "DIV", "CMPEQ"])
def test_a_tuple_with_ops_that_0_9_1_dropped_is_0_9_0(op: str) -> None:
    value = node(f"BinaryOps.{op}", load(1), load(2))
    dtype = "dtypes.bool" if op == "CMPEQ" else "dtypes.float"
    assert read_line(f"({store(value, dtype=dtype)},)").dialect is Dialect.V0_9_0


def test_several_outputs() -> None:
    reading = read_line(f"({store(load())}, {store(load(), 1)})".replace("idx=1", "idx=2", 1))
    assert [output.buffer for output in reading.ast] == [0, 1]


@pytest.mark.parametrize("form", ["({}, [{}])", "({}, ({},))"])
def test_opts_as_a_search_log_writes_them(form) -> None:
    opt = "Opt(op=OptOps.UPCAST, axis=0, amt=4)"
    reading = read_line(form.format(store(load()), opt))
    assert reading.opts == (WrittenOpt("UPCAST", 0, 4),)
    assert read_line(f"(({store(load())},), [])").opts == ()
    assert read_line(f"(({store(load())},), ())").opts == ()
    bare = f"({store(load())}, [Opt(op=OptOps.NOLOCALS, axis=None, amt=None)])"
    assert read_line(bare).opts == (WrittenOpt("NOLOCALS", None, None),)


def test_the_opt_names_are_all_of_them() -> None:
    assert set(OPT_NAMES) == {op.name for op in OptOps}


@pytest.mark.parametrize("op", list(Op))
def test_every_op_reads(op: Op) -> None:
    family = {1: "UnaryOps", 2: "BinaryOps", 3: "TernaryOps"}[op.arity]
    dtype = "dtypes.int" if op in (Op.IDIV, Op.MOD, Op.XOR, Op.SHL, Op.SHR) else "dtypes.float"
    sources = [load(i + 1, dtype) for i in range(op.arity)]
    if op is Op.WHERE:
        sources[0] = load(1, "dtypes.bool")
    text = node(f"{family}.{op.name}", *sources)
    compared = op in (Op.CMPLT, Op.CMPEQ, Op.CMPNE)
    value = value_of(store(text, dtype="dtypes.bool" if compared else dtype))
    assert isinstance(value, Alu)
    assert value.op is op


def test_casts_of_both_dialects() -> None:
    source = Load(1, FLOAT, ROW)

    def cast(arg: str, op: str = "CAST", dtype: str = "dtypes.half"):
        return value_of(store(node(f"UnaryOps.{op}", load(), arg=arg), dtype=dtype))

    assert cast("dtypes.half") is cast("(dtypes.half, False)") is Cast(source, HALF)
    bits = Cast(source, INT32, bitcast=True)
    assert cast("(dtypes.int, True)", dtype="dtypes.int") is bits
    assert cast("dtypes.int", "BITCAST", "dtypes.int") is bits


def test_reduces_of_both_dialects() -> None:
    grid = st(view("(2, 3)", "(3, 1)"))
    rows = st(view("(2, 1)", "(1, 0)"))

    def reduce(arg: str, op: str = "SUM"):
        return value_of(store(node(f"ReduceOps.{op}", load(tracker=grid), arg=arg), tracker=rows))

    assert reduce("(1,)") is reduce("(2, 1)")
    assert isinstance(reduce("(1,)"), Reduce)
    assert reduce("(1,)").axes == (1,)
    assert reduce("(1,)", "MAX").op is ReduceOp.MAX


def test_the_two_spellings_of_a_reduce_never_coincide() -> None:
    square = st(view("(2, 1)", "(1, 0)"))
    ones = st(view("(1, 1)", "(0, 0)"))
    all_axes = node("ReduceOps.SUM", load(tracker=square), arg="(1, 0)")
    no_axis = node("ReduceOps.SUM", load(tracker=square), arg="(2, 1)")
    assert value_of(store(all_axes, tracker=ones)).axes == (1, 0)
    assert value_of(store(no_axis, tracker=square)).axes == ()


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1", "int", 1),
        ("-7", "int", -7),
        ("4294967295", "uint", 4294967295),
        ("1.0", "float", 1.0),
        ("-0.0", "float", -0.0),
        ("1e-05", "float", 1e-05),
        ("1.5e+300", "double", 1.5e300),
        ("inf", "float", math.inf),
        ("-inf", "half", -math.inf),
        ("True", "bool", True),
        ("False", "bool", False),
    ],
)
def test_constants_keep_type_and_sign(text, dtype, value) -> None:
    constant = value_of(store(const(text, f"dtypes.{dtype}"), dtype=f"dtypes.{dtype}"))
    assert isinstance(constant, Constant)
    assert type(constant.value) is type(value)
    assert repr(constant.value) == repr(value)


def test_nan_is_one_constant() -> None:
    constant = value_of(store(const("nan")))
    assert math.isnan(constant.value)
    assert constant is value_of(store(const("nan")))


def test_symbolic_parts() -> None:
    pos = Var("pos", 1, 100)
    extent = "(NumNode(1)+Variable('pos', 1, 100))"
    symbolic = view(
        f"({extent}, 4)",
        "(4, 1)",
        "((Variable('pos', 1, 100)*-2)+200)",
        f"((0, {extent}), (0, 4))",
    )
    (seen,) = value_of(store(load(tracker=st(symbolic)), tracker=st(symbolic))).st.views
    assert seen == View((pos + 1, 4), (4, 1), pos * -2 + 200, ((0, pos + 1), (0, 4)))
    (plain,) = value_of(store(load(tracker=st(view(offset="NumNode(5)"))))).st.views
    assert plain.offset == 5
    assert isinstance(plain.offset, int)
    constant = value_of(store(const("Variable('pos', 1, 100)", "dtypes.int"), dtype="dtypes.int"))
    assert constant.value is pos


def test_index_operators_mean_what_python_means() -> None:
    names = {"i": Var("i", 1, 9), "j": Var("j", 0, 9)}
    i, j = names.values()
    text = "(((Variable('i', 1, 9)//2)+(Variable('j', 0, 9)%3))+Variable('i', 1, 9))"
    (seen,) = value_of(store(load(tracker=st(view(offset=text))))).st.views
    assert seen.offset is (i // 2) + (j % 3) + i


def test_images() -> None:
    picture = "dtypes.imageh((16, 1920, 4))"
    ast = read_line(store(load(dtype=picture), dtype=picture)).ast
    assert ast[0].dtype == image(IMAGE_HALF, (16, 1920, 4))


def test_equal_subtrees_are_one_node() -> None:
    value = node("BinaryOps.ADD", load(), load())
    twice = node("BinaryOps.MUL", value, value)
    ast = read_line(store(twice)).ast
    assert len(postorder(ast)) == 4


def test_vector_dtypes_are_unsupported() -> None:
    for dtype in ("dtypes._half4", "dtypes.half.vec(4)", "ptr.dtypes.float"):
        with pytest.raises(Unsupported):
            read_line(store(load(dtype=dtype)))


GOOD = store(load())
REFUSED = {
    "empty": ("", "nothing"),
    "blank": ("   ", "nothing"),
    "not a kernel": ("(1, 2)", "STORE"),
    "no output": ("()", "STORE"),
    "a value alone": (load(), "STORE"),
    "unclosed": (GOOD[:-1], "not closed"),
    "closed twice": (GOOD + ")", "closes nothing"),
    "two kernels": (f"{GOOD} {GOOD}", "does not fit"),
    "wrong bracket": (GOOD[:-1] + "]", "closes nothing"),
    "null byte": (GOOD.replace("LOAD", "LO\0AD"), "unknown name"),
    "unterminated string": (GOOD.replace("offset=0", "offset=Variable('a, 1, 2)"), "cannot read"),
    "unknown constructor": (GOOD.replace("MemBuffer", "LocalBuffer"), "unknown name"),
    "unknown op": (GOOD.replace("BufferOps.LOAD", "BufferOps.READ"), "unknown name"),
    "python": ("__import__('os').system('true')", "unknown name"),
    "lambda": ("(lambda: 1)()", "unknown name"),
    "wrong field": (GOOD.replace("offset=", "start="), "fields"),
    "missing field": (GOOD.replace("offset=0, ", ""), "fields"),
    "field twice": (GOOD.replace("offset=0", "offset=0, offset=1"), "second field"),
    "field without value": (GOOD.replace("offset=0", "offset="), "missing"),
    "field in a tuple": (GOOD.replace("(1,)", "(a=1,)"), "outside a constructor"),
    "field of a field": (GOOD.replace("offset=0", "offset=offset=0"), "outside"),
    "a constructor without brackets": (GOOD.replace("offset=0", "offset=View"), "unknown name"),
    "a name with brackets": (GOOD.replace("offset=0", "offset=None()"), "no arguments"),
    "unnamed arguments": (GOOD.replace("offset=0, ", "0, "), "fields"),
    "huge integer": (GOOD.replace("offset=0", "offset=" + "9" * 5000), "characters"),
    "integer beyond 2**62": (GOOD.replace("offset=0", f"offset={1 << 63}"), "2**62"),
    "huge float": (store(const("1e999")), "no double"),
    "bool as offset": (GOOD.replace("offset=0", "offset=True"), "not int"),
    "float as offset": (GOOD.replace("offset=0", "offset=0.0"), "not int"),
    "negative extent": (GOOD.replace("(4,)", "(-4,)"), "less than 1"),
    "extent 0": (GOOD.replace("(4,)", "(0,)"), "less than 1"),
    "too many points": (GOOD.replace("(4,)", f"({1 << 62}, 4)").replace("(1,)", "(1, 1)"), "2**62"),
    "33 dims": (GOOD.replace("(4,)", f"({'1, ' * 33})").replace("(1,)", f"({'0, ' * 33})"), "dims"),
    "fewer strides": (GOOD.replace("strides=(1,)", "strides=()"), "strides for"),
    "mask out of order": (GOOD.replace("mask=None", "mask=((3, 1),)"), "range"),
    "mask beyond": (GOOD.replace("mask=None", "mask=((0, 5),)"), "range"),
    "mask before": (GOOD.replace("mask=None", "mask=((-1, 4),)"), "range"),
    "mask of another length": (GOOD.replace("mask=None", "mask=()"), "ranges for"),
    "mask of triples": (GOOD.replace("mask=None", "mask=((0, 1, 2),)"), "not 2"),
    "contiguous is no bool": (GOOD.replace("contiguous=True", "contiguous=1"), "bool"),
    "no views": (GOOD.replace(f"({view()},)", "()"), "without views"),
    "a view in no tuple": (GOOD.replace(f"({view()},)", view()), "tuple"),
    "a bracketed value": (store(f"({load()})").replace("(), )", "())"), "operand"),
    "an image of 3 channels": (GOOD.replace("dtypes.float", "dtypes.imageh((2, 2, 3))"), "image"),
    "an image without a shape": (GOOD.replace("dtypes.float", "dtypes.imageh(2, 2, 4)"), "1 unn"),
    "a reduce to another extent": (store(node("ReduceOps.SUM", load(), arg="(2,)")), "extent"),
    "a reduce over no axis": (store(node("ReduceOps.SUM", load(), arg="(-1,)")), "extent"),
    "a reduce twice": (store(node("ReduceOps.SUM", load(), arg="(0, 0)")), "name axes"),
    "an op with an argument": (store(node("UnaryOps.NEG", load(), arg="1")), "not None"),
    "too few sources": (store(node("BinaryOps.ADD", load())), "1 sources"),
    "a number as source": (store(node("UnaryOps.NEG", "1")), "not a value"),
    "an opt as op": (GOOD.replace("BufferOps.LOAD", "OptOps.LOCAL"), "not an op"),
    "an op as opt": (f"({GOOD}, [Opt(op=BinaryOps.ADD, axis=0, amt=1)])", "not an OptOps"),
    "an opt with a float": (f"({GOOD}, [Opt(op=OptOps.LOCAL, axis=0, amt=1.5)])", "not int"),
    "opts that are none": (f"({GOOD}, [1])", "WrittenOpt"),
    "a variable of no value": (GOOD.replace("offset=0", "offset=Variable('a', 2, 1)"), "no value"),
    "mixed operators": (GOOD.replace("offset=0", "offset=(1+2*3)"), "brackets of its own"),
    "a comma after an operator": (GOOD.replace("offset=0", "offset=(1+2, 3)"), "does not fit"),
    "an operator after a comma": (GOOD.replace("offset=0", "offset=(1, 2+3)"), "brackets"),
    "a dangling operator": (GOOD.replace("offset=0", "offset=(1+)"), "missing"),
    "a sum outside brackets": (GOOD.replace("offset=0", "offset=1+2"), "does not fit"),
    "division by zero": (GOOD.replace("offset=0", "offset=(1//0)"), "by 0"),
    "a sum of text": (GOOD.replace("offset=0", "offset=('a'+'b')"), "operand"),
    "too many operators": (GOOD.replace("offset=0", f"offset=({'1+' * 40}1)"), "operators"),
    "operators one inside the other": (
        GOOD.replace("offset=0", f"offset={'(' * 40}1{'+1)' * 40}"),
        "operators",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_text_names_file_line_and_column(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(InvalidInput) as caught:
        read_line(text, name="dump.txt", line=17)
    assert caught.value.where.startswith("dump.txt:17")
    assert message in str(caught.value)


@pytest.mark.parametrize("count", [MAX_BRACKETS + 1, 100_000])
@pytest.mark.parametrize("bracket", ["(", "[", "LazyOp(op=", "View(shape=(", "Variable((", "((1+"])
def test_deep_nesting_is_refused_where_it_gets_too_deep(bracket, count) -> None:
    with pytest.raises(InvalidInput, match=r"deeper|operators") as caught:
        read_line(bracket * count)
    line, column = caught.value.where.split(":")[1:]
    assert line == "1"
    assert int(column) <= MAX_BRACKETS * len(bracket) + 1


def test_deep_but_closed_nesting() -> None:
    def chain(length: int) -> str:
        head, tail = "LazyOp(op=UnaryOps.NEG, src=(", ",), arg=None)"
        return store(head * length + load() + tail * length)

    assert len(postorder(read_line(chain(254)).ast)) == 256
    with pytest.raises(InvalidInput, match="256 nodes deep"):
        read_line(chain(255))
    with pytest.raises(InvalidInput, match="nest deeper"):
        read_line(chain(100_000))


def test_an_error_after_reading_names_the_node() -> None:
    wrong = node("BinaryOps.ADD", load(), load(2, "dtypes.half"))
    with pytest.raises(InvalidInput) as caught:
        read_line(store(node("UnaryOps.NEG", wrong)), name="d", line=3)
    assert caught.value.where == "d:3: STORE 0 > NEG > ADD"


def test_a_column_points_at_the_word() -> None:
    text = GOOD.replace("offset=0", "offset=Nine")
    with pytest.raises(InvalidInput) as caught:
        read_line(text, name="d", line=3)
    assert caught.value.where == f"d:3:{text.index('Nine') + 1}"
