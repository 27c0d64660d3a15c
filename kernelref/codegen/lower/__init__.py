"""Lowering: from a Kernel to a Program. Read `lower`, then `values` (what is computed where)."""

from kernelref.codegen.lower.lower import lower

__all__ = ["lower"]
