"""The family of tinygrad 0.8.0: what its names and arguments are. Worker process only."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from typing import Any

from .plain import write_sints

ops: Any = importlib.import_module("tinygrad.ops")
helpers: Any = importlib.import_module("tinygrad.helpers")
dtypes: Any = importlib.import_module("tinygrad.dtype").dtypes
kernel_module: Any = importlib.import_module("tinygrad.codegen.kernel")
linearizer: Any = importlib.import_module("tinygrad.codegen.linearizer")
cstyle: Any = importlib.import_module("tinygrad.renderer.cstyle")

# The tables belong to a device and an architecture; here the limits say which cores there are.
DEVICES = {"metal": "METAL", "amd": "HIP"}


class Family:
    """0.8.0."""

    name = "0.8"
    search: Any = importlib.import_module("tinygrad.features.search")
    kernel_module: Any = kernel_module

    def __init__(self) -> None:
        self.tables = kernel_module.tensor_cores
        self.prepared: dict[str, Any] = {}

    def reduce_arg(self, axes: list[int], shape: tuple[Any, ...]) -> Any:
        """The shape after the reduce."""
        return shape

    def cast(self, value: Any, dtype: Any, bitcast: bool) -> Any:
        """CAST, whose argument is a pair."""
        return ops.LazyOp(ops.UnaryOps.CAST, (value,), (dtype, bitcast))

    def constant_variable(self, variable: Any) -> Any:
        """There is no symbolic constant."""
        raise ValueError("this release has no symbolic constant")

    def prepare(self, limits: dict[str, Any]) -> None:
        """Cut the device's tensor-core table to the limits' cores, and set the level."""
        if limits == self.prepared:
            return
        self.prepared = limits
        device = self._device(limits)
        wanted = [self._key(core) for core in limits["tensor_cores"]]
        kernel_module.tensor_cores = {device: [
            replace(known, arch=None) for known in self.tables.get(device, ())
            if (list(known.dims), known.dtype_in, known.dtype_out) in wanted
        ]}  # fmt: skip
        os.environ["TC"] = str(limits["tc"])
        helpers.getenv.cache_clear()

    def _device(self, limits: dict[str, Any]) -> str:
        cores = limits["tensor_cores"]
        return DEVICES.get(cores[0]["table"], "GPU") if cores else "GPU"

    def _key(self, core: dict[str, Any]) -> tuple[Any, ...]:
        return core["dims"], dtypes.fields()[core["input"]], dtypes.fields()[core["output"]]

    def options(self, limits: dict[str, Any]) -> Any:
        """LinearizerOptions."""
        return kernel_module.LinearizerOptions(
            device=self._device(limits), supports_float4=limits["supports_float4"],
            supports_float4_alu=limits["supports_float4"], has_local=limits["has_local"],
            has_shared=limits["has_shared"], global_max=self._sizes(limits["global_max"]),
            local_max=self._sizes(limits["local_max"]),
        )  # fmt: skip

    def _sizes(self, sizes: list[int] | None) -> list[int] | None:
        return None if sizes is None else sizes[::-1]  # z, y, x

    def construct(self, stores: tuple[Any, ...], options: Any) -> Any:
        """A Linearizer (the Kernel that can render)."""
        if len(stores) != 1:
            raise ValueError("this release takes one output")
        return linearizer.Linearizer(stores[0], options)

    def opt(self, opt: list[Any]) -> Any:
        """Its Opt."""
        return kernel_module.Opt(kernel_module.OptOps[opt[0]], opt[1], opt[2])

    def apply(self, kernel: Any, opt: Any) -> None:
        """apply_opt."""
        kernel.apply_opt(opt)

    def is_refusal(self, error: Exception, kernel: Any) -> bool:
        """An assertion raised in a method of this very kernel, not in its views."""
        if not isinstance(error, AssertionError) or error.__traceback__ is None:
            return False
        last = error.__traceback__
        while last.tb_next is not None:
            last = last.tb_next
        return last.tb_frame.f_locals.get("self") is kernel

    def optimize(self, kernel: Any, how: str) -> None:
        """In the engine's order."""
        if how == "engine":
            kernel.required_optimizations()
            if not kernel.apply_tensor_cores(int(helpers.getenv("TC", 1))):
                kernel.hand_coded_optimizations()
        elif how == "required":
            kernel.required_optimizations()
        else:
            kernel.hand_coded_optimizations()

    def render(self, kernel: Any) -> dict[str, Any]:
        """The text that its OpenCL renderer prints; buffers by number, then variables by name."""
        type(kernel).kernel_cnt.clear()  # names that do not depend on what was rendered before
        kernel.linearize()
        name = helpers.to_function_name(kernel.name)
        arguments = []
        for uop in kernel.uops:
            if uop.uop is linearizer.UOps.DEFINE_GLOBAL:
                is_buffer = uop.arg.startswith("data") and uop.arg[4:].isdigit()
                number = int(uop.arg[4:]) if is_buffer else uop.arg
                arguments.append(["buffer" if is_buffer else "variable", number])
        return {
            "name": name, "text": cstyle.OpenCLRenderer(name, kernel.uops),
            "global_size": launch(kernel.global_size), "local_size": launch(kernel.local_size),
            "arguments": arguments,
        }  # fmt: skip


def launch(sizes: Any) -> Any:
    """Launch sizes as plain values, or None where the release leaves them open."""
    return None if sizes is None else write_sints(sizes)
