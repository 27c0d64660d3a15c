"""Element-wise operations and casts as C expressions over atoms.

Signed arithmetic is done in the unsigned type, where C wraps, and cast back; 8 and 16 bits are
masked to their width by that cast. Half and bfloat16 in float registers are rounded after each
operation. What each op means is in `ir/semantics`; this page is a second telling, on purpose.

Source: OpenCL C 1.2, sections 6.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelref.codegen.opencl.ctypes import CTypes
from kernelref.errors import Unsupported
from kernelref.ir.ast import Op
from kernelref.ir.dtype import BFLOAT16, BOOL, DOUBLE, HALF, UINT16, DType, Kind

_COMPARE = {Op.CMPLT: "<", Op.CMPEQ: "==", Op.CMPNE: "!="}
_FLOAT = {
    Op.EXP2: "exp2({0})", Op.LOG2: "log2({0})", Op.SIN: "sin({0})", Op.SQRT: "sqrt({0})",
    Op.NEG: "-{0}", Op.ADD: "{0} + {1}", Op.SUB: "{0} - {1}", Op.MUL: "{0} * {1}",
    Op.DIV: "{0} / {1}", Op.MAX: "{0} > {1} || {0} != {0} ? {0} : {1}",
}  # fmt: skip
_WRAPPING = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.XOR: "^", Op.SHL: "<<",
}  # fmt: skip
_INTEGER = {
    Op.DIV: "{0} / {1}", Op.IDIV: "{0} / {1}", Op.MOD: "{0} % {1}", Op.RECIP: "1 / {0}",
    Op.MAX: "{0} > {1} ? {0} : {1}", Op.SHR: "{0} >> {1}",
}  # fmt: skip
_BOOL = {
    Op.NEG: "!{0}", Op.ADD: "{0} || {1}", Op.MAX: "{0} || {1}", Op.MUL: "{0} && {1}",
    Op.SUB: "{0} != {1}", Op.XOR: "{0} != {1}", Op.DIV: "{0} && {1}", Op.IDIV: "{0} && {1}",
    Op.RECIP: "{0}", Op.MOD: "false", Op.SHL: "{0} && !{1}", Op.SHR: "{0} && !{1}",
    Op.MULACC: "({0} && {1}) || {2}", Op.CMPLT: "!{0} && {1}",
}  # fmt: skip


class OpPrinter:
    """Prints operations for one target."""

    def __init__(self, types: CTypes) -> None:
        self.types = types

    def call(self, helper: str, argument: str) -> str:
        """A call of a helper, which the text then has to hold."""
        self.types.used.add(helper)
        return f"{helper}({argument})"

    def rounded(self, text: str, dtype: DType) -> str:
        """`text` rounded to `dtype` where registers are wider than it."""
        if not self.types.is_emulated(dtype):
            return text
        return self.call("bfloat16_round" if dtype == BFLOAT16 else "half_round", text)

    def apply(self, op: Op, operands: Sequence[str], dtype: DType) -> str:
        """`op` on atoms of `dtype` (that of the last two for WHERE).

        Raises: Unsupported for an op that is not defined on the dtype.
        """
        match op, dtype.kind:
            case Op.WHERE, _:
                return f"{operands[0]} ? {operands[1]} : {operands[2]}"
            case _, Kind.BOOL if op in _BOOL:
                return _BOOL[op].format(*operands)
            case ((Op.CMPLT | Op.CMPEQ | Op.CMPNE), _):
                return f"{operands[0]} {_COMPARE[op]} {operands[1]}"
            case _, Kind.FLOAT:
                return self._float(op, operands, dtype)
            case _, (Kind.SIGNED | Kind.UNSIGNED):
                return self._integer(op, operands, dtype)
        raise Unsupported("op-on-dtype", f"{op.name} of {dtype}")

    def _float(self, op: Op, operands: Sequence[str], dtype: DType) -> str:
        if op is Op.MULACC:
            product = self.rounded(f"{operands[0]} * {operands[1]}", dtype)
            return self.rounded(f"{product} + {operands[2]}", dtype)
        if op is Op.RECIP:
            one = self.types.literal(1.0, dtype)
            return self.rounded(f"{one} / {operands[0]}", dtype)
        if op not in _FLOAT:
            raise Unsupported("op-on-dtype", f"{op.name} of {dtype}")
        text = _FLOAT[op].format(*operands)
        return text if op in (Op.NEG, Op.MAX) else self.rounded(text, dtype)

    def _integer(self, op: Op, operands: Sequence[str], dtype: DType) -> str:
        own = self.types.register(dtype)
        wrapping = "ulong" if dtype.bits == 64 else "uint"
        if op in _INTEGER:
            return _cast(own, _INTEGER[op].format(*operands), is_needed=dtype.bits < 32)
        if own != wrapping:
            operands = [f"({wrapping}){operand}" for operand in operands]
        if op is Op.NEG:
            text = f"0 - {operands[0]}"
        elif op is Op.MULACC:
            text = f"{operands[0]} * {operands[1]} + {operands[2]}"
        elif op in _WRAPPING:
            text = f"{operands[0]} {_WRAPPING[op]} {operands[1]}"
        else:
            raise Unsupported("op-on-dtype", f"{op.name} of {dtype}")
        return _cast(own, text, is_needed=own != wrapping)

    def convert(self, value: str, source: DType, dtype: DType) -> str:
        """A cast of an atom: towards zero to an integer, `!= 0` to bool, rounded to a float."""
        own = self.types.register(dtype)
        if dtype == BOOL:
            return value if source == BOOL else f"{value} != 0"
        if self.types.is_emulated(dtype):
            if source == DOUBLE and dtype == HALF:
                return self.call("half_round_double", value)
            if source == dtype:
                return value
            plain = value if self.types.register(source) == "float" else f"(float){value}"
            return self.rounded(plain, dtype)
        return value if self.types.register(source) == own else f"({own}){value}"

    def bitcast(self, value: str, source: DType, dtype: DType) -> str:
        """The bits of an atom as another dtype of the same size.

        Raises: Unsupported when the sizes differ.
        """
        if source.itemsize != dtype.itemsize:
            raise Unsupported("bitcast-width", f"{source} to {dtype}")
        if BOOL in (source, dtype):
            return self.convert(value, source, dtype)
        if source.is_int and source.bits < 32 and not value.isidentifier():
            # A literal is an int, of which as_ushort and the like want no part.
            value = f"({self.types.register(source)}){value}"
        if self.types.is_emulated(source):
            value = self.call("bfloat16_bits" if source == BFLOAT16 else "half_bits", value)
            source = UINT16
        if self.types.is_emulated(dtype):
            name = "bfloat16_of_bits" if dtype == BFLOAT16 else "half_of_bits"
            return self.call(name, value if source == UINT16 else f"as_ushort({value})")
        return value if source == dtype else f"as_{dtype.name}({value})"


def _cast(name: str, text: str, *, is_needed: bool) -> str:
    return f"({name})({text})" if is_needed else text
