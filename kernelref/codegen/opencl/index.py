"""Index expressions as C: int arithmetic, or long where the Program says so.

C truncates where an index expression floors; the two agree when the dividend cannot be negative,
and a helper floors where it can.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var, bounds

_ATOM, _PRODUCT, _SUM, _COMPARE, _AND = range(5)

_SPELLING: dict[IndexOp, tuple[str, int, int, int]] = {
    IndexOp.ADD: (" + ", _SUM, _SUM, _PRODUCT),
    IndexOp.MUL: ("*", _PRODUCT, _PRODUCT, _ATOM),
    IndexOp.FLOORDIV: ("/", _PRODUCT, _PRODUCT, _ATOM),
    IndexOp.MOD: ("%", _PRODUCT, _PRODUCT, _ATOM),
    IndexOp.CDIV: ("/", _PRODUCT, _PRODUCT, _ATOM),
    IndexOp.CMOD: ("%", _PRODUCT, _PRODUCT, _ATOM),
    IndexOp.LT: (" < ", _COMPARE, _SUM, _SUM),
    IndexOp.AND: (" && ", _AND, _AND, _COMPARE),
}
"""C's spelling, its precedence, and the loosest precedence of each operand without parentheses."""

_FLOORING = {IndexOp.FLOORDIV: "floor_div", IndexOp.MOD: "floor_mod"}


class IndexPrinter:
    """Prints index expressions; `used` collects the helpers that the text calls."""

    def __init__(self, names: Mapping[str, str], wide: frozenset[Expr], used: set[str]) -> None:
        self.names = names
        self.wide = wide
        self.used = used

    def text(self, value: Sint) -> str:
        """`value` as an expression that stands alone, between parentheses or commas."""
        return self._text(value, value in self.wide)[0]

    def atom(self, value: Sint) -> str:
        """`value` as an operand of any operator."""
        return self._at(value, _ATOM, value in self.wide)

    def term(self, value: Sint) -> str:
        """`value` as an operand of a sum."""
        return self._at(value, _SUM, value in self.wide)

    def _at(self, value: Sint, level: int, wide: bool) -> str:
        text, own = self._text(value, wide)
        return text if own <= level else f"({text})"

    def _text(self, value: Sint, wide: bool) -> tuple[str, int]:
        match value:
            case int() | Int():
                number = value.value if isinstance(value, Int) else int(value)
                text = f"{number}L" if wide else str(number)
                return (f"({text})" if number < 0 else text), _ATOM
            case Var(name):
                return (f"(long){self.names[name]}" if wide else self.names[name]), _ATOM
            case Binary(op, left, right):
                return self._binary(op, left, right, wide)
        raise AssertionError(f"not an index expression: {value!r}")

    def _binary(self, op: IndexOp, left: Expr, right: Expr, wide: bool) -> tuple[str, int]:
        if op in _FLOORING and (bounds(left)[0] < 0 or bounds(right)[0] < 1):
            name = _FLOORING[op] + ("_long" if wide else "")
            self.used.add(name)
            return f"{name}({self._text(left, wide)[0]}, {self._text(right, wide)[0]})", _ATOM
        if op is IndexOp.MUL and right is Int(-1):
            return f"-{self._at(left, _ATOM, wide)}", _PRODUCT
        sign, level, left_level, right_level = _SPELLING[op]
        positive = _negated(right) if op is IndexOp.ADD else None
        if positive is not None:
            sign, right = " - ", positive
        return (
            f"{self._at(left, left_level, wide)}{sign}{self._at(right, right_level, wide)}",
            level,
        )


def _negated(term: Expr) -> Expr | None:
    """-term where it is a term with a negative coefficient, so that a sum can print as a - b."""
    match term:
        case Int(number) if number < 0:
            return Int(-number)
        case Binary(IndexOp.MUL, factor, Int(number)) if number < 0:
            return factor if number == -1 else Binary(IndexOp.MUL, factor, Int(-number))
    return None
