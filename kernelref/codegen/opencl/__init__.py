"""OpenCL C text of a Program. The renderer prints what the Program says and decides nothing."""

from kernelref.codegen.opencl.render import render

__all__ = ["render"]
