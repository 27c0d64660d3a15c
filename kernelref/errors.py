"""What can go wrong, in four kinds that callers treat differently.

`InvalidInput`: the input is malformed, and the message names where. `KernelOptError` (raised by the
opt layer): well-formed, not legal here. `Unsupported`: outside what is modelled, counted and never
silent. `DeviceError`: a device or its driver failed. A fault of kernelref itself is an assertion.
"""

from __future__ import annotations


class KernelRefError(Exception):
    """Base of every error that kernelref raises on purpose."""


class InvalidInput(KernelRefError):
    """A malformed file, AST, View, Opt or argument.

    `where` names file, line, column, field or node.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where


class Unsupported(KernelRefError):
    """Well-formed, but outside what is modelled or what a device can do.

    `reason` is the name under which it is counted.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class DeviceError(KernelRefError):
    """A device, its driver or its worker failed in a way that is not the kernel's outcome."""


class KernelOptError(KernelRefError):
    """An opt is well-formed but not legal on this Kernel; the sentence is made from the fields."""

    def __init__(self, *, check: str, opt: object, found: object, needed: object) -> None:
        super().__init__(f"{opt} refused by {check}: found {found}, needed {needed}")
        self.check = check
        self.opt = opt
        self.found = found
        self.needed = needed
