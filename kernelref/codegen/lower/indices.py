"""Where each Load, Constant and Store of a Kernel lies in memory, as the axes stand."""

from __future__ import annotations

from kernelref.codegen.lower.block import Env
from kernelref.ir.ast import Constant, Load, Store
from kernelref.ir.index import Sint, Var, add, simplify, sint, substitute, variables
from kernelref.opt.kernel import Kernel

Leaf = Load | Constant | Store


class Indices:
    """The address and validity of each Load, Constant and Store, wherever the axes stand."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.variables: list[Sint] = [
            Var(f"axis{i}", 0, add(axis.extent, -1)) for i, axis in enumerate(kernel.axes)
        ]
        self._general: dict[int, tuple[Sint, Sint]] = {}
        self._free: dict[int, tuple[int, ...]] = {}
        self._at: dict[tuple[object, ...], tuple[Sint, Sint]] = {}

    def general(self, node: Leaf) -> tuple[Sint, Sint]:
        """Address and validity as expressions of the axis variables axis0, axis1, ...

        A constant has no address: 0.
        """
        number = self.kernel.buffer_of(node)
        if number not in self._general:
            st = self.kernel.sts[number]
            point = [0 if n == 1 else x for n, x in zip(st.shape, self.variables, strict=True)]
            address, valid = st.index(point)
            is_constant = isinstance(node, Constant)
            self._general[number] = (0 if is_constant else sint(address), sint(valid))
        return self._general[number]

    def at(self, node: Leaf, env: Env) -> tuple[Sint, Sint]:
        """Address and validity where the axes stand as `env` says."""
        free = self.free(node)
        point = [env[axis].coordinate for axis in free]
        key = (self.kernel.buffer_of(node), *point)
        if key not in self._at:
            values = {
                f"axis{axis}": coordinate for axis, coordinate in zip(free, point, strict=True)
            }
            address, valid = (substitute(index, values) for index in self.general(node))
            if not all(isinstance(coordinate, Var) for coordinate in point):
                address, valid = simplify(address), simplify(valid)
            self._at[key] = (address, valid)
        return self._at[key]

    def free(self, node: Leaf) -> tuple[int, ...]:
        """The axes on which address or validity depends, in order."""
        number = self.kernel.buffer_of(node)
        if number not in self._free:
            read = frozenset[Var]().union(*map(variables, self.general(node)))
            self._free[number] = tuple(i for i, x in enumerate(self.variables) if x in read)
        return self._free[number]
