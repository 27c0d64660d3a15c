"""Values, loads and stores of a Program as C."""

from __future__ import annotations

from typing import assert_never

from kernelref.codegen.opencl.ctypes import CTypes
from kernelref.codegen.opencl.index import IndexPrinter
from kernelref.codegen.opencl.ops import OpPrinter
from kernelref.codegen.program import (
    Apply,
    BufferArgument,
    Combine,
    Convert,
    Lane,
    Literal,
    LoadGlobal,
    LoadShared,
    Masked,
    Operand,
    Pack,
    ProgramValue,
    Register,
    SharedArray,
    StoreGlobal,
    StoreShared,
)
from kernelref.ir.ast import Op, ReduceOp
from kernelref.ir.dtype import BFLOAT16, BOOL, HALF, DType
from kernelref.ir.index import Expr, Sint, floordiv, mod, simplify

_LANES = "xyzw"


class ValuePrinter:
    """Prints values as C expressions and stores as statements."""

    def __init__(
        self,
        buffers: dict[str, BufferArgument],
        shared: dict[str, SharedArray],
        index: IndexPrinter,
        types: CTypes,
    ) -> None:
        self.buffers = buffers
        self.shared = shared
        self.index = index
        self.types = types
        self.ops = OpPrinter(types)

    def register_type(self, register: Register) -> str:
        """The C type of a register."""
        name = self.types.register(register.dtype)
        return name if register.lanes == 1 else f"{name}{register.lanes}"

    def operand(self, operand: Operand) -> str:
        """An operand as an atom."""
        match operand:
            case Register(name):
                return name
            case Lane(Register(name), index):
                return f"{name}.{_LANES[index]}"
            case Literal(Expr() as value, dtype):
                return f"({self.types.register(dtype)}){self.index.atom(value)}"
            case Literal(value, dtype):
                assert not isinstance(value, Expr)
                return self.types.literal(value, dtype)
            case _:
                assert_never(operand)

    def value(self, value: ProgramValue) -> str:
        """A value as an expression that stands alone."""
        match value:
            case Register() | Lane() | Literal():
                return self.operand(value)
            case Masked(guard, operand, dtype):
                return self._guarded(guard, self.operand(operand), dtype, 1)
            case LoadGlobal(buffer, address, guard, dtype, lanes):
                loaded = self._load(self.buffers[buffer], address, dtype, lanes)
                return self._guarded(guard, loaded, dtype, lanes)
            case LoadShared(array, address, dtype, lanes):
                pointer = self._shared_pointer(array)
                return self._load_memory(pointer, self.shared[array].dtype, address, dtype, lanes)
            case Pack(parts, dtype):
                inner = ", ".join(map(self.operand, parts))
                return f"({self.types.register(dtype)}{len(parts)})({inner})"
            case Apply(op, operands, dtype):
                return self.ops.apply(op, [self.operand(operand) for operand in operands], dtype)
            case Convert(operand, dtype, bitcast):
                convert = self.ops.bitcast if bitcast else self.ops.convert
                return convert(self.operand(operand), dtype_of(operand), dtype)
            case Combine(op, left, right, dtype):
                step = Op.ADD if op is ReduceOp.SUM else Op.MAX
                return self.ops.apply(step, [self.operand(left), self.operand(right)], dtype)
            case _:
                assert_never(value)

    def _guarded(self, guard: Sint, text: str, dtype: DType, lanes: int) -> str:
        if guard == 1:
            return text
        zero = self.types.literal(0, dtype)
        if lanes > 1:
            zero = f"({self.types.register(dtype)}{lanes})({zero})"
        return f"{self.index.atom(guard)} ? {text} : {zero}"

    def _load(self, buffer: BufferArgument, address: Sint, dtype: DType, lanes: int) -> str:
        if not buffer.dtype.is_image:
            return self._load_memory(buffer.name, buffer.dtype, address, dtype, lanes)
        self.types.used.add("nearest")
        texel = f"read_imagef({buffer.name}, nearest, {self._coordinates(buffer, address)})"
        if lanes == 4:
            return texel
        lane = simplify(mod(address, 4))
        if isinstance(lane, int):
            return f"{texel}.{_LANES[lane]}"
        self.types.used.add("texel_lane")
        return f"texel_lane({texel}, {self._narrow(lane, address)})"

    def _coordinates(self, buffer: BufferArgument, address: Sint) -> str:
        assert buffer.dtype.image is not None
        columns = buffer.dtype.image[1]
        column = simplify(mod(floordiv(address, 4), columns))
        row = simplify(floordiv(address, 4 * columns))
        return f"(int2)({self._narrow(column, address)}, {self._narrow(row, address)})"

    def _narrow(self, part: Sint, address: Sint) -> str:
        """A part of an address as an int: it is as wide as the address while it is computed."""
        if isinstance(address, Expr) and address in self.index.wide and isinstance(part, Expr):
            wide = IndexPrinter(self.index.names, self.index.wide | {part}, self.types.used)
            return f"(int){wide.atom(part)}"
        return self.index.text(part)

    def _load_memory(
        self, name: str, stored: DType, address: Sint, dtype: DType, lanes: int
    ) -> str:
        is_half = stored == HALF and self.types.register(dtype) == "float"
        if lanes > 1:
            load = f"vload_half{lanes}" if is_half else f"vload{lanes}"
            return f"{load}(0, {name} + {self.index.term(address)})"
        if is_half:
            return f"vload_half({self.index.text(address)}, {name})"
        element = f"{name}[{self.index.text(address)}]"
        if stored == BFLOAT16:
            return self.ops.call("bfloat16_of_bits", element)
        return f"{element} != 0" if stored == BOOL else element

    def store(self, statement: StoreGlobal) -> str:
        """A store without its guard."""
        buffer = self.buffers[statement.buffer]
        value, lanes = self.operand(statement.value), statement.lanes
        if not buffer.dtype.is_image:
            source = dtype_of(statement.value)
            return self._store_memory(
                buffer.name, buffer.dtype, statement.address, value, source, lanes
            )
        assert lanes == 4
        if buffer.dtype.storage == HALF:
            value = self.ops.call("half_round4", value)
        where = self._coordinates(buffer, statement.address)
        return f"write_imagef({buffer.name}, {where}, {value});"

    def store_shared(self, statement: StoreShared) -> str:
        """A store to shared memory."""
        dtype = self.shared[statement.array].dtype
        pointer = self._shared_pointer(statement.array)
        value, source = self.operand(statement.value), dtype_of(statement.value)
        return self._store_memory(pointer, dtype, statement.address, value, source, statement.lanes)

    def _shared_pointer(self, array: str) -> str:
        """Half elements without half arithmetic are declared as their bits."""
        dtype = self.shared[array].dtype
        if dtype == HALF and self.types.is_emulated(dtype):
            return f"(__local half*){array}"
        return array

    def _store_memory(
        self, name: str, stored: DType, address: Sint, value: str, source: DType, lanes: int
    ) -> str:
        is_half = stored == HALF and self.types.register(source) == "float"
        if lanes > 1:
            pointer = f"{name} + {self.index.term(address)}"
            store = f"vstore_half{lanes}_rte" if is_half else f"vstore{lanes}"
            return f"{store}({value}, 0, {pointer});"
        if is_half:
            return f"vstore_half_rte({value}, {self.index.text(address)}, {name});"
        if stored == BFLOAT16:
            value = self.ops.call("bfloat16_bits", value)
        return f"{name}[{self.index.text(address)}] = {value};"


def dtype_of(operand: Operand) -> DType:
    """The dtype of an operand's value."""
    match operand:
        case Register(_, dtype) | Literal(_, dtype) | Lane(Register(_, dtype), _):
            return dtype
        case _:
            assert_never(operand)
