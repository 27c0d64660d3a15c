"""The third answer of a release's optimizer: neither accepted nor refused, it fell over."""

from __future__ import annotations

from kernelref.errors import KernelRefError


class OptBroke(KernelRefError):  # noqa: N818 - an answer like refused, not an error
    """The release that the rule set copies fails here in another way than its own refusal.

    `check` names the condition, `opt` is None in construction, `error` is the release's exception.
    The sound rule set never raises it.
    """

    def __init__(
        self,
        check: str,
        *,
        found: object,
        needed: object,
        opt: object = None,
        error: str = "AssertionError",
    ) -> None:
        what = "construction" if opt is None else str(opt)
        super().__init__(f"{what} breaks ({error}) on {check}: found {found}, needed {needed}")
        self.check = check
        self.opt = opt
        self.found = found
        self.needed = needed
        self.error = error
