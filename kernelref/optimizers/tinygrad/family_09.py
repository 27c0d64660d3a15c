"""The family of tinygrad 0.9.0 and 0.9.1: what its names and arguments are. Worker process only."""

from __future__ import annotations

import importlib
import os
from typing import Any

from .plain import write_sints

ops: Any = importlib.import_module("tinygrad.ops")
dtypes: Any = importlib.import_module("tinygrad.dtype").dtypes
helpers: Any = importlib.import_module("tinygrad.helpers")
kernel_module: Any = importlib.import_module("tinygrad.codegen.kernel")
linearizer: Any = importlib.import_module("tinygrad.codegen.linearizer")
cstyle: Any = importlib.import_module("tinygrad.renderer.cstyle")
assembly: Any = importlib.import_module("tinygrad.renderer.assembly")


class Family:
    """0.9.0 and 0.9.1."""

    name = "0.9"
    search: Any = importlib.import_module("tinygrad.engine.search")
    kernel_module: Any = kernel_module

    def __init__(self) -> None:
        self.tc_of_environment = not hasattr(cstyle.OpenCLRenderer(), "tc")
        self.amd = getattr(cstyle, "AMDRenderer", None) or cstyle.HIPRenderer

    def reduce_arg(self, axes: list[int], shape: tuple[Any, ...]) -> Any:
        """The axes that are summed."""
        return tuple(axes)

    def cast(self, value: Any, dtype: Any, bitcast: bool) -> Any:
        """CAST or BITCAST."""
        return ops.LazyOp(ops.UnaryOps.BITCAST if bitcast else ops.UnaryOps.CAST, (value,), dtype)

    def constant_variable(self, variable: Any) -> Any:
        """0.9.0 unbinds the variable of a constant, so it must be bound; 0.9.1 must not be."""
        return variable.bind(variable.min) if self.tc_of_environment else variable

    def prepare(self, limits: dict[str, Any]) -> None:
        """0.9.0 reads the tensor-core level from the environment at each use."""
        if self.tc_of_environment and os.environ.get("TC") != str(limits["tc"]):
            os.environ["TC"] = str(limits["tc"])
            helpers.getenv.cache_clear()

    def options(self, limits: dict[str, Any]) -> Any:
        """A bare OpenCL renderer with every limit set on it, whatever the host."""
        renderer = cstyle.OpenCLRenderer()
        for name in ("has_local", "has_shared", "shared_max", "supports_float4"):
            setattr(renderer, name, limits[name])
        order = -1 if self.tc_of_environment else 1  # 0.9.0 counts z, y, x
        for name in ("global_max", "local_max"):
            sizes = limits[name]
            setattr(renderer, name, None if sizes is None else self._sizes(sizes[::order]))
        renderer.tensor_cores = [self._tensor_core(core) for core in limits["tensor_cores"]]
        renderer.tc, renderer.tc_opt = limits["tc"], limits.get("tc_opt", 0)
        return renderer

    def _sizes(self, sizes: list[int]) -> Any:
        return list(sizes) if self.tc_of_environment else tuple(sizes)

    def _tensor_core(self, core: dict[str, Any]) -> Any:
        tables = {"metal": cstyle.MetalRenderer, "cuda": cstyle.CUDARenderer,
                  "amd": self.amd, "ptx": assembly.PTXRenderer}  # fmt: skip
        wanted = core["dims"], dtypes.fields()[core["input"]], dtypes.fields()[core["output"]]
        for known in tables[core["table"]].tensor_cores:
            if (list(known.dims), known.dtype_in, known.dtype_out) == wanted:
                return known
        raise ValueError(f"this release has no tensor core {core}")

    def construct(self, stores: tuple[Any, ...], options: Any) -> Any:
        """A Linearizer (the Kernel that can render)."""
        return linearizer.Linearizer(*stores, opts=options)

    def opt(self, opt: list[Any]) -> Any:
        """Its Opt."""
        return kernel_module.Opt(kernel_module.OptOps[opt[0]], opt[1], opt[2])

    def apply(self, kernel: Any, opt: Any) -> None:
        """apply_opt."""
        kernel.apply_opt(opt)

    def is_refusal(self, error: Exception, kernel: Any) -> bool:
        """KernelOptError, however deep."""
        return isinstance(error, kernel_module.KernelOptError)

    def optimize(self, kernel: Any, how: str) -> None:
        """In the engine's order."""
        if how == "engine":
            kernel.required_optimizations()
            if not kernel.apply_tensor_cores(self._tc(kernel)):
                kernel.hand_coded_optimizations()
        elif how == "required":
            kernel.required_optimizations()
        else:
            kernel.hand_coded_optimizations()

    def _tc(self, kernel: Any) -> int:
        return int(helpers.getenv("TC", 1)) if self.tc_of_environment else int(kernel.opts.tc)

    def render(self, kernel: Any) -> dict[str, Any]:
        """The text that its OpenCL renderer prints, with arguments in order."""
        type(kernel).kernel_cnt.clear()  # names that do not depend on what was rendered before
        kernel.linearize()
        name = helpers.to_function_name(kernel.name)
        text = kernel.opts.render(name, kernel.uops)
        arguments: list[list[Any]] = []
        for uop in kernel.uops:
            match (uop.op if hasattr(uop, "op") else uop.uop).name:
                case "DEFINE_GLOBAL":
                    arguments.append(["buffer", uop.arg[0]])
                case "DEFINE_VAR":
                    arguments.append(["variable", uop.arg.expr])
        return {
            "name": name, "text": text, "arguments": arguments,
            "global_size": launch(kernel.global_size), "local_size": launch(kernel.local_size),
        }  # fmt: skip


def launch(sizes: Any) -> Any:
    """Launch sizes as plain values, or None where the release leaves them open."""
    return None if sizes is None else write_sints(sizes)
