"""Where each Load, Constant and Store of a Kernel lies in memory, as the axes stand."""

from __future__ import annotations

from kernelref.codegen.lower.block import Env
from kernelref.ir.ast import Constant, Load, Store
from kernelref.ir.index import Sint, Var, add, simplify, sint, substitute, variables
from kernelref.opt.kernel import Kernel

Leaf = Load | Constant | Store


class Indices:
    """The address and validity of each Load, Constant and Store, on axis variables."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.variables: list[Sint] = [
            Var(f"axis{i}", 0, add(axis.extent, -1)) for i, axis in enumerate(kernel.axes)
        ]
        self.known: dict[int, tuple[Sint, Sint]] = {}

    def general(self, node: Leaf) -> tuple[Sint, Sint]:
        """Address and validity as expressions of the axis variables axis0, axis1, ..."""
        number = self.kernel.buffer_of(node)
        if number not in self.known:
            st = self.kernel.sts[number]
            point = [0 if n == 1 else x for n, x in zip(st.shape, self.variables, strict=True)]
            address, valid = st.index(point)
            self.known[number] = (sint(address), sint(valid))
        return self.known[number]

    def at(self, node: Leaf, env: Env) -> tuple[Sint, Sint]:
        """Address and validity where the axes stand as `env` says."""
        places = {f"axis{axis}": place.coordinate for axis, place in env.items()}
        address, valid = self.general(node)
        return simplify(substitute(address, places)), simplify(substitute(valid, places))

    def free(self, node: Leaf) -> frozenset[int]:
        """The axes on which address or validity depends."""
        names = {var.name for index in self.general(node) for var in variables(index)}
        return frozenset(i for i in range(len(self.variables)) if f"axis{i}" in names)
