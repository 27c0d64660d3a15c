"""The text of one kernel: arguments, launch ids, shared arrays, statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from kernelref.codegen.opencl.ctypes import CTypes
from kernelref.codegen.opencl.helpers import closure, text_of
from kernelref.codegen.opencl.index import IndexPrinter
from kernelref.codegen.opencl.values import ValuePrinter
from kernelref.codegen.program import (
    GROUP_IDS,
    LOCAL_IDS,
    Assign,
    Barrier,
    BufferArgument,
    Define,
    DefineIndex,
    Guarded,
    Loop,
    Program,
    Statement,
    StoreGlobal,
    StoreShared,
    index_names,
)
from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.index import Var

_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"


def render(program: Program, target: Target) -> str:
    """OpenCL C 1.2 text that defines one kernel, `program.name`, and stands on its own.

    Raises: Unsupported for what the target's text cannot say (double, images).
    """
    printer = _Printer(program, target)
    body = [*printer.header(), *printer.block(program.body, 1), "}", ""]
    helpers = map(text_of, closure(printer.types.used))
    return "\n".join(["#pragma OPENCL FP_CONTRACT OFF", *helpers, *body])


class _Printer:
    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.types = CTypes(target, set())
        self.names = _names(program)
        self.index = IndexPrinter(self.names, program.wide, self.types.used)
        self.values = ValuePrinter(
            {buffer.name: buffer for buffer in program.buffers},
            {array.name: array for array in program.shared},
            self.index,
            self.types,
        )

    def header(self) -> Iterator[str]:
        """The kernel's first line, its shared arrays and launch ids."""
        arguments = [self._argument(buffer) for buffer in self.program.buffers]
        arguments += [f"const int {self.names[var.name]}" for var in self.program.variables]
        free = self.program.is_ungrouped
        if not free:
            size = ", ".join(map(str, self.program.local))
            yield f"__attribute__((reqd_work_group_size({size})))"
        yield f"__kernel void {self.program.name}({', '.join(arguments)}) {{"
        for array in self.program.shared:
            emulated = self.types.is_emulated(array.dtype)
            element = "ushort" if emulated else self.types.memory(array.dtype)
            yield f"  __local {element} {array.name}[{array.elements}];"
        read = index_names(self.program)
        for names, function in (
            (GROUP_IDS, "get_global_id" if free else "get_group_id"),
            (LOCAL_IDS, "get_local_id"),
        ):
            for dim, name in enumerate(names):
                if name in read:
                    yield f"  int {name} = {function}({dim});"

    def _argument(self, buffer: BufferArgument) -> str:
        if buffer.dtype.is_image:
            if not self.types.target.images:
                raise Unsupported("no-images", f"{self.types.target.name} has no images")
            access = "write_only" if buffer.is_output else "read_only"
            return f"{access} image2d_t {buffer.name}"
        element = self.types.memory(buffer.dtype)
        const = "" if buffer.is_output else "const "
        return f"__global {const}{element}* {buffer.name}"

    def block(self, statements: Sequence[Statement], depth: int) -> Iterator[str]:
        """The lines of `statements`."""
        for statement in statements:
            yield from self._statement(statement, "  " * depth, depth)

    def _statement(self, statement: Statement, indent: str, depth: int) -> Iterator[str]:
        match statement:
            case Define(register, value):
                kind = self.values.register_type(register)
                yield f"{indent}{kind} {register.name} = {self.values.value(value)};"
            case DefineIndex(variable, value):
                name = self.names[variable.name]
                yield f"{indent}{self._integer(variable)} {name} = {self.index.text(value)};"
            case Assign(register, value):
                yield f"{indent}{register.name} = {self.values.value(value)};"
            case StoreGlobal(guard=guard):
                store = self.values.store(statement)
                test = "" if guard == 1 else f"if ({self.index.text(guard)}) "
                yield f"{indent}{test}{store}"
            case StoreShared():
                yield f"{indent}{self.values.store_shared(statement)}"
            case Loop(variable, extent, body):
                name, kind = self.names[variable.name], self._integer(variable)
                limit = self.index.text(extent)
                yield f"{indent}for ({kind} {name} = 0; {name} < {limit}; {name}++) {{"
                yield from self.block(body, depth + 1)
                yield f"{indent}}}"
            case Guarded(condition, body):
                yield f"{indent}if ({self.index.text(condition)}) {{"
                yield from self.block(body, depth + 1)
                yield f"{indent}}}"
            case Barrier():
                yield f"{indent}{_BARRIER}"
            case _:
                assert_never(statement)

    def _integer(self, variable: Var) -> str:
        return "long" if variable in self.program.wide else "int"


def _names(program: Program) -> dict[str, str]:
    """The C name of each index variable; a symbolic one is prefixed, so that none can clash."""
    names = {name: name for name in index_names(program)}
    for number, var in enumerate(program.variables):
        is_name = var.name.isidentifier() and var.name.isascii()
        names[var.name] = f"var_{var.name}" if is_name else f"var{number}"
    return names
