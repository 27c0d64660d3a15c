"""Where a text can be changed mechanically: operators, constants, bounds, conditions, statements.

Left alone: docstrings, messages of errors, annotations, decorators and f-strings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kernelref.fuzzing.mutants.mutant import Edit

_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}

_DELETED = (ast.AugAssign, ast.Continue, ast.Break, ast.Raise)


@dataclass(frozen=True, slots=True)
class Site:
    """One possible change. `kind`: operator, constant, off-by-one, negation or deletion."""

    edit: Edit
    kind: str
    line: int


def sites(module: str, source: str) -> list[Site]:
    """Every site of a module, in the order of its text."""
    finder = _Finder(module, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda site: (site.line, site.kind, site.edit.after))


class _Finder(ast.NodeVisitor):
    """Walks a module; `names` are the definitions around the node."""

    def __init__(self, module: str, source: str) -> None:
        self.module = module
        self.lines = source.splitlines(keepends=True)
        self.names: list[str] = []
        self.begins: list[int] = []
        self.found: list[Site] = []

    # What is walked, and what is not.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node)

    def _inside(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self.names.append(node.name)
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        self.begins.append(first)
        defaults = node.args.defaults if isinstance(node, ast.FunctionDef) else []
        for part in (*defaults, *node.body):
            self.visit(part)
        self.names.pop()
        self.begins.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        is_type = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
        if node.value is not None and not is_type:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        is_type_test = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if is_type_test:
            self.visit(node.args[0])
        else:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        self._delete(node)

    # What is changed.

    def generic_visit(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp(left, op, right):
                self._swap(op, left, right)
            case ast.Compare(left, ops, rights):
                for compared, first, second in zip(ops, [left, *rights], rights, strict=False):
                    self._swap(compared, first, second)
            case ast.BoolOp(op, values):
                for first, second in pairwise(values):
                    self._swap(op, first, second)
            case ast.Constant(bool() as value):
                self._replace(node, node, str(not value), "constant")
            case ast.Constant(int() as value):
                for other in (value - 1, value + 1):
                    self._replace(node, node, f"({other})" if other < 0 else str(other), "constant")
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                self._negate(test)
            case ast.comprehension(ifs=ifs):
                for test in ifs:
                    self._negate(test)
            case ast.Call(ast.Name("range"), [*_, last]):
                self._shift(last)
            case ast.Subscript(_, ast.Slice() as bounds):
                for bound in (bounds.lower, bounds.upper):
                    if bound is not None:
                        self._shift(bound)
            case ast.Subscript(_, ast.Name() | ast.BinOp() as index):
                self._shift(index)
            case ast.Expr(ast.Call()):
                self._delete(node)
            case _ if isinstance(node, _DELETED):
                self._delete(node)
        super().generic_visit(node)

    def _swap(self, op: ast.AST, left: ast.expr, right: ast.expr) -> None:
        is_union = isinstance(op, ast.BitOr | ast.BitAnd) and not self.names
        if type(op) not in _SWAPS or is_union:
            return
        old, new = _SWAPS[type(op)]
        begin, end = self._end(left), self._begin(right)
        between = self._text(begin, end)
        pattern = re.escape(old).replace("\\ ", r"\s+")
        changed, count = re.subn(rf"(?<![\w<>=!*/]){pattern}(?![\w<>=*/])", new, between, count=1)
        if count:
            self._add(begin, end, changed, "operator")

    def _negate(self, test: ast.expr) -> None:
        text = self._text(self._begin(test), self._end(test))
        self._replace(test, test, f"not ({text})", "negation")

    def _shift(self, bound: ast.expr) -> None:
        if isinstance(bound, ast.Constant):
            return
        text = self._text(self._begin(bound), self._end(bound))
        for change in ("- 1", "+ 1"):
            self._replace(bound, bound, f"{text} {change}", "off-by-one")

    def _delete(self, node: ast.AST) -> None:
        self._replace(node, node, "pass", "deletion")

    # Text.

    def _begin(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        return node.lineno, node.col_offset

    def _end(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return node.end_lineno, node.end_col_offset

    def _text(self, begin: tuple[int, int], end: tuple[int, int]) -> str:
        if begin[0] == end[0]:
            return self.lines[begin[0] - 1][begin[1] : end[1]]
        parts = [self.lines[begin[0] - 1][begin[1] :], *self.lines[begin[0] : end[0] - 1]]
        return "".join([*parts, self.lines[end[0] - 1][: end[1]]])

    def _replace(self, first: ast.AST, last: ast.AST, text: str, kind: str) -> None:
        self._add(self._begin(first), self._end(last), text, kind)

    def _add(self, begin: tuple[int, int], end: tuple[int, int], text: str, kind: str) -> None:
        """A change, told by whole lines; in a function the lines before it count which one."""
        before = "".join(self.lines[begin[0] - 1 : end[0]]).rstrip("\n")
        head, tail = self.lines[begin[0] - 1][: begin[1]], self.lines[end[0] - 1][end[1] :]
        after = (head + text + tail).rstrip("\n")
        first = self.begins[-1] if self.begins else 1
        above = "".join(self.lines[first - 1 : begin[0] - 1])
        nth = len(re.findall(f"(?={re.escape(before)})", above))
        edit = Edit(self.module, ".".join(self.names), before, after, nth)
        self.found.append(Site(edit, kind, begin[0]))


def changed_lines(edit: Edit) -> Iterator[str]:
    """The change as a person reads it."""
    yield from (f"- {line.strip()}" for line in edit.before.splitlines())
    yield from (f"+ {line.strip()}" for line in edit.after.splitlines())
